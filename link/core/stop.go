package core

import (
	"fmt"

	"fmqm/link/frame"
	"fmqm/queue/record"
)

// A link is stopped by what was seen here, and then an operator decides here; or it is
// refused by the peer, whose operator decides there, and is tried again now and then.
// Either way nothing is accepted before hellos have shown that both agree: whatever
// was wrong is found again by the next hello, also after a restart.

// stop ends the conversation until an operator decides, and tells whoever listens.
func (c *Core) stop(code frame.StopCode, reason string) {
	if c.stopped != nil {
		return
	}
	c.down()
	c.dropReceived()
	c.stopped = &frame.Stop{Code: code, Node: c.cfg.Self, Reason: frame.Cut(reason), Final: true}
	c.refusal = nil
	for _, t := range c.transports {
		c.sayStop(t, t.session, *c.stopped)
	}
	c.emit(Stopped{Stop: *c.stopped})
}

// dropReceived forgets what was not given to the store, and asks for what was on its way
// there not to be.
func (c *Core) dropReceived() {
	for l := range c.in {
		r := &c.in[l]
		r.queue, r.bytes, r.gap, r.received, r.unacknowledged = nil, 0, 0, r.accepted, nil
		if u := r.under; u != nil {
			r.received = u.end
			if !u.withdrawn {
				u.withdrawn = true
				c.emit(Withdraw{Token: u.token})
			}
		}
	}
}

// sayStop tells why, and ends the transport, unless others may call on it.
func (c *Core) sayStop(t *transport, to uint64, s frame.Stop) {
	if to != 0 || !t.shared {
		c.send(t, to, &frame.Frame{Type: frame.TypeStop, Stop: &s})
	}
	c.endRefused(t)
}

func (c *Core) endRefused(t *transport) {
	if !t.shared {
		c.closing(t, "")
		return
	}
	t.greeted, t.session, t.losing, t.silent = false, 0, false, false
	t.hello, t.pause = t.ticks+sharedPause, sharedPause
}

// resting says whether the link waits for a decision, or to have taken one up.
func (c *Core) resting() bool { return c.stopped != nil || len(c.decisions.waiting) > 0 }

// stepResting: who calls a stopped link hears why. What was under way with the store
// comes to its end.
func (c *Core) stepResting(e Event) {
	switch e := e.(type) {
	case Connected:
		c.transports = append(c.transports, &transport{via: e.Via, dialed: e.Dialed, rank: e.Rank, shared: e.Shared})
	case Disconnected:
		c.forget(e.Via)
	case Received:
		c.receivedResting(e)
	case Hindered:
		c.hindered(e)
	case Woken:
		c.woken(e)
	case Items:
		if s := &c.out[e.Lane]; s.reading == e.Token {
			s.reading = 0
		}
	case Accepted:
		if r := &c.in[e.Lane]; r.under != nil && r.under.token == e.Token {
			r.under, r.accepted, r.received = nil, e.At, e.At
		}
	case Bound: // what the store has of it is loaded with the decision
		if c.binding != nil && c.binding.token == e.Token {
			c.binding = nil
		}
	case Begun:
		if c.starting != nil && c.starting.token == e.Token {
			c.starting = nil
		}
	case Leaving:
		if t := c.transport(e.Via); t != nil {
			c.closing(t, "")
		}
	case Decide:
		c.decide(e)
	case Rerouted:
		if c.stopped != nil && c.stopped.Code == frame.StopWrongNode {
			c.decide(Decide{})
		}
	case Rebound:
		c.rebound(e)
	case Loaded:
		c.loaded(e)
	case Carry:
		if e.To == 0 {
			c.emit(Uncarried{Frame: e.Frame})
		}
	case Unreadable, Tick, Broken, Paused, Overtook:
	}
}

func (c *Core) receivedResting(e Received) {
	t := c.transport(e.Via)
	if t == nil {
		return
	}
	if e.Frame.Type == frame.TypeHello && c.stopped != nil {
		c.sayStop(t, e.Frame.From, *c.stopped)
	}
}

// heardStop takes a peer's refusal. A final one is no news where another daemon has
// followed, or the same one has gone on since: it was late. While the peer is heard on another way,
// one of another site ends the way that led there, with what it says.
func (c *Core) heardStop(t *transport, f *frame.Frame) {
	s := f.Stop
	switch {
	case f.To != c.cfg.Session:
	case !s.Final:
		c.closing(t, reasonEnded(c.cfg.Peer, s.Reason))
	case c.peer.up && s.Node != c.cfg.Peer:
		c.closing(t, reasonEnded(s.Node, s.Reason))
	case c.peer.up && (f.From != c.peer.session || f.Seq <= c.peer.seq):
	case s.Node != c.cfg.Peer:
		c.stop(frame.StopWrongNode, reasonWrongNode(c.cfg.Peer, s.Node))
	default:
		c.refused(frame.StopByPeer, reasonByPeer(c.cfg.Peer, s.Reason))
	}
}

// refused ends the conversation: only the peer's operator can go on with it, so that
// who is refused asks again.
func (c *Core) refused(code frame.StopCode, reason string) {
	c.down()
	c.dropReceived()
	c.rival = nil
	c.refusal = &frame.Stop{Code: code, Node: c.cfg.Self, Reason: frame.Cut(reason), Final: true}
	for _, t := range c.transports {
		c.endRefused(t)
	}
	c.emit(Stopped{Stop: *c.refusal})
}

// refuseAll is refused, and says so to the peer.
func (c *Core) refuseAll(code frame.StopCode, reason string) {
	said := frame.Stop{Code: code, Node: c.cfg.Self, Reason: frame.Cut(reason), Final: true}
	for _, t := range c.transports {
		if t.session != 0 {
			c.send(t, t.session, &frame.Frame{Type: frame.TypeStop, Stop: &said})
		}
	}
	c.refused(code, reason)
}

// refuse ends one transport and says why; the link goes on.
func (c *Core) refuse(t *transport, to uint64, code frame.StopCode, reason string, final bool) {
	c.send(t, to, &frame.Frame{Type: frame.TypeStop, Stop: &frame.Stop{Code: code, Node: c.cfg.Self, Reason: frame.Cut(reason), Final: final}})
	c.closing(t, reason)
}

func (c *Core) closing(t *transport, reason string) {
	if !t.closing {
		t.closing = true
		c.emit(Close{Via: t.via, Reason: frame.Cut(reason)})
	}
}

// endAll ends every transport for a reason that may pass; both sides try again later.
func (c *Core) endAll(reason string) {
	for _, t := range c.transports {
		c.end(t, reason)
	}
}

func (c *Core) end(t *transport, reason string) {
	if !t.closing {
		c.refuse(t, t.session, frame.StopCannotGoOn, reason, false)
	}
}

// beginning says whether the conversation has to wait for its beginning to be on the
// disk of the store that it begins with: an operator has bound that store anew, and
// what was confirmed by the one before it does not come again (L1).
func (c *Core) beginning(t *transport, f *frame.Frame) bool {
	h := f.Hello
	wanted := false
	for l := range record.Lanes {
		wanted = wanted || h.Begin[l].Number > 0 && c.in[l].received == record.Position{}
	}
	if wanted {
		if c.starting == nil {
			c.starting = &starting{c.newToken(), h.Begin}
			c.emit(Begin{Token: c.starting.token, At: h.Begin})
		}
		return true
	}
	for l := range record.Lanes {
		begin := c.cfg.Begin[l]
		if begin.Number == 0 || c.out[l].base != begin || f.Receipts[l].Position != (record.Position{}) {
			continue
		}
		if h.MaxVersion < 2 {
			c.refuse(t, f.From, frame.StopVersion, fmt.Sprintf("site %s runs a version that cannot begin again with another store: upgrade %s", c.cfg.Peer, c.cfg.Peer), false)
		}
		return true // another hello will follow
	}
	return false
}

// begun: the beginning is on disk, or could not be put there.
func (c *Core) begun(e Begun) {
	b := c.starting
	if b == nil || b.token != e.Token {
		return
	}
	c.starting = nil
	if e.Err != nil {
		c.endAll("cannot record where the messages of site " + string(c.cfg.Peer) + " begin: " + e.Err.Error())
		return
	}
	for l := range b.at {
		if r := &c.in[l]; r.received == (record.Position{}) {
			r.accepted, r.received, r.acknowledged = b.at[l], b.at[l], b.at[l].Number
		}
	}
	c.greetAll()
}
