package link

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"fmqm/internal/task"
	"fmqm/link/core"
	"fmqm/link/frame"
)

const (
	maxAnswering   = 16  // queries of a peer that are answered at once; what is more than that waits where it is asked
	maxAsking      = 256 // queries that wait for a peer's answer, or to be asked
	defaultTimeout = 10 * time.Second
	longestTimeout = time.Minute
)

// ErrNotConnected: the peer cannot be asked now; wrapped.
var ErrNotConnected = errors.New("not connected")

// queries are those under way in both directions.
type queries struct {
	mu      sync.Mutex
	last    uint64 // begins anywhere: what a peer answers late to an earlier life answers nothing here
	pending map[uint64]*task.Answer[answer]
	slots   *task.Places // of the peer's, that are answered
	asking  *task.Places // as many as the peer answers
}

type answer struct {
	body []byte
	err  error
}

// Query asks the peer's node. It is not persistent: it fails at once without a
// connection, and with it if that is lost (ErrNotConnected). A ctx without a deadline
// gets one of 10 s; none is longer than a minute.
func (l *Link) Query(ctx context.Context, kind string, body []byte) ([]byte, error) {
	wait := longestTimeout
	if _, ok := l.sched.Left(ctx); !ok {
		wait = defaultTimeout
	}
	ctx, cancel := l.sched.WithTimeout(ctx, wait)
	defer cancel()
	got, err := l.query(ctx, &frame.Query{Kind: kind, Body: body})
	if err != nil {
		return nil, fmt.Errorf("query %s of site %s: %w", kind, l.o.Peer, err)
	}
	return got, nil
}

func (l *Link) query(ctx context.Context, q *frame.Query) ([]byte, error) {
	frame := &frame.Frame{From: l.o.Session, Type: frame.TypeQuery, Query: q}
	if err := frame.Check(); err != nil {
		return nil, err
	}
	id, got, err := l.queries.begin(l.sched)
	if err != nil {
		return nil, err
	}
	defer l.queries.end(id)
	if err := l.queries.asking.Acquire(ctx); err != nil {
		return nil, err
	}
	defer l.queries.asking.Release()
	if a, ended := got.Get(); ended { // the connection was lost meanwhile
		return a.body, a.err
	}
	q.ID = id
	if left, ok := l.sched.Left(ctx); ok {
		q.Timeout = uint32(max(left.Milliseconds(), 1))
	}
	l.post(core.Carry{Frame: frame})
	a, which, err := got.Wait(ctx, l.quit)
	switch {
	case err != nil:
		return nil, err
	case which == 0:
		return nil, fmt.Errorf("%w: the link is stopping", ErrNotConnected)
	}
	return a.body, a.err
}

func (l *Link) unreachable() error {
	if l.reason == "" {
		return ErrNotConnected
	}
	return fmt.Errorf("%w: %s", ErrNotConnected, l.reason)
}

// deliver takes a query or a reply of the peer.
func (l *Link) deliver(f *frame.Frame) {
	if r := f.Reply; r != nil {
		a := answer{body: r.Body}
		if r.Error != "" {
			// A line of the peer's must not look like one of ours.
			a = answer{err: errors.New(strings.ReplaceAll(r.Error, "\n", "\n  "))}
		}
		l.queries.resolve(r.ID, a)
		return
	}
	q := f.Query
	if !l.queries.slots.TryAcquire() {
		err := fmt.Errorf("site %s already answers %d queries: ask again later", l.o.Self, maxAnswering)
		l.backlog = append(l.backlog, core.Carry{Frame: replyFrame(q.ID, nil, err), To: f.From})
		return
	}
	l.tasks.Go(func() {
		reply := l.respond(q)
		l.queries.slots.Release()
		if reply != nil {
			l.post(core.Carry{Frame: reply, To: f.From})
		}
	})
}

// respond gives the answer, or nil once nobody waits for it any more.
func (l *Link) respond(q *frame.Query) *frame.Frame {
	if l.o.Responder == nil {
		return replyFrame(q.ID, nil, fmt.Errorf("site %s answers no queries", l.o.Self))
	}
	wait := defaultTimeout
	if q.Timeout != 0 {
		wait = min(time.Duration(q.Timeout)*time.Millisecond, longestTimeout)
	}
	ctx, cancel := l.sched.WithTimeout(l.ctx, wait)
	defer cancel()
	body, err := l.o.Responder(ctx, l.o.Peer, q.Kind, q.Body)
	if ctx.Err() != nil {
		return nil
	}
	if err == nil {
		err = frame.CheckSize("the answer: body", len(body), frame.MaxBody)
	}
	return replyFrame(q.ID, body, err)
}

func replyFrame(id uint64, body []byte, err error) *frame.Frame {
	if err != nil {
		return &frame.Frame{Type: frame.TypeReply, Reply: &frame.Reply{ID: id, Error: frame.Cut(err.Error())}}
	}
	return &frame.Frame{Type: frame.TypeReply, Reply: &frame.Reply{ID: id, Body: body}}
}

func (q *queries) begin(by task.Scheduler) (uint64, *task.Answer[answer], error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.pending) >= maxAsking {
		return 0, nil, fmt.Errorf("%d queries already wait for answers: ask again later", maxAsking)
	}
	q.last++
	q.pending[q.last] = task.NewAnswer[answer](by)
	return q.last, q.pending[q.last], nil
}

func (q *queries) end(id uint64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.pending, id)
}

func (q *queries) resolve(id uint64, a answer) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if asked, ok := q.pending[id]; ok {
		delete(q.pending, id)
		asked.Give(a)
	}
}

// fail answers all, in their order.
func (q *queries) fail(err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, id := range slices.Sorted(maps.Keys(q.pending)) {
		q.pending[id].Give(answer{err: err})
	}
	clear(q.pending)
}
