package sim

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"fmqm/api"
	"fmqm/container"
	"fmqm/definition"
	"fmqm/interpret"
)

// Differences says what an instance's status and the oracle's result do not agree on:
// the instance's state and output, and of every activity state, iterations, attempts,
// return code and output container. Reasons and times are not compared.
func Differences(got api.Status, want *interpret.Result) []string {
	var all []string
	differ := func(what string, got, want any) {
		if g, w := fmt.Sprint(got), fmt.Sprint(want); g != w {
			all = append(all, fmt.Sprintf("%s is %s, the interpreter says %s", what, clip(g), clip(w)))
		}
	}
	differ("instance: state", got.State, want.State)
	differ("instance: output", string(got.Output), written(want.Output))
	if len(got.Unreachable) > 0 {
		differ("instance: unreachable", got.Unreachable, "[]")
	}
	differ("instance: activities", len(got.Activities), len(want.Activities))
	inError := 0
	for i, w := range want.Activities {
		if w.State == interpret.InError {
			inError++
		}
		if i >= len(got.Activities) {
			break
		}
		g := got.Activities[i]
		differ(fmt.Sprintf("activity %d", i), g.Activity, w.Activity)
		differ(w.Activity+": node", g.Node, w.Node)
		differ(w.Activity+": state", g.State, w.State)
		differ(w.Activity+": iterations", g.Iterations, w.Iterations)
		differ(w.Activity+": attempts", g.Attempts, attempts(w))
		differ(w.Activity+": rc", show(g.RC), show(w.RC))
		differ(w.Activity+": output", string(g.Output), written(w.Output))
	}
	differ("instance: in error", got.InError, inError)
	return all
}

// Misfits says what in an answer about an instance cannot be, whenever it was given: an
// activity that has ended, and one before it that has not; one that has not, in an instance
// that has finished; one that is unknown, and nothing says why.
func Misfits(got api.Status, p *definition.Process) (all []string) {
	states := map[string]api.ActivityState{}
	for _, a := range got.Activities {
		states[a.Activity] = a.State
		silent := func(u api.Unreachable) bool { return u.Node == a.Node }
		switch {
		case ended(a.State):
		case a.State == api.ActivityUnknown:
			if !slices.ContainsFunc(got.Unreachable, silent) && a.Reason == "" {
				all = append(all, fmt.Sprintf("%s at %s is unknown, and nothing says why", a.Activity, a.Node))
			}
		case got.State == api.InstanceFinished:
			all = append(all, fmt.Sprintf("%s is %s, and the instance %s", a.Activity, a.State, got.State))
		}
	}
	if got.State == api.InstanceTerminated {
		return all // what was ended early has not waited for anything
	}
	for _, c := range p.Control {
		before, known := states[c.Source]
		if known && ended(states[c.Target]) && !ended(before) && before != api.ActivityUnknown {
			all = append(all, fmt.Sprintf("%s is %s, and %s before it %s", c.Target, states[c.Target], c.Source, before))
		}
	}
	return all
}

func ended(s api.ActivityState) bool {
	return s == api.ActivityTerminated || s == api.ActivitySkipped
}

// attempts are told where there was more than one.
func attempts(a interpret.ActivityResult) int {
	if a.Attempts > 1 {
		return a.Attempts
	}
	return 0
}

func show(rc *int64) string {
	if rc == nil {
		return "none"
	}
	return fmt.Sprint(*rc)
}

// written gives a container as a status has it: nothing for one without members.
func written(c *container.Struct) string {
	if c == nil || len(c.Type.Members) == 0 {
		return ""
	}
	b, err := c.MarshalJSON()
	if err != nil {
		return err.Error()
	}
	return string(b)
}

func clip(s string) string {
	const most = 400
	if len(s) > most {
		return fmt.Sprintf("%s... (%d bytes)", s[:most], len(s))
	}
	return s
}

// Expectation is what the oracle says of a process with an input.
type Expectation struct {
	Result   *interpret.Result
	Attempts []Attempt
}

// Expect runs the interpreter.
func Expect(p *definition.Process, input json.RawMessage, programs interpret.Programs) (*Expectation, error) {
	in := container.New(p.Input)
	if len(input) > 0 {
		var err error
		if in, err = container.DecodeJSON(p.Input, input); err != nil {
			return nil, err
		}
	}
	e := &Expectation{}
	var failed error
	observe := func(a *definition.Activity, call interpret.Call, _ interpret.Outcome) {
		text, err := container.EncodeJSON(call.Input)
		if err != nil {
			failed = err
		}
		e.Attempts = append(e.Attempts, Attempt{
			Activity: a.Name, Iteration: call.Iteration, Attempt: call.Attempt, Input: string(text),
		})
	}
	var err error
	if e.Result, err = interpret.Run(p, in, programs, interpret.Options{Observe: observe}); err != nil {
		return nil, err
	}
	return e, failed
}

// Ends gives the activities, and sink, that the instance's last messages are of: those
// that end or are put in error.
func (e *Expectation) Ends() []string {
	var names []string
	for _, a := range e.Result.Activities {
		switch a.State {
		case interpret.Terminated, interpret.Skipped, interpret.InError:
			names = append(names, a.Activity)
		case interpret.Inactive, interpret.Waiting, interpret.Finished:
		}
	}
	if e.Result.State == interpret.Finished {
		names = append(names, "sink")
	}
	return names
}

// AttemptDifferences compares the attempts that were made with those that the oracle
// made: each activity's in order, with equal inputs. Where a site may crash an attempt
// can come again: then repeated must be set.
func (e *Expectation) AttemptDifferences(got []Attempt, repeated bool) []string {
	var all []string
	for _, a := range e.Result.Activities {
		g, w := attemptsOf(got, a.Activity), attemptsOf(e.Attempts, a.Activity)
		if repeated {
			g = slices.Compact(g)
		}
		if !slices.Equal(g, w) {
			all = append(all, fmt.Sprintf("%s: attempts were\n      %s\n    the interpreter made\n      %s", a.Activity, lines(g), lines(w)))
		}
	}
	return all
}

func attemptsOf(all []Attempt, activity string) []Attempt {
	var of []Attempt
	for _, a := range all {
		if a.Activity == activity {
			of = append(of, a)
		}
	}
	return of
}

func lines(attempts []Attempt) string {
	var out []string
	for _, a := range attempts {
		out = append(out, fmt.Sprintf("iteration %d, attempt %d, input %s", a.Iteration, a.Attempt, clip(a.Input)))
	}
	return strings.Join(out, "\n      ")
}
