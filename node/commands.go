package node

import (
	"context"

	"fmqm/api"
	"fmqm/message"
	"fmqm/node/command"
	"fmqm/node/report"
	"fmqm/node/thread"
	"fmqm/node/trust"
	"fmqm/processtable"
	"fmqm/queue"
	"fmqm/queue/record"
)

// What operators command (package command), and what that uses of the node.

var _ command.Site = site{}

// SetRemoteOperators sets whose requests over links are accepted from now on.
func (n *Node) SetRemoteOperators(o trust.Operators) { n.commands.SetRemote(o) }

// Retry lets an activity in error go on, at the node that hosts it.
func (n *Node) Retry(ctx context.Context, id api.InstanceID, r api.RetryRequest) (api.Word, error) {
	w, err := n.commands.Retry(ctx, id, r)
	return told(w, n.unlessStopping(err))
}

// Terminate ends an instance (N7); that of a process, if one is named.
func (n *Node) Terminate(ctx context.Context, id api.InstanceID, process string) error {
	return n.TerminateOf(ctx, id, api.TerminateRequest{Process: process})
}

// TerminateOf is Terminate of what is asked for.
func (n *Node) TerminateOf(ctx context.Context, id api.InstanceID, r api.TerminateRequest) error {
	if err := n.commands.Terminate(ctx, id, r); err != nil {
		return asAPI(n.unlessStopping(err))
	}
	return nil
}

// Finish ends an activity by hand as one that has run, at the node that hosts it.
func (n *Node) Finish(ctx context.Context, id api.InstanceID, r api.HandRequest) (api.Word, error) {
	w, err := n.commands.Finish(ctx, id, r)
	return told(w, n.unlessStopping(err))
}

// Skip ends an activity by hand as one on a dead path, at the node that hosts it.
func (n *Node) Skip(ctx context.Context, id api.InstanceID, r api.HandRequest) (api.Word, error) {
	w, err := n.commands.Skip(ctx, id, r)
	return told(w, n.unlessStopping(err))
}

// Restart has an activity that has terminated run once more, at the node that hosts it, or gives that up.
func (n *Node) Restart(ctx context.Context, id api.InstanceID, r api.RestartRequest) (api.Word, error) {
	w, err := n.commands.Restart(ctx, id, r)
	return told(w, n.unlessStopping(err))
}

// Suspend suspends an instance, or an activity of it (N29).
func (n *Node) Suspend(ctx context.Context, id api.InstanceID, r api.SuspendRequest) (api.Word, error) {
	w, err := n.commands.Suspend(ctx, id, r)
	return told(w, n.unlessStopping(err))
}

// Resume lifts suspends.
func (n *Node) Resume(ctx context.Context, id api.InstanceID, r api.ResumeRequest) (api.Word, error) {
	w, err := n.commands.Resume(ctx, id, r)
	return told(w, n.unlessStopping(err))
}

// Expedite gives an instance another priority (N31).
func (n *Node) Expedite(ctx context.Context, id api.InstanceID, r api.ExpediteRequest) (api.Word, error) {
	w, err := n.commands.Expedite(ctx, id, r)
	return told(w, n.unlessStopping(err))
}

// RetryRefused delivers a refused message again.
func (n *Node) RetryRefused(ctx context.Context, number uint64) (api.RefusedDecision, error) {
	return told(n.commands.RetryRefused(ctx, number))
}

// DropRefused drops a refused message.
func (n *Node) DropRefused(ctx context.Context, number uint64, r api.DropRequest) (api.RefusedDecision, error) {
	return told(n.commands.DropRefused(ctx, number, r))
}

// Gather asks the nodes of an instance how it stands. What is told of another process than the path's, where two sites
// tell of it, and that the caller has no right to, is refused.
func (s site) Gather(ctx context.Context, id message.InstanceID, process string) (*report.Gathered, error) {
	g, err := s.answers.Gather(ctx, id, process)
	if err == nil {
		err = api.Permit(ctx, g.Process)
	}
	if err != nil {
		return nil, err
	}
	return g, nil
}

// Judge lets the process thread of a process decide about a refused message.
func (s site) Judge(ctx context.Context, id processtable.ProcessID, v thread.Verdict) (thread.Answer, error) {
	t := s.thread(id)
	if t == nil {
		return thread.Answer{}, queue.ErrStopped
	}
	return t.Judge(ctx, v)
}

// Misplaced says why a message that a peer has brought is not for here, or nothing.
func (s site) Misplaced(peer processtable.NodeID, m *message.Message) (string, error) {
	return s.admission.Misplaced(peer, m)
}

// RefusedOf gives the refused messages of an instance that process threads here have set aside.
func (s site) RefusedOf(i message.InstanceID) ([]report.Refused, error) {
	return s.answers.RefusedOf(i)
}

// Stored tells who observes or waits what has become of a word of an operator here. It is on disk.
func (s site) Stored(tx *record.Tx, of message.InstanceID) {
	s.answers.Settled(tx.Settle)
	s.postbox.Written(tx)
	s.observe(tx)
	s.answers.Changed(of, false)
}
