package definition

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"fmqm/condition"
	"fmqm/internal/sat"
)

// drawLogic draws a start condition over n variables.
func drawLogic(t *rapid.T, n, depth int) condition.Logic {
	op := condition.LogicVar
	if depth > 0 {
		op = rapid.SampledFrom([]condition.LogicOp{
			condition.LogicVar, condition.LogicNot, condition.LogicAnd, condition.LogicOr, condition.LogicAtLeast,
		}).Draw(t, "op")
	}
	l := condition.Logic{Op: op}
	args := 0
	switch op {
	case condition.LogicVar:
		l.Var = rapid.IntRange(0, n-1).Draw(t, "var")
	case condition.LogicNot:
		args = 1
	case condition.LogicAnd, condition.LogicOr:
		args = rapid.IntRange(0, 3).Draw(t, "args")
	case condition.LogicAtLeast:
		args = rapid.IntRange(1, 5).Draw(t, "args")
		l.N = rapid.IntRange(0, args+1).Draw(t, "n")
	case condition.LogicRan, condition.LogicSkipped, condition.LogicFailed: // none of these is drawn
	}
	for range args {
		l.Args = append(l.Args, drawLogic(t, n, depth-1))
	}
	return l
}

// drawGraph draws a graph of few activities with at most 10 free connectors.
func drawGraph(t *rapid.T) *runGraph {
	g := &runGraph{}
	free := 0
	for v := range rapid.IntRange(1, 7).Draw(t, "vertices") {
		g.vertices = append(g.vertices, runVertex{})
		for from := range v {
			if !rapid.Bool().Draw(t, "connected") {
				continue
			}
			kind := rapid.SampledFrom([]edgeKind{edgeAlways, edgeFree, edgeFree, edgeOtherwise, edgeNever}).Draw(t, "kind")
			if kind == edgeFree {
				if free++; free > 10 {
					kind = edgeAlways
				}
			}
			if kind == edgeOtherwise && slices.ContainsFunc(g.vertices[from].out, func(e int) bool { return g.edges[e].kind == edgeOtherwise }) {
				kind = edgeAlways
			}
			g.vertices[from].out = append(g.vertices[from].out, len(g.edges))
			g.vertices[v].in = append(g.vertices[v].in, len(g.edges))
			g.edges = append(g.edges, runEdge{source: from, kind: kind})
		}
		if n := len(g.vertices[v].in); n > 0 {
			g.vertices[v].start = drawLogic(t, n, 3)
		}
	}
	return g
}

// drawAsides gives some vertices another that runs where an output was given.
func drawAsides(t *rapid.T, g *runGraph) {
	for v := range rapid.IntRange(0, min(3, len(g.vertices))).Draw(t, "asides") {
		at, e := &g.vertices[v], len(g.edges)
		alone := rapid.Bool().Draw(t, "alone")
		g.edges = append(g.edges, runEdge{source: v, kind: edgeAside, alone: alone})
		at.out = append(at.out, e)
		g.vertices = append(g.vertices, runVertex{in: []int{e}, start: condition.Logic{Op: condition.LogicVar}})
	}
}

// outcome runs a graph the simple way: one bit of conditions for each free edge.
func (g *runGraph) outcome(conditions int) []bool {
	edges := make([]bool, len(g.edges))
	runs := make([]bool, len(g.vertices))
	for v, at := range g.vertices {
		var in []bool
		for _, e := range at.in {
			in = append(in, edges[e])
		}
		runs[v] = len(in) == 0 || at.start.Eval(in)
		others := false
		for _, e := range at.out {
			switch g.edges[e].kind {
			case edgeAlways:
				edges[e] = runs[v]
			case edgeFree:
				edges[e] = runs[v] && conditions&(1<<g.number(e)) != 0
			case edgeOtherwise, edgeAside:
				continue
			case edgeNever:
			}
			others = others || edges[e]
		}
		rest := false
		for _, e := range at.out {
			switch g.edges[e].kind {
			case edgeOtherwise:
				edges[e] = runs[v] && !others
				rest = edges[e]
			case edgeAside:
				edges[e] = runs[v] && conditions&(1<<g.number(e)) != 0 && !(rest && g.edges[e].alone)
			default:
			}
		}
	}
	return runs
}

// number counts the free edges before e.
func (g *runGraph) number(e int) int {
	n := 0
	for _, other := range g.edges[:e] {
		if other.kind == edgeFree || other.kind == edgeAside {
			n++
		}
	}
	return n
}

// drawMeetings draws chains over n vertices and questions about them.
func drawMeetings(t *rapid.T, n int) ([]anyOf, []meeting) {
	var chains []anyOf
	for c := range rapid.IntRange(1, 6).Draw(t, "chains") {
		chains = append(chains, anyOf{
			before: rapid.IntRange(-1, c-1).Draw(t, "before"),
			vertex: rapid.IntRange(-1, n-1).Draw(t, "of"),
		})
	}
	questions := make([]meeting, rapid.IntRange(1, 4).Draw(t, "questions"))
	for q := range questions {
		questions[q].vertex = rapid.IntRange(-1, n-1).Draw(t, "vertex")
		questions[q].others = rapid.SliceOfN(rapid.IntRange(0, len(chains)-1), 0, 3).Draw(t, "others")
	}
	return chains, questions
}

// holds says whether a question is so in one outcome.
func (q meeting) holds(chains []anyOf, ran []bool) bool {
	runs := func(v int) bool { return v < 0 || ran[v] }
	for _, c := range q.others {
		for ; c >= 0; c = chains[c].before {
			if runs(q.vertex) && runs(chains[c].vertex) {
				return true
			}
		}
	}
	return false
}

// What the decision says is what trying all outcomes says, whichever of its ways it
// takes: the solver alone, or with what is tried before.
func TestDecisionIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := drawGraph(t)
		drawAsides(t, g)
		runs := make([]bool, len(g.vertices))
		chains, questions := drawMeetings(t, len(g.vertices))
		meet := make([]bool, len(questions))
		for conditions := range 1 << g.number(len(g.edges)) {
			ran := g.outcome(conditions)
			for v := range ran {
				runs[v] = runs[v] || ran[v]
			}
			for i, q := range questions {
				meet[i] = meet[i] || q.holds(chains, ran)
			}
		}
		for _, e := range []effort{{}, {rounds: 1}, {passes: 1, rounds: 1}, {rounds: 1, local: 1}, {rounds: 1, local: 2}, {rounds: 1, local: 64}, {rounds: 1, local: 64, near: 1}, fullEffort} {
			if e.near == 0 {
				e.near = fullEffort.near
			}
			e.learn = fullEffort.learn
			d := decide(g, &e, nil)
			if !slices.Equal(d.runs, runs) {
				t.Fatalf("%+v: decided %v, brute force %v", e, d.runs, runs)
			}
			rounds, sure := d.meet(chains, questions)
			if !sure {
				t.Fatalf("%+v: not sure of %v", e, rounds)
			}
			for i, round := range rounds {
				if round >= 0 != meet[i] {
					t.Fatalf("%+v: question %d of %v over %v decided %v, brute force %v", e, i, questions, chains, round, meet[i])
				}
			}
		}
	})
}

// The counter and the sorting network count like a loop does.
func TestAtLeast(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := rapid.IntRange(1, 12).Draw(t, "k")
		n := rapid.IntRange(0, k+1).Draw(t, "n")
		words := rapid.SliceOfN(rapid.Uint64(), k, k).Draw(t, "words")
		var c counter
		for _, w := range words {
			c.add(w)
		}
		got := c.atLeast(n)
		for bit := range 64 {
			set := 0
			for _, w := range words {
				set += int(w >> bit & 1)
			}
			if want := set >= n; got>>bit&1 == 1 != want {
				t.Fatalf("bit %d: %d of %d set, at least %d: %v", bit, set, k, n, !want)
			}
		}
		f := emptyFormula(&runGraph{})
		set := 0
		var literals []int
		for _, w := range words {
			l := f.Variable()
			if w&1 == 0 {
				l = -l
			} else {
				set++
			}
			f.Clause(l)
			literals = append(literals, f.Variable())
			f.Clause(-literals[len(literals)-1], max(l, -l))
			f.Clause(literals[len(literals)-1], -max(l, -l))
		}
		f.Clause(f.atLeast(n, literals))
		if r := f.Solve(1000); r.Answer != sat.Satisfiable && r.Answer != sat.Never || (r.Answer == sat.Satisfiable) != (set >= n) {
			t.Fatalf("%d of %d literals TRUE, at least %d: %+v", set, k, n, r)
		}
	})
}

// bigProcess writes a process of n activities and about m connectors, of which some
// activities can never run.
func bigProcess(n, m, texts int) (string, []string) {
	var b strings.Builder
	b.WriteString("process: big\nversion: 1\nstructures: {S: {n: int, ok: bool}}\nactivities:\n")
	var never []string
	in := make([]int, n)
	var control strings.Builder
	random := newSimulation(&runGraph{})
	written := 0
	for i := range n {
		name := fmt.Sprintf("a%d", i)
		if i < 10 {
			fmt.Fprintf(&b, "  %s: {node: N%d, program: p, output: S}\n", name, i%4)
			continue
		}
		seen := map[int]bool{}
		for range m / n {
			from := i - 1 - int(random.next()%uint64(min(i, 40)))
			if seen[from] {
				continue
			}
			seen[from] = true
			in[i]++
			written++
			fmt.Fprintf(&control, "  - a%d -> %s: n > %d\n", from, name, random.next()%uint64(texts))
		}
		start := "any"
		switch {
		case i%100 == 50: // x runs whenever one of its predecessors does
			from := slices.Min(keys(seen))
			fmt.Fprintf(&control, "  - a%d -> x%d\n  - x%d -> %s\n  - a%d -> x%d: ok\n", from, i, i, name, from-1, i)
			fmt.Fprintf(&b, "  x%d: {node: X, empty: true, start: any}\n", i)
			start = fmt.Sprintf("a%d && !x%d", from, i)
			never = append(never, name)
		case in[i] > 2 && i%3 == 0:
			start = "{at_least: 2}"
		}
		fmt.Fprintf(&b, "  %s: {node: N%d, program: p, output: S, exit: ok, start: %s}\n", name, i%4, start)
	}
	b.WriteString("control:\n" + control.String())
	return b.String(), never
}

func keys(m map[int]bool) []int {
	var all []int
	for k := range m {
		all = append(all, k)
	}
	return all
}

// 2,000 activities with 10,000 connectors; the time is for people to read.
func TestBigProcess(t *testing.T) {
	text, never := bigProcess(2_000, 10_000, 10_000)
	begin := time.Now()
	processes, diagnostics := Load("big.yaml", []byte(text))
	took := time.Since(begin)
	if len(processes) != 1 {
		t.Fatal(diagnostics)
	}
	var got []string
	for _, d := range diagnostics {
		if d.Code == codeNeverRuns {
			name, _, _ := strings.Cut(d.Message, " ")
			got = append(got, name)
		}
	}
	for _, name := range never {
		if !slices.Contains(got, name) {
			t.Errorf("%s was not found to run never", name)
		}
	}
	if slices.ContainsFunc(diagnostics, func(d Diagnostic) bool { return d.Code == codeRunsUndecided }) {
		t.Error("something was not decided")
	}
	t.Logf("%d activities, %d connectors, %d never run: %v", len(processes[0].Activities), len(processes[0].Control), len(got), took)
}

// A chain of 500 choices, of which each way gives the result: no two can meet. One
// more source that runs beside them meets the first.
func TestManySourcesOfOneMember(t *testing.T) {
	var activities, control, data strings.Builder
	const ways = 500
	for i := range ways {
		fmt.Fprintf(&activities, "  c%d: {node: A, program: p}\n  w%d: {node: A, program: p, output: S}\n", i, i)
		fmt.Fprintf(&control, "  - c%d -> w%d: _RC == 0\n", i, i)
		if i+1 < ways {
			fmt.Fprintf(&control, "  - c%d -> c%d: otherwise\n", i, i+1)
		}
		fmt.Fprintf(&data, "  - w%d -> sink\n", i)
	}
	const head = "process: p\nversion: 1\nstructures: {S: {n: int}}\noutput: S\nactivities:\n"
	begin := time.Now()
	loadClean(t, head+activities.String()+"control:\n"+control.String()+"data:\n"+data.String())
	t.Logf("%d ways: %v", ways, time.Since(begin))

	text := head + activities.String() + "  z: {node: A, program: p, output: S}\ncontrol:\n" + control.String() + "data:\n" + data.String() + "  - z -> sink\n"
	_, diagnostics := Load("test.yaml", []byte(text))
	if len(diagnostics) != 1 || diagnostics[0].Code != codeTwoSources || !strings.Contains(diagnostics[0].Message, "-> sink` in line") {
		t.Error(diagnostics)
	}
}

// pigeons is a process in which last runs only if so many pigeons, of which each takes a
// connector, get into one hole less, one in each. That cannot be, and takes a solver
// exponentially long to see.
func pigeons(n int) string {
	var activities, control strings.Builder
	for h := range n - 1 {
		var alone []string
		for p := range n {
			for other := range p {
				alone = append(alone, fmt.Sprintf("!(p%d_%d && p%d_%d)", p, h, other, h))
			}
			fmt.Fprintf(&activities, "  p%d_%d: {node: A, empty: true}\n", p, h)
			fmt.Fprintf(&control, "  - begin -> p%d_%d: _RC != %d\n  - p%d_%d -> pigeon%d\n  - p%d_%d -> hole%d\n", p, h, h, p, h, p, p, h, h)
		}
		fmt.Fprintf(&activities, "  hole%d: {node: A, empty: true, start: %q}\n", h, strings.Join(alone, " && "))
		fmt.Fprintf(&control, "  - hole%d -> last\n", h)
	}
	for p := range n {
		fmt.Fprintf(&activities, "  pigeon%d: {node: A, empty: true, start: any}\n", p)
		fmt.Fprintf(&control, "  - pigeon%d -> last\n", p)
	}
	return "process: p\nversion: 1\nactivities:\n  begin: {node: A, program: p}\n  last: {node: A, program: p}\n" + activities.String() + "control:\n" + control.String()
}

// What is too hard to decide is said to be undecided, after an effort that is the same on
// every machine, and not looked for all night.
func TestRunsUndecided(t *testing.T) {
	_, diagnostics := Load("p.yaml", []byte(pigeons(4)))
	if len(diagnostics) != 1 || diagnostics[0].Code != codeNeverRuns {
		t.Errorf("4 pigeons: %v", diagnostics)
	}
	_, diagnostics = Load("p.yaml", []byte(pigeons(10)))
	if len(diagnostics) != 1 || diagnostics[0].Code != codeRunsUndecided || diagnostics[0].Severity != Warning ||
		!strings.Contains(diagnostics[0].Message, "undecided whether last can ever run") {
		t.Errorf("10 pigeons: %v", diagnostics)
	}
}

// What excludes each other is exact in the decision as well, whichever of its ways it
// takes; and the pair that explains why a vertex never runs does exclude each other.
func TestDecisionWithExclusionsIsExact(t *testing.T) {
	explained := 0
	check := func(t *rapid.T) {
		g := drawGraph(t)
		drawAsides(t, g)
		for v := range g.vertices {
			out := g.vertices[v].out
			for i, a := range out {
				for _, b := range out[:i] {
					if g.edges[a].kind != edgeAside && g.edges[a].kind != edgeFree {
						continue
					}
					if g.edges[b].kind == edgeFree && rapid.Bool().Draw(t, "exclusive") {
						g.edges[a].excludes, g.edges[b].excludes = append(g.edges[a].excludes, b), append(g.edges[b].excludes, a)
					}
				}
			}
		}
		allowed := func(conditions int) bool {
			for a, edge := range g.edges {
				for _, b := range edge.excludes {
					if b < a && conditions&(1<<g.number(a)) != 0 && conditions&(1<<g.number(b)) != 0 {
						return false
					}
				}
			}
			return true
		}
		chains, questions := drawMeetings(t, len(g.vertices))
		canRun, meet := make([]bool, len(g.vertices)), make([]bool, len(questions))
		for conditions := range 1 << g.number(len(g.edges)) {
			if !allowed(conditions) {
				continue
			}
			ran := g.outcome(conditions)
			for v := range ran {
				canRun[v] = canRun[v] || ran[v]
			}
			for i, q := range questions {
				meet[i] = meet[i] || q.holds(chains, ran)
			}
		}
		e := rapid.SampledFrom([]effort{fullEffort, {learn: 10_000}, {rounds: 1, learn: 10_000}, {passes: 2, local: 2, near: 20, learn: 10_000}}).Draw(t, "effort")
		full := fullEffort
		d, x := decide(g, &e, nil), newExplainer(g, &full)
		rounds, sure := d.meet(chains, questions)
		for i, round := range rounds {
			if !sure || round >= 0 != meet[i] {
				t.Fatalf("question %d of %v over %v of %+v: decided %v (%v), brute force %v", i, questions, chains, g, round, sure, meet[i])
			}
		}
		for v := range g.vertices {
			runs := canRun[v]
			if d.runs[v] != runs || d.never[v] == runs {
				t.Fatalf("vertex %d of %+v: runs %v, never %v, but it runs: %v", v, g, d.runs[v], d.never[v], runs)
			}
			if runs {
				continue
			}
			if pair, ok := x.explain(v); ok {
				explained++
				kinds := []edgeKind{g.edges[pair.first].kind, g.edges[pair.second].kind}
				if pair.first == pair.second && kinds[0] != edgeNever {
					t.Fatalf("edge %d can be TRUE", pair.first)
				} else if pair.first != pair.second && !slices.Contains(kinds, edgeOtherwise) && !slices.Contains(g.edges[pair.first].excludes, pair.second) {
					t.Fatalf("%v do not exclude each other", pair)
				}
			}
		}
	}
	for n := 0; n < 30 && explained == 0; n++ { // one in a hundred graphs has such a pair
		rapid.Check(t, check)
	}
	if explained == 0 {
		t.Error("nothing was explained")
	}
}
