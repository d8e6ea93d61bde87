package thread

import (
	"fmqm/behaviour"
	"fmqm/message"
	"fmqm/processtable"
)

// livesWords bounds what lives remember, in words of 64 activities, for each of its two
// generations: with what a map needs at most 5 MiB.
const livesWords = 1 << 15

// lives remembers, of instances that were started here since the open, which of their
// activities have ended, and whether a marker has come: that is then known without reading
// the store. What is not remembered, the store says. It is for processes that may be started
// at one node only: there no other instance can have the same identifier.
type lives struct {
	bit        map[processtable.ActivityID]int
	marked     int // the bit of the marker
	words      int // for one instance
	young, old map[message.InstanceID][]uint64
}

func newLives(p behaviour.Process) *lives {
	l := &lives{bit: map[processtable.ActivityID]int{}, young: map[message.InstanceID][]uint64{}}
	if len(p.Table().Starts) != 1 {
		return l
	}
	for _, a := range p.Table().Activities {
		if len(a.Path) == 0 { // only these are remembered
			l.bit[a.Name] = len(l.bit)
		}
	}
	l.marked = len(l.bit)
	l.words = (len(l.bit) + 1 + 63) / 64
	return l
}

// born: an instance's start was submitted, and it has no marker. Until it is on disk, nothing
// of it arrives.
func (l *lives) born(id message.InstanceID) {
	if l.words == 0 {
		return
	}
	if len(l.young)*l.words >= livesWords {
		l.old, l.young = l.young, map[message.InstanceID][]uint64{}
	}
	l.young[id] = make([]uint64, l.words)
}

// forget: the start failed, or the instance has ended.
func (l *lives) forget(id message.InstanceID) {
	delete(l.young, id)
	delete(l.old, id)
}

func (l *lives) of(id message.InstanceID) []uint64 {
	if ended, ok := l.young[id]; ok {
		return ended
	}
	return l.old[id]
}

// end: an entry has ended, durably.
func (l *lives) end(e message.Entry) {
	ended := l.of(e.Instance)
	bit, known := l.bit[e.Activity]
	switch {
	case ended == nil || e.Scope != "" || !known:
	case e.Activity == processtable.Sink:
		l.forget(e.Instance)
	default:
		ended[bit/64] |= 1 << (bit % 64)
	}
}

// lasts says that an entry is known not to have ended.
func (l *lives) lasts(e message.Entry) bool {
	ended := l.of(e.Instance)
	bit, known := l.bit[e.Activity]
	return ended != nil && e.Scope == "" && known && ended[bit/64]&(1<<(bit%64)) == 0
}

// mark: an instance's marker has come.
func (l *lives) mark(id message.InstanceID) {
	if ended := l.of(id); ended != nil {
		ended[l.marked/64] |= 1 << (l.marked % 64)
	}
}

// unmarked says that an instance is known to have no marker.
func (l *lives) unmarked(id message.InstanceID) bool {
	ended := l.of(id)
	return ended != nil && ended[l.marked/64]&(1<<(l.marked%64)) == 0
}
