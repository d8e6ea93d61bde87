package node

import (
	"context"
	"fmt"
	"slices"

	"fmqm/api"
	"fmqm/processtable"
)

// Whom a peer's question is answered: of a process, only those who have a part in it.
// Others get the answer of a node that knows nothing of it, so that they do not even
// learn that there is such a process (invariant 11).

// concerns says whether a peer has a part in a process of which the table is here.
func (n *Node) concerns(peer processtable.NodeID, id processtable.ProcessID) bool {
	t := n.thread(id)
	return t != nil && t.process.Table().HasPart(peer)
}

// concernsText is concerns of a process by its text.
func (n *Node) concernsText(peer processtable.NodeID, process string) bool {
	id, err := processtable.ParseProcessID(process)
	return err == nil && n.concerns(peer, id)
}

// reportTo is report for a peer.
func (n *Node) reportTo(peer processtable.NodeID, q instanceQuestion) (instanceReport, error) {
	r, err := n.report(q)
	if err != nil || !n.concernsText(peer, r.Process) {
		return instanceReport{}, err
	}
	return r, nil
}

// retryFor is a retry that a peer asks for.
func (n *Node) retryFor(ctx context.Context, peer processtable.NodeID, q retryQuestion) error {
	if !n.concernsText(peer, q.Process) {
		return noTableHere(q.Process, n.name)
	}
	if _, _, err := n.hosted(q.Process, q.Activity); err != nil {
		return err // before it stands in the log: what it names is whatever the peer has written
	}
	o := order{peer: peer, operator: q.By, command: "retry", what: fmt.Sprintf("activity %s of instance %s", q.Activity, q.Instance)}
	if err := n.obey(&o); err != nil {
		return err
	}
	return n.retryHere(ctx, q, o.by())
}

func noTableHere(process string, node processtable.NodeID) error {
	return api.Errorf(api.CodeNotFound, "", "no table of %s at %s", process, node)
}

// tableTo is reportTable for a peer. Who has no part in the process, and brings a table of
// it, is told only what he could find out by sending that: whether it would be taken.
func (n *Node) tableTo(peer processtable.NodeID, q tableQuestion) (tableReport, error) {
	r, err := n.reportTable(q)
	if err != nil || !r.Found || n.concernsText(peer, q.Process) {
		return r, err
	}
	switch {
	case q.Table == "":
		r.Found, r.Definition, r.Format, r.Refused = false, "", 0, ""
	case q.Definition != r.Definition:
		r.Definition, r.Format = "", 0 // another one
	}
	return r, nil
}

// rebuildFor is an operator's word about a peer, which an operator has given at another one.
// Nobody decides about his own store, and only what concerns the asker is told.
func (n *Node) rebuildFor(ctx context.Context, asker processtable.NodeID, q rebuildQuestion) (api.Rebuild, error) {
	peer := processtable.NodeID(q.Peer)
	if asker == peer || !slices.ContainsFunc(n.threadsAt(peer), func(t *processThread) bool { return t.process.Table().HasPart(asker) }) {
		return api.Rebuild{}, api.Errorf(api.CodeNotFound, "ask at "+string(n.name)+" itself", "%s has no peer %s that %s may ask about", n.name, q.Peer, asker)
	}
	o := order{peer: asker, operator: q.By, command: "rebuild", what: "peer " + q.Peer}
	if q.Do { // a plan changes nothing
		if err := n.obey(&o); err != nil {
			return api.Rebuild{}, err
		}
	}
	b, err := n.rebuildHere(ctx, api.RebuildRequest{Peer: q.Peer, Do: q.Do}, o.by())
	foreign := func(process string) bool { return !n.concernsText(asker, process) }
	b.Lacks = slices.DeleteFunc(b.Lacks, foreign)
	b.Unknown = slices.DeleteFunc(b.Unknown, func(i api.UnknownInstance) bool { return foreign(i.Process) })
	b.Removed = slices.DeleteFunc(b.Removed, func(i api.RemovedInstance) bool { return foreign(i.Process) })
	return b, err
}
