package definition

import (
	"fmt"

	"go.yaml.in/yaml/v4"

	"fmqm/processtable"
)

// OriginNode stands where an activity's node is written, and where a send's `to` is: for the node where the instance
// was started, as source and sink have it (N20). Every node of `starts` gets the activity's row.
const OriginNode = processtable.OriginWord

// placeOf is a node of the language in a table.
func placeOf(node string) processtable.NodeID {
	if node == OriginNode {
		return processtable.Origin
	}
	return processtable.NodeID(node)
}

// NodesOf gives the nodes that one of the language may be: of OriginNode those of `starts`.
func (p *Process) NodesOf(node string) []string {
	if node == OriginNode {
		return p.Starts
	}
	return []string{node}
}

// hostsAtOrigin says whether an activity of the process is hosted where the instance was started.
func (p *Process) hostsAtOrigin() bool {
	for _, a := range p.All() {
		if a.Node == OriginNode {
			return true
		}
	}
	return false
}

// isNodeName reports OriginNode where nodes are listed or one is named for all instances: it is no name of one.
func (l *loader) isNodeName(n *yaml.Node, node string) bool {
	if node != OriginNode {
		return true
	}
	l.fail(l.pos(n), codeValue, fmt.Sprintf("%s is another node in each instance, the one where that was started, and cannot stand here", OriginNode),
		fmt.Sprintf("name the nodes themselves; only `node` and `to` of an activity take %s", OriginNode))
	return false
}

// originless reports a process of which nothing says where it is started, since all that it begins with is hosted
// there.
func (p *processDraft) originless() {
	for _, s := range p.top.steps {
		if s.Node == OriginNode && p.top.begins(s) {
			p.fail(s.Pos, codeMissingKey, fmt.Sprintf("%s is hosted where the instance was started, and nothing says where that may be", s.Name),
				"write `starts: [A, B]` in the process, with the nodes that may start it")
			return
		}
	}
}
