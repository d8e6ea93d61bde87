package navigator

import "fmqm/message"

// connects is onward of a connector message, which is of an edition (R53).
func (a *Activity) connects(s *State, t target) message.Message {
	m := a.onward(s, t)
	m.Number = s.reached().Edition
	return m
}

// onward is the header of a message to one target.
func (a *Activity) onward(s *State, t target) message.Message {
	return message.Message{Header: message.Header{
		Queue:      message.Queue{Process: a.process.table.Process, Node: t.node.At(s.Origin)},
		Definition: a.process.Definition(),
		Instance:   s.Entry.Instance,
		Origin:     s.Origin,
		Rank:       s.Rank,
		Scope:      s.Entry.Scope,
		Activity:   t.activity,
		Kind:       message.KindConnector,
		Lane:       message.LaneControl, // but for what carries data (L2)
		Clock:      message.Next(s.Clock),
		Trace:      s.Trace,

		SourceScope: s.Entry.Scope,
		Source:      a.Name,
	}}
}
