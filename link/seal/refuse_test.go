package seal_test

import (
	"bytes"
	"crypto/ed25519"
	"errors"
	"io"
	"strings"
	"testing"

	"fmqm/link/seal"
	"fmqm/processtable"
)

// refusedBy lets a peer that is made by forge shake hands with B's session with A, and
// gives what B says.
func refusedBy(t *testing.T, own seal.Config, forge seal.Config) (*end, error) {
	t.Helper()
	b, a := newEnd(t, own), newEnd(t, forge)
	b.open()
	a.open()
	settle(a, b)
	if b.Ready() {
		t.Errorf("B has a session with it")
	}
	return b, b.err
}

func TestWhoIsRefused(t *testing.T) {
	with := func(change func(*seal.Config)) seal.Config {
		c := config("A", "B", 3)
		change(&c)
		return c
	}
	for _, c := range []struct {
		name string
		a    seal.Config
		want error
		text string
	}{
		{
			"another authority", with(func(c *seal.Config) { c.Identity = ca{"mallory"}.issue("A") }),
			seal.ErrIdentity, "certificate of A is signed by mallory, and only head-office is trusted here",
		},
		{
			"the certificate of another node", with(func(c *seal.Config) { c.Identity = head.issue("C") }),
			seal.ErrIdentity, "it is for node C, and this link is with A: give A its own certificate",
		},
		{
			"a stolen certificate without its key",
			with(func(c *seal.Config) {
				c.Identity = &identity{chain: head.issue("A").chain, key: ca{"mallory"}.issue("A").key}
			}),
			seal.ErrSignature, "somebody else may speak for A",
		},
		{
			"something that is not a certificate",
			with(func(c *seal.Config) {
				c.Identity = &identity{chain: [][]byte{[]byte("hello")}, key: head.issue("A").key}
			}),
			seal.ErrIdentity, "not a certificate",
		},
		{
			"no identity", plain("A", "B", 3),
			seal.ErrPlain, "the peer speaks without identity, and B accepts nothing without one: give A an identity",
		},
		{
			"another node", with(func(c *seal.Config) { c.Self, c.Identity = "C", head.issue("C") }),
			seal.ErrNotPeer, "an envelope from C to B, on the link of B with A",
		},
		{
			"itself", with(func(c *seal.Config) { c.Self, c.Peer = "B", "A" }),
			seal.ErrNotPeer, "an envelope from B to A, on the link of B with A",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := refusedBy(t, config("B", "A", 2), c.a)
			if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.text) {
				t.Errorf("error = %v\nwant %q", err, c.text)
			}
		})
	}
}

func TestANodeWithoutIdentityIsToldWhy(t *testing.T) {
	_, err := refusedBy(t, plain("B", "A", 2), config("A", "B", 1))
	if !errors.Is(err, seal.ErrSealed) || !strings.Contains(err.Error(), "B has none: give B one") {
		t.Errorf("error = %v", err)
	}
}

func TestAKeyThatIsNotEd25519(t *testing.T) {
	own := config("B", "A", 2)
	own.Verify = func([][]byte) (processtable.NodeID, ed25519.PublicKey, error) { return "A", nil, nil }
	_, err := refusedBy(t, own, config("A", "B", 1))
	if !errors.Is(err, seal.ErrIdentity) || !strings.Contains(err.Error(), "its key is not Ed25519: give A a certificate with such a key") {
		t.Errorf("error = %v", err)
	}
}

// A peer that is refused may have accepted this node: then it says where to look.
func TestWhoWaitsIsToldWhere(t *testing.T) {
	a := config("A", "B", 1)
	a.Identity = ca{"old-office"}.issue("A")
	mallory := newEnd(t, a)
	b := newEnd(t, config("B", "A", 2))
	if got := mallory.Waiting(); got != "no answer from B yet" {
		t.Errorf("before: %q", got)
	}
	mallory.open()
	settle(mallory, b)
	if got := mallory.Waiting(); !strings.Contains(got, "check there whether it accepts the certificate of A") {
		t.Errorf("after: %q", got)
	}
	if c := b.Counts(); c.Refused == 0 {
		t.Errorf("B counts %+v", c)
	}
}

func TestIdentitiesThatCannotProve(t *testing.T) {
	long := head.issue("B")
	long.chain = [][]byte{bytes.Repeat([]byte{1}, 3<<10+1)}
	none := head.issue("B")
	none.chain = nil
	for _, c := range []struct {
		name string
		id   seal.Identity
		text string
	}{
		{"a long chain", long, "1 certificates of together 3073 bytes: a link over a broker carries 1 to 4, of at most 3072 bytes"},
		{"no certificate", none, "0 certificates"},
		{"a signature of another kind", &signer{head.issue("B"), make([]byte, 70), nil}, "a signature of 70 bytes: the certificate's key has to be Ed25519"},
		{"no signature", &signer{head.issue("B"), nil, errors.New("token was pulled out")}, "sign: token was pulled out"},
	} {
		t.Run(c.name, func(t *testing.T) {
			own := config("B", "A", 2)
			own.Identity = c.id
			_, err := refusedBy(t, own, config("A", "B", 1))
			if err == nil || !strings.Contains(err.Error(), "open a session with A: ") || !strings.Contains(err.Error(), c.text) {
				t.Errorf("error = %v\nwant %q", err, c.text)
			}
		})
	}
}

type signer struct {
	*identity
	signature []byte
	err       error
}

func (s *signer) Sign([]byte) ([]byte, error) { return s.signature, s.err }

func TestNoChanceNoSession(t *testing.T) {
	c := config("A", "B", 1)
	c.Rand = strings.NewReader("too little")
	if _, err := seal.New(c).Open(); !errors.Is(err, io.ErrUnexpectedEOF) || !strings.Contains(err.Error(), "open a session with B: read random bytes") {
		t.Errorf("Open = %v", err)
	}
}

func TestNewRefusesWhatCannotBeMeant(t *testing.T) {
	for name, change := range map[string]func(*seal.Config){
		"a peer of its own name": func(c *seal.Config) { c.Peer = c.Self },
		"no name":                func(c *seal.Config) { c.Self = "" },
		"no chance":              func(c *seal.Config) { c.Rand = nil },
		"nothing that verifies":  func(c *seal.Config) { c.Verify = nil },
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("New took it")
				}
			}()
			c := config("A", "B", 1)
			change(&c)
			seal.New(c)
		})
	}
}

func TestFramesThatAreNotSealed(t *testing.T) {
	a, _ := pair(t, config)
	for _, size := range []int{0, seal.MaxFrame + 1} {
		if _, err := a.Seal(make([]byte, size)); err == nil || !strings.Contains(err.Error(), "expected 1 to 4194304") {
			t.Errorf("%d bytes: %v", size, err)
		}
	}
}

// The largest frame passes, and an envelope adds less than 64 bytes and the names.
func TestTheLargestFrame(t *testing.T) {
	a, b := pair(t, config)
	frame := strings.Repeat("x", seal.MaxFrame)
	data := a.say(frame)
	if more := len(data) - len(frame); more > 64 {
		t.Errorf("an envelope adds %d bytes", more)
	}
	settle(a, b)
	if len(b.got) != 1 || b.got[0] != frame {
		t.Errorf("B got %d frames", len(b.got))
	}
}
