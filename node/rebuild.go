package node

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"fmqm/api"
	"fmqm/internal/task"
	"fmqm/link"
	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue"
)

// A peer that comes with another store than the one known here has lost what this node
// sent it (L1). By an operator's word the store is known from then on, and the peer is
// sent again what the audit queue can build (S4): each node does so with what it has sent
// itself. What the peer still knows, it folds to the same state, or drops as a repeat.

var _ api.Rebuilder = (*Node)(nil)

const (
	rebuildPage    = 64       // instances whose history is in memory at once
	rebuildChunk   = 500      // messages of one transaction
	rebuildBytes   = 1 << 20  // and their bodies
	rebuildWaiting = 32 << 20 // bytes of the transmission queue beyond which the next chunk waits
	rebuildPause   = 500 * time.Millisecond
	rebuildAsking  = 20 * time.Second // for the other nodes to answer an operator
)

// rebuilds are the peers that are being sent again what they lost.
type rebuilds struct {
	beginning *task.Places // one: an order is taken up at a time

	mu      sync.Mutex
	running map[processtable.NodeID]*rebuilding
}

// Rebuild plans the rebuild of a peer, or starts it and reports how far it is.
func (n *Node) Rebuild(ctx context.Context, r api.RebuildRequest) (api.RebuildAnswer, error) {
	own, err := n.rebuildHere(ctx, r, n.commander(ctx))
	if !r.All {
		if err != nil {
			return api.RebuildAnswer{}, asAPI(err)
		}
		return api.RebuildAnswer{Rebuilds: []api.Rebuild{own}}, nil
	}
	all := n.rebuildThere(ctx, r)
	done := err == nil || slices.ContainsFunc(all, func(b api.Rebuild) bool { return b.Stage != "" })
	if !done {
		return api.RebuildAnswer{}, asAPI(err)
	}
	if err != nil {
		own = api.Rebuild{Node: string(n.name), Peer: r.Peer, Reason: err.Error()}
	}
	return api.RebuildAnswer{Rebuilds: append([]api.Rebuild{own}, all...)}, nil
}

// rebuildThere asks the other nodes to do the same.
func (n *Node) rebuildThere(ctx context.Context, r api.RebuildRequest) []api.Rebuild {
	ctx, cancel := n.sched.WithTimeout(ctx, rebuildAsking)
	defer cancel()
	var all []api.Rebuild
	for _, peer := range n.peers() {
		if string(peer) == r.Peer {
			continue
		}
		answer, err := ask[rebuildReport](ctx, n, peer, askRebuild, rebuildQuestion{Peer: r.Peer, Do: r.Do, By: api.OperatorOf(ctx)})
		switch {
		case err != nil:
			answer.Rebuild = api.Rebuild{Node: string(peer), Peer: r.Peer, Reason: "no answer: " + err.Error()}
		case answer.Error != nil:
			answer.Rebuild = api.Rebuild{Node: string(peer), Peer: r.Peer, Reason: answer.Error.Error()}
		}
		all = append(all, answer.Rebuild)
	}
	return all
}

// rebuildHere is Rebuild of what this node itself sends; by is who wants it.
func (n *Node) rebuildHere(ctx context.Context, r api.RebuildRequest, by string) (api.Rebuild, error) {
	peer := processtable.NodeID(r.Peer)
	l := n.Link(peer)
	switch {
	case peer == n.name:
		return api.Rebuild{}, api.Errorf(api.CodeRefused, "ask one of its peers, with --to", "%s cannot rebuild itself: its peers send it again what it lost", n.name)
	case l == nil:
		return api.Rebuild{}, api.Errorf(api.CodeNotFound, "see fmqm nodes", "%s has no peer %s", n.name, r.Peer)
	}
	mark, begun, err := n.queue.Rebuilding(peer)
	if err != nil {
		return api.Rebuild{}, err
	}
	presented := l.Status().Presented
	fresh := presented != (queue.Incarnation{}) && (!begun || mark.Incarnation != presented)
	known, _ := n.queue.KnownIncarnation(peer)
	switch {
	case fresh && !r.Do:
		return n.rebuildReport(ctx, queue.Rebuild{Peer: peer, Incarnation: presented}, nil)
	case fresh:
		mark = queue.Rebuild{Peer: peer, Incarnation: presented, Stage: queue.StageDecided, By: by, Highest: mark.Highest}
	case !begun || mark.Stage == queue.StageDone && mark.Incarnation != known:
		return api.Rebuild{}, notStopped(l.Status())
	case r.Do && mark.Stage == queue.StageDone:
		mark = queue.Rebuild{Peer: peer, Incarnation: known, Stage: queue.StageDecided, By: by, Floor: mark.Floor, Highest: mark.Highest}
	}
	if r.Do && mark.Stage == queue.StageDecided {
		if err := n.beginRebuild(ctx, mark); err != nil {
			return api.Rebuild{}, err
		}
	}
	run := n.rebuilding(peer)
	if run != nil {
		run.follow(ctx, r.Wait)
	}
	if mark, _, err = n.queue.Rebuilding(peer); err != nil {
		return api.Rebuild{}, err
	}
	return n.rebuildReport(ctx, mark, run)
}

// notStopped refuses to rebuild a peer that has lost nothing, as far as is known here.
func notStopped(s link.Status) error {
	if s.Stop != nil {
		return api.Errorf(api.CodeRefused, "do what the reason says", "the link to %s is stopped for another reason than a new store of %s: %s", s.Peer, s.Peer, s.Stop.Reason)
	}
	return api.Errorf(api.CodeRefused, "rebuild only when `fmqm links` shows the link stopped for a new store",
		"the link to %s is not stopped: %s has the same store as before, or is unreachable", s.Peer, s.Peer)
}

// beginRebuild makes an operator's word durable, and acts on it.
func (n *Node) beginRebuild(ctx context.Context, mark queue.Rebuild) error {
	if err := n.rebuilds.beginning.Acquire(ctx); err != nil {
		return err
	}
	defer n.rebuilds.beginning.Release()
	if run := n.rebuilding(mark.Peer); run != nil {
		if run.incarnation == mark.Incarnation {
			return nil
		}
		return api.Errorf(api.CodeRefused, "wait a little", "the rebuild of another store of %s is ending", mark.Peer)
	}
	if err := n.commit(ctx, &queue.Tx{Rebuild: &mark}); err != nil {
		return err
	}
	n.losses.Store(true)
	n.tellLosses()
	n.log.Info().Str("by", mark.By).Str("peer", string(mark.Peer)).Stringer("store", mark.Incarnation).Msg("operator ordered a rebuild of the peer")
	n.rebuilds.run(n, mark)
	return nil
}

// run starts what carries out a mark; r.mu is held.
func (r *rebuilds) run(n *Node, mark queue.Rebuild) {
	run := &rebuilding{node: n, peer: mark.Peer, incarnation: mark.Incarnation, mark: mark, turned: n.sched.Gate(), done: n.sched.Gate()}
	r.mu.Lock()
	if r.running == nil {
		r.running = map[processtable.NodeID]*rebuilding{}
	}
	r.running[mark.Peer] = run
	r.mu.Unlock()
	n.tasks.Go(func() {
		run.run(n.running)
		r.mu.Lock()
		delete(r.running, mark.Peer)
		r.mu.Unlock()
		run.done.Open()
	})
}

// resumeRebuilds goes on, after a restart, with what was begun.
func (n *Node) resumeRebuilds() {
	marks, err := n.queue.Rebuilds()
	if err != nil {
		n.fatal(err)
		return
	}
	for _, mark := range marks {
		if mark.Stage != queue.StageDone {
			n.rebuilds.run(n, mark)
		}
	}
}

func (n *Node) rebuilding(peer processtable.NodeID) *rebuilding {
	n.rebuilds.mu.Lock()
	defer n.rebuilds.mu.Unlock()
	return n.rebuilds.running[peer]
}

// rebuildReport tells how far a rebuilding has come, and what it cannot give back.
func (n *Node) rebuildReport(ctx context.Context, mark queue.Rebuild, run *rebuilding) (api.Rebuild, error) {
	b := api.Rebuild{
		Node: string(n.name), Peer: string(mark.Peer), Store: hex.EncodeToString(mark.Incarnation[:]),
		Restored: mark.Restored, Messages: mark.Messages, Instances: mark.Instances, By: mark.By,
	}
	switch mark.Stage {
	case queue.StageDecided, queue.StageSending:
		b.Stage = api.RebuildSending
		if mark.Stage == queue.StageDecided {
			b.Stage = api.RebuildDecided
		}
		if run != nil {
			if b.Reason, b.Lacks = run.why(); len(b.Lacks) > 0 {
				b.Stage = api.RebuildWaiting
			}
		}
		return b, nil
	case queue.StageDone:
		b.Stage = api.RebuildDone
	default:
		b.Stage = api.RebuildPlanned
		for _, t := range n.threadsAt(mark.Peer) {
			b.Lacks = append(b.Lacks, t.id().String())
		}
	}
	return b, n.tellUnknown(ctx, &b, mark)
}

// tellUnknown names the instances that were started at the peer and that it does not
// know, and, in a plan, counts what would be sent at most.
func (n *Node) tellUnknown(ctx context.Context, b *api.Rebuild, mark queue.Rebuild) error {
	unasked, named := map[processtable.NodeID]bool{}, map[message.InstanceID]bool{}
	s := survey{node: n, peer: mark.Peer, mark: mark, planned: b.Stage == api.RebuildPlanned}
	page := func(found []owed) error {
		if err := s.judge(ctx, found, unasked); err != nil {
			return err
		}
		for _, o := range found {
			switch {
			case o.removed != nil && (o.unknown || o.stale):
				nameRemoved(b, &o)
			case o.unknown && !named[o.instance]:
				named[o.instance] = true
				if len(b.Unknown) == api.MaxNamed {
					b.More++
					continue
				}
				open, err := n.underWay(o.process, o.instance)
				if err != nil {
					return err
				}
				b.Unknown = append(b.Unknown, api.UnknownInstance{Instance: o.instance, Process: o.process.String(), UnderWay: open})
			case s.planned && o.send:
				b.Messages += uint64(max(len(o.spoken), 1)) // at least a marker
				b.Instances++
			}
		}
		return nil
	}
	after := message.InstanceID{}
	for {
		ids, err := n.queue.AuditInstances(after, rebuildPage)
		if err != nil {
			return err
		}
		if len(ids) == 0 {
			break
		}
		found, err := s.read(ids, true)
		if err == nil {
			err = page(found)
		}
		if err != nil {
			return err
		}
		after = ids[len(ids)-1]
	}
	err := s.queues(page)
	for peer := range unasked {
		b.Unasked = append(b.Unasked, string(peer))
	}
	slices.Sort(b.Unasked)
	return err
}

// nameRemoved names an instance that was started at the peer, and that cannot be sent again.
func nameRemoved(b *api.Rebuild, o *owed) {
	if len(b.Removed) == api.MaxNamed {
		b.MoreRemoved++
		return
	}
	b.Removed = append(b.Removed, api.RemovedInstance{
		Instance: o.instance, Process: o.process.String(), Time: o.removed.Time, Running: o.stale,
	})
}

// underWay says whether something of an instance waits or runs here.
func (n *Node) underWay(p processtable.ProcessID, i message.InstanceID) (bool, error) {
	found, err := n.queue.BrowseInstance(p, i)
	return len(found) > 0, err
}

// threadsAt gives the processes in which a peer has a part.
func (n *Node) threadsAt(peer processtable.NodeID) []*processThread {
	return slices.DeleteFunc(n.threads(), func(t *processThread) bool { return !t.process.Table().HasPart(peer) })
}

// loadLosses finds what the store tells of stores that were lost.
func (n *Node) loadLosses() error {
	anew, err := n.queue.Anew()
	if err != nil {
		return err
	}
	marks, err := n.queue.Rebuilds()
	n.anew.Store(anew)
	n.losses.Store(anew || len(marks) > 0)
	return err
}

// markAnew notes that others know this node from an earlier store: which entries have
// ended is asked of the store from now on, also of instances that are started here.
func (n *Node) markAnew() error {
	if n.anew.Load() {
		return nil
	}
	if err := n.queue.NoteAnew(); err != nil {
		return fmt.Errorf("note that this store is a new one: %w", err)
	}
	n.anew.Store(true)
	n.losses.Store(true)
	n.tellLosses()
	return nil
}

var errOtherStore = errors.New("the peer has changed its store again")
