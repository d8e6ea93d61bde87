package thread

import (
	"slices"

	"fmqm/behaviour"
	"fmqm/instancetable"
	"fmqm/message"
	"fmqm/queue/record"
)

// Operators' hands on one activity (N30).

// retry lets an activity in error go on.
func (m *Machine) retry(w *word, c *command, e *instancetable.Entry) {
	if e.Phase != instancetable.Waiting || !e.State.InError() {
		m.refuseWord(w, true, "%s: it is not in error", c.name())
		return
	}
	row := m.process.Table().Activity(e.Key.Row())
	output, err := m.container(c, row.Output, c.order.Output)
	if err != nil {
		m.wrongContainer(w, c, "output", err)
		return
	}
	input, err := m.container(c, row.Input, c.order.Input)
	if err != nil {
		m.wrongContainer(w, c, "input", err)
		return
	}
	effects, slow, err := m.follows(e, c.after(e), behaviour.Retry{Input: input, Output: output}, c.judged)
	switch {
	case err != nil:
		m.refuseWord(w, true, "%s", err.Error())
		return
	case slow != nil:
		m.evaluate(w, e, slow)
		return
	}
	retried := c.retried(effects.Outcome)
	if what := effects.Outcome.What; what == behaviour.Retried || what == behaviour.Terminated && output != nil {
		effects.Outcome.By, effects.Outcome.Reason = retried.By, retried.Reason
	}
	if effects.Outcome.What == behaviour.Retried {
		m.carry(w, c, e, &effects, nil)
		return
	}
	m.carry(w, c, e, &effects, &retried)
}

// retried is the line of history about a retry.
func (c *command) retried(after behaviour.Outcome) behaviour.Outcome {
	o := behaviour.Outcome{What: behaviour.Retried, Clock: after.Clock, Iteration: after.Iteration, Run: after.Run, By: c.order.By(), Reason: c.order.Why}
	given := ""
	switch {
	case len(c.order.Output) > 0:
		given = record.GivenByHand
	case len(c.order.Input) > 0:
		given = "its input was given by hand"
	}
	switch {
	case given == "":
	case o.Reason == "":
		o.Reason = given
	default:
		o.Reason = given + ": " + o.Reason
	}
	return o
}

// byHand ends an activity, whatever it does or waits for. A program that runs is ended first: until it has, and the
// word is answered, nothing else is decided of the entry, so that what the operator has said comes before the
// program's end.
func (m *Machine) byHand(w *word, c *command, e *instancetable.Entry) {
	hand := behaviour.ByHand{By: c.order.By(), Why: c.order.Why, Started: c.ended}
	if c.order.Wish == message.WishFinish {
		output, err := m.container(c, m.process.Table().Activity(e.Key.Row()).Output, c.order.Output)
		if err != nil {
			m.wrongContainer(w, c, "output", err)
			return
		}
		if output == nil {
			m.refuseWord(w, true, "%s: it has run with an output, and none is given", c.name())
			return
		}
		hand.Output = output
	}
	switch m.started(e, e.Known.Origin) {
	case startUnknown:
		if !m.awaitsAnswer(e) { // nothing has asked for what is suspended
			m.awaitAnswer(e, e.Known.Origin, nil)
		}
		m.postponed = append(m.postponed, w)
		return
	case wasNotStarted:
		m.refuseWord(w, false, "%s: what it is part of has not begun here", c.name())
		return
	case wasStarted:
	}
	effects, slow, err := m.follows(e, c.after(e), hand, c.judged)
	switch {
	case err != nil:
		m.refuseWord(w, true, "%s", err.Error())
		return
	case slow != nil:
		m.evaluate(w, e, slow)
		return
	}
	m.hold(w, e.Key)
	if e.Phase == instancetable.Running {
		m.interrupt(e)
		return
	}
	if hand.Output == nil {
		m.carry(w, c, e, &effects, nil)
		return
	}
	o := effects.Outcome
	m.carry(w, c, e, &effects, &behaviour.Outcome{What: behaviour.Forced, Clock: o.Clock, Iteration: o.Iteration, Run: o.Run, By: hand.By, Reason: hand.Why})
}

// hold notes that a word ends an entry.
func (m *Machine) hold(w *word, e message.Entry) {
	if !slices.Contains(m.held[e], w) {
		m.held[e] = append(m.held[e], w)
	}
}

// letGo: a word is answered. If it has not ended its entry, that goes on.
func (m *Machine) letGo(c *command) {
	key := c.message.Entry()
	held := m.held[key]
	i := slices.IndexFunc(held, func(w *word) bool { return w.say == c })
	if i < 0 {
		return
	}
	if held = slices.Delete(held, i, i+1); len(held) > 0 {
		m.held[key] = held
		return
	}
	delete(m.held, key)
	if m.table.Get(key) != nil {
		m.stale = append(m.stale, key)
		m.do(Look{})
	}
}

// interrupt ends the program of an entry early.
func (m *Machine) interrupt(e *instancetable.Entry) {
	if run, under := m.running[e.Key]; under && !run.interrupted {
		run.interrupted = true
		m.running[e.Key] = run
		m.do(Interrupt{run.token})
	}
}
