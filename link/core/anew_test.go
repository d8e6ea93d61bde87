package core

import (
	"fmt"
	"slices"
	"testing"

	"fmqm/link/frame"
	"fmqm/queue/record"
)

// loses makes a site come back with an empty store.
func (s *site) loses(store byte) {
	*s = site{index: s.index, name: s.name, incarnation: record.Incarnation{store}, formats: s.formats}
}

// decide is an operator's word at a site about the new store of its peer.
func (w *world) decide(s, peer *site) {
	w.step(s, Decide{ID: 1, NewStore: peer.incarnation})
	for len(s.accepts) > 0 {
		w.settleAccept(s)
	}
}

// L1: whatever a peer that lost its store, or was restored, makes of a link is found
// again after each restart, of either daemon, before anything is accepted or let go.
func TestDisagreementIsFoundAgainAfterRestarts(t *testing.T) {
	tests := map[string]func(a, b *site){
		"A lost its store":                func(a, _ *site) { a.loses(9); a.put(0, "new") },
		"A was restored":                  func(a, _ *site) { a.forgetItems(3) },
		"A was restored and went on":      func(a, _ *site) { a.forgetItems(3); a.put(0, "x"); a.put(0, "y"); a.put(0, "z") },
		"B has accepted less than it had": func(a, b *site) { b.accepted[0] = a.position(0, 2) },
	}
	for name, happen := range tests {
		t.Run(name, func(t *testing.T) {
			w, a, b := exchanged(t)
			for range 3 {
				a.put(0, "waits")
				b.put(0, "waits")
			}
			happen(a, b)
			for n := range 6 {
				low := [2][record.Lanes]uint64{a.low, b.low}
				got := [2]int{len(a.delivered[0]), len(b.delivered[0])}
				s := w.sites[n%2]
				other := w.sites[1-n%2]
				if other.core == nil || n == 0 {
					w.start(other)
				}
				other.via++
				w.step(other, Connected{Via: other.via})
				w.restart(s)
				if s.stopped == nil {
					t.Fatalf("restart %d: site %s is not stopped", n, s.name)
				}
				if now := [2]int{len(a.delivered[0]), len(b.delivered[0])}; now != got || a.trim != low[0] || b.trim != low[1] {
					t.Fatalf("restart %d: something was accepted (%v after %v) or let go", n, now, got)
				}
			}
		})
	}
}

// L1: after an operator's word the conversation begins anew over a network that loses,
// repeats and reorders, with sites that crash: what was not confirmed arrives once, and
// so does all that the new store sends.
func TestConversationBeginsAnewSeedBySeed(t *testing.T) {
	for seed := range 100 {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			w := newWorld(t, uint64(seed))
			a, b := w.sites[0], w.sites[1]
			w.start(a)
			w.start(b)
			w.putSome(a, 0, 1+w.rng.IntN(30))
			w.putSome(b, 1, 1+w.rng.IntN(30))
			w.calm(2)
			for l := range record.Lanes { // not all of it was let go on disk
				a.low[l] = a.trim[l] - min(a.trim[l], uint64(w.rng.IntN(4)))
			}
			w.packets = nil
			b.loses(7)
			w.start(b)
			w.restart(a)
			if a.stopped == nil || a.stopped.Code != frame.StopNewIncarnation || a.core.presented != b.incarnation {
				t.Fatalf("the new store was not noticed: %+v", a.stopped)
			}
			a.put(1, "waits for the decision")
			w.decide(a, b)
			kept := a.low
			w.faults = true
			w.step(a, Connected{Via: a.via, Dialed: true})
			b.via++
			w.step(b, Connected{Via: b.via, Dialed: true})
			for range 600 {
				s := w.sites[w.rng.IntN(2)]
				switch p := w.rng.IntN(100); {
				case p < 5:
					w.putSome(s, 0, 1+w.rng.IntN(4))
				case p < 6:
					w.crash(s)
				case p < 20:
					w.settleAccept(s)
				case p < 30:
					w.step(s, Tick{})
				default:
					w.hazard()
				}
			}
			w.calm(200)
			w.checkAnew(a, b, kept)
		})
	}
}

func (w *world) checkAnew(a, b *site, kept [record.Lanes]uint64) {
	w.t.Helper()
	for _, s := range w.sites {
		if s.stopped != nil && s.core.stopped != nil {
			w.t.Fatalf("site %s is stopped: %s", s.name, s.stopped.Reason)
		}
	}
	for l := range record.Lanes {
		for _, way := range []struct {
			from, to *site
			after    uint64
		}{{a, b, kept[l]}, {b, a, 0}} {
			var want []string
			for _, i := range way.from.items[l][way.after:] {
				want = append(want, string(i.Payload))
			}
			if got := way.to.delivered[l]; !slices.Equal(got, want) {
				w.t.Fatalf("lane %d: site %s got %d items, expected the %d after %d", l, way.to.name, len(got), len(want), way.after)
			}
		}
	}
}

// A peer of a version that knows nothing of beginnings cannot take the conversation up.
func TestOldPeerCannotBeginAnew(t *testing.T) {
	w := versions(t, frame.Current(), first)
	a, b := w.sites[0], w.sites[1]
	w.putSome(a, 0, 5)
	w.calm(2)
	a.low = a.trim
	b.loses(7)
	w.start(b)
	w.restart(a)
	w.decide(a, b)
	via := a.via + 1
	b.via, a.via = via, via
	w.step(b, Connected{Via: via})
	closed := ""
	w.packets = nil
	a.core.Step(Connected{Via: via})
	hello := w.hello(b, a)
	for _, e := range a.core.Step(Received{Via: via, Frame: hello}) {
		if e, ok := e.(Close); ok {
			closed = e.Reason
		}
	}
	if want := "site B runs a version that cannot begin again with another store: upgrade B"; closed != want {
		t.Fatalf("closed with %q, expected %q", closed, want)
	}
}
