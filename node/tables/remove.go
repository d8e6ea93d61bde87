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
	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue"
	"fmqm/queue/commit"
	"fmqm/queue/record"
)

const (
	// lastRetiredPause is between two times that sites are asked for their final words, at most, while some are missing.
	lastRetiredPause = 10 * time.Minute
	// removalPause is until it is looked again whether a site still needs a table: that may read all of the audit.
	removalPause = time.Hour
	// sizesPage is how many instances one step of that reads; as in retention, each is followed by a pause of so
	// many times its own length.
	sizesPage, sizesShare = 256, 3
	// refusedPage is how many refused messages one step reads.
	refusedPage = 256
)

// errGone says that a table was removed, to who brings it, or another one.
func (t *Tables) errGone(stone *record.Tombstone, definition processtable.DefinitionHash) error {
	if stone.Definition != definition {
		return errBound(stone.Process, t.Self)
	}
	return fmt.Errorf("%w: %s was retired, and %s has removed its table on %s: raise the version", ErrGone, stone.Process, t.Self, dayOf(stone))
}

func dayOf(stone *record.Tombstone) string { return stone.Time.UTC().Format(time.DateOnly) }

// ErrGone: the table of a version was removed, wrapped.
var ErrGone = errors.New("it is gone")

// RunRetired gives this site's final words about versions that are retired, learns those of others, and removes tables that
// nobody needs (N31), until ctx ends, or the store. An error is one after which nothing here can be trusted (invariant 8).
func (t *Tables) RunRetired(ctx context.Context) error {
	for pause := firstPause; ; {
		missing, err := t.retiredRound(ctx)
		switch {
		case ctx.Err() != nil, errors.Is(err, queue.ErrStopped):
			return nil
		case err != nil:
			return err
		}
		rest := time.Duration(0)
		if missing {
			rest = pause
		} else if len(t.Queue.Retirements()) > 0 {
			rest = removalPause
		}
		rung, err := t.restFor(ctx, t.retiring, rest)
		if err != nil {
			return nil
		}
		if pause = min(2*pause, lastRetiredPause); rung || !missing {
			pause = firstPause
		}
	}
}

// RetiredChanged: for how long a version is retired before the final word is another time now.
func (t *Tables) RetiredChanged() { t.retiring.Ring() }

// retiredRound looks at each version of which something was said; missing: some final words are.
func (t *Tables) retiredRound(ctx context.Context) (missing bool, err error) {
	var needless []behaviour.Process
	for _, id := range t.Queue.Retirements() {
		if stone, gone := t.Queue.Tombstone(id); gone {
			if err := t.absorb(ctx, &stone); err != nil {
				return false, err
			}
			continue
		}
		p := t.Site.Process(id)
		if p == nil || !t.due(id) {
			missing = missing || p != nil && t.Queue.IsRetired(id)
			continue
		}
		lacks, err := t.settle(ctx, p)
		if err != nil {
			return false, err
		}
		if missing = missing || lacks; !lacks && t.mayLook(id) {
			needless = append(needless, p)
		}
	}
	again, err := t.removeAll(ctx, needless)
	return missing || again, err
}

// settle gives the final word, if that is to be, and asks for those of others; lacks: not all are known.
func (t *Tables) settle(ctx context.Context, p behaviour.Process) (lacks bool, err error) {
	given, err := t.giveFinal(ctx, p)
	if err != nil {
		return false, err
	}
	table := p.Table()
	if given || len(t.missing(table)) > 0 {
		if err := t.exchange(ctx, version{id: table.Process, nodes: table.Nodes()}); err != nil {
			return false, err
		}
	}
	return len(t.missing(table)) > 0, nil
}

// removeAll removes the tables, of those about which all have given their final word, that nobody needs: this site does not,
// and where it may start the version no other does; again: something came for one while it was looked.
func (t *Tables) removeAll(ctx context.Context, all []behaviour.Process) (again bool, err error) {
	quiet := map[processtable.ProcessID]record.Quiet{}
	for _, p := range all {
		id := p.Table().Process
		t.lookAgain(id, removalPause)
		q, free, err := t.free(id)
		if err != nil {
			return false, err
		}
		if free {
			quiet[id] = q
		}
	}
	if len(quiet) == 0 {
		return false, nil
	}
	if err := t.strikeRecorded(ctx, quiet); err != nil || ctx.Err() != nil {
		return false, err
	}
	for _, p := range all {
		q, free := quiet[p.Table().Process]
		if !free {
			continue
		}
		stale, err := t.letGo(ctx, p.Table(), q)
		if err != nil {
			return false, err
		}
		again = again || stale
	}
	return again, nil
}

// letGo removes a table that this site needs for nothing of its own, unless others need it to be here, and tells them.
func (t *Tables) letGo(ctx context.Context, table *processtable.Table, q record.Quiet) (stale bool, err error) {
	v := version{id: table.Process, nodes: table.Nodes()}
	t.hearNeedless(&v, t.Self, []string{string(t.Self)})
	if table.IsStart() && !t.needlessAll(&v) {
		if err := t.exchange(ctx, v); err != nil || !t.needlessAll(&v) {
			return false, err
		}
	}
	if stale, err = t.remove(ctx, table, q); err != nil || stale {
		t.lookAgain(v.id, 0)
		return stale, err
	}
	return false, t.exchange(ctx, v)
}

// lookAgain has a version looked at again after a pause.
func (t *Tables) lookAgain(id processtable.ProcessID, pause time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.again[id] = t.Scheduler.Now().Add(pause)
}

// mayLook says whether it is time for that.
func (t *Tables) mayLook(id processtable.ProcessID) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return !t.Scheduler.Now().Before(t.again[id])
}

// hearNeedless notes what a site says of which need the table of a version for nothing of their own. It only grows, so no order and no
// repeat matters.
func (t *Tables) hearNeedless(v *version, from processtable.NodeID, sites []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	news := false
	for _, name := range sites {
		if node := processtable.NodeID(name); v.has(node) && t.speaksFor(from, node) && !t.needless[v.id][node] {
			if t.needless[v.id] == nil {
				t.needless[v.id] = map[processtable.NodeID]bool{}
			}
			t.needless[v.id][node], news = true, news || node != t.Self
		}
	}
	if news {
		delete(t.again, v.id)
		t.retiring.Ring()
	}
}

// needlessAt are the sites that are known to need the table for nothing of their own, for other sites.
func (t *Tables) needlessAt(v *version) (all []string) {
	for _, node := range v.nodes {
		if t.isNeedless(v, node) {
			all = append(all, string(node))
		}
	}
	return all
}

// isNeedless says whether a site is known to need the table for nothing of its own.
func (t *Tables) isNeedless(v *version, node processtable.NodeID) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.needless[v.id][node] || v.removed && node == t.Self
}

// needlessAll says whether that is known of all sites of a version, but for those that are written off here.
func (t *Tables) needlessAll(v *version) bool {
	return !slices.ContainsFunc(v.nodes, func(node processtable.NodeID) bool { return !t.isNeedless(v, node) && !t.isOff(v.id, node) })
}

// free says whether nothing that is under way here needs the table of a version: but for what the audit has of it.
func (t *Tables) free(id processtable.ProcessID) (q record.Quiet, free bool, err error) {
	q, rest, err := t.Queue.AtRest(id)
	if err != nil || !rest {
		return q, false, err
	}
	erasings, err := t.Queue.Erasings()
	if err != nil || len(erasings) > 0 {
		return q, false, err
	}
	rebuilds, err := t.Queue.Rebuilds()
	if err != nil {
		return q, false, err
	}
	for i := range rebuilds {
		if rebuilds[i].Stage != record.StageDone {
			return q, false, nil
		}
	}
	refused, err := t.refusedOf(id)
	return q, !refused, err
}

// refusedOf says whether a refused message is of a version.
func (t *Tables) refusedOf(id processtable.ProcessID) (bool, error) {
	for after := uint64(0); ; {
		heads, err := t.Queue.RefusedAfter(after, refusedPage)
		if err != nil || len(heads) == 0 {
			return false, err
		}
		for i := range heads {
			if h := heads[i].Header; h != nil && h.Queue.Process == id {
				return true, nil
			}
		}
		after = heads[len(heads)-1].Number
	}
}

// strikeRecorded takes off the versions of which the audit has more than what retention leaves. It reads all of the
// audit, in steps, and stops when none is left.
func (t *Tables) strikeRecorded(ctx context.Context, of map[processtable.ProcessID]record.Quiet) error {
	after := message.InstanceID{}
	for len(of) > 0 && ctx.Err() == nil {
		began := t.Scheduler.Now()
		page, err := t.Queue.AuditSizes(after, sizesPage)
		if err != nil || len(page) == 0 {
			return err
		}
		for i := range page {
			delete(of, page[i].Process)
		}
		after = page[len(page)-1].Instance
		if took := t.Scheduler.Now().Sub(began); took > 0 {
			_ = task.Sleep(ctx, t.Scheduler, sizesShare*took)
		}
		_ = t.Queue.WaitCapacity(ctx) // whoever goes on looks at ctx
	}
	return nil
}

// remove removes the table of a version that nobody needs; stale: something has come for it since it was looked, and it stays.
func (t *Tables) remove(ctx context.Context, table *processtable.Table, q record.Quiet) (stale bool, err error) {
	id := table.Process
	if err := t.turn.Acquire(ctx); err != nil {
		return false, err
	}
	defer t.turn.Release()
	if len(t.missing(table)) > 0 || !t.due(id) { // a node has come with another store meanwhile, or it was taken back
		return false, nil
	}
	stone := record.Tombstone{Process: id, Definition: table.Definition, Time: t.Scheduler.Now(), Nodes: table.Nodes()}
	switch err := t.Site.Commit(ctx, &record.Tx{Quiet: []record.Quiet{q}, Remove: []record.Tombstone{stone}}); {
	case errors.Is(err, commit.ErrStale):
		return true, nil
	case err != nil:
		return false, fmt.Errorf("remove the table of %s: %w", id, err)
	}
	t.mu.Lock()
	delete(t.again, id)
	delete(t.has, id)
	t.mu.Unlock()
	t.Site.LetGo(id)
	return false, nil
}

// absorb takes out what has come late for a version whose table was removed: from a process here that goes on, or as
// the table went.
func (t *Tables) absorb(ctx context.Context, stone *record.Tombstone) error {
	for ctx.Err() == nil {
		tx, messages, err := t.Queue.Absorb(stone.Process)
		if err != nil || tx == nil {
			return err
		}
		if err := t.Site.Commit(ctx, tx); err != nil {
			return fmt.Errorf("take out what came late for %s: %w", stone.Process, err)
		}
		t.Site.Absorbed(stone.Process, messages)
	}
	return nil
}

// Removed answers who retires a version whose table was removed here; false: none was.
func (t *Tables) Removed(id processtable.ProcessID, undo bool) (a api.RetireAnswer, gone bool, err error) {
	stone, gone := t.Queue.Tombstone(id)
	switch {
	case !gone:
		return a, false, nil
	case undo:
		return a, true, api.Errorf(api.CodeRefused, "upload it as a new version", "%s stays retired, nothing has changed: %s has removed its table on %s", id, t.Self, dayOf(&stone))
	}
	a.Nodes = append(a.Nodes, api.RetireNode{Node: string(t.Self), Process: id.String(), Result: api.ResultRemoved})
	return a, true, nil
}

// hadPart says whether a peer had a part in a process whose table was removed.
func (t *Tables) hadPart(peer processtable.NodeID, id processtable.ProcessID) bool {
	v, here := t.version(id)
	return here && v.removed && v.has(peer)
}
