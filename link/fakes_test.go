package link_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"go.uber.org/goleak"

	"fmqm/link"
	"fmqm/link/https"
	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience is how long a test waits for what must come; nothing waits that long.
const patience = time.Minute

// store is a site's durable memory: outbox, inbox and what it knows of its peer.
type store struct {
	mu       sync.Mutex
	items    [link.Lanes][]link.Item
	low      [link.Lanes]uint64
	accepted [link.Lanes]link.Position
	got      [link.Lanes][]string
	changed  chan struct{} // closed and made anew when something changes
	wake     chan struct{}
	known    queue.Incarnation
	began    [link.Lanes]link.Position
	full     chan struct{} // Capacity blocks until it is closed
	failing  error         // of Bind and Accept

	keepNothing bool // count what comes, and no more
}

func newStore() *store {
	full := make(chan struct{})
	close(full)
	return &store{wake: make(chan struct{}, 1), changed: make(chan struct{}), full: full}
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
	defer s.mu.Unlock()
	if s.failing != nil {
		done(s.failing)
		return
	}
	for _, i := range items {
		if i.Number != s.accepted[lane].Number+1 {
			done(fmt.Errorf("item %d after %d", i.Number, s.accepted[lane].Number))
			return
		}
		s.accepted[lane] = link.Position{Number: i.Number, Hash: i.Hash}
		if !s.keepNothing {
			s.got[lane] = append(s.got[lane], string(i.Payload))
		}
	}
	s.change()
	done(nil)
}

// have is what came in a lane.
func (s *store) have(lane message.Lane) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.got[lane])
}

func (s *store) Capacity(ctx context.Context) error {
	s.mu.Lock()
	full := s.full
	s.mu.Unlock()
	select {
	case <-full:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *store) Known() (queue.Incarnation, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.known, s.known != queue.Incarnation{}
}

func (s *store) Bind(i queue.Incarnation) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failing != nil {
		return s.failing
	}
	s.known = i
	return nil
}

// Rebind takes a new store of the peer: nothing was accepted from it.
func (s *store) Rebind(i queue.Incarnation) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failing != nil {
		return s.failing
	}
	s.known = i
	for l := range link.Lanes {
		s.began[l] = s.position(message.Lane(l), s.low[l])
		s.accepted[l], s.got[l] = link.Position{}, nil
	}
	return nil
}

func (s *store) Began() ([link.Lanes]link.Position, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.began, nil
}

func (s *store) Begin(at [link.Lanes]link.Position) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for l := range at {
		if s.accepted[l].Number == 0 {
			s.accepted[l] = at[l]
		}
	}
	return s.failing
}

// until waits for a state of the store.
func (s *store) until(t testing.TB, what string, holds func() bool) {
	t.Helper()
	deadline := time.After(patience)
	for {
		s.mu.Lock()
		ok, changed := holds(), s.changed
		s.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-changed:
		case <-deadline:
			t.Fatalf("waited in vain: %s", what)
		}
	}
}

// untilTrimmed waits until the peer has everything of a lane.
func (s *store) untilTrimmed(t testing.TB, lane message.Lane) {
	t.Helper()
	s.until(t, "everything is confirmed", func() bool { return s.low[lane] == uint64(len(s.items[lane])) })
}

// fastClock runs a hundred times as fast as the wall's.
type fastClock struct{}

func (fastClock) Now() time.Time { return time.Now() }

func (fastClock) AfterFunc(d time.Duration, f func()) func() bool {
	return time.AfterFunc(d/100, f).Stop
}

// site is a daemon as far as links are concerned: a listener and one link.
type site struct {
	t      testing.TB
	name   processtable.NodeID
	store  *store
	number uint64
	link   *link.Link
	states chan link.Status
	log    *lockedBuffer
	server *httptest.Server
	ctx    context.Context
	end    context.CancelFunc

	mu      sync.Mutex // for link
	refused chan string
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// newSite gives a site that listens and has no link yet.
func newSite(t testing.TB, name processtable.NodeID, number uint64) *site {
	s := &site{t: t, name: name, number: number, store: newStore(), refused: make(chan string, 1000)}
	s.ctx, s.end = context.WithCancel(context.Background())
	acceptor := link.Acceptor{
		Self: name, Session: number,
		Lookup: func(peer processtable.NodeID) *link.Link {
			s.mu.Lock()
			defer s.mu.Unlock()
			if s.link == nil || s.link.Status().Peer != peer {
				return nil
			}
			return s.link
		},
		Refused: func(caller processtable.NodeID, reason string) { s.refused <- string(caller) + ": " + reason },
	}
	mux := http.NewServeMux()
	mux.Handle(https.Path, https.Handler(func(conn link.Conn, _ string) { acceptor.Accept(s.ctx, conn) }))
	s.server = httptest.NewServer(mux)
	t.Cleanup(s.close)
	return s
}

func (s *site) close() {
	s.stop()
	s.end()
	s.server.Close()
}

// options are what a link of this site to peer is made with.
func (s *site) options(peer processtable.NodeID, dialer link.Dialer) link.Options {
	states := make(chan link.Status, 1000)
	s.states, s.log = states, &lockedBuffer{}
	return link.Options{
		Self: s.name, Peer: peer, Incarnation: queue.Incarnation{s.name[0]}, Session: s.number,
		Outbox: s.store, Inbox: s.store, Peers: s.store, Routes: direct(dialer), Clock: fastClock{},
		Logger:    zerolog.New(s.log),
		OnState:   func(st link.Status) { states <- st },
		Responder: echo,
	}
}

// direct is the route of a dialer, or none.
func direct(d link.Dialer) []link.Route {
	if d == nil {
		return nil
	}
	return []link.Route{{Name: link.RouteDirect, Dialer: d}}
}

func echo(_ context.Context, peer processtable.NodeID, kind string, body []byte) ([]byte, error) {
	if kind == "fail" {
		return nil, errors.New("no instance 7 at this site")
	}
	return fmt.Appendf(nil, "%s asked %s %s", peer, kind, body), nil
}

func (s *site) run(o link.Options) {
	l := link.New(o)
	s.mu.Lock()
	s.link = l
	s.mu.Unlock()
	l.Start()
}

func (s *site) stop() {
	s.mu.Lock()
	l := s.link
	s.link = nil
	s.mu.Unlock()
	if l == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := l.Stop(ctx); err != nil {
		s.t.Error(err)
	}
}

func (s *site) dialer(to *site) link.Dialer {
	d, err := https.NewDialer(to.server.URL)
	if err != nil {
		s.t.Fatal(err)
	}
	return d
}

// until waits for a state of the site's link.
func (s *site) until(what string, holds func(link.Status) bool) link.Status {
	s.t.Helper()
	deadline := time.After(patience)
	for {
		select {
		case st := <-s.states:
			if holds(st) {
				return st
			}
		case <-deadline:
			s.t.Fatalf("site %s: waited in vain for %s; is %+v", s.name, what, s.link.Status())
		}
	}
}

func (s *site) untilRefused(want string) {
	s.t.Helper()
	select {
	case got := <-s.refused:
		if !strings.Contains(got, want) {
			s.t.Fatalf("got %q, expected %q", got, want)
		}
	case <-time.After(patience):
		s.t.Fatalf("nothing was refused, expected %q", want)
	}
}

func (s *site) untilState(state link.State) link.Status {
	s.t.Helper()
	return s.until(string(state), func(st link.Status) bool { return st.State == state })
}

// pair is two connected sites; B dials if both says so, A always.
func pair(t testing.TB, both bool) (a, b *site) {
	a, b = newSite(t, "A", 1), newSite(t, "B", 2)
	oa, ob := a.options("B", a.dialer(b)), b.options("A", nil)
	if both {
		ob.Routes = direct(b.dialer(a))
	}
	b.run(ob)
	a.run(oa)
	a.untilState(link.StateConnected)
	b.untilState(link.StateConnected)
	return a, b
}

// wires counts connections that are open, and can cut them.
type wires struct {
	inner link.Dialer
	mu    sync.Mutex
	open  map[*wire]bool
	total int
	ended chan struct{}
}

type wire struct {
	link.Conn
	w    *wires
	once sync.Once
}

func newWires(d link.Dialer) *wires {
	return &wires{inner: d, open: map[*wire]bool{}, ended: make(chan struct{}, 1000)}
}

func (w *wires) Dial(ctx context.Context) (link.Conn, error) {
	c, err := w.inner.Dial(ctx)
	if err != nil {
		return nil, err
	}
	wire := &wire{Conn: c, w: w}
	w.mu.Lock()
	w.open[wire] = true
	w.total++
	w.mu.Unlock()
	return wire, nil
}

func (w *wires) counts() (open, total int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.open), w.total
}

func (w *wires) cut() {
	w.mu.Lock()
	var all []*wire
	for c := range w.open {
		all = append(all, c)
	}
	w.mu.Unlock()
	for _, c := range all {
		_ = c.Close()
	}
}

func (c *wire) Close() error {
	c.once.Do(func() {
		c.w.mu.Lock()
		delete(c.w.open, c)
		c.w.mu.Unlock()
		c.w.ended <- struct{}{}
	})
	return c.Conn.Close()
}

func numbered(from, n int) []string {
	s := make([]string, n)
	for i := range s {
		s[i] = fmt.Sprintf("message %d", from+i)
	}
	return s
}
