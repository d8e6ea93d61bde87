package link

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"
)

const (
	maxAnswering   = 16  // queries of a peer that are answered at once
	maxAsking      = 256 // queries that wait for a peer's answer
	defaultTimeout = 10 * time.Second
	longestTimeout = time.Minute
)

// ErrNotConnected: the peer cannot be asked now; wrapped.
var ErrNotConnected = errors.New("not connected")

// queries are those under way in both directions.
type queries struct {
	mu      sync.Mutex
	last    uint64 // begins anywhere: what a peer answers late to an earlier life answers nothing here
	pending map[uint64]chan answer
	slots   chan struct{}
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
	if _, ok := ctx.Deadline(); !ok {
		wait = defaultTimeout
	}
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	got, err := l.query(ctx, &Query{Kind: kind, Body: body})
	if err != nil {
		return nil, fmt.Errorf("query %s of site %s: %w", kind, l.o.Peer, err)
	}
	return got, nil
}

func (l *Link) query(ctx context.Context, q *Query) ([]byte, error) {
	frame := &Frame{From: l.o.Session, Type: FrameQuery, Query: q}
	if err := frame.check(); err != nil {
		return nil, err
	}
	id, answers, err := l.queries.begin()
	if err != nil {
		return nil, err
	}
	defer l.queries.end(id)
	q.ID = id
	if due, ok := ctx.Deadline(); ok {
		q.Timeout = uint32(max(time.Until(due).Milliseconds(), 1))
	}
	running := l.do(func() {
		l.step(Carry{Frame: frame})
	})
	if !running {
		return nil, fmt.Errorf("%w: the link is stopping", ErrNotConnected)
	}
	select {
	case a := <-answers:
		return a.body, a.err
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-l.ctx.Done():
		return nil, fmt.Errorf("%w: the link is stopping", ErrNotConnected)
	}
}

func (l *Link) unreachable() error {
	if l.reason == "" {
		return ErrNotConnected
	}
	return fmt.Errorf("%w: %s", ErrNotConnected, l.reason)
}

// deliver takes a query or a reply of the peer.
func (l *Link) deliver(f *Frame) {
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
	select {
	case l.queries.slots <- struct{}{}:
		l.spawn(func() {
			reply := l.respond(q)
			<-l.queries.slots
			if reply != nil {
				l.post(Carry{Frame: reply, To: f.From})
			}
		})
	default:
		err := fmt.Errorf("site %s already answers %d queries: ask again later", l.o.Self, maxAnswering)
		l.backlog = append(l.backlog, Carry{Frame: replyFrame(q.ID, nil, err), To: f.From})
	}
}

// respond gives the answer, or nil once nobody waits for it any more.
func (l *Link) respond(q *Query) *Frame {
	if l.o.Responder == nil {
		return replyFrame(q.ID, nil, fmt.Errorf("site %s answers no queries", l.o.Self))
	}
	wait := defaultTimeout
	if q.Timeout != 0 {
		wait = min(time.Duration(q.Timeout)*time.Millisecond, longestTimeout)
	}
	ctx, cancel := context.WithTimeout(l.ctx, wait)
	defer cancel()
	body, err := l.o.Responder(ctx, l.o.Peer, q.Kind, q.Body)
	if ctx.Err() != nil {
		return nil
	}
	if err == nil {
		err = checkSize("the answer: body", len(body), MaxBody)
	}
	return replyFrame(q.ID, body, err)
}

func replyFrame(id uint64, body []byte, err error) *Frame {
	if err != nil {
		return &Frame{Type: FrameReply, Reply: &Reply{ID: id, Error: cut(err.Error())}}
	}
	return &Frame{Type: FrameReply, Reply: &Reply{ID: id, Body: body}}
}

func (q *queries) begin() (uint64, <-chan answer, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.pending) >= maxAsking {
		return 0, nil, fmt.Errorf("%d queries already wait for answers: ask again later", maxAsking)
	}
	q.last++
	answers := make(chan answer, 1)
	q.pending[q.last] = answers
	return q.last, answers, nil
}

func (q *queries) end(id uint64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.pending, id)
}

func (q *queries) resolve(id uint64, a answer) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if answers, ok := q.pending[id]; ok {
		delete(q.pending, id)
		answers <- a
	}
}

func (q *queries) fail(err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for id, answers := range q.pending {
		delete(q.pending, id)
		answers <- answer{err: err}
	}
}
