package answer

import (
	"context"
	"maps"
	"slices"

	"fmqm/api"
	"fmqm/message"
	"fmqm/node/question"
	"fmqm/node/report"
	"fmqm/processtable"
)

// AskChildren is the kind of question that ChildrenTo answers.
const AskChildren = "children"

// askChildren finds out whether the instances go on that activities have begun, where it depends on these whether g
// does (N19): of each node at once, until one says that one does. That a node does not answer, or is too old to be
// asked, or says what cannot be, means that they may.
func (a *Answers) askChildren(ctx context.Context, g *report.Gathered) {
	ctx, cancel := a.Scheduler.WithTimeout(ctx, question.Timeout)
	defer cancel()
	children := g.Children()
	for _, node := range slices.Sorted(maps.Keys(children)) {
		q := report.ChildrenQuestion{Parent: g.Instance, Instances: children[node]}
		r, err := a.childrenAt(ctx, node, q)
		if err != nil || !r.Stands() {
			return
		}
		g.Stuck(q.Instances, r)
	}
}

// childrenAt asks the node where children were started.
func (a *Answers) childrenAt(ctx context.Context, node processtable.NodeID, q report.ChildrenQuestion) (report.ChildrenReport, error) {
	if node == a.Self {
		return a.ChildrenTo(ctx, a.Self, q)
	}
	return question.Ask[report.ChildrenReport](ctx, a.Site, node, AskChildren, q)
}

// ChildrenTo says whether any of some instances goes on that an activity has begun here, to a peer that has a part in
// that activity's process. Of others, and of what is not here, it says that they do. It asks the other nodes of each,
// one after the other, and ends with the first that goes on: so a child that is the parent of others costs one more
// question for each level, and no instance is its own parent.
func (a *Answers) ChildrenTo(ctx context.Context, peer processtable.NodeID, q report.ChildrenQuestion) (all report.ChildrenReport, err error) {
	ctx, cancel := a.Scheduler.WithTimeout(ctx, question.Timeout)
	defer cancel()
	for i, id := range q.Instances {
		started, ended, known, err := a.Queue.Instance(id)
		if err != nil {
			return report.ChildrenReport{}, err
		}
		parent := report.ParentOf(&started)
		if !known || ended != nil || parent == nil || parent.Instance != q.Parent || !a.tellsOf(peer, parent.Process) || ctx.Err() != nil {
			return report.ChildrenReport{}, nil
		}
		g, err := a.standing(ctx, id)
		if err != nil {
			return report.ChildrenReport{}, err
		}
		s := g.Status()
		if s.State != api.InstanceInError {
			return report.ChildrenReport{}, nil // whoever waits asks again
		}
		if all.InError += s.InError; i > 0 {
			continue
		}
		if all.ErrorIn = s.ErrorIn; all.ErrorIn == nil {
			at := g.Errors()[0]
			all.ErrorIn = &api.Parent{Instance: id, Process: s.Process, Scope: string(message.Scope(at.Scope).Shown()), Activity: at.Activity}
		}
		if all.Reason = s.Reason; !a.tellsOf(peer, s.Process) || !a.tellsOf(peer, all.ErrorIn.Process) {
			all.Reason, all.ErrorIn = "", &api.Parent{Instance: id, Process: s.Process}
		}
	}
	return all, nil
}

// inChild gives how many activities have told of an error in an instance that one has begun here, at any depth (N19).
// It looks at one child only: where that goes on the instance does, whatever the others do.
func (a *Answers) inChild(id processtable.ProcessID, instance message.InstanceID) (int, error) {
	for range message.MaxDepth {
		t := a.tableOf(id)
		if t == nil || !begins(t) {
			return 0, nil
		}
		child, err := a.Queue.BegunBy(id, instance, func(row processtable.RowID) bool {
			activity := t.Activity(row)
			return activity != nil && activity.Kind == processtable.KindProcess
		})
		if err != nil || child == (message.Child{}) {
			return 0, err
		}
		id, instance = child.Process, child.Instance
		if told, err := a.noticesOf(id, instance); err != nil || len(told) > 0 {
			return len(told), err
		}
	}
	return 0, nil
}

// begins says whether an activity begins instances of other processes at this node.
func begins(t *processtable.Table) bool {
	return slices.ContainsFunc(t.Activities, func(a *processtable.Activity) bool { return a.Kind == processtable.KindProcess })
}

// tellsOf says whether a peer, or this node itself, is told of instances of a process.
func (a *Answers) tellsOf(peer processtable.NodeID, process string) bool {
	id, err := processtable.ParseProcessID(process)
	return err == nil && (peer == a.Self || a.concerns(peer, id))
}
