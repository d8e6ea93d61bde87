package retention

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"fmqm/behaviour"
	"fmqm/internal/task"
	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue"
	"fmqm/queue/audit"
	"fmqm/queue/commit"
	"fmqm/queue/record"
)

// Policy says how much of the audit queue is kept (S4): what is older than Age, and what
// is beyond Bytes, is removed, whole instances at a time, the oldest first. 0 is no limit.
type Policy struct {
	Age   time.Duration // since the newest record of the instance at this node
	Bytes int64         // of all audit records, before the engine's own overhead
}

// none: everything is kept, and nothing is walked over.
func (p Policy) none() bool { return p == Policy{} }

// Retention removes audit records (S4). How old something is, is a policy of people, by a
// wall clock. Whether it may go at all is not: an instance's audit goes from this node only
// if both hold.
//
//   - The instance has ended at its origin, by whose sink alone that is known (N1). The
//     origin has the sink's record; other nodes ask it, in batches, by a question that is
//     not persistent. No answer, or an origin that does not know the instance (its store was
//     lost, and the start may be repeated there), means that it is kept. So while an instance
//     may go on anywhere, every node can build again what it has sent of it (S4).
//   - It is over here: nothing of it is in the process queue, and every activity that
//     this node hosts has its record of having ended; inside of a composite, whose work may
//     never have begun, in each scope in which another of them has. Each has then consumed a message over
//     each of its connectors, and each of those is resolved once (invariant 4), also on dead
//     paths that were passed around (N6): whatever comes later is a repeat, or came too late for what begins with the
//     first connectors (N14), which is let go. Of an instance
//     that an operator terminated some activities never had an entry; there the marker, which
//     stays, absorbs what comes (N7).
//
// In the transaction that removes the first records one small record takes their place
// ([record.Removed]), and stays for ever. It refuses what the records refused:
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
// right is named (package rebuild).
//
// A kill between two transactions leaves an instance whose record says "removed" and of
// which something is left; the next round removes the rest. There is no other state.
type Retention struct {
	options Options
	Bounds  Bounds       // tests have smaller ones
	wake    *task.Bell   // the policy was changed
	turn    *task.Places // one: who has it changes audit records that are there
	loops   loops

	policy  atomic.Pointer[Policy]
	freed   int64         // bytes of audit records removed since room was given back
	removed atomic.Uint64 // instances, since the start
	mu      sync.Mutex
	stats   *Stats
}

// Options make a Retention. All are to be set.
type Options struct {
	Self      processtable.NodeID
	Site      Site
	Queue     *queue.Manager
	Scheduler task.Scheduler
	Log       zerolog.Logger
	Policy    Policy
}

// Site is the node whose audit it is.
type Site interface {
	// Process is what the table of a process says; nil: it is not here.
	Process(processtable.ProcessID) behaviour.Process
	// Commit submits a transaction, and waits for it, or for ctx.
	Commit(ctx context.Context, tx *record.Tx) error
	// Ended asks a site which instances were started there and have ended.
	Ended(ctx context.Context, origin processtable.NodeID, q []Instance) ([]bool, error)
}

// Instance is one about which a site is asked.
type Instance struct {
	Instance message.InstanceID
	Process  processtable.ProcessID
}

// Bounds of what is in memory, and of what is done at once.
type Bounds struct {
	Page       int   // instances that one step of the walk reads
	Candidates int   // instances that one walk chooses, in order: 32 bytes each
	Records    int   // audit records that one transaction removes, at most
	Reclaim    int64 // bytes that have to be removed before the store gives room back, see reclaimShare
}

// Stats is what the last round of retention found and left.
type Stats struct {
	Instances uint64 // of which there are audit records
	Bytes     int64  // of these records
	Remnants  uint64 // instances whose records were removed: one small record stays of each
	Overdue   uint64 // instances beyond the limits that are kept, since they have not ended, or it is not known
	Removed   uint64 // instances removed since the start; a counter
}

const (
	firstRound = time.Minute // after the start
	period     = time.Hour   // between rounds, at least
	// share: a round that took long is followed by a pause that is so many times
	// as long; and within a round each step by one of so many times its own length.
	share      = 9
	yieldShare = 3
	// batchSize is how many instances are judged, and asked for, at once.
	batchSize = 64
	// reclaimShare is what part of the bytes that stay has to be removed before the store gives
	// room back: that may cost as much as all of it.
	reclaimShare = 4
	// asking is how long an origin has to answer.
	asking = 20 * time.Second
)

// New makes a Retention. It does nothing until Run.
func New(o Options) *Retention {
	r := &Retention{
		options: o, wake: o.Scheduler.Bell(), turn: task.NewPlaces(o.Scheduler, 1),
		Bounds: Bounds{Page: 256, Candidates: 1 << 16, Records: 256, Reclaim: 64 << 20},
	}
	r.policy.Store(&o.Policy)
	r.loops.came = map[message.InstanceID]*came{}
	r.loops.bell, r.loops.pending = o.Scheduler.Bell(), map[message.InstanceID]processtable.ProcessID{}
	return r
}

// SetPolicy has another policy from now on. A round that is under way by the one before stops: what
// that one gave up the new one may keep.
func (r *Retention) SetPolicy(p Policy) {
	if before := r.policy.Swap(&p); *before != p {
		r.wake.Ring()
	}
}

// Run goes round until ctx ends, or the store. An error is one after which nothing here can be
// trusted: what cannot be read may be what must not be missing (invariant 8).
func (r *Retention) Run(ctx context.Context) error {
	pause := firstRound
	for {
		if !r.wait(ctx, pause) {
			return nil
		}
		began, before := r.options.Scheduler.Now(), r.removed.Load()
		policy := *r.policy.Load()
		err := r.round(ctx, policy, policy)
		if err == nil {
			err = r.Reclaim(ctx)
		}
		switch {
		case ctx.Err() != nil, stopped(err):
			return nil
		case err != nil:
			return err
		}
		if removed := r.removed.Load() - before; removed > 0 {
			r.options.Log.Info().Uint64("instances", removed).Msg("audit removed by retention")
		}
		pause = max(period, share*r.options.Scheduler.Now().Sub(began))
	}
}

func stopped(err error) bool { return errors.Is(err, queue.ErrStopped) }

// wait waits for a time, or until the policy changes; without a policy, only for that. It
// gives false when ctx has ended.
func (r *Retention) wait(ctx context.Context, d time.Duration) bool {
	due := r.options.Scheduler.Gate()
	if !r.policy.Load().none() {
		defer r.options.Scheduler.AfterFunc(d, due.Open)()
	}
	_, err := r.options.Scheduler.Wait(ctx, due, r.wake)
	return err == nil && ctx.Err() == nil
}

// yield lets others work after a step that began at a time.
func (r *Retention) yield(ctx context.Context, began time.Time) {
	if took := r.options.Scheduler.Now().Sub(began); took > 0 {
		_ = task.Sleep(ctx, r.options.Scheduler, yieldShare*took)
	}
	_ = r.options.Queue.WaitCapacity(ctx) // whoever goes on looks at ctx
}

// Round removes what is beyond the limits of a policy and may go. It walks over the audit queue, takes
// down the oldest instances, as many as memory is for, and removes those that may go; and
// does so again, for those that are younger, until nothing is left to do, or the site gets another
// policy.
func (r *Retention) Round(ctx context.Context, policy Policy) error {
	return r.round(ctx, policy, *r.policy.Load())
}

// round is Round, for as long as the site's policy is given.
func (r *Retention) round(ctx context.Context, policy, given Policy) error {
	if policy.none() {
		r.publish(nil)
		return nil
	}
	remnants, err := r.options.Queue.CountRemoved()
	if err != nil {
		return err
	}
	silent := map[processtable.NodeID]bool{} // origins that did not answer in this round
	var overdue uint64
	var floor candidate
	for ctx.Err() == nil {
		found, oldest, err := r.walk(ctx, floor, given)
		if err != nil || !r.stands(given) {
			return err
		}
		t := &thinning{Retention: r, policy: policy, given: given, silent: silent, left: found}
		more, err := t.run(ctx, oldest)
		if err != nil || !r.stands(given) {
			return err
		}
		overdue += t.kept
		remnants += t.removed
		t.left.Remnants, t.left.Overdue = remnants, overdue
		r.publish(&t.left)
		if !more || len(oldest) < r.Bounds.Candidates {
			return nil
		}
		floor = oldest[len(oldest)-1]
	}
	return ctx.Err()
}

// stands says whether the site still has a policy. If not, what it set going is left: by wake the next
// round begins at once.
func (r *Retention) stands(given Policy) bool { return *r.policy.Load() == given }

// Reclaim has the store give back the room of what was removed, where it is worth it.
func (r *Retention) Reclaim(ctx context.Context) error {
	r.mu.Lock()
	left := r.stats
	r.mu.Unlock()
	if left == nil || r.freed < r.Bounds.Reclaim || r.freed < left.Bytes/reclaimShare {
		return nil
	}
	freed, began := r.freed, r.options.Scheduler.Now()
	can, err := r.options.Queue.Reclaim(ctx)
	if errors.Is(err, queue.ErrNoRoom) { // the next round tries again
		r.options.Log.Warn().Int64("bytes", freed).Err(err).Msg("room of removed audit not given back, or only a part")
		return nil
	}
	r.freed = 0
	if err != nil || !can {
		return err
	}
	r.options.Log.Info().Int64("bytes", freed).Dur("took", r.options.Scheduler.Now().Sub(began)).Msg("room of removed audit given back")
	return nil
}

func (r *Retention) publish(s *Stats) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stats = s
}

// Stats says what was found and done; false without limits, or before the first round.
func (r *Retention) Stats() (Stats, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stats == nil {
		return Stats{}, false
	}
	s := *r.stats
	s.Removed = r.removed.Load()
	return s, true
}

// walk adds up the audit queue, and gives the oldest instances behind floor, in order; it goes on while
// the site's policy is given. What was being removed when the node stopped is removed on the way.
func (r *Retention) walk(ctx context.Context, floor candidate, given Policy) (found Stats, _ []candidate, err error) {
	chosen := oldest{limit: r.Bounds.Candidates, floor: floor}
	after := message.InstanceID{}
	for ctx.Err() == nil && r.stands(given) {
		began := r.options.Scheduler.Now()
		page, err := r.options.Queue.AuditSizes(after, r.Bounds.Page)
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
// What is open of notices that tell of what has happened is taken off the worklists: the audit that they are about is due, and a
// later round removes it.
func (r *Retention) over(ctx context.Context, s *audit.Size) (over, stopped bool, err error) {
	if s.Process == processtable.EventQueue { // an event that was passed on, which is of no instance (N24)
		return true, false, nil
	}
	p, q := r.options.Site.Process(s.Process), r.options.Queue
	if _, gone := q.Tombstone(s.Process); gone { // a line of what came late, as the table went (N31)
		return true, false, nil
	}
	if p == nil || s.Origin == "" || s.Origin == r.options.Self && !s.Over {
		return false, false, nil
	}
	open, err := q.BrowseInstance(s.Process, s.Instance)
	if err != nil || len(open) > 0 {
		if err == nil && s.Origin == r.options.Self {
			err = r.takeOff(ctx, open)
		}
		return false, false, err
	}
	marker, err := q.Marker(s.Process, s.Instance)
	if err != nil || marker != nil && marker.Origin == s.Origin {
		return err == nil, true, err
	}
	return allEnded(p.Table(), r.options.Self, s), false, nil
}

// takeOff ends notices that nobody has taken off until now (R59), of an instance that has ended and was started here.
func (r *Retention) takeOff(ctx context.Context, open []message.Message) error {
	tx := message.TakeOff(open, "what it tells of is not kept any longer")
	if len(tx) == 0 {
		return nil
	}
	return r.options.Site.Commit(ctx, &record.Tx{Put: tx})
}

// allEnded says whether every activity that a node has of an instance has ended, wherever one must have. How often the
// work of a composite began, only its own entry knows; but what began in a scope ends there, each
// activity once, so those of one composite have ended in the same scopes (N10).
func allEnded(t *processtable.Table, self processtable.NodeID, s *audit.Size) bool {
	type inside struct { // an execution of a bundle, and what is in it, are inside of one name
		composite processtable.ActivityID
		depth     int
	}
	ended := map[inside]audit.Scopes{}
	for _, a := range t.Activities {
		switch {
		case a.Added(), !t.Hosts(a.Row(), self, s.Origin):
		case len(a.Path) > 0:
			around, in := inside{a.Path[len(a.Path)-1].Activity, len(a.Path)}, s.Inside[a.Name]
			if before, known := ended[around]; known && before != in {
				return false
			}
			ended[around] = in
		case !slices.Contains(s.Ended, a.Name):
			return false
		}
	}
	return true
}

// Hold keeps it from removing audit records until release is called: for who reads some and writes them anew.
func (r *Retention) Hold(ctx context.Context) (release func(), err error) {
	if err := r.turn.Acquire(ctx); err != nil {
		return nil, err
	}
	return r.turn.Release, nil
}

// forget removes what the audit queue has of an instance, in as many transactions as it
// takes, one at a time.
func (r *Retention) forget(ctx context.Context, i message.InstanceID, stopped bool) error {
	for ctx.Err() == nil {
		began := r.options.Scheduler.Now()
		more := false
		err := commit.InLots(r.Bounds.Records, func(most int) (err error) {
			more, err = r.forgetSome(ctx, audit.Forget{Instance: i, Stopped: stopped, Time: began, Limit: most})
			return err
		})
		if err != nil {
			return err
		}
		r.yield(ctx, began)
		if !more {
			return nil
		}
	}
	return ctx.Err()
}

// forgetSome is one transaction of forget.
func (r *Retention) forgetSome(ctx context.Context, f audit.Forget) (more bool, err error) {
	release, err := r.Hold(ctx)
	if err != nil {
		return false, err
	}
	defer release()
	tx, more, err := r.options.Queue.Forget(f)
	if err != nil {
		return false, err
	}
	return more, r.options.Site.Commit(ctx, tx)
}
