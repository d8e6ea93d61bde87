package node

import (
	"context"
	"maps"

	"fmqm/api"
	"fmqm/message"
	"fmqm/node/answer"
	"fmqm/node/command"
	"fmqm/node/logs"
	"fmqm/node/report"
	"fmqm/processtable"
)

// What answers people (package answer), and what that uses of the node.

var _ answer.Site = site{}

// Status says how far an instance is, as all its nodes know it.
func (n *Node) Status(ctx context.Context, id api.InstanceID) (api.Status, error) {
	return n.StatusOf(ctx, id, api.StatusRequest{})
}

// StatusOf is Status with the activities that are asked for.
func (n *Node) StatusOf(ctx context.Context, id api.InstanceID, r api.StatusRequest) (api.Status, error) {
	s, err := n.answers.StatusOf(ctx, id, r)
	return told(s, n.unlessStopping(err))
}

// Wait is Status once the instance no longer runs, or ctx has ended.
func (n *Node) Wait(ctx context.Context, id api.InstanceID) (api.Status, error) {
	s, err := n.answers.Wait(ctx, id)
	return told(s, n.unlessStopping(err))
}

// History gives what all nodes have recorded of an instance.
func (n *Node) History(ctx context.Context, id api.InstanceID) (api.HistoryAnswer, error) {
	return n.HistoryOf(ctx, id, api.HistoryRequest{})
}

// HistoryOf is History of what is asked for.
func (n *Node) HistoryOf(ctx context.Context, id api.InstanceID, r api.HistoryRequest) (api.HistoryAnswer, error) {
	h, err := n.answers.History(ctx, id, r)
	return told(h, n.unlessStopping(err))
}

// Watch calls event for what has happened and what happens, until the instance ended. An error of
// event ends it, and is given back as it is.
func (n *Node) Watch(ctx context.Context, id api.InstanceID, event func(api.HistoryEvent) error) error {
	var ended error
	err := n.answers.Watch(ctx, id, func(e api.HistoryEvent) error {
		ended = event(e)
		return ended
	})
	if err == nil || ended != nil {
		return ended
	}
	return asAPI(n.unlessStopping(err))
}

// Why says what each waiting activity of an instance waits for; of that of a process, if one is named.
func (n *Node) Why(ctx context.Context, id api.InstanceID, process string) (api.WhyAnswer, error) {
	return n.WhyOf(ctx, id, api.WhyRequest{Process: process})
}

// WhyOf is Why of what is asked for.
func (n *Node) WhyOf(ctx context.Context, id api.InstanceID, r api.WhyRequest) (api.WhyAnswer, error) {
	w, err := n.answers.Why(ctx, id, r)
	return told(w, n.unlessStopping(err))
}

// Logs gives what the programs of an instance have written last, at all nodes.
func (n *Node) Logs(ctx context.Context, id api.InstanceID, r api.LogsRequest) (api.LogsAnswer, error) {
	a, err := n.answers.Logs(ctx, id, r)
	return told(a, n.unlessStopping(err))
}

// logsHere finds what is kept here of what programs have written, and what those have that run.
func (n *Node) logsHere(q logs.Query) ([]logs.Attempt, bool) {
	var running []logs.Attempt
	for _, t := range n.threads() {
		running = append(running, t.Logs(q.Instance)...)
	}
	return n.logs.Find(q, running)
}

// ProcessOf says of which process an instance is that the caller may see.
func (n *Node) ProcessOf(ctx context.Context, id api.InstanceID) (string, error) {
	p, err := n.answers.ProcessOf(ctx, id)
	return told(p, n.unlessStopping(err))
}

// List gives instances, newest first.
func (n *Node) List(ctx context.Context, r api.ListRequest) (api.ListAnswer, error) {
	return told(n.answers.List(ctx, r))
}

// Refused lists this node's refused messages, newest first (L5).
func (n *Node) Refused(ctx context.Context, r api.RefusedRequest) (api.RefusedAnswer, error) {
	return told(n.answers.Refused(ctx, r))
}

// RefusedMessage shows one refused message of this node, with its content.
func (n *Node) RefusedMessage(ctx context.Context, number uint64) (api.RefusedMessage, error) {
	m, err := n.commands.SetAside(number)
	if err != nil {
		return api.RefusedMessage{}, asAPI(err)
	}
	shown := n.answers.RefusedMessage(&m)
	if !api.CallerOf(ctx).Sees(shown.Process) {
		return api.RefusedMessage{}, command.NotAside(number)
	}
	return shown, nil
}

// Nodes says how this node sees its peers.
func (n *Node) Nodes(context.Context) (api.NodesAnswer, error) { return told(n.answers.Nodes()) }

// Links says how this node sees its links, and the broker that carries some of them.
func (n *Node) Links(context.Context) (api.LinksAnswer, error) { return told(n.answers.Links()) }

// Running gives the attempts of an instance that are under way here.
func (s site) Running(i message.InstanceID) map[message.Entry]report.Run {
	all := map[message.Entry]report.Run{}
	for _, t := range s.threads() {
		maps.Copy(all, t.Attempts(i))
	}
	return all
}

// Anew says whether the store is a new or an older one.
func (s site) Anew() bool { return s.rebuilds.Anew() }

// DiskLow says why nothing is taken on, where room on the disk is low.
func (s site) DiskLow() string { return s.pressure.disk() }

// Held says what keeps an activity that could run from running.
func (s site) Held(row *processtable.Activity, to []processtable.NodeID) string {
	return s.pressure.why(row, to)
}

// Broker is the access to the broker, nil where there is none.
func (s site) Broker() *api.Broker {
	if s.options.Broker == nil {
		return nil
	}
	b := s.options.Broker()
	if b.Address == "" {
		return nil
	}
	return &b
}
