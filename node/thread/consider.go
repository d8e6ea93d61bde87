package thread

import (
	"cmp"
	"errors"
	"slices"

	"fmqm/behaviour"
	"fmqm/instancetable"
	"fmqm/message"
)

// fold adds messages to an entry and considers it. One that does not fit the table is
// set aside, and the entry goes in error (L5).
func (m *Machine) fold(e *instancetable.Entry, messages []message.Message) {
	m.acts++
	if rest := m.withoutRecalls(e, messages); len(rest) < len(messages) {
		if messages = rest; len(rest) == 0 {
			return
		}
	}
	m.places.changed(e)
	var refused []behaviour.Refuse
	for i := range messages {
		var refusal *behaviour.Refusal
		if err := e.Behaviour.Fold(e.State, messages[i]); errors.As(err, &refusal) {
			refused = append(refused, behaviour.Refuse{Message: messages[i], Reason: refusal.Reason})
		}
	}
	m.table.Touch(e)
	m.show(e)
	if len(refused) == 0 {
		m.consider(e)
		return
	}
	origin := cmp.Or(e.Known.Origin, refused[0].Message.Origin)
	switch m.started(e, origin) {
	case wasStarted:
		m.refuse(e, refused)
	case wasNotStarted:
		m.unstarted(e, refused)
	case startUnknown:
		m.awaitAnswer(e, origin, refused)
	}
}

// consider asks the behaviour what should be, and makes it so.
func (m *Machine) consider(e *instancetable.Entry) {
	m.acts++
	switch e.Phase {
	case instancetable.Settling:
		return
	case instancetable.Running:
		if e.State.Interrupted() {
			m.interrupt(e)
		}
		return
	case instancetable.Ready:
		if !suspended(e) && !e.State.Interrupted() && !m.yields(e) {
			return
		}
		m.leaves(e)
	case instancetable.Waiting:
	}
	if len(m.held[e.Key]) > 0 || m.stands(e) && !m.passedAround(e) { // an operator's hand is on it, or it is suspended
		return
	}
	switch m.started(e, e.Known.Origin) {
	case startUnknown:
		m.awaitAnswer(e, e.Known.Origin, nil)
		return
	case wasNotStarted:
		m.unstarted(e, nil)
		return
	case wasStarted:
	}
	var effects behaviour.Effects
	if e.Result != nil {
		effects = e.Behaviour.Conclude(e.State, *e.Result, m.now)
	} else {
		effects = e.Behaviour.Decide(e.State, m.now)
	}
	switch {
	case effects.Invoke != nil:
		m.makeReady(e, effects.Invoke)
	case effects.Waits():
		if e.State.Empty() {
			m.table.Remove(e.Key)
		}
	default:
		m.settle(e, &effects)
	}
}

// yields says whether something has come that goes before what an entry is ready for: what has begun some of its
// work, and is to begin more, ends meanwhile.
func (m *Machine) yields(e *instancetable.Entry) bool {
	return e.Program == behaviour.Begin && e.Behaviour.Decide(e.State, m.now).Invoke == nil
}

// attempt is one of a program, under way.
type attempt struct {
	token       Token
	interrupted bool
}

func (m *Machine) invoke(e *instancetable.Entry, call *behaviour.Invoke) {
	token := m.next()
	m.running[e.Key] = attempt{token: token}
	m.table.SetPhase(e, instancetable.Running)
	m.do(Invoke{token, e.Key, e.Behaviour, call})
}

// ended takes a program's end.
func (m *Machine) ended(p Ended) {
	if run, under := m.running[p.Entry]; !under || run.token != p.Token {
		return
	}
	delete(m.running, p.Entry)
	e := m.table.Get(p.Entry)
	if e == nil || e.Phase != instancetable.Running {
		return
	}
	e.Result = p.Result
	m.table.SetPhase(e, instancetable.Waiting)
	for _, w := range slices.Clone(m.held[e.Key]) {
		w.say.(*command).ended = p.Result.Started
		m.hear(w, nil)
	}
	m.consider(e)
}
