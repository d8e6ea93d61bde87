package tables

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"fmqm/api"
	"fmqm/internal/task"
	"fmqm/link"
	"fmqm/node/question"
	"fmqm/processtable"
	"fmqm/queue"
	"fmqm/queue/record"
)

// How often a site asks the others of a process about a version that is pending here, unless there is news.
const (
	firstPause = time.Second
	lastPause  = time.Minute
)

// Run finds out which of the versions that are pending have become current (N19), until ctx ends, or the
// store. An error is one after which nothing here can be trusted (invariant 8).
func (t *Tables) Run(ctx context.Context) error {
	for pause := firstPause; ; {
		news, err := t.round(ctx)
		switch {
		case ctx.Err() != nil, errors.Is(err, queue.ErrStopped):
			return nil
		case err != nil:
			return err
		case news: // which those that were asked before may not know
			pause = firstPause
			continue
		case len(t.Queue.Pending()) == 0 && len(t.untold()) == 0:
			pause = 0
		}
		rung, err := t.restFor(ctx, t.wake, pause)
		if err != nil {
			return nil
		}
		if pause = min(2*pause, lastPause); rung || pause == 0 {
			pause = firstPause
		}
	}
}

// restFor waits for news, or for so long; 0: for news alone.
func (t *Tables) restFor(ctx context.Context, news *task.Bell, pause time.Duration) (rung bool, err error) {
	over := t.Scheduler.Gate()
	if pause > 0 {
		defer t.Scheduler.AfterFunc(pause, over.Open)()
	}
	which, err := t.Scheduler.Wait(ctx, news, over)
	return which == 0, errors.Join(err, ctx.Err())
}

// round tells the others what has become current here, asks them about each version that is pending, and
// says whether anything is known that was not.
func (t *Tables) round(ctx context.Context) (news bool, err error) {
	t.mu.Lock()
	turned := t.turned
	t.turned = nil
	t.mu.Unlock()
	for _, id := range turned {
		if p := t.Site.Process(id); p != nil {
			t.askAll(ctx, p.Table())
		}
	}
	for _, id := range t.Queue.Pending() {
		p := t.Site.Process(id)
		if p == nil { // it is stored, and not taken up: that rings
			continue
		}
		told, err := t.look(ctx, p.Table())
		if err != nil {
			return false, err
		}
		news = news || told
	}
	for _, v := range t.untold() {
		if err := t.exchange(ctx, v); err != nil {
			return false, err
		}
	}
	return news, nil
}

// look asks the others about a version that is pending, and makes it current if all have it.
func (t *Tables) look(ctx context.Context, table *processtable.Table) (news bool, err error) {
	v := version{id: table.Process, nodes: table.Nodes()}
	for _, r := range t.askAll(ctx, table) {
		if r.Err != nil || r.Answer.Definition != table.Definition.String() {
			continue
		}
		if r.Answer.Found {
			has := append([]string{string(r.Node)}, r.Answer.Has...)
			news = t.note(table, has, r.Answer.All) || news
		}
		if err := t.hear(ctx, v, r.Node, &VersionReport{Said: r.Answer.Said}); err != nil {
			return false, err
		}
	}
	if !t.Queue.IsPending(table.Process) || len(t.Lacking(table.Process)) > 0 {
		return news, nil
	}
	if err := t.Site.Commit(ctx, &record.Tx{Current: []processtable.ProcessID{table.Process}}); err != nil {
		return false, fmt.Errorf("make %s current: %w", table.Process, err)
	}
	t.NowCurrent(table.Process)
	return true, nil
}

// askAll asks the other sites of a process that are connected what they have of a version, and tells them
// what is known of it here.
func (t *Tables) askAll(ctx context.Context, table *processtable.Table) []question.Reply[Report] {
	var heard []processtable.NodeID
	for _, node := range table.Nodes() {
		if l, linked := t.Site.LinkTo(node); linked && l.State == link.StateConnected {
			heard = append(heard, node)
		}
	}
	q := Question{Process: table.Process.String(), Definition: table.Definition.String()}
	q.All, q.Has = t.known(table)
	return question.All[Report](ctx, t.Scheduler, t.Site, heard, AskTable, q)
}

// known says of which sites it is known here that they have a version that is here: of all, or of some.
func (t *Tables) known(table *processtable.Table) (all bool, has []string) {
	if !t.Queue.IsPending(table.Process) {
		return true, nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, node := range table.Nodes() {
		if node == t.Self || t.has[table.Process][node] {
			has = append(has, string(node))
		}
	}
	return false, has
}

// note notes that sites have a version that is pending here, or all of them; it says whether that is news.
func (t *Tables) note(table *processtable.Table, has []string, all bool) (news bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, node := range table.Nodes() {
		if node == t.Self || t.has[table.Process][node] || !all && !slices.Contains(has, string(node)) {
			continue
		}
		if t.has[table.Process] == nil {
			t.has[table.Process] = map[processtable.NodeID]bool{}
		}
		t.has[table.Process][node], news = true, true
	}
	return news
}

// heard takes what a peer that asks about a version tells of it. It counts only of a peer that has a part
// in the process: the others have no say.
func (t *Tables) heard(peer processtable.NodeID, q Question) {
	id, err := processtable.ParseProcessID(q.Process)
	if err != nil || !q.All && len(q.Has) == 0 || !t.Queue.IsPending(id) || !t.concerns(peer, q.Process) {
		return
	}
	table := t.Site.Process(id).Table()
	if q.Definition == table.Definition.String() && t.note(table, append([]string{string(peer)}, q.Has...), q.All) {
		t.wake.Ring()
	}
}

// Lacking are the sites of a process of which it is not known here that they have stored a version; none of
// one that is not pending.
func (t *Tables) Lacking(id processtable.ProcessID) (lacking []string) {
	p := t.Site.Process(id)
	if p == nil || !t.Queue.IsPending(id) {
		return nil
	}
	_, has := t.known(p.Table())
	for _, node := range p.Table().Nodes() {
		if !slices.Contains(has, string(node)) {
			lacking = append(lacking, string(node))
		}
	}
	return lacking
}

// state says how a version that is here is, for people.
func (t *Tables) state(id processtable.ProcessID) api.VersionState {
	if t.Queue.IsRetired(id) {
		return api.VersionRetired
	}
	if t.Queue.IsCurrent(id) {
		return api.VersionCurrent
	}
	return api.VersionStored
}

// NowCurrent: it is on disk that versions are pending no more. The committer may call it.
func (t *Tables) NowCurrent(ids ...processtable.ProcessID) {
	if len(ids) == 0 {
		return
	}
	t.mu.Lock()
	for _, id := range ids {
		delete(t.has, id)
	}
	t.turned = append(t.turned, ids...)
	t.mu.Unlock()
	t.wake.Ring()
	for _, id := range ids {
		t.Site.TurnedCurrent(id)
	}
}

// alone says whether a site is the only one of a process: what it stores is current.
func alone(table *processtable.Table) bool { return len(table.Nodes()) <= 1 }
