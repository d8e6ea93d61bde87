package tables

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"

	"fmqm/behaviour"
	"fmqm/processtable"
	"fmqm/queue/commit"
	"fmqm/queue/record"
)

// A final word (N31) says that no instance of a version will ever begin at a node, and that all that began there have ended.
//
//   - It is for ever. What found that an instance could begin, before the word was given, is refused by the committer, in
//     its turn (commit.ErrClosed).
//   - It is of a store (record.Final). With another store the node has not given it, and begins nothing all the same.
//   - It counts here while the version is retired here: so a definer has signed for it, and nobody else closes a version.
//   - A site with which this one has a link speaks for itself: what others say of it is not believed (invariant 11).

// exchange tells the other sites what is known of a version, and takes what they know.
func (t *Tables) exchange(ctx context.Context, v version) error {
	for _, r := range t.tell(ctx, v) {
		if r.Err != nil {
			continue
		}
		if err := t.hear(ctx, v, r.Node, &r.Answer); err != nil {
			return err
		}
	}
	return nil
}

// Closed says whether nothing of a version begins here ever again.
func (t *Tables) Closed(id processtable.ProcessID) bool {
	_, closed := t.Queue.Finals(id)[t.Self]
	return closed
}

// finals gives the final words about a version that are known here, for other sites.
func (t *Tables) finals(id processtable.ProcessID) map[string]string {
	known := t.Queue.Finals(id)
	if len(known) == 0 {
		return nil
	}
	all := make(map[string]string, len(known))
	for node, store := range known {
		all[string(node)] = store.String()
	}
	return all
}

// hearFinals notes the final words that another site knows. Each is best known by whose it is.
func (t *Tables) hearFinals(ctx context.Context, v version, from processtable.NodeID, r *VersionReport) error {
	said, was := t.Queue.Retirement(v.id)
	p := t.Site.Process(v.id)
	if !was || said.Undo || p == nil {
		return nil
	}
	known := t.Queue.Finals(v.id)
	tx := &record.Tx{}
	for _, name := range slices.Sorted(maps.Keys(r.Finals)) {
		node := processtable.NodeID(name)
		store, err := storeOf(r.Finals[name])
		before, has := known[node]
		switch {
		case err != nil || !p.Table().MayStart(node) || !t.speaksFor(from, node) || has && (before == store || node != from):
		case node == t.Self && (has || store == t.Queue.Incarnation()): // what this store has said it knows
		default:
			tx.Final = append(tx.Final, record.Final{Process: v.id, Node: node, Store: store})
		}
	}
	if len(tx.Final) > 0 {
		if err := t.Site.Commit(ctx, tx); err != nil {
			return fmt.Errorf("note final words about %s: %w", v.id, err)
		}
		t.retiring.Ring()
	}
	if !r.Removed {
		return nil
	}
	n, err := t.Queue.Running(v.id)
	if err == nil && n > 0 {
		t.Site.Stranded(v.id, from, n)
	}
	return err
}

// speaksFor says whether a site is believed what it says of another: of itself, and of whoever has no link here.
func (t *Tables) speaksFor(from, node processtable.NodeID) bool {
	_, linked := t.Site.LinkTo(node)
	return from == node || !linked
}

func storeOf(text string) (s record.Incarnation, err error) {
	n, err := hex.Decode(s[:], []byte(text[:min(len(text), 2*len(s))]))
	if err == nil && (n != len(s) || len(text) != 2*len(s)) {
		err = errors.New("it has another length")
	}
	return s, err
}

// missing are the nodes that may start a version and have not given their final word, or with a store that they have no more;
// who is written off here is not missing.
func (t *Tables) missing(table *processtable.Table) (missing []processtable.NodeID) {
	finals := t.Queue.Finals(table.Process)
	for _, node := range table.Starts {
		store, given := finals[node]
		now, known := t.Queue.KnownIncarnation(node)
		if node == t.Self {
			now, known = t.Queue.Incarnation(), true
		}
		if (!given || known && store != now) && !t.isOff(table.Process, node) {
			missing = append(missing, node)
		}
	}
	return missing
}

// due says whether a version has been retired here for so long that it cannot be taken back any more.
func (t *Tables) due(id processtable.ProcessID) bool {
	said, was := t.Queue.Retirement(id)
	return was && !said.Undo && (t.Closed(id) || !t.Scheduler.Now().Before(said.Time.Add(t.Site.RetiredFor())))
}

// giveFinal gives this node's final word about a version, if it may and has not; given: it has just done so.
func (t *Tables) giveFinal(ctx context.Context, p behaviour.Process) (given bool, err error) {
	table := p.Table()
	id := table.Process
	if !table.IsStart() || !slices.Contains(t.missing(table), t.Self) {
		return false, nil
	}
	if err := t.turn.Acquire(ctx); err != nil {
		return false, err
	}
	defer t.turn.Release()
	if !t.due(id) { // nobody has taken it back meanwhile
		return false, nil
	}
	quiet, rest, err := t.Queue.AtRest(id)
	if err != nil || !rest {
		return false, err
	}
	if n, err := t.Queue.Running(id); err != nil || n > 0 {
		return false, err
	}
	word := record.Final{Process: id, Node: t.Self, Store: t.Queue.Incarnation()}
	switch err := t.Site.Commit(ctx, &record.Tx{Quiet: []record.Quiet{quiet}, Final: []record.Final{word}}); {
	case errors.Is(err, commit.ErrStale): // something came: it is looked at again
		return false, nil
	case err != nil:
		return false, fmt.Errorf("give the final word about %s: %w", id, err)
	}
	t.Site.GaveFinal(id)
	return true, nil
}
