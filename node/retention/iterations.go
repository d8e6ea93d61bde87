package retention

import (
	"context"
	"slices"
	"sync"

	"fmqm/internal/task"
	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue/audit"
	"fmqm/queue/commit"
	"fmqm/queue/record"
)

// loops are the instances of which iterations may be removed while they go on: of processes with `history:
// {iterations: n}` (N16).
//
// What goes are iterations of loops that this node is the home of, but the last n that are over: of a program the
// lines about its iterations, which nothing asks for; of a block all that was recorded here inside of them.
// The block's snapshot, and the iteration that is under way, prove that these are over: an iteration begins when the
// one before has returned, so all that was in it has ended, at every site (N18). A peer that loses its store
// needs none of them: what it would do is over. The home itself begins a block anew where it has lost its store, and
// then needs what its peers have sent out of each iteration: so they keep that, and nothing is removed at a site that
// is not the block's home. What comes later for one of them, such as a connector that lost a race, is absorbed
// (record.EventThinned); what a peer that was rebuilt waits for in one of them is ended with the instance.
type loops struct {
	mu      sync.Mutex
	bell    *task.Bell
	pending map[message.InstanceID]processtable.ProcessID

	thinning sync.Mutex // held by who removes them
	came     map[message.InstanceID]*came
}

// came is how far the last look at an instance came, so that the next one begins there. It may be forgotten.
type came struct {
	clock uint64                // of the history
	above map[message.Entry]int // by loop: the iterations that have gone
}

// maxPending bounds the instances that wait for their turn; one that finds no room comes with a later iteration.
const maxPending = 1 << 14

// thinEvery is after how many iterations, at least, an instance is looked at: each look reads what is kept of it.
const thinEvery = 16

// thinRecords is how many records one transaction removes: each begins with a look at what is kept.
const thinRecords = 2048

// Iterated is told of what a process thread has written, by the committer: it does not wait.
func (r *Retention) Iterated(tx *record.Tx) {
	for i := range tx.Audit {
		a := &tx.Audit[i]
		if a.Event != record.EventIterated || a.Iteration%thinEvery != 0 {
			continue
		}
		if p := r.options.Site.Process(a.Process); p == nil || p.Table().History == 0 || a.Iteration <= p.Table().History {
			continue
		}
		r.loops.mu.Lock()
		if len(r.loops.pending) < maxPending {
			r.loops.pending[a.Instance] = a.Process
		}
		r.loops.mu.Unlock()
		r.loops.bell.Ring()
	}
}

// RunLoops removes iterations until ctx ends, or the store. An error is one after which nothing here can be trusted.
func (r *Retention) RunLoops(ctx context.Context) error {
	for ctx.Err() == nil {
		if _, err := r.options.Scheduler.Wait(ctx, r.loops.bell); err != nil {
			return nil
		}
		r.loops.mu.Lock()
		pending := r.loops.pending
		r.loops.pending = map[message.InstanceID]processtable.ProcessID{}
		r.loops.mu.Unlock()
		for id, process := range pending {
			if err := r.Thin(ctx, process, id); err != nil && ctx.Err() == nil && !stopped(err) {
				return err
			}
		}
	}
	return nil
}

// Thin removes what its process does not keep of the loops of an instance at this node.
func (r *Retention) Thin(ctx context.Context, process processtable.ProcessID, id message.InstanceID) error {
	p := r.options.Site.Process(process)
	if p == nil || p.Table().History == 0 {
		return nil
	}
	r.loops.thinning.Lock()
	defer r.loops.thinning.Unlock()
	began := r.options.Scheduler.Now()
	if len(r.loops.came) >= maxPending {
		clear(r.loops.came)
	}
	last := r.loops.came[id]
	if last == nil {
		last = &came{above: map[message.Entry]int{}}
		r.loops.came[id] = last
	}
	all, next, err := r.options.Queue.Loops(id, last.clock)
	if err != nil {
		return err
	}
	last.clock = max(last.clock, next)
	open, err := r.options.Queue.BrowseInstance(process, id)
	if err != nil {
		return err
	}
	for _, l := range all {
		row := p.Table().Activity(l.Entry.Row())
		below := l.Iteration - p.Table().History + 1
		if row == nil || below <= 1 {
			continue
		}
		thin := audit.Thin{Loop: l.Entry, Below: below, Block: row.Kind == processtable.KindBlock, Time: began, Limit: thinRecords, Above: last.above[l.Entry], Clock: last.clock}
		if thin.Block && slices.ContainsFunc(open, func(m message.Message) bool { return inside(m.Scope, l.Entry, below) }) {
			continue // what waits there is seen to first
		}
		if err := r.thin(ctx, thin); err != nil {
			return err
		}
		if ctx.Err() == nil {
			last.above[l.Entry] = below - 1
		}
	}
	return nil
}

// thin does not let others go first, as what has ended does: the loop goes on meanwhile, and would be faster.
func (r *Retention) thin(ctx context.Context, t audit.Thin) error {
	for more := true; more && ctx.Err() == nil; {
		err := commit.InLots(t.Limit, func(most int) error {
			t.Limit = most // the rest is of the same kind
			var tx *record.Tx
			var err error
			if tx, _, more, err = r.options.Queue.Thin(t); err != nil || tx == nil {
				return err
			}
			return r.options.Site.Commit(ctx, tx)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// inside says whether a scope is in an iteration of a block below one.
func inside(scope message.Scope, block message.Entry, below int) bool {
	frames, err := scope.Frames()
	around, wrong := block.Scope.Frames()
	if err != nil || wrong != nil || len(frames) <= len(around) || !scope.Within(block.Scope) {
		return false
	}
	f := frames[len(around)]
	return f.Composite == block.Activity && f.Iteration < below
}
