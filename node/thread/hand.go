package thread

import (
	"fmqm/behaviour"
	"fmqm/instancetable"
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

const byHand = "its output was given by hand"

// retried is the line of history about a retry.
func (c *command) retried(after behaviour.Outcome) behaviour.Outcome {
	o := behaviour.Outcome{What: behaviour.Retried, Clock: after.Clock, Iteration: after.Iteration, Run: after.Run, By: c.order.By(), Reason: c.order.Why}
	given := ""
	switch {
	case len(c.order.Output) > 0:
		given = byHand
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
