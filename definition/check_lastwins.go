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
	at      Pos
	owner   string
	written string
	path    container.Path
	needed  bool
}

// declareLastWins reads `last_wins:` of the activities, of their inputs, and of the
// process, of its output.
func (d *draft) declareLastWins(n *yaml.Node) {
	for _, s := range d.steps {
		if at := s.keys["last_wins"]; at != nil && !s.inputUnknown() {
			s.lastWins = d.membersMeant(at, dataEnd{step: s, owner: s.Name, members: s.Input, key: "input"})
		}
	}
	if n != nil && !d.outputUnknown {
		d.lastWins = d.membersMeant(n, dataEnd{owner: "the process", members: d.Output, key: "output"})
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
		if i := slices.IndexFunc(all, func(m *lastWins) bool { return slices.Equal(m.path, path) }); i >= 0 {
			d.fail(d.pos(c), codeDuplicateName, fmt.Sprintf("member %s is named twice", c.Value), "remove one of the two")
			continue
		}
		all = append(all, &lastWins{at: d.pos(c), owner: of.owner, written: c.Value, path: path})
	}
	return all
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
		return "the process"
	}
	return target
}
