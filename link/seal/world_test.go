package seal_test

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"fmqm/link/seal"
)

// world is two nodes and a broker in the hands of somebody who has recorded everything,
// has keys of his own, and decides what arrives.
type world struct {
	*rapid.T
	configure func(self, peer string, seed uint64) seal.Config
	sites     [2]*site
	flying    [2][][]byte // on its way to a site
	recorded  [][]byte
	mallory   [2]*end // who says to be that site, by an authority that nobody trusts
	encrypted bool    // both nodes can, so nothing that anybody does keeps them from it
	seeds     uint64
	frames    int
	sealed    map[string]life // every frame, and in which life of its receiver it was sealed
	given     map[string]bool
}

type life struct{ from, receiver int }

type site struct {
	*end
	name  string
	lives int
}

func newWorld(t *rapid.T, configure func(self, peer string, seed uint64) seal.Config) *world {
	w := &world{T: t, configure: configure, sealed: map[string]life{}, given: map[string]bool{}}
	w.seeds = rapid.Uint64Range(1, 1<<20).Draw(t, "seed")
	for i, name := range []string{"A", "B"} {
		w.sites[i] = &site{name: name}
		w.restart(i)
		c := w.configure(name, w.name(1-i), w.seed())
		if c.Identity != nil {
			c.Identity = ca{"mallory"}.issue(name)
		}
		w.mallory[i] = newEnd(t, c)
	}
	return w
}

func (w *world) name(i int) string { return string("AB"[i]) }

func (w *world) seed() uint64 { w.seeds++; return w.seeds }

func (w *world) site() int { return rapid.IntRange(0, 1).Draw(w.T, "site") }

func (w *world) restart(i int) {
	s := w.sites[i]
	s.end = newEnd(w.T, w.configure(w.name(i), w.name(1-i), w.seed()))
	s.lives++
}

// collect puts what a site says on its way.
func (w *world) collect(i int) {
	w.flying[1-i] = append(w.flying[1-i], w.sites[i].out...)
	w.recorded = append(w.recorded, w.sites[i].out...)
	w.sites[i].out = nil
}

// hand gives data to a site and checks what it takes.
func (w *world) hand(i int, data []byte) {
	s := w.sites[i]
	before := len(s.got)
	s.take(data)
	for _, frame := range s.got[before:] {
		made, authentic := w.sealed[frame]
		switch {
		case !authentic || made.from != 1-i:
			w.Fatalf("%s took %q, which its peer never sealed", s.name, frame)
		case made.receiver != s.lives:
			w.Fatalf("%s took %q, which was sealed for its life %d, in its life %d", s.name, frame, made.receiver, s.lives)
		case w.given[frame]:
			w.Fatalf("%s took %q twice", s.name, frame)
		}
		w.given[frame] = true
	}
	w.collect(i)
}

func (w *world) seal(i int) {
	s := w.sites[i]
	if !s.Ready() {
		return
	}
	w.frames++
	frame := fmt.Sprintf("%s %d", s.name, w.frames)
	w.sealed[frame] = life{i, w.sites[1-i].lives}
	if data := s.say(frame); w.encrypted && bytes.Contains(data, []byte(frame)) {
		w.Fatalf("%s sends %q, which the broker can read", s.name, frame)
	}
	w.collect(i)
}

// pick draws one of the envelopes on their way to i, and takes it from there if wanted.
func (w *world) pick(i int, keep bool) ([]byte, bool) {
	if len(w.flying[i]) == 0 {
		return nil, false
	}
	at := rapid.IntRange(0, len(w.flying[i])-1).Draw(w.T, "which")
	data := w.flying[i][at]
	if !keep {
		w.flying[i] = slices.Delete(w.flying[i], at, at+1)
	}
	return data, true
}

func (w *world) any() []byte {
	if len(w.recorded) == 0 {
		return []byte("nothing was said yet")
	}
	return bytes.Clone(w.recorded[rapid.IntRange(0, len(w.recorded)-1).Draw(w.T, "recorded")])
}

// steps are what nodes, network and attacker may do.
func (w *world) steps(restarts bool) map[string]func(*rapid.T) {
	steps := map[string]func(*rapid.T){
		"open": func(*rapid.T) { i := w.site(); w.sites[i].open(); w.collect(i) },
		"seal": func(*rapid.T) { w.seal(w.site()) },
		"deliver": func(*rapid.T) {
			i := w.site()
			if data, ok := w.pick(i, false); ok {
				w.hand(i, data)
			}
		},
		"deliver in order": func(*rapid.T) {
			i := w.site()
			for len(w.flying[i]) > 0 {
				data := w.flying[i][0]
				w.flying[i] = w.flying[i][1:]
				w.hand(i, data)
			}
		},
		"repeat": func(*rapid.T) {
			i := w.site()
			if data, ok := w.pick(i, true); ok {
				w.hand(i, data)
			}
		},
		"lose":   func(*rapid.T) { w.pick(w.site(), false) },
		"replay": func(*rapid.T) { w.hand(w.site(), w.any()) }, // to either: also back to who said it
		"flip": func(*rapid.T) {
			data := w.any()
			bit := rapid.IntRange(0, len(data)*8-1).Draw(w.T, "bit")
			data[bit/8] ^= 1 << (bit % 8)
			w.hand(w.site(), data)
		},
		"splice": func(*rapid.T) {
			one, two := w.any(), w.any()
			cut := rapid.IntRange(0, min(len(one), len(two))).Draw(w.T, "cut")
			w.hand(w.site(), append(one[:cut:cut], two[cut:]...))
		},
		"turn round": func(*rapid.T) { // what A said to B, as if B had said it to A
			data := w.any()
			data = bytes.Replace(data, []byte("\x02aA\x03aB"), []byte("\x02aX\x03aA"), 1)
			data = bytes.Replace(data, []byte("\x02aB\x03aA"), []byte("\x02aA\x03aB"), 1)
			data = bytes.Replace(data, []byte("\x02aX\x03aA"), []byte("\x02aB\x03aA"), 1)
			w.hand(w.site(), data)
		},
		"downgrade": func(t *rapid.T) {
			low, high := byte(rapid.IntRange(0, 3).Draw(t, "low")), byte(rapid.IntRange(0, 3).Draw(t, "high"))
			w.hand(w.site(), downgraded(w.any(), low, high))
		},
		"inject": func(*rapid.T) { // a handshake with keys of his own
			i := w.site()
			m := w.mallory[1-i]
			m.open()
			if len(w.recorded) > 0 {
				m.take(w.any())
			}
			for _, data := range m.out {
				w.hand(i, data)
			}
			m.out = nil
			if m.Ready() {
				w.Fatalf("a stranger has a session with %s", w.sites[i].name)
			}
		},
	}
	if restarts {
		steps["restart"] = func(*rapid.T) { w.restart(w.site()) }
		steps["renew"] = func(*rapid.T) {
			i := w.site()
			out, err := w.sites[i].Renew()
			if err != nil {
				w.Fatal(err)
			}
			w.sites[i].out = append(w.sites[i].out, out...)
			w.collect(i)
		}
	}
	return steps
}

// fair lets everything through for a while: both must come to a session, and talk.
func (w *world) fair() {
	for range 16 {
		for i := range w.sites {
			w.sites[i].open()
			w.collect(i)
		}
		for len(w.flying[0])+len(w.flying[1]) > 0 {
			for i := range w.sites {
				if len(w.flying[i]) > 0 {
					data := w.flying[i][0]
					w.flying[i] = w.flying[i][1:]
					w.hand(i, data)
				}
			}
		}
	}
	for i, s := range w.sites {
		if !s.Ready() {
			w.Fatalf("%s has no session on a network that lets everything through: %s", s.name, s.Waiting())
		}
		before := len(w.sites[1-i].got)
		w.seal(i)
		for _, data := range w.flying[1-i] {
			w.hand(1-i, data)
		}
		w.flying[1-i] = nil
		if len(w.sites[1-i].got) != before+1 {
			w.Fatalf("%s and its peer are in different sessions", s.name)
		}
	}
}

// Whatever the network and an attacker do, and wherever nodes are restarted: what is
// taken is authentic, of this life, and taken once; and as soon as envelopes come
// through, there is a session.
func TestSessionsOverAHostileBroker(t *testing.T) {
	for name, c := range map[string]struct {
		configure func(self, peer string, seed uint64) seal.Config
		encrypted bool
	}{"encrypted": {config, true}, "both": {lenient, true}, "old and new": {mixed, false}, "signed": {signed, false}} {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				w := newWorld(t, c.configure)
				w.encrypted = c.encrypted
				t.Repeat(w.steps(true))
				w.fair()
			})
		})
	}
}

// Plain sessions withstand the network, though not an attacker who writes envelopes.
func TestPlainSessionsOverABadNetwork(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t, plain)
		steps := w.steps(true)
		delete(steps, "inject")
		delete(steps, "turn round")
		delete(steps, "splice")
		t.Repeat(steps)
		w.fair()
	})
}

// A session that is ready stays, whatever is done to it, until one of the nodes is
// restarted: no new one takes its place, and each frame that arrives is taken.
func TestNobodyDisturbsASession(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t, config)
		w.fair()
		w.sites[0].ready, w.sites[1].ready = 0, 0
		steps := w.steps(false)
		steps[""] = func(*rapid.T) {
			for i, s := range w.sites {
				if !s.Ready() || s.ready != 0 {
					w.Fatalf("the session of %s was ended (%d new ones)", s.name, s.ready)
				}
				before, at := len(w.sites[1-i].got), len(w.flying[1-i])
				w.seal(i)
				w.hand(1-i, w.flying[1-i][at])
				if len(w.sites[1-i].got) != before+1 {
					w.Fatalf("a frame of %s was not taken", s.name)
				}
			}
		}
		t.Repeat(steps)
	})
}
