package interpret

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"fmqm/container"
	"fmqm/definition"
)

// drawProcess writes a definition of up to 9 activities whose connectors lead forward.
func drawProcess(t *rapid.T) string {
	var b strings.Builder
	b.WriteString(head + "activities:\n")
	count := rapid.IntRange(1, 9).Draw(t, "activities")
	var control, data []string
	for i := range count {
		predecessors := 0
		for j := range i {
			if rapid.IntRange(0, 2).Draw(t, "edge") > 0 {
				continue
			}
			predecessors++
			condition := rapid.SampledFrom([]string{"", ": n > 1", ": b", ": 3 / n > 0"}).Draw(t, "condition")
			control = append(control, fmt.Sprintf("  - t%d -> t%d%s\n", j, i, condition))
			if rapid.Bool().Draw(t, "data") {
				data = append(data, fmt.Sprintf("  - t%d -> t%d: {n: n}\n", j, i))
			}
		}
		start := "all"
		if predecessors > 0 {
			start = rapid.SampledFrom([]string{"all", "any", fmt.Sprintf("{at_least: %d}", predecessors)}).Draw(t, "start")
		}
		fmt.Fprintf(&b, "  t%d: {node: A, program: p, input: S, output: S", i)
		if predecessors > 0 {
			fmt.Fprintf(&b, ", start: %s", start)
		}
		if rapid.IntRange(0, 3).Draw(t, "loop") == 0 {
			b.WriteString(", exit: n > 1, max_iterations: 4")
			data = append(data, fmt.Sprintf("  - t%d -> t%d: {n: n}\n", i, i))
		}
		b.WriteString("}\n")
	}
	data = append(data, fmt.Sprintf("  - source -> t0\n  - t%d -> sink\n", count-1))
	if len(control) > 0 {
		b.WriteString("control:\n" + strings.Join(control, ""))
	}
	b.WriteString("data:\n" + strings.Join(data, ""))
	return b.String()
}

// drawn gives every attempt an outcome that depends on nothing but what is asked.
func drawn(seed int) Programs {
	return ProgramFunc(func(a *definition.Activity, call Call) Outcome {
		h := seed
		for _, c := range fmt.Sprintf("%s %d %d", a.Name, call.Iteration, call.Attempt) {
			h = (h*31 + int(c)) % 1_000_003
		}
		if h%17 == 0 {
			return Outcome{Err: "no paper"}
		}
		o := Echo(call.Input, a.Output)
		o.Output.Fields[0], o.Output.Fields[2] = int64(h%4), h%3 == 0
		return o
	})
}

func TestAnyRunEndsOrStandsBehindAnError(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		text := drawProcess(rt)
		ps, ds := definition.Load("drawn.yaml", []byte(text))
		if definition.HasErrors(ds) {
			rt.Fatalf("%v\n%s", ds, text)
		}
		p, seed := ps[0], rapid.IntRange(0, 1<<20).Draw(rt, "seed")
		r, err := Run(p, container.New(p.Input), drawn(seed), Options{})
		if err != nil {
			rt.Fatal(err)
		}
		again, err := Run(p, container.New(p.Input), drawn(seed), Options{})
		if err != nil {
			rt.Fatal(err)
		}
		if one, two := summary(t, r), summary(t, again); one != two {
			rt.Fatalf("two runs differ:\n%s\n%s", one, two)
		}
		checkStates(rt, p, r)
	})
}

// checkStates holds every state against those of the predecessors.
func checkStates(t *rapid.T, p *definition.Process, r *Result) {
	state := map[string]State{}
	failed := false
	for _, a := range r.Activities {
		state[a.Activity] = a.State
		failed = failed || a.State == InError
	}
	if failed != (r.State == InError) || failed == (r.Output != nil) {
		t.Fatalf("an activity is in error: %v, and the instance is %s with output %v", failed, r.State, r.Output)
	}
	for _, a := range p.Activities {
		total, open, dead := 0, 0, 0
		for _, c := range p.Control {
			if c.Target != a.Name {
				continue
			}
			total++
			switch state[c.Source] {
			case InError, Waiting, Inactive:
				open++
			case Skipped:
				dead++
			default:
			}
		}
		ended := state[a.Name] == Terminated || state[a.Name] == Skipped || state[a.Name] == InError
		switch {
		case ended == (open > 0):
			t.Fatalf("%s is %s with %d of %d predecessors still open", a.Name, state[a.Name], open, total)
		case ended && total > 0 && dead == total && state[a.Name] != Skipped:
			t.Fatalf("%s is %s though every path to it is dead", a.Name, state[a.Name])
		case a.Start.Kind == definition.StartAll && ended && dead > 0 && state[a.Name] != Skipped:
			t.Fatalf("%s needs all, one is dead, and it is %s", a.Name, state[a.Name])
		case !ended && open < total && state[a.Name] != Waiting:
			t.Fatalf("%s is %s with %d of %d predecessors ended", a.Name, state[a.Name], total-open, total)
		}
	}
}
