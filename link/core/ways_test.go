package core

import (
	"errors"
	"slices"
	"testing"

	"fmqm/link/frame"
	"fmqm/message"
	"fmqm/queue/record"
)

// ways give a world two kinds of transport: connections, which keep the order, can be
// cut, and can fall silent in a direction; and a broker, which both sides dial and which
// loses, repeats and reorders.
type ways struct {
	*world
	direct Via // the connection; 0: none
	last   Via
	mute   [2]bool // what is sent to a site on the connection vanishes
	closed []Via
}

const broker Via = 1000

func newWays(t *testing.T, seed uint64) *ways {
	w := &ways{world: newWorld(t, seed)}
	w.world.ways = w
	return w
}

// started: a site's daemon has dialed the broker, and the connection is gone.
func (w *ways) started(s *site) {
	w.cut()
	w.step(s, Connected{Via: broker, Dialed: true, Rank: 1, Shared: true})
}

// connect lets a site dial the other.
func (w *ways) connect(by int) {
	if w.direct != 0 {
		return
	}
	w.last++
	w.direct, w.mute = w.last, [2]bool{}
	w.step(w.sites[1-by], Connected{Via: w.direct})
	w.step(w.sites[by], Connected{Via: w.direct, Dialed: true})
}

// cut ends the connection; what was under way on it is lost.
func (w *ways) cut() {
	via := w.direct
	w.direct = 0
	if via == 0 {
		return
	}
	w.packets = slices.DeleteFunc(w.packets, func(p packet) bool { return p.via == via })
	for _, s := range w.sites {
		if s.core != nil {
			w.step(s, Disconnected{Via: via})
		}
	}
}

// closings does what sites wanted of their transports.
func (w *ways) closings() {
	for len(w.closed) > 0 {
		via := w.closed[0]
		w.closed = w.closed[1:]
		switch via {
		case w.direct:
			w.cut()
			if !w.faults {
				w.connect(0)
			}
		case broker: // dialed again at once
			for _, s := range w.sites {
				if t := s.core.transport(broker); t != nil && t.closing {
					w.step(s, Disconnected{Via: broker})
					w.step(s, Connected{Via: broker, Dialed: true, Rank: 1, Shared: true})
				}
			}
		}
	}
}

// carry delivers the oldest packet of the connection, or some packet of the broker.
func (w *ways) carry() {
	if len(w.packets) == 0 {
		return
	}
	i := w.rng.IntN(len(w.packets))
	if w.packets[i].via != broker {
		i = slices.IndexFunc(w.packets, func(p packet) bool { return p.via == w.packets[i].via })
		p := w.packets[i]
		if p.via == w.direct && !w.mute[p.to] {
			w.deliver(i, p.data)
		}
		w.remove(i)
		return
	}
	i = slices.IndexFunc(w.packets, func(p packet) bool { return p.via == broker && w.rng.IntN(3) > 0 })
	if i < 0 {
		return
	}
	p := w.packets[i]
	switch {
	case !w.faults || w.rng.IntN(10) > 3:
		w.remove(i)
		w.push(p)
	case w.rng.IntN(2) == 0: // repeated, late
		w.remove(i)
		w.packets = append(w.packets, p)
		w.push(p)
	default: // lost
		w.remove(i)
	}
}

func (w *ways) push(p packet) {
	w.packets = append(w.packets, p)
	w.deliver(len(w.packets)-1, p.data)
	if i := slices.IndexFunc(w.packets, func(q packet) bool { return &q.data[0] == &p.data[0] && q.to == p.to }); i >= 0 {
		w.remove(i)
	}
}

// rest lets the network do its work, until nothing is left to do.
func (w *ways) rest(ticks int) {
	w.faults = false
	for range ticks {
		for n := 0; len(w.packets)+len(w.sites[0].accepts)+len(w.sites[1].accepts) > 0; n++ {
			if n > 200_000 {
				w.t.Fatal("the sites talk without end")
			}
			w.carry()
			w.settleAccept(w.sites[0])
			w.settleAccept(w.sites[1])
			w.closings()
		}
		for _, s := range w.sites {
			w.step(s, Tick{})
		}
		w.closings()
	}
}

// L3: whatever happens to two transports of different kinds, each item arrives once and
// in order, no link stops, and at the end the better one is used and the other is kept.
func TestTwoTransportsCarryEachItemOnce(t *testing.T) {
	eachSeed(t, 100, func(t *testing.T, seed uint64) {
		w := newWays(t, seed)
		w.faults = true
		w.start(w.sites[0])
		w.start(w.sites[1])
		for range 1500 {
			w.chance()
			w.closings()
		}
		w.mute = [2]bool{}
		w.connect(w.rng.IntN(2))
		w.rest(400)
		w.checkDelivered()
		w.checkAtRest()
		for _, s := range w.sites {
			if best := s.core.best(); best == nil || best.rank != 0 {
				t.Errorf("site %s does not use the connection: %+v", s.name, best)
			}
			if kept := s.core.transport(broker); kept == nil || !kept.greeted {
				t.Errorf("site %s has not kept the broker ready: %+v", s.name, kept)
			}
		}
	})
}

func (w *ways) chance() {
	s := w.sites[w.rng.IntN(2)]
	switch p := w.rng.IntN(1000); {
	case p < 60:
		w.putSome(s, message.Lane(w.rng.IntN(record.Lanes)), 1+w.rng.IntN(8))
	case p < 63:
		w.crash(s)
	case p < 70:
		w.cut()
	case p < 90:
		w.connect(s.index)
	case p < 93:
		w.mute[s.index] = true
	case p < 200:
		w.settleAccept(s)
	case p < 300:
		w.step(s, Tick{})
	default:
		w.carry()
	}
}

// both is a world in which both sites know each other over both ways.
func both(t *testing.T) (w *ways, a, b *site) {
	t.Helper()
	w = newWays(t, 1)
	a, b = w.sites[0], w.sites[1]
	w.start(a)
	w.start(b)
	w.connect(0)
	w.putSome(a, 0, 5)
	w.rest(20)
	w.checkDelivered()
	return w, a, b
}

// over lists the transports of Data frames that wait to be delivered.
func (w *ways) over() (vias []Via) {
	for _, p := range w.packets {
		if f, err := frame.Decode(p.data); err == nil && f.Type == frame.TypeData {
			vias = append(vias, p.via)
		}
	}
	return vias
}

// L3: when the better transport goes, the other takes over in the same moment, without
// the conversation ending; when it comes back it is used again.
func TestTheOtherTransportTakesOverAtOnce(t *testing.T) {
	w, a, b := both(t)
	direct := w.direct
	w.putSome(a, 0, 3)
	if got := w.over(); !slices.Equal(got, []Via{direct}) {
		t.Fatalf("sent over %v, expected the connection %d", got, direct)
	}
	w.cut() // with what is under way
	if !a.core.established() || !b.core.established() {
		t.Fatal("the conversation has ended with the connection")
	}
	w.putSome(a, 0, 3)
	if got := w.over(); !slices.Equal(got, []Via{broker}) {
		t.Fatalf("sent over %v, expected the broker", got)
	}
	w.rest(2) // nobody has to lose patience: the loss is seen; over the broker a tick brings the acknowledgement
	w.checkDelivered()
	w.connect(1)
	w.rest(1)
	w.putSome(a, 0, 3)
	if got := w.over(); !slices.Equal(got, []Via{w.direct}) {
		t.Fatalf("sent over %v, expected the new connection %d", got, w.direct)
	}
	w.rest(1)
	w.checkDelivered()
}

// A connection that is half open, so that nothing comes back, is not waited for: the
// other transport takes over until it works again.
func TestSilentTransportIsPassedOver(t *testing.T) {
	w, a, b := both(t)
	w.mute = [2]bool{true, false} // B is heard no more
	w.putSome(a, 0, 3)
	w.putSome(b, 0, 3)
	w.rest(5 * firstTimeout)
	w.checkDelivered()
	if !a.core.transport(w.direct).silent || a.core.best().via != broker {
		t.Fatalf("site A still waits for the connection: %+v", a.core.best())
	}
	w.mute = [2]bool{}
	w.rest(2 * probePause)
	if a.core.best().via != w.direct || b.core.best().via != w.direct {
		t.Fatal("the connection works again and is not used")
	}
}

// A peer's daemon that is started again is heard over the broker, which has not seen it
// go.
func TestRestartIsSeenThroughTheBroker(t *testing.T) {
	w := newWays(t, 1)
	a, b := w.sites[0], w.sites[1]
	w.start(a)
	w.start(b)
	w.putSome(a, 0, 5)
	w.rest(10)
	w.start(b)
	w.putSome(a, 0, 5)
	w.rest(2 * rivalLimit)
	w.checkDelivered()
	if a.core.peer.session != b.core.cfg.Session {
		t.Fatal("site A does not speak to the daemon that runs")
	}
}

// Over a broker nobody need be there yet: hellos become rare, and the transport stays.
func TestHellosToAnAbsentPeerBecomeRare(t *testing.T) {
	w := newWays(t, 1)
	a := w.sites[0]
	w.start(a)
	hellos := 0
	for range 4 * 60 * 60 { // an hour
		w.packets = nil
		w.step(a, Tick{})
		hellos += len(w.packets)
	}
	if hellos == 0 || hellos > 70 || len(w.closed) != 0 {
		t.Fatalf("%d hellos in an hour, closed %v", hellos, w.closed)
	}
	w.start(w.sites[1])
	w.putSome(a, 0, 3)
	w.rest(1)
	w.checkDelivered()
}

// While the peer is heard on one way, another may lead to another site: that way ends, with what
// was said there.
func TestAWayThatLeadsElsewhereSaysSo(t *testing.T) {
	c := New(Config{Self: "A", Peer: "B", Session: 1})
	c.peer = peer{session: 2, up: true, seq: 9}
	c.transports = []*transport{{via: 1, rank: 1, shared: true, session: 2, greeted: true}}
	c.Step(Connected{Via: 2, Dialed: true})
	effects := c.Step(Received{Via: 2, Frame: &frame.Frame{
		Type: frame.TypeStop, From: 3, To: 1, Seq: 1,
		Stop: &frame.Stop{Code: frame.StopWrongNode, Node: "C", Reason: ReasonCalledWrong("A", "B", "C"), Final: true},
	}})
	want := Close{Via: 2, Reason: `site C ended the connection and says: "site A called site B, but this is site C: correct the address of B in the configuration of A"`}
	if !slices.Contains(effects, Effect(want)) || !c.established() {
		t.Errorf("got %+v, expected %+v", effects, want)
	}
}

// Hellos become rare also after the link was stopped, over a broker that was reached meanwhile too.
func TestHellosBecomeRareAfterAStop(t *testing.T) {
	stored := Stored{Known: record.Incarnation{2}}
	broker := Connected{Via: 1, Dialed: true, Rank: 1, Shared: true}
	for name, events := range map[string][]Event{
		"connected before":     {broker, Broken{errors.New("no")}},
		"connected meanwhile":  {Broken{errors.New("no")}, broker},
		"and a peer was heard": {Broken{errors.New("no")}, broker, Received{Via: 1, Frame: &frame.Frame{Type: frame.TypeHello, From: 7, Hello: &frame.Hello{Node: "B"}}}},
	} {
		t.Run(name, func(t *testing.T) {
			c := New(Config{Self: "A", Peer: "B", Session: 1, Stored: stored})
			for _, e := range append(events, Decide{ID: 1}) {
				c.Step(e)
			}
			c.Step(Loaded{Token: c.decisions.token, Now: stored})
			hellos := 0
			for range 4 * 60 * 60 { // an hour
				for _, e := range c.Step(Tick{}) {
					if s, ok := e.(Send); ok && s.Frame.Type == frame.TypeHello {
						hellos++
					}
				}
			}
			if hellos < 55 || hellos > 70 {
				t.Errorf("%d hellos in an hour", hellos)
			}
		})
	}
}

// acknowledgements counts those that wait to be delivered and carry nothing else.
func (w *ways) acknowledgements() (n int) {
	for _, p := range w.packets {
		if f, err := frame.Decode(p.data); err == nil && f.Type == frame.TypeAck {
			n++
		}
	}
	return n
}

// take delivers everything to B and puts what it brought on B's disk; what B says waits.
func (w *ways) take(b *site) {
	for i := 0; i < len(w.packets); {
		if w.packets[i].to != b.index {
			i++
			continue
		}
		w.deliver(i, w.packets[i].data)
		w.remove(i)
		for len(b.accepts) > 0 {
			w.settleAccept(b)
		}
	}
}

// Over a broker, where each frame is work for others, an acknowledgement that nothing
// carries waits for a tick, or for a quarter of what may be under way; a connection
// carries it at once.
func TestAcknowledgementsOverABrokerAreFew(t *testing.T) {
	w, a, b := both(t)
	expect := func(when string, n int) {
		t.Helper()
		w.take(b)
		if got := w.acknowledgements(); got != n {
			t.Fatalf("%s: %d acknowledgements, expected %d", when, got, n)
		}
	}
	w.putSome(a, 0, 1)
	expect("over a connection", 1)
	w.rest(1)
	w.cut()
	w.rest(2)
	for range 3 {
		w.putSome(a, 0, 1)
		expect("over a broker", 0)
	}
	if !b.core.Restless() {
		t.Fatal("site B owes an acknowledgement, and wants no tick")
	}
	w.step(b, Tick{})
	expect("with a tick", 1)
	w.rest(1)
	for range a.core.cfg.WindowItems/ackPart - 1 {
		a.put(1, "x")
		w.woken(a)
		expect("before a quarter of the window", 0)
	}
	a.put(1, "x")
	w.woken(a)
	expect("with a quarter of the window", 1)
	w.rest(1)
	w.putSome(a, 1, 1)
	w.putSome(b, 0, 1)
	w.take(b)
	w.putSome(b, 0, 1)
	expect("where Data carries it", 0)
	w.rest(2)
	w.checkDelivered()
}

// What cannot be read is not read again and again while the transports end.
func TestAFailedReadIsNotRepeatedAtOnce(t *testing.T) {
	w, a, _ := both(t)
	a.put(0, "x")
	reads := func(effects []Effect) (n int) {
		for _, e := range effects {
			if _, yes := e.(Read); yes {
				n++
			}
		}
		return n
	}
	if n := reads(a.core.Step(Woken{Last: a.lasts()})); n != 1 {
		t.Fatalf("%d reads, expected one", n)
	}
	if n := reads(a.core.Step(Items{From: uint64(len(a.items[0])), Err: errDisk})); n != 0 || !w.sites[1].core.established() {
		t.Fatalf("%d reads after one that failed, expected none", n)
	}
}
