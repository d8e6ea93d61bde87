package rebuild

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"fmqm/internal/failpoint"
	"fmqm/internal/task"
	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue"
	"fmqm/queue/commit"
	"fmqm/queue/record"
)

// rebuilding is one peer's, under way. What it has reached is a mark in the store; the
// goroutine may end at any moment, and begins again from the mark.
type rebuilding struct {
	of          *Rebuilds
	peer        processtable.NodeID
	incarnation record.Incarnation
	mark        record.Rebuild        // its task's own
	done        *task.Gate            // open once it has ended
	waiting     *[record.Lanes]uint64 // what the transmission queue had when the peer was first heard

	mu     sync.Mutex
	waits  string     // for what
	lacks  []string   // tables that the peer lacks
	turned *task.Gate // opened, and made anew, when lacks changes
}

// follow waits for the end, or until the peer turns out to lack tables.
func (r *rebuilding) follow(ctx context.Context, limit time.Duration) {
	ctx, cancel := r.of.Scheduler.WithTimeout(ctx, limit)
	defer cancel()
	for {
		r.mu.Lock()
		lacks, turned := len(r.lacks) > 0, r.turned
		r.mu.Unlock()
		if lacks {
			return
		}
		if which, err := r.of.Scheduler.Wait(ctx, r.done, turned); which == 0 || err != nil {
			return
		}
	}
}

func (r *rebuilding) why() (string, []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.waits, r.lacks
}

// say notes what it waits for.
func (r *rebuilding) say(waits string, lacks []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	changed := (len(lacks) > 0) != (len(r.lacks) > 0)
	r.waits, r.lacks = waits, lacks
	if changed {
		r.turned.Open()
		r.turned = r.of.Scheduler.Gate()
	}
}

// run goes on until the mark says that it is done, or the node stops.
func (r *rebuilding) run(ctx context.Context) {
	log := r.of.Log.With().Str("peer", string(r.peer)).Logger()
	said := ""
	for ctx.Err() == nil {
		again, err := r.step(ctx)
		switch {
		case errors.Is(err, queue.ErrStopped), ctx.Err() != nil:
			return
		case errors.Is(err, errOtherStore):
			log.Warn().Msg("the rebuild of the peer ended: it has changed its store again")
			return
		case err == nil && !again:
			log.Info().Uint64("messages", r.mark.Messages).Uint64("instances", r.mark.Instances).Msg("peer rebuilt")
			return
		case err != nil:
			r.say(err.Error(), nil)
		}
		waits, _ := r.why()
		if waits != "" {
			if waits != said {
				log.Warn().Str("reason", waits).Msg("the rebuild of the peer waits")
			}
			said = waits
			r.pause(ctx)
		}
	}
}

// pause lets others get on: what is waited for is at another site, or in its queue.
func (r *rebuilding) pause(ctx context.Context) {
	_ = task.Sleep(ctx, r.of.Scheduler, pauseTime)
}

// step takes it one step further; again is false when there is none left.
func (r *rebuilding) step(ctx context.Context) (again bool, err error) {
	known, _ := r.of.Queue.KnownIncarnation(r.peer)
	switch {
	case known != r.incarnation:
		return true, r.decide(ctx)
	case r.mark.Stage == record.StageDecided:
		return true, r.askPeer(ctx)
	case r.mark.Stage == record.StageSending:
		return true, r.send(ctx)
	}
	return false, nil
}

func (r *rebuilding) commit(tx *record.Tx, mark record.Rebuild) error {
	tx.Rebuild = &mark
	if err := r.of.Site.Commit(context.Background(), tx); err != nil { // it ends with the queue at the latest
		return err
	}
	r.mark = mark
	r.say("", nil)
	return nil
}

// roomy says whether the transmission queue has room for more, so that a peer that is
// slow, or away again, does not fill the disk of this node.
func (r *rebuilding) roomy() (bool, error) {
	stats, err := r.of.Queue.Transmission(r.peer).Stats()
	limit := uint64(waitingLimit)
	if quota := r.of.Site.Quota(); quota > 0 {
		limit = min(limit, uint64(quota)/2)
	}
	return stats.Bytes <= limit, err
}

// taken says whether the peer has what the transmission queue had for it: what it has
// not, it would say that it does not know.
func (r *rebuilding) taken() bool {
	t := r.of.Queue.Transmission(r.peer)
	if r.waiting == nil {
		r.waiting = &[record.Lanes]uint64{}
		for lane := range r.waiting {
			r.waiting[lane] = t.Last(message.Lane(lane)).Number
		}
	}
	for lane, number := range r.waiting {
		if t.Low(message.Lane(lane)).Number < number {
			return false
		}
	}
	return true
}

// send puts again what the next instances were sent, and ends when there are none.
func (r *rebuilding) send(ctx context.Context) error {
	if r.mark.After == (message.InstanceID{}) {
		if err := r.sendPassed(ctx); err != nil {
			return err
		}
	}
	ids := []message.InstanceID{r.mark.After}
	if r.mark.Part == 0 {
		var err error
		if ids, err = r.of.Queue.AuditInstances(r.mark.After, pageSize); err != nil {
			return err
		}
	}
	if len(ids) == 0 {
		if err := r.endHere(ctx); err != nil {
			return err
		}
		return r.end()
	}
	s := survey{of: r.of, peer: r.peer, mark: r.mark}
	found, err := s.read(ids, false)
	if err == nil {
		err = s.judge(ctx, found, map[processtable.NodeID]bool{})
	}
	if err != nil {
		return err
	}
	for i := range found {
		if found[i].send {
			if err := r.sendInstance(ctx, &found[i]); err != nil {
				return err
			}
		}
	}
	mark := r.mark
	mark.After, mark.Part = ids[len(ids)-1], 0
	return r.commit(&record.Tx{}, mark)
}

// sendInstance puts what one instance was sent, from the mark's place on, in as many
// transactions as it needs.
func (r *rebuilding) sendInstance(ctx context.Context, o *owed) error {
	if o.removed != nil || o.over {
		if err := r.of.Site.TellEnd(ctx, o.instance, o.process, r.peer, o.origin); err != nil {
			return err
		}
		mark := r.mark
		mark.After, mark.Part = o.instance, 0
		mark.Messages++
		mark.Instances++
		return r.commit(&record.Tx{}, mark)
	}
	part := uint64(0)
	if r.mark.After == o.instance {
		part = min(r.mark.Part, uint64(o.sent)) // more may have ended since that nobody had told of
	}
	for part < uint64(len(o.spoken)) {
		next, err := r.putSome(ctx, o, part, func(mark *record.Rebuild, next uint64) {
			if part == 0 && !o.passage() {
				mark.Instances++
			}
			mark.After, mark.Part = o.instance, next
		})
		if err != nil {
			return err
		}
		part = next
		failpoint.Hit("rebuild.chunk")
	}
	return nil
}

// putSome puts in one transaction what there is room for of what an instance was sent, from part on, with the mark, of
// which the caller notes how far that is. The next one begins at next.
func (r *rebuilding) putSome(ctx context.Context, o *owed, part uint64, note func(mark *record.Rebuild, next uint64)) (next uint64, err error) {
	if err := r.awaitRoom(ctx); err != nil {
		return part, err
	}
	err = commit.InLots(chunkSize, func(most int) error {
		tx, end, err := r.chunk(o, part, most)
		if err != nil {
			return err
		}
		next = end
		mark := r.mark
		mark.Messages += uint64(len(tx.Put))
		note(&mark, next)
		return r.commit(tx, mark)
	})
	return next, err
}

// awaitRoom waits until the transmission queue has room.
func (r *rebuilding) awaitRoom(ctx context.Context) error {
	for {
		if roomy, err := r.roomy(); err != nil || roomy {
			return err
		}
		r.say("the transmission queue is long", nil)
		r.pause(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

// chunk builds a transaction that puts what an instance was sent, from part on, at most so many messages.
// The next one begins at next.
func (r *rebuilding) chunk(o *owed, part uint64, most int) (tx *record.Tx, next uint64, err error) {
	tx = &record.Tx{}
	size := 0
	for ; part < uint64(len(o.spoken)) && len(tx.Put) < most && size < chunkBytes; part++ {
		m, err := o.def.Again(o.spoken[part])
		if err != nil {
			return nil, part, fmt.Errorf("instance %s: %w", o.instance, err)
		}
		size += len(m.Body)
		tx.Put = append(tx.Put, m)
	}
	return tx, part, nil
}

// end notes that everything is on its way, and up to which numbers.
func (r *rebuilding) end() error {
	mark := r.mark
	mark.Stage = record.StageDone
	t := r.of.Queue.Transmission(r.peer)
	for lane := range mark.Highest {
		mark.Highest[lane] = t.Last(message.Lane(lane)).Number
	}
	return r.commit(&record.Tx{}, mark)
}
