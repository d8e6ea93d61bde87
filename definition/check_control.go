package definition

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"fmqm/condition"
)

// order puts the activities in an order in which every control connector leads
// forward, and reports cycles.
func (d *draft) order() {
	left := newPeeling(d)
	d.topology = make([]*step, 0, len(d.steps))
	left.removed = func(s *step, forward bool) {
		if forward {
			d.topology = append(d.topology, s)
		}
	}
	for _, s := range d.steps {
		left.peel(s)
	}
	if len(d.topology) == len(d.steps) {
		return
	}
	d.topology = nil
	left.removed = func(*step, bool) {}
	for _, s := range d.steps {
		left.backward = true
		left.peel(s)
	}
	for _, s := range d.steps {
		if !left.gone[s.index] {
			d.cycleFrom(s, left)
		}
	}
}

// peeling removes from the control graph what is on no cycle: activities without
// predecessors left and, backward, those without successors left.
type peeling struct {
	*draft
	in, out  []int // connectors left, by activity
	gone     []bool
	backward bool
	removed  func(s *step, forward bool)
}

func newPeeling(d *draft) *peeling {
	p := &peeling{draft: d, in: make([]int, len(d.steps)), out: make([]int, len(d.steps)), gone: make([]bool, len(d.steps))}
	for i, s := range d.steps {
		for range d.before(s) {
			p.in[i]++
		}
		p.out[i] = len(s.out)
	}
	return p
}

// peel removes s if it is on no cycle, and then whatever that leaves on none.
func (p *peeling) peel(s *step) {
	work := []*step{s}
	for len(work) > 0 {
		s, work = work[len(work)-1], work[:len(work)-1]
		forward := p.in[s.index] == 0
		if p.gone[s.index] || !forward && (!p.backward || p.out[s.index] > 0) {
			continue
		}
		p.removed(s, forward)
		work = append(work, p.remove(s)...)
	}
}

// remove takes s out and gives its neighbours.
func (p *peeling) remove(s *step) []*step {
	p.gone[s.index] = true
	var next []*step
	for _, i := range s.out {
		t := p.byName[p.Control[i].Target]
		p.in[t.index]--
		next = append(next, t)
	}
	for t := range p.before(s) {
		p.out[t.index]--
		if p.backward {
			next = append(next, t)
		}
	}
	return next
}

// cycleFrom reports the cycle that is reached from s, and takes it out.
func (d *draft) cycleFrom(s *step, left *peeling) {
	var path []*Control
	at := map[*step]int{}
	for {
		if first, ok := at[s]; ok {
			path = path[first:]
			break
		}
		at[s] = len(path)
		for _, i := range s.out {
			if t := d.byName[d.Control[i].Target]; !left.gone[t.index] {
				path, s = append(path, d.Control[i]), t
				break
			}
		}
	}
	d.reportCycle(path)
	var neighbours []*step
	for _, c := range path {
		neighbours = append(neighbours, left.remove(d.byName[c.Source])...)
	}
	for _, n := range neighbours {
		left.peel(n)
	}
}

// reportCycle points at the connector that is last in the file: most likely the one
// that closed the cycle.
func (d *draft) reportCycle(path []*Control) {
	last := 0
	for i, c := range path {
		if at, latest := c.Pos, path[last].Pos; at.Line > latest.Line || at.Line == latest.Line && at.Column > latest.Column {
			last = i
		}
	}
	path = slices.Concat(path[last+1:], path[:last+1])
	names := []string{path[0].Source}
	for i, c := range path {
		if i == 10 && len(path) > 12 {
			names = append(names, fmt.Sprintf("(%d more)", len(path)-i-1), path[len(path)-1].Target)
			break
		}
		names = append(names, c.Target)
	}
	d.fail(path[len(path)-1].Pos, codeCycle, "the control connectors form a cycle: "+strings.Join(names, " -> "),
		"remove one of them; to repeat an activity write `exit: CONDITION` at it")
}

// startConditions reads `start:` of every activity.
func (d *draft) startConditions() {
	for _, s := range d.steps {
		if s.startNode != nil && s.startNode.Kind != 0 {
			s.Start.Pos = d.pos(s.startNode)
			d.startCondition(s, s.startNode)
		}
		s.logic = s.combine()
	}
}

func (d *draft) startCondition(s *step, n *yaml.Node) {
	if len(s.in) == 0 && !s.inUnknown && !isEmptyScalar(n) {
		d.fail(d.pos(n), codeStartAlone, fmt.Sprintf("%s has a start condition, but no control connector leads to it", s.Name),
			"remove `start`, or add the connector that is missing")
		return
	}
	switch {
	case n.Kind == yaml.MappingNode && d.hasKey(n, startFirst):
		d.startFirstOf(s, n)
	case n.Kind == yaml.MappingNode:
		d.startAtLeast(s, n)
	case n.Kind == yaml.ScalarNode && n.Value == "all":
		s.Start.Kind = StartAll
	case n.Kind == yaml.ScalarNode && n.Value == "any":
		s.Start.Kind = StartAny
	case n.Kind == yaml.ScalarNode && n.Value == startFirst:
		d.startsFirst(s, n, 1)
	default:
		d.startExpression(s, n)
	}
}

func (d *draft) startAtLeast(s *step, n *yaml.Node) {
	f := d.fields(n, "a start condition", startKeys)
	if !d.required(n, f, "at_least", "a start condition", "write {at_least: 2}") {
		return
	}
	v, ok := d.integer(f["at_least"], "at_least", 1, maxFan)
	if !ok || s.inUnknown {
		return
	}
	if v > len(s.in) {
		d.fail(d.pos(f["at_least"]), codeStart, fmt.Sprintf("at_least: %d can never hold: %d control connectors lead to %s", v, len(s.in), s.Name),
			fmt.Sprintf("write a number from 1 to %d", len(s.in)))
		return
	}
	s.Start.Kind, s.Start.N = StartAtLeast, v
}

func (d *draft) startExpression(s *step, n *yaml.Node) {
	text, ok := d.conditionText(n, "start", "all, any, first, {at_least: 2}, {first: 2} or an expression over the predecessors' names")
	if !ok {
		return
	}
	s.Start.Kind, s.Start.Text, s.Start.Written = StartExpression, condition.Canonical(text), text
	if s.inUnknown {
		return // some predecessors are not known
	}
	logic, problems := condition.CheckStart(text, d.predecessors(s))
	if remedy, ok := startMeant(d.uncut(n, text)); ok && len(problems) > 0 {
		d.fail(d.pos(n), codeStart, fmt.Sprintf("%s is not a start condition", strings.TrimSpace(d.uncut(n, text))), remedy)
		return
	}
	d.failCondition(n, codeStart, problems)
	s.expression = logic
	d.asks(s)
}

// uncut is what is written for a condition, also where YAML has cut it.
func (d *draft) uncut(n *yaml.Node, text string) string {
	if c, cut := d.cutByComment(n); cut {
		return c.text
	}
	return text
}

// predecessors gives the sources of the control connectors into s, in file order.
func (d *draft) predecessors(s *step) []string {
	names := make([]string, len(s.in))
	for i, c := range s.in {
		names[i] = d.Control[c].Source
	}
	return names
}

// combine gives the start condition over the indexes of s.in.
func (s *step) combine() condition.Logic {
	vars := make([]condition.Logic, len(s.in))
	for i := range vars {
		vars[i] = condition.Logic{Op: condition.LogicVar, Var: i}
	}
	switch s.Start.Kind {
	case StartExpression:
		return s.expression
	case StartAny:
		return condition.Logic{Op: condition.LogicOr, Args: vars}
	case StartAtLeast, StartFirst: // when it is decided changes nothing about what is
		return condition.Logic{Op: condition.LogicAtLeast, N: s.Start.N, Args: vars}
	case StartAll:
	}
	return condition.Logic{Op: condition.LogicAnd, Args: vars}
}
