package processtable

import "slices"

// An activity may be hosted where the instance was started, as source and sink of the process are (N1, N20): its place
// in the roster is Origin, and every node of Starts has its row. Of one instance only one of them hosts it: the one
// that the instance's messages name as their origin. So whoever asks for a host says of which origin.

// At is the node that a place of a table stands for, of an instance that was started at origin; empty where that is
// not known and matters.
func (n NodeID) At(origin NodeID) NodeID {
	if n == Origin {
		return origin
	}
	return n
}

// OriginWord is Origin in the language, and where people are told of a place and not of an instance.
const OriginWord = "_ORIGIN"

// Word is the node as the language has it.
func (n NodeID) Word() string { return string(n.At(OriginWord)) }

// HostOf says where an activity lives, as NodeOf does, in an instance that was started at origin.
func (t *Table) HostOf(row RowID, origin NodeID) (NodeID, bool) {
	n, ok := t.NodeOf(row)
	return n.At(origin), ok
}

// Hosts says whether a node has an activity of an instance that was started at origin, or may do the work of one.
func (t *Table) Hosts(row RowID, node, origin NodeID) bool {
	if t.isWork(row) {
		return slices.Contains(t.WorkersOf(row.Name).Nodes, node)
	}
	n, ok := t.HostOf(row, origin)
	return ok && n == node
}

// OriginHosts says whether activities of the process are hosted where the instance was started.
func (t *Table) OriginHosts() bool {
	return slices.ContainsFunc(t.Roster, func(p Place) bool { return p.Node == Origin })
}

// HasPlace says whether this table's node has the rows of a place.
func (t *Table) HasPlace(p Place) bool {
	return p.Node == t.Node || p.Node == Origin && t.MayStart(t.Node)
}

// validPlace says whether a place of a table can be such a node: a name, or Origin.
func (t *Table) validPlace(n NodeID) bool {
	return ValidNode(string(n)) || n == Origin && t.Format >= BundleFormat
}
