package core

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"fmqm/link/frame"
	"fmqm/queue/record"
)

// exchanged is a world in which both sites have sent each other five items, and have
// trimmed them on disk.
func exchanged(t *testing.T) (w *world, a, b *site) {
	t.Helper()
	w = newWorld(t, 1)
	a, b = w.sites[0], w.sites[1]
	w.start(a)
	w.start(b)
	w.putSome(a, 0, 5)
	w.putSome(b, 0, 5)
	w.calm(1)
	w.checkDelivered()
	a.low, b.low = a.trim, b.trim
	return w, a, b
}

// restart starts a site again, with whatever its store is now.
func (w *world) restart(s *site) {
	s.stopped = nil
	w.start(s)
	w.calm(60)
}

// forget makes a site's outgoing lane 0 as it was after n items.
func (s *site) forgetItems(n int) {
	s.items[0] = slices.Clone(s.items[0][:n])
	s.low[0] = min(s.low[0], uint64(n))
}

const older = "the store of this site is an older copy (restored from a backup?): put its newest store back and start its daemon, then, if B has stopped the link too, there: fmqm links retry A"

// L1: what two stores disagree about stops the link, with a reason that says what was
// seen, what it means and what to do. A has sent five items to B and let them go, and
// keeps a sixth and a seventh; it has three of B.
func TestDisagreementStopsTheLink(t *testing.T) {
	tests := []struct {
		name   string
		change func(a *site, f *frame.Frame)
		code   frame.StopCode
		want   string
	}{
		{
			"the peer was restored from a backup: its number is below the lowest kept",
			func(a *site, f *frame.Frame) { f.Receipts[0] = frame.Receipt{Position: a.position(0, 2), Received: 2} },
			frame.StopBelowLowest,
			"site B has accepted messages up to 2 in lane 0, but confirmed them up to 5 before, and this site no longer keeps those: " +
				"the store of B is an older copy (restored from a backup?): put the newest store of B back and start its daemon, then here: fmqm links retry B",
		},
		{
			"this site was restored from a backup: the peer has let go what it needs",
			func(_ *site, f *frame.Frame) { f.Hello.Low[0] = 4 },
			frame.StopBelowLowest,
			"this site has accepted messages from B up to 3 in lane 0, but B keeps only those after 4, because this site had confirmed the others: " + older,
		},
		{
			"this site was restored from a backup: the peer has what it never sent",
			func(_ *site, f *frame.Frame) {
				f.Receipts[0] = frame.Receipt{Position: record.Position{Number: 8}, Received: 8}
			},
			frame.StopAboveLast,
			"site B has accepted messages from this site up to 8 in lane 0, but this site's store has only 7: " + older,
		},
		{
			"another hash at the lowest kept number",
			func(_ *site, f *frame.Frame) { f.Receipts[0].Hash = record.Hash{1} },
			frame.StopOtherHash,
			"this site and B disagree about the messages up to 5 in lane 0 (hash ",
		},
		{
			"another hash at a number that has to be read",
			func(_ *site, f *frame.Frame) {
				f.Receipts[0] = frame.Receipt{Position: record.Position{Number: 6}, Received: 6}
			},
			frame.StopOtherHash,
			"this site and B disagree about the messages up to 6 in lane 0 (hash ",
		},
		{
			"the peer has a new store",
			func(_ *site, f *frame.Frame) { f.Hello.Incarnation = record.Incarnation{9} },
			frame.StopNewIncarnation,
			"site B has another store than the one known here (known 02000000000000000000000000000000, now 09000000000000000000000000000000): " +
				"its data directory was replaced or emptied, or another machine uses its name: put the known store of B back, or give the new site a name of its own",
		},
		{
			"this site has a new store",
			func(_ *site, f *frame.Frame) { f.Hello.Known = record.Incarnation{7} },
			frame.StopNewIncarnation,
			"site B knows this site by another store (known there 07000000000000000000000000000000, here 01000000000000000000000000000000): " +
				"this site's data directory was replaced or emptied, or its name was used by another machine: put the known store back, or give this site a name of its own",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, 1)
			a, b := w.sites[0], w.sites[1]
			a.known = b.incarnation
			for n := range 7 {
				a.put(0, fmt.Sprint(n))
			}
			a.low[0] = 5
			a.accepted[0].Number = 3
			w.start(a)
			hello := w.hello(b, a)
			hello.Receipts[0] = frame.Receipt{Position: a.position(0, 5), Received: 5}
			tt.change(a, hello)
			w.packets = nil
			w.step(a, Received{Via: a.via, Frame: hello})
			if a.stopped == nil || a.stopped.Code != tt.code || !strings.HasPrefix(a.stopped.Reason, tt.want) {
				t.Fatalf("got %+v, expected code %d and %q", a.stopped, tt.code, tt.want)
			}
			if a.trim != a.low {
				t.Fatalf("items were let go: %d", a.trim)
			}
			said, err := frame.Decode(w.packets[len(w.packets)-1].data)
			if err != nil || said.Stop == nil || *said.Stop != *a.stopped {
				t.Fatalf("the peer was told %+v, %v", said, err)
			}
		})
	}
}

// L1: it is stopped both ways, whichever side sees it first.
func TestStopReachesBothSides(t *testing.T) {
	tests := map[string]func(a, b *site){
		"sender restored":   func(a, _ *site) { a.forgetItems(3) },
		"receiver restored": func(a, b *site) { b.accepted[0] = a.position(0, 2) },
		"new store":         func(a, _ *site) { a.incarnation = record.Incarnation{9} },
		"sender went on from a backup": func(a, _ *site) {
			a.forgetItems(3)
			for range 3 {
				a.put(0, "something else")
			}
		},
	}
	for name, happen := range tests {
		t.Run(name, func(t *testing.T) {
			w, a, b := exchanged(t)
			happen(a, b)
			w.start(b)
			w.restart(a)
			if a.stopped == nil || b.stopped == nil {
				t.Fatalf("stopped: %+v and %+v", a.stopped, b.stopped)
			}
			if a.stopped.Code == frame.StopByPeer && b.stopped.Code == frame.StopByPeer {
				t.Fatalf("nobody saw it: %+v and %+v", a.stopped, b.stopped)
			}
			if len(b.delivered[0]) != 5 {
				t.Fatalf("%d items were accepted, expected 5", len(b.delivered[0]))
			}
		})
	}
}

// L1: the receiver sees it too, when items do not follow on what it has.
func TestItemsThatDoNotFollowStopTheLink(t *testing.T) {
	w, a, b := exchanged(t)
	payload := []byte("sixth of another history")
	prev := record.Hash{7}
	w.step(b, Received{Via: b.via, Frame: &frame.Frame{
		Version: 1, Type: frame.TypeData, From: a.core.cfg.Session, To: b.core.cfg.Session, Seq: 1 << 40,
		Receipts: [record.Lanes]frame.Receipt{{Position: b.lasts()[0], Received: 5}},
		Data:     &frame.Data{First: 6, Prev: prev, End: record.HashNext(prev, payload), Payloads: [][]byte{payload}},
	}})
	if b.stopped == nil || b.stopped.Code != frame.StopOtherHash || !strings.Contains(b.stopped.Reason, "disagree about the messages up to 5 in lane 0") {
		t.Fatalf("expected a stop for another hash, got %+v", b.stopped)
	}
	w.calm(1)
	if a.stopped == nil || !strings.HasPrefix(a.stopped.Reason, "site B stopped the link and says: ") {
		t.Fatalf("the peer was not told: %+v", a.stopped)
	}
	if len(b.delivered[0]) != 5 {
		t.Fatalf("%d items were accepted, expected 5", len(b.delivered[0]))
	}
}

// A stopped link stays so until the daemon starts again, and tells whoever calls.
func TestStoppedLinkStaysStopped(t *testing.T) {
	w, a, b := exchanged(t)
	a.forgetItems(3)
	w.restart(a)
	reason := a.stopped.Reason
	w.putSome(a, 0, 3)
	w.step(a, Items{})
	w.step(a, Accepted{})
	w.calm(3)
	if len(b.delivered[0]) != 5 || a.core.established() || a.core.Restless() {
		t.Fatal("a stopped link went on")
	}
	a.via++
	w.step(a, Connected{Via: a.via})
	w.restart(b) // only the peer was started again, and calls: it hears the reason
	if b.stopped == nil || b.stopped.Code != frame.StopByPeer || b.stopped.Reason != reasonByPeer("A", reason) {
		t.Fatalf("the peer that called a stopped link was not told why: %+v", b.stopped)
	}
}

// The store that was missing is put back: both daemons start, and the link goes on.
func TestStoppedLinkGoesOnAfterRepair(t *testing.T) {
	w, a, b := exchanged(t)
	whole := slices.Clone(a.items[0])
	a.forgetItems(3)
	w.restart(a)
	a.items[0], a.low[0] = whole, 5
	b.stopped = nil
	w.start(b)
	w.restart(a)
	w.putSome(a, 0, 3)
	w.calm(60)
	w.checkDelivered()
}

func (w *world) hello(from, to *site) *frame.Frame {
	return &frame.Frame{
		Version: 1, Type: frame.TypeHello, From: 4711, To: to.core.cfg.Session, Seq: 1, Challenge: 3, Answer: to.core.greeting,
		Hello: &frame.Hello{Node: from.name, Expected: to.name, Incarnation: from.incarnation, Known: to.incarnation, MinVersion: 1, MaxVersion: 1},
	}
}

// alone is a site A that waits for B, and a frame of hers that it can be given.
func alone(t *testing.T) (w *world, a *site, hello *frame.Frame) {
	t.Helper()
	w = newWorld(t, 1)
	w.start(w.sites[0])
	return w, w.sites[0], w.hello(w.sites[1], w.sites[0])
}

// The address of B leads to C: the link to B stops, at whichever side it is seen.
func TestDialingTheWrongSiteStopsTheLink(t *testing.T) {
	want := "the address that is configured for site B is answered by site C: correct the address of B in this site's configuration and reload it, or see where its name leads; then here: fmqm links retry B"
	for _, seen := range []string{"here", "there"} {
		t.Run(seen, func(t *testing.T) {
			w, a, hello := alone(t)
			hello.Hello.Node = "C"
			f := hello
			if seen == "there" {
				f = &frame.Frame{Version: 1, Type: frame.TypeStop, From: 4711, To: a.core.cfg.Session, Seq: 1, Stop: &frame.Stop{Code: frame.StopWrongNode, Node: "C", Reason: "x", Final: true}}
			}
			w.step(a, Received{Via: a.via, Frame: f})
			if a.stopped == nil || a.stopped.Code != frame.StopWrongNode || a.stopped.Reason != want {
				t.Fatalf("got %+v, expected %q", a.stopped, want)
			}
		})
	}
}

// What a caller got wrong ends its connection and not the link that it meant.
func TestRefusedConnectionLeavesTheLinkAlone(t *testing.T) {
	tests := []struct {
		name   string
		change func(*frame.Hello)
		reason string
		final  bool
	}{
		{
			"called by a wrong name", func(h *frame.Hello) { h.Expected = "A2" },
			"site B called site A2, but this is site A: correct the address of A2 in the configuration of B", true,
		},
		{
			"peer is newer", func(h *frame.Hello) { h.MinVersion, h.MaxVersion = 4, 5 },
			"site B reads frame formats 4 to 5, this site reads 1 to 3: upgrade this site", false,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, a, hello := alone(t)
			tt.change(hello.Hello)
			effects := a.core.Step(Received{Via: a.via, Frame: hello})
			var said *frame.Stop
			closed := ""
			for _, e := range effects {
				switch e := e.(type) {
				case Send:
					said = e.Frame.Stop
				case Close:
					closed = e.Reason
				case Stopped:
					t.Fatalf("the link is stopped: %s", e.Stop.Reason)
				default:
				}
			}
			if said == nil || said.Reason != tt.reason || said.Final != tt.final || closed != tt.reason {
				t.Fatalf("said %+v, closed with %q; expected %q", said, closed, tt.reason)
			}
		})
	}
}

func TestRefusalThatIsNotFinalIsTriedAgain(t *testing.T) {
	_, a, _ := alone(t)
	stop := &frame.Frame{Version: 1, Type: frame.TypeStop, From: 4711, To: a.core.cfg.Session, Seq: 1, Stop: &frame.Stop{Code: frame.StopUnknownPeer, Node: "B", Reason: "no peer A is configured here"}}
	effects := a.core.Step(Received{Via: a.via, Frame: stop})
	want := Close{Via: a.via, Reason: `site B ended the connection and says: "no peer A is configured here"`}
	if len(effects) != 1 || effects[0] != Effect(want) {
		t.Fatalf("got %+v, expected %+v", effects, want)
	}
}

// twins is a site A that has spoken with B and then hears, on another transport, a
// second daemon of B's name and store.
type twins struct {
	t        *testing.T
	w, other *world
	a, b     *site
	twin     *site
}

const second = 50 // A's transport to the twin

func newTwins(t *testing.T) *twins {
	t.Helper()
	w, a, b := exchanged(t)
	twin := &site{index: 1, name: "B", incarnation: b.incarnation, known: b.known, items: b.items, low: b.low, accepted: b.accepted, delivered: b.delivered}
	other := &world{t: t, rng: w.rng, sites: [2]*site{a, twin}, session: 100}
	other.start(twin)
	w.step(a, Connected{Via: second})
	return &twins{t: t, w: w, other: other, a: a, b: b, twin: twin}
}

// round carries what is under way, and lets a tick pass; B hears it only if it lives.
func (w *twins) round(alive bool) {
	for len(w.w.packets)+len(w.other.packets)+len(w.twin.accepts)+len(w.a.accepts) > 0 {
		packets := append(w.w.packets, w.other.packets...)
		w.w.packets, w.other.packets = nil, nil
		for _, p := range packets {
			f, err := frame.Decode(p.data)
			if err != nil {
				w.t.Fatal(err)
			}
			switch {
			case p.to == 0 && f.From == w.twin.core.cfg.Session:
				w.w.step(w.a, Received{Via: second, Frame: &f})
			case p.to == 0:
				w.w.step(w.a, Received{Via: 1, Frame: &f})
			case p.via == second:
				w.other.step(w.twin, Received{Via: w.twin.via, Frame: &f})
			case alive:
				w.w.step(w.b, Received{Via: w.b.via, Frame: &f})
			}
		}
		w.other.settleAccept(w.twin)
		w.w.settleAccept(w.a)
	}
	w.w.step(w.a, Tick{})
	w.w.step(w.b, Tick{})
	w.other.step(w.twin, Tick{})
}

// L1: two daemons with one name, both alive.
func TestTwoDaemonsUnderOneName(t *testing.T) {
	w := newTwins(t)
	for range 3 {
		w.round(true)
	}
	if w.a.stopped == nil || w.a.stopped.Code != frame.StopTwoDaemons {
		t.Fatalf("two daemons were not noticed: %+v", w.a.stopped)
	}
	want := "two daemons run under the name B (sessions 2 and 65, both alive): stop one of them, and see that no copy of its data directory is in use, then here: fmqm links retry B"
	if w.a.stopped.Reason != want {
		t.Fatalf("got %q, expected %q", w.a.stopped.Reason, want)
	}
	if w.b.stopped == nil || w.twin.stopped == nil {
		t.Fatal("the two were not told")
	}
}

// A machine lost its power and came back: its old connection is silent and not closed.
// That is one daemon, and the link goes on with it.
func TestSilentConnectionOfAnEarlierLifeIsGivenUp(t *testing.T) {
	w := newTwins(t)
	w.w.putSome(w.a, 0, 3)
	for range 3 * rivalLimit {
		w.round(false)
	}
	if w.a.stopped != nil {
		t.Fatalf("stopped: %s", w.a.stopped.Reason)
	}
	if got := len(w.twin.delivered[0]); got != 8 || w.a.trim[0] != 8 {
		t.Fatalf("%d items arrived, %d trimmed; expected 8", got, w.a.trim[0])
	}
}

// A session that another one followed comes back alive: its daemon was never gone.
func TestSessionThatComesBackIsASecondDaemon(t *testing.T) {
	w, a, b := exchanged(t)
	first := b.core.cfg.Session
	w.start(b)
	w.calm(60)
	w.step(a, Disconnected{Via: a.via})
	a.via++
	w.step(a, Connected{Via: a.via})
	again := w.hello(b, a)
	again.From = first
	w.step(a, Received{Via: a.via, Frame: again})
	if a.stopped == nil || a.stopped.Code != frame.StopTwoDaemons {
		t.Fatalf("got %+v", a.stopped)
	}
}

// A daemon that crashed and was started again is not a second one, however late its
// last frames come.
func TestRestartIsNotASecondDaemon(t *testing.T) {
	w, a, b := exchanged(t)
	w.putSome(b, 0, 3)
	late := slices.Clone(w.packets)
	oldHello := w.hello(b, a)
	oldHello.From = b.core.cfg.Session
	w.packets = nil
	w.start(b)
	w.calm(60)
	for _, p := range late {
		f, err := frame.Decode(p.data)
		if err != nil {
			t.Fatal(err)
		}
		w.step(a, Received{Via: a.via, Frame: &f})
	}
	oldHello.Answer = 0
	w.step(a, Received{Via: a.via, Frame: oldHello})
	w.putSome(a, 0, 2)
	w.calm(60)
	w.checkDelivered()
	if a.core.peer.session != b.core.cfg.Session {
		t.Fatal("site A does not speak to the daemon that runs")
	}
}
