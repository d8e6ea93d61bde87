package core

import (
	"fmt"

	"fmqm/link/frame"
	"fmqm/message"
	"fmqm/queue/record"
)

const (
	firstTimeout = 4         // the retransmission timeout, in ticks without progress: then the peer is asked where it stands
	lastTimeout  = 64        // it doubles up to this
	gapPause     = 4         // ticks before the same gap is asked for again
	acceptBytes  = 512 << 10 // of one transaction of accepted items
	acceptItems  = 1024
	ackPart      = 4 // of the window may be used before an acknowledgement is delayed no more
)

// sender is one lane on its way out.
//
// What base.Number and before is with the peer, verified, and may be let go; sent
// holds where the running hash stood after each item under way; next is read next.
type sender struct {
	base       record.Position
	sent       []sentItem
	bytes      int // of sent
	next       uint64
	last       uint64           // the newest that the store has
	reading    Token            // of the Read that is under way; 0: there is none
	unverified *record.Position // what the peer says it has, where the hash must be read first
	frames     int              // Data frames that sent is spread over
	unread     *unread          // next is one that the peer cannot read

	waited  int // ticks without progress
	timeout int // retransmission timeout, in ticks
}

type sentItem struct {
	hash  record.Hash
	size  int
	first bool // of its frame
}

// ask is the question where the peer stands, and what had been sent before it: what of that
// it has not received when it answers is lost.
type ask struct {
	question uint64
	via      Via
	sent     [record.Lanes]uint64
}

// receiver is one lane on its way in. Items between accepted and received are in
// memory: in queue, or in the Accept that is under way.
type receiver struct {
	accepted record.Position
	received record.Position
	queue    []record.Item
	bytes    int    // of queue
	under    *under // the Accept that is under way
	gap      uint64 // asked for from here; 0: nothing is
	gapTicks int

	acknowledged   uint64    // the newest that an acknowledgement has told of
	unacknowledged []arrived // frames that none has
}

// under is an Accept that is under way.
type under struct {
	token     Token
	end       record.Position // of its last item
	withdrawn bool            // what stopped the link made it useless
	paused    string          // why it waits for room
}

// arrived is a Data frame that came.
type arrived struct {
	last uint64 // its newest item
	size int
}

// acknowledge notes that an acknowledgement goes out.
func (r *receiver) acknowledge() {
	r.acknowledged = r.accepted.Number
	n := 0
	for n < len(r.unacknowledged) && r.unacknowledged[n].last <= r.acknowledged {
		n++
	}
	if r.unacknowledged = r.unacknowledged[n:]; len(r.unacknowledged) == 0 {
		r.unacknowledged = nil
	}
}

// ackUrgent says whether the sender's window is used by what was accepted and not yet
// acknowledged, to a part of it.
func (r *receiver) ackUrgent(cfg *Config) bool {
	frames, size := 0, 0
	for frames < len(r.unacknowledged) && r.unacknowledged[frames].last <= r.accepted.Number {
		size += r.unacknowledged[frames].size
		frames++
	}
	return frames >= cfg.WindowFrames/ackPart || size >= cfg.WindowBytes/ackPart || r.accepted.Number-r.acknowledged >= uint64(cfg.WindowItems/ackPart)
}

// ackNow says whether an acknowledgement has to go now. Over a shared transport each frame
// is a message that the broker stores, confirms and forgets: there it waits for a frame
// that carries it, for a part of the window, or for a tick.
func (c *Core) ackNow() bool {
	t := c.best()
	return c.peer.ackDelayed || t == nil || !t.shared || c.in[0].ackUrgent(&c.cfg) || c.in[1].ackUrgent(&c.cfg)
}

func (s *sender) restart() {
	s.sent, s.bytes, s.frames, s.unverified, s.unread = nil, 0, 0, nil, nil
	s.next = s.base.Number + 1
	s.progress()
}

func (s *sender) progress() { s.waited, s.timeout = 0, firstTimeout }

// goBack goes back to number, if it was sent and is not confirmed.
func (s *sender) goBack(number uint64) {
	if number <= s.base.Number || number >= s.next {
		return
	}
	keep := int(number - s.base.Number - 1)
	s.uncount(s.sent[keep:])
	s.sent, s.next, s.unread = s.sent[:keep], number, nil
	s.waited = 0
}

// uncount takes items out of what is under way.
func (s *sender) uncount(gone []sentItem) {
	for _, i := range gone {
		s.bytes -= i.size
		if i.first {
			s.frames--
		}
	}
}

// before is the hash at next-1.
func (s *sender) before() record.Hash {
	if len(s.sent) == 0 {
		return s.base.Hash
	}
	return s.sent[len(s.sent)-1].hash
}

// pump reads what the window has room for.
func (c *Core) pump(lane message.Lane) {
	s := &c.out[lane]
	if s.reading != 0 {
		return
	}
	if s.unverified != nil {
		s.reading = c.newToken()
		c.emit(Read{Token: s.reading, Lane: lane, From: s.unverified.Number, MaxBytes: 1})
		return
	}
	room := min(c.cfg.WindowBytes-s.bytes, c.cfg.FrameBytes)
	if s.next > s.last || room <= 0 || len(s.sent) >= c.cfg.WindowItems || s.frames >= c.cfg.WindowFrames || s.unread != nil {
		return
	}
	s.reading = c.newToken()
	c.emit(Read{Token: s.reading, Lane: lane, From: s.next, MaxBytes: room})
}

func (c *Core) woken(e Woken) {
	for l := range record.Lanes {
		c.out[l].last = max(c.out[l].last, e.Last[l].Number)
	}
}

// items sends what was read, or judges by it what the peer says that it has.
func (c *Core) items(e Items) {
	s := &c.out[e.Lane]
	if s.reading != e.Token {
		return
	}
	s.reading = 0
	if err := checkItems(e); err != nil {
		c.endAll(fmt.Sprintf("cannot read the transmission queue for site %s: %s", c.cfg.Peer, err))
		return
	}
	switch {
	case !c.peer.up:
	case s.unverified != nil:
		if e.From == s.unverified.Number {
			c.judge(e.Lane, *s.unverified, e.Items[0].Hash)
		}
	case e.From == s.next:
		c.sendItems(e.Lane, e.Items[:min(len(e.Items), frame.MaxItems)])
	}
}

func checkItems(e Items) error {
	if e.Err != nil {
		return e.Err
	}
	if len(e.Items) == 0 {
		return fmt.Errorf("no item %d in lane %d", e.From, e.Lane)
	}
	for i := range e.Items {
		if want := e.From + uint64(i); e.Items[i].Number != want {
			return fmt.Errorf("item %d in lane %d where %d was expected", e.Items[i].Number, e.Lane, want)
		}
		if n := len(e.Items[i].Payload); n > frame.MaxItem {
			return fmt.Errorf("item %d in lane %d has %d bytes: at most %d", e.Items[i].Number, e.Lane, n, frame.MaxItem)
		}
	}
	return nil
}

func (c *Core) sendItems(lane message.Lane, items []record.Item) {
	s := &c.out[lane]
	d := &frame.Data{Lane: lane, First: s.next, Prev: s.before(), Payloads: make([][]byte, 0, len(items))}
	total := 0
	for i := range items {
		size := len(items[i].Payload)
		if total += size; total > frame.MaxBody && i > 0 {
			break
		}
		if s.unread = c.unread(&items[i]); s.unread != nil {
			break
		}
		d.Payloads = append(d.Payloads, items[i].Payload)
		s.sent = append(s.sent, sentItem{hash: items[i].Hash, size: size, first: i == 0})
		s.bytes += size
		s.next++
	}
	s.last = max(s.last, s.next-1)
	if len(d.Payloads) == 0 {
		return
	}
	s.frames++
	d.End = s.before()
	c.sendPeer(&frame.Frame{Type: frame.TypeData, Data: d})
}

// receipt takes what the peer says it has of a lane.
func (c *Core) receipt(lane message.Lane, r frame.Receipt) {
	s := &c.out[lane]
	switch n := r.Number; {
	case n < s.base.Number:
		c.stop(frame.StopBelowLowest, reasonBelowLowest(c.cfg.Peer, int(lane), n, s.base.Number))
	case n > s.last:
		c.stop(frame.StopAboveLast, reasonAboveLast(c.cfg.Self, c.cfg.Peer, int(lane), n, s.last))
	case n == s.base.Number:
		c.judge(lane, r.Position, s.base.Hash)
	case n < s.next:
		c.judge(lane, r.Position, s.sent[n-s.base.Number-1].hash)
	default:
		s.unverified = &r.Position
	}
}

// judge confirms a position of the peer if the hash there is ours (L1).
func (c *Core) judge(lane message.Lane, p record.Position, ours record.Hash) {
	s := &c.out[lane]
	if p.Hash != ours {
		c.stop(frame.StopOtherHash, reasonOtherHash(c.cfg.Peer, int(lane), p.Number, ours, p.Hash))
		return
	}
	s.unverified = nil
	if p.Number <= s.base.Number {
		return
	}
	gone := min(int(p.Number-s.base.Number), len(s.sent))
	s.uncount(s.sent[:gone])
	s.sent = s.sent[gone:]
	s.base = p
	s.next = max(s.next, p.Number+1)
	s.progress()
	c.emit(Trim{Lane: lane, Number: p.Number})
}

// data takes items that follow on what was received, and nothing else.
func (c *Core) data(d *frame.Data) {
	r := &c.in[d.Lane]
	end := d.First + uint64(len(d.Payloads)) - 1
	switch {
	case d.First > r.received.Number+1:
		c.askAgain(d.Lane)
		return
	case end <= r.received.Number: // seen; perhaps the acknowledgement was lost
		c.repeats += uint64(len(d.Payloads))
		c.peer.ackPending = true
		return
	case r.bytes > c.cfg.WindowBytes, len(r.queue) > c.cfg.WindowItems: // no room: as good as lost
		return
	}
	items := make([]record.Item, 0, end-r.received.Number)
	h, size := d.Prev, 0
	for i, p := range d.Payloads {
		n := d.First + uint64(i)
		if n == r.received.Number+1 && h != r.received.Hash {
			c.stop(frame.StopOtherHash, reasonOtherHash(c.cfg.Peer, int(d.Lane), n-1, r.received.Hash, h))
			return
		}
		h = record.HashNext(h, p)
		if n > r.received.Number {
			items = append(items, record.Item{Number: n, Hash: h, Payload: p})
			size += len(p)
		}
	}
	if h != d.End {
		c.endAll(fmt.Sprintf("the messages %d to %d in lane %d from site %s differ from those that were sent (hash %s, expected %s): check the disk of %s",
			d.First, end, d.Lane, c.cfg.Peer, h, d.End, c.cfg.Peer))
		return
	}
	c.repeats += uint64(len(d.Payloads) - len(items))
	r.received = record.Position{Number: end, Hash: h}
	r.queue = append(r.queue, items...)
	r.bytes += size
	r.unacknowledged = append(r.unacknowledged, arrived{last: end, size: size})
	r.gap = 0
	c.feed(d.Lane)
}

func (c *Core) askAgain(lane message.Lane) {
	r := &c.in[lane]
	from := r.received.Number + 1
	if r.gap == from {
		return // asked
	}
	r.gap, r.gapTicks = from, 0
	c.sendPeer(&frame.Frame{Type: frame.TypeGap, Gap: &frame.Gap{Lane: lane, From: from}})
}

// feed gives what waits to the store, unless it is at work on this lane.
func (c *Core) feed(lane message.Lane) {
	r := &c.in[lane]
	if r.under != nil || len(r.queue) == 0 {
		return
	}
	n, size := 0, 0
	for n < len(r.queue) && n < acceptItems {
		if size += len(r.queue[n].Payload); n > 0 && size > acceptBytes {
			size -= len(r.queue[n].Payload)
			break
		}
		n++
	}
	items := r.queue[:n:n]
	r.queue = r.queue[n:]
	r.bytes -= size
	if len(r.queue) == 0 {
		r.queue = nil
	}
	r.under = &under{token: c.newToken(), end: record.Position{Number: items[n-1].Number, Hash: items[n-1].Hash}}
	c.emit(Accept{Token: r.under.token, Incarnation: c.known, Lane: lane, After: r.accepted, Items: items})
}

// accepted: the store has what it was given, or nothing of it. What it has is what it says.
func (c *Core) accepted(e Accepted) {
	r := &c.in[e.Lane]
	u := r.under
	if u == nil || u.token != e.Token {
		return
	}
	r.under, r.accepted = nil, e.At
	if e.Err == nil && e.At != u.end {
		e.Err = fmt.Errorf("the store has them up to %d, and %d was expected", e.At.Number, u.end.Number)
	}
	if e.Err == nil {
		c.peer.ackPending = true
		c.feed(e.Lane)
		return
	}
	r.queue, r.bytes, r.received, r.unacknowledged = nil, 0, r.accepted, nil
	if !u.withdrawn {
		c.endAll(fmt.Sprintf("cannot put messages of site %s: %s", c.cfg.Peer, e.Err))
	}
}

// tick lets TickInterval pass.
func (c *Core) tick() {
	c.tickSessions()
	if c.stopped != nil || !c.peer.up {
		return
	}
	c.peer.ackDelayed = c.peer.ackPending
	expired := false
	for l := range record.Lanes {
		if r := &c.in[l]; r.gap != 0 {
			if r.gapTicks++; r.gapTicks >= gapPause {
				r.gap = 0
			}
		}
		s := &c.out[l]
		if len(s.sent) == 0 {
			continue
		}
		if s.waited++; s.waited >= s.timeout {
			s.waited, s.timeout = 0, min(2*s.timeout, lastTimeout)
			expired = true
		}
	}
	if expired {
		c.inquire()
	}
}

// inquire asks where the peer stands. A transport on which the last question had no
// answer counts as silent from now on.
func (c *Core) inquire() {
	t := c.best()
	if t == nil {
		return
	}
	if c.ask.question != 0 && c.ask.via == t.via && !t.replied {
		c.fallSilent(t)
		t = c.best()
	}
	t.replied = false
	c.ask.question, c.ask.via = c.newQuestion(), t.via
	for l := range record.Lanes {
		c.ask.sent[l] = c.out[l].next - 1
	}
	c.send(t, c.peer.session, &frame.Frame{Type: frame.TypeAck, Challenge: c.ask.question})
}

// overtook: what is behind the question is not missing in its answer. On a line that is slow it
// would else be sent again with each answer, and ever more of it would wait.
func (c *Core) overtook(e Overtook) {
	if e.Question == c.ask.question {
		c.ask.sent[e.Lane] = min(c.ask.sent[e.Lane], e.From-1)
	}
}
