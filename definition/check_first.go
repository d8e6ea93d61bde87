package definition

import (
	"fmt"
	"regexp"

	"go.yaml.in/yaml/v4"
)

// startFirst is the word of a start condition that does not wait for all connectors (N14).
const startFirst = "first"

func (d *draft) hasKey(n *yaml.Node, key string) bool {
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return true
		}
	}
	return false
}

// startFirstOf reads {first: 2}.
func (d *draft) startFirstOf(s *step, n *yaml.Node) {
	f := d.fields(n, "a start condition", startKeys)
	if f["at_least"] != nil {
		d.fail(d.pos(f["at_least"]), codeStart, "a start condition has either first or at_least", "keep first, which does not wait for the other connectors, or at_least, which does")
		return
	}
	if v, ok := d.integer(f[startFirst], startFirst, 1, maxFan); ok {
		d.startsFirst(s, f[startFirst], v)
	}
}

// startsFirst notes that an activity begins with the first k connectors that are TRUE; at is where that is written.
func (d *draft) startsFirst(s *step, at *yaml.Node, k int) {
	switch n := len(s.in); {
	case s.inUnknown:
		return
	case k > n:
		d.fail(d.pos(at), codeStart, fmt.Sprintf("first: %d can never hold: %d control connectors lead to %s", k, n, s.Name),
			fmt.Sprintf("write a number from 1 to %d", n))
		return
	case k == n:
		why := "only one control connector leads to it"
		if n > 1 {
			why = fmt.Sprintf("it needs all %d control connectors", n)
		}
		d.warn(d.pos(at), codeNoEffect, fmt.Sprintf("first has no effect on %s: %s", s.Name, why),
			"write `start: all`, or add the connectors that it should not wait for")
		s.Start.Kind = StartAll
		return
	case k == 1 && d.beginsWithSource(s):
		d.warn(d.pos(at), codeNoEffect, fmt.Sprintf("first has no effect on %s: it always begins with source, before what else leads to it", s.Name),
			fmt.Sprintf("remove `source -> %s`, or the others", s.Name))
	}
	s.Start.Kind, s.Start.N = StartFirst, k
}

// beginsWithSource says whether source leads to an activity in any case.
func (d *draft) beginsWithSource(s *step) bool {
	for _, i := range s.in {
		if k := d.Control[i]; k.Source == sourceEnd && k.kind() == edgeAlways {
			return true
		}
	}
	return false
}

// waitsFor says whether a step has always ended before another one begins: on a path between them nothing
// is decided with the first connectors.
func (d *draft) waitsFor(s, before *step, seen map[*step]bool) bool {
	if s.Start.Kind == StartFirst || seen[s] {
		return false
	}
	seen[s] = true
	for _, i := range s.in {
		p := d.stepOf(d.Control[i].Source)
		if p == before || p != d.head && d.waitsFor(p, before, seen) {
			return true
		}
	}
	return false
}

var (
	firstMeant = regexp.MustCompile(`^first\W*([0-9]+)\W*$`)
	firstWord  = regexp.MustCompile(`\bfirst\b`)
)

// alone says whether one of two sources of data for an activity at most counts: it begins with one connector, and
// both lead to it.
func (d *draft) oneCounts(target string) bool {
	s := d.byName[target]
	return s != nil && s.Start.Kind == StartFirst && s.Start.N == 1
}

// leads says whether a control connector leads from a source to a target.
func (d *draft) leads(source, target string) bool {
	s := d.byName[target]
	if s == nil {
		return false
	}
	for _, i := range s.in {
		if d.Control[i].Source == source {
			return true
		}
	}
	return false
}
