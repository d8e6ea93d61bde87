package node

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"fmqm/api"
	"fmqm/behaviour"
	"fmqm/container"
	"fmqm/internal/task"
	"fmqm/message"
	"fmqm/node/thread"
	"fmqm/processtable"
	"fmqm/queue"
)

var _ api.Backend = (*Node)(nil)

// asAPI makes an error of the node's own fit for a caller; nil stays nil.
func asAPI(err error) *api.Error {
	if err == nil {
		return nil
	}
	var e *api.Error
	switch {
	case errors.As(err, &e):
		return e
	case errors.Is(err, queue.ErrStopped):
		return api.Errorf(api.CodeUnreachable, "ask again when it is back", "the node is stopping")
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return api.Errorf(api.CodeUnreachable, "ask again", "no answer in time")
	}
	return api.Errorf(api.CodeFailed, "", "%v", err)
}

// Start starts an instance here, once, however often it is called (N2). It gives the
// status as this node knows it; for an instance that was started before, as all nodes
// know it.
func (n *Node) Start(ctx context.Context, r api.StartRequest) (api.Status, error) {
	t, known, err := n.begin(ctx, r)
	if err != nil {
		return api.Status{}, err
	}
	if known {
		return n.Status(ctx, r.Instance)
	}
	own, err := n.report(instanceQuestion{Instance: r.Instance, Process: t.id().String()})
	if err != nil {
		return api.Status{}, asAPI(err)
	}
	g := &gathered{self: string(n.name), id: r.Instance, reports: map[string]instanceReport{}}
	g.add(string(n.name), own)
	s, heard := g.status(), g.heard()
	for i := range s.Activities {
		if a := &s.Activities[i]; a.State == api.ActivityUnknown && heard[a.Activity] == "" {
			a.State = api.ActivityInactive // its node was not asked
		}
	}
	return s, nil
}

// Begin is Start without the status.
func (n *Node) Begin(ctx context.Context, r api.StartRequest) error {
	_, _, err := n.begin(ctx, r)
	return err
}

// begin starts an instance, and gives its process's thread, and whether it was known.
// Its results have no names: what the thread is asked for outlives a caller who gives up.
func (n *Node) begin(ctx context.Context, r api.StartRequest) (*processThread, bool, error) {
	t, err := n.startable(ctx, r)
	if err != nil {
		return nil, false, err
	}
	input, err := decodeInput(t.process.Table().Input, r.Input)
	if err != nil {
		return nil, false, api.ContainerErrorf(api.CodeRefused, err, "see the process's `input` structure", "start %s: input", t.id())
	}
	if err := n.checkSize(input); err != nil {
		return nil, false, api.Errorf(api.CodeRefused, "pass a reference (a file name, a URL) instead of the data", "start %s: input: %v", t.id(), err)
	}
	if refusal := n.pressure.refuse(t.process.Table()); refusal != nil {
		if _, _, found, err := n.queue.Instance(r.Instance); err != nil || !found {
			return nil, false, refusal
		}
	}
	// So much waits to be taken up that links accept nothing: starts wait as well.
	if err := n.queue.WaitCapacity(ctx); err != nil {
		return nil, false, asAPI(err)
	}
	word := t.newWord()
	started, err := t.say(ctx, word, thread.Start{Word: word, Start: behaviour.Start{
		Instance: r.Instance, Key: r.Key, Input: input, Now: n.sched.Now(),
	}})
	switch {
	case err != nil:
		return nil, false, asAPI(err)
	case started.Code == thread.Conflict:
		return nil, false, api.Errorf(api.CodeRefused, "use another key, or the same process and input", "%s", started.Text)
	case started.Code == thread.Refused:
		return nil, false, api.Errorf(api.CodeFailed, "", "%s", started.Text)
	}
	return t, started.Code == thread.Known, nil
}

// startable finds the process thread for a start. Without a version, a known instance
// keeps the one that it was started with.
func (n *Node) startable(ctx context.Context, r api.StartRequest) (*processThread, error) {
	id, err := processtable.ParseProcessID(r.Process)
	if err != nil {
		return nil, api.Errorf(api.CodeUsage, "write NAME@VERSION, or NAME for the newest version", "start: %v", err)
	}
	var t *processThread
	if id.Version == 0 {
		t = n.newest(id.Name)
		if started, _, found, err := n.queue.Instance(r.Instance); err == nil && found && started.Process.Name == id.Name {
			t = n.thread(started.Process)
		}
	} else {
		t = n.thread(id)
	}
	if t == nil {
		return nil, n.notHere(ctx, r.Process, id)
	}
	if !t.process.Table().IsStart() {
		return nil, api.Errorf(api.CodeRefused, "start it at one of these nodes (--to), or add this node to the definition's `starts`",
			"%s may not be started at %s, only at %s", t.id(), n.name, join(t.process.Table().Starts))
	}
	return t, nil
}

// notHere refuses a start where the table is missing, naming nodes that have it (N2). What
// nobody has who answers is not found.
func (n *Node) notHere(ctx context.Context, name string, id processtable.ProcessID) error {
	if id.Version > 0 {
		var have []processtable.NodeID
		for _, r := range askAll[tableReport](ctx, n, n.peers(), askTable, tableQuestion{Process: id.String()}) {
			if r.Err == nil && r.Answer.Found {
				have = append(have, r.Node)
			}
		}
		if len(have) > 0 {
			return api.Errorf(api.CodeRefused, "start it at one of them that may start it (--to)",
				"%s has no table of %s; these nodes have one: %s", name, n.name, join(have))
		}
	}
	return api.Errorf(api.CodeNotFound, n.meant(id)+"upload it with fmqm-define upload, or see fmqm-define list for what there is",
		"no table of %s at %s", name, n.name)
}

// meant says which process of those that are here somebody may have meant; empty: none.
func (n *Node) meant(id processtable.ProcessID) string {
	names := map[string][]string{} // the versions, as they are written
	for _, t := range n.threads() {
		here := t.id()
		names[here.Name] = append(names[here.Name], here.String())
	}
	if versions := names[id.Name]; len(versions) > 0 {
		return string(n.name) + " has " + strings.Join(versions, ", ") + ": start one of these, or "
	}
	if near, ok := container.Nearest(id.Name, slices.Sorted(maps.Keys(names))); ok {
		return "did you mean " + near + "? Or "
	}
	return ""
}

func join(nodes []processtable.NodeID) string {
	names := make([]string, len(nodes))
	for i, n := range nodes {
		names[i] = string(n)
	}
	return strings.Join(names, ", ")
}

func decodeInput(t *container.Type, input json.RawMessage) (*container.Struct, error) {
	if len(input) == 0 {
		return container.New(t), nil
	}
	return container.DecodeJSON(t, input)
}

// Retry lets an activity in error go on, at the node that hosts it.
func (n *Node) Retry(ctx context.Context, id api.InstanceID, r api.RetryRequest) error {
	g, err := n.gather(ctx, id, false)
	if err != nil {
		return err
	}
	if !n.hasTable(g.process) {
		return n.notKnown(g, "the table of "+g.process, "retry it at the node of the activity")
	}
	i := slices.IndexFunc(g.roster, func(p api.Place) bool { return p.Activity == r.Activity })
	if i < 0 {
		return api.Errorf(api.CodeNotFound, "see fmqm status for its activities", "%s has no activity %s", g.process, r.Activity)
	}
	q := retryQuestion{Instance: id, Process: g.process, Activity: r.Activity, Output: r.Output, By: api.OperatorOf(ctx)}
	host := processtable.NodeID(g.roster[i].Node)
	if host == n.name {
		if e := asAPI(n.retryHere(ctx, q, n.commander(ctx))); e != nil {
			return e
		}
		return nil
	}
	if g.status().State == api.InstanceTerminated { // the activity's node may not have heard of it yet
		return api.Errorf(api.CodeRefused, "there is nothing to retry", "instance %s is %s", id, api.InstanceTerminated)
	}
	ctx, cancel := n.sched.WithTimeout(ctx, orderTimeout)
	defer cancel()
	a, err := ask[retryReport](ctx, n, host, askRetry, q)
	if err != nil {
		return api.Errorf(api.CodeUnreachable, "when it is back, see fmqm status in case it was done, and retry; or retry at that node", "%s hosts %s and does not answer: %v", host, r.Activity, err)
	}
	if a.Error != nil {
		return a.Error
	}
	return nil
}

// hosted finds an activity that this node hosts.
func (n *Node) hosted(process, activity string) (*processThread, behaviour.Behaviour, error) {
	id, err := processtable.ParseProcessID(process)
	if err != nil {
		return nil, nil, err
	}
	t := n.thread(id)
	if t == nil {
		return nil, nil, noTableHere(process, n.name)
	}
	a := t.process.Activity(processtable.ActivityID(activity))
	if a == nil {
		return nil, nil, api.Errorf(api.CodeNotFound, "", "activity %s of %s is not hosted at %s", activity, process, n.name)
	}
	return t, a, nil
}

// retryHere is Retry of an activity that this node hosts, by whom the history is to name.
func (n *Node) retryHere(ctx context.Context, q retryQuestion, by string) error {
	t, a, err := n.hosted(q.Process, q.Activity)
	if err != nil {
		return err
	}
	var output *container.Struct
	if len(q.Output) > 0 {
		if output, err = container.DecodeJSON(t.process.Table().Activity(processtable.ActivityID(q.Activity)).Output, q.Output); err != nil {
			return api.ContainerErrorf(api.CodeRefused, err, "see the activity's `output` structure", "retry %s: output", q.Activity)
		}
	}
	r := thread.Retry{Entry: message.Entry{Instance: q.Instance, Activity: processtable.ActivityID(q.Activity)}, Output: output, By: by}
	for {
		done, err := t.retry(ctx, a, r)
		switch {
		case errors.Is(err, queue.ErrStopped) || err != nil && errors.Is(err, ctx.Err()):
			return err
		case err != nil:
			return api.Errorf(api.CodeRefused, "see fmqm status", "%v", err)
		case done.Code == thread.Refused:
			return api.Errorf(api.CodeRefused, "see fmqm status", "%s", done.Text)
		case done.Code != thread.OtherReview: // that one was after another retry
			return nil
		}
	}
}

// hasTable: what other nodes say of a process is held against its table here. Where there
// is none nothing is done by their word.
func (n *Node) hasTable(process string) bool {
	id, err := processtable.ParseProcessID(process)
	return err == nil && n.thread(id) != nil
}

// notKnown refuses a command where nobody who answered knows what it needs. Who did not
// answer may: then it is unreachable, else not found.
func (n *Node) notKnown(g *gathered, what, where string) error {
	if len(g.unreachable) == 0 {
		return api.Errorf(api.CodeNotFound, where, "neither %s nor any node that it can ask knows instance %s", n.name, what)
	}
	silent := make([]processtable.NodeID, len(g.unreachable))
	for i, u := range g.unreachable {
		silent[i] = processtable.NodeID(u.Node)
	}
	return api.Errorf(api.CodeUnreachable, "try again when they are back; or "+where,
		"none of the nodes that answered knows %s; no answer from %s", what, join(silent))
}

// commit submits a transaction of the node manager's own and waits for it.
func (n *Node) commit(ctx context.Context, tx *queue.Tx) error {
	done := task.NewAnswer[error](n.sched)
	tx.Done = done.Give
	n.queue.Submit(tx)
	err, _, gone := done.Wait(ctx)
	if gone != nil {
		return gone
	}
	return err
}

// Nodes says how this node sees its peers.
func (n *Node) Nodes(context.Context) (api.NodesAnswer, error) {
	a := api.NodesAnswer{Nodes: []api.Node{{Node: string(n.name), State: api.NodeSelf, LastHeard: n.sched.Now(), Broker: n.broker()}}}
	peers := n.peers()
	for _, peer := range peers {
		s := n.Link(peer).Status()
		a.Nodes = append(a.Nodes, api.Node{
			Node: string(peer), State: string(s.State), LastHeard: s.LastHeard, Waiting: s.Waiting, Reason: s.Reason, Link: linkOf(s),
		})
	}
	for _, peer := range n.queue.Peers() {
		if slices.Contains(peers, peer) {
			continue
		}
		l, err := n.unlinked(peer)
		if err != nil {
			return api.NodesAnswer{}, asAPI(err)
		}
		a.Nodes = append(a.Nodes, api.Node{Node: l.Peer, State: l.State, Waiting: l.Waiting, Reason: l.Reason, Link: l})
	}
	parked := n.queue.Parked()
	for _, process := range slices.SortedFunc(maps.Keys(parked), processtable.ProcessID.Compare) {
		a.Nodes[0].Waiting += uint64(parked[process])
		a.Nodes[0].Reason = fmt.Sprintf("messages for %s wait here for its table: upload it", process)
	}
	return a, nil
}

// Definitions gives the processes whose tables are here.
func (n *Node) Definitions(context.Context) (api.DefinitionsAnswer, error) {
	a := api.DefinitionsAnswer{Definitions: []api.Definition{}}
	for _, t := range n.threads() {
		table := t.process.Table()
		d := api.Definition{
			Process: table.Process.Name, Version: table.Process.Version, Definition: table.Definition.String(),
			Node: string(n.name), Starts: []string{}, Activities: rosterOf(table),
		}
		for _, s := range table.Starts {
			d.Starts = append(d.Starts, string(s))
		}
		if table.Definer != nil {
			d.Definer = processtable.DefinerText(table.Definer)
			d.Network, d.Expires = table.Terms.Network, table.Terms.NotAfter
		}
		a.Definitions = append(a.Definitions, d)
	}
	return a, nil
}
