package thread

import (
	"fmt"
	"slices"
	"strings"

	"fmqm/instancetable"
	"fmqm/message"
	"fmqm/navigator"
	"fmqm/processtable"
	"fmqm/queue"
	"fmqm/queue/record"
)

// Verdict is an operator's word about a connector message that was set aside: it is
// delivered again, or dropped (L5).
type Verdict struct {
	Number  uint64 // of what was set aside
	Message message.Message
	Drop    bool
	Why     string           // the operator's words, for the history
	By      string           // who that is
	Others  []RefusedMessage // what is set aside of the same instance
}

// RefusedMessage is one that is set aside.
type RefusedMessage struct {
	Message message.Message
	Reason  string
}

const stoppedInstance = "an operator has terminated the instance"

// Event is the line of history about it.
func (v *Verdict) Event() (record.Event, string) {
	if !v.Drop {
		return record.EventRetried, fmt.Sprintf("refused message %d from %s was put into its queue again", v.Number, v.Message.Source)
	}
	reason := fmt.Sprintf("refused message %d from %s was dropped", v.Number, v.Message.Source)
	if v.Why != "" {
		reason += ": " + v.Why
	}
	return record.EventDropped, reason
}

// judge makes an operator's word come true, in one transaction with the message's leaving
// what is set aside.
func (m *Machine) judge(w *word, say Judge, seen *sight) {
	v := &say.Verdict
	key := v.Message.Entry()
	a := m.process.Activity(key.Activity)
	if a == nil {
		m.pointless(w, v, m.notHosted(key))
		return
	}
	e := m.table.Get(key)
	s := &navigator.State{Entry: key}
	switch {
	case e == nil && seen == nil:
		m.read(key, w)
		return
	case e == nil && seen.end != nil && seen.end.Event == record.EventStopped:
		m.pointless(w, v, stoppedInstance)
		return
	case e == nil && seen.end != nil:
		m.pointless(w, v, "late: the activity has already terminated")
		return
	case e != nil && e.Phase == instancetable.Settling: // what it comes to shows in a moment
		m.postponed = append(m.postponed, w)
		return
	case e != nil:
		s = e.State
	}
	switch {
	case s.Stopped:
		m.pointless(w, v, stoppedInstance)
	case !slices.Contains(s.Unresolved(a), v.Message.Source):
		m.pointless(w, v, fmt.Sprintf("%s does not wait for a connector from %s", key.Activity, v.Message.Source))
	case !v.Drop:
		m.carryOut(w, v, v.Message, Answer{Code: Redelivered})
	default:
		put, text := m.without(a, s, v.Message)
		m.carryOut(w, v, put, Answer{Code: Resolved, Text: text})
	}
}

// without is the message that resolves what refused would have resolved: FALSE, no data.
func (m *Machine) without(a *navigator.Activity, s *navigator.State, refused message.Message) (message.Message, string) {
	out := message.Message{Header: message.Header{
		Queue: message.Queue{Process: m.id(), Node: m.self}, Definition: m.process.Definition(),
		Instance: refused.Instance, Origin: refused.Origin, Scope: refused.Scope, Activity: refused.Activity, Source: refused.Source,
		Kind: message.KindConnector, Lane: refused.Lane, Clock: refused.Clock, Trace: refused.Trace,
	}}
	if s.Origin != "" {
		out.Origin = s.Origin
	}
	var what []string
	if slices.ContainsFunc(a.InControl, func(i processtable.InControl) bool { return i.From == refused.Source }) {
		out.Control = message.False
		what = append(what, "the control connector from "+string(refused.Source)+" is FALSE")
	}
	if slices.ContainsFunc(a.InData, func(i processtable.InData) bool { return i.From == refused.Source }) {
		out.Data = message.DataAbsent
		what = append(what, "the data connector from "+string(refused.Source)+" has no data")
	}
	return out, fmt.Sprintf("to %s, %s", refused.Activity, strings.Join(what, " and "))
}

// pointless: nothing waits for the message. A retry is refused; dropped, it is removed.
func (m *Machine) pointless(w *word, v *Verdict, reason string) {
	if !v.Drop {
		m.answer(w, Pointless, reason)
		return
	}
	m.carryOut(w, v, message.Message{}, Answer{Code: Removed, Text: reason})
}

// carryOut commits what became of a message: it is gone from what is set aside, put, if
// there is one, is put, the history says so, and an entry that was in error because of
// it is so no more.
func (m *Machine) carryOut(w *word, v *Verdict, put message.Message, answer Answer) {
	key := v.Message.Entry()
	e := m.table.Get(key)
	s := &settlement{tx: &queue.Tx{}, primary: key}
	state := &navigator.State{Entry: key, Origin: v.Message.Origin, Clock: v.Message.Clock}
	if e != nil && e.Phase == instancetable.Waiting && e.Activity.BrokenBy(e.State, v.Message) {
		effects, err := m.heal(e, v)
		if err != nil {
			m.answer(w, Refused, err.Error())
			return
		}
		s, state = newSettlement(e), e.State
		m.addEntry(s, e, e.State, nil, effects)
	} else {
		s.tx.Consume = []queue.Consume{{Process: m.id(), Entry: key}}
	}
	if put.Kind != 0 {
		s.tx.Put = append(s.tx.Put, put)
	}
	s.tx.TakeAside = []uint64{v.Number}
	s.tx.Audit = append(s.tx.Audit, m.verdictRecord(v, state))
	s.word, s.answer = w, answer
	m.finish(s)
}

// heal lets an entry leave the error that a message had put it in; unless it has cause to
// be in error for another one that is set aside.
func (m *Machine) heal(e *instancetable.Entry, v *Verdict) (navigator.Effects, error) {
	open := e.State.Unresolved(e.Activity)
	for i := range v.Others {
		other := &v.Others[i]
		if other.Message.Entry() == v.Message.Entry() && other.Message.Source != v.Message.Source && slices.Contains(open, other.Message.Source) {
			return e.Activity.Refused(e.State, other.Message, other.Reason, m.now), nil
		}
	}
	effects, err := e.Activity.Resume(e.State, nil, nil, m.now)
	effects.Outcome = navigator.Outcome{} // the verdict's record tells of it
	return effects, err
}

// verdictRecord is the line of history about an operator's word.
func (m *Machine) verdictRecord(v *Verdict, s *navigator.State) record.AuditRecord {
	o := navigator.Outcome{What: navigator.Retried, Clock: message.Next(s.Clock)}
	if s.Snapshot != nil {
		o.Iteration, o.Run = s.Snapshot.Iteration, s.Snapshot.Run
	}
	r := m.audit(v.Message.Entry(), s, navigator.Effects{Outcome: o})
	r.Event, r.Reason = v.Event()
	r.By = v.By
	return r
}
