package amqp

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"fmt"
	"strings"
	"testing"
	"time"

	"fmqm/internal/rabbittest"
	"fmqm/link"
	"fmqm/link/frame"
	"fmqm/link/linktest"
	"fmqm/processtable"
)

// identity is a node's key; its "certificate" is its name and its public key.
type identity struct {
	node string
	key  ed25519.PrivateKey
}

func newIdentity(node string) identity {
	return identity{node, ed25519.NewKeyFromSeed([]byte(fmt.Sprintf("%-32s", node)))}
}

func (i identity) Chain() [][]byte {
	return [][]byte{append([]byte(i.node+" "), i.key.Public().(ed25519.PublicKey)...)}
}

func (i identity) Sign(msg []byte) ([]byte, error) { return ed25519.Sign(i.key, msg), nil }

// trusting verifies the certificates of some nodes.
func trusting(nodes ...string) func([][]byte) (processtable.NodeID, ed25519.PublicKey, error) {
	return func(chain [][]byte) (processtable.NodeID, ed25519.PublicKey, error) {
		for _, n := range nodes {
			if bytes.Equal(chain[0], newIdentity(n).Chain()[0]) {
				return processtable.NodeID(n), newIdentity(n).key.Public().(ed25519.PublicKey), nil
			}
		}
		return "", nil, fmt.Errorf("nobody trusted has signed it")
	}
}

// dialed gives the two ends of a connection between the sites.
func dialed(t *testing.T, a, b *site) (x, y *Conn) {
	t.Helper()
	type result struct {
		c   link.Conn
		err error
	}
	other := make(chan result)
	go func() {
		c, err := b.broker.Dialer(a.name).Dial(t.Context())
		other <- result{c, err}
	}()
	c, err := a.broker.Dialer(b.name).Dial(t.Context())
	must(t, err)
	r := <-other
	must(t, r.err)
	return c.(*Conn), r.c.(*Conn)
}

// receive gives the next delivery of c, or fails in time.
func receive(t *testing.T, c *Conn) link.Delivery {
	t.Helper()
	stop := time.AfterFunc(linktest.Patience, func() { _ = c.Close() })
	defer stop.Stop()
	d, err := c.Receive()
	must(t, err)
	return d
}

// Frames of every size come whole, with identities as without.
func TestFramesOfEverySize(t *testing.T) {
	rabbit := rabbittest.Shared(t)
	vhost := rabbittest.VHost(t, rabbit)
	sealed := func(name string) func(*Options) {
		return func(o *Options) { o.Identity, o.Verify = newIdentity(name), trusting("A", "B") }
	}
	a, b := newSite(t, "A", rabbit.Addr(), vhost, sealed("A")), newSite(t, "B", rabbit.Addr(), vhost, sealed("B"))
	x, y := dialed(t, a, b)
	for _, size := range []int{1, 1000, partSize, partSize + 1, frame.MaxFrame} {
		frame := bytes.Repeat([]byte{byte(size)}, size)
		must(t, x.Send(frame))
		d := receive(t, y)
		if !bytes.Equal(d.Frame, frame) {
			t.Fatalf("%d bytes came, expected %d", len(d.Frame), size)
		}
	}
	for _, size := range []int{0, frame.MaxFrame + 1} {
		if err := x.Send(make([]byte, size)); err == nil || !strings.Contains(err.Error(), "expected 1 to 4194304") {
			t.Fatalf("sent %d bytes: %v", size, err)
		}
	}
	_ = y.Close()
	if err := y.Send([]byte("x")); err == nil {
		t.Fatal("sent on a closed connection")
	}
	if _, err := y.Receive(); err == nil {
		t.Fatal("received on a closed connection")
	}
}

// Who is not trusted hears nothing and is heard by nobody, and Dial says why.
func TestStrangersAreNotHeard(t *testing.T) {
	rabbit := rabbittest.Shared(t)
	vhost := rabbittest.VHost(t, rabbit)
	a := newSite(t, "A", rabbit.Addr(), vhost, func(o *Options) { o.Identity, o.Verify = newIdentity("A"), trusting("A", "B") })
	b := newSite(t, "B", rabbit.Addr(), vhost, func(o *Options) { o.Identity, o.Verify = newIdentity("B of somebody else"), trusting("A", "B") })
	a.connect("B")
	b.connect("A")
	a.untilLink("the certificate", func(st link.Status) bool { return strings.Contains(st.Reason, "nobody trusted has signed it") })
}

// The broker forgets what was looked at, although nobody has said that it is on disk: the
// sender's store has it. So a site that takes nothing for days holds up no queue.
func TestAcknowledgedOnceLookedAt(t *testing.T) {
	rabbit := rabbittest.Shared(t)
	vhost := rabbittest.VHost(t, rabbit)
	classic := func(o *Options) { o.Queues = QueuesClassic } // figures of quorum queues lag
	acks := &acknowledged{queue: "fmqm.B", upto: make(chan uint64, 10_000)}
	a, b := newSite(t, "A", rabbit.Addr(), vhost, classic), newSite(t, "B", rabbit.Addr(), vhost, func(o *Options) {
		classic(o)
		o.open = acks.open
	})
	x, y := dialed(t, a, b)
	must(t, x.Send([]byte("items")))
	patience := time.After(linktest.Patience)
	for looked := false; !looked; {
		select {
		case <-y.ready:
		case <-patience:
			t.Fatal("it does not come")
		}
		y.p.mu.Lock()
		looked = len(y.inbox) > 0 // and the link takes nothing
		y.p.mu.Unlock()
	}
	for came, upto := b.broker.counts.received.Load(), uint64(0); upto < came; {
		select {
		case upto = <-acks.upto:
		case <-patience:
			t.Fatal("what was looked at is not acknowledged")
		}
	}
	if n := unacked(t, rabbit, vhost, "fmqm.B"); n > 0 {
		t.Fatalf("the broker keeps %d messages that were looked at", n)
	}
}

// acknowledged tells up to which message of its queue a site has acknowledged what came.
type acknowledged struct {
	queue string
	upto  chan uint64
}

func (a *acknowledged) open(ctx context.Context, t target, name string, on connectionEvents) (connection, error) {
	c, err := openRabbit(ctx, t, name, on)
	return acknowledging{c, a}, err
}

type acknowledging struct {
	connection
	of *acknowledged
}

func (c acknowledging) Channel(on channelEvents) (channel, error) {
	ch, err := c.connection.Channel(on)
	return acknowledgingChannel{ch, c.of}, err
}

type acknowledgingChannel struct {
	channel
	of *acknowledged
}

// Ack returns once the broker has done it: it answers on a channel in the order in which it was asked.
func (ch acknowledgingChannel) Ack(tag uint64, multiple bool) error {
	err := ch.channel.Ack(tag, multiple)
	if err == nil {
		_, err = ch.Consumers(ch.of.queue)
	}
	if err == nil {
		ch.of.upto <- tag
	}
	return err
}

func queues(t *testing.T, rabbit *rabbittest.Broker, vhost string) []rabbittest.Queue {
	t.Helper()
	all, err := rabbit.Queues(vhost)
	must(t, err)
	return all
}

func unacked(t *testing.T, rabbit *rabbittest.Broker, vhost, queue string) int {
	t.Helper()
	for _, q := range queues(t, rabbit, vhost) {
		if q.Name == queue {
			return q.Unacked
		}
	}
	t.Fatalf("no queue %s", queue)
	return 0
}

// A peer that is gone without a word is noticed, and heard again when it is back, without
// anything being said again by hand.
func TestPeerDiesAndComesBack(t *testing.T) {
	rabbit := rabbittest.Shared(t)
	vhost := rabbittest.VHost(t, rabbit)
	a, b := newSite(t, "A", rabbit.Addr(), vhost, nil), newSite(t, "B", rabbit.Addr(), vhost, nil)
	x, _ := dialed(t, a, b)
	must(t, b.broker.Stop(t.Context()))
	_, err := x.Receive()
	if err == nil || !strings.Contains(err.Error(), "site B has been silent for") {
		t.Fatalf("got %v", err)
	}
	b2 := newSite(t, "B", rabbit.Addr(), vhost, nil)
	x, y := dialed(t, a, b2)
	must(t, x.Send([]byte("again")))
	if d := receive(t, y); string(d.Frame) != "again" {
		t.Fatalf("got %q", d.Frame)
	}
}

// A node that nobody asked for is told of, and can then be dialed.
func TestUnknownPeer(t *testing.T) {
	rabbit := rabbittest.Shared(t)
	vhost := rabbittest.VHost(t, rabbit)
	unknown := make(chan processtable.NodeID, 10)
	a := newSite(t, "A", rabbit.Addr(), vhost, func(o *Options) {
		o.Identity, o.Verify, o.Unknown = newIdentity("A"), trusting("A", "B"), func(n processtable.NodeID) { unknown <- n }
	})
	a.until(StateConnected)
	b := newSite(t, "B", rabbit.Addr(), vhost, func(o *Options) { o.Identity, o.Verify = newIdentity("B"), trusting("A", "B") })
	b.connect("A")
	if n := <-unknown; n != "B" {
		t.Fatalf("told of %s", n)
	}
	a.connect("B")
	a.untilConnected()
	a.broker.Forget("B")
	a.untilLink("lost", func(st link.Status) bool { return st.State != link.StateConnected })
}
