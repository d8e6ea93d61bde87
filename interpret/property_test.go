package interpret

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"fmqm/container"
	"fmqm/definition"
)

// drawProcess writes a definition of up to most activities whose connectors lead forward.
func drawProcess(t *rapid.T, name string, most int) string {
	var b strings.Builder
	b.WriteString(head + "activities:\n")
	count := rapid.IntRange(1, most).Draw(t, "activities")
	var control, data []string
	chooses, otherwise := false, false // source
	for i := range count {
		predecessors := 0
		for j := range i {
			if rapid.IntRange(0, 2).Draw(t, "edge") > 0 {
				continue
			}
			predecessors++
			condition := rapid.SampledFrom([]string{"", ": n > 1", ": b", ": 3 / n > 0"}).Draw(t, "condition")
			control = append(control, fmt.Sprintf("  - %s%d -> %s%d%s\n", name, j, name, i, condition))
			if rapid.Bool().Draw(t, "data") {
				data = append(data, fmt.Sprintf("  - %s%d -> %s%d: {n: n}\n", name, j, name, i))
			}
		}
		if rapid.IntRange(0, 3).Draw(t, "of source") == 0 {
			predecessors++
			condition := rapid.SampledFrom([]string{"", ": n > 1", ": b", ": n <= 1 && !b", ": otherwise"}).Draw(t, "condition of source")
			if condition == ": otherwise" && (otherwise || !chooses) {
				condition = ": n < 1"
			}
			otherwise, chooses = otherwise || condition == ": otherwise", chooses || condition != ""
			control = append(control, fmt.Sprintf("  - source -> %s%d%s\n", name, i, condition))
		}
		start := "all"
		if predecessors > 0 {
			start = rapid.SampledFrom([]string{"all", "any", fmt.Sprintf("{at_least: %d}", predecessors)}).Draw(t, "start")
		}
		fmt.Fprintf(&b, "  %s%d: {node: A, program: p, input: S, output: S", name, i)
		if predecessors > 0 {
			fmt.Fprintf(&b, ", start: %s", start)
		}
		if rapid.IntRange(0, 3).Draw(t, "choice") == 0 {
			b.WriteString(", choice: first_match")
		}
		if rapid.IntRange(0, 3).Draw(t, "loop") == 0 {
			b.WriteString(", exit: n > 1, max_iterations: 4")
			data = append(data, fmt.Sprintf("  - %s%d -> %s%d: {n: n}\n", name, i, name, i))
		}
		b.WriteString("}\n")
	}
	data = append(data, fmt.Sprintf("  - source -> %s0\n  - %s%d -> sink\n", name, name, count-1))
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

func loadDrawn(t *rapid.T, text string) *definition.Process {
	ps, ds := definition.Load("drawn.yaml", []byte(text))
	if definition.HasErrors(ds) {
		t.Fatalf("%v\n%s", ds, text)
	}
	return ps[0]
}

// drawBlocks is a drawn process of whose activities some are blocks, in which again are some.
func drawBlocks(t *rapid.T, name string, deep int) *definition.Process {
	p := loadDrawn(t, drawProcess(t, name, 5))
	for i, a := range p.Activities {
		if deep > 0 && rapid.IntRange(0, 2).Draw(t, "block") == 0 {
			a.Program, a.Block = "", &drawBlocks(t, fmt.Sprintf("%s%d_", name, i), deep-1).Graph
		}
	}
	return p
}

func mustRun(t *rapid.T, p *definition.Process, input *container.Struct, programs Programs) *Result {
	r, err := Run(p, input, programs, Options{})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestAnyRunEndsOrStandsBehindAnError(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		p, seed := loadDrawn(rt, drawProcess(rt, "t", 9)), rapid.IntRange(0, 1<<20).Draw(rt, "seed")
		if rapid.Bool().Draw(rt, "with blocks") {
			p = drawBlocks(rt, "t", 3)
		}
		r := mustRun(rt, p, nil, drawn(seed))
		if one, two := summary(t, r), summary(t, mustRun(rt, p, nil, drawn(seed))); one != two {
			rt.Fatalf("two runs differ:\n%s\n%s", one, two)
		}
		failed := false
		for a := range r.All() {
			failed = failed || a.State == InError
		}
		if failed != (r.State == InError) || failed == (r.Output != nil) {
			rt.Fatalf("an activity is in error: %v, and the instance is %s with output %v", failed, r.State, r.Output)
		}
		checkStates(rt, &p.Graph, r.Activities)
	})
}

// What a definition is warned of as never running does not run, whatever programs give.
func TestWhatIsSaidNeverToRunDoesNot(t *testing.T) {
	said := 0
	rapid.Check(t, func(rt *rapid.T) {
		text := drawProcess(rt, "t", 9)
		p, never := loadDrawn(rt, text), map[int]bool{}
		_, diagnostics := definition.Load("drawn.yaml", []byte(text))
		for _, d := range diagnostics {
			if d.Code == "never-runs" || d.Code == "exclusive-branches" {
				never[d.Line] = true
				said++
			}
		}
		input := container.New(p.Input)
		input.Fields[0], input.Fields[2] = rapid.Int64Range(0, 2).Draw(rt, "n"), rapid.Bool().Draw(rt, "b")
		for a := range mustRun(rt, p, input, drawn(rapid.IntRange(0, 1<<20).Draw(rt, "seed"))).All() {
			if a.Iterations > 0 && never[a.Definition.Pos.Line] {
				rt.Fatalf("%s runs in\n%s", a.Activity, text)
			}
		}
	})
	if said == 0 {
		t.Error("no activity was warned of")
	}
}

// N18: a block's iteration is what a process of its graph makes of the same input; its loop
// is that process, run until the exit condition holds.
func TestABlockIsItsGraphRunAgain(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		graph, seed := loadDrawn(rt, drawProcess(rt, "t", 9)), rapid.IntRange(0, 1<<20).Draw(rt, "seed")
		loops, deep := rapid.Bool().Draw(rt, "loops"), rapid.IntRange(0, 2).Draw(rt, "deep")
		text := "activities: {round: {node: A, program: block, input: S, output: S}}\ndata: [source -> round, round -> sink]"
		if loops {
			text = "activities: {round: {node: A, program: block, input: S, output: S, exit: n > 1, max_iterations: 4}}\ndata: [source -> round, round -> round: {n: n, b: b}, round -> sink]"
		}
		p, around := loadDrawn(rt, head+text), Scope("")
		p.Activities[0].Program, p.Activities[0].Block = "", &graph.Graph
		for i := range deep { // blocks around the loop that add nothing
			name := fmt.Sprintf("around%d", i)
			outer := loadDrawn(rt, head+strings.ReplaceAll("activities: {x: {node: A, program: block, input: S, output: S}}\ndata: [source -> x, x -> sink]", "x", name))
			outer.Activities[0].Program, outer.Activities[0].Block = "", &p.Graph
			p = outer
			if around != "" {
				around = "/" + around
			}
			around = Scope(name+"#1") + around
		}
		r := mustRun(rt, p, nil, ProgramFunc(func(a *definition.Activity, call Call) Outcome {
			_, iteration, _ := strings.Cut(string(call.Scope), "round#")
			n, _ := strconv.Atoi(iteration)
			return drawn(seed+n).Run(a, call)
		}))

		state, in, output := Terminated, container.New(graph.Input), (*container.Struct)(nil)
		iteration := 1
		for ; ; iteration++ {
			want := mustRun(rt, graph, in, drawn(seed+iteration))
			got, err := r.In(fmt.Sprintf("%s#%d", around.Path("round"), iteration))
			if err != nil {
				rt.Fatal(err)
			}
			for i, g := range got {
				w := &want.Activities[i]
				if one, two := executed(g), executed(w); one != two {
					rt.Fatalf("%s is\n%s\nand in a process of the graph\n%s", g.Path(), one, two)
				}
			}
			if want.State == InError {
				state = Running
				break
			}
			output = want.Output
			if n := output.Fields[0].(int64); !loops || n > 1 {
				break
			}
			if iteration == 4 {
				state = InError
				break
			}
			in = in.Clone()
			in.Fields[0], in.Fields[2] = output.Fields[0], output.Fields[2]
		}
		loop := activity(t, r, around.Path("round"))
		if loop.State != state || loop.Iterations != iteration {
			rt.Fatalf("the loop is %s after %d iterations, want %s after %d", loop.State, loop.Iterations, state, iteration)
		}
		if finished := state == Terminated; finished != (r.State == Finished) || finished && jsonOf(t, r.Output) != jsonOf(t, output) {
			rt.Fatalf("the loop is %s, and the instance %s with %v, want %v", state, r.State, r.Output, output)
		}
	})
}

// executed writes all but where it was, and what is inside.
func executed(a *ActivityResult) string {
	where := *a
	where.Scope, where.Definition, where.RC, where.Input, where.Output, where.Inside = "", nil, nil, nil, nil, nil
	rc := int64(-1)
	if a.RC != nil {
		rc = *a.RC
	}
	return fmt.Sprintf("%+v %d %v %v", where, rc, a.Input, a.Output)
}

// checkStates holds every state against those of the predecessors, and that of a block
// against those inside.
func checkStates(t *rapid.T, g *definition.Graph, activities []ActivityResult) {
	state := map[string]State{}
	for i := range activities {
		a := &activities[i]
		state[a.Activity] = a.State
		if a.Definition.Block != nil {
			checkBlock(t, a)
		}
	}
	checkFirstMatches(t, g, state)
	for _, a := range g.Activities {
		total, open, dead := 0, 0, 0
		for _, c := range g.Control {
			if c.Target != a.Name {
				continue
			}
			total++
			switch state[c.Source] {
			case InError, Running, Waiting, Inactive:
				open++
			case Skipped:
				dead++
			default:
			}
		}
		decided := state[a.Name] != Waiting && state[a.Name] != Inactive
		switch {
		case decided == (open > 0):
			t.Fatalf("%s is %s with %d of %d predecessors still open", a.Name, state[a.Name], open, total)
		case decided && total > 0 && dead == total && state[a.Name] != Skipped:
			t.Fatalf("%s is %s though every path to it is dead", a.Name, state[a.Name])
		case a.Start.Kind == definition.StartAll && decided && dead > 0 && state[a.Name] != Skipped:
			t.Fatalf("%s needs all, one is dead, and it is %s", a.Name, state[a.Name])
		case !decided && open < total && state[a.Name] != Waiting:
			t.Fatalf("%s is %s with %d of %d predecessors ended", a.Name, state[a.Name], total-open, total)
		}
	}
}

// checkFirstMatches holds choices of the first match against what came after them.
func checkFirstMatches(t *rapid.T, g *definition.Graph, state map[string]State) {
	into, taken := map[string]int{}, map[string]int{}
	for _, c := range g.Control {
		into[c.Target]++
	}
	for _, c := range g.Control {
		if s := state[c.Target]; into[c.Target] == 1 && s != Skipped && s != Inactive && s != Waiting {
			taken[c.Source]++
		}
	}
	for _, a := range g.Activities {
		if a.FirstMatch && taken[a.Name] > 1 {
			t.Fatalf("%s takes the first match, and %d that only it leads to have run", a.Name, taken[a.Name])
		}
	}
}

func checkBlock(t *rapid.T, block *ActivityResult) {
	kept := block.Iterations
	if block.State == Skipped {
		kept = 1
	}
	if len(block.Inside) != kept {
		t.Fatalf("%s is %s after %d iterations, and %d are kept", block.Path(), block.State, block.Iterations, len(block.Inside))
	}
	for i, inside := range block.Inside {
		going, skipped := 0, 0
		for j := range inside {
			switch inside[j].State {
			case Terminated:
			case Skipped:
				skipped++
			default:
				going++
			}
		}
		running := block.State == Running && i == len(block.Inside)-1
		switch {
		case running != (going > 0):
			t.Fatalf("%s is %s, and in its iteration %d of %d %d have not ended", block.Path(), block.State, i+1, len(block.Inside), going)
		case block.State == Skipped && skipped != len(inside):
			t.Fatalf("%s is skipped, and of %d inside %d are", block.Path(), len(inside), skipped)
		}
		if block.State != Skipped {
			checkStates(t, block.Definition.Block, inside)
		}
	}
}
