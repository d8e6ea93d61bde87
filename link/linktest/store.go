package linktest

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"fmqm/internal/task"
	"fmqm/link"
	"fmqm/message"
	"fmqm/queue/record"
)

// Patience is how long a test waits for what must come; nothing waits that long.
const Patience = 3 * time.Minute

// Store is a site's memory, for one peer: outbox, inbox and what it knows of the peer. It
// may be used by any goroutine. NewStore makes one.
type Store struct {
	// KeepNothing lets it count what comes, and no more. It is set before the link starts.
	KeepNothing bool

	mu       sync.Mutex
	items    [record.Lanes][]record.Item
	low      [record.Lanes]uint64
	accepted [record.Lanes]record.Position
	got      [record.Lanes][]string
	by       task.Scheduler
	changed  *task.Gate // opened and made anew when something changes
	wake     *task.Bell
	reads    message.Reads
	known    record.Incarnation
	began    [record.Lanes]record.Position
	room     *task.Gate // Capacity waits until it is open
	why      string     // it does
	failing  error      // of Bind, Rebind, Begin and Accept
}

// NewStore gives a store that is empty, has room and does not fail, for a link with the
// Scheduler by.
func NewStore(by task.Scheduler) *Store {
	s := &Store{by: by, wake: by.Bell(), changed: by.Gate(), room: by.Gate()}
	s.room.Open()
	return s
}

func (s *Store) change() {
	s.changed.Open()
	s.changed = s.by.Gate()
}

// Put appends messages to a lane of the outbox.
func (s *Store) Put(lane message.Lane, payloads ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range payloads {
		last := s.position(lane, uint64(len(s.items[lane])))
		s.items[lane] = append(s.items[lane], record.Item{Number: last.Number + 1, Hash: record.HashNext(last.Hash, []byte(p)), Payload: []byte(p)})
	}
	s.wake.Ring()
}

func (s *Store) position(lane message.Lane, n uint64) record.Position {
	if n == 0 {
		return record.Position{}
	}
	return record.Position{Number: n, Hash: s.items[lane][n-1].Hash}
}

// PeerReads notes what the peer reads: all that is put here is for any version.
func (s *Store) PeerReads(r message.Reads) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reads = r
}

// Reads gives what the peer has said last that it reads.
func (s *Store) Reads() message.Reads {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.reads
}

// Last is the last position of a lane of the outbox.
func (s *Store) Last(lane message.Lane) record.Position {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.position(lane, uint64(len(s.items[lane])))
}

// Low is up to where the peer has confirmed.
func (s *Store) Low(lane message.Lane) record.Position {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.position(lane, s.low[lane])
}

// Read gives messages of the outbox.
func (s *Store) Read(lane message.Lane, from uint64, maxBytes int) ([]record.Item, error) {
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

// Trim takes the peer's word for having all up to number.
func (s *Store) Trim(lane message.Lane, number uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.low[lane] = number
	s.change()
}

// Wake rings when something was put.
func (s *Store) Wake() *task.Bell { return s.wake }

// Accepted is up to where a lane of the inbox has come.
func (s *Store) Accepted(lane message.Lane) record.Position {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.accepted[lane]
}

// Accept takes messages at once, unless they leave a gap or are of another store.
func (s *Store) Accept(b link.Batch, done func(error)) { done(s.accept(b)) }

func (s *Store) accept(b link.Batch) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failing != nil {
		return s.failing
	}
	if at := s.accepted[b.Lane]; b.From != s.known || b.After != at {
		return fmt.Errorf("items of store %s after %d, where store %s is known and %d is the last", b.From, b.After.Number, s.known, at.Number)
	}
	for _, i := range b.Items {
		if i.Number != s.accepted[b.Lane].Number+1 {
			return fmt.Errorf("item %d after %d", i.Number, s.accepted[b.Lane].Number)
		}
		s.accepted[b.Lane] = record.Position{Number: i.Number, Hash: i.Hash}
		if !s.KeepNothing {
			s.got[b.Lane] = append(s.got[b.Lane], string(i.Payload))
		}
	}
	s.change()
	return nil
}

// Have is what came in a lane.
func (s *Store) Have(lane message.Lane) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.got[lane])
}

// Capacity waits while there is no room, and tells why, if that was said.
func (s *Store) Capacity(ctx context.Context, paused func(reason string)) error {
	s.mu.Lock()
	room, why := s.room, s.why
	s.mu.Unlock()
	if why != "" {
		paused(why)
	}
	_, err := s.by.Wait(ctx, room)
	return err
}

// Known is the peer's store, if it is known.
func (s *Store) Known() (record.Incarnation, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.known, s.known != record.Incarnation{}
}

// Bind makes the peer's store known.
func (s *Store) Bind(i record.Incarnation) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failing != nil {
		return s.failing
	}
	s.known = i
	return nil
}

// Rebind takes a new store of the peer: nothing was accepted from it.
func (s *Store) Rebind(i record.Incarnation) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failing != nil {
		return s.failing
	}
	s.known = i
	for l := range record.Lanes {
		s.began[l] = s.position(message.Lane(l), s.low[l])
		s.accepted[l], s.got[l] = record.Position{}, nil
	}
	return nil
}

// Began is where the conversation began.
func (s *Store) Began() ([record.Lanes]record.Position, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.began, nil
}

// Begin lets the peer's lanes begin behind what it has no more.
func (s *Store) Begin(at [record.Lanes]record.Position) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failing != nil {
		return s.failing
	}
	for l := range at {
		if s.accepted[l].Number == 0 {
			s.accepted[l] = at[l]
		}
	}
	return nil
}

// Sent is what was put into a lane of the outbox.
func (s *Store) Sent(lane message.Lane) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []string
	for _, i := range s.items[lane] {
		all = append(all, string(i.Payload))
	}
	return all
}

// Fill leaves no room for what comes, until the function that it gives is called.
func (s *Store) Fill() (empty func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	room := s.by.Gate()
	s.room = room
	return room.Open
}

// Pause is Fill for a reason, which Capacity tells.
func (s *Store) Pause(reason string) (resume func()) {
	empty := s.Fill()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.why = reason
	return func() {
		s.mu.Lock()
		s.why = ""
		s.mu.Unlock()
		empty()
	}
}

// Fail lets everything fail that is to be on disk; nil: nothing does any more.
func (s *Store) Fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failing = err
}

// Restore makes of the lane's outbox what it was when n messages had been put and
// confirmed, as from a backup. The link is stopped.
func (s *Store) Restore(lane message.Lane, n uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.items[lane], s.low[lane] = s.items[lane][:n], n
}

// UntilTrimmed waits until the peer has everything of a lane.
func (s *Store) UntilTrimmed(t testing.TB, lane message.Lane) {
	t.Helper()
	s.until(t, "everything is confirmed", func() bool { return s.low[lane] == uint64(len(s.items[lane])) })
}

// UntilAccepted waits until so many messages of a lane have come.
func (s *Store) UntilAccepted(t testing.TB, lane message.Lane, n uint64) {
	t.Helper()
	s.until(t, fmt.Sprintf("%d messages have come", n), func() bool { return s.accepted[lane].Number >= n })
}

// Comes waits until message n of Have has come (the first is 0), and gives it.
func (s *Store) Comes(ctx context.Context, lane message.Lane, n int) (payload string, err error) {
	err = s.wait(ctx, func() bool {
		if n < len(s.got[lane]) {
			payload = s.got[lane][n]
			return true
		}
		return false
	})
	return payload, err
}

// until waits for a state of the store.
func (s *Store) until(t testing.TB, what string, holds func() bool) {
	t.Helper()
	ctx, cancel := s.by.WithTimeout(context.Background(), Patience)
	defer cancel()
	if s.wait(ctx, holds) != nil {
		t.Fatalf("waited in vain: %s", what)
	}
}

func (s *Store) wait(ctx context.Context, holds func() bool) error {
	for {
		s.mu.Lock()
		ok, changed := holds(), s.changed
		s.mu.Unlock()
		if ok {
			return nil
		}
		if _, err := s.by.Wait(ctx, changed); err != nil {
			return err
		}
	}
}
