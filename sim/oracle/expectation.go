package oracle

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"fmqm/api"
	"fmqm/container"
	"fmqm/definition"
	"fmqm/interpret"
	"fmqm/queue/record"
)

// Attempt is one attempt that a program was asked for.
type Attempt struct {
	Scope              string // where the activity is: "documents#2"; empty at the top
	Activity           string
	Iteration, Attempt int
	Input              string // JSON
}

// AttemptScope is the scope of an attempt whose execution programs were told by that path: an element of a bundle is
// in a scope of its own.
func AttemptScope(path string) string {
	if strings.HasSuffix(path, "]") {
		return path
	}
	scope, _ := api.CutScope(path)
	return scope
}

// Expectation is what the interpreter says of a process with an input.
type Expectation struct {
	Result   *interpret.Result
	Attempts []Attempt
	outcomes *Outcomes // nil: of no run
}

// Expect runs the interpreter.
func Expect(p *definition.Process, input json.RawMessage, programs interpret.Programs) (*Expectation, error) {
	return expect(p, input, programs)
}

// ExpectOf runs the interpreter, given how the races of a run came out.
func ExpectOf(p *definition.Process, input json.RawMessage, programs interpret.Programs, o *Outcomes) (*Expectation, error) {
	e, err := expect(p, input, o.Races(programs))
	if err != nil {
		return nil, err
	}
	e.outcomes = o
	for a := range e.Result.All() {
		c := o.of[a.Path()]
		if c == nil || c.inError != nil {
			continue
		}
		if r := c.endedEarly(); r != nil { // whether an attempt had begun nobody knows but who was there
			a.Attempts = r.Attempt
		}
	}
	return e, nil
}

func expect(p *definition.Process, input json.RawMessage, programs interpret.Programs) (*Expectation, error) {
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
			Scope: string(call.Scope), Activity: a.Name, Iteration: call.Iteration, Attempt: call.Attempt, Input: string(text),
		})
	}
	var err error
	if e.Result, err = interpret.Run(p, in, programs, interpret.Options{Observe: observe}); err != nil {
		return nil, err
	}
	return e, failed
}

// AttemptDifferences compares the attempts that were made with those that the interpreter
// made: each activity's in each scope, in order, with equal inputs. Where a site may crash an attempt
// can come again: then repeated must be set.
func (e *Expectation) AttemptDifferences(got []Attempt, repeated bool) []string {
	var all []string
	gotOf, wantOf := byPath(got), byPath(e.Attempts)
	for a := range e.Result.All() {
		g, w := gotOf[a.Path()], wantOf[a.Path()]
		delete(gotOf, a.Path())
		if repeated {
			g = slices.Compact(g)
		}
		g = e.concluded(a.Path(), g)
		if !slices.Equal(g, w) {
			all = append(all, fmt.Sprintf("%s: attempts were\n      %s\n    the interpreter made\n      %s", a.Path(), lines(g), lines(w)))
		}
	}
	for _, path := range slices.Sorted(maps.Keys(gotOf)) {
		all = append(all, fmt.Sprintf("%s: attempts were\n      %s\n    and the interpreter never came there", path, lines(gotOf[path])))
	}
	return all
}

// concluded leaves out the attempt under way that something else has ended, if it had begun.
func (e *Expectation) concluded(path string, attempts []Attempt) []Attempt {
	if e.outcomes == nil || e.outcomes.of[path] == nil || len(attempts) == 0 {
		return attempts
	}
	c := e.outcomes.of[path]
	r := c.endedEarly()
	if r == nil || c.work != nil && c.work.Event == record.EventTerminated {
		return attempts
	}
	if c.work != nil {
		r = c.work
	}
	iteration := max(1, r.Iteration)
	if last := attempts[len(attempts)-1]; last.Iteration == iteration && last.Attempt == c.failed[iteration]+1 {
		return attempts[:len(attempts)-1]
	}
	return attempts
}

func byPath(all []Attempt) map[string][]Attempt {
	of := map[string][]Attempt{}
	for _, a := range all {
		path := pathOf(a.Scope, a.Activity)
		of[path] = append(of[path], a)
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
