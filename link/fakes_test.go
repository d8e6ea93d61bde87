package link_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"go.uber.org/goleak"

	"fmqm/internal/task"
	"fmqm/link"
	"fmqm/link/https"
	"fmqm/link/linktest"
	"fmqm/processtable"
	"fmqm/queue/record"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

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
	store  *linktest.Store
	number uint64
	link   *link.Link
	states chan link.Status
	log    *linktest.Log
	server *httptest.Server
	ctx    context.Context
	end    context.CancelFunc

	mu      sync.Mutex // for link
	refused chan string
}

// newSite gives a site that listens and has no link yet.
func newSite(t testing.TB, name processtable.NodeID, number uint64) *site {
	s := &site{t: t, name: name, number: number, store: linktest.NewStore(task.Goroutines{}), refused: make(chan string, 1000)}
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
	s.states, s.log = states, &linktest.Log{}
	return link.Options{
		Self: s.name, Peer: peer, Incarnation: record.Incarnation{s.name[0]}, Session: s.number,
		Outbox: s.store, Inbox: s.store, Peers: s.store, Routes: direct(dialer), Scheduler: task.Goroutines{Clock: fastClock{}},
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
	ctx, cancel := context.WithTimeout(context.Background(), linktest.Patience)
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
	deadline := time.After(linktest.Patience)
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
	case <-time.After(linktest.Patience):
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
