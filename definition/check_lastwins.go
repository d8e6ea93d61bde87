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
	known          bool // there is such a member
	needed, unsure bool // two of its sources can both run; or nobody knows
}

// declareLastWins reads `last_wins:` of the activities, of their inputs, and of the process, of
// its output. Of a block it is of both: what is set from outside, and what from inside.
func (d *draft) declareLastWins() {
	for _, s := range d.steps {
		switch at := s.keys["last_wins"]; {
		case at == nil || s.takes().unknown():
		case s.block == nil:
			s.lastWins = d.membersMeant(at, s.takes())[0]
		case !s.output.unknown():
			both := d.membersMeant(at, s.takes(), s.output)
			s.lastWins, s.block.lastWins = both[0], both[1]
		}
	}
	if n := d.keys["last_wins"]; n != nil && d.of == nil && !d.output.unknown() {
		d.lastWins = d.membersMeant(n, d.output)[0]
	}
}

// membersMeant reads the names of members, each of at least one of the containers, and gives
// those of each container.
func (d *draft) membersMeant(n *yaml.Node, of ...dataEnd) [][]*lastWins {
	all := make([][]*lastWins, len(of))
	remedy := "write it as [member, member]"
	if n.Kind == yaml.ScalarNode && memberPath.MatchString(n.Value) {
		remedy = fmt.Sprintf("write it as [%s]", n.Value)
	}
	if !d.is(n, yaml.SequenceNode, "a list of members", remedy) {
		return all
	}
	if len(n.Content) == 0 {
		d.fail(d.pos(n), codeValue, "last_wins names no member", "name the members that several sources set, or leave it out")
	}
	named := map[string]bool{}
	for _, c := range n.Content {
		name, ok := d.scalar(c, "a member of the "+of[0].key)
		if !ok {
			continue
		}
		if named[name] {
			d.fail(d.pos(c), codeDuplicateName, fmt.Sprintf("member %s is named twice", name), "remove one of the two")
			continue
		}
		named[name] = true
		here := &declaredLast{at: d.pos(c), owner: of[0].owner, written: name}
		for i, end := range of {
			if path, _, err := end.members.Resolve(name); err == nil {
				all[i] = append(all[i], &lastWins{here, path})
				here.known = true
			}
		}
		if !here.known {
			d.resolve(c, of[0]) // says why
			continue
		}
		d.declared = append(d.declared, here)
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
