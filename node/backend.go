package node

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"

	"fmqm/api"
	"fmqm/behaviour"
	"fmqm/container"
	"fmqm/internal/store"
	"fmqm/internal/task"
	"fmqm/node/execute"
	"fmqm/node/thread"
	"fmqm/processtable"
	"fmqm/queue"
	"fmqm/queue/record"
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
	case errors.Is(err, queue.ErrStopped), errors.Is(err, store.ErrClosed):
		return api.Errorf(api.CodeUnreachable, "ask again when it is back", "the node is stopping")
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return api.Errorf(api.CodeUnreachable, "ask again", "no answer in time")
	}
	return api.Errorf(api.CodeFailed, "", "%v", err)
}

// told is an answer, with its error as the API tells it.
func told[A any](a A, err error) (A, error) {
	if err != nil {
		var none A
		return none, asAPI(err)
	}
	return a, nil
}

// unlessStopping is an error of what peers were asked for. While the node stops its links have ended: what
// it does not find is no news then.
func (n *Node) unlessStopping(err error) error {
	if api.CodeOf(err) == api.CodeNotFound && n.isStopped() {
		return queue.ErrStopped
	}
	return err
}

// Start starts an instance here, once, however often it is called (N2). It gives the
// status as this node knows it; for an instance that was started before, as all nodes
// know it.
func (n *Node) Start(ctx context.Context, r api.StartRequest) (api.Status, error) {
	t, known, err := n.begin(ctx, r)
	if err != nil {
		return api.Status{}, err
	}
	if known && api.CallerOf(ctx).Sees(t.ID().String()) { // who may start it and see nothing is told of this node's part
		return n.Status(ctx, r.Instance)
	}
	s, err := n.answers.Started(r.Instance, t.ID())
	if id := t.ID(); r.Process == id.Name {
		if _, newer := n.current(id.Name); newer != nil && newer.ID().Version > id.Version {
			s.Newer = &api.Newer{Process: newer.ID().String(), Lacking: n.tables.Lacking(newer.ID())}
		}
	}
	return told(s, err)
}

// Begin is Start without the status.
func (n *Node) Begin(ctx context.Context, r api.StartRequest) error {
	_, _, err := n.begin(ctx, r)
	return err
}

// begin starts an instance, and gives its process's thread, and whether it was known.
// Its results have no names: what the thread is asked for outlives a caller who gives up.
func (n *Node) begin(ctx context.Context, r api.StartRequest) (*execute.Thread, bool, error) {
	t, err := n.startable(ctx, r)
	if err != nil {
		return nil, false, err
	}
	if err := n.mayStart(ctx, t.Process().Table()); err != nil {
		return nil, false, err
	}
	rank, err := n.rankOf(t.Process().Table(), r.Priority)
	if err != nil {
		return nil, false, err
	}
	input, err := decodeInput(t.Process().Table().Input, r.Input)
	if err != nil {
		return nil, false, api.ContainerErrorf(api.CodeRefused, err, "see the process's `input` structure", "start %s: input", t.ID())
	}
	if err := n.checkSize(input); err != nil {
		return nil, false, api.Errorf(api.CodeRefused, "pass a reference (a file name, a URL) instead of the data", "start %s: input: %v", t.ID(), err)
	}
	if refusal := n.pressure.refuse(t.Process().Table()); refusal != nil {
		switch _, _, found, err := n.queue.Instance(r.Instance); {
		case err != nil:
			return nil, false, asAPI(err)
		case !found:
			return nil, false, refusal
		}
	}
	// So much waits to be taken up that links accept nothing: starts wait as well.
	if err := n.queue.WaitCapacity(ctx); err != nil {
		return nil, false, asAPI(err)
	}
	started, err := t.Start(ctx, behaviour.Start{Instance: r.Instance, Key: r.Key, Input: input, Now: n.sched.Now(), By: starterOf(api.CallerOf(ctx)), Told: n.startedBy(ctx), Rank: rank})
	switch {
	case err != nil:
		return nil, false, asAPI(err)
	case started.Code == thread.Conflict:
		return nil, false, api.Errorf(api.CodeRefused, "use another key, or the same process and input", "%s", n.unnamed(ctx, r.Instance, started.Text))
	case started.Code == thread.Refused:
		return nil, false, api.Errorf(api.CodeRefused, "nothing was started: start it with another input", "%s", started.Text)
	}
	return t, started.Code == thread.Known, nil
}

// startable finds the process thread for a start. Without a version, a known instance
// keeps the one that it was started with.
func (n *Node) startable(ctx context.Context, r api.StartRequest) (*execute.Thread, error) {
	id, err := processtable.ParseProcessID(r.Process)
	if err != nil {
		return nil, api.Errorf(api.CodeUsage, "write NAME@VERSION, or NAME for the current version", "start: %v", err)
	}
	var t *execute.Thread
	if id.Version == 0 {
		t, _ = n.current(id.Name)
		switch started, _, found, err := n.queue.Instance(r.Instance); {
		case err != nil:
			return nil, asAPI(err)
		case found && started.Process.Name == id.Name:
			t = n.thread(started.Process)
		}
	} else {
		t = n.thread(id)
	}
	if t == nil || !n.isThere(ctx, t) {
		return nil, n.notHere(ctx, r.Process, id)
	}
	switch started, _, known, err := n.queue.Instance(r.Instance); {
	case err != nil:
		return nil, asAPI(err)
	case !known || started.Process != t.ID(): // what was started before is told of
		if err := n.retired(t.ID()); err != nil {
			return nil, err
		}
	}
	if !t.Process().Table().IsStart() {
		return nil, api.Errorf(api.CodeRefused, "start it at one of these nodes (--to), or add this node to the definition's `starts`",
			"%s may not be started at %s, only at %s", t.ID(), n.name, join(t.Process().Table().Starts))
	}
	return t, nil
}

// isThere says whether a process is there for who wants to start it: he sees it, or is one of the people to whom its `staff` says
// who may start it.
func (n *Node) isThere(ctx context.Context, t *execute.Thread) bool {
	caller := api.CallerOf(ctx)
	return caller.Sees(t.ID().String()) || caller.Person != "" && t.Process().Table().Starters != nil
}

// notHere refuses a start of what is not there for the caller: where the table is missing, naming nodes that have it (N2).
// What nobody has who answers is not found. Neither is what he may not see, in the same words, whatever there is.
func (n *Node) notHere(ctx context.Context, name string, id processtable.ProcessID) error {
	if id.Version == 0 {
		if err := n.allRetired(ctx, id.Name); err != nil {
			return err
		}
	}
	if api.CallerOf(ctx).Sees(id.String()) {
		if err := n.elsewhere(ctx, id); err != nil {
			return err
		}
	}
	return asAPI(n.unlessStopping(api.Errorf(api.CodeNotFound, n.meant(ctx, id)+"upload it with fmqm-define upload, or see fmqm-define list for what there is",
		"no table of %s at %s", name, n.name)))
}

// unnamed is the text about another instance that has the identifier of a start, without its process, if the caller may not see that.
func (n *Node) unnamed(ctx context.Context, id api.InstanceID, text string) string {
	started, _, found, err := n.queue.Instance(id)
	if process := started.Process.String(); err == nil && found && !api.CallerOf(ctx).Sees(process) {
		return strings.TrimSuffix(text, ", of process "+process)
	}
	return text
}

// elsewhere refuses a start of a version whose table was removed here, or that other nodes have.
func (n *Node) elsewhere(ctx context.Context, id processtable.ProcessID) error {
	if _, gone := n.queue.Tombstone(id); gone {
		return api.Errorf(api.CodeRefused, "start another version (fmqm-define list)", "%s was retired, and %s has removed its table", id, n.name)
	}
	if id.Version == 0 {
		return nil
	}
	if have := n.tables.Elsewhere(ctx, id); len(have) > 0 {
		return api.Errorf(api.CodeRefused, "start it at one of them that may start it (--to)",
			"%s has no table of %s; these nodes have one: %s", id, n.name, join(have))
	}
	return nil
}

// meant says which process of those that are here somebody may have meant; empty: none.
func (n *Node) meant(ctx context.Context, id processtable.ProcessID) string {
	caller := api.CallerOf(ctx)
	names := map[string][]string{} // the versions, as they are written
	for _, t := range n.threads() {
		here := t.ID()
		if !caller.Sees(here.String()) {
			continue
		}
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

// commit submits a transaction of the node manager's own and waits for it.
func (n *Node) commit(ctx context.Context, tx *record.Tx) error {
	done := task.NewAnswer[error](n.sched)
	tx.Done = done.Give
	n.queue.Submit(tx)
	err, _, gone := done.Wait(ctx)
	if gone != nil {
		return gone
	}
	return err
}
