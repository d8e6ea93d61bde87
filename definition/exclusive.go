package definition

import (
	"cmp"
	"slices"
	"sort"

	"fmqm/condition"
	"fmqm/container"
	"fmqm/internal/sat"
)

// The conditions out of one activity are evaluated over one output. Where no output makes
// two of them TRUE, their connectors exclude each other: what is behind both can never run
// in one instance, and a join `all` of the two never at all.

// maxClaims bounds the work of comparing conditions, in parts of conditions, of which
// reading a condition costs as much as some: more than people write, and a second's work.
// What is not compared does not count as exclusive.
const (
	maxClaims = 200_000
	readClaim = 20
)

// maxExplained is of how many activities that never run the connectors are looked for in
// all that is before them, and not only in what is near.
const maxExplained = 20

// exclusive gives g with what the conditions of the process say, or g itself if no two of
// them exclude each other.
func (d *draft) exclusive(g *runGraph) *runGraph {
	with := &runGraph{vertices: g.vertices, edges: slices.Clone(g.edges)}
	c := comparison{draft: d, left: maxClaims, known: map[conditionKey]*condition.Claim{}, behind: map[*step]bitset{}}
	found := false
	for _, s := range d.steps {
		of, edges := c.claims(s)
		for k := range of {
			for j := range k {
				if c.meet(edges[j], edges[k]) && c.excludes(of[j], of[k]) {
					a, b := &with.edges[edges[j]], &with.edges[edges[k]]
					a.excludes, b.excludes = append(a.excludes, edges[k]), append(b.excludes, edges[j])
					found = true
				}
			}
		}
	}
	if !found {
		return g
	}
	return with
}

// comparison is of conditions with others out of the same activity.
type comparison struct {
	*draft
	left  int
	known map[conditionKey]*condition.Claim // nil: it makes none

	behind map[*step]bitset // the activities that come after one, itself, and sink as the last bit
}

// meet says whether two connectors lead to one activity in the end, or to the process's
// output. If not it makes no difference whether they exclude each other.
func (c *comparison) meet(a, b int) bool {
	if len(c.behind) == 0 {
		c.reach()
	}
	return c.behind[c.byName[c.Control[a].Target]].meets(c.behind[c.byName[c.Control[b].Target]])
}

func (c *comparison) reach() {
	results := map[string]bool{}
	for _, k := range c.Data {
		results[k.Source] = results[k.Source] || k.Target == sinkEnd
	}
	for _, s := range slices.Backward(c.topology) {
		after := newBitset(len(c.steps) + 1)
		after.add(s.index)
		if results[s.Name] {
			after.add(len(c.steps))
		}
		for _, i := range s.out {
			after.union(c.behind[c.byName[c.Control[i].Target]])
		}
		c.behind[s] = after
	}
}

// claims gives what the conditions out of an activity say, with their connectors.
func (c *comparison) claims(s *step) ([]*condition.Claim, []int) {
	if len(s.out) < 2 {
		return nil, nil
	}
	var of []*condition.Claim
	var edges []int
	for _, e := range s.out {
		if k := c.Control[e].Condition; k != nil {
			if claim := c.claim(s.Output, k.Written); claim != nil {
				of, edges = append(of, claim), append(edges, e)
			}
		}
	}
	return of, edges
}

func (c *comparison) claim(members *container.Type, text string) *condition.Claim {
	key := conditionKey{members, text}
	known, ok := c.known[key]
	if ok || c.left <= 0 {
		return known
	}
	if claim, ok := condition.ClaimOf(text, condition.Scope{Members: members, RC: true}); ok {
		known = &claim
	}
	c.left -= readClaim
	c.known[key] = known
	return known
}

func (c *comparison) excludes(a, b *condition.Claim) bool {
	c.left -= a.Size() + b.Size()
	return c.left >= 0 && a.Excludes(*b)
}

// pairOf are two edges that exclude each other, the first one first in the file.
type pairOf struct{ first, second int }

// explainer finds the pair of edges because of which a vertex never runs. In its graph
// every edge with a condition or `otherwise` is free, and pairs says which are not TRUE
// together.
type explainer struct {
	*decision
	pairs []pairOf
	left  int // how often it looks at everything
}

func newExplainer(g *runGraph) *explainer {
	relaxed := &runGraph{vertices: g.vertices, edges: slices.Clone(g.edges)}
	x := &explainer{left: maxExplained, decision: &decision{runGraph: relaxed, never: make([]bool, len(g.vertices)), learn: fullEffort.learn}}
	for e := range relaxed.edges {
		at := &relaxed.edges[e]
		for _, other := range at.excludes {
			if e < other {
				x.pairs = append(x.pairs, pairOf{e, other})
			}
		}
		at.excludes = nil
		if at.kind != edgeOtherwise {
			continue
		}
		at.kind = edgeFree
		for _, other := range g.vertices[at.source].out {
			if other != e {
				x.pairs = append(x.pairs, pairOf{min(e, other), max(e, other)})
			}
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
	pair, ok := x.within(func() *formula { return x.localFormula(v, fullEffort.local) }, v)
	if !ok && x.left > 0 {
		x.left--
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
