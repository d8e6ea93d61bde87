package retention

import (
	"bytes"
	"cmp"
	"container/heap"
	"context"
	"maps"
	"slices"
	"time"

	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue/audit"
)

// candidate is an instance whose audit may be removed.
type candidate struct {
	last     int64 // nanoseconds since 1970, of its newest record here
	instance message.InstanceID
	bytes    int64
}

// compare orders candidates: the oldest first.
func (c candidate) compare(d candidate) int {
	return cmp.Or(cmp.Compare(c.last, d.last), bytes.Compare(c.instance[:], d.instance[:]))
}

// oldest keeps the limit oldest of the candidates that it is offered, behind floor.
type oldest struct {
	limit int
	floor candidate // the zero candidate: none
	kept  youngestFirst
}

func (o *oldest) offer(c candidate) {
	switch {
	case o.floor != (candidate{}) && c.compare(o.floor) <= 0:
	case len(o.kept) < o.limit:
		heap.Push(&o.kept, c)
	case c.compare(o.kept[0]) < 0:
		o.kept[0] = c
		heap.Fix(&o.kept, 0)
	}
}

// sorted gives what was kept, the oldest first.
func (o *oldest) sorted() []candidate {
	slices.SortFunc(o.kept, candidate.compare)
	return o.kept
}

// youngestFirst is a heap with the youngest candidate on top.
type youngestFirst []candidate

func (h youngestFirst) Len() int           { return len(h) }
func (h youngestFirst) Less(i, j int) bool { return h[i].compare(h[j]) > 0 }
func (h youngestFirst) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *youngestFirst) Push(x any)        { *h = append(*h, x.(candidate)) }
func (h *youngestFirst) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}

// thinning removes, of candidates in order, those that are beyond the limits and may go.
type thinning struct {
	*Retention
	policy  Policy
	given   Policy // the site's when the round began
	silent  map[processtable.NodeID]bool
	left    Stats  // of the whole audit queue
	removed uint64 // with a record that stays
	kept    uint64 // beyond the limits, and not to be removed
}

// due says whether a candidate is beyond the limits, as things are.
func (t *thinning) due(c candidate, now time.Time) bool {
	return t.policy.Age > 0 && c.last < now.Add(-t.policy.Age).UnixNano() ||
		t.policy.Bytes > 0 && t.left.Bytes > t.policy.Bytes
}

// run goes through candidates, and says whether those behind them may be due as well. It stops
// between two instances when the site's policy is another one: nothing goes by one that was withdrawn.
func (t *thinning) run(ctx context.Context, all []candidate) (more bool, err error) {
	now := t.options.Scheduler.Now()
	for batch := range slices.Chunk(all, batchSize) {
		if ctx.Err() != nil || !t.stands(t.given) {
			return false, ctx.Err()
		}
		if !t.due(batch[0], now) {
			return false, nil
		}
		began := t.options.Scheduler.Now()
		verdicts, err := t.judge(ctx, batch)
		if err != nil {
			return false, err
		}
		t.yield(ctx, began)
		for i, c := range batch {
			switch {
			case !t.stands(t.given), !t.due(c, now):
				return false, nil
			case !verdicts[i].goes:
				t.kept++
				continue
			}
			if err := t.forget(ctx, c.instance, verdicts[i].stopped); err != nil {
				return false, err
			}
			if t.Retention.removed.Add(1); verdicts[i].remnant {
				t.removed++
			}
			t.left.Instances--
			t.left.Bytes -= c.bytes
			t.freed += c.bytes
		}
	}
	return len(all) > 0, nil
}

// fate is what is known of a candidate.
type fate struct {
	goes    bool
	stopped bool
	remnant bool // a small record of it stays
}

// judge says which of a batch may go: those that are over here and have ended at their
// origin. Each origin is asked once for a batch, and not again in the round if it is silent.
func (t *thinning) judge(ctx context.Context, batch []candidate) ([]fate, error) {
	fates := make([]fate, len(batch))
	asked := map[processtable.NodeID][]int{}
	sizes := make([]audit.Size, len(batch))
	for i, c := range batch {
		s, found, err := t.options.Queue.AuditSizeOf(c.instance)
		if err != nil {
			return nil, err
		}
		over := false
		if found {
			if over, fates[i].stopped, err = t.over(ctx, &s); err != nil {
				return nil, err
			}
		}
		fates[i].remnant = s.Process != processtable.EventQueue
		switch sizes[i] = s; {
		case !over:
		case s.Origin == t.options.Self:
			fates[i].goes = true // its sink's record is here (N1)
		default:
			asked[s.Origin] = append(asked[s.Origin], i)
		}
	}
	for _, origin := range slices.Sorted(maps.Keys(asked)) {
		indexes := asked[origin]
		if t.silent[origin] {
			continue
		}
		q := make([]Instance, len(indexes))
		for at, i := range indexes {
			q[at] = Instance{batch[i].instance, sizes[i].Process}
		}
		ended, err := t.askOrigin(ctx, origin, q)
		if err != nil {
			t.silent[origin] = true
			continue
		}
		for at, i := range indexes {
			fates[i].goes = ended[at]
		}
	}
	return fates, nil
}

func (t *thinning) askOrigin(ctx context.Context, origin processtable.NodeID, q []Instance) ([]bool, error) {
	ctx, cancel := t.options.Scheduler.WithTimeout(ctx, asking)
	defer cancel()
	return t.options.Site.Ended(ctx, origin, q)
}
