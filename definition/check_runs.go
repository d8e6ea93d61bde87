package definition

import (
	"fmt"
	"slices"

	"fmqm/condition"
)

// efforts are what the decisions about a process may still take, in all its graphs.
type efforts struct {
	comparing               int
	exclusive, free, reason effort
	defaults                condition.Spent // by conditions over defaults
}

func fullEfforts(most bounds) efforts {
	return efforts{comparing: most.comparing, exclusive: fullEffort, free: fullEffort, reason: fullEffort}
}

// runGraph gives the control graph of a draft without errors, and its vertices by name.
func (d *draft) runGraph() (*runGraph, map[string]int) {
	g := &runGraph{edges: make([]runEdge, len(d.Control))}
	at := map[string]int{sourceEnd: -1}
	if len(d.head.out) > 0 {
		g.vertices = append(g.vertices, runVertex{}, runVertex{})
	}
	spared := d.spared(g)
	d.ends = map[*step]endEdges{}
	for _, s := range d.topology {
		at[s.Name] = len(g.vertices)
		v := runVertex{in: s.in, out: s.out, start: s.logic}
		if s.Start.Asks {
			v = d.asking(g, at, s, v)
		}
		if s.cancelledBy > 0 {
			v = spared(v)
		}
		g.vertices = append(g.vertices, v)
	}
	for i, c := range d.Control {
		e := runEdge{source: at[c.Source], kind: c.kind()}
		if c.Source == sourceEnd {
			if e.source = sourceBegins; e.kind != edgeAlways {
				e.source = sourceChooses
			}
			g.vertices[e.source].out = append(g.vertices[e.source].out, i)
		}
		g.edges[i] = e
	}
	for _, s := range d.steps {
		if s.FirstMatch {
			g.takeFirst(s.out)
		}
	}
	return g, at
}

// Where control connectors lead out of source it is the first two vertices, which always run: what
// it begins in any case is not beside what it chooses.
const (
	sourceBegins  = 0
	sourceChooses = 1
)

// kind is what a control connector is by itself.
func (c *Control) kind() edgeKind {
	switch {
	case c.Otherwise:
		return edgeOtherwise
	case c.Condition != nil:
		return edgeFree
	}
	return edgeAlways
}

// takeFirst makes edges those of which the first that is TRUE is taken: the first one without a
// condition is then an otherwise, and what is behind it is never TRUE.
func (g *runGraph) takeFirst(out []int) {
	first := slices.IndexFunc(out, func(e int) bool { return g.edges[e].kind == edgeAlways })
	if first < 0 {
		return
	}
	for i, e := range out {
		if i > first || g.edges[e].kind == edgeOtherwise {
			g.edges[e].kind = edgeNever
		}
	}
	g.edges[out[first]].kind = edgeOtherwise
}

// checkRuns warns of activities that never run, and of members that two activities of
// one instance can set.
func (d *draft) checkRuns() {
	free, at := d.runGraph()
	compared := d.compareConditions(free)
	alone := compared.byThemselves(at)
	decided := decide(compared.graph, &d.left.exclusive, nil)
	never := neverRuns{draft: d, at: at, exclusive: decided, free: decided, explainer: newExplainer(compared.graph, &d.left.reason)}
	if compared.says {
		never.free = decide(free, &d.left.free, decided.runs) // what runs with less freedom runs
	}
	for _, s := range d.steps {
		never.look(s)
	}
	never.giveUp()
	d.checkSources(decided, at, alone, compared.partly == nil)
}

// neverRuns warns of what never runs: whatever the conditions give, or because of what
// they say.
type neverRuns struct {
	*draft
	*explainer
	at              map[string]int
	free, exclusive *decision
	undecided       []*step
}

func (n *neverRuns) look(s *step) {
	switch v := n.at[s.Name]; {
	case n.exclusive.runs[v]:
	case n.free.never[v]:
		message, remedy := fmt.Sprintf("%s can never run, whatever the conditions give", s.Name), remedyNever
		if len(s.in) > 1 && !n.follows(s, func(before int) bool { return n.free.never[before] }) {
			if pair, ok := n.explain(v); ok {
				message, remedy = n.because(s, pair)
			}
		}
		n.warn(s.Pos, codeNeverRuns, message, remedy)
	case !n.exclusive.never[v]:
		n.undecided = append(n.undecided, s)
	case n.follows(s, func(before int) bool { return n.exclusive.never[before] && !n.free.never[before] }), n.neverReached(s): // warned of there
	default:
		message, remedy := fmt.Sprintf("%s can never run: conditions before it exclude each other", s.Name), remedyNever
		if pair, ok := n.explain(v); ok {
			message, remedy = n.because(s, pair)
		}
		n.warn(s.Pos, codeExclusive, message, remedy)
	}
}

const remedyNever = "check its start condition and the connectors that lead to it"

// follows says whether a predecessor of s never runs for a reason of its own: once that is
// mended, s may run.
func (n *neverRuns) follows(s *step, never func(int) bool) bool {
	for before := range n.before(s) {
		if never(n.at[before.Name]) {
			return true
		}
	}
	return false
}

// neverReached says whether a connector to s is never TRUE by itself.
func (n *neverRuns) neverReached(s *step) bool {
	return slices.ContainsFunc(s.in, func(i int) bool { return n.exclusive.edges[i].kind == edgeNever })
}

// because names the two connectors, or the one.
func (n *neverRuns) because(s *step, pair pairOf) (message, remedy string) {
	a, b := n.Control[pair.first], n.Control[pair.second]
	if a == b {
		return fmt.Sprintf("%s can never run: `%s` (line %d) is never TRUE", s.Name, a.written(), a.Pos.Line), "correct its condition, or the start condition of " + s.Name
	}
	message = fmt.Sprintf("%s can never run: `%s` (line %d) and `%s` (line %d) are never both TRUE",
		s.Name, a.written(), a.Pos.Line, b.written(), b.Pos.Line)
	if s.Start.Kind == StartAll {
		return message, fmt.Sprintf("write `start: any` at %s if one of the two is enough, or correct their conditions", s.Name)
	}
	return message, "correct its start condition, or the conditions of the two connectors"
}

// place is where a control connector's condition is, if it has one.
func (c *Control) place() Pos {
	if c.Condition != nil {
		return c.Condition.Pos
	}
	return c.Pos
}

const maxShownCondition = 80

// written is a control connector as the file has it.
func (c *Control) written() string {
	s := c.Source + " -> " + c.Target
	switch {
	case c.Otherwise:
		s += ": " + otherwise
	case c.Condition != nil:
		text := []rune(condition.Canonical(c.Condition.Written))
		if len(text) > maxShownCondition {
			text = append(text[:maxShownCondition], '…')
		}
		s += ": " + string(text)
	}
	return s
}

// giveUp says what is not decided.
func (n *neverRuns) giveUp() {
	if len(n.undecided) == 0 {
		return
	}
	which := n.undecided[0].Name
	if more := len(n.undecided) - 1; more > 0 {
		which = fmt.Sprintf("%s (and %d more)", which, more)
	}
	n.warn(n.undecided[0].Pos, codeRunsUndecided, fmt.Sprintf("it is undecided whether %s can ever run: the search through the start conditions before it took too long and was given up", which),
		"the process may be correct; write `all`, `any` or at_least instead of long expressions, so that it can be decided")
}
