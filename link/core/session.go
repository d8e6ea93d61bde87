package core

import (
	"slices"
	"time"

	"fmqm/link/frame"
	"fmqm/message"
	"fmqm/queue/record"
)

// TickInterval is how often a restless Core needs a Tick. The times below are counted in
// ticks.
const TickInterval = 250 * time.Millisecond

const (
	helloPause   = 4  // between hellos that are not answered
	helloLimit   = 40 // then the transport is given up
	rivalLimit   = 20 // for the daemon that we know to show that it is alive
	lingerLimit  = 8  // a transport that lost the tie-break is still read
	maxRetired   = 8
	maxTransport = 6
)

// rival is another session under the peer's name: the peer's daemon was started
// again, or two of them are alive. Both are asked; two answers stop the link.
type rival struct {
	session     uint64
	proved      bool // the newcomer has answered
	peerProved  bool // the one that we knew has
	ticksPassed int
}

func (c *Core) newQuestion() uint64 {
	c.question++
	return c.question
}

func (c *Core) newGreeting() { c.greeting = c.newQuestion() }

func (c *Core) sayHello(t *transport, to, answer uint64) {
	h := &frame.Hello{
		Node: c.cfg.Self, Expected: c.cfg.Peer, Incarnation: c.cfg.Incarnation, Known: c.known,
		MinVersion: c.cfg.Formats.Frame.Min, MaxVersion: c.cfg.Formats.Frame.Max,
		Messages: c.cfg.Formats.Message, Tables: c.cfg.Formats.Table, Begin: c.cfg.Begin,
		Bodies: c.cfg.Formats.Bodies,
	}
	for l := range h.Low {
		h.Low[l] = c.out[l].base.Number
	}
	c.send(t, to, &frame.Frame{Type: frame.TypeHello, Hello: h, Challenge: c.greeting, Answer: answer})
}

// hello takes a peer's hello. It counts only if it answers our newest greeting;
// otherwise ours goes back, and the answer to it will.
func (c *Core) hello(t *transport, f *frame.Frame) {
	h := f.Hello
	if t.session == 0 {
		t.session = f.From
	}
	switch {
	case h.Node != c.cfg.Peer:
		c.stop(frame.StopWrongNode, reasonWrongNode(c.cfg.Peer, h.Node))
		return
	case h.Expected != c.cfg.Self:
		c.refuse(t, f.From, frame.StopWrongNode, ReasonCalledWrong(h.Node, h.Expected, c.cfg.Self), true)
		return
	case h.MinVersion > c.cfg.Formats.Frame.Max || h.MaxVersion < c.cfg.Formats.Frame.Min:
		c.refuse(t, f.From, frame.StopVersion, reasonVersion(h.Node, message.Range{Min: h.MinVersion, Max: h.MaxVersion}, c.cfg.Formats.Frame), false)
		return
	}
	c.suspect(f)
	fresh := f.To == c.cfg.Session && f.Answer == c.greeting
	if !fresh || f.Challenge != t.answered {
		t.answered = f.Challenge
		c.sayHello(t, f.From, f.Challenge)
	}
	if !fresh {
		return
	}
	switch {
	case c.retiredSession(f.From):
		c.stop(frame.StopTwoDaemons, reasonTwoDaemons(c.cfg.Peer, c.peer.session, f.From))
	case c.rival != nil:
		c.proved(f)
	default:
		c.meet(t, f)
	}
}

// suspect notices a rival: another session while the one that we know seems alive.
func (c *Core) suspect(f *frame.Frame) {
	if !c.peer.up || f.From == c.peer.session || c.rival != nil && c.rival.session == f.From {
		return
	}
	c.rival = &rival{session: f.From}
	c.newGreeting()
	c.challengePeer()
}

func (c *Core) challengePeer() {
	if t := c.best(); t != nil {
		c.sayHello(t, t.session, t.answered)
	}
}

// proved: one of two sessions has shown that it is alive.
func (c *Core) proved(f *frame.Frame) {
	switch f.From {
	case c.rival.session:
		c.rival.proved = true
	case c.peer.session:
		c.rival.peerProved = true
	default:
	}
	if c.rival.proved && c.rival.peerProved {
		c.stop(frame.StopTwoDaemons, reasonTwoDaemons(c.cfg.Peer, c.peer.session, c.rival.session))
	}
}

// meet takes a fresh hello of the only daemon with the peer's name.
func (c *Core) meet(t *transport, f *frame.Frame) {
	h := f.Hello
	var none record.Incarnation
	switch {
	case h.Known != none && h.Known != c.cfg.Incarnation: // the peer's operator decides
		c.refuseAll(frame.StopNewIncarnation, reasonKnownOtherwise(c.cfg.Peer, c.cfg.Incarnation, h.Known))
		return
	case c.known == none:
		if c.binding == nil {
			c.binding = &binding{c.newToken(), h.Incarnation}
			c.emit(Bind{Token: c.binding.token, Incarnation: h.Incarnation})
		}
		return
	case h.Incarnation != c.known:
		c.presented = h.Incarnation
		c.stop(frame.StopNewIncarnation, reasonNewIncarnation(c.cfg.Peer, c.known, h.Incarnation))
		return
	case h.Known == none: // it is putting us on its disk; another hello will follow
		return
	}
	if c.beginning(t, f) {
		return
	}
	if f.From != c.peer.session {
		c.retire(c.peer.session)
		c.peer = peer{session: f.From}
	}
	c.peer.version = min(h.MaxVersion, c.cfg.Formats.Frame.Max)
	c.peerReads(readsOf(h))
	for l := range record.Lanes {
		if c.in[l].accepted.Number < h.Low[l] {
			c.stop(frame.StopBelowLowest, reasonPeerLetGo(c.cfg.Self, c.cfg.Peer, l, c.in[l].accepted.Number, h.Low[l]))
			return
		}
	}
	t.session, t.greeted = f.From, true
	for _, other := range c.transports {
		if !other.greeted {
			other.greetSoon()
		}
	}
	c.choose()
	if !c.peer.up {
		c.up()
	}
	if !c.isNewer(f) {
		return
	}
	c.takeReceipts(f)
	for l := range record.Lanes { // it may have met us only now, and dropped what came before
		c.out[l].goBack(f.Receipts[l].Received + 1)
	}
}

// readsOf is what the speaker of a hello reads. Who says nothing of bodies is of the version
// before, or an older one.
func readsOf(h *frame.Hello) message.Reads {
	r := message.Reads{Message: h.Messages.OrFirst(), Table: h.Tables.OrFirst(), Bodies: h.Bodies}
	if r.Bodies == (message.Bodies{}) {
		r.Bodies = message.Before().Bodies
	}
	return r
}

// up begins the conversation where the peer's receipts say, which takeReceipts takes next.
func (c *Core) up() {
	c.peer.up, c.peer.ackPending = true, false
	c.refusal = nil
	c.ask = ask{}
	for l := range record.Lanes {
		c.out[l].restart()
		c.in[l].gap = 0
	}
	c.peer.ackDelayed = false
	c.emit(Up{})
}

func (c *Core) down() {
	if c.peer.up {
		c.peer.up = false
		c.emit(Down{})
	}
}

// bound: the peer's incarnation is on disk, or could not be put there. The peer is
// greeted again, so that what it says is judged as of now.
func (c *Core) bound(e Bound) {
	b := c.binding
	if b == nil || b.token != e.Token {
		return
	}
	c.binding = nil
	if e.Err != nil {
		c.endAll("cannot record the identity of site " + string(c.cfg.Peer) + ": " + e.Err.Error())
		return
	}
	c.known = b.incarnation
	c.greetAll()
}

func (c *Core) greetAll() {
	c.newGreeting()
	for _, t := range c.transports {
		if t.session != 0 && !t.closing {
			c.sayHello(t, t.session, t.answered)
		}
	}
}

// retire remembers a session that another one followed: it will not come back, unless
// two daemons use one name.
func (c *Core) retire(session uint64) {
	if session == 0 {
		return
	}
	if c.retired = append(c.retired, session); len(c.retired) > maxRetired {
		c.retired = c.retired[1:]
	}
}

func (c *Core) retiredSession(s uint64) bool { return slices.Contains(c.retired, s) }

func (c *Core) tickRival() {
	r := c.rival
	r.ticksPassed++
	switch {
	case r.ticksPassed < rivalLimit:
		if r.ticksPassed%helloPause == 0 {
			c.challengePeer()
		}
	case r.proved: // the one that we knew is gone
		c.rival = nil
		for _, t := range c.transports {
			if t.session != c.peer.session || !t.greeted {
				continue
			}
			if t.shared { // the newcomer is heard on it
				t.greeted, t.silent, t.session = false, false, r.session
				t.greetSoon()
			} else {
				c.closing(t, "")
			}
		}
		c.down()
		c.greetAll()
	default:
		c.rival = nil
	}
}
