package core

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"fmqm/link/frame"
	"fmqm/message"
	"fmqm/queue/record"
)

// L1, L3, L4, L5, invariant 5: over a network that loses, repeats, reorders and
// damages, between sites that crash, each item arrives once and in order, and what
// was confirmed is let go. No such fault stops a link.
func TestEveryItemArrivesOnceAndInOrder(t *testing.T) {
	eachSeed(t, 200, func(t *testing.T, seed uint64) {
		w := newWorld(t, seed)
		w.faults = true
		w.start(w.sites[0])
		w.start(w.sites[1])
		for range 1500 {
			s := w.sites[w.rng.IntN(2)]
			switch p := w.rng.IntN(1000); {
			case p < 60:
				w.putSome(s, message.Lane(w.rng.IntN(record.Lanes)), 1+w.rng.IntN(8))
			case p < 64:
				w.crash(s)
			case p < 68:
				s.via++
				w.step(s, Disconnected{Via: s.via - 1})
				w.step(s, Connected{Via: s.via, Dialed: true})
			case p < 200:
				w.settleAccept(s)
			case p < 260:
				w.step(s, Tick{})
			default:
				w.hazard()
			}
		}
		w.calm(200)
		w.checkDelivered()
		w.checkAtRest()
	})
}

// data is what the sender sends for items from..to of a lane 0.
func (s *site) data(to *site, from, last uint64) *frame.Frame {
	d := &frame.Data{First: from, Prev: s.position(0, from-1).Hash, End: s.position(0, last).Hash}
	for _, i := range s.items[0][from-1 : last] {
		d.Payloads = append(d.Payloads, i.Payload)
	}
	f := &frame.Frame{Version: 1, Type: frame.TypeData, From: s.core.cfg.Session, To: to.core.cfg.Session, Data: d}
	return f // Seq 0 is older than all: its receipts count for nothing
}

// types lists the frames among effects.
func types(effects []Effect) (sent []frame.Type) {
	for _, e := range effects {
		if s, ok := e.(Send); ok {
			sent = append(sent, s.Frame.Type)
		}
	}
	return sent
}

// L4: what was seen is dropped, and confirmed again at once.
func TestSeenItemsAreConfirmedAgain(t *testing.T) {
	_, a, b := exchanged(t)
	effects := b.core.Step(Received{Via: b.via, Frame: a.data(b, 2, 4)})
	if got := types(effects); len(effects) != 1 || !slices.Equal(got, []frame.Type{frame.TypeAck}) {
		t.Fatalf("got %+v", effects)
	}
	if b.core.repeats != 3 {
		t.Errorf("%d repeats are counted, 3 came", b.core.repeats)
	}
	a.put(0, "6") // with two that had come
	b.core.Step(Received{Via: b.via, Frame: a.data(b, 4, 6)})
	if b.core.repeats != 5 || b.core.in[0].received.Number != 6 {
		t.Errorf("%d repeats are counted, 5 came; received up to %d", b.core.repeats, b.core.in[0].received.Number)
	}
}

// A gap is asked for once, and again only after a while.
func TestGapIsAskedForOnce(t *testing.T) {
	w, a, b := exchanged(t)
	for n := range 9 {
		a.put(0, fmt.Sprint(n))
	}
	gaps := 0
	give := func(first uint64) {
		for _, e := range b.core.Step(Received{Via: b.via, Frame: a.data(b, first, first)}) {
			s, ok := e.(Send)
			if !ok || s.Frame.Type != frame.TypeGap || s.Frame.Gap.From != 6 {
				t.Fatalf("item %d: got %+v", first, e)
			}
			gaps++
		}
	}
	give(7)
	give(8)
	give(9)
	if gaps != 1 {
		t.Fatalf("asked %d times", gaps)
	}
	for range gapPause {
		w.step(b, Tick{})
	}
	give(10)
	if gaps != 2 {
		t.Fatalf("asked %d times after a while, expected 2", gaps)
	}
	if len(b.accepts) != 0 || b.core.in[0].received.Number != 5 {
		t.Fatal("something behind the gap was taken")
	}
}

// A receiver whose store is slow says that it has everything: nothing is sent again.
func TestSlowStoreIsNotSentEverythingAgain(t *testing.T) {
	w, a, _ := exchanged(t)
	w.putSome(a, 0, 20)
	data := 0
	for range 50 {
		for len(w.packets) > 0 {
			f, err := frame.Decode(w.packets[0].data)
			if err != nil {
				t.Fatal(err)
			}
			if f.Type == frame.TypeData {
				data += len(f.Data.Payloads)
			}
			w.deliver(0, w.packets[0].data)
			w.remove(0)
		}
		w.step(a, Tick{})
	}
	if data != 20 {
		t.Fatalf("%d items were sent, expected 20", data)
	}
	w.calm(1)
	w.checkDelivered()
}

// What a receiver holds in memory is bounded, whatever the sender does.
func TestReceiverHoldsNoMoreThanItsWindow(t *testing.T) {
	_, a, b := exchanged(t)
	payload := strings.Repeat("x", 100)
	for n := uint64(6); n < 1000; n++ {
		a.put(0, payload)
		b.core.Step(Received{Via: b.via, Frame: a.data(b, n, n)})
	}
	if held := b.core.in[0].bytes; held > 2000+100 {
		t.Fatalf("%d bytes are held with a window of 2000", held)
	}
}

// Acknowledgements ride on frames that go the other way; alone only where none goes.
func TestAcknowledgementsRide(t *testing.T) {
	_, a, b := exchanged(t)
	a.put(0, "sixth")
	b.core.Step(Received{Via: b.via, Frame: a.data(b, 6, 6)})
	b.put(0, "something for A")
	b.core.Step(Woken{Last: b.lasts()}) // a Read is under way
	if got := b.core.Step(Accepted{Token: b.core.in[0].under.token, Lane: 0, At: a.position(0, 6)}); len(got) != 0 {
		t.Fatalf("got %+v, expected the acknowledgement to wait for the items", got)
	}
	effects := b.core.Step(b.read(Read{Token: b.core.out[0].reading, Lane: 0, From: 6, MaxBytes: 100}))
	if got := types(effects); !slices.Equal(got, []frame.Type{frame.TypeData}) {
		t.Fatalf("got %+v", effects)
	}
	if got := effects[0].(Send).Frame.Receipts[0].Number; got != 6 {
		t.Fatalf("the items carry a receipt up to %d, expected 6", got)
	}
}

// L3: of two transports the one that the site with the smaller name dialed is used;
// the other is read for a while, then closed.
func TestTieBreakLingers(t *testing.T) {
	w, a, b := exchanged(t)
	const called = 50 // dialed by B; via 1 was dialed by A
	w.step(a, Connected{Via: called})
	hello := w.hello(b, a)
	hello.From = b.core.cfg.Session
	w.step(a, Received{Via: called, Frame: hello})
	w.packets = nil
	w.putSome(a, 0, 1)
	if len(w.packets) != 1 || w.packets[0].via != 1 {
		t.Fatalf("sent on %+v", w.packets)
	}
	b.put(0, "under way on the one that lost")
	effects := a.core.Step(Received{Via: called, Frame: b.data(a, 6, 6)})
	if len(effects) != 1 {
		t.Fatalf("got %+v", effects)
	}
	if _, ok := effects[0].(Accept); !ok {
		t.Fatalf("got %+v, expected the item to be accepted", effects[0])
	}
	for n := range lingerLimit {
		closed := slices.Contains(a.core.Step(Tick{}), Effect(Close{Via: called}))
		if closed != (n == lingerLimit-1) {
			t.Fatalf("tick %d: closed is %t", n+1, closed)
		}
	}
	if !a.core.established() {
		t.Fatal("the conversation ended")
	}
}
