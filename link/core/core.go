package core

import (
	"slices"

	"fmqm/link/frame"
	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue/record"
)

// Stored is what the store holds of a link.
type Stored struct {
	Known     record.Incarnation            // of the peer's store, as it was met; zero: never met
	Low, Last [record.Lanes]record.Position // of the transmission queue
	Accepted  [record.Lanes]record.Position // from the peer
	Begin     [record.Lanes]record.Position // before the first item that is for the peer's present store
}

// Config is what a Core starts from: who it is, and what the store holds then.
type Config struct {
	Self, Peer  processtable.NodeID
	Incarnation record.Incarnation // of this node's store
	Session     uint64             // random for each link that a daemon makes, not 0
	Stored

	Formats frame.Formats // what this node reads; zero: what this program does

	WindowBytes int // what may be under way in a lane without acknowledgement; 0: 2 MiB
	WindowItems int // 0: 8192
	// WindowFrames bounds the Data frames that are under way in a lane: what comes while
	// so many are joins into the next, larger one. 0: 64
	WindowFrames int
	FrameBytes   int // payload of one Data frame; 0: 512 KiB
}

// Core is one end of a link: rules L1 to L5, without goroutines, clock or I/O. Not
// safe for concurrent use. The same events in the same order give the same effects.
//
// A conversation begins when each side has seen the other's answer to its own
// question (Challenge, Answer), so nothing that was sent to an earlier life of either
// daemon is taken for news. From then on the sender keeps a window of unacknowledged
// items under way and goes back to the number that the receiver asks for; the
// receiver takes last+1 and nothing else.
type Core struct {
	cfg      Config
	known    record.Incarnation
	tokens   Token
	binding  *binding  // the Bind that is under way
	starting *starting // the Begin that is under way
	question uint64    // newest challenge; each is one more than the one before
	greeting uint64    // the challenge that a hello must answer to count as fresh
	seq      uint64

	transports []*transport // in the order of their coming
	peer       peer
	rival      *rival
	retired    []uint64 // sessions of the peer that were followed by another

	out     [record.Lanes]sender
	in      [record.Lanes]receiver
	repeats uint64 // items that came and had come before
	ask     ask

	stopped   *frame.Stop        // by what was seen here: an operator decides
	refusal   *frame.Stop        // by the peer: tried again, now and then
	presented record.Incarnation // the peer's other store that stopped the link
	decisions decisions
	told      message.Reads // what the store was told last that the peer reads
	effects   []Effect
}

// binding and starting are what the store has been asked to record.
type (
	binding struct {
		token       Token
		incarnation record.Incarnation
	}
	starting struct {
		token Token
		at    [record.Lanes]record.Position
	}
)

// peer is the daemon at the other end.
type peer struct {
	session    uint64 // 0: none met
	seq        uint64 // newest seen of it
	up         bool   // the conversation is under way
	ackPending bool   // something of it is accepted that no acknowledgement has told it of
	ackDelayed bool   // and that for a tick: the acknowledgement goes alone now
	version    uint8  // of the frames that it is sent
	reads      message.Reads
}

// New gives a Core without a transport.
func New(cfg Config) *Core {
	if cfg.WindowBytes == 0 {
		cfg.WindowBytes = 2 << 20
	}
	if cfg.WindowItems == 0 {
		cfg.WindowItems = 8192
	}
	if cfg.FrameBytes == 0 {
		cfg.FrameBytes = 512 << 10
	}
	if cfg.WindowFrames == 0 {
		cfg.WindowFrames = 64
	}
	if cfg.Formats == (frame.Formats{}) {
		cfg.Formats = frame.Current()
	}
	c := &Core{cfg: cfg}
	c.load(cfg.Stored)
	return c
}

func (c *Core) newToken() Token {
	c.tokens++
	return c.tokens
}

// load takes what the store holds. Nothing is under way.
func (c *Core) load(now Stored) {
	same := c.known == now.Known
	c.known, c.cfg.Begin = now.Known, now.Begin
	for l := range record.Lanes {
		base := now.Low[l]
		if same && c.out[l].base.Number > base.Number { // its Trim is on its way to the disk
			base = c.out[l].base
		}
		c.out[l] = sender{base: base, next: base.Number + 1, last: now.Last[l].Number}
		c.in[l] = receiver{accepted: now.Accepted[l], received: now.Accepted[l], acknowledged: now.Accepted[l].Number}
	}
}

// Step takes an event and gives what is to be done about it.
func (c *Core) Step(e Event) []Effect {
	c.effects = nil
	if c.resting() {
		c.stepResting(e)
		c.decideNext()
		c.showWays()
		return c.effects
	}
	switch e := e.(type) {
	case Connected:
		c.connected(e)
	case Disconnected:
		c.disconnected(e.Via)
	case Received:
		if t := c.transport(e.Via); t != nil {
			c.take(t, e.Frame)
		}
	case Hindered:
		c.hindered(e)
	case Unreadable:
		if t := c.transport(e.Via); t != nil {
			c.end(t, reasonUnreadable(c.cfg.Peer, e.Err))
		}
	case Tick:
		c.tick()
	case Woken:
		c.woken(e)
	case Items:
		c.items(e)
	case Accepted:
		c.accepted(e)
	case Overtook:
		c.overtook(e)
	case Paused:
		if u := c.in[e.Lane].under; u != nil && u.token == e.Token {
			u.paused = e.Reason
		}
	case Bound:
		c.bound(e)
	case Begun:
		c.begun(e)
	case Leaving:
		if t := c.transport(e.Via); t != nil {
			t.leaving = true
		}
	case Decide:
		c.decide(e)
	case Broken:
		c.stop(frame.StopCannotGoOn, e.Err.Error())
	case Carry:
		c.carry(e)
	case Rebound, Loaded, Rerouted: // of a link that is stopped
	}
	c.decideNext()
	c.settle()
	c.leave()
	c.showWays()
	return c.effects
}

// established reports whether the conversation is under way.
func (c *Core) established() bool { return c.peer.up && c.stopped == nil }

// Restless reports whether the Core needs ticks: an idle link needs none.
func (c *Core) Restless() bool {
	if c.stopped != nil {
		return false
	}
	for _, t := range c.transports {
		if !t.greeted || t.losing || t.silent && t != c.best() {
			return true
		}
	}
	if c.rival != nil || c.peer.up && c.peer.ackPending {
		return true
	}
	for l := range record.Lanes {
		if c.peer.up && (len(c.out[l].sent) > 0 || c.in[l].gap != 0) {
			return true
		}
	}
	return false
}

func (c *Core) emit(e Effect) { c.effects = append(c.effects, e) }

// send stamps a frame with what every frame carries and gives it to t, for the daemon
// with the session to.
func (c *Core) send(t *transport, to uint64, f *frame.Frame) {
	c.seq++
	f.Version, f.From, f.To, f.Seq = c.peer.version, c.cfg.Session, to, c.seq
	if f.Type == frame.TypeHello || f.Type == frame.TypeStop { // every version reads what it knows of these
		f.Version = c.cfg.Formats.Frame.Max
	}
	for l := range c.in {
		f.Receipts[l] = frame.Receipt{Position: c.in[l].accepted, Received: c.in[l].received.Number}
	}
	if to == c.peer.session {
		c.peer.ackPending, c.peer.ackDelayed = false, false
		for l := range c.in {
			c.in[l].acknowledge()
		}
	}
	c.emit(Send{Via: t.via, Frame: f})
}

// sendPeer sends to the peer over the best transport; without a conversation nothing.
func (c *Core) sendPeer(f *frame.Frame) {
	if t := c.best(); t != nil && c.peer.up {
		c.send(t, c.peer.session, f)
	}
}

// settle is the end of each step: lanes send what they may, and an acknowledgement
// that nothing carried goes alone, once it was delayed for long enough. While a Read is under way its Data
// will carry it.
func (c *Core) settle() {
	if c.stopped != nil || !c.peer.up || c.best() == nil { // what is read could not be sent
		return
	}
	reading := false
	for l := record.Lanes - 1; l >= 0; l-- { // what is expedited first (L2)
		c.pump(message.Lane(l))
		reading = reading || c.out[l].reading != 0
	}
	if c.peer.ackPending && !reading && c.ackNow() {
		c.sendPeer(&frame.Frame{Type: frame.TypeAck})
	}
}

// take takes a frame.
func (c *Core) take(t *transport, f *frame.Frame) {
	switch f.Type {
	case frame.TypeHello:
		c.hello(t, f)
		return
	case frame.TypeStop:
		c.heardStop(t, f)
		return
	default:
	}
	if !c.peer.up || !t.greeted || f.To != c.cfg.Session || f.From != c.peer.session {
		c.misled(t, f)
		return
	}
	if f.Answer != 0 {
		c.hears(t)
	}
	if c.isNewer(f) {
		c.takeReceipts(f)
	}
	if c.stopped != nil {
		return
	}
	switch f.Type {
	case frame.TypeData:
		c.data(f.Data)
	case frame.TypeGap:
		c.out[f.Gap.Lane].goBack(f.Gap.From)
	case frame.TypeQuery, frame.TypeReply:
		c.emit(Deliver{Frame: f})
	case frame.TypeAck, frame.TypeHello, frame.TypeStop:
	}
	if f.Challenge != 0 && c.stopped == nil && c.peer.up {
		c.answer(t, f.Challenge)
	}
}

// misled: f is of another life of one of us. Hellos bring us together; but each side may have
// greeted the other and be content, with another life of it, where the hello got lost that would
// have told. A question shows that, since who is content asks only if nothing comes: it gets a hello.
func (c *Core) misled(t *transport, f *frame.Frame) {
	if f.Challenge != 0 && t.greeted && !t.closing {
		c.sayHello(t, f.From, 0)
	}
}

// isNewer says whether f is newer than all that was heard of the peer.
func (c *Core) isNewer(f *frame.Frame) bool {
	if f.Seq <= c.peer.seq {
		return false
	}
	c.peer.seq = f.Seq
	return true
}

// takeReceipts takes the peer's receipts.
func (c *Core) takeReceipts(f *frame.Frame) {
	for l := range record.Lanes {
		c.receipt(message.Lane(l), f.Receipts[l])
		if c.stopped != nil {
			return
		}
	}
	if f.Answer != 0 && f.Answer == c.ask.question {
		for l := range record.Lanes {
			if c.ask.sent[l] > f.Receipts[l].Received {
				c.out[l].goBack(f.Receipts[l].Received + 1)
			}
		}
		c.ask = ask{}
	}
}

// carry sends a query, or a reply; one to a daemon that is gone answers nothing that the
// present one has asked.
func (c *Core) carry(e Carry) {
	switch sent := *e.Frame; {
	case e.To != 0 && e.To != c.peer.session:
	case e.To == 0 && (!c.peer.up || c.best() == nil):
		c.emit(Uncarried{Frame: e.Frame})
	default:
		c.sendPeer(&sent)
	}
}

func (c *Core) transport(via Via) *transport {
	i := slices.IndexFunc(c.transports, func(t *transport) bool { return t.via == via })
	if i < 0 {
		return nil
	}
	return c.transports[i]
}
