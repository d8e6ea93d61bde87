package amqp

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"fmqm/link/frame"
	"fmqm/link/seal"
	"fmqm/processtable"
)

const (
	// expiry is when the broker throws frames away that the peer has not taken: its
	// connection has ended long before, and its link asks again.
	expiry = 10 * time.Minute

	// leaveLimit is how long it may take to tell a peer that it is forgotten.
	leaveLimit = 10 * time.Second

	maxControl = 32             // hellos, proofs and pings that wait to be sent
	maxQueued  = frame.MaxFrame // of frames that wait to be sent: Send blocks above it
	maxInbox   = 4 * frame.MaxFrame
	maxInboxed = 4096
)

// peer is a node behind the broker: the session with it, and at most one connection. It
// has one goroutine, which sends.
type peer struct {
	b    *Broker
	id   processtable.NodeID
	ctx  context.Context // ends with Forget and with the Broker
	end  context.CancelFunc
	wake chan struct{}

	mu        sync.Mutex
	session   *seal.Session
	control   [][]byte   // envelopes, to be sent first
	answers   []byte     // pings and pongs
	pieces    [][]byte   // to be sealed
	queued    int        // bytes of pieces
	number    uint32     // of the last frame that was sent in parts
	conn      *Conn      // nil: none
	publisher *publisher // the present one; what another one says, late, counts for nothing
	parts     assembler
	heard     time.Time     // when it last proved that it is there
	asking    time.Time     // since when it has not been heard though it was sent something; zero: it was heard since
	asked     time.Time     // when it was last asked whether it is there
	trouble   string        // what became of what was sent last; empty: nothing bad
	refusal   string        // why what came from it was not accepted
	left      bool          // it has said that it is not reached over the broker any more
	proved    time.Time     // of a stranger: when it proved who it is; zero: it has not
	changed   chan struct{} // closed and made anew when heard, left or conn changes

	watched int    // counts the sessions that were watched
	unwatch func() // ends watching over the present one; nil: it is not watched

	stranger atomic.Bool // nobody here has asked for it
	leaving  atomic.Bool // it is told that it is not reached over the broker any more, and then forgotten
}

func newPeer(b *Broker, id processtable.NodeID) *peer {
	p := &peer{b: b, id: id, wake: make(chan struct{}, 1), changed: make(chan struct{})}
	p.ctx, p.end = context.WithCancel(b.ctx)
	p.session = seal.New(seal.Config{
		Self: b.o.Self, Peer: id, Identity: b.o.Identity, Verify: b.o.Verify, PlainFrames: b.o.PlainFrames, Rand: b.o.Rand,
	})
	context.AfterFunc(p.ctx, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.watch()
	})
	return p
}

// watch has the session that is ready end once the peer's certificate is not accepted any
// more; the one before is not watched any longer. It is called with the lock.
func (p *peer) watch() {
	if p.unwatch != nil {
		p.unwatch()
		p.unwatch = nil
	}
	chain := p.session.PeerChain()
	if p.b.o.Watch == nil || chain == nil || p.ctx.Err() != nil {
		return
	}
	p.watched++
	which := p.watched
	p.unwatch = p.b.o.Watch(chain, func(err error) { p.disbelieve(which, err) })
}

// disbelieve ends the session that was watched.
func (p *peer) disbelieve(which int, err error) {
	p.mu.Lock()
	if p.watched != which {
		p.mu.Unlock()
		return
	}
	p.session.End()
	p.refusal = fmt.Sprintf("site %s is no longer accepted: %v", p.id, err)
	p.answers, p.pieces, p.queued = nil, nil, 0
	c, reason := p.conn, p.refusal
	p.mu.Unlock()
	if c != nil {
		c.fail(errors.New(reason))
	}
}

func (p *peer) signal() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// change is called with the lock.
func (p *peer) change() {
	close(p.changed)
	p.changed = make(chan struct{})
}

// receive takes a message that bears the peer's name.
func (p *peer) receive(body []byte) {
	p.mu.Lock()
	left := p.open(body)
	p.mu.Unlock()
	if left != nil {
		left.fail(p.departure())
	}
}

// open is receive with the lock. It gives the connection that ends with the peer's word.
func (p *peer) open(body []byte) (left *Conn) {
	r, err := p.session.Receive(body)
	if err != nil {
		p.refusal = err.Error()
		p.b.counts.dropped.Add(1)
		return nil
	}
	if r.Ready { // the peer counts its frames anew: their parts are none of what there is
		p.parts.reset()
	}
	p.control = append(p.control, r.Reply...)
	p.trimControl()
	if len(r.Reply) > 0 {
		p.signal()
	}
	if r.Ready || r.Frame != nil {
		p.hear()
	}
	if r.Ready {
		p.watch()
	}
	switch {
	case len(r.Frame) == 0:
	case p.stranger.Load():
		p.turnAway(r.Frame[0])
	case r.Frame[0] == kindLeave:
		p.left = true
		p.change()
		return p.conn
	default:
		p.piece(r.Frame)
	}
	return nil
}

// hear notes that the peer has proved that it is there; it is called with the lock.
func (p *peer) hear() {
	p.heard, p.asking, p.refusal, p.left = p.b.o.Clock.Now(), time.Time{}, "", false
	if p.conn != nil {
		p.conn.heard.Store(p.heard.UnixNano())
	}
	if p.stranger.Load() && p.proved.IsZero() {
		p.proved = p.heard
		p.b.spawn(func() { p.b.introduce(p.id) })
	}
	p.change()
}

// piece takes what the peer has sealed; it is called with the lock.
func (p *peer) piece(piece []byte) {
	switch piece[0] {
	case kindPing:
		p.answer(kindPong)
	case kindPong:
	case kindWhole:
		p.deliver(piece[1:])
	case kindPart:
		if frame := p.parts.add(piece); frame != nil {
			p.deliver(frame)
		}
	default:
		p.b.counts.dropped.Add(1)
	}
}

// deliver gives a frame to the connection. Without one, or with one that does not take
// what came before, it is as good as lost: its link asks for it again.
func (p *peer) deliver(frame []byte) {
	c := p.conn
	if c == nil || c.bytes+len(frame) > maxInbox || len(c.inbox) >= maxInboxed {
		p.b.counts.dropped.Add(1)
		return
	}
	c.inbox = append(c.inbox, frame)
	c.bytes += len(frame)
	c.signal()
}

// answer sends a ping or a pong; it is called with the lock.
func (p *peer) answer(kind byte) {
	if len(p.answers) < maxControl {
		p.answers = append(p.answers, kind)
	}
	p.signal()
}

// trimControl keeps the newest; what is lost is said again.
func (p *peer) trimControl() {
	if n := len(p.control) - maxControl; n > 0 {
		p.control = p.control[n:]
	}
}

// ask sends what brings the session about, and a ping if there is one; it is called with
// the lock.
func (p *peer) ask(renew bool) error {
	open := p.session.Open
	if renew {
		open = p.session.Renew
	}
	envelopes, err := open()
	if err != nil {
		return err
	}
	p.control = append(p.control, envelopes...)
	p.trimControl()
	p.asked = p.b.o.Clock.Now()
	if p.session.Ready() {
		p.answer(kindPing)
	}
	p.signal()
	return nil
}

// next gives an envelope that is to be sent now, and how long it may wait at the broker;
// nil if there is nothing.
func (p *peer) next() (envelope []byte, expire time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.control) > 0 {
		envelope, p.control = p.control[0], p.control[1:]
		return envelope, Silence
	}
	for len(p.answers) > 0 || len(p.pieces) > 0 {
		piece, expire := p.nextPiece()
		sealed, err := p.session.Seal(piece)
		if err == nil {
			p.await(piece[0])
			return sealed, expire
		} // the session is gone: what it was for is lost
	}
	return nil, 0
}

func (p *peer) nextPiece() (piece []byte, expire time.Duration) {
	if len(p.answers) > 0 {
		piece, p.answers = p.answers[:1:1], p.answers[1:]
		return piece, Silence
	}
	piece, p.pieces[0], p.pieces = p.pieces[0], nil, p.pieces[1:]
	p.queued -= len(piece)
	if c := p.conn; c != nil && p.queued < maxQueued {
		select {
		case c.room <- struct{}{}:
		default:
		}
	}
	return piece, expiry
}

// run sends until the peer is forgotten.
func (p *peer) run() {
	var out *publisher
	defer func() { p.use(nil, out) }()
	for {
		conn, gate, changed := p.b.link()
		if out != nil && (out.conn != conn || out.gone() || out.needsRenewal()) {
			out = p.use(nil, out)
		}
		if conn == nil {
			select {
			case <-changed:
				continue
			case <-p.ctx.Done():
				return
			}
		}
		select {
		case <-gate:
		case <-changed:
			continue
		case <-p.ctx.Done():
			return
		}
		envelope, expire := p.next()
		if envelope == nil {
			if p.leaving.Load() {
				p.end()
				return
			}
			select {
			case <-p.wake:
			case <-changed:
			case <-p.ctx.Done():
				return
			}
			continue
		}
		if out == nil {
			out = p.use(newPublisher(p, conn), nil)
		}
		if err := out.publish(envelope, expire); err != nil {
			p.lost(out, p.sending(err))
			out = p.use(nil, out)
		}
	}
}

// use makes next the present publisher, and closes the one before.
func (p *peer) use(next, before *publisher) *publisher {
	p.mu.Lock()
	p.publisher = next
	p.mu.Unlock()
	before.close()
	return next
}

func (p *peer) sending(err error) string {
	return fmt.Sprintf("messages for site %s do not reach the broker: %s", p.id, p.b.target.explain(err))
}

// lost: what was published on a channel is lost, or refused, and so would be what follows.
func (p *peer) lost(on *publisher, reason string) {
	p.mu.Lock()
	if p.publisher != on {
		p.mu.Unlock()
		return
	}
	p.trouble = reason
	c := p.conn
	p.mu.Unlock()
	if c != nil {
		c.fail(fmt.Errorf("%s", reason))
	}
}

// note keeps what became of what was published on a channel, for the one who asks why nothing
// comes; empty: what was sent since has reached the broker.
func (p *peer) note(on *publisher, trouble string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.publisher != on || p.trouble == trouble {
		return
	}
	p.trouble = trouble
	if p.conn != nil {
		p.conn.signal()
	}
}

// look has the connection look for a hindrance.
func (p *peer) look() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.conn != nil {
		p.conn.signal()
	}
}

// hindrance says why what is sent to the peer goes nowhere at present, though it may be
// heard; empty: it goes. It is called with the lock.
func (p *peer) hindrance() string {
	if why := p.b.why(); why != "" {
		return why
	}
	return p.trouble
}

// brokerLost ends the connection: what was on its way may be lost.
func (p *peer) brokerLost(reason string) {
	p.mu.Lock()
	c := p.conn
	p.control, p.answers, p.pieces, p.queued = nil, nil, nil, 0
	p.mu.Unlock()
	if c != nil {
		c.fail(fmt.Errorf("%s", reason))
	}
}

// forget ends everything of the peer, which is told where it can be: it would else go on
// taking this node for reached.
func (p *peer) forget() {
	p.mu.Lock()
	c := p.conn
	conn, _, _ := p.b.link()
	tell := conn != nil && p.session.Ready()
	if tell {
		p.pieces, p.queued = nil, 0
		p.answers = []byte{kindLeave}
	}
	p.mu.Unlock()
	if tell {
		p.leaving.Store(true)
		stop := p.b.o.Clock.AfterFunc(leaveLimit, p.end)
		context.AfterFunc(p.ctx, func() { stop() })
		p.signal()
	} else {
		p.end()
	}
	if c != nil {
		c.fail(errClosed)
	}
}
