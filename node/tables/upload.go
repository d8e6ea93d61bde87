package tables

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"fmqm/api"
	"fmqm/behaviour"
	"fmqm/internal/task"
	"fmqm/link"
	"fmqm/message"
	"fmqm/node/question"
	"fmqm/processtable"
	"fmqm/queue/commit"
	"fmqm/queue/record"
)

// How long an upload waits for what nodes that are heard say of their tables.
const (
	uploadTimeout = 10 * time.Second
	uploadPause   = 50 * time.Millisecond
)

// upload is one request's work: the tables of any number of processes, which are stored
// all or none.
type upload struct {
	here    *Tables
	request api.UploadRequest
	tables  []*processtable.Table
	own     []int                                  // indexes of the tables of this node that are new here
	formats map[processtable.ProcessID]otherFormat // what nodes have in another format than the upload's
	met     map[processtable.NodeID]bool           // sites to which this upload made a link
	there   map[int]Report                         // of tables that their node has, by index: what it has said last

	definitions map[processtable.ProcessID]map[processtable.DefinitionHash]bool // in this upload; made when asked for

	answer api.UploadAnswer
}

// Upload plans first: what changes at which node. Then, if no node refuses, it stores
// the tables of this node and puts those of the others on their way. A plan, and an upload
// that is refused, leave nothing behind: no link, no queue, nothing prepared. It waits 10 s at most for
// what sites that are heard say of their tables; ctx may end it earlier. What is not an *api.Error has failed here.
func (t *Tables) Upload(ctx context.Context, r api.UploadRequest) (api.UploadAnswer, error) {
	u := &upload{
		here: t, request: r,
		formats: map[processtable.ProcessID]otherFormat{}, met: map[processtable.NodeID]bool{}, there: map[int]Report{},
		answer: api.UploadAnswer{Nodes: []api.UploadNode{}, Warnings: []string{}, KeepsTexts: true},
	}
	for _, table := range r.Tables {
		t, err := decodeUpload(table)
		if err != nil {
			return api.UploadAnswer{}, err
		}
		u.tables = append(u.tables, t)
	}
	if err := u.plan(ctx); err != nil {
		return api.UploadAnswer{}, err
	}
	u.warn(ctx)
	if r.PlanOnly || u.refused() {
		return u.answer, nil
	}
	own, ok := u.prepare()
	if !ok {
		return u.answer, nil
	}
	err := u.send(own)
	if errors.Is(err, commit.ErrBound) || errors.Is(err, commit.ErrTabled) {
		// One of its tables came another way at the same moment, and stays: planned again, the
		// upload has nothing to do there, or is refused.
		return t.Upload(ctx, r)
	}
	if err != nil {
		return api.UploadAnswer{}, err
	}
	u.await(ctx)
	return u.answer, u.countRunning(ctx)
}

// bring is the message that brings a table to its node. One that is to be current at once comes as that (N19).
func (u *upload) bring(i int, kind message.Kind) message.Message {
	t := u.tables[i]
	return message.Message{
		Header: message.Header{
			Queue:      message.Queue{Process: t.Process, Node: t.Node},
			Definition: t.Definition.Short(), Origin: u.here.Self, Kind: kind, Lane: message.LaneData,
		},
		Body: u.request.Tables[i].Table,
	}
}

// brings are the messages with which the table of another node goes there. To a node that does not read
// KindCurrent it goes as ever, and what that stores is current; one that is not heard may have been
// upgraded since, and gets both.
func (u *upload) brings(i int) []message.Message {
	table, current := u.bring(i, message.KindTable), u.bring(i, message.KindCurrent)
	if !u.request.Now {
		return []message.Message{table}
	}
	peer := u.tables[i].Node
	l, _ := u.here.Site.LinkTo(peer)
	switch reads := u.here.Queue.Transmission(peer).Lacks(message.NeedsOf(&current)) == ""; {
	case reads:
		return []message.Message{current}
	case l.State == link.StateConnected:
		return []message.Message{table}
	}
	return []message.Message{table, current}
}

func decodeUpload(table api.Table) (*processtable.Table, error) {
	t, err := processtable.Decode(table.Table)
	if err != nil {
		return nil, api.Errorf(api.CodeRefused, "compile the definition again with this version of fmqm-define", "table for %s: %v", table.Node, err)
	}
	if string(t.Node) != table.Node || t.Process.String() != table.Process || t.Definition.String() != table.Definition {
		return nil, api.Errorf(api.CodeRefused, "compile the definition again", "table for %s says that it is of %s for %s", table.Node, t.Process, t.Node)
	}
	return t, nil
}

// refused marks every line, if one node refuses: an upload is for all nodes or none
// of those that can be asked.
func (u *upload) refused() bool {
	by := slices.IndexFunc(u.answer.Nodes, func(l api.UploadNode) bool { return l.Plan == api.PlanRefuse })
	if by < 0 {
		return false
	}
	for i := range u.answer.Nodes {
		line := &u.answer.Nodes[i]
		switch line.Plan {
		case api.PlanUnchanged:
			line.Result = api.ResultUnchanged
		case api.PlanRefuse:
			line.Result = api.ResultRefused
		case api.PlanAdd, api.PlanUnknown:
			line.Result = api.ResultRefused
			line.Reason = "not sent, since " + u.answer.Nodes[by].Node + " refuses"
		}
	}
	return true
}

// prepare makes the new tables of this node ready. One that cannot be is refused, and so is
// the upload.
func (u *upload) prepare() ([]behaviour.Process, bool) {
	var own []behaviour.Process
	for _, i := range u.own {
		p, err := u.here.ready(u.tables[i])
		if err != nil {
			u.answer.Nodes[i].Plan, u.answer.Nodes[i].Reason = api.PlanRefuse, err.Error()
			u.refused()
			return nil, false
		}
		own = append(own, p)
	}
	return own, true
}

// send puts everything in one transaction: this node's tables, and the others' into
// their transmission queues. It waits for that also when who asked has gone: what is on disk is
// to be taken up.
func (u *upload) send(own []behaviour.Process) error {
	here := u.here
	tx := &record.Tx{}
	for at, i := range u.own {
		Add(tx, here.Queue, own[at], u.request.Tables[i].Table, true, u.request.Now)
	}
	for i, t := range u.tables {
		line := &u.answer.Nodes[i]
		switch {
		case line.Plan == api.PlanUnchanged:
			line.Result = api.ResultUnchanged
			if now := u.request.Now && u.pending(i); now && t.Node == here.Self {
				tx.Current = append(tx.Current, t.Process)
			} else if now {
				tx.Put = append(tx.Put, u.bring(i, message.KindCurrent))
			}
		case t.Node == here.Self:
			line.Result = api.ResultStored
		default:
			line.Result = api.ResultQueued
			tx.Put = append(tx.Put, u.brings(i)...)
		}
	}
	texts, err := here.fresh(u.texts())
	if err != nil {
		return err
	}
	if tx.Definitions = texts; len(tx.Tables)+len(tx.Put)+len(tx.Current)+len(texts) == 0 {
		return nil
	}
	if err := here.Site.Commit(context.Background(), tx); err != nil { // it ends with the queue at the latest
		return fmt.Errorf("store the upload at %s: %w", here.Self, err)
	}
	for _, m := range tx.Put {
		if peer := m.Queue.Node; !here.linked(peer) {
			here.Site.Meet(peer)
			u.met[peer] = here.linked(peer)
		}
	}
	for i, t := range u.tables {
		if u.met[t.Node] {
			u.answer.Nodes[i].Reason = "it is not connected yet: " + here.linkReason(t.Node)
		}
	}
	for _, p := range own {
		here.Install(p)
	}
	here.NowCurrent(tx.Current...)
	return nil
}

// await asks the nodes that are heard what became of their tables; those that are not
// stay queued. A link that was just made has a moment to be connected. Where all have theirs, it waits
// until the nodes know that of each other.
func (u *upload) await(ctx context.Context) {
	ctx, cancel := u.here.Scheduler.WithTimeout(ctx, uploadTimeout)
	defer cancel()
	fresh, end := u.here.Scheduler.WithTimeout(ctx, question.Timeout)
	defer end()
	for i := range u.tables {
		for u.answer.Nodes[i].Result == api.ResultQueued && ctx.Err() == nil && u.heard(fresh, i) {
			if r, ok := u.asked(ctx, i); !ok || u.arrived(i, &r) {
				break
			}
			_ = task.Sleep(ctx, u.here.Scheduler, uploadPause)
		}
	}
	u.awaitCurrent(ctx)
}

// heard says whether a table's node can be asked; it gives a link that was just made a moment.
func (u *upload) heard(fresh context.Context, i int) bool {
	node := u.tables[i].Node
	for {
		l, linked := u.here.Site.LinkTo(node)
		switch {
		case !linked:
			return false
		case l.State == link.StateConnected:
			return true
		case l.State != link.StateConnecting || !u.met[node] || fresh.Err() != nil:
			return false
		}
		_ = task.Sleep(fresh, u.here.Scheduler, uploadPause)
	}
}

// asked asks a table's node about it.
func (u *upload) asked(ctx context.Context, i int) (Report, bool) {
	t := u.tables[i]
	r := question.All[Report](ctx, u.here.Scheduler, u.here.Site, []processtable.NodeID{t.Node}, AskTable, about(t, u.request.Tables[i].Table))[0]
	return r.Answer, r.Err == nil
}

// arrived says whether a node has decided about its table.
func (u *upload) arrived(i int, r *Report) bool {
	line := &u.answer.Nodes[i]
	switch {
	case r.Found && r.Definition == u.tables[i].Definition.String():
		line.Result, line.Reason = api.ResultStored, ""
		u.there[i] = *r
	case r.Refused != "":
		line.Result, line.Reason = api.ResultRefused, r.Refused
	default:
		return false
	}
	return true
}

// pending says whether a version is pending at its node. Of an older node nothing is.
func (u *upload) pending(i int) bool { return u.there[i].State != "" && !u.there[i].All }

// awaitCurrent waits a moment for the versions that all their nodes have: these find out from each other
// that they are current. Then it says how each is.
func (u *upload) awaitCurrent(ctx context.Context) {
	ctx, cancel := u.here.Scheduler.WithTimeout(ctx, question.Timeout)
	defer cancel()
	for i, t := range u.tables {
		for u.askAgain(ctx, i) && u.everywhere(t.Process) && ctx.Err() == nil {
			_ = task.Sleep(ctx, u.here.Scheduler, uploadPause)
		}
		u.answer.Nodes[i].State = u.there[i].State
	}
}

// askAgain asks whether a version is still pending at a node that has it.
func (u *upload) askAgain(ctx context.Context, i int) (pending bool) {
	switch t := u.tables[i]; {
	case t.Node == u.here.Self:
		u.there[i] = Report{State: u.here.state(t.Process), All: !u.here.Queue.IsPending(t.Process)}
	case u.pending(i):
		if r, ok := u.asked(ctx, i); ok && r.Found {
			u.there[i] = r
		}
	}
	return u.pending(i)
}

// everywhere says whether all nodes of this upload have their table of a process.
func (u *upload) everywhere(id processtable.ProcessID) bool {
	return !slices.ContainsFunc(u.answer.Nodes, func(l api.UploadNode) bool {
		return l.Process == id.String() && l.Result != api.ResultStored && l.Result != api.ResultUnchanged
	})
}

// countRunning says which instances run on which version, at each node that is heard.
func (u *upload) countRunning(ctx context.Context) error {
	here := u.here
	done := map[string]bool{}
	for _, t := range u.tables {
		name := t.Process.Name
		if done[name] {
			continue
		}
		done[name] = true
		own, err := here.running(processtable.ProcessID{Name: name}, func(processtable.ProcessID) bool { return true })
		if err != nil {
			return err
		}
		at := map[processtable.NodeID]map[string]int{here.Self: own}
		for _, r := range question.All[VersionReport](ctx, here.Scheduler, here.Site, u.heardOf(name), AskVersion, VersionQuestion{Process: name}) {
			if r.Err == nil {
				at[r.Node] = r.Answer.Running
			}
		}
		for i, of := range u.tables {
			if of.Process.Name == name {
				u.answer.Nodes[i].Running = runningOf(at[of.Node])
			}
		}
	}
	return nil
}

// heardOf are the other nodes of an upload that have a table of a name, and are connected.
func (u *upload) heardOf(name string) (nodes []processtable.NodeID) {
	for _, t := range u.tables {
		if l, linked := u.here.Site.LinkTo(t.Node); t.Process.Name == name && linked && l.State == link.StateConnected && !slices.Contains(nodes, t.Node) {
			nodes = append(nodes, t.Node)
		}
	}
	return nodes
}

// runningOf gives counts by version, without those of which nothing runs.
func runningOf(counts map[string]int) (all []api.Running) {
	for process, n := range counts {
		if n > 0 {
			all = append(all, api.Running{Process: process, Instances: n})
		}
	}
	slices.SortFunc(all, func(a, b api.Running) int {
		x, _ := processtable.ParseProcessID(a.Process)
		y, _ := processtable.ParseProcessID(b.Process)
		return x.Compare(y)
	})
	return all
}
