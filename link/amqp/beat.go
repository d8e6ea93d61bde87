package amqp

import (
	"errors"
	"fmt"
	"time"
)

const (
	// PingEvery is how long nothing may be heard of a peer that there is nothing to say to
	// before it is asked whether it is there: an idle link costs a question and an answer a
	// minute. The site with the greater name gives the other one beat more, so that only
	// one of the two asks.
	PingEvery = 60 * time.Second
	// Silence is how long a peer may not be heard before its connection ends. Messages
	// that only ask for it expire at the broker after as long.
	Silence = 60 * time.Second

	// beatEvery is how often a connection is looked after. What is sent and not answered for
	// as long is asked about, again and again.
	beatEvery = 10 * time.Second
	// answerLimit is how long a peer is asked before its connection ends.
	answerLimit = 30 * time.Second
)

// await notes that something was sent that shows whether the peer is there; it is called
// with the lock.
func (p *peer) await(kind byte) {
	if kind != kindPong && kind != kindLeave && p.asking.IsZero() {
		p.asking = p.b.o.Clock.Now()
	}
}

// beat asks for a peer that is silent, and ends the connection of one that stays so.
func (c *Conn) beat() {
	p := c.p
	p.mu.Lock()
	if c.err != nil {
		p.mu.Unlock()
		return
	}
	now := p.b.o.Clock.Now()
	if p.gone(now) {
		reason := p.silence(now.Sub(p.heard))
		p.mu.Unlock()
		c.fail(reason)
		return
	}
	var err error
	if p.wanted(now) {
		err = p.ask(false)
	}
	c.timer = p.b.o.Clock.AfterFunc(beatEvery, c.beat)
	p.mu.Unlock()
	if err != nil {
		c.fail(err)
	}
}

// gone says whether the peer was asked for long enough in vain; it is called with the lock.
// Where nothing can be sent, nothing comes of asking: then silence is enough.
func (p *peer) gone(now time.Time) bool {
	switch {
	case now.Sub(p.heard) < Silence:
		return false
	case !p.asking.IsZero():
		return now.Sub(p.asking) >= answerLimit
	}
	return !p.session.Ready() || p.hindrance() != ""
}

// wanted says whether the peer is to be asked now whether it is there; it is called with
// the lock.
func (p *peer) wanted(now time.Time) bool {
	if !p.session.Ready() {
		return true
	}
	if !p.asking.IsZero() {
		return now.Sub(p.asking) >= beatEvery && now.Sub(p.asked) >= beatEvery
	}
	idle := PingEvery
	if p.b.o.Self > p.id {
		idle += beatEvery
	}
	return now.Sub(p.heard) >= idle
}

// silence says why the peer is not heard, as far as can be known; it is called with the lock.
func (p *peer) silence(d time.Duration) error {
	if why := p.hindrance(); why != "" {
		return errors.New(why)
	}
	return fmt.Errorf("site %s has been silent for %s: its daemon, or its connection to the broker, is down", p.id, d.Round(time.Second))
}
