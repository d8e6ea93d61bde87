package thread

import (
	"fmt"

	"fmqm/behaviour"
	"fmqm/instancetable"
	"fmqm/message"
	"fmqm/queue/record"
)

// Verdict is an operator's word about a connector message that was set aside: it is
// delivered again, or dropped (L5).
type Verdict struct {
	Number  uint64 // of what was set aside
	Message message.Message
	Drop    bool
	Why     string             // the operator's words, for the history
	By      string             // who that is
	Others  []behaviour.Refuse // what is set aside of the same instance
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
	a := m.process.Activity(key.Row())
	if a == nil {
		m.pointless(w, v, m.notHosted(key))
		return
	}
	if reason := m.unfounded(key, []message.Message{v.Message}); reason != "" {
		m.pointless(w, v, reason)
		return
	}
	e := m.table.Get(key)
	s := a.Empty(key)
	switch {
	case e == nil && seen == nil:
		m.read(key, w)
		return
	case e == nil && m.another(seen.end) != "":
		m.pointless(w, v, m.another(seen.end))
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
	switch view := a.View(s, m.now); {
	case s.Known().Stopped:
		m.pointless(w, v, stoppedInstance)
	case !behaviour.Lacks(a, &view, v.Message.Source):
		m.pointless(w, v, fmt.Sprintf("%s does not wait for a connector from %s", key.Activity, v.Message.Source))
	case !v.Drop:
		m.carryOut(w, v, v.Message, Answer{Code: Redelivered})
	default:
		put, text := a.Without(s, v.Message)
		m.carryOut(w, v, put, Answer{Code: Resolved, Text: text})
	}
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
	s := &settlement{tx: &record.Tx{}, primary: key}
	known, iteration, run := &behaviour.Basis{Entry: key, Origin: v.Message.Origin, Clock: v.Message.Clock}, 0, 0
	var healing behaviour.Effects
	if e != nil && e.Phase == instancetable.Waiting {
		var err error
		if healing, err = e.Behaviour.Command(e.State, behaviour.Forgive{Message: v.Message, Others: v.Others}, m.now); err != nil {
			m.answer(w, Refused, err.Error())
			return
		}
	}
	if !healing.Waits() {
		view := e.Behaviour.View(e.State, m.now)
		s, known, iteration, run = newSettlement(e), e.Known, view.Iterations, view.Run
		m.addEntry(s, e, e.Known, nil, &healing)
	} else {
		s.tx.Consume = []record.Consume{{Process: m.id(), Entry: key}}
	}
	if put.Kind != 0 {
		s.tx.Put = append(s.tx.Put, put)
	}
	s.tx.Settle = []uint64{v.Number}
	s.tx.Audit = append(s.tx.Audit, m.verdictRecord(v, known, iteration, run))
	s.word, s.answer = w, answer
	m.finish(s)
}

// verdictRecord is the line of history about an operator's word.
func (m *Machine) verdictRecord(v *Verdict, known *behaviour.Basis, iteration, run int) record.AuditRecord {
	o := behaviour.Outcome{What: behaviour.Retried, Clock: message.Next(known.Clock), Iteration: iteration, Run: run}
	r := m.audit(v.Message.Entry(), known, &behaviour.Effects{Outcome: o})
	r.Event, r.Reason = v.Event()
	r.By = v.By
	return r
}
