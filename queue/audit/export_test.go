package audit

import (
	"runtime"

	"fmqm/message"
)

// Of ends.go.
type Ends = ends

const EndsCrowded = endsCrowded

var Timed = timed

// BoundSearches makes the bounds of searches smaller.
func (q *Queue) BoundSearches(looks, least, most int) { q.bounds = searchBounds{looks, least, most} }

func (x *ends) Add(e message.Entry)       { x.add(e) }
func (x *ends) None(e message.Entry) bool { return x.none(e) }

// FromStore has lists read the store until back is called, and waits for what runs to be in memory before. Nothing may be
// written meanwhile.
func (q *Queue) FromStore() (back func()) {
	set := func(from, to bool) bool {
		q.running.mu.Lock()
		defer q.running.mu.Unlock()
		if q.running.known != from {
			return false
		}
		q.running.known = to
		return true
	}
	for !set(true, false) {
		runtime.Gosched()
	}
	return func() { set(false, true) }
}
