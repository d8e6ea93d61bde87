package generate

import (
	"fmt"
	"slices"
	"strings"

	"pgregory.net/rapid"

	"fmqm/definition"
)

// graph draws what the process consists of, or a block.
func (d *drawing) graph(g *graph) {
	d.steps(g)
	d.activities(g)
	d.control(g)
	d.data(g)
}

// steps draws the activities' names and control connectors: each leads forward, so
// there is no cycle.
func (d *drawing) steps(g *graph) {
	names := d.names(g)
	for i := range names {
		s := &step{name: names[i], above: map[*step]bool{}}
		if i > 0 {
			for range d.upTo(3, "predecessors") {
				p := g.steps[d.upTo(i-1, "predecessor")]
				if slices.Contains(s.before, p) {
					continue
				}
				s.before = append(s.before, p)
				p.out++
				s.above[p] = true
				for a := range p.above {
					s.above[a] = true
				}
			}
		}
		g.steps = append(g.steps, s)
	}
	d.chooseBlocks(g)
}

// activities writes them in any order.
func (d *drawing) activities(g *graph) {
	d.line("activities:")
	for _, s := range rapid.Permutation(g.steps).Draw(d.T, "file order") {
		d.line("  %s:", s.name)
		d.within++
		d.activity(g, s)
		d.within--
	}
}

func (d *drawing) activity(g *graph, s *step) {
	node := pick(d, d.nodes, "node")
	s.exit = d.loops(g, s)
	s.input, s.output = d.maybeStructure("input"), d.maybeStructure("output")
	if g.counts(s) || s.block && s.exit {
		s.output = pick(d, d.structures, "what counts")
	}
	d.containers(s.input, s.output)
	d.bundle(g, s)
	d.signal(g, s)
	d.manual(s)
	if len(s.receives) > 0 {
		node = d.meeting()
	}
	if d.atOrigin && d.in(3, "here") {
		node = definition.OriginNode
	}
	d.line("node: %s", node)
	d.startCondition(s)
	d.loop(s)
	switch {
	case s.block:
		d.early(s)
		d.cancels(g, s)
		inside := &graph{of: s, input: s.input, output: s.output, loops: g.loops}
		if s.exit {
			inside.loops++
		}
		if s.bundle != nil {
			d.frames++
			defer func() { d.frames-- }()
		}
		d.graph(inside)
		return
	case len(s.receives) > 0:
		d.receive(g, s)
		return
	case s.sends:
		d.send(g, s)
		return
	case s.manual:
		d.offer(g, s, node)
		return
	case d.in(6, "empty") && !g.counts(s):
		d.cancels(g, s)
		if d.waits(s) {
			return
		}
		d.line("empty: true")
	default:
		d.early(s)
		d.cancels(g, s)
		d.line("program: %s", pick(d, Programs, "program"))
		d.call(s)
	}
	d.repeats(s)
}

// startCondition draws every kind of it; all is what most have.
func (d *drawing) startCondition(s *step) {
	if len(s.before) == 0 || d.first(s) {
		return
	}
	switch d.upTo(8, "start condition") {
	case 3:
		d.line("start: all")
	case 4:
		d.line("start: any")
	case 5:
		d.line("start: {at_least: %d}", 1+d.upTo(len(s.before)-1, "at least"))
	case 6:
		d.line("start: %s", quoted(d.expression(s, 2)))
	case 7:
		d.line("start: %s(%s)", pick(d, []string{"skipped", "ran"}, "end"), pick(d, s.before, "name").name)
	case 8:
		if d.in(2, "whatever") {
			d.line("start: true")
		}
	}
}

// expression draws a start expression over the predecessors.
func (d *drawing) expression(s *step, depth int) string {
	if depth == 0 {
		name := pick(d, s.before, "name").name
		if d.in(3, "how it ended") {
			name = pick(d, []string{"ran", "skipped", "failed"}, "end") + "(" + name + ")"
		}
		return name
	}
	a := d.expression(s, depth-1)
	switch d.upTo(5, "operator") {
	case 5:
		return fmt.Sprintf("(%s || true)", a)
	case 0:
		return a
	case 1:
		return fmt.Sprintf("!(%s)", a)
	case 2:
		return fmt.Sprintf("(%s && %s)", a, d.expression(s, depth-1))
	case 3:
		return fmt.Sprintf("(%s || %s)", a, d.expression(s, depth-1))
	default:
		return fmt.Sprintf("!%s || (%s)", pick(d, s.before, "name").name, a)
	}
}

// loops draws whether an activity has an exit condition. What is inside of two blocks that have
// one is done often enough.
func (d *drawing) loops(g *graph, s *step) bool {
	if s.block {
		return g.loops < 2 && (d.in(2+2*g.loops, "exit") || d.thins && d.in(2, "more exits"))
	}
	return d.in(4, "exit") || d.signals && d.in(4, "more exits")
}

// loop draws an exit condition. Blocks have few iterations: each is of all that is inside.
func (d *drawing) loop(s *step) {
	if !s.exit {
		return
	}
	exit, most, more := d.condition, 2, 8
	if d.steady && !d.in(12, "endless") {
		exit, most = d.ending, 30
	}
	if s.block {
		most, more = min(most, 12), 2
	}
	if s.block && d.steady && d.deepest == 1 && d.in(6, "many") {
		exit, most = d.late, 60
	}
	if d.lasts(s) {
		exit, most = d.lasting, 60
	}
	d.line("exit: %s", quoted(exit(s)))
	d.line("max_iterations: %d", most+d.upTo(more, "max iterations"))
	if !s.block && !s.manual && len(s.receives) == 0 {
		d.line("again: {after: 1ms, max: 1ms}")
	}
}

// repeats draws what becomes of an attempt that fails.
func (d *drawing) repeats(s *step) {
	if least := d.leastAttempts(s); d.in(2, "retry") || least > 1 {
		d.line("retry: {attempts: %d, backoff: 1ms, max_backoff: 2ms}", least+d.upTo(3, "attempts"))
	}
	switch d.upTo(9, "on_rc") {
	case 8:
		d.line("on_rc: continue")
	case 9:
		d.line("on_rc: error")
	}
}

// leastAttempts is how many there are to be, at least.
func (d *drawing) leastAttempts(s *step) int {
	if d.steady && !s.continues && !d.in(12, "impatient") {
		return 5
	}
	return 1
}

// control writes the connectors, target by target in any order, with conditions.
func (d *drawing) control(g *graph) {
	var lines []string
	for _, s := range g.steps {
		for _, p := range s.before {
			lines = append(lines, fmt.Sprintf("  - %s -> %s%s", p.name, s.name, d.transition(p)))
		}
	}
	d.list("control", lines)
}

func (d *drawing) transition(p *step) string {
	if p.late && !p.read { // somebody has to take the path
		p.read = true
		return ": " + quoted(d.atDeadline(p))
	}
	if p.bundle != nil && p.bundle.unread {
		return ": " + quoted(d.overBundle(p))
	}
	switch n := d.upTo(9, "transition"); {
	case n < 4:
		return ""
	case n == 9 && p.out > 1 && !p.otherwise:
		p.otherwise = true
		return ": otherwise"
	}
	if p.bundle != nil {
		return ": " + quoted(d.overBundle(p))
	}
	return ": " + quoted(d.condition(p))
}

// list writes a list's items in any order.
func (d *drawing) list(key string, lines []string) {
	if len(lines) == 0 {
		return
	}
	d.line("%s:", key)
	for _, l := range rapid.Permutation(lines).Draw(d.T, key) {
		d.line("%s", l)
	}
}

// data draws data connectors: along control flow, from source, to sink, and back into
// the same activity where it loops.
func (d *drawing) data(g *graph) {
	var lines []string
	input := theProcess
	if g.of != nil {
		input = aBlock
	}
	add := func(from, to string, source, target *structure, of giver, by *step) {
		if m, ok := d.mapping(source, target, of, by); ok {
			lines = append(lines, fmt.Sprintf("  - %s -> %s%s", from, to, m))
		}
	}
	for _, s := range g.steps {
		if d.in(2, "from source") {
			add("source", s.name, g.input, s.takes(), input, nil)
		} else if s.bundle != nil && !d.in(8, "no list") {
			if list := d.listOf(s, g.input); list != "" {
				lines = append(lines, fmt.Sprintf("  - source -> %s%s", s.name, list))
			}
		}
		for _, p := range g.steps { // not the map: it has no order
			if s.above[p] && d.in(2, "data") {
				of, by := p.giver()
				add(p.name, s.name, p.gives(), s.takes(), of, by)
			}
		}
		if s.exit && !d.in(3, "no feedback") {
			add(s.name, s.name, s.output, s.input, anActivity, s)
		}
		switch {
		case g.counts(s):
			lines = append(lines, fmt.Sprintf("  - %s -> sink", s.name))
		case g.of != nil && g.of.exit && d.steady: // it would hide what counts
		case d.in(3, "to sink"):
			of, by := s.giver()
			add(s.name, "sink", s.gives(), g.output, of, by)
		}
	}
	if d.in(6, "through") {
		add("source", "sink", g.input, g.output, input, nil)
	}
	d.list("data", lines)
}

// mapping draws the default mapping, or members one by one, of what a step gives; false if nothing fits.
func (d *drawing) mapping(source, target *structure, of giver, by *step) (string, bool) {
	if target == nil {
		return "", false
	}
	if source != nil && !source.outside && !target.outside && d.in(2, "same names") {
		return "", true
	}
	var pairs []string
	for _, to := range target.leaves() {
		from := append(source.of(to.of), by.words(to.of)...)
		from = append(from, d.worked(source, to.of, of)...)
		if elem, list := strings.CutPrefix(to.of, "["); list && d.in(3, "append") {
			elem = strings.TrimSuffix(elem, "]")
			from, to.path = append(source.of(elem), d.worked(source, elem, of)...), "append("+to.path+")"
		}
		if len(from) > 0 && d.in(3, "map") {
			pairs = append(pairs, fmt.Sprintf("%s: %s", to.path, pick(d, from, "from")))
		}
	}
	if len(pairs) == 0 {
		return "", false
	}
	return ": {" + strings.Join(rapid.Permutation(pairs).Draw(d.T, "pairs"), ", ") + "}", true
}
