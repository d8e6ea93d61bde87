package core

import (
	"errors"
	"fmt"

	"fmqm/queue/record"
)

// ErrNotStopped: there is nothing to decide.
var ErrNotStopped = errors.New("the link is not stopped")

// decisions are what operators have said about a stopped link. They are taken up one by
// one, each once nothing of the conversation that ended is under way: what the store holds
// then is all that there is. Meanwhile the link rests.
type decisions struct {
	waiting []Decide // the first one is taken up, or is the next to be
	token   Token    // of the Rebind or the Load that is under way for the first one
}

// waits: somebody has decided, and what is under way has to come to its end first.
func (d *decisions) waits() bool { return len(d.waiting) > 0 && d.token == 0 }

func (c *Core) decide(e Decide) {
	if err := c.mayDecide(e); err != nil {
		c.tellDecided(e, err)
		return
	}
	c.decisions.waiting = append(c.decisions.waiting, e)
}

// mayDecide says why nothing is to be decided so.
func (c *Core) mayDecide(e Decide) error {
	stopped := c.stopped
	if stopped == nil {
		stopped = c.refusal
	}
	switch none := (record.Incarnation{}); {
	case stopped == nil:
		return ErrNotStopped
	case e.NewStore == none:
		return nil
	case c.presented == none:
		return fmt.Errorf("it is stopped for another reason than a new store of site %s: %s", c.cfg.Peer, stopped.Reason)
	case c.presented != e.NewStore:
		return fmt.Errorf("site %s presents store %s, not %s", c.cfg.Peer, c.presented, e.NewStore)
	}
	return nil
}

func (c *Core) tellDecided(e Decide, err error) {
	if e.ID != 0 {
		c.emit(Decided{ID: e.ID, Err: err})
	}
}

// decideNext takes up the next decision, unless something is under way.
func (c *Core) decideNext() {
	d := &c.decisions
	for len(d.waiting) > 0 && d.token == 0 && !c.busy() {
		next := d.waiting[0]
		if err := c.mayDecide(next); err != nil {
			c.endDecision(err)
			continue
		}
		d.token = c.newToken()
		if next.NewStore == (record.Incarnation{}) {
			c.emit(Load{Token: d.token})
		} else {
			c.emit(Rebind{Token: d.token, Incarnation: next.NewStore})
		}
	}
}

// busy says whether an effect is under way that is answered.
func (c *Core) busy() bool {
	for l := range record.Lanes {
		if c.in[l].under != nil || c.out[l].reading != 0 {
			return true
		}
	}
	return c.binding != nil || c.starting != nil
}

func (c *Core) endDecision(err error) {
	d := &c.decisions
	ended := d.waiting[0]
	d.waiting, d.token = d.waiting[1:], 0
	c.tellDecided(ended, err)
}

// rebound: the peer's new store is on disk, or could not be put there.
func (c *Core) rebound(e Rebound) {
	d := &c.decisions
	switch {
	case d.token != e.Token || e.Token == 0:
	case e.Err != nil:
		c.endDecision(e.Err)
	default:
		d.token = c.newToken()
		c.emit(Load{Token: d.token})
	}
}

// loaded: the link begins again with what the store holds now, as after a restart, but for
// the numbers that the peer has seen of this daemon.
func (c *Core) loaded(e Loaded) {
	switch {
	case c.decisions.token != e.Token || e.Token == 0:
		return
	case e.Err != nil:
		c.endDecision(e.Err)
		return
	}
	c.down()
	c.stopped, c.refusal, c.presented = nil, nil, record.Incarnation{}
	c.peer, c.rival, c.retired, c.ask = peer{}, nil, nil, ask{}
	c.load(e.Now)
	c.emit(Resumed{})
	c.newGreeting()
	for _, t := range c.transports {
		t.greeted, t.losing, t.silent = false, false, false
		if !t.closing {
			t.greetSoon()
			c.sayHello(t, t.session, t.answered)
		}
	}
	c.endDecision(nil)
}
