package amqp

import (
	"context"
	"errors"
	"fmt"
	"time"

	"fmqm/link"
	"fmqm/processtable"
)

// askAgain is how long an answer of the peer may take before it is asked again; each
// time takes twice as long.
const askAgain = time.Second

type dialer struct {
	b  *Broker
	id processtable.NodeID
}

// Dial waits until the broker is connected and the peer was heard, and gives a connection
// to it; one that there was before ends. Both ends dial.
func (d dialer) Dial(ctx context.Context) (link.Conn, error) {
	c, err := d.dial(ctx)
	if err != nil {
		return nil, fmt.Errorf("reach site %s through the broker %s: %w", d.id, d.b.target.addr, err)
	}
	return c, nil
}

func (d dialer) dial(ctx context.Context) (*Conn, error) {
	p := d.b.peer(d.id)
	if p == nil {
		return nil, errClosed
	}
	if err := d.b.await(ctx); err != nil {
		return nil, err
	}
	pause := askAgain
	began := d.b.o.Clock.Now()
	for renew := false; ; renew = pause > 4*askAgain {
		heard, err := p.call(renew)
		if err != nil {
			return nil, err
		}
		if err := p.awaitHeard(ctx, began, pause, heard); err != nil {
			return nil, err
		}
		if c := p.connect(began); c != nil {
			return c, nil
		}
		if p.departed() || renew && p.troubled() {
			return nil, p.unheard() // asking on helps nothing
		}
		pause *= 2
	}
}

// await waits until both connections to the broker are up.
func (b *Broker) await(ctx context.Context) error {
	for {
		conn, _, changed := b.link()
		if conn != nil {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return errors.New(b.why())
		case <-b.ctx.Done():
			return errClosed
		}
	}
}

// call asks for the peer, and gives what is closed when something of it is heard.
func (p *peer) call(renew bool) (<-chan struct{}, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.changed, p.ask(renew)
}

// awaitHeard waits until the peer was heard, or it is time to ask again.
func (p *peer) awaitHeard(ctx context.Context, began time.Time, pause time.Duration, changed <-chan struct{}) error {
	again, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := p.b.o.Clock.AfterFunc(pause, cancel)
	defer stop()
	for {
		select {
		case <-changed:
		case <-again.Done():
			if ctx.Err() != nil {
				return p.unheard()
			}
			return nil
		case <-p.ctx.Done():
			return errClosed
		}
		if p.ready(began) || p.departed() {
			return nil
		}
		p.mu.Lock()
		changed = p.changed
		p.mu.Unlock()
		if p.ready(began) || p.departed() {
			return nil
		}
	}
}

// Heard waits until the peer shows that it is there, though it is not dialed. It brings back none
// that was forgotten meanwhile.
func (d dialer) Heard(ctx context.Context) error {
	p := d.b.known(d.id)
	if p == nil {
		return errClosed
	}
	for began := d.b.o.Clock.Now(); ; {
		p.mu.Lock()
		changed := p.changed
		p.mu.Unlock()
		if p.ready(began) {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-p.ctx.Done():
			return errClosed
		}
	}
}

// Forget lets go of the peer, which is told.
func (d dialer) Forget() { d.b.Forget(d.id) }

// departed says whether the peer has said that it is not reached over the broker.
func (p *peer) departed() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.left
}

func (p *peer) departure() error {
	return fmt.Errorf("site %s accepts nothing from this site over the broker: either `via` for this link was changed there (change it here as well), or this site is neither in a process that is stored there nor in `links.peers` there (write it there, with `via: amqp`, and reload)", p.id)
}

// ready says whether the peer was heard since, in a session that is open.
func (p *peer) ready(since time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.session.Ready() && !p.left && !p.heard.Before(since)
}

// troubled says whether the broker does not accept messages to the peer, or this side
// what comes from it.
func (p *peer) troubled() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.trouble != "" || p.refusal != ""
}

// unheard says why Dial gave up.
func (p *peer) unheard() error {
	if why := p.b.why(); why != "" {
		return errors.New(why)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.left:
		return p.departure()
	case p.refusal != "":
		return errors.New(p.refusal)
	case p.trouble != "":
		return errors.New(p.trouble)
	case !p.session.Ready():
		return errors.New(p.session.Waiting())
	}
	return fmt.Errorf("site %s does not answer: its daemon, or its connection to the broker, is down", p.id)
}

// connect gives a new connection if the peer is there.
func (p *peer) connect(since time.Time) *Conn {
	if !p.ready(since) {
		return nil
	}
	conn, _, _ := p.b.link()
	if conn == nil {
		return nil
	}
	c := &Conn{p: p, ready: make(chan struct{}, 1), room: make(chan struct{}, 1), done: make(chan struct{})}
	p.mu.Lock()
	old := p.conn
	c.heard.Store(p.heard.UnixNano())
	c.timer = p.b.o.Clock.AfterFunc(beatEvery, c.beat)
	p.conn = c
	p.change()
	p.mu.Unlock()
	if old != nil {
		old.fail(errors.New("a newer connection to the site replaced this one"))
	}
	if now, _, _ := p.b.link(); now != conn { // lost meanwhile, and perhaps not told
		c.fail(errors.New(p.b.why()))
		return nil
	}
	return c
}
