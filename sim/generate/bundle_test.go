package generate

import (
	"testing"

	"fmqm/container"
	"fmqm/definition"
	"fmqm/interpret"
)

// What bundles and calls can do must come about, as TestEverythingComesAbout has it.
func TestEverythingOfBundlesComesAbout(t *testing.T) {
	seen := map[string]int{}
	for seed := range 1000 {
		c := Bundling().Example(seed)
		p := load(t, c)
		input := container.New(p.Input)
		if c.Input != "" {
			input, _ = container.DecodeJSON(p.Input, []byte(c.Input))
		}
		for _, a := range p.All() {
			noteKind(seen, a)
		}
		r, err := interpret.Run(p, input, Interpreted(c), interpret.Options{})
		if err != nil {
			t.Fatalf("%v\n%s", err, c)
		}
		seen[string(r.State)+" instance"]++
		for a := range r.All() {
			noteBundle(seen, a)
		}
	}
	t.Log(seen)
	for _, want := range []string{
		"finished instance", "in-error instance", "bundle", "bundle of blocks", "bundle of waits", "bundle of calls", "call", "until", "parallel 1", "collected nothing",
		"bundle terminated", "bundle running", "bundle skipped", "empty", "some", "failed", "all failed", "left by until", "element in-error", "element iterated", "element repeated", "done elsewhere", "inside of an element",
	} {
		if seen[want] < 10 {
			t.Errorf("%q came about %d times in 1000 processes", want, seen[want])
		}
	}
}

func noteKind(seen map[string]int, a *definition.Activity) {
	if a.Call != nil {
		seen["call"]++
	}
	b := a.Bundle
	if b == nil {
		return
	}
	seen["bundle"]++
	switch {
	case a.Block != nil:
		seen["bundle of blocks"]++
	case a.Wait != nil:
		seen["bundle of waits"]++
	case a.Call != nil:
		seen["bundle of calls"]++
	}
	if b.Until != nil {
		seen["until"]++
	}
	if b.Parallel == 1 {
		seen["parallel 1"]++
	}
	if len(b.Output.Members) == 3 {
		seen["collected nothing"]++
	}
}

func noteBundle(seen map[string]int, a *interpret.ActivityResult) {
	if a.At != "" && a.At != a.Node {
		seen["done elsewhere"]++
	}
	if a.Definition.Bundle == nil {
		return
	}
	seen["bundle "+string(a.State)]++
	c := a.Counts
	if c == nil {
		return
	}
	switch {
	case c.Count == 0:
		seen["empty"]++
	case c.Failed == c.Count:
		seen["all failed"]++
	case c.Failed > 0:
		seen["failed"]++
	default:
		seen["some"]++
	}
	if c.Cancelled > 0 {
		seen["left by until"]++
	}
	for i := range a.Each {
		e := &a.Each[i]
		seen["element "+string(e.State)]++
		if e.Iterations > 1 {
			seen["element iterated"]++
		}
		if e.Attempts > 1 {
			seen["element repeated"]++
		}
		if len(e.Inside) > 0 {
			seen["inside of an element"]++
		}
	}
}
