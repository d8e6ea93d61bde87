package link_test

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"

	"fmqm/link"
	"fmqm/link/frame"
)

// post is a broker of two sites: a box for each, which keeps what comes while nobody
// reads it. Who dials it is alone at his box.
type post struct{ boxes map[string]chan []byte }

func newPost() *post {
	return &post{boxes: map[string]chan []byte{"A": make(chan []byte, 10_000), "B": make(chan []byte, 10_000)}}
}

type postDialer struct {
	post     *post
	from, to string
	mu       sync.Mutex
	down     error
	open     []*postConn
}

func (p *post) dialer(from, to string) *postDialer { return &postDialer{post: p, from: from, to: to} }

func (d *postDialer) Dial(context.Context) (link.Conn, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.down != nil {
		return nil, d.down
	}
	c := &postConn{out: d.post.boxes[d.to], in: d.post.boxes[d.from], gone: make(chan struct{})}
	d.open = append(d.open, c)
	return c, nil
}

// cut ends what is open; with an error nothing more is.
func (d *postDialer) cut(down error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.down = down
	for _, c := range d.open {
		_ = c.Close()
	}
	d.open = nil
}

type postConn struct {
	out, in chan []byte
	once    sync.Once
	gone    chan struct{}
}

func (c *postConn) Send(frame []byte) error {
	select {
	case <-c.gone:
		return io.ErrClosedPipe
	case c.out <- slices.Clone(frame):
		return nil
	}
}

func (c *postConn) Recv() ([]byte, error) {
	select {
	case <-c.gone:
		return nil, io.EOF
	case frame := <-c.in:
		return frame, nil
	}
}

func (c *postConn) Close() error {
	c.once.Do(func() { close(c.gone) })
	return nil
}

// transport gives the state of a link's way of a name.
func transport(st link.Status, route string) link.TransportStatus {
	i := slices.IndexFunc(st.Transports, func(t link.TransportStatus) bool { return t.Route == route })
	if i < 0 {
		return link.TransportStatus{}
	}
	return st.Transports[i]
}

// untilTransport waits until a way of the site's link is in a state, and gives how
// often the conversation was seen to have ended meanwhile.
func (s *site) untilTransport(route string, state link.State) (ends int) {
	s.t.Helper()
	s.until(route+" is "+string(state), func(st link.Status) bool {
		if st.State != link.StateConnected {
			ends++
		}
		return transport(st, route).State == state
	})
	return ends
}

// L3: a site is reached over two routes at once: the direct one is used, the broker is
// kept ready, takes over when the direct one goes, and is left again when that is back.
func TestTwoRoutesAndTheBetterOneIsUsed(t *testing.T) {
	a, b := newSite(t, "A", 1), newSite(t, "B", 2)
	p := newPost()
	w := newWires(a.dialer(b))
	oa, ob := a.options("B", nil), b.options("A", nil)
	oa.Routes = []link.Route{{Name: link.RouteDirect, Dialer: w, Address: "https://b"}, {Name: link.RouteAMQP, Dialer: p.dialer("A", "B"), Address: "amqp://broker"}}
	ob.Routes = []link.Route{{Name: link.RouteAMQP, Dialer: p.dialer("B", "A"), Address: "amqp://broker"}}
	b.run(ob)
	a.run(oa)
	ready := func(st link.Status) bool {
		return transport(st, link.RouteDirect).State == link.StateConnected && transport(st, link.RouteAMQP).State == link.StateStandby
	}
	a.until("both routes", ready)
	b.until("both routes", ready)
	ends := 0
	for i := range 6 {
		a.store.Put(0, numbered(i*1000, 1000)...)
		b.store.Put(0, numbered(i*1000, 1000)...)
		w.cut()
		a.store.UntilTrimmed(t, 0)
		b.store.UntilTrimmed(t, 0)
		ends += a.untilTransport(link.RouteDirect, link.StateConnecting)
		ends += a.untilTransport(link.RouteDirect, link.StateConnected)
	}
	if ends != 0 {
		t.Errorf("the conversation ended %d times while the broker was there", ends)
	}
	for _, s := range []*site{a, b} {
		if !slices.Equal(s.store.Have(0), numbered(0, 6000)) {
			t.Fatalf("what arrived at %s is not what was sent", s.name)
		}
	}
	st := transport(a.link.Status(), link.RouteAMQP)
	if !st.Dialed || st.Address != "amqp://broker" || st.Since.IsZero() {
		t.Fatalf("got %+v", st)
	}
}

// L3: a route is changed for another while messages flow: the conversation goes on.
func TestRouteIsChangedWhileMessagesFlow(t *testing.T) {
	a, b := newSite(t, "A", 1), newSite(t, "B", 2)
	p := newPost()
	fromA, fromB := p.dialer("A", "B"), p.dialer("B", "A")
	straight := []link.Route{{Name: link.RouteDirect, Dialer: a.dialer(b), Address: "https://b"}}
	oa, ob := a.options("B", nil), b.options("A", nil)
	oa.Routes = straight
	b.run(ob)
	a.run(oa)
	a.untilState(link.StateConnected)
	b.untilState(link.StateConnected)
	ends := 0
	for i := range 4 {
		a.store.Put(0, numbered(i*1000, 1000)...)
		if i%2 == 0 {
			a.link.SetRoutes([]link.Route{{Name: link.RouteAMQP, Dialer: fromA, Address: "amqp://broker"}})
			b.link.SetRoutes([]link.Route{{Name: link.RouteAMQP, Dialer: fromB, Address: "amqp://broker"}})
			ends += a.untilTransport(link.RouteAMQP, link.StateConnected)
			ends += a.untilTransport(link.RouteDirect, "")
		} else {
			a.link.SetRoutes(straight)
			ends += a.untilTransport(link.RouteDirect, link.StateConnected)
			b.link.SetRoutes(nil)
			ends += a.untilTransport(link.RouteAMQP, "")
		}
		a.store.UntilTrimmed(t, 0)
	}
	if !slices.Equal(b.store.Have(0), numbered(0, 4000)) {
		t.Fatal("what arrived is not what was sent")
	}
	if ends != 0 {
		t.Errorf("the conversation ended %d times", ends)
	}
}

// A route that fails says why, beside one that works.
func TestStatusSaysWhyARouteIsNotConnected(t *testing.T) {
	a, b := newSite(t, "A", 1), newSite(t, "B", 2)
	broken := newPost().dialer("A", "B")
	broken.cut(errors.New("dial broker: connection refused"))
	oa := a.options("B", nil)
	oa.Routes = []link.Route{{Name: link.RouteDirect, Dialer: a.dialer(b)}, {Name: link.RouteAMQP, Dialer: broken}}
	b.run(b.options("A", nil))
	a.run(oa)
	st := a.until("a connection and the reason", func(st link.Status) bool {
		return st.State == link.StateConnected && transport(st, link.RouteAMQP).Reason == "dial broker: connection refused"
	})
	if st.Reason != "" {
		t.Fatalf("got %+v", st)
	}
	if log := a.log.String(); strings.Count(log, "refused") > 1 {
		t.Fatalf("a route that is tried again and again is in the log: %s", log)
	}
}

// L3: behind NAT a site can only call: both directions flow over its connection, and
// come back with it.
func TestSiteBehindNATGetsItsMessagesOverItsOwnCall(t *testing.T) {
	called, caller := newSite(t, "A", 1), newSite(t, "B", 2)
	w := newWires(caller.dialer(called))
	called.run(called.options("B", nil)) // peers: B: {}
	caller.run(caller.options("A", w))
	for i := range 4 {
		called.untilState(link.StateConnected)
		called.store.Put(0, numbered(i*500, 500)...)
		called.store.Put(1, "marker")
		caller.store.Put(0, numbered(i*500, 500)...)
		called.store.UntilTrimmed(t, 0)
		called.store.UntilTrimmed(t, 1)
		caller.store.UntilTrimmed(t, 0)
		before := called.link.Status().Transports
		w.cut()
		called.until("the call has ended", func(st link.Status) bool { // the next one may have come before that was noticed
			return st.State == link.StateWaiting || !slices.Equal(st.Transports, before)
		})
	}
	if !slices.Equal(caller.store.Have(0), numbered(0, 2000)) || !slices.Equal(called.store.Have(0), numbered(0, 2000)) || len(caller.store.Have(1)) != 4 {
		t.Fatal("what arrived is not what was sent")
	}
}

// Why a dial failed may quote what somebody else has sent: what is kept of it is cut.
func TestALongDialErrorIsCut(t *testing.T) {
	long := errors.New(strings.Repeat("x", 1<<20))
	a, d := newSite(t, "A", 1), newPost().dialer("A", "B")
	d.cut(long)
	a.run(a.options("B", d))
	st := a.until("a failed dial", func(st link.Status) bool { return st.Reason != "" })
	if len(st.Reason) > frame.MaxReason || len(st.Transports[0].Reason) > frame.MaxReason {
		t.Errorf("%d bytes are kept, and %d of the route", len(st.Reason), len(st.Transports[0].Reason))
	}
}
