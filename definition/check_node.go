package definition

import (
	"fmt"

	"fmqm/container"
)

// checkNodes warns of nodes that are probably meant to come from the data: a program or subprocess has a node that is
// called like a text of its input, and nothing else of the process names that node (N20). It is a warning, since a site
// may be called so; where the process may be started there is one.
func (p *processDraft) checkNodes() {
	named := map[string]bool{OriginNode: true}
	name := func(nodes ...string) {
		for _, node := range nodes {
			named[node] = true
		}
	}
	name(p.result.Starts...)
	for _, set := range p.sets {
		name(set.nodes...)
	}
	for _, schedule := range p.result.Schedules {
		name(schedule.Node)
	}
	for _, d := range p.graphs {
		for _, s := range d.steps {
			if s.Call != nil {
				name(s.Call.Of...)
			}
			name(s.OfferedAt...)
			if s.Send != nil && s.Send.To != s.Node {
				name(s.Send.Targets()...)
			}
			if !s.nodeAsMember() {
				name(s.Node)
			}
		}
	}
	for _, d := range p.graphs {
		for _, s := range d.steps {
			if named[s.Node] || s.Program == "" && s.Child == nil {
				continue
			}
			p.warn(p.pos(s.keys["node"]), codeNodeMember,
				fmt.Sprintf("%s is a member of %s, and nothing else of the process names a node %[1]s: here it is always the site of that name", s.Node, s.input.members),
				fmt.Sprintf("for a site from the data write `at: {node: %s, of: [B, C]}`, and under `node` the site where the connectors of %s meet", s.Node, s.Name))
		}
	}
}

// nodeAsMember says whether the node of s is called like a text of its input.
func (s *step) nodeAsMember() bool {
	i, found := s.input.members.MemberIndex(s.Node)
	return found && s.Call == nil && s.input.members.Members[i].Type.Kind == container.String
}
