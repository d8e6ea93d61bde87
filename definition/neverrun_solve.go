package definition

import (
	"slices"

	"fmqm/condition"
	"fmqm/internal/sat"
)

// formula is a graph as clauses (Tseitin): one variable for each vertex and edge that
// matters, and for each part of a start condition. Literals are as in DIMACS: -3 is
// the negation of variable 3.
type formula struct {
	*runGraph
	clauses [][]int
	vars    int
	yes     int   // a literal that is TRUE
	runs    []int // by vertex: its literal; 0: not in the cone
	edge    []int // by edge, likewise
}

func emptyFormula(g *runGraph) *formula {
	f := &formula{runGraph: g, runs: make([]int, len(g.vertices)), edge: make([]int, len(g.edges))}
	f.yes = f.variable()
	f.clause(f.yes)
	return f
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
				cone[d.edges[e].source] = true
			}
		}
	}
	for v := range d.vertices {
		switch {
		case !cone[v]:
		case d.never[v]:
			f.vertex(v, -f.yes)
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
	for _, v := range order {
		_, far := slices.BinarySearch(free, v)
		switch {
		case d.never[v]:
			f.vertex(v, -f.yes)
		case far:
			f.vertex(v, f.variable())
		default:
			f.vertex(v, f.starts(v))
		}
	}
	return f
}

func (f *formula) variable() int {
	f.vars++
	return f.vars
}

// clause adds a disjunction. The solver wants no literal twice and none beside its
// negation.
func (f *formula) clause(literals ...int) {
	c := slices.Clone(literals)
	slices.Sort(c)
	c = slices.Compact(c)
	for _, l := range c {
		if _, both := slices.BinarySearch(c, -l); both {
			return
		}
	}
	f.clauses = append(f.clauses, c)
}

// starts gives the literal of a vertex's start condition.
func (f *formula) starts(v int) int {
	at := &f.vertices[v]
	if len(at.in) == 0 {
		return f.yes
	}
	return f.logic(&at.start, at.in)
}

// vertex sets whether a vertex runs, and with it its outgoing edges.
func (f *formula) vertex(v, runs int) {
	f.runs[v] = runs
	at := &f.vertices[v]
	others := []int{runs}
	for _, e := range at.out {
		switch f.edges[e].kind {
		case edgeAlways:
			f.edge[e] = runs
		case edgeFree:
			f.edge[e] = f.free(runs)
		case edgeOtherwise:
			continue
		}
		others = append(others, -f.edge[e])
	}
	for _, e := range at.out {
		if f.edges[e].kind == edgeOtherwise {
			f.edge[e] = f.and(others...)
		}
	}
}

// free gives the literal of an edge with a condition.
func (f *formula) free(runs int) int {
	if runs == -f.yes {
		return runs
	}
	e := f.variable()
	f.clause(-e, runs)
	return e
}

// ran gives the literal of a vertex in the cone; -1 always runs.
func (f *formula) ran(vertex int) int {
	if vertex < 0 {
		return f.yes
	}
	return f.runs[vertex]
}

// and gives a literal that is TRUE if and only if all are.
func (f *formula) and(literals ...int) int {
	all := slices.Clone(literals)
	slices.Sort(all)
	all = slices.Compact(all)
	all = slices.DeleteFunc(all, func(l int) bool { return l == f.yes })
	for _, l := range all {
		if _, never := slices.BinarySearch(all, -l); never || l == -f.yes {
			return -f.yes
		}
	}
	switch len(all) {
	case 0:
		return f.yes
	case 1:
		return all[0]
	}
	result := f.variable()
	long := []int{result}
	for _, l := range all {
		f.clause(-result, l)
		long = append(long, -l)
	}
	f.clause(long...)
	return result
}

func (f *formula) or(literals ...int) int {
	negated := make([]int, len(literals))
	for i, l := range literals {
		negated[i] = -l
	}
	return -f.and(negated...)
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
		return f.and(args...)
	case condition.LogicOr:
		return f.or(args...)
	case condition.LogicAtLeast:
		return f.atLeast(l.N, args)
	}
	return -f.yes
}

// atLeast sorts the literals, TRUE before FALSE, with Batcher's odd-even merge sort:
// then the n-th says whether there are n. It takes k log² k comparators for k literals.
func (f *formula) atLeast(n int, literals []int) int {
	switch {
	case n <= 0:
		return f.yes
	case n > len(literals):
		return -f.yes
	case n == 1:
		return f.or(literals...)
	case n == len(literals):
		return f.and(literals...)
	}
	sorted := slices.Clone(literals)
	k := len(sorted)
	for p := 1; p < k; p *= 2 {
		for q := p; q >= 1; q /= 2 {
			for j := q % p; j+q < k; j += 2 * q {
				for i := 0; i < q && i+j+q < k; i++ {
					if a, b := i+j, i+j+q; a/(2*p) == b/(2*p) {
						sorted[a], sorted[b] = f.or(sorted[a], sorted[b]), f.and(sorted[a], sorted[b])
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
	r := sat.Solve(f.clauses, f.vars, d.learn)
	d.learn = max(0, d.learn-r.Learned)
	if r.Answer != sat.Satisfiable {
		return nil, r.Answer
	}
	outcome := make([]bool, len(f.edges))
	for e, l := range f.edge {
		if l > f.yes && f.edges[e].kind == edgeFree {
			outcome[e] = r.Model[l-1]
		}
	}
	return outcome, r.Answer
}
