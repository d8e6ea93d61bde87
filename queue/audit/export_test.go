package audit

import "fmqm/message"

// Of ends.go.
type Ends = ends

const EndsCrowded = endsCrowded

var Timed = timed

// BoundSearches makes the bounds of searches smaller.
func (q *Queue) BoundSearches(looks, least, most int) { q.bounds = searchBounds{looks, least, most} }

func (x *ends) Add(e message.Entry)       { x.add(e) }
func (x *ends) None(e message.Entry) bool { return x.none(e) }
