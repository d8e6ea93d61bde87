package seal_test

import (
	"bytes"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"fmqm/link/seal"
	"fmqm/processtable"
)

// ca stands for the certificate authority: a "certificate" is a text that names a node,
// its key and the authority that vouches for it.
type ca struct{ name string }

type identity struct {
	chain [][]byte
	key   ed25519.PrivateKey
}

func (i *identity) Chain() [][]byte                 { return i.chain }
func (i *identity) Sign(msg []byte) ([]byte, error) { return ed25519.Sign(i.key, msg), nil }

func (c ca) issue(node string) *identity {
	seed := make([]byte, ed25519.SeedSize)
	copy(seed, c.name+" "+node)
	key := ed25519.NewKeyFromSeed(seed)
	text := fmt.Sprintf("%s %s %x", c.name, node, key.Public())
	return &identity{chain: [][]byte{[]byte(text)}, key: key}
}

func (c ca) verify(chain [][]byte) (processtable.NodeID, ed25519.PublicKey, error) {
	var by, node string
	var key []byte
	if _, err := fmt.Sscanf(string(chain[0]), "%s %s %x", &by, &node, &key); err != nil {
		return "", nil, fmt.Errorf("not a certificate: %w", err)
	}
	if by != c.name {
		return "", nil, fmt.Errorf("certificate of %s is signed by %s, and only %s is trusted here", node, by, c.name)
	}
	return processtable.NodeID(node), key, nil
}

// chance gives bytes that a seed decides.
type chance struct{ *rand.ChaCha8 }

func newChance(seed uint64) io.Reader {
	return chance{rand.NewChaCha8([32]byte{byte(seed), byte(seed >> 8), byte(seed >> 16), byte(seed >> 24)})}
}

var head = ca{"head-office"}

func config(self, peer string, seed uint64) seal.Config {
	return seal.Config{
		Self: processtable.NodeID(self), Peer: processtable.NodeID(peer),
		Identity: head.issue(self), Verify: head.verify, Rand: newChance(seed),
	}
}

// signed knows version 1 alone.
func signed(self, peer string, seed uint64) seal.Config {
	return seal.Older(config(self, peer, seed))
}

// lenient takes peers that know version 1 alone, and knows both.
func lenient(self, peer string, seed uint64) seal.Config {
	c := config(self, peer, seed)
	c.PlainFrames = true
	return c
}

// mixed is a pair of which A knows version 1 alone.
func mixed(self, peer string, seed uint64) seal.Config {
	if self == "A" {
		return signed(self, peer, seed)
	}
	return lenient(self, peer, seed)
}

func plain(self, peer string, seed uint64) seal.Config {
	c := config(self, peer, seed)
	c.Identity, c.Verify = nil, nil
	return c
}

// tb is what of a test, a fuzz target and a property the helpers need.
type tb interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

// end is a session with what it has to say.
type end struct {
	*seal.Session
	t     tb
	out   [][]byte
	got   []string
	ready int
	err   error
}

func newEnd(t tb, c seal.Config) *end { return &end{Session: seal.New(c), t: t} }

func (e *end) open() {
	e.t.Helper()
	out, err := e.Open()
	if err != nil {
		e.t.Fatal(err)
	}
	e.out = append(e.out, out...)
}

func (e *end) say(frame string) []byte {
	e.t.Helper()
	data, err := e.Seal([]byte(frame))
	if err != nil {
		e.t.Fatal(err)
	}
	e.out = append(e.out, data)
	return data
}

func (e *end) take(data []byte) {
	r, err := e.Receive(bytes.Clone(data)) // as a broker gives it again
	if err != nil {
		e.err = err
	}
	if r.Frame != nil {
		e.got = append(e.got, string(r.Frame))
	}
	if r.Ready {
		e.ready++
	}
	e.out = append(e.out, r.Reply...)
}

// settle carries everything to and fro until nothing is left to carry, and gives all of it.
func settle(a, b *end) (carried [][]byte) {
	for len(a.out)+len(b.out) > 0 {
		from, to := a, b
		if len(a.out) == 0 {
			from, to = b, a
		}
		data := from.out[0]
		from.out = from.out[1:]
		carried = append(carried, data)
		to.take(data)
	}
	return carried
}

func pair(t tb, configure func(self, peer string, seed uint64) seal.Config) (a, b *end) {
	t.Helper()
	a, b = newEnd(t, configure("A", "B", 1)), newEnd(t, configure("B", "A", 2))
	a.open()
	settle(a, b)
	if !a.Ready() || !b.Ready() {
		t.Fatalf("no session: %s; %s", a.Waiting(), b.Waiting())
	}
	return a, b
}

// modes runs a test with identities, in both versions, and without.
func modes(t *testing.T, test func(t *testing.T, configure func(self, peer string, seed uint64) seal.Config)) {
	t.Run("sealed", func(t *testing.T) { test(t, config) })
	t.Run("signed", func(t *testing.T) { test(t, signed) })
	t.Run("plain", func(t *testing.T) { test(t, plain) })
}

func TestFourEnvelopesMakeASession(t *testing.T) {
	modes(t, func(t *testing.T, configure func(self, peer string, seed uint64) seal.Config) {
		a, b := newEnd(t, configure("A", "B", 1)), newEnd(t, configure("B", "A", 2))
		a.open()
		if n := len(settle(a, b)); n != 4 {
			t.Errorf("%d envelopes, want hello, proof, proof and the empty frame", n)
		}
		if a.ready != 1 || b.ready != 1 {
			t.Errorf("became ready %d and %d times", a.ready, b.ready)
		}
		a.say("to B")
		b.say("to A")
		settle(a, b)
		if strings.Join(a.got, ",") != "to A" || strings.Join(b.got, ",") != "to B" {
			t.Errorf("A got %q, B got %q", a.got, b.got)
		}
		a.open()
		b.open()
		if n := len(settle(a, b)); n != 0 {
			t.Errorf("%d envelopes although nothing is missing", n)
		}
	})
}

func TestSealWithoutASession(t *testing.T) {
	a := newEnd(t, config("A", "B", 1))
	if _, err := a.Seal([]byte("x")); !errors.Is(err, seal.ErrNotReady) {
		t.Errorf("Seal = %v", err)
	}
}

// What sealing and opening cost beside carrying a frame of the usual size.
func BenchmarkFrame(b *testing.B) {
	for name, configure := range map[string]func(self, peer string, seed uint64) seal.Config{"encrypted": config, "signed": signed} {
		for _, size := range []int{1 << 10, 512 << 10} {
			b.Run(fmt.Sprintf("%s/%dKiB", name, size>>10), func(b *testing.B) { benchmarkFrame(b, configure, size) })
		}
	}
}

func benchmarkFrame(b *testing.B, configure func(self, peer string, seed uint64) seal.Config, size int) {
	b.Helper()
	from, to := pair(b, configure)
	frame := make([]byte, size)
	b.SetBytes(int64(size))
	for b.Loop() {
		data, err := from.Seal(frame)
		if err != nil {
			b.Fatal(err)
		}
		if r, err := to.Receive(data); err != nil || len(r.Frame) != size {
			b.Fatal(err)
		}
	}
}
