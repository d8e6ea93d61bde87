package definition

import (
	"cmp"
	"slices"
	"sort"

	"fmqm/internal/sat"
)

// maxExplained is of how many activities that never run the connectors are looked for in
// all that is before them, and not only in what is near.
const maxExplained = 20

// pairOf are two edges that exclude each other, the first one first in the file; or twice
// one that is never TRUE.
type pairOf struct{ first, second int }

// explainer finds the pair of edges because of which a vertex never runs. In its graph
// every edge with a condition or `otherwise` is free, and pairs says which are not TRUE
// together.
type explainer struct {
	*decision
	pairs []pairOf
	more  int // how often it still looks at everything
}

func newExplainer(g *runGraph, e *effort) *explainer {
	relaxed := &runGraph{vertices: g.vertices, edges: slices.Clone(g.edges)}
	x := &explainer{more: maxExplained, decision: &decision{runGraph: relaxed, never: make([]bool, len(g.vertices)), left: e}}
	for e := range relaxed.edges {
		at := &relaxed.edges[e]
		for _, other := range at.excludes {
			if e < other {
				x.pairs = append(x.pairs, pairOf{e, other})
			}
		}
		at.excludes = nil
		switch at.kind {
		case edgeNever:
			at.kind = edgeFree
			x.pairs = append(x.pairs, pairOf{e, e})
		case edgeOtherwise:
			at.kind = edgeFree
			for _, other := range g.vertices[at.source].out {
				if other != e && g.edges[other].kind != edgeAside {
					x.pairs = append(x.pairs, pairOf{min(e, other), max(e, other)})
				}
			}
		default:
		}
	}
	slices.SortFunc(x.pairs, func(a, b pairOf) int { // nearest to the end first
		return cmp.Or(cmp.Compare(relaxed.edges[b.first].source, relaxed.edges[a.first].source),
			cmp.Compare(a.first, b.first), cmp.Compare(a.second, b.second))
	})
	return x
}

// explain gives two edges that exclude each other, and without which v could run. There
// are none where its start condition contradicts itself, or where the search was given up.
func (x *explainer) explain(v int) (pairOf, bool) {
	if !x.looks(len(x.pairs)) {
		return pairOf{}, false
	}
	pair, ok := x.within(func() *formula { return x.localFormula(v, fullEffort.local) }, v)
	if !ok && x.more > 0 {
		x.more--
		pair, ok = x.within(func() *formula { return x.formula([]int{v}) }, v)
	}
	return pair, ok
}

// within is explain in what a formula says.
func (x *explainer) within(gather func() *formula, v int) (pairOf, bool) {
	var pairs []pairOf
	for f, i := gather(), 0; i < len(x.pairs); i++ {
		if p := x.pairs[i]; f.wanted[p.first] && f.wanted[p.second] {
			pairs = append(pairs, p)
		}
	}
	never := func(n int) bool {
		f := gather()
		for _, p := range pairs[:n] {
			f.Clause(-f.edge[p.first], -f.edge[p.second])
		}
		f.Clause(f.runs[v])
		_, answer := x.solve(f)
		return answer == sat.Never
	}
	if len(pairs) == 0 || never(0) || !never(len(pairs)) {
		return pairOf{}, false
	}
	// The first n of them are enough, and one less is not: so that one is needed.
	n := 1 + sort.Search(len(pairs)-1, func(n int) bool { return never(n + 1) })
	return pairs[n-1], true
}
