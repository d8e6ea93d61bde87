package amqp

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"fmqm/processtable"
)

// Finding is what a Probe found: one sentence for people.
type Finding struct {
	Check string // what was tried: options, password, name, connection, queue, receive, send, peer NODE
	OK    bool
	Text  string // what was found, and where it is not OK what to do
	// Later: it is not OK, and nothing is wrong here: it comes with somebody else.
	Later bool
}

// probeWait is how long a confirm may take.
const probeWait = 10 * time.Second

// Probe tries everything that a Broker with these options needs, once, and says what it
// found; it ends with the first thing without which the next cannot be tried. It makes
// the node's queue if there is none, as the daemon would, and takes nothing from it.
// For each of the peers it looks whether there is a queue. It takes at most a minute, or
// until ctx ends.
func Probe(ctx context.Context, o Options, peers ...processtable.NodeID) []Finding {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	p := probe{blocked: make(chan string, 1)}
	t, err := o.prepare()
	if err != nil {
		return append(p.found, Finding{Check: "options", Text: err.Error()})
	}
	p.o, p.t = o, t
	p.run(ctx, peers)
	return p.found
}

type probe struct {
	o       Options
	t       target
	conn    connection
	blocked chan string
	found   []Finding
}

// say notes a finding; it gives whether that is good.
func (p *probe) say(check string, err error, good string, args ...any) bool {
	f := Finding{Check: check, OK: err == nil, Text: fmt.Sprintf(good, args...)}
	if err != nil {
		f.Text = p.t.explain(err)
	}
	p.found = append(p.found, f)
	return f.OK
}

func (p *probe) run(ctx context.Context, peers []processtable.NodeID) {
	if !p.password() || !p.name(ctx) {
		return
	}
	conn, err := p.o.open(ctx, p.t, "fmqm "+string(p.o.Self)+" check", connectionEvents{
		blocked: func(reason string) { p.blocked <- reason }, free: func() {},
	})
	if !p.say("connection", err, "logged in at %s as %s", p.t.addr, p.t.account()) {
		return
	}
	defer func() {
		conn.Close()
		<-conn.Done()
	}()
	p.conn = conn
	p.found[len(p.found)-1].Text += ": " + conn.Server().String()
	if p.queue() {
		p.receive()
		p.send(ctx)
	}
	for _, peer := range peers {
		p.peer(peer)
	}
}

func (p *probe) password() bool {
	if p.t.user == "" {
		return p.say("password", nil, "none is needed: this side's certificate says who calls")
	}
	if _, err := p.t.secret(); err != nil {
		return p.say("password", err, "")
	}
	return p.say("password", nil, "there is one for user %s", p.t.user)
}

func (p *probe) name(ctx context.Context) bool {
	addresses, err := net.DefaultResolver.LookupHost(ctx, p.t.host)
	return p.say("name", err, "%s is %s", p.t.host, strings.Join(addresses, ", "))
}

func (p *probe) queue() bool {
	b := &Broker{o: p.o, target: p.t}
	kind, err := b.ensureQueue(p.conn)
	return p.say("queue", err, "%s is there (%s)", p.t.queue, kind)
}

// receive begins to consume and ends at once: what comes goes back. What keeps a second
// daemon off is tried too; it is gone with the connection.
func (p *probe) receive() {
	if n, err := consumers(p.conn, p.t.queue); err == nil && n > 0 {
		p.say("receive", nil, "a daemon receives from %s now: it is this node's, or another daemon has its name", p.t.queue)
		return
	}
	err := try(p.conn, func(ch channel) error {
		in, err := ch.Consume(p.t.queue, 1)
		if err == nil {
			ch.Close()
			for range in { // until the channel has ended
			}
		}
		return err
	})
	if err == nil {
		err = try(p.conn, func(ch channel) error { return ch.Lock(lockName(p.o.Self)) })
	}
	p.say("receive", err, "this user may receive from %s", p.t.queue)
}

// send sends what is no frame to the node's own queue.
func (p *probe) send(ctx context.Context) {
	result := make(chan error, 8)
	ch, err := p.conn.Channel(channelEvents{
		confirmed: func(_ uint64, taken bool) {
			if !taken {
				result <- fmt.Errorf("the broker refuses messages for %s: a policy (max-length with reject-publish) limits the queue, which is full", p.t.queue)
				return
			}
			result <- nil
		},
		returned: func(string) {
			result <- fmt.Errorf("messages for %s come back: the queue was deleted meanwhile", p.t.queue)
		},
		ended: func(err error) {
			select {
			case result <- err:
			default:
			}
		},
	})
	if err == nil {
		defer ch.Close()
		if err = ch.Confirm(); err == nil {
			err = ch.Publish(p.t.queue, outgoing{body: []byte("a check"), expire: time.Second})
		}
	}
	if err == nil {
		err = p.confirm(ctx, result)
	}
	p.say("send", err, "this user may send, and the broker confirms")
}

func (p *probe) confirm(ctx context.Context, result <-chan error) error {
	timer := time.NewTimer(probeWait)
	defer timer.Stop()
	select {
	case err := <-result:
		return err
	case reason := <-p.blocked:
		return fmt.Errorf("the broker accepts no messages (%s): free memory or disk space there", reason)
	case <-timer.C:
		return fmt.Errorf("the broker has confirmed nothing for %s: it is overloaded, or an alarm holds it", probeWait)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (p *probe) peer(id processtable.NodeID) {
	check := "peer " + string(id)
	_, err := consumers(p.conn, QueueName(id))
	if errors.Is(err, ErrNoQueue) {
		p.found = append(p.found, Finding{Check: check, Text: noQueue(id), Later: true})
		return
	}
	p.say(check, err, "%s is there", QueueName(id))
}

func noQueue(id processtable.NodeID) string {
	return fmt.Sprintf("site %s has no queue (%s) at the broker yet: it was never connected there, or its queue was deleted; the site makes the queue when it connects", id, QueueName(id))
}
