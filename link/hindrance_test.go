package link_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"fmqm/internal/task"
	"fmqm/link"
	"fmqm/link/linktest"
	"fmqm/queue/record"
)

// shortClock is a fastClock on which the end of a long pause never comes.
type shortClock struct{ fastClock }

func (c shortClock) AfterFunc(d time.Duration, f func()) func() bool {
	if d > 2*time.Second {
		return func() bool { return true }
	}
	return c.fastClock.AfterFunc(d, f)
}

// longest has pauses grow as fast as they may.
func longest() float64 { return 0.999 }

// attentive is a dialer that may fail, and that hears the peer while nobody dials.
type attentive struct {
	inner link.Dialer
	calls chan struct{}

	mu    sync.Mutex
	down  error
	dials int
	tried chan struct{} // closed and made anew with each dial
}

func newAttentive(inner link.Dialer) *attentive {
	return &attentive{inner: inner, calls: make(chan struct{}), down: errors.New("nobody answers"), tried: make(chan struct{})}
}

func (d *attentive) Dial(ctx context.Context) (link.Conn, error) {
	d.mu.Lock()
	down := d.down
	d.dials++
	close(d.tried)
	d.tried = make(chan struct{})
	d.mu.Unlock()
	if down != nil {
		return nil, down
	}
	return d.inner.Dial(ctx)
}

func (d *attentive) Heard(ctx context.Context) error {
	select {
	case <-d.calls:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (d *attentive) up() {
	d.mu.Lock()
	d.down = nil
	d.mu.Unlock()
}

// untilTried waits for so many dials.
func (d *attentive) untilTried(t *testing.T, dials int) {
	t.Helper()
	deadline := time.After(linktest.Patience)
	for {
		d.mu.Lock()
		n, tried := d.dials, d.tried
		d.mu.Unlock()
		if n >= dials {
			return
		}
		select {
		case <-tried:
		case <-deadline:
			t.Fatalf("%d dials, expected %d", n, dials)
		}
	}
}

// patientDials is how many dials there are before a pause that does not end on a shortClock.
const patientDials = 5

// A way that rests is dialed again when the peer calls on it, and need not wait for the
// pause to end.
func TestAWayThatRestsIsDialedWhenThePeerCalls(t *testing.T) {
	a, b := newSite(t, "A", 1), newSite(t, "B", 2)
	p := newPost()
	way := newAttentive(p.dialer("A", "B"))
	oa, ob := a.options("B", nil), b.options("A", nil)
	oa.Routes = []link.Route{{Name: link.RouteAMQP, Dialer: way, Address: "amqp://broker"}}
	ob.Routes = []link.Route{{Name: link.RouteAMQP, Dialer: p.dialer("B", "A"), Address: "amqp://broker"}}
	oa.Scheduler, oa.Random = task.Goroutines{Clock: shortClock{}}, longest
	a.run(oa)
	way.untilTried(t, patientDials)
	b.run(ob)
	way.up()
	way.calls <- struct{}{}
	a.untilState(link.StateConnected)
}

// A way that rests is dialed again when the peer is heard on another one.
func TestAWayThatRestsIsDialedWhenThePeerIsHeardOnAnother(t *testing.T) {
	a, b := newSite(t, "A", 1), newSite(t, "B", 2)
	p := newPost()
	way := newAttentive(a.dialer(b))
	oa, ob := a.options("B", nil), b.options("A", nil)
	oa.Routes = []link.Route{
		{Name: link.RouteDirect, Dialer: way, Address: "https://b"},
		{Name: link.RouteAMQP, Dialer: p.dialer("A", "B"), Address: "amqp://broker"},
	}
	ob.Routes = []link.Route{{Name: link.RouteAMQP, Dialer: p.dialer("B", "A"), Address: "amqp://broker"}}
	oa.Scheduler, oa.Random = task.Goroutines{Clock: shortClock{}}, longest
	a.run(oa)
	way.untilTried(t, patientDials)
	way.up()
	b.run(ob)
	a.untilTransport(link.RouteDirect, link.StateConnected)
}

// troubled is a connection that says what hinders it.
type troubled struct {
	link.Conn
	words chan string
	got   chan link.Delivery
	gone  chan error
	over  chan struct{}
	once  sync.Once
}

func newTroubled(c link.Conn) *troubled {
	t := &troubled{Conn: c, words: make(chan string), got: make(chan link.Delivery), gone: make(chan error, 1), over: make(chan struct{})}
	go func() {
		for {
			frame, err := c.Recv()
			if err != nil {
				t.gone <- err
				return
			}
			select {
			case t.got <- link.Delivery{Frame: frame}:
			case <-t.over:
				return
			}
		}
	}()
	return t
}

func (c *troubled) Close() error {
	c.once.Do(func() { close(c.over) })
	return c.Conn.Close()
}

func (c *troubled) Receive() (link.Delivery, error) {
	select {
	case word := <-c.words:
		return link.Delivery{Hindrance: &word}, nil
	case d := <-c.got:
		return d, nil
	case err := <-c.gone:
		return link.Delivery{}, err
	case <-c.over:
		return link.Delivery{}, io.EOF
	}
}

// each hands the connections of a dialer on.
type each struct {
	inner link.Dialer
	made  chan *troubled
}

func (e each) Dial(ctx context.Context) (link.Conn, error) {
	c, err := e.inner.Dial(ctx)
	if err != nil {
		return nil, err
	}
	t := newTroubled(c)
	e.made <- t
	return t, nil
}

// A link on which the peer is heard and nothing can be sent is not shown as connected
// without a word; the log has each reason once, however often it comes and goes.
func TestALinkThatIsHinderedSaysWhy(t *testing.T) {
	a, b := newSite(t, "A", 1), newSite(t, "B", 2)
	p := newPost()
	way := each{inner: p.dialer("A", "B"), made: make(chan *troubled, 1)}
	oa, ob := a.options("B", nil), b.options("A", nil)
	oa.Routes = []link.Route{{Name: link.RouteAMQP, Dialer: way, Address: "amqp://broker"}}
	ob.Routes = []link.Route{{Name: link.RouteAMQP, Dialer: p.dialer("B", "A"), Address: "amqp://broker"}}
	b.run(ob)
	a.run(oa)
	conn := <-way.made
	a.untilState(link.StateConnected)
	for range 3 {
		conn.words <- "the broker takes no messages"
		st := a.until("the reason", func(st link.Status) bool { return st.Reason == "the broker takes no messages" })
		if way := transport(st, link.RouteAMQP); st.State != link.StateConnected || way.Reason != st.Reason {
			t.Fatalf("got %+v", st)
		}
		conn.words <- ""
		a.until("no reason", func(st link.Status) bool { return st.State == link.StateConnected && st.Reason == "" })
	}
	if n := strings.Count(a.log.String(), "the broker takes no messages"); n != 1 {
		t.Errorf("%d lines in the log:\n%s", n, a.log)
	}
}

// A peer that is heard and confirms nothing is not shown as connected without a word.
func TestALinkWhosePeerConfirmsNothingSaysSo(t *testing.T) {
	a, b := newSite(t, "A", 1), newSite(t, "B", 2)
	p := newPost()
	oa, ob := a.options("B", nil), b.options("A", nil)
	oa.Routes = []link.Route{{Name: link.RouteAMQP, Dialer: p.dialer("A", "B"), Address: "amqp://broker"}}
	ob.Routes = []link.Route{{Name: link.RouteAMQP, Dialer: p.dialer("B", "A"), Address: "amqp://broker"}}
	b.run(ob)
	a.run(oa)
	a.untilState(link.StateConnected)
	b.untilState(link.StateConnected)
	b.stop() // and the post, as a broker does, keeps the connection of A open
	a.store.Put(0, numbered(0, 3)...)
	st := a.until("the reason", func(st link.Status) bool {
		return strings.Contains(st.Reason, "site B has confirmed no message for a while")
	})
	if st.State != link.StateConnected || st.Waiting != 3 {
		t.Errorf("got %+v", st)
	}
	b.run(b.again(ob))
	a.store.UntilTrimmed(t, 0)
	a.until("no reason", func(st link.Status) bool { return st.State == link.StateConnected && st.Reason == "" })
}

// again are the options of a daemon that was started again.
func (s *site) again(o link.Options) link.Options {
	s.number += 10
	o.Session = s.number
	return o
}

// released is a dialer that is told when it is not needed any more.
type released struct {
	link.Dialer
	told chan struct{}
}

func (r released) Forget() { close(r.told) }

// A dialer that keeps something for its peer is told when its route is gone, and no sooner
// than its connection; not when the link stops, or where another route follows.
func TestADialerIsToldThatItsRouteIsGone(t *testing.T) {
	a, b := newSite(t, "A", 1), newSite(t, "B", 2)
	p := newPost()
	first, second := released{p.dialer("A", "B"), make(chan struct{})}, released{p.dialer("A", "B"), make(chan struct{})}
	oa, ob := a.options("B", nil), b.options("A", nil)
	route := func(d link.Dialer, life int) link.Route {
		return link.Route{Name: link.RouteAMQP, Dialer: d, Address: "amqp://broker", Life: life}
	}
	oa.Routes = []link.Route{route(first, 1)}
	ob.Routes = []link.Route{{Name: link.RouteAMQP, Dialer: p.dialer("B", "A"), Address: "amqp://broker"}}
	b.run(ob)
	a.run(oa)
	a.untilState(link.StateConnected)
	a.link.SetRoutes([]link.Route{route(second, 2)})
	a.until("the second", func(st link.Status) bool { return st.State == link.StateConnected && len(st.Transports) == 1 })
	a.link.SetRoutes([]link.Route{{Name: link.RouteDirect, Dialer: a.dialer(b), Address: "https://b"}})
	select {
	case <-second.told:
	case <-time.After(linktest.Patience):
		t.Fatal("the dialer was not told")
	}
	a.untilTransport(link.RouteDirect, link.StateConnected)
	select {
	case <-first.told:
		t.Error("the dialer was told, though another route of its name followed")
	default:
	}
}

// A site that takes nothing more from one peer says why, for as long as something of that
// peer waits; to the others it is as before, and the peer itself is heard.
func TestALinkThatTakesNothingMoreSaysWhy(t *testing.T) {
	a, b := pair(t, false)
	const why = "12 of 12 messages of it wait for a table: upload the process"
	resume := a.store.Pause(why)
	b.store.Put(1, "waits")
	want := "this site accepts nothing from site B: " + why
	st := a.until("the reason", func(st link.Status) bool { return st.Reason != "" })
	if st.State != link.StateConnected || st.Reason != want {
		t.Fatalf("it is %s, for %q; expected %q", st.State, st.Reason, want)
	}
	a.store.Put(0, "goes on")
	a.store.UntilTrimmed(t, 0)
	if _, err := b.link.Query(t.Context(), "goes on", nil); err != nil {
		t.Fatal(err)
	}
	if got := a.store.Have(1); len(got) != 0 {
		t.Fatalf("taken all the same: %q", got)
	}
	resume()
	a.until("no reason any more", func(st link.Status) bool { return st.State == link.StateConnected && st.Reason == "" })
	b.store.UntilTrimmed(t, 1)
}

// pinged is a connection that heard the peer between frames, as pings let it, at a time that
// is told.
type pinged struct {
	link.Conn
	at time.Time
}

func (p pinged) LastHeard() time.Time { return p.at }

type pingedDialer struct {
	link.Dialer
	at time.Time
}

func (d pingedDialer) Dial(ctx context.Context) (link.Conn, error) {
	c, err := d.Dialer.Dial(ctx)
	if err != nil {
		return nil, err
	}
	return pinged{c, d.at}, nil
}

// When a peer was last heard does not go back when the connection ends that heard it.
func TestLastHeardOutlivesTheConnection(t *testing.T) {
	a, b := newSite(t, "A", 1), newSite(t, "B", 2)
	at := time.Now().Add(time.Hour).Round(0) // later than all frames
	b.run(b.options("A", nil))
	a.run(a.options("B", pingedDialer{a.dialer(b), at}))
	a.untilState(link.StateConnected)
	b.stop()
	st := a.until("the loss", func(st link.Status) bool { return st.State != link.StateConnected })
	if !st.LastHeard.Equal(at) || !a.link.Status().LastHeard.Equal(at) {
		t.Fatalf("last heard at %s, after the connection had heard it at %s", st.LastHeard, at)
	}
}

// A dial that failed is forgotten once the peer's own connection serves both directions: the
// route is ready, is not dialed meanwhile, and is again when that connection ends.
func TestADialErrorIsForgottenWhereThePeerCalls(t *testing.T) {
	a, b := newSite(t, "A", 1), newSite(t, "B", 2)
	way := &redirect{to: nobody{}}
	a.run(a.options("B", way))
	a.until("the error", func(st link.Status) bool { return transport(st, link.RouteDirect).Reason == "nobody answers" })
	b.run(b.options("A", b.dialer(a)))
	st := a.until("connected, and no error", func(st link.Status) bool {
		return st.State == link.StateConnected && len(st.Transports) == 2 && st.Transports[0].Reason == ""
	})
	if own, theirs := st.Transports[0], st.Transports[1]; own.State != link.StateStandby || !own.Dialed || theirs.State != link.StateConnected || theirs.Dialed {
		t.Fatalf("the own way is %+v, the peer's %+v", own, theirs)
	}
	b.stop()
	a.until("the error again", func(st link.Status) bool { return transport(st, link.RouteDirect).Reason == "nobody answers" })
}

// What a stopped link shows is why it is stopped, and nothing that went wrong on the way
// before: neither a dial that had failed here, nor the end of the connection at the peer.
func TestAStoppedLinkShowsNoOldError(t *testing.T) {
	a, b := newSite(t, "A", 1), newSite(t, "B", 2)
	way := &redirect{to: nobody{}}
	a.run(a.options("B", way))
	a.until("the error", func(st link.Status) bool { return transport(st, link.RouteDirect).Reason == "nobody answers" })
	own := b.store
	b.run(b.options("A", b.dialer(a)))
	a.untilState(link.StateConnected)
	b.stop()
	b.store = linktest.NewStore(task.Goroutines{})
	o := b.options("A", b.dialer(a))
	o.Incarnation = record.Incarnation{99}
	b.run(o)
	for _, s := range []*site{a, b} {
		st := s.until("stopped, and its connections have ended", func(st link.Status) bool { return st.State == link.StateStopped && len(st.Transports) == 1 })
		if way := st.Transports[0]; way.Reason != "" {
			t.Errorf("%s is stopped since %s, and shows an error of its way: %+v", s.name, st.Reason, way)
		}
	}
	if way := a.link.Status().Transports[0]; way.State != link.StateStopped {
		t.Errorf("A, which is stopped, shows its way as %s", way.State)
	}

	b.stop() // its own store is back, and A is told
	b.store = own
	b.run(b.options("A", b.dialer(a)))
	if err := a.link.Decide(t.Context(), link.Decision{}); err != nil {
		t.Fatal(err)
	}
	a.untilState(link.StateConnected)
}
