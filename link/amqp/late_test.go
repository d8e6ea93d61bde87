package amqp

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"testing"

	"fmqm/link"
	"fmqm/link/seal"
)

// lonePeer is what node A has of a peer B, with a connection; nothing runs.
func lonePeer(t *testing.T) (p *peer, c *Conn) {
	t.Helper()
	b, err := New(Options{Self: "A", URL: "amqp://u@127.0.0.1:1/", PasswordFile: passwordFile(t, "x")})
	must(t, err)
	p = newPeer(b, "B")
	c = &Conn{p: p, ready: make(chan struct{}, 1), room: make(chan struct{}, 1), done: make(chan struct{}), timer: func() bool { return true }}
	p.conn = c
	return p, c
}

// What a channel says after another one has taken its place is about what was sent on it:
// it neither ends the connection nor says that all is well again.
func TestWhatAClosedChannelSaysIsLate(t *testing.T) {
	p, c := lonePeer(t)
	before, now := newPublisher(p, nil), newPublisher(p, nil)
	p.use(before, nil)
	p.use(now, nil)
	now.confirmed(1, false)
	trouble := p.trouble
	if trouble == "" {
		t.Fatal("a refusal is not told")
	}
	before.confirmed(1, true)
	before.returned("NO_ROUTE")
	before.ended(errors.New("channel error"))
	if p.trouble != trouble {
		t.Errorf("the trouble is %q, and was %q", p.trouble, trouble)
	}
	if c.err != nil {
		t.Errorf("the connection has ended: %v", c.err)
	}
	now.ended(errors.New("channel error"))
	if c.err == nil {
		t.Error("the connection goes on without a channel")
	}
}

// caller is node B's end of its sessions with A.
type caller struct {
	t *testing.T
	s *seal.Session
}

func (b *caller) say(p *peer, envelopes ...[]byte) {
	for _, e := range envelopes {
		p.receive(e)
	}
	for len(p.control) > 0 {
		e := p.control[0]
		p.control = p.control[1:]
		r, err := b.s.Receive(e)
		must(b.t, err)
		b.say(p, r.Reply...)
	}
}

// start makes a new session, as a daemon does that is started.
func (b *caller) start(p *peer) {
	b.s = seal.New(seal.Config{Self: "B", Peer: "A", Rand: rand.Reader})
	hello, err := b.s.Open()
	must(b.t, err)
	b.say(p, hello...)
	if !b.s.Ready() {
		b.t.Fatal("no session")
	}
}

func (b *caller) send(p *peer, pieces ...[]byte) {
	for _, piece := range pieces {
		e, err := b.s.Seal(piece)
		must(b.t, err)
		b.say(p, e)
	}
}

// Frames in parts are counted from 1 by each daemon. What had come of one before the peer
// was started again is no part of another with the same number.
func TestPartsOfAnEarlierLifeAreNotOfThisOne(t *testing.T) {
	p, c := lonePeer(t)
	b := &caller{t: t}
	first, second := bytes.Repeat([]byte("first "), partSize/4), bytes.Repeat([]byte("second"), partSize/4)
	b.start(p)
	b.send(p, pack(first, 1)[0])
	b.start(p)
	b.send(p, pack(second, 1)...)
	if len(c.inbox) != 1 || !bytes.Equal(c.inbox[0], second) {
		t.Fatalf("%d frames came", len(c.inbox))
	}
}

// A peer that was forgotten is not brought back by a link that was about to listen for it.
func TestAForgottenPeerIsNotHeard(t *testing.T) {
	b, err := New(Options{Self: "A", URL: "amqp://u@127.0.0.1:1/", PasswordFile: passwordFile(t, "x")})
	must(t, err)
	b.peer("B") // as a dial did
	b.Forget("B")
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // so does the end of the route
	if err := b.Dialer("B").(link.Listener).Heard(ctx); !errors.Is(err, errClosed) {
		t.Errorf("heard: %v", err)
	}
	if b.known("B") != nil {
		t.Error("it is known again")
	}
	must(t, b.Stop(t.Context()))
}
