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
		formats: map[processtable.ProcessID]otherFormat{}, met: map[processtable.NodeID]bool{},
		answer: api.UploadAnswer{Nodes: []api.UploadNode{}, Warnings: []string{}},
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
	return u.answer, nil
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
		tx.Tables = append(tx.Tables, Record(own[at], u.request.Tables[i].Table))
	}
	for i, t := range u.tables {
		line := &u.answer.Nodes[i]
		switch {
		case line.Plan == api.PlanUnchanged:
			line.Result = api.ResultUnchanged
		case t.Node == here.Self:
			line.Result = api.ResultStored
		default:
			line.Result = api.ResultQueued
			tx.Put = append(tx.Put, message.Message{
				Header: message.Header{
					Queue:      message.Queue{Process: t.Process, Node: t.Node},
					Definition: t.Definition.Short(), Origin: here.Self, Kind: message.KindTable, Lane: message.LaneData,
				},
				Body: u.request.Tables[i].Table,
			})
		}
	}
	if len(tx.Tables) == 0 && len(tx.Put) == 0 {
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
	return nil
}

// await asks the nodes that are heard what became of their tables; those that are not
// stay queued. A link that was just made has a moment to be connected.
func (u *upload) await(ctx context.Context) {
	here := u.here
	ctx, cancel := here.Scheduler.WithTimeout(ctx, uploadTimeout)
	defer cancel()
	fresh, end := here.Scheduler.WithTimeout(ctx, question.Timeout)
	defer end()
	for i, t := range u.tables {
		line := &u.answer.Nodes[i]
		for line.Result == api.ResultQueued && ctx.Err() == nil {
			l, linked := here.Site.LinkTo(t.Node)
			if !linked {
				break
			}
			if l.State != link.StateConnected {
				if l.State != link.StateConnecting || !u.met[t.Node] || fresh.Err() != nil {
					break
				}
				_ = task.Sleep(fresh, here.Scheduler, uploadPause)
				continue
			}
			r := question.All[Report](ctx, here.Scheduler, here.Site, []processtable.NodeID{t.Node}, AskTable, about(t, u.request.Tables[i].Table))[0]
			switch {
			case r.Err != nil:
			case r.Answer.Found && r.Answer.Definition == t.Definition.String():
				line.Result, line.Reason = api.ResultStored, ""
			case r.Answer.Refused != "":
				line.Result, line.Reason = api.ResultRefused, r.Answer.Refused
			default:
				_ = task.Sleep(ctx, here.Scheduler, uploadPause)
			}
			if r.Err != nil {
				break
			}
		}
	}
}
