package seal_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/fxamacker/cbor/v2"

	"fmqm/link/seal"
)

// Whatever bit of whatever envelope is flipped: nothing is taken, nothing changes, and
// the whole envelope is taken afterwards. Every third bit is tried, so each byte has its
// turn, and each place in a byte.
func TestFlippedBits(t *testing.T) {
	modes(t, func(t *testing.T, configure func(self, peer string, seed uint64) seal.Config) {
		a, b := newEnd(t, configure("A", "B", 1)), newEnd(t, configure("B", "A", 2))
		a.open()
		to, other := b, a
		for range 6 {
			if len(other.out) == 0 {
				to, other = other, to
			}
			if len(other.out) == 0 {
				other.say("a frame")
			}
			data := other.out[0]
			other.out = other.out[1:]
			ready, got := to.Ready(), len(to.got)
			for bit := 0; bit < len(data)*8; bit += 3 {
				flipped := bytes.Clone(data)
				flipped[bit/8] ^= 1 << (bit % 8)
				to.take(flipped)
				if to.Ready() != ready || len(to.got) != got || len(to.out) != 0 {
					t.Fatalf("bit %d of %x was flipped: ready %v, got %q, answered %x", bit, data, to.Ready(), to.got, to.out)
				}
			}
			to.take(data)
		}
		if !a.Ready() || !b.Ready() || len(a.got)+len(b.got) == 0 {
			t.Errorf("ready %v and %v, got %q and %q", a.Ready(), b.Ready(), a.got, b.got)
		}
	})
}

// What passes cannot be read, whatever the frames are; who has recorded all of it cannot
// read it later either, when he gets the key of a certificate: that never was what it is
// encrypted with. A frame that is sent twice, or in both directions, looks different.
func TestNobodyReads(t *testing.T) {
	const secret = "the customer's name and what is owed"
	for name, configure := range map[string]func(self, peer string, seed uint64) seal.Config{"encrypted": config, "where old peers are taken": lenient} {
		t.Run(name, func(t *testing.T) {
			a, b := pair(t, configure)
			seen := [][]byte{a.say(secret), a.say(secret), b.say(secret)}
			for i, data := range seen {
				for n := 8; n <= len(secret); n++ {
					if bytes.Contains(data, []byte(secret[n-8:n])) {
						t.Fatalf("%q can be read in %q", secret[n-8:n], data)
					}
				}
				for _, other := range seen[:i] {
					if cut := len(data) - 16 - len(secret); bytes.Equal(data[cut:], other[cut:]) {
						t.Error("the same text looks the same")
					}
				}
			}
			settle(a, b)
			if !slices.Equal(a.got, []string{secret}) || !slices.Equal(b.got, []string{secret, secret}) {
				t.Errorf("A got %q, B got %q", a.got, b.got)
			}
		})
	}
}

// downgraded is an envelope whose offers say that their makers read other versions, with
// the checksum of a hello in order; what is no handshake stays as it is.
func downgraded(data []byte, low, high byte) []byte {
	var m map[uint64]any
	if len(data) < 16 || cbor.Unmarshal(data[:len(data)-16], &m) != nil {
		return data
	}
	for _, key := range []uint64{5, 6} {
		if offer, ok := m[key].([]byte); ok && len(offer) > 2 {
			offer[0], offer[1] = low, high
		}
	}
	mode, err := cbor.CoreDetEncOptions().EncMode()
	if err != nil {
		return data
	}
	body, err := mode.Marshal(m)
	if err != nil {
		return data
	}
	sum := sha256.Sum256(body)
	return append(body, sum[:16]...)
}

// Two nodes that take old peers encrypt with each other. Who says to each that the other
// is old gets no session of theirs: what they sign, and their keys, are of what each of
// them has said itself.
func TestDowngrade(t *testing.T) {
	for name, forge := range map[string]func(data []byte) []byte{
		"both old":        func(data []byte) []byte { return downgraded(data, 1, 1) },
		"only new":        func(data []byte) []byte { return downgraded(data, 2, 2) },
		"older than that": func(data []byte) []byte { return downgraded(data, 0, 1) },
	} {
		t.Run(name, func(t *testing.T) {
			a, b := newEnd(t, lenient("A", "B", 1)), newEnd(t, lenient("B", "A", 2))
			a.open()
			b.open()
			for range 8 { // he carries everything, and changes each handshake
				from, to := a, b
				if len(a.out) == 0 {
					from, to = b, a
				}
				if len(from.out) == 0 {
					break
				}
				data := from.out[0]
				from.out = from.out[1:]
				to.take(forge(data))
			}
			if a.Ready() || b.Ready() {
				t.Fatalf("ready: A %v, B %v", a.Ready(), b.Ready())
			}
			a.out, b.out = nil, nil
			a.open()
			settle(a, b)
			if data := a.say("a frame"); bytes.Contains(data, []byte("a frame")) {
				t.Errorf("when he lets them be, they do not encrypt")
			}
			settle(a, b)
			if !slices.Equal(b.got, []string{"a frame"}) {
				t.Errorf("B got %q", b.got)
			}
		})
	}
}

// A node that takes nothing but encrypted frames has no session with one that writes none,
// and each says what to do; one that takes them has it, and so has the old one with it.
func TestAnOldPeer(t *testing.T) {
	a, b := newEnd(t, signed("A", "B", 1)), newEnd(t, config("B", "A", 2))
	a.open()
	b.open()
	settle(a, b)
	for _, e := range []*end{a, b} {
		if e.Ready() || !errors.Is(e.err, seal.ErrVersion) {
			t.Errorf("ready %v, error %v", e.Ready(), e.err)
		}
	}
	for _, first := range []bool{true, false} {
		a, b := newEnd(t, mixed("A", "B", 1)), newEnd(t, mixed("B", "A", 2))
		if first {
			a.open()
		} else {
			b.open()
		}
		settle(a, b)
		exchange(t, a, b)
	}
}

// In a session that encrypts no frame of version 1 is taken, whatever its tag, nor the
// other way round.
func TestAFrameOfAnotherVersion(t *testing.T) {
	for version, configure := range map[uint64]func(self, peer string, seed uint64) seal.Config{1: lenient, 2: mixed} {
		a, b := pair(t, configure)
		b.take(rewrite(t, a.say("a frame"), func(m map[uint64]any) { m[0] = version }))
		if len(b.got) != 0 || b.Counts().Forged != 1 {
			t.Errorf("version %d: got %q, counts %+v", version, b.got, b.Counts())
		}
	}
}

// Everything of a session, played back in any direction at any end, has no effect.
func TestARecordedSessionPlayedBack(t *testing.T) {
	modes(t, func(t *testing.T, configure func(self, peer string, seed uint64) seal.Config) {
		a, b := newEnd(t, configure("A", "B", 1)), newEnd(t, configure("B", "A", 2))
		a.open()
		b.open()
		recorded := settle(a, b)
		for i := range 3 {
			a.say(fmt.Sprint("a", i))
			b.say(fmt.Sprint("b", i))
		}
		recorded = append(recorded, settle(a, b)...)
		gotA, gotB := slices.Clone(a.got), slices.Clone(b.got)
		for range 3 {
			for _, data := range recorded {
				a.take(data)
				b.take(data)
			}
			settle(a, b)
		}
		if !slices.Equal(a.got, gotA) || !slices.Equal(b.got, gotB) || a.ready != 1 || b.ready != 1 {
			t.Errorf("A got %q, B got %q; ready %d and %d times", a.got, b.got, a.ready, b.ready)
		}
		if c := b.Counts(); c.Replayed != 12 || c.Foreign == 0 {
			t.Errorf("B counts %+v, want 9 frames and 3 empty ones replayed, and what was reflected", c)
		}

		// Into the next life of B: the frames of the one before mean nothing to it.
		b2 := newEnd(t, configure("B", "A", 3))
		b2.open()
		for _, data := range recorded {
			b2.take(data)
		}
		if len(b2.got) != 0 || b2.Ready() {
			t.Errorf("after a restart B took %q", b2.got)
		}
		settle(a, b2)
		a.say("again")
		settle(a, b2)
		if !slices.Equal(b2.got, []string{"again"}) {
			t.Errorf("B got %q", b2.got)
		}
	})
}

// A hello says nothing about who wrote it: it does not touch what is ready, whether it
// is of somebody else, or was the peer's own a year ago.
func TestAHelloDoesNotTouchASession(t *testing.T) {
	a, b := pair(t, config)
	old, err := seal.New(config("B", "A", 77)).Open() // B's, of another life
	if err != nil {
		t.Fatal(err)
	}
	for range 20 {
		a.take(old[0])
	}
	if n := len(a.out); n < 1 || n > 6 {
		t.Errorf("%d answers to the same hello 20 times", n)
	}
	for i := range 100 {
		mallory := newEnd(t, config("B", "A", uint64(100+i)))
		mallory.open()
		a.take(mallory.out[0])
	}
	settle(a, b)
	a.open()
	b.open()
	settle(a, b)
	a.say("still")
	b.say("here")
	settle(a, b)
	if len(b.got) != 1 || len(a.got) != 1 || a.ready != 1 || b.ready != 1 {
		t.Errorf("got %q and %q; ready %d and %d times", a.got, b.got, a.ready, b.ready)
	}
}

// Who stands between with a key of his own gets a session with neither, and what he
// only passes on is what he was given.
func TestWhoStandsBetween(t *testing.T) {
	a, b := newEnd(t, config("A", "B", 1)), newEnd(t, config("B", "A", 2))
	asB := config("B", "A", 3)
	asB.Identity = ca{"mallory"}.issue("B")
	asA := config("A", "B", 4)
	asA.Identity = ca{"mallory"}.issue("A")
	left, right := newEnd(t, asB), newEnd(t, asA)
	a.open()
	b.open()
	left.open()
	right.open()
	settle(a, left)
	settle(b, right)
	if a.Ready() || b.Ready() {
		t.Fatalf("sessions with a stranger: %v, %v", a.Ready(), b.Ready())
	}
	if !errors.Is(a.err, seal.ErrIdentity) || !errors.Is(b.err, seal.ErrIdentity) {
		t.Errorf("errors %v and %v", a.err, b.err)
	}
	a.open()
	b.open()
	settle(a, b)
	if !a.Ready() || !b.Ready() {
		t.Errorf("afterwards they do not find each other: %s; %s", a.Waiting(), b.Waiting())
	}
}

// The proof for one peer is worth nothing with another, although the same key signs.
func TestAProofForAnother(t *testing.T) {
	a := newEnd(t, config("A", "B", 1))
	b := newEnd(t, config("B", "C", 2)) // B's link with C
	a.open()
	hello := bytes.Replace(a.out[0], []byte("aA"), []byte("aC"), 1) // from C, the checksum aside
	b.take(hello)
	if len(b.out) != 0 {
		t.Fatalf("a damaged hello was answered")
	}
	c := newEnd(t, config("C", "B", 1)) // the same offer as A's, since of the same seed
	c.open()
	b.take(c.out[0])
	if len(b.out) != 1 {
		t.Fatalf("%d answers", len(b.out))
	}
	a.take(b.out[0])
	a.take(bytes.Replace(b.out[0], []byte("aC"), []byte("aA"), 1))
	if a.Ready() || a.Waiting() != "no answer from B yet" {
		t.Errorf("A took B's proof for C: %s", a.Waiting())
	}
	if counts := a.Counts(); counts.Foreign != 1 || counts.Forged != 1 {
		t.Errorf("A counts %+v", counts)
	}
}

// Frames of one session do not pass in another, nor those of one direction in the other.
func TestSplicedFrames(t *testing.T) {
	a, b := pair(t, config)
	x, y := newEnd(t, config("A", "B", 5)), newEnd(t, config("B", "A", 6))
	x.open()
	settle(x, y)
	data, other := a.say("one"), x.say("two")
	cut := len(data) - 16
	b.take(append(bytes.Clone(data[:cut]), other[cut:]...))
	b.take(other)
	swapped := bytes.Replace(data, []byte("aA\x03aB"), []byte("aB\x03aA"), 1)
	a.take(swapped)
	if len(a.got)+len(b.got) != 0 {
		t.Errorf("A got %q, B got %q", a.got, b.got)
	}
	if ca, cb := a.Counts(), b.Counts(); ca.Forged != 1 || cb.Forged != 1 || cb.Stale != 1 {
		t.Errorf("A counts %+v, B counts %+v", ca, cb)
	}
}

// The offers are there for all to see. Who has no key cannot say for the peer that it
// has the session, neither before it is ready nor afterwards.
func TestAForgedProofOfASessionThatIsThere(t *testing.T) {
	a, b := newEnd(t, config("A", "B", 1)), newEnd(t, config("B", "A", 2))
	a.open()
	b.take(a.out[0])
	proof := b.out[0]
	a.out = nil
	a.take(proof)
	a.out = nil
	forged := rewrite(t, proof, func(m map[uint64]any) { m[7] = true })
	a.take(forged)
	if a.Ready() || len(a.out) != 0 {
		t.Errorf("ready %v, answered with %d envelopes", a.Ready(), len(a.out))
	}
	a.open()
	settle(a, b)
	a.take(forged)
	if len(a.out) != 0 || a.Counts().Forged != 2 {
		t.Errorf("answered with %d envelopes, counts %+v", len(a.out), a.Counts())
	}
	exchange(t, a, b)
}
