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
)

// Attempt is one attempt that a program was asked for.
type Attempt struct {
	Scope              string // where the activity is: "documents#2"; empty at the top
	Activity           string
	Iteration, Attempt int
	Input              string // JSON
}

// Expectation is what the interpreter says of a process with an input.
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
		if !slices.Equal(g, w) {
			all = append(all, fmt.Sprintf("%s: attempts were\n      %s\n    the interpreter made\n      %s", a.Path(), lines(g), lines(w)))
		}
	}
	for _, path := range slices.Sorted(maps.Keys(gotOf)) {
		all = append(all, fmt.Sprintf("%s: attempts were\n      %s\n    and the interpreter never came there", path, lines(gotOf[path])))
	}
	return all
}

func byPath(all []Attempt) map[string][]Attempt {
	of := map[string][]Attempt{}
	for _, a := range all {
		path := api.InScope(a.Scope, a.Activity)
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
