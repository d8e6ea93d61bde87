package thread

import (
	"fmqm/behaviour"
	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue/record"
)

// Events (N24). What an activity sends, takes and puts back is a line of its history each; what comes for a
// receive that is over goes back to its place in the event queue of this node.

// signals are the lines about events of what an entry comes to.
func (m *Machine) signals(key message.Entry, known *behaviour.Basis, effects *behaviour.Effects) []record.AuditRecord {
	about := effects.Outcome.About
	speaks := about != nil && about.Token != ""
	for i := range effects.Put {
		speaks = speaks || effects.Put[i].Kind == message.KindEvent
	}
	if !speaks || m.id() == processtable.EventQueue {
		return nil
	}
	return m.signalled(key, known, effects)
}

func (m *Machine) signalled(key message.Entry, known *behaviour.Basis, effects *behaviour.Effects) (lines []record.AuditRecord) {
	line := func(event record.Event, about message.EventRef) record.AuditRecord {
		return record.AuditRecord{
			Time: m.now, Clock: message.Next(known.Clock), Process: m.id(), Definition: m.process.Definition(), Instance: key.Instance, Origin: known.Origin,
			Scope: key.Scope, Activity: key.Activity, Event: event, Iteration: effects.Outcome.Iteration, Run: effects.Outcome.Run, About: &about,
		}
	}
	if about := effects.Outcome.About; about != nil && about.Token != "" {
		lines = append(lines, line(record.EventReceived, *about))
	}
	for i := range effects.Put {
		msg := &effects.Put[i]
		if msg.Kind != message.KindEvent {
			continue
		}
		e, err := message.DecodeEvent(msg.Body)
		if err != nil {
			m.fail(err)
			continue
		}
		if e.Arrival != (message.Arrival{}) {
			lines = append(lines, line(record.EventPutBack, e.Ref()))
			continue
		}
		sent := line(record.EventSent, e.Ref())
		sent.Output = msg.Body // so that it can be built again (S4)
		sent.Sent = []record.Sent{{Kind: message.KindEvent, Scope: msg.Scope, Target: msg.Activity, Node: msg.Queue.Node, Lane: msg.Lane}}
		lines = append(lines, sent)
	}
	return lines
}

// putBack takes the events among messages that no entry takes any more back to the queue of events, with the
// lines of history about that.
func (m *Machine) putBack(key message.Entry, messages []message.Message) (back []message.Message, lines []record.AuditRecord) {
	if m.id() == processtable.EventQueue {
		return nil, nil
	}
	for i := range messages {
		msg := &messages[i]
		if msg.Kind != message.KindEvent {
			continue
		}
		e, err := message.DecodeEvent(msg.Body)
		if err != nil {
			m.fail(err)
			continue
		}
		ref := e.Ref()
		kept := e.Back(m.self)
		kept.Clock = msg.Clock
		back = append(back, kept)
		lines = append(lines, record.AuditRecord{
			Time: m.now, Clock: msg.Clock, Process: m.id(), Definition: m.process.Definition(), Instance: key.Instance,
			Scope: key.Scope, Activity: key.Activity, Event: record.EventPutBack, About: &ref,
		})
	}
	return back, lines
}
