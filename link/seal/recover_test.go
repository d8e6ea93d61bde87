package seal_test

import (
	"bytes"
	"crypto/ed25519"
	"errors"
	"slices"
	"testing"

	"fmqm/link/seal"
	"fmqm/processtable"
)

func exchange(t tb, a, b *end) {
	t.Helper()
	if !a.Ready() || !b.Ready() {
		t.Fatalf("no session: %q; %q", a.Waiting(), b.Waiting())
	}
	a.got, b.got = nil, nil
	a.say("to B")
	b.say("to A")
	settle(a, b)
	if !slices.Equal(a.got, []string{"to A"}) || !slices.Equal(b.got, []string{"to B"}) {
		t.Fatalf("A got %q, B got %q", a.got, b.got)
	}
}

func TestBothOpenAtOnce(t *testing.T) {
	modes(t, func(t *testing.T, configure func(self, peer string, seed uint64) seal.Config) {
		a, b := newEnd(t, configure("A", "B", 1)), newEnd(t, configure("B", "A", 2))
		for len(a.out)+len(b.out) > 0 || !a.Ready() { // one envelope of each at a time, so that all cross
			a.open()
			b.open()
			fromA, fromB := a.out, b.out
			a.out, b.out = nil, nil
			for _, data := range fromA {
				b.take(data)
			}
			for _, data := range fromB {
				a.take(data)
			}
		}
		if a.ready != 1 || b.ready != 1 {
			t.Errorf("became ready %d and %d times", a.ready, b.ready)
		}
		exchange(t, a, b)
	})
}

func TestARestartMakesANewSession(t *testing.T) {
	modes(t, func(t *testing.T, configure func(self, peer string, seed uint64) seal.Config) {
		a, _ := pair(t, configure)
		b := newEnd(t, configure("B", "A", 3))
		b.open()
		if n := len(settle(a, b)); n != 4 {
			t.Errorf("%d envelopes", n)
		}
		exchange(t, a, b)
		if a.ready != 2 {
			t.Errorf("A was told of %d sessions", a.ready)
		}
	})
}

// Each envelope of a handshake may be the one that is lost: calling Open again mends it.
func TestAnyLostEnvelope(t *testing.T) {
	modes(t, func(t *testing.T, configure func(self, peer string, seed uint64) seal.Config) {
		for lost := range 4 {
			for _, restarted := range []bool{false, true} {
				a, b := newEnd(t, configure("A", "B", 1)), newEnd(t, configure("B", "A", 2))
				if restarted { // A has a session of which B knows nothing any more
					a, _ = pair(t, configure)
					b = newEnd(t, configure("B", "A", 3))
					a, b = b, a
				}
				a.open()
				for i := 0; len(a.out)+len(b.out) > 0; i++ {
					from, to := a, b
					if len(a.out) == 0 {
						from, to = b, a
					}
					data := from.out[0]
					from.out = from.out[1:]
					if i != lost {
						to.take(data)
					}
				}
				for _, e := range []*end{a, b} { // as a shell does that asks only while not ready
					if !e.Ready() {
						e.open()
					}
				}
				settle(a, b)
				exchange(t, a, b)
			}
		}
	})
}

// Each has a session that the other will never know: an old envelope came in between.
// Open sees to a new one.
func TestTwoHalvesThatDoNotFit(t *testing.T) {
	modes(t, func(t *testing.T, configure func(self, peer string, seed uint64) seal.Config) {
		a, b := newEnd(t, configure("A", "B", 1)), newEnd(t, configure("B", "A", 2))
		a.open()
		b.take(a.out[0])
		late := b.out[0]
		b = newEnd(t, configure("B", "A", 3))
		b.open()
		a.take(b.out[0])
		proof := a.out[1]
		a.take(late)
		b.take(proof)
		a.out, b.out = nil, nil
		if a.Waiting() == "no answer from B yet" || b.Waiting() == "no answer from A yet" {
			t.Fatalf("not the case that is meant: %s; %s", a.Waiting(), b.Waiting())
		}
		calls := 0
		for ; !a.Ready() || !b.Ready(); calls++ {
			if calls > 8 {
				t.Fatalf("still nothing: %s; %s", a.Waiting(), b.Waiting())
			}
			a.open()
			b.open()
			settle(a, b)
		}
		exchange(t, a, b)
	})
}

// A broker's queue may hold the hellos of a day: they cost a few answers, not one each.
func TestADayOfHellos(t *testing.T) {
	a, b := newEnd(t, config("A", "B", 1)), newEnd(t, config("B", "A", 2))
	for range 2880 {
		a.open()
	}
	for _, hello := range a.out {
		b.take(hello)
	}
	if n := len(b.out); n > 200 {
		t.Errorf("%d answers", n)
	}
	a.out = nil
	settle(b, a)
	exchange(t, a, b)
}

func TestRenew(t *testing.T) {
	modes(t, func(t *testing.T, configure func(self, peer string, seed uint64) seal.Config) {
		a, b := pair(t, configure)
		old := a.say("before")
		a.out = nil
		out, err := a.Renew()
		if err != nil {
			t.Fatal(err)
		}
		if len(out) != 1 || !a.Ready() {
			t.Fatalf("%d envelopes, ready %v", len(out), a.Ready())
		}
		a.open() // the first hello is lost
		settle(a, b)
		if a.ready != 2 || b.ready != 2 {
			t.Errorf("became ready %d and %d times", a.ready, b.ready)
		}
		b.take(old)
		if len(b.got) != 0 {
			t.Errorf("a frame of the session before was taken: %q", b.got)
		}
		exchange(t, a, b)
		a.open()
		b.open()
		if n := len(settle(a, b)); n != 0 {
			t.Errorf("%d envelopes although nothing is missing", n)
		}
	})
}

// A hello of long ago, come late, leaves an offer behind; nobody goes on with it.
func TestNobodyGoesOnWithAStrayHello(t *testing.T) {
	a, b := pair(t, config)
	stray := newEnd(t, config("B", "A", 9))
	stray.open()
	a.take(stray.out[0])
	settle(a, b)
	a.open()
	b.open()
	if n := len(settle(a, b)); n != 0 {
		t.Errorf("%d envelopes", n)
	}
	b2 := newEnd(t, config("B", "A", 10)) // and it does not stand in the way of a true one
	b2.open()
	settle(a, b2)
	exchange(t, a, b2)
}

// Who has proved himself and hears the same hello again says so; it makes no other session.
func TestAHelloOfASessionThatIsHalfThere(t *testing.T) {
	a, b := newEnd(t, config("A", "B", 1)), newEnd(t, config("B", "A", 2))
	a.open()
	b.take(a.out[0])
	a.take(b.out[0])
	a.out, b.out = nil, nil // A's proof is lost
	b.open()
	if n := len(settle(a, b)); n != 3 {
		t.Errorf("%d envelopes, want the hello, A's proof and the empty frame", n)
	}
	exchange(t, a, b)
}

// A peer that is no longer accepted: its session ends at once, the proof that it goes on
// to send is judged anew, and where it is believed again another session begins.
func TestEndOfASession(t *testing.T) {
	believed := true
	own := config("B", "A", 2)
	own.Verify = func(chain [][]byte) (processtable.NodeID, ed25519.PublicKey, error) {
		if !believed {
			return "", nil, errors.New("called back")
		}
		return head.verify(chain)
	}
	a, b := newEnd(t, config("A", "B", 1)), newEnd(t, own)
	if b.PeerChain() != nil {
		t.Error("there is a peer before there is a session")
	}
	a.open()
	settle(a, b)
	if got := b.PeerChain(); len(got) != 1 || !bytes.Equal(got[0], head.issue("A").chain[0]) {
		t.Errorf("the peer has shown %q", got)
	}
	believed = false
	b.End()
	a.say("still here")
	settle(a, b)
	a.open()
	b.open()
	renewed, err := a.Renew()
	if err != nil {
		t.Fatal(err)
	}
	a.out = append(a.out, renewed...)
	settle(a, b)
	if b.Ready() || b.PeerChain() != nil || len(b.got) != 0 || !errors.Is(b.err, seal.ErrIdentity) {
		t.Errorf("ready %v, got %q, error %v", b.Ready(), b.got, b.err)
	}
	if _, err := b.Seal([]byte("x")); !errors.Is(err, seal.ErrNotReady) {
		t.Errorf("sealed: %v", err)
	}
	believed = true
	b.open()
	settle(a, b)
	exchange(t, a, b)
	c, d := pair(t, plain)
	if c.PeerChain() != nil || d.PeerChain() != nil {
		t.Error("in a plain session somebody is known")
	}
}
