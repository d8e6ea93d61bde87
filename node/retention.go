package node

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"fmqm/internal/task"
	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue"
)

// Retention says how much of the audit queue is kept (S4): what is older than Age, and what
// is beyond Bytes, is removed, whole instances at a time, the oldest first. 0 is no limit.
type Retention struct {
	Age   time.Duration // since the newest record of the instance at this node
	Bytes int64         // of all audit records, before the engine's own overhead
}

// none: everything is kept, and nothing is walked over.
func (r Retention) none() bool { return r == Retention{} }

// retention removes audit records (S4). How old something is, is a policy of people, by a
// wall clock. Whether it may go at all is not: an instance's audit goes from this node only
// if both hold.
//
//   - The instance has ended at its origin, by whose sink alone that is known (N1). The
//     origin has the sink's record; other nodes ask it, in batches, by a question that is
//     not persistent. No answer, or an origin that does not know the instance (its store was
//     lost, and the start may be repeated there), means that it is kept. So while an instance
//     may go on anywhere, every node can build again what it has sent of it (S4).
//   - It is over here: nothing of it is in the process queue, and every activity that
//     this node hosts has its record of having ended. Each has then consumed a message over
//     each of its connectors, and each of those is resolved once (invariant 4), also on dead
//     paths that were passed around (N6): whatever comes later is a repeat. Of an instance
//     that an operator terminated some activities never had an entry; there the marker, which
//     stays, absorbs what comes (N7).
//
// In the transaction that removes the first records one small record takes their place
// ([queue.Removed]), and stays for ever. It refuses what the records refused:
//
//   - a repeat of the start gives the same instance, or the refusal of another process,
//     input or key, by their sums (N2);
//   - a message for any activity of the instance is late, and makes no entry (N7): no
//     program runs again. The key of a program (P1) is reckoned and needs no record;
//   - a node that asks how the instance stands is told that it has ended, so the order in
//     which nodes remove their parts does not matter.
//
// A peer that loses its store, or gets a copy back that is older than the removal, cannot be
// sent the instance again. Where it has something of it under way, and the origin says that
// the instance has ended, the rebuilding sends a marker that ends that; what cannot be put
// right is named (survey.judge).
//
// A kill between two transactions leaves an instance whose record says "removed" and of
// which something is left; the next round removes the rest. There is no other state.
type retention struct {
	node *Node
	wake *task.Bell // the policy was changed

	pageSize, candidates int   // see retentionPage, retentionCandidates
	records              int   // audit records of one transaction
	reclaimFrom          int64 // see retentionReclaim
	freed                int64 // bytes of audit records removed since room was given back

	removed atomic.Uint64 // instances, since the start
	mu      sync.Mutex
	stats   *AuditStats
}

// AuditStats is what the last round of retention found and left.
type AuditStats struct {
	Instances uint64 // of which there are audit records
	Bytes     int64  // of these records
	Remnants  uint64 // instances whose records were removed: one small record stays of each
	Overdue   uint64 // instances beyond the limits that are kept, since they have not ended, or it is not known
	Removed   uint64 // instances removed since the start; a counter
}

const (
	retentionFirst  = time.Minute // after the start
	retentionPeriod = time.Hour   // between rounds, at least
	// retentionShare: a round that took long is followed by a pause that is so many times
	// as long; and within a round each step by one of so many times its own length.
	retentionShare = 9
	retentionYield = 3
	// retentionPage is how many instances one step of the walk reads.
	retentionPage = 256
	// retentionCandidates is how many instances one walk chooses, in order: 32 bytes each.
	retentionCandidates = 1 << 16
	// retentionBatch is how many instances are judged, and asked for, at once.
	retentionBatch = 64
	// retentionRecords is how many audit records one transaction removes.
	retentionRecords = 256
	// retentionReclaim is how many bytes of records have to be removed, and what part of those
	// that stay, before the store gives their room back: that may cost as much as all of it.
	retentionReclaim = 64 << 20
	reclaimShare     = 4
	// retentionAsking is how long an origin has to answer.
	retentionAsking = 20 * time.Second
)

func newRetention(n *Node) *retention {
	return &retention{
		node: n, wake: n.sched.Bell(),
		pageSize: retentionPage, candidates: retentionCandidates, records: retentionRecords, reclaimFrom: retentionReclaim,
	}
}

// changed: the policy may be another one.
func (r *retention) changed() { r.wake.Ring() }

func (r *retention) policy() Retention { return r.node.limits.Load().Audit }

// run goes round until ctx ends.
func (r *retention) run(ctx context.Context) {
	pause := retentionFirst
	for {
		if !r.wait(ctx, pause) {
			return
		}
		began, before := r.node.sched.Now(), r.removed.Load()
		err := r.round(ctx)
		if err == nil {
			err = r.reclaim(ctx)
		}
		switch {
		case ctx.Err() != nil, errors.Is(err, queue.ErrStopped):
			return
		case err != nil:
			r.node.fatal(err) // what cannot be read may be what must not be missing (invariant 8)
			return
		}
		if removed := r.removed.Load() - before; removed > 0 {
			r.node.log.Info().Uint64("instances", removed).Msg("audit removed by retention")
		}
		pause = max(retentionPeriod, retentionShare*r.node.sched.Now().Sub(began))
	}
}

// wait waits for a time, or until the policy changes; without a policy, only for that. It
// gives false when ctx has ended.
func (r *retention) wait(ctx context.Context, d time.Duration) bool {
	due := r.node.sched.Gate()
	if !r.policy().none() {
		defer r.node.sched.AfterFunc(d, due.Open)()
	}
	_, err := r.node.sched.Wait(ctx, due, r.wake)
	return err == nil && ctx.Err() == nil
}

// yield lets others work after a step that began at a time.
func (r *retention) yield(ctx context.Context, began time.Time) {
	if took := r.node.sched.Now().Sub(began); took > 0 {
		_ = task.Sleep(ctx, r.node.sched, retentionYield*took)
	}
	_ = r.node.queue.WaitCapacity(ctx) // whoever goes on looks at ctx
}

// round removes what is beyond the limits and may go. It walks over the audit queue, takes
// down the oldest instances, as many as memory is for, and removes those that may go; and
// does so again, for those that are younger, until nothing is left to do.
func (r *retention) round(ctx context.Context) error {
	policy := r.policy()
	if policy.none() {
		r.publish(nil)
		return nil
	}
	remnants, err := r.node.queue.CountRemoved()
	if err != nil {
		return err
	}
	silent := map[processtable.NodeID]bool{} // origins that did not answer in this round
	var overdue uint64
	var floor candidate
	for ctx.Err() == nil {
		found, oldest, err := r.walk(ctx, floor)
		if err != nil {
			return err
		}
		t := &thinning{retention: r, policy: policy, silent: silent, left: found}
		more, err := t.run(ctx, oldest)
		if err != nil {
			return err
		}
		overdue += t.kept
		remnants += t.removed
		t.left.Remnants, t.left.Overdue = remnants, overdue
		r.publish(&t.left)
		if !more || len(oldest) < r.candidates {
			return nil
		}
		floor = oldest[len(oldest)-1]
	}
	return ctx.Err()
}

// reclaim has the store give back the room of what was removed, where it is worth it.
func (r *retention) reclaim(ctx context.Context) error {
	r.mu.Lock()
	left := r.stats
	r.mu.Unlock()
	if left == nil || r.freed < r.reclaimFrom || r.freed < left.Bytes/reclaimShare {
		return nil
	}
	freed, began := r.freed, r.node.sched.Now()
	r.freed = 0
	if err := r.node.queue.Reclaim(ctx); err != nil {
		return err
	}
	r.node.log.Info().Int64("bytes", freed).Dur("took", r.node.sched.Now().Sub(began)).Msg("room of removed audit given back")
	return nil
}

func (r *retention) publish(s *AuditStats) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stats = s
}

// AuditStats says what retention has found and done; false without limits, or before its
// first round.
func (n *Node) AuditStats() (AuditStats, bool) {
	r := n.retain
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stats == nil {
		return AuditStats{}, false
	}
	s := *r.stats
	s.Removed = r.removed.Load()
	return s, true
}

// walk adds up the audit queue, and gives the oldest instances behind floor, in order.
// What was being removed when the node stopped is removed on the way.
func (r *retention) walk(ctx context.Context, floor candidate) (found AuditStats, _ []candidate, err error) {
	chosen := oldest{limit: r.candidates, floor: floor}
	after := message.InstanceID{}
	for ctx.Err() == nil {
		began := r.node.sched.Now()
		page, err := r.node.queue.AuditSizes(after, r.pageSize)
		if err != nil || len(page) == 0 {
			return found, chosen.sorted(), err
		}
		for i := range page {
			s := &page[i]
			if s.Removed != nil && s.Removed.Origin == s.Origin {
				if err := r.forget(ctx, s.Instance, false); err != nil {
					return found, nil, err
				}
				continue
			}
			found.Instances++
			found.Bytes += s.Bytes
			chosen.offer(candidate{last: s.Last.UnixNano(), instance: s.Instance, bytes: s.Bytes})
		}
		after = page[len(page)-1].Instance
		r.yield(ctx, began)
	}
	return found, nil, ctx.Err()
}

// over says whether an instance is over at this node, as far as this node can know it;
// stopped: by an operator's terminate.
func (r *retention) over(s *queue.AuditSize) (over, stopped bool, err error) {
	n := r.node
	t := n.thread(s.Process)
	if t == nil || s.Origin == "" || s.Origin == n.name && !s.Over {
		return false, false, nil
	}
	open, err := n.underWay(s.Process, s.Instance)
	if err != nil || open {
		return false, false, err
	}
	marker, err := n.queue.Marker(s.Process, s.Instance)
	if err != nil || marker != nil && marker.Origin == s.Origin {
		return err == nil, true, err
	}
	for _, a := range t.process.Table().Activities {
		if a.Kind != processtable.KindSource && a.Kind != processtable.KindSink && !slices.Contains(s.Ended, a.Name) {
			return false, false, nil
		}
	}
	return true, false, nil
}

// forget removes what the audit queue has of an instance, in as many transactions as it
// takes, one at a time.
func (r *retention) forget(ctx context.Context, i message.InstanceID, stopped bool) error {
	for ctx.Err() == nil {
		began := r.node.sched.Now()
		tx, more, err := r.node.queue.Forget(queue.Forget{Instance: i, Stopped: stopped, Time: began, Limit: r.records})
		if err != nil {
			return err
		}
		if err := r.node.commit(ctx, tx); err != nil {
			return err
		}
		r.yield(ctx, began)
		if !more {
			return nil
		}
	}
	return ctx.Err()
}
