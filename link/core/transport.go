package core

import (
	"slices"

	"fmqm/link/frame"
)

const (
	sharedPause = 240 // the longest between hellos over a shared transport: a minute
	probePause  = 16  // between questions on a transport that fell silent
)

// transport is one way to the peer.
type transport struct {
	via      Via
	dialed   bool // by this side
	rank     int
	shared   bool
	session  uint64 // who was heard on it; 0: nobody
	answered uint64 // the newest challenge of it that a hello of ours has answered
	greeted  bool   // its hello was fresh
	losing   bool   // another one of its rank is better
	leaving  bool   // it goes once the peer is heard on another
	closing  bool
	replied  bool // an answer came on it since it carried the last question
	silent   bool // a question on it had no answer: it is used if there is no other
	ticks    int
	hello    int // the next hello is due after so many ticks
	pause    int // and the one after it after so many more

	hindrance string // why what is sent on it goes nowhere at present
	shown     Way    // how it stood when the shell was last told
}

func (c *Core) connected(e Connected) {
	t := &transport{via: e.Via, dialed: e.Dialed, rank: e.Rank, shared: e.Shared}
	t.greetSoon()
	if len(c.transports) >= maxTransport {
		c.emit(Close{Via: e.Via, Reason: "too many connections at once from site " + string(c.cfg.Peer)})
		return
	}
	c.transports = append(c.transports, t)
	if !c.peer.up && c.rival == nil {
		c.newGreeting()
	}
	if e.Dialed {
		c.sayHello(t, 0, 0)
	}
}

func (c *Core) disconnected(via Via) {
	was := c.best()
	c.forget(via)
	now := c.best()
	if c.peer.up && now == nil {
		c.down()
	}
	if !c.peer.up && c.rival != nil {
		c.rival = nil
		c.greetAll()
	}
	c.choose()
	if c.peer.up && was != now { // what was under way on the one that is gone may be lost
		c.inquire()
	}
}

func (c *Core) forget(via Via) {
	c.transports = slices.DeleteFunc(c.transports, func(t *transport) bool { return t.via == via })
}

// best is the transport to send to the peer on (L3): one that is heard before a silent
// one, then the one of the lower rank. Where both sides dialed, both choose the one
// that the site with the smaller name dialed; else the newest is good.
func (c *Core) best() *transport {
	var best *transport
	for _, t := range c.transports {
		if !t.greeted || t.closing || t.session != c.peer.session {
			continue
		}
		if best == nil || c.better(t, best) {
			best = t
		}
	}
	return best
}

// better says whether t, which came later, is to be used rather than s.
func (c *Core) better(t, s *transport) bool {
	switch {
	case t.silent != s.silent:
		return s.silent
	case t.rank != s.rank:
		return t.rank < s.rank
	}
	return c.preferred(t) || !c.preferred(s)
}

func (c *Core) preferred(t *transport) bool { return t.dialed == (c.cfg.Self < c.cfg.Peer) }

// choose marks the transports that lost the tie-break. They are read for a while, so
// that what was under way on them arrives: there is no gap in service. Those of
// another rank are kept: they are what takes over.
func (c *Core) choose() {
	best := c.best()
	for _, t := range c.transports {
		losing := t.greeted && t != best && t.session == c.peer.session && best != nil && t.rank == best.rank && !t.shared
		if losing && !t.losing {
			t.ticks = 0
		}
		t.losing = losing
	}
}

// hears notes that an answer came on t, which so works both ways.
func (c *Core) hears(t *transport) {
	t.replied = true
	if t.silent {
		t.silent = false
		c.choose()
	}
}

func (c *Core) fallSilent(t *transport) {
	t.silent, t.ticks = true, 0
	c.choose()
}

// answer says where this side stands, on the transport that the question came on: the
// asker hears that one works both ways.
func (c *Core) answer(t *transport, question uint64) {
	if t.closing || t.session != c.peer.session {
		c.sendPeer(&frame.Frame{Type: frame.TypeAck, Answer: question})
		return
	}
	c.send(t, c.peer.session, &frame.Frame{Type: frame.TypeAck, Answer: question})
}

func (c *Core) tickSessions() {
	for _, t := range slices.Clone(c.transports) {
		t.ticks++
		switch {
		case t.closing:
		case t.losing && t.ticks >= lingerLimit:
			c.closing(t, "")
		case !t.greeted:
			c.tickGreeting(t)
		case t.silent && t.ticks%probePause == 0 && c.peer.up && t != c.best():
			c.send(t, c.peer.session, &frame.Frame{Type: frame.TypeAck, Challenge: c.newQuestion()})
		}
	}
	if c.rival != nil {
		c.tickRival()
	}
}

// greetSoon lets hellos be frequent again, and rarer and rarer from there on: somebody is there.
func (t *transport) greetSoon() { t.hello, t.pause = t.ticks+helloPause, helloPause }

// tickGreeting says hello again. Over a shared transport the peer may come whenever it
// does; on a connection somebody must be there.
func (c *Core) tickGreeting(t *transport) {
	if !t.shared && c.rival == nil && t.ticks >= helloLimit {
		c.closing(t, "site "+string(c.cfg.Peer)+" did not answer on the connection")
		return
	}
	if t.ticks < t.hello || !t.dialed && t.session == 0 {
		return
	}
	if t.shared {
		t.pause = min(2*t.pause, sharedPause)
	}
	t.hello = t.ticks + t.pause
	c.sayHello(t, t.session, 0) // without an answer, so that it gets one
}

// leave closes what is not wanted any more, once the peer is heard on a transport that is.
func (c *Core) leave() {
	stays := func(t *transport) bool {
		return t.greeted && !t.closing && !t.leaving && t.session == c.peer.session
	}
	if !slices.ContainsFunc(c.transports, func(t *transport) bool { return t.leaving && !t.closing }) || !slices.ContainsFunc(c.transports, stays) {
		return
	}
	for _, t := range c.transports {
		if t.leaving {
			c.closing(t, "")
		}
	}
}

// showWays tells how transports stand, where that has changed.
func (c *Core) showWays() {
	best := c.best()
	for _, t := range c.transports {
		now := Way{Via: t.via, Stands: Standby, Reason: c.unheard(t)}
		switch {
		case !t.greeted:
			now.Stands = Connecting
		case t == best && c.established():
			now.Stands = InUse
		}
		if now != t.shown {
			t.shown = now
			c.emit(now)
		}
	}
}

// unheard says why a transport that is open is not used.
func (c *Core) unheard(t *transport) string {
	switch {
	case t.hindrance != "":
		return t.hindrance
	case c.stopped != nil, c.refusal != nil && t.closing: // no answer is waited for
	case !t.greeted && t.shared:
		return "connected to the broker, but site " + string(c.cfg.Peer) + " has not answered there yet"
	case !t.greeted:
		return "connected, but site " + string(c.cfg.Peer) + " has not answered yet"
	case t.silent:
		return "nothing comes back on it"
	}
	return ""
}
