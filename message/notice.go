package message

import (
	"slices"

	"fmqm/processtable"
)

// Notice is the scope of a notice of an activity that is in s, by its number (N23).
func (s Scope) Notice(number int) Scope {
	return s.Enter(Frame{Composite: processtable.Noticing, Element: number})
}

// Told is the scope of a notice that tells of what has happened, by its number and which of these things it is, from 1.
func (s Scope) Told(number, nth int) Scope {
	return s.Enter(Frame{Composite: processtable.Noticing, Element: number, Iteration: nth})
}

// TakeOff are the messages that end the notices that tell of what has happened, of those that messages of one instance are of: each
// once. They say nothing to anybody.
func TakeOff(open []Message, reason string) (all []Message) {
	var seen []Scope
	for i := range open {
		h := open[i].Header
		if number, is := h.Scope.OfNotice(); !is || h.Scope == Scope("").Notice(number) || h.Activity != processtable.Sink || slices.Contains(seen, h.Scope) {
			continue
		}
		seen = append(seen, h.Scope)
		all = append(all, Message{Header: Header{
			Queue: h.Queue, Definition: h.Definition, Instance: h.Instance, Origin: h.Origin, Scope: h.Scope, SourceScope: "", Source: processtable.Sink,
			Activity: processtable.Sink, Kind: KindCancel, Lane: LaneControl, Clock: Next(h.Clock), Trace: h.Trace,
		}, Body: EncodeCancel(Cancel{Reason: reason})})
	}
	return all
}

// NoticeExecution is what the item of a notice is named by, however often it comes: there is one at a time.
var NoticeExecution = Execution{Iteration: 1}

// OfNotice gives the number of the notice that a scope is of; false: it is none's.
func (s Scope) OfNotice() (number int, is bool) {
	if s.Inside() != processtable.Noticing {
		return 0, false
	}
	frames, err := s.Frames()
	if err != nil {
		return 0, false
	}
	n := frames[len(frames)-1].Element
	return n, n >= 0
}
