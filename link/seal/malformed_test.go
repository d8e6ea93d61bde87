package seal_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"strings"
	"testing"

	"github.com/fxamacker/cbor/v2"

	"fmqm/link/seal"
)

// rewrite changes the fields of an envelope and gives it a checksum for a tag.
func rewrite(t *testing.T, data []byte, change func(m map[uint64]any)) []byte {
	t.Helper()
	var m map[uint64]any
	if err := cbor.Unmarshal(data[:len(data)-16], &m); err != nil {
		t.Fatal(err)
	}
	change(m)
	mode, err := cbor.CoreDetEncOptions().EncMode()
	if err != nil {
		t.Fatal(err)
	}
	body, err := mode.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(body)
	return append(body, sum[:16]...)
}

func TestEnvelopesThatAreNone(t *testing.T) {
	carried := scene(t, config)
	hello, proof, frame := carried[0], carried[1], carried[4]
	field := func(of []byte, key uint64, value any) []byte {
		return rewrite(t, of, func(m map[uint64]any) {
			if value == nil {
				delete(m, key)
				return
			}
			m[key] = value
		})
	}
	offer := func(low, high byte) []byte {
		return field(hello, 5, append([]byte{low, high}, make([]byte, 48)...))
	}
	for _, c := range []struct {
		name string
		data []byte
		want error
		text string
	}{
		{"nothing", nil, seal.ErrMalformed, "0 bytes: expected 16 to"},
		{"too much", make([]byte, seal.MaxEnvelope+1), seal.ErrMalformed, "expected 16 to 4195328"},
		{"noise", bytes.Repeat([]byte{0xff}, 64), seal.ErrMalformed, "expected map"},
		{"cut off", frame[:len(frame)-20], seal.ErrMalformed, "ends too early"},
		{"more behind it", append(bytes.Clone(frame), 1), seal.ErrMalformed, "the data should end here"},
		{"a newer version", field(frame, 0, 3), seal.ErrVersion, "A writes version 3, and this reads up to version 2: update the older of the two nodes"},
		{"a handshake of a newer version", field(hello, 0, 2), seal.ErrMalformed, "kind 1 of version 2: expected 1"},
		{"a reader of newer versions only", offer(3, 4), seal.ErrVersion, "A reads versions 3 to 4, and B versions 2 to 2: update the older of the two nodes"},
		{"a range that is none", offer(3, 2), seal.ErrVersion, "A reads versions 3 to 2, and B versions 2 to 2"},
		{"a peer that does not encrypt", offer(1, 1), seal.ErrVersion, "A does not encrypt over a broker, and B accepts only encrypted messages: update A, or allow it until then with `plain_frames: true` in links.amqp of B"},
		{"no version", field(frame, 0, nil), seal.ErrMalformed, "version 0"},
		{"no sender", field(frame, 2, nil), seal.ErrMalformed, `from ""`},
		{"a sender that is no name", field(frame, 2, "A B"), seal.ErrMalformed, `from "A B"`},
		{"no receiver", field(frame, 3, nil), seal.ErrMalformed, "unknown field 10"},
		{"an unknown kind", field(frame, 1, 4), seal.ErrMalformed, "kind 4: expected 1 to 3"},
		{"an unknown field", field(frame, 13, 1), seal.ErrMalformed, "unknown field 13"},
		{"a long handshake", field(proof, 8, [][]byte{make([]byte, 2500), make([]byte, 2500)}), seal.ErrMalformed, "a handshake of"},
		{"a long certificate", field(proof, 8, [][]byte{make([]byte, 3<<10+1)}), seal.ErrMalformed, "byte string of 3073 bytes is over the limit of 3072"},
		{"many certificates", field(proof, 8, [][]byte{{1}, {1}, {1}, {1}, {1}}), seal.ErrMalformed, "array of 5 items is over the limit of 4"},
		{"a short offer", field(hello, 5, make([]byte, 49)), seal.ErrMalformed, "kind 1 with an offer of 49 bytes"},
		{"a hello that answers", field(hello, 6, make([]byte, 50)), seal.ErrMalformed, "kind 1 answers an offer of 50 bytes"},
		{"a hello that has a proof", field(hello, 7, true), seal.ErrMalformed, "kind 1 has the receiver's proof"},
		{"a hello with certificates", field(hello, 8, [][]byte{{1}}), seal.ErrMalformed, "kind 1 with 1 certificates"},
		{"a hello with a session", field(hello, 10, make([]byte, 8)), seal.ErrMalformed, "kind 1 with a session of 8 bytes"},
		{"a hello with a frame", field(hello, 12, []byte{1}), seal.ErrMalformed, "kind 1 with a frame"},
		{"a proof that answers nothing", field(proof, 6, nil), seal.ErrMalformed, "kind 2 answers an offer of 0 bytes"},
		{"a proof without certificates", field(proof, 8, nil), seal.ErrMalformed, "kind 2 with 0 certificates"},
		{"a proof without signature", field(proof, 9, nil), seal.ErrMalformed, "and a signature of 0 bytes"},
		{"a proof that says it is plain", field(proof, 4, true), seal.ErrMalformed, "kind 2 with an offer of 50 bytes"},
		{"a frame with an offer", field(frame, 5, make([]byte, 50)), seal.ErrMalformed, "kind 3 with an offer"},
		{"a frame without session", field(frame, 10, nil), seal.ErrMalformed, "kind 3 with a session of 0 bytes"},
		{"a frame without counter", field(frame, 11, nil), seal.ErrMalformed, "counter 0"},
		{"a key that leads to zero", offer(1, 2), seal.ErrMalformed, "agree on keys: "},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newEnd(t, config("B", "A", 2))
			b.take(c.data)
			if !errors.Is(b.err, c.want) || !strings.Contains(b.err.Error(), c.text) {
				t.Errorf("error = %v\nwant %q", b.err, c.text)
			}
			if len(b.out) != 0 || b.Ready() {
				t.Errorf("it had an effect")
			}
		})
	}
}

func TestAProofWithAKeyThatLeadsToZero(t *testing.T) {
	a := newEnd(t, config("A", "B", 1))
	a.open()
	a.take(rewrite(t, scene(t, config)[1], func(m map[uint64]any) { m[5] = append([]byte{2, 2}, make([]byte, 48)...) }))
	if !errors.Is(a.err, seal.ErrMalformed) || !strings.Contains(a.err.Error(), "proof of B: ") {
		t.Errorf("error = %v", a.err)
	}
}

// Sender looks no further than it has to, so that it reads what newer versions write.
func TestSender(t *testing.T) {
	carried := scene(t, config)
	for i, want := range []string{"A", "B", "A", "B", "A", "B"} {
		if got, err := seal.Sender(carried[i]); err != nil || string(got) != want {
			t.Errorf("envelope %d: sender %s, %v", i, got, err)
		}
	}
	newer := rewrite(t, carried[0], func(m map[uint64]any) { m[0], m[1], m[20] = 7, 9, "who knows" })
	if got, err := seal.Sender(newer); err != nil || got != "A" {
		t.Errorf("of a newer version: %s, %v", got, err)
	}
	if _, err := seal.Sender([]byte("not an envelope, and not short either")); !errors.Is(err, seal.ErrMalformed) {
		t.Errorf("noise: %v", err)
	}
}

// FuzzReceive: no bytes make a node panic, give a frame or a session, or touch the one
// that is ready.
func FuzzReceive(f *testing.F) {
	for _, configure := range []func(self, peer string, seed uint64) seal.Config{config, signed, plain} {
		for _, data := range scene(f, configure) {
			f.Add(data[:len(data)-16])
		}
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		sum := sha256.Sum256(body)
		data := append(bytes.Clone(body), sum[:16]...)
		name, failed := seal.Sender(data)
		for _, configure := range []func(self, peer string, seed uint64) seal.Config{config, signed, plain} {
			a, b := pair(t, configure)
			b.take(data)
			if len(b.got) != 0 || b.ready != 1 {
				t.Fatalf("%x: got %q, ready %d times", data, b.got, b.ready)
			}
			if len(b.out) != 0 && (failed != nil || name != "A") {
				t.Fatalf("%x of %q was answered", data, name)
			}
			b.out = nil
			exchange(t, a, b)
		}
	})
}
