package definition

import (
	"slices"

	"fmqm/condition"
)

// What the search for outcomes knows of activities that something else can end: a deadline, an error
// that is gone on after, or an activity that cancels them.

// spared adds to a graph, where something in it can be cancelled, what decides of each such activity
// whether it is: then it counts as not run. It comes before all other vertices.
func (d *draft) spared(g *runGraph) func(v runVertex) runVertex {
	root := len(g.vertices)
	if slices.ContainsFunc(d.steps, func(s *step) bool { return s.cancelledBy > 0 }) {
		g.vertices = append(g.vertices, runVertex{})
	}
	return func(v runVertex) runVertex {
		e, n := len(g.edges), len(v.in)
		g.edges = append(g.edges, runEdge{source: root, kind: edgeFree})
		g.vertices[root].out = append(g.vertices[root].out, e)
		is := condition.Logic{Op: condition.LogicVar, Var: n}
		if n > 0 {
			is = condition.Logic{Op: condition.LogicAnd, Args: []condition.Logic{v.start, is}}
		}
		v.in, v.start = append(slices.Clip(v.in), e), is
		return v
	}
}

// byThemselves adds for each activity that can end without an output, and maps some of it, a vertex
// that runs where it ends with one. Beside that no condition is TRUE that only holds where it does not.
func (c *comparison) byThemselves(at map[string]int) map[string]int {
	alone := map[string]int{}
	for _, k := range c.Data {
		s := c.byName[k.Source]
		if _, known := alone[k.Source]; known || s == nil || !s.canFail() {
			continue
		}
		if len(alone) == 0 {
			c.graph.vertices = slices.Clone(c.graph.vertices) // those of the free graph stay
		}
		alone[s.Name] = c.byItself(s, at[s.Name])
	}
	return alone
}

// byItself adds the vertex that runs where s ends with an output.
func (c *comparison) byItself(s *step, source int) int {
	g := c.graph
	e, v := len(g.edges), len(g.vertices)
	aside := runEdge{source: source, kind: edgeAside}
	holding, size := c.holding(s)
	var others, before []condition.Claim // before: that are FALSE where this one is TRUE
	rest := false
	for _, out := range s.out {
		rest = rest || g.edges[out].kind == edgeOtherwise
		claim := c.claim(s, c.Control[out].Condition)
		if claim == nil || !c.isFree(out) {
			continue
		}
		if s.FirstMatch && size <= maxHiding {
			before = others
		}
		others = append(others, *claim)
		size += claim.Size()
		if c.spend(comparePart*size) && condition.Contradict(append(slices.Clip(holding), *claim), before) {
			aside.excludes = append(aside.excludes, out)
			g.edges[out].excludes = append(g.edges[out].excludes, e)
		}
	}
	if ends, asked := c.ends[s]; asked {
		aside.excludes = append(aside.excludes, ends.failed)
		g.edges[ends.failed].excludes = append(g.edges[ends.failed].excludes, e)
	}
	aside.alone = rest && c.spend(comparePart*size) && condition.Contradict(holding, others)
	g.edges = append(g.edges, aside)
	g.vertices = append(g.vertices, runVertex{in: []int{e}, start: condition.Logic{Op: condition.LogicVar}})
	g.vertices[source].out = append(slices.Clip(g.vertices[source].out), e)
	return v
}

// byItself are the conditions that hold where nothing else has ended an activity.
var byItself = []struct {
	word condition.Words
	text string
}{{condition.WordTimeout, "!_TIMEOUT"}, {condition.WordError, `_ERROR == ""`}}

// holding gives what holds where s ends by itself, and how large that is.
func (c *comparison) holding(s *step) (all []condition.Claim, size int) {
	add := func(claim *condition.Claim) {
		if claim != nil {
			all = append(all, *claim)
			size += claim.Size()
		}
	}
	for _, p := range c.premises(s) {
		add(p.claim)
	}
	for _, p := range c.eventPremise(s) {
		add(p.claim)
	}
	add(c.claim(s, s.Exit))
	for _, none := range byItself {
		if s.Words()&none.word != 0 && !s.output.hides(none.word) {
			add(c.claim(s, &Condition{Written: none.text}))
		}
	}
	return all, size
}
