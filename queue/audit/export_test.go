package audit

import "fmqm/message"

// Of ends.go.
type Ends = ends

const EndsCrowded = endsCrowded

var Timed = timed

func (x *ends) Add(e message.Entry)       { x.add(e) }
func (x *ends) None(e message.Entry) bool { return x.none(e) }
