package navigator

import (
	"errors"
	"fmt"

	"fmqm/behaviour"
	"fmqm/condition"
	"fmqm/container"
	"fmqm/message"
	"fmqm/processtable"
)

// Again builds a message once more that an activity of this table has sent, or that was
// sent on the behalf of another node's (R9, R18). It has everything that took effect in
// the first one; the trace is not kept. An error names the activity.
func (p *Process) Again(s behaviour.Spoken) (message.Message, error) {
	if b := p.rows.Get(s.Row()); b != nil {
		m, err := b.Again(s)
		if err != nil {
			err = fmt.Errorf("build a message from %s to %s again: %w", s.Source, s.Target, err)
		}
		return m, err
	}
	if s.Data == message.DataPresent || s.Data == message.DataWords {
		return message.Message{}, fmt.Errorf("build a message from %s to %s again: %s is not in the table of %s", s.Source, s.Target, s.Source, p.table.Process)
	}
	return s.Message(p.table), nil
}

// Again builds a message once more that the activity has sent.
func (a *Activity) Again(s behaviour.Spoken) (message.Message, error) {
	m := s.Message(a.process.table)
	if m.Kind == message.KindEvent {
		return s.SentEvent()
	}
	if a.Kind == processtable.KindManual && (m.Kind == message.KindBegin || m.Kind == message.KindOffer) {
		return a.offerAgain(m, &s), nil
	}
	if m.Kind == message.KindCancel || m.Kind == message.KindReturn || m.Kind == message.KindBegin {
		return a.saidAgain(m, s)
	}
	switch m.Kind {
	case message.KindRecalled: // taken out, or its reason says why not
		return recalledAgain(m, &s), nil
	case message.KindRecall:
		m.Body = message.EncodeRecall(message.Recall{Again: !a.leadsTo(m.Activity)})
		return m, nil
	default:
	}
	if m.Kind != message.KindConnector {
		return m, fmt.Errorf("it is of kind %d, and the activity sends connectors only", m.Kind)
	}
	if s.Data != message.DataPresent && s.Data != message.DataWords {
		return m, nil
	}
	output, err := a.output(s.Output)
	if err != nil {
		return m, fmt.Errorf("read the output: %w", err)
	}
	for _, t := range a.targets {
		if t.activity == s.Target && t.data >= 0 {
			r := behaviour.Result{RC: s.RC, Output: output, Ending: s.Ending, Instance: s.Instance.String(), Event: s.Event, By: s.By}
			values, err := a.out[t.data].values(&r, s.Data, &condition.Spent{}, s.Target)
			if err == nil {
				m.Body, err = container.EncodeValues(values)
			}
			return m, err
		}
	}
	return m, errors.New("the table has no data connector between them")
}

// saidAgain builds once more what cancels, tells a block of an error, begins the work of a call, or returns from that.
func (a *Activity) saidAgain(m message.Message, s behaviour.Spoken) (message.Message, error) {
	switch {
	case m.Kind == message.KindCancel:
		m.Body = message.EncodeCancel(message.Cancel{Reason: s.Reason})
	case m.Kind == message.KindBegin:
		m.Body = message.EncodeBegin(message.Begin{Input: s.Output})
	case a.isWork() && s.Number != 0 && len(s.Output) > 0:
		m.Body = message.EncodeReturn(message.Return{Output: s.Output, RC: s.RC, Ending: s.Ending})
	default:
		m.Body = message.EncodeReturn(message.Return{Error: s.Reason})
	}
	return m, nil
}

// Unsaid gives what a hosted activity that has told nobody of its end says of it to a node that has lost its store
// (R41): that it is dead; and of the work of a call, which has ended without a return, that it was cancelled, or of an
// offer that it has ended.
func (p *Process) Unsaid(end behaviour.Spoken) []behaviour.Spoken {
	a := p.activities.Get(end.Row())
	if a == nil {
		return nil
	}
	var all []behaviour.Spoken
	end.Within, end.Lane = end.Scope, message.LaneControl
	for _, t := range a.targets {
		if t.node.At(end.Origin) != end.Node {
			continue
		}
		s := end
		s.Reason, s.Target = "", t.activity
		if t.control >= 0 {
			s.Control = dead(p.table)
		}
		if t.data >= 0 {
			s.Data = message.DataAbsent
		}
		all = append(all, s)
	}
	if a.isWork() && a.around().node.At(end.Origin) == end.Node {
		end.Kind, end.Number, end.Within, end.Target, end.Lane = message.KindReturn, a.workNumber(), end.Scope.Leave(), a.Name, message.LaneData
		what := "work"
		if a.isOffer() {
			what = "offer"
		}
		end.Reason = fmt.Sprintf("its %s at %s was cancelled, before %s lost its store: %s", what, p.table.Node, end.Node, end.Reason)
		all = append(all, end)
	}
	return all
}
