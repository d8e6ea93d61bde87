package definition

import (
	"slices"

	"fmqm/condition"
	"fmqm/internal/sat"
)

// formula is a graph as clauses: one variable for each vertex and edge that matters, and
// for each part of a start condition.
type formula struct {
	*runGraph
	*sat.Formula
	runs   []int  // by vertex: its literal; 0: not in the cone
	edge   []int  // by edge: its literal; 0: nothing in the cone depends on it
	wanted []bool // by edge: it leads to something in the cone
}

func emptyFormula(g *runGraph) *formula {
	return &formula{
		runGraph: g, Formula: sat.NewFormula(),
		runs: make([]int, len(g.vertices)), edge: make([]int, len(g.edges)), wanted: make([]bool, len(g.edges)),
	}
}

// formula says what the given vertices depend on.
func (d *decision) formula(of []int) *formula {
	f := emptyFormula(d.runGraph)
	cone := make([]bool, len(d.vertices))
	for _, v := range of {
		cone[v] = true
	}
	for v := len(d.vertices) - 1; v >= 0; v-- {
		if cone[v] && !d.never[v] {
			for _, e := range d.vertices[v].in {
				cone[d.edges[e].source], f.wanted[e] = true, true
			}
		}
	}
	for v := range d.vertices {
		switch {
		case !cone[v]:
		case d.never[v]:
			f.vertex(v, -f.Yes())
		default:
			f.vertex(v, f.starts(v))
		}
	}
	return f
}

// localFormula says what a vertex depends on among so many vertices near it; what is farther away may run or
// not as it likes. So where this cannot hold, nothing can make it hold.
func (d *decision) localFormula(of, size int) *formula {
	near := map[int]bool{of: true}
	order := []int{of}
	inside := 0
	for ; inside < len(order) && inside < size; inside++ {
		for _, e := range d.vertices[order[inside]].in {
			if source := d.edges[e].source; !near[source] && !d.never[order[inside]] {
				near[source] = true
				order = append(order, source)
			}
		}
	}
	free := slices.Clone(order[inside:])
	slices.Sort(free)
	slices.Sort(order)
	f := emptyFormula(d.runGraph)
	far := func(v int) bool {
		_, is := slices.BinarySearch(free, v)
		return is
	}
	for _, v := range order {
		if !far(v) && !d.never[v] {
			for _, e := range d.vertices[v].in {
				f.wanted[e] = true
			}
		}
	}
	for _, v := range order {
		switch {
		case d.never[v]:
			f.vertex(v, -f.Yes())
		case far(v):
			f.vertex(v, f.Variable())
		default:
			f.vertex(v, f.starts(v))
		}
	}
	return f
}

// starts gives the literal of a vertex's start condition.
func (f *formula) starts(v int) int {
	at := &f.vertices[v]
	if len(at.in) == 0 {
		return f.Yes()
	}
	return f.logic(&at.start, at.in)
}

// vertex sets whether a vertex runs, and with it its outgoing edges. Those that lead
// elsewhere matter only where an `otherwise` does. That they exclude others does not: in an
// outcome they can be FALSE beside those.
func (f *formula) vertex(v, runs int) {
	f.runs[v] = runs
	out := f.vertices[v].out
	f.wantAll(out)
	all := slices.ContainsFunc(out, func(e int) bool { return f.wanted[e] && f.edges[e].kind == edgeOtherwise })
	others := []int{runs}
	for _, e := range out {
		if kind := f.edges[e].kind; kind == edgeOtherwise || kind == edgeAside || !all && !f.wanted[e] {
			continue
		}
		f.edge[e] = runs
		switch f.edges[e].kind {
		case edgeFree:
			f.edge[e] = f.free(runs)
			f.exclude(e)
		case edgeNever:
			f.edge[e] = -f.Yes()
		default:
		}
		others = append(others, -f.edge[e])
	}
	rest := -f.Yes()
	for _, e := range out {
		switch {
		case !f.wanted[e]:
		case f.edges[e].kind == edgeOtherwise:
			f.edge[e] = f.And(others...)
			rest = f.edge[e]
		case f.edges[e].sure:
			f.edge[e] = runs
		case f.edges[e].kind == edgeAside:
			f.edge[e] = f.free(runs)
			f.exclude(e)
			if f.edges[e].alone {
				f.Clause(-f.edge[e], -rest)
			}
		}
	}
}

// wantAll has all edges out of a vertex in the formula if one of them is aside: that one depends on
// the others.
func (f *formula) wantAll(out []int) {
	if slices.ContainsFunc(out, func(e int) bool { return f.wanted[e] && f.edges[e].kind == edgeAside }) {
		for _, e := range out {
			f.wanted[e] = true
		}
	}
}

// exclude says which edges of those before it are not TRUE beside an edge.
func (f *formula) exclude(e int) {
	for _, other := range f.edges[e].excludes {
		if other < e && f.wanted[other] && f.wanted[e] {
			f.Clause(-f.edge[e], -f.edge[other])
		}
	}
}

// free gives the literal of an edge with a condition.
func (f *formula) free(runs int) int {
	if runs == -f.Yes() {
		return runs
	}
	e := f.Variable()
	f.Clause(-e, runs)
	return e
}

// ran gives the literal of a vertex in the cone; -1 always runs.
func (f *formula) ran(vertex int) int {
	if vertex < 0 {
		return f.Yes()
	}
	return f.runs[vertex]
}

func (f *formula) logic(l *condition.Logic, in []int) int {
	args := make([]int, len(l.Args))
	for i := range l.Args {
		args[i] = f.logic(&l.Args[i], in)
	}
	switch l.Op {
	case condition.LogicVar:
		return f.edge[in[l.Var]]
	case condition.LogicNot:
		return -args[0]
	case condition.LogicAnd:
		return f.And(args...)
	case condition.LogicOr:
		return f.Or(args...)
	case condition.LogicAtLeast:
		return f.atLeast(l.N, args)
	case condition.LogicRan, condition.LogicSkipped, condition.LogicFailed: // see asking
	}
	return -f.Yes()
}

// atLeast sorts the literals, TRUE before FALSE, with Batcher's odd-even merge sort:
// then the n-th says whether there are n. It takes k log² k comparators for k literals.
func (f *formula) atLeast(n int, literals []int) int {
	switch {
	case n <= 0:
		return f.Yes()
	case n > len(literals):
		return -f.Yes()
	case n == 1:
		return f.Or(literals...)
	case n == len(literals):
		return f.And(literals...)
	}
	sorted := slices.Clone(literals)
	k := len(sorted)
	for p := 1; p < k; p *= 2 {
		for q := p; q >= 1; q /= 2 {
			for j := q % p; j+q < k; j += 2 * q {
				for i := 0; i < q && i+j+q < k; i++ {
					if a, b := i+j, i+j+q; a/(2*p) == b/(2*p) {
						sorted[a], sorted[b] = f.Or(sorted[a], sorted[b]), f.And(sorted[a], sorted[b])
					}
				}
			}
		}
	}
	return sorted[n-1]
}

// solve looks for an outcome that satisfies the clauses, and gives the condition of each
// edge in it, if there is one. It takes what it learns from the effort that is left.
func (d *decision) solve(f *formula) ([]bool, sat.Answer) {
	r := f.Solve(d.left.learn)
	d.left.learn = max(0, d.left.learn-r.Learned)
	if r.Answer != sat.Satisfiable {
		return nil, r.Answer
	}
	return f.outcome(r.Model), r.Answer
}

// outcome gives the condition of each edge in a model. What leads elsewhere is FALSE beside
// what does not, since the two may exclude each other.
func (f *formula) outcome(model []bool) []bool {
	outcome := make([]bool, len(f.edges))
	taken := make([]bool, len(f.vertices))
	for _, wanted := range []bool{true, false} {
		for e, l := range f.edge {
			if at := f.edges[e]; f.wanted[e] == wanted && l > f.Yes() && (at.kind == edgeFree || at.kind == edgeAside) && (wanted || !taken[at.source]) {
				outcome[e] = model[l-1]
				taken[at.source] = taken[at.source] || wanted && outcome[e]
			}
		}
	}
	return outcome
}
