package core

import (
	"testing"
	"time"
)

// A link with nothing to carry sends nothing by itself, on whatever transport: what shows
// that the peer is there is the transport's.
func TestAnIdleHourCostsNoFrame(t *testing.T) {
	for name, shared := range map[string]bool{"direct": false, "through a broker": true} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, 1)
			w.ways = &ways{world: w}
			for _, s := range w.sites {
				w.session++
				s.core = New(Config{Self: s.name, Peer: w.sites[1-s.index].name, Incarnation: s.incarnation, Session: w.session})
				w.step(s, Connected{Via: 1, Dialed: true, Shared: shared})
			}
			frames, woken := 0, 0
			carry := func() {
				for len(w.packets) > 0 || len(w.sites[0].accepts)+len(w.sites[1].accepts) > 0 {
					if len(w.packets) > 0 {
						frames++
						w.deliver(0, w.packets[0].data)
						w.remove(0)
					}
					w.settleAccept(w.sites[0])
					w.settleAccept(w.sites[1])
				}
			}
			pass := func(d time.Duration) {
				for range d / TickInterval {
					for _, s := range w.sites {
						if s.core.Restless() {
							woken++
							w.step(s, Tick{})
						}
					}
					carry()
				}
			}
			pass(time.Minute)
			w.putSome(w.sites[0], 0, 20)
			pass(time.Minute)
			w.checkDelivered()
			if frames == 0 || !w.sites[0].core.established() || !w.sites[1].core.established() {
				t.Fatal("the sites are not connected")
			}
			frames, woken = 0, 0
			pass(time.Hour)
			if frames != 0 || woken != 0 {
				t.Errorf("%d frames and %d ticks in an idle hour", frames, woken)
			}
		})
	}
}
