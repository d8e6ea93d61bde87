package tables

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"fmqm/api"
	"fmqm/link"
	"fmqm/processtable"
	"fmqm/queue/record"
)

// A node that is gone for ever gives no final word and needs no table. An operator of a site says so there (N31).
//
//   - It is of that site alone, and nobody else is told: who reaches the node keeps its table.
//   - It counts while the node is not heard. What is heard is not gone: its answer ends it, and so does another store of it.

// WriteOff notes that the table of a version goes here without a node, or with Undo that it does not; without Do it says only
// what it would do. By is who says so.
func (t *Tables) WriteOff(ctx context.Context, table *processtable.Table, r api.RetireRequest, by string) (a api.RetireAnswer, err error) {
	id, node := table.Process, processtable.NodeID(r.Without)
	if err := t.turn.Acquire(ctx); err != nil {
		return a, err
	}
	defer t.turn.Release()
	if err := t.mayWriteOff(table, node, r); err != nil {
		return a, err
	}
	line := api.RetireNode{Node: r.Without, Process: id.String(), Result: api.ResultWithout, Reason: fmt.Sprintf("%s removes its table without it; if it comes back later, what is under way there of the version does not go on here", t.Self)}
	switch {
	case r.Undo:
		line.Result, line.Reason = api.ResultAwaited, ""
	case !r.Do:
		line.Result, line.Reason = api.ResultAwaited, "with --yes "+line.Reason
	}
	a.Nodes = append(a.Nodes, line)
	if !r.Do && !r.Undo {
		return a, nil
	}
	o := record.WriteOff{Process: id, Node: node, By: by, Why: r.Reason, Time: t.Scheduler.Now(), Undo: r.Undo}
	o.Store, _ = t.Queue.KnownIncarnation(node)
	if err := t.Site.Commit(ctx, &record.Tx{Without: []record.WriteOff{o}}); err != nil {
		return a, fmt.Errorf("write off %s of %s: %w", node, id, err)
	}
	t.Site.WroteOff(&o)
	t.lookAgain(id, 0)
	t.retiring.Ring()
	return a, nil
}

// mayWriteOff says why a node is not written off, or not taken back.
func (t *Tables) mayWriteOff(table *processtable.Table, node processtable.NodeID, r api.RetireRequest) error {
	id := table.Process
	refuse := func(remedy, format string, args ...any) error {
		return api.Errorf(api.CodeRefused, remedy, "nothing has changed: "+format, args...)
	}
	v := version{id: id, nodes: table.Nodes()}
	_, off := t.Queue.Without(id)[node]
	switch {
	case len(r.Reason) > record.MaxWhy:
		return api.Errorf(api.CodeUsage, "be brief", "the reason has %d bytes, and may have %d", len(r.Reason), record.MaxWhy)
	case node == t.Self:
		return refuse("name another one", "%s gives its final word itself", t.Self)
	case !v.has(node):
		return refuse("see ACTIVITIES and STARTS in fmqm-define list -o json", "%.80q has no part in %s", string(node), id)
	case r.Undo && !off:
		return refuse("", "%s is not written off of %s at %s", node, id, t.Self)
	case r.Undo:
		return nil
	case !t.Queue.IsRetired(id):
		return refuse("retire it first: fmqm-define retire "+id.String(), "%s is not retired at %s", id, t.Self)
	case t.hears(node):
		return refuse("wait: it gives its final word itself, once nothing of the version goes on there", "%s is connected to %s", node, t.Self)
	case !slices.Contains(t.missing(table), node) && (t.isNeedless(&v, node) || !table.IsStart()):
		return refuse("", "nothing is missing of %s", node)
	}
	return nil
}

// hears says whether a node is connected now.
func (t *Tables) hears(node processtable.NodeID) bool {
	l, linked := t.Site.LinkTo(node)
	return linked && l.State == link.StateConnected
}

// isOff says whether the table of a version goes here without a node.
func (t *Tables) isOff(id processtable.ProcessID, node processtable.NodeID) bool {
	o, off := t.Queue.Without(id)[node]
	now, known := t.Queue.KnownIncarnation(node)
	return off && (!known || o.Store == now) && !t.hears(node)
}

// isBack ends it that a node is written off that has answered.
func (t *Tables) isBack(ctx context.Context, id processtable.ProcessID, node processtable.NodeID) error {
	if _, off := t.Queue.Without(id)[node]; !off || t.Site.Process(id) == nil {
		return nil
	}
	o := record.WriteOff{Process: id, Node: node, Undo: true, By: string(node), Why: "it has answered"}
	if err := t.Site.Commit(ctx, &record.Tx{Without: []record.WriteOff{o}}); err != nil {
		return fmt.Errorf("note that %s is back: %w", node, err)
	}
	t.Site.WroteOff(&o)
	return nil
}

// awaited are the nodes for which the table of a retired version stays here, as far as others are the reason: whose final
// word is missing, or who are not known to need it for nothing.
func (t *Tables) awaited(table *processtable.Table) (all []string) {
	v := version{id: table.Process, nodes: table.Nodes()}
	missing := t.missing(table)
	for _, node := range v.nodes {
		if node != t.Self && (slices.Contains(missing, node) || table.IsStart() && !t.isNeedless(&v, node) && !t.isOff(v.id, node)) {
			all = append(all, string(node))
		}
	}
	return all
}

// writtenOff are the nodes that are written off of a version here, for people.
func (t *Tables) writtenOff(id processtable.ProcessID) (all []api.WrittenOff) {
	off := t.Queue.Without(id)
	for node, o := range off {
		all = append(all, api.WrittenOff{Node: string(node), By: o.By, Reason: o.Why, Time: o.Time})
	}
	slices.SortFunc(all, func(a, b api.WrittenOff) int { return cmp.Compare(a.Node, b.Node) })
	return all
}
