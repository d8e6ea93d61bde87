package generate

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"fmqm/container"
	"fmqm/definition"
	"fmqm/interpret"
)

// load gives the process of a case, which must be free of errors.
func load(t interface{ Fatalf(string, ...any) }, c *Case) *definition.Process {
	text := []byte(c.Text("drawn"))
	processes, diagnostics := definition.Load("drawn.yaml", text)
	for _, d := range diagnostics {
		if d.Severity == definition.Error {
			t.Fatalf("%s\n%s", d.Text(text), c)
		}
	}
	if len(processes) != 1 {
		t.Fatalf("%d processes\n%s", len(processes), c)
	}
	return processes[0]
}

func TestDefinitionsAreFreeOfErrors(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := rapid.OneOf(Cases(), Steady(), Racing(), Bundling(), SignalsAt(Nodes), TimedAt(Nodes), ScheduledAt(Nodes)).Draw(t, "case")
		p := load(t, c)
		if _, err := definition.Compile(p); err != nil {
			t.Fatalf("compile: %v\n%s", err, c)
		}
		if c.Input == "" {
			return
		}
		if _, err := container.DecodeJSON(p.Input, []byte(c.Input)); err != nil {
			t.Fatalf("input: %v\n%s", err, c)
		}
	})
}

// DeadWood draws what its name says, and all of it finishes.
func TestDeadWood(t *testing.T) {
	skipped, all := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		c := DeadWood().Draw(t, "case")
		p := load(t, c)
		r, err := interpret.Run(p, container.New(p.Input), Interpreted(c), interpret.Options{})
		if err != nil || r.State != interpret.Finished {
			t.Fatalf("%v, %+v\n%s", err, r, c)
		}
		for a := range r.All() {
			all++
			if a.State == interpret.Skipped {
				skipped++
			}
		}
	})
	if skipped < all/3 {
		t.Errorf("%d of %d activities are skipped: want a third", skipped, all)
	}
}

// Joins draws what its name says, and all of it runs.
func TestJoins(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := JoinsAt(Nodes).Draw(t, "case")
		p := load(t, c)
		r, err := interpret.Run(p, container.New(p.Input), Interpreted(c), interpret.Options{})
		if err != nil || r.State != interpret.Finished {
			t.Fatalf("%v, %+v\n%s", err, r, c)
		}
		for _, a := range r.Activities {
			if a.State != interpret.Terminated {
				t.Errorf("%s is %s\n%s", a.Activity, a.State, c)
			}
		}
		follows := map[string]int{}
		for _, connector := range p.Control {
			follows[connector.Target]++
		}
		for name, n := range follows {
			if n < 3 {
				t.Errorf("%s follows on %d\n%s", name, n, c)
			}
		}
	})
}

// N24: of the events that are drawn some meet a receive, others do not, and no receive waits for ever.
func TestSignals(t *testing.T) {
	got, late := 0, 0
	for n := range 200 {
		c := SignalsAt(Nodes).Example(n)
		p := load(t, c)
		r, err := interpret.Run(p, container.New(p.Input), Interpreted(c), interpret.Options{})
		if err != nil {
			continue // a condition out of source fails
		}
		if r.State == interpret.Running {
			t.Fatalf("something waits\n%s", c)
		}
		for a := range r.All() {
			switch {
			case a.Event != "":
				got++
			case a.Definition.Receive != nil && a.TimedOut:
				late++
			}
		}
	}
	if got < 12 || late < 40 {
		t.Errorf("%d receives got an event, and %d none", got, late)
	}
}

func TestResultIsAFunction(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := Cases().Draw(t, "case")
		for _, a := range load(t, c).Activities {
			call := Call{Activity: a.Name, Scope: "b#3/" + a.Name, Iteration: 2, Attempt: 1, Input: container.New(a.Input), Output: a.Output, RCIsData: a.RCIsData}
			one, two := c.Result(call), c.Result(call)
			if one.RC != two.RC || one.Err != two.Err || one.Err == "" && !container.Equal(one.Output, two.Output) {
				t.Fatalf("%s: %v, then %v", a.Name, one, two)
			}
			if one.Err == "" {
				if err := container.CheckValue(a.Output, one.Output); err != nil {
					t.Fatalf("%s: %v", a.Name, err)
				}
			}
		}
	})
}

// An activity of a block gives something else in each of its iterations: else none would end.
func TestAResultDependsOnTheScope(t *testing.T) {
	c := Cases().Example(1)
	output := container.NewStructure("S", []container.Member{{Name: "x", Type: container.Scalar(container.Double)}, {Name: "n", Type: container.Scalar(container.Int)}})
	seen, turns := map[string]bool{}, 0
	for k := range 100 {
		scope := fmt.Sprintf("a#1/b#%d/c", k+1)
		r := c.Result(Call{Activity: "c", Scope: scope, Iteration: 1, Attempt: 1, Input: container.New(container.Empty), Output: output})
		if r.Err != "" {
			continue
		}
		seen[fmt.Sprint(r.Output.Fields)] = true
		if r.Output.Fields[1] == int64(k+1) {
			turns++
		}
	}
	if len(seen) < 40 || turns < 10 {
		t.Errorf("in 100 iterations there are %d outputs, and %d have the number of theirs", len(seen), turns)
	}
}

// What the generator is for: everything that an activity can do must come about. A
// kind of outcome that it gives up unnoticed would not be tested any more.
func TestEverythingComesAbout(t *testing.T) {
	for name, draws := range map[string]*rapid.Generator[*Case]{"drawn": Cases(), "steady": Steady()} {
		t.Run(name, func(t *testing.T) {
			seen := map[string]int{}
			for seed := range 1000 {
				note(t, seen, draws.Example(seed))
			}
			t.Log(seen)
			for _, want := range []string{
				"finished", "in-error instance", "terminated", "skipped", "in-error", "waiting", "inactive", "iterated", "repeated", "rc",
				"exit condition", "transition", "failed", "max_iterations", "otherwise", "feedback", "_RC mapped", "nested", "list", "default input",
				"start any", "start at_least", "start expression", "empty", "several sources", "from source", "to sink", "starts",
				"block terminated", "block in-error", "block skipped", "block running", "block iterated often", "block with feedback", "block with start condition",
				"3 blocks deep", "at the origin", "inside terminated", "inside skipped", "inside in-error", "inside iterated", "inside empty", "inside from source", "inside to sink",
			} {
				if seen[want] < 10 {
					t.Errorf("%q came about %d times in 1,000 processes: the generator has become too narrow", want, seen[want])
				}
			}
			if f := seen["finished"]; name == "steady" && f < 870 {
				t.Errorf("%d of 1,000 steady processes finish: too few", f)
			}
			if n := seen["process with blocks"]; n < 250 || n > 500 {
				t.Errorf("%d of 1,000 processes have blocks: want about a third", n)
			}
		})
	}
}

func TestNamed(t *testing.T) {
	for _, name := range []string{"drawn-17", "drawn-17@1"} {
		if c, err := Named(name); err != nil || c.String() != Cases().Example(17).String() {
			t.Errorf("%s: %v", name, err)
		}
	}
	if c, err := Named("steady-17@1"); err != nil || c.String() != Steady().Example(17).String() {
		t.Errorf("steady-17: %v", err)
	}
	if c, err := Named("nested-17@1"); err != nil || c.String() != Nested().Example(17).String() {
		t.Errorf("nested-17: %v", err)
	}
	for _, name := range []string{"", "drawn", "drawn-", "drawn-x@1", "other-1", "17"} {
		if _, err := Named(name); err == nil || !strings.Contains(err.Error(), "expected drawn-N, steady-N or nested-N") {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func note(t *testing.T, seen map[string]int, c *Case) {
	p := load(t, c)
	noteDefinition(seen, c, p)
	input := container.New(p.Input)
	if c.Input == "" {
		seen["default input"]++
	} else {
		input, _ = container.DecodeJSON(p.Input, []byte(c.Input))
	}
	r, err := interpret.Run(p, input, Interpreted(c), interpret.Options{})
	if err != nil {
		t.Fatalf("%v\n%s", err, c)
	}
	if r.State == interpret.Finished {
		seen["finished"]++
	} else {
		seen["in-error instance"]++
	}
	for a := range r.All() {
		seen[string(a.State)]++
		noteScope(seen, a)
		if a.Iterations > 1 {
			seen["iterated"]++
		}
		if a.Attempts > 1 {
			seen["repeated"]++
		}
		if a.RC != nil && *a.RC != 0 {
			seen["rc"]++
		}
		for _, why := range []string{"exit condition", "transition", "failed", "max_iterations"} {
			if strings.Contains(a.Error, why) {
				seen[why]++
			}
		}
	}
}

func noteScope(seen map[string]int, a *interpret.ActivityResult) {
	if a.Scope != "" {
		seen["inside "+string(a.State)]++
		if a.Iterations > 1 {
			seen["inside iterated"]++
		}
	}
	if a.Definition.Block != nil {
		seen["block "+string(a.State)]++
		if a.Iterations > 2 {
			seen["block iterated often"]++
		}
	}
	if strings.Count(string(a.Scope), "/") == 3 {
		seen["3 blocks deep"]++
	}
}

// noteDefinition notes what a process consists of, and what its blocks do.
func noteDefinition(seen map[string]int, c *Case, p *definition.Process) {
	noteGraph(seen, &p.Graph)
	blocks := seen["block"]
	noteBlocks(seen, &p.Graph)
	if seen["block"] > blocks {
		seen["process with blocks"]++
	}
	if strings.Contains(c.Text("x"), "starts:") {
		seen["starts"]++
	}
	for _, a := range p.All() {
		if a.Node == definition.OriginNode {
			seen["at the origin"]++
		}
	}
}

func noteBlocks(seen map[string]int, g *definition.Graph) {
	for _, a := range g.Activities {
		if a.Block == nil {
			continue
		}
		seen["block"]++
		if a.Start.Kind != definition.StartAll {
			seen["block with start condition"]++
		}
		for _, d := range g.Data {
			if d.Source == a.Name && d.Target == a.Name {
				seen["block with feedback"]++
			}
		}
		inside := map[string]int{}
		noteGraph(inside, a.Block)
		for what, n := range inside {
			seen["inside "+what] += n
		}
		noteBlocks(seen, a.Block)
	}
}

func noteGraph(seen map[string]int, p *definition.Graph) {
	for _, a := range p.Activities {
		switch a.Start.Kind {
		case definition.StartAny:
			seen["start any"]++
		case definition.StartAtLeast:
			seen["start at_least"]++
		case definition.StartExpression:
			seen["start expression"]++
		case definition.StartFirst:
			seen["start first"]++
		case definition.StartAll:
		}
		if a.Empty {
			seen["empty"]++
		}
	}
	for _, k := range p.Control {
		if k.Otherwise {
			seen["otherwise"]++
		}
	}
	set := map[string]string{}
	for _, d := range p.Data {
		switch {
		case d.Source == d.Target:
			seen["feedback"]++
		case d.Source == "source":
			seen["from source"]++
		case d.Target == "sink":
			seen["to sink"]++
		}
		for _, m := range d.Mappings {
			if m.RC {
				seen["_RC mapped"]++
			}
			if len(m.To) > 1 {
				seen["nested"]++
			}
			if m.Type.Kind == container.List {
				seen["list"]++
			}
			key := d.Target + "." + m.Target
			if other, ok := set[key]; ok && other != d.Source {
				seen["several sources"]++
			}
			set[key] = d.Source
		}
	}
}
