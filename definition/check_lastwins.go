package definition

import (
	"fmt"
	"slices"

	"go.yaml.in/yaml/v4"

	"fmqm/container"
)

// lastWins declares of a member, with all that is inside it, that several sources may set
// it and the last one wins. It changes nothing but what is said of that.
type lastWins struct {
	*declaredLast
	path container.Path
}

// declaredLast is where that is written.
type declaredLast struct {
	at             Pos
	owner, written string
	needed, unsure bool // two of its sources can both run; or nobody knows
}

// declareLastWins reads `last_wins:` of the activities, of their inputs, and of what the
// graph is of, of its output.
func (d *draft) declareLastWins() {
	for _, s := range d.steps {
		if at := s.keys["last_wins"]; at != nil && !s.input.unknown() {
			s.lastWins = d.membersMeant(at, s.input)
		}
	}
	if n := d.keys["last_wins"]; n != nil && !d.output.unknown() {
		d.lastWins = d.membersMeant(n, d.output)
	}
}

func (d *draft) membersMeant(n *yaml.Node, of dataEnd) []*lastWins {
	remedy := "write it as [member, member]"
	if n.Kind == yaml.ScalarNode && memberPath.MatchString(n.Value) {
		remedy = fmt.Sprintf("write it as [%s]", n.Value)
	}
	if !d.is(n, yaml.SequenceNode, "a list of members", remedy) {
		return nil
	}
	if len(n.Content) == 0 {
		d.fail(d.pos(n), codeValue, "last_wins names no member", "name the members that several sources set, or leave it out")
	}
	var all []*lastWins
	for _, c := range n.Content {
		if _, ok := d.scalar(c, "a member of the "+of.key); !ok {
			continue
		}
		path, _, ok := d.resolve(c, of)
		if !ok {
			continue
		}
		if slices.ContainsFunc(all, func(m *lastWins) bool { return slices.Equal(m.path, path) }) {
			d.fail(d.pos(c), codeDuplicateName, fmt.Sprintf("member %s is named twice", c.Value), "remove one of the two")
			continue
		}
		m := &lastWins{&declaredLast{at: d.pos(c), owner: of.owner, written: c.Value}, path}
		d.declared = append(d.declared, m.declaredLast)
		all = append(all, m)
	}
	return all
}

// checkLastWins warns of declarations without need.
func (p *processDraft) checkLastWins() {
	for _, m := range p.declared {
		if !m.needed && !m.unsure {
			p.warn(m.at, codeNoEffect, fmt.Sprintf("last_wins of %s has no effect on %s: no two of its sources can both run", m.owner, m.written),
				"leave it out")
		}
	}
}

// meant gives the declaration that covers a member of a target's container, or nil.
func (d *draft) meant(target string, member container.Path) *lastWins {
	for _, m := range d.meantOf(target) {
		if len(m.path) <= len(member) && slices.Equal(m.path, member[:len(m.path)]) {
			return m
		}
	}
	return nil
}

// meantInside leaves alone what is declared of a part of a member that is set as a whole.
func (d *draft) meantInside(target string, member container.Path) {
	for _, m := range d.meantOf(target) {
		m.needed = m.needed || len(member) < len(m.path) && slices.Equal(m.path[:len(member)], member)
	}
}

func (d *draft) meantOf(target string) []*lastWins {
	if s := d.byName[target]; s != nil {
		return s.lastWins
	}
	return d.lastWins
}

func (d *draft) allMeant() []*lastWins {
	all := slices.Clone(d.lastWins)
	for _, s := range d.steps {
		all = append(all, s.lastWins...)
	}
	return all
}

// ownerOf names where a target's `last_wins` is written.
func (d *draft) ownerOf(target string) string {
	if target == sinkEnd {
		return d.owner
	}
	return target
}
