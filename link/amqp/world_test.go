package amqp

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"go.uber.org/goleak"

	"fmqm/internal/faultnet"
	"fmqm/internal/rabbittest"
	"fmqm/internal/task"
	"fmqm/link"
	"fmqm/link/linktest"
	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue/record"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(rabbittest.Main(m)) }

// speed is how much faster than the wall's a test's clock runs.
const speed = 20

// fastClock runs at speed.
type fastClock struct{ began time.Time }

func (c fastClock) Now() time.Time { return c.began.Add(speed * time.Since(c.began)) }

func (c fastClock) AfterFunc(d time.Duration, f func()) func() bool {
	return time.AfterFunc(d/speed, f).Stop
}

// site is a daemon as far as this room is concerned: a broker access and one link.
type site struct {
	t      testing.TB
	name   processtable.NodeID
	store  *linktest.Store
	proxy  *faultnet.Proxy
	broker *Broker
	link   *link.Link
	log    *linktest.Log
	states chan Status
	links  chan link.Status
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func passwordFile(t testing.TB, password string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "password")
	must(t, os.WriteFile(file, []byte(password+"\n"), 0o600))
	return file
}

// options are for a Broker of a node, at addr.
func options(t testing.TB, name processtable.NodeID, addr, vhost string) Options {
	return Options{
		Self: name, URL: rabbittest.URL(addr, vhost), User: rabbittest.User, PasswordFile: passwordFile(t, rabbittest.Password),
		Clock: fastClock{time.Now()}, Log: zerolog.Nop(),
		heartbeat: 2 * time.Second, timeout: 5 * time.Second,
	}
}

// newSite gives a site that reaches the broker through a proxy of its own.
func newSite(t testing.TB, name processtable.NodeID, addr, vhost string, change func(*Options)) *site {
	t.Helper()
	proxy, err := faultnet.Listen(addr)
	must(t, err)
	s := &site{t: t, name: name, store: linktest.NewStore(task.Goroutines{}), proxy: proxy, log: &linktest.Log{}, states: make(chan Status, 10_000)}
	o := options(t, name, proxy.Addr(), vhost)
	o.Log = zerolog.New(s.log)
	o.OnState = func(st Status) { s.states <- st }
	if change != nil {
		change(&o)
	}
	s.broker, err = New(o)
	must(t, err)
	s.broker.Start()
	t.Cleanup(s.close)
	return s
}

func (s *site) connect(peer processtable.NodeID) {
	s.links = make(chan link.Status, 10_000)
	s.link = link.New(link.Options{
		Self: s.name, Peer: peer, Incarnation: record.Incarnation{s.name[0]}, Session: uint64(s.name[0]),
		Outbox: s.store, Inbox: s.store, Peers: s.store, Scheduler: task.Goroutines{Clock: fastClock{time.Now()}}, Logger: zerolog.New(s.log),
		Routes:  []link.Route{{Name: link.RouteAMQP, Dialer: s.broker.Dialer(peer), Address: s.broker.Address()}},
		OnState: func(st link.Status) { s.links <- st },
	})
	s.link.Start()
}

func (s *site) close() {
	ctx, cancel := context.WithTimeout(context.Background(), linktest.Patience)
	defer cancel()
	if s.link != nil {
		if err := s.link.Stop(ctx); err != nil {
			s.t.Error(err)
		}
	}
	if err := s.broker.Stop(ctx); err != nil {
		s.t.Error(err)
	}
	if err := s.proxy.Close(); err != nil {
		s.t.Error(err)
	}
	if s.t.Failed() {
		s.t.Logf("site %s: %+v\n%s", s.name, s.broker.Status(), s.log)
	}
}

// untilState waits for a state of the access to the broker.
func (s *site) untilState(what string, holds func(Status) bool) Status {
	s.t.Helper()
	deadline := time.NewTimer(linktest.Patience)
	defer deadline.Stop()
	for {
		select {
		case st := <-s.states:
			if holds(st) {
				return st
			}
		case <-deadline.C:
			s.t.Fatalf("site %s: waited in vain for %s; is %+v", s.name, what, s.broker.Status())
		}
	}
}

func (s *site) until(state State) Status {
	s.t.Helper()
	return s.untilState(string(state), func(st Status) bool { return st.State == state })
}

// untilLink waits for a state of the link.
func (s *site) untilLink(what string, holds func(link.Status) bool) link.Status {
	s.t.Helper()
	deadline := time.NewTimer(linktest.Patience)
	defer deadline.Stop()
	for {
		select {
		case st := <-s.links:
			if holds(st) {
				return st
			}
		case <-deadline.C:
			s.t.Fatalf("site %s: waited in vain for %s; is %+v", s.name, what, s.link.Status())
		}
	}
}

func (s *site) untilConnected() {
	s.t.Helper()
	s.untilLink("connected", func(st link.Status) bool { return st.State == link.StateConnected })
}

// pair is two sites that are connected through a broker.
func pair(t testing.TB, addr, vhost string) (a, b *site) {
	t.Helper()
	a, b = newSite(t, "A", addr, vhost, nil), newSite(t, "B", addr, vhost, nil)
	a.connect("B")
	b.connect("A")
	a.untilConnected()
	b.untilConnected()
	return a, b
}

// traffic are items that go both ways.
type traffic struct {
	a, b *site
	n    int // in each direction, so far
}

// put sends n more items each way, some of them in lane 1.
func (f *traffic) put(n int) {
	for i := range n {
		text := fmt.Sprintf("item %d", f.n+i)
		lane := message.Lane(0)
		if i%10 == 0 {
			lane = 1
		}
		f.a.store.Put(lane, text)
		f.b.store.Put(lane, text)
	}
	f.n += n
}

// arrived waits until everything is at the other side, in order and once, and confirmed.
func (f *traffic) arrived(t testing.TB) {
	t.Helper()
	for _, way := range [][2]*site{{f.a, f.b}, {f.b, f.a}} {
		from, to := way[0].store, way[1].store
		for lane := range record.Lanes {
			from.UntilTrimmed(t, message.Lane(lane))
			got, sent := to.Have(message.Lane(lane)), from.Sent(message.Lane(lane))
			if len(got) != len(sent) {
				t.Fatalf("%s got %d items of %d in lane %d", way[1].name, len(got), len(sent), lane)
			}
			for i := range got {
				if got[i] != sent[i] {
					t.Fatalf("%s got %q as item %d of lane %d, expected %q", way[1].name, got[i], i, lane, sent[i])
				}
			}
		}
	}
}
