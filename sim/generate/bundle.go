package generate

import (
	"fmt"
	"strings"

	"pgregory.net/rapid"
)

// Bundling draws processes in which activities of every kind are done for each element of a list, and some at
// a node that their input names. In two of three nothing else races.
func Bundling() *rapid.Generator[*Case] { return BundlingAt(Nodes) }

// BundlingAt is Bundling with other sites.
func BundlingAt(nodes []string) *rapid.Generator[*Case] {
	return cases(nodes, func(d *drawing) {
		d.bundling, d.long, d.races = true, true, d.in(3, "races")
		d.steady = !d.in(3, "unsteady")
		d.process()
	})
}

// Nested draws what Bundling does where nothing races, so that what comes of a process is known before anything
// of it has run; nine in ten finish.
func Nested() *rapid.Generator[*Case] {
	return cases(Nodes, func(d *drawing) {
		d.bundling, d.steady = true, true
		d.process()
	})
}

// bundled is what makes an activity a bundle.
type bundled struct {
	member       string     // that takes one element
	of           string     // its type
	takes, gives *structure // from outside
	unread       bool       // until may leave elements, and nobody reads yet which
}

// lists are constants of lists, for members that take an element.
var lists = map[string][]string{
	"int":    {"[1, 2, 3]", "[0]", "[5, 4, 3, 2, 1, 0, 1]"},
	"string": {`["red", "blue", "part"]`, `["red", "red"]`},
	"bool":   {"[true, false, true, true]"},
	"double": {"[0.5, 2.5, 1.5]"},
}

// bundle draws whether an activity is one, and writes what makes it one.
func (d *drawing) bundle(g *graph, s *step) {
	if !d.bundling || s.input == nil || g.counts(s) || d.frames >= 4 || !d.in(2, "bundle") {
		return
	}
	b := &bundled{}
	for range 6 {
		m := pick(d, s.input.members, "element")
		if lists[m.of] != nil || m.of == "Part" {
			b.member, b.of = m.path, m.of
			break
		}
	}
	if b.member == "" {
		return
	}
	b.takes = &structure{name: s.input.name, outside: true}
	for _, m := range s.input.members {
		if m.path == b.member {
			m.of = "[" + m.of + "]"
		}
		b.takes.members = append(b.takes.members, m)
	}
	b.gives = &structure{outside: true, members: []member{{"_ERRORS", "[string]"}, {"_RCS", "[int]"}, {"_COUNT", "int"}, {"_DONE", "int"}, {"_FAILED", "int"}}}
	s.bundle = b
	d.line("for_each: %s", b.member)
	if s.output != nil {
		b.gives.members = append(b.gives.members, member{"_RESULTS", "[" + s.output.name + "]"})
		if d.in(3, "failed") {
			d.line("failed: %s", quoted(d.form([]string{"b0", "!b0", "i0 > 2", "i0 > 1 || b0", "i0 / (i0 - 1) > 1"}, "failed")))
		}
	}
	parallel := 0
	if d.in(2, "parallel") {
		parallel = 1 + d.upTo(2, "parallel")
		d.line("parallel: %d", parallel)
	}
	if (d.races || parallel == 1) && d.in(2, "until") {
		b.unread = true
		d.line("until: %s", pick(d, []string{"_FAILED > 0", "_DONE >= 2", "_DONE == _COUNT - 1 || _FAILED > 1", "_DONE + _FAILED > 2", "_DONE / (_DONE - 2) > 5", "_DONE > 1 && 2 / _FAILED > 5"}, "until"))
	}
}

// call draws whether a program runs at a node that its input names.
func (d *drawing) call(s *step) {
	if !d.bundling || s.input == nil || d.frames >= 4 || !d.in(4, "at") {
		return
	}
	of := d.subset(d.nodes, "of")
	first, last := of[0], of[len(of)-1]
	node := fmt.Sprintf("b0 ? %q : %q", first, last)
	switch d.upTo(3, "node") {
	case 1:
		node = fmt.Sprintf("i0 > 1 ? %q : %q", first, last)
	case 2:
		if !d.steady && len(s.input.of("string")) > 0 {
			node = pick(d, s.input.of("string"), "wrong")
		}
	}
	d.line("at: {node: '%s', of: [%s]}", node, strings.Join(of, ", "))
}

// takes is the input of an activity as others see it, gives its output.
func (s *step) takes() *structure {
	if s.bundle != nil {
		return s.bundle.takes
	}
	return s.input
}

func (s *step) gives() *structure {
	if s.bundle != nil {
		return s.bundle.gives
	}
	return s.output
}

// giver is what a connector out of an activity to another leads out of: outside of a bundle there are no words
// beside what it gives.
func (s *step) giver() (giver, *step) {
	if s.bundle != nil {
		return aBlock, nil
	}
	return anActivity, s
}

// listOf draws the mapping that gives a bundle its list; empty: none does.
func (d *drawing) listOf(s *step, source *structure) string {
	var from []string
	if source != nil {
		from = source.of("[" + s.bundle.of + "]")
	}
	for _, list := range lists[s.bundle.of] {
		from = append(from, "'("+list+")'")
	}
	if len(from) == 0 {
		return ""
	}
	if d.long && s.bundle.of == "int" && !s.block && !s.exit && d.within == 0 && d.in(2, "long list") {
		d.longest = true
		return fmt.Sprintf(": {%s: '([%s0])'}", s.bundle.member, strings.Repeat("1, 2, 3, ", 50))
	}
	return fmt.Sprintf(": {%s: %s}", s.bundle.member, pick(d, from, "list"))
}

// overBundle draws a condition out of a bundle.
func (d *drawing) overBundle(s *step) string {
	text := d.overElements(s)
	for range d.upTo(1, "terms") {
		text = fmt.Sprintf("%s %s %s", text, pick(d, []string{"&&", "||"}, "operator"), d.overElements(s))
	}
	return text
}

func (d *drawing) overElements(s *step) string {
	from := s.bundle.gives.members
	if s.bundle.unread {
		s.bundle.unread, from = false, from[:2] // what single elements have come to
	}
	m := pick(d, from, "word")
	if m.path == "_RESULTS" {
		return d.form([]string{"_RESULTS.exists(r, r.b0)", "_RESULTS.size() > 1", "_RESULTS.all(r, r.i0 < 3)", "_RESULTS[0].b0"}, "results")
	}
	forms := map[string][]string{
		"int":      {"$ > 1", "$ == 0", "$ <= 2", "$ in [0, 3]"},
		"[int]":    {"$.exists(x, x != 0)", "size($) > 1", "$.all(x, x >= 0)"},
		"[string]": {`$.exists(x, x != "")`, `$.all(x, x == "")`, `"cancelled" in $`, `"deadline" in $`},
	}
	return strings.ReplaceAll(d.form(forms[m.of], "form"), "$", m.path)
}
