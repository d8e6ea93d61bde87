package amqp

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"fmqm/link"
	"fmqm/message"
	"fmqm/queue"
)

// patience is how long a test waits for what must come; nothing waits that long.
const patience = 60 * time.Second

// store is a site's durable memory: outbox, inbox and what it knows of its peer.
type store struct {
	mu       sync.Mutex
	items    [link.Lanes][]link.Item
	low      [link.Lanes]uint64
	accepted [link.Lanes]link.Position
	got      [link.Lanes][]string
	known    queue.Incarnation
	changed  chan struct{} // closed and made anew when something changes
	wake     chan struct{}
	held     chan struct{} // Accept puts nothing on disk until it is closed
}

func newStore() *store {
	held := make(chan struct{})
	close(held)
	return &store{wake: make(chan struct{}, 1), changed: make(chan struct{}), held: held}
}

func (s *store) change() {
	close(s.changed)
	s.changed = make(chan struct{})
}

func (s *store) put(lane message.Lane, payloads ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range payloads {
		last := s.position(lane, uint64(len(s.items[lane])))
		s.items[lane] = append(s.items[lane], link.Item{Number: last.Number + 1, Hash: queue.HashNext(last.Hash, []byte(p)), Payload: []byte(p)})
	}
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

func (s *store) position(lane message.Lane, n uint64) link.Position {
	if n == 0 {
		return link.Position{}
	}
	return link.Position{Number: n, Hash: s.items[lane][n-1].Hash}
}

func (s *store) Last(lane message.Lane) link.Position {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.position(lane, uint64(len(s.items[lane])))
}

func (s *store) Low(lane message.Lane) link.Position {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.position(lane, s.low[lane])
}

func (s *store) Read(lane message.Lane, from uint64, maxBytes int) ([]link.Item, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if from <= s.low[lane] || from > uint64(len(s.items[lane])) {
		return nil, fmt.Errorf("no item %d", from)
	}
	rest, size, n := s.items[lane][from-1:], 0, 0
	for n < len(rest) {
		if size += len(rest[n].Payload); size > maxBytes && n > 0 {
			break
		}
		n++
	}
	return rest[:n:n], nil
}

func (s *store) Trim(lane message.Lane, number uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.low[lane] = number
	s.change()
}

func (s *store) Wake() <-chan struct{} { return s.wake }

func (s *store) Accepted(lane message.Lane) link.Position {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.accepted[lane]
}

func (s *store) Accept(lane message.Lane, items []link.Item, done func(error)) {
	s.mu.Lock()
	held := s.held
	s.mu.Unlock()
	go func() {
		<-held
		done(s.accept(lane, items))
	}()
}

func (s *store) accept(lane message.Lane, items []link.Item) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, i := range items {
		if i.Number != s.accepted[lane].Number+1 {
			return fmt.Errorf("item %d after %d", i.Number, s.accepted[lane].Number)
		}
		s.accepted[lane] = link.Position{Number: i.Number, Hash: i.Hash}
		s.got[lane] = append(s.got[lane], string(i.Payload))
	}
	s.change()
	return nil
}

func (s *store) Capacity(context.Context) error { return nil }

func (s *store) Known() (queue.Incarnation, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.known, s.known != queue.Incarnation{}
}

func (s *store) Bind(i queue.Incarnation) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.known = i
	return nil
}

func (s *store) Rebind(queue.Incarnation) error                    { return fmt.Errorf("no operator here") }
func (s *store) Began() (began [link.Lanes]link.Position, _ error) { return began, nil }
func (s *store) Begin([link.Lanes]link.Position) error             { return nil }

// await waits for a state of the store.
func (s *store) await(t testing.TB, what string, holds func() bool) {
	t.Helper()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	for {
		s.mu.Lock()
		ok, changed := holds(), s.changed
		s.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-changed:
		case <-deadline.C:
			t.Fatalf("waited in vain: %s", what)
		}
	}
}
