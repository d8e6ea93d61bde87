package commit

import (
	"encoding/binary"
	"fmt"
	"slices"

	"fmqm/internal/store/change"
	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue/record"
)

// group is what one commit writes.
type group struct {
	begun   bool // it waits for what is read
	trimmed bool
	number  uint64
	batch   change.Batch
	size    int64
	works   []*Work
	refused []*Work
	facts   Facts
	lanes   []*lanes // those that changed, in the order of the first change
}

// lanes are those of the transmission queue for a peer, as far as they are applied.
type lanes struct {
	peer    processtable.NodeID
	ends    LaneEnds
	reads   message.Reads // what the peer reads
	apart   apart
	changed bool // by the group
}

func (g *group) reset() {
	clear(g.batch.Ops)
	clear(g.works)
	clear(g.refused)
	*g = group{batch: change.Batch{Ops: g.batch.Ops[:0]}, works: g.works[:0], refused: g.refused[:0], lanes: g.lanes[:0]}
}

func (r *Report) reset() {
	clear(r.Refused)
	clear(r.Done)
	*r = Report{Refused: r.Refused[:0], Done: r.Done[:0]}
}

// build makes the next group, as many transactions as fit, in order, or goes on with one that
// waited for what was read. It stops where something is to be read: c.missing has it. The batch
// may be empty, where all were refused. An error means that the store is damaged.
func (c *Core) build() error {
	g := &c.group
	g.begun, g.number = true, c.Version+1
	if !c.alone && !g.trimmed {
		if err := c.addTrims(); err != nil || c.reads() {
			return err
		}
		g.trimmed = true
	}
	for c.next < len(c.waiting) && len(g.works) < MaxGroup {
		switch e := c.waiting[c.next].(type) {
		case *Work:
			if done, err := c.handle(e); err != nil || !done {
				return err
			}
		case Taken:
			c.take(e)
		case Reads:
			if !c.takeReads(e) {
				return nil
			}
		}
		c.waiting[c.next] = nil
		c.next++
	}
	if c.next == len(c.waiting) {
		c.waiting, c.next = c.waiting[:0], 0
	}
	return nil
}

// finish says what follows from a group that is on disk, or has nothing to write.
func (c *Core) finish() {
	g := &c.group
	clear(c.known)
	clear(c.first)
	clear(c.fresh)
	clear(c.settled)
	c.forgetLate()
	c.durable(g.works, g.number)
	if len(g.works)+len(g.refused)+len(g.lanes) > 0 {
		r := &c.report
		r.reset()
		c.say = true
		r.Facts, r.Upto = g.facts, c.Version
		r.Refused = append(r.Refused, g.refused...)
		r.Done = append(r.Done, g.works...)
		for _, l := range g.lanes {
			r.Lanes = append(r.Lanes, LaneFact{l.peer, l.ends, l.apart.fact(&l.reads), l.reads})
			l.changed = false
		}
		r.Moves = c.askMoves(g.lanes)
	}
	g.reset()
}

// handle adds w to the group or refuses it; false if the group is full before, or something
// is to be read first.
func (c *Core) handle(w *Work) (bool, error) {
	g := &c.group
	if !w.examined {
		if w.Move != nil && len(g.works) > 0 {
			return false, nil // what it looks up is as it was before the group
		}
		if w.Err == nil {
			known, err := c.examine(w)
			if !known || err != nil {
				return false, err
			}
		}
		w.examined = true
		if w.Err == nil {
			c.place(w)
			w.Err = c.checkRecords(w)
		}
		if w.Err != nil {
			c.notMoved(w)
			g.refused = append(g.refused, w)
			return true, nil
		}
	}
	c.alone = w.Size > c.MaxBatch
	if !c.stageInto(w) || (c.alone && len(g.batch.Ops) > 0) || (!c.alone && g.size+w.Size > c.MaxBatch) {
		if w.Move != nil {
			w.examined = false // what it looked up is not known any more then
		}
		return false, nil
	}
	c.alone = false
	g.size += w.Size
	c.apply(w)
	return true, nil
}

// sizeOf reckons what changes take.
func (c *Core) sizeOf(ops []change.Op) int64 {
	c.batch.Ops = ops
	return c.Size(&c.batch)
}

// examine finds why w cannot be committed as things are, and what the records that it removes
// have staged. It is not known while something is to be read.
func (c *Core) examine(w *Work) (known bool, err error) {
	if w.Err = c.check(w); w.Err != nil {
		return true, nil
	}
	if known, w.Err = c.checkSettled(w); !known || w.Err != nil {
		return known, nil
	}
	if w.Move != nil {
		if known, w.Err = c.checkMove(w); !known || w.Err != nil {
			return known, nil
		}
	}
	if known, err := c.findReplaced(w); !known || err != nil {
		return known, err
	}
	for _, key := range w.Claims {
		w.extra = append(w.extra, change.Op{Key: key})
	}
	if len(w.extra) > 0 {
		w.Size += c.sizeOf(w.extra)
	}
	if w.Size > MaxLarge {
		w.Err = fmt.Errorf("%w: its records and removals have %d bytes, and at most %d are allowed", ErrTooLarge, w.Size, MaxLarge)
	}
	return true, nil
}

// checkRecords refuses what no commit can have, before anything of w is written: once the head of
// a large transaction is on disk, nothing may be refused any more. What apply changes is reckoned
// with: an item that waits apart is larger, and names the key of its audit record. What a move
// changes of the audit keeps its size.
func (c *Core) checkRecords(w *Work) error {
	for _, ops := range [][]change.Op{w.Stage, w.Ops, w.extra} {
		for i := range ops {
			if err := c.checkRecord(ops[i].Key, len(ops[i].Value)); err != nil {
				return err
			}
		}
	}
	if w.apart == 0 {
		return nil
	}
	audits := map[int]int{} // sizes of keys, by item
	for _, l := range w.Links {
		audits[l.Item] = len(w.Ops[w.Audits[l.Audit].Op].Key)
	}
	for i := range w.Items {
		if op := &w.Ops[w.Items[i].Op]; w.Items[i].Apart {
			if err := c.checkRecord(op.Key, len(op.Value)+apartMore+audits[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *Core) checkRecord(key []byte, value int) error {
	switch {
	case len(key) > c.MaxKey:
		return fmt.Errorf("%w: the key of one of its records has %d bytes, and at most %d are allowed", ErrTooLarge, len(key), c.MaxKey)
	case value > c.MaxValue:
		return fmt.Errorf("%w: one of its records has %d bytes, and at most %d are allowed", ErrTooLarge, value, c.MaxValue)
	}
	return nil
}

// check says why w cannot be committed, as far as nothing has to be read for that.
func (c *Core) check(w *Work) error {
	for i := range w.Consumes {
		if k := &w.Consumes[i]; c.stale(w, k) {
			return fmt.Errorf("%w: %s of instance %s", ErrStale, k.Entry.Activity, k.Entry.Instance)
		}
	}
	if err := c.checkVersions(w); err != nil {
		return err
	}
	for i := range w.Tables {
		t := &w.Tables[i]
		bound, ok := c.Tables[t.Process]
		if ok && bound != t.Definition {
			return fmt.Errorf("table of %s: %w: raise the version of the process (here it is %s, the new one is %s)",
				t.Process, ErrBound, bound.Short(), t.Definition.Short())
		}
		if ok && t.Stores {
			return fmt.Errorf("table of %s: %w", t.Process, ErrTabled)
		}
	}
	for _, p := range w.Parks {
		if _, tabled := c.Tables[p]; tabled {
			return fmt.Errorf("%s: %w", p, ErrTabled)
		}
	}
	if w.Accept != nil {
		if err := c.checkAccept(w.Accept); err != nil {
			return err
		}
	}
	if b := w.Bind; b != nil {
		newStore := b.Start != nil && b.Start.NewStore
		if bound, ok := c.Peers[b.Peer]; ok && bound != b.Incarnation && !newStore {
			return fmt.Errorf("bind incarnation of %s: %w: this store knows it as %s, not %s", b.Peer, ErrOutOfOrder, bound, b.Incarnation)
		}
	}
	return nil
}

func (c *Core) checkAccept(a *Accept) error {
	bound, ok := c.Peers[a.Peer]
	at, to := c.Accepted[a.LaneKey], a.To
	switch {
	case !ok || bound != to.Incarnation:
		return fmt.Errorf("accept from %s: %w: this store knows it by another incarnation", a.Peer, ErrOutOfOrder)
	case a.Count > to.Number || to.Number-a.Count != at.Number:
		return fmt.Errorf("accept from %s lane %d: %w: its items (%d) end at %d, but the store ends at %d",
			a.Peer, a.Lane, ErrOutOfOrder, a.Count, to.Number, at.Number)
	case a.Before != at.Hash:
		return fmt.Errorf("accept from %s lane %d: %w: its hash at %d is another one", a.Peer, a.Lane, ErrOutOfOrder, at.Number)
	}
	return nil
}

// checkSettled says why refused messages cannot be settled: one is not there, or another
// transaction of the same commit takes it. It finds who was charged with them.
func (c *Core) checkSettled(w *Work) (known bool, err error) {
	known, w.Claims = true, w.Claims[:0]
	for i, number := range w.Settle {
		value, ok := c.lookUp(record.AppendRefusedKey(nil, number))
		claim, found := c.firstUnder(record.RefusedClaim(number))
		if known = known && ok && found; !known || err != nil {
			continue // what else is to be read, is at once
		}
		if value == nil || c.settled[number] || slices.Contains(w.Settle[:i], number) {
			err = fmt.Errorf("take out refused message %d: %w", number, ErrNotRefused)
		}
		if claim != nil {
			w.Claims = append(w.Claims, claim)
		}
	}
	return known, err
}

// apply adds w to the group: it can be refused no more.
func (c *Core) apply(w *Work) {
	g := &c.group
	c.marks(w, g.number)
	for i := range w.Puts {
		p := &w.Puts[i]
		p.Arrival = message.Arrival{Commit: c.Before + g.number, Index: uint32(len(g.batch.Ops) + p.Op)}
		record.SealMessage(w.Ops[p.Op].Key, w.Ops[p.Op].Value, p.Arrival)
		if p.Marker {
			g.facts.Markers = append(g.facts.Markers, p.Entry.Instance)
		}
	}
	for i := range w.Items {
		if !w.Items[i].Apart {
			c.number(w, &w.Items[i])
		}
	}
	for _, l := range w.Links {
		a := &w.Audits[l.Audit]
		op := &w.Ops[a.Op]
		numbers := op.Value[len(op.Value)-record.CRCSize-8*a.Sent:]
		binary.BigEndian.PutUint64(numbers[8*l.Sent:], w.Items[l.Item].Number)
	}
	for i := range w.Audits {
		c.completeAudit(w, &w.Audits[i])
	}
	if w.apart > 0 {
		for i := range w.Items {
			if w.Items[i].Apart {
				c.keepApart(w, i)
			}
		}
	}
	if w.Move != nil {
		c.move(w)
	}
	c.noteBodies(w)
	if a := w.Accept; a != nil {
		c.Accepted[a.LaneKey] = a.To
		if a.Incoming != nil {
			c.Incoming[a.LaneKey] = *a.Incoming
		}
		g.facts.Accepted = append(g.facts.Accepted, AcceptedFact{a.LaneKey, a.To, a.Incoming})
	}
	if b := w.Bind; b != nil {
		c.Peers[b.Peer] = b.Incarnation
		g.facts.Peers = append(g.facts.Peers, *b)
		c.start(w)
	}
	if len(w.Settle) > 0 {
		c.settle(w)
	}
	c.applyVersions(w)
	for _, t := range w.Tables {
		c.Tables[t.Process] = t.Definition
		g.facts.Tables = append(g.facts.Tables, t)
	}
	g.facts.Current = append(g.facts.Current, w.Current...)
	g.batch.Ops = append(g.batch.Ops, w.extra...)
	g.batch.Ops = append(g.batch.Ops, w.Ops...)
	g.works = append(g.works, w)
}

// changed gives the lanes to a peer, as part of what the group changes.
func (c *Core) changed(peer processtable.NodeID) *lanes {
	l := c.lanesTo(peer)
	if !l.changed {
		l.changed = true
		c.group.lanes = append(c.group.lanes, l)
	}
	return l
}

// number gives an item the next number of its lane and the running hash (L1).
func (c *Core) number(w *Work, item *Item) {
	last := &c.changed(item.Peer).ends[item.Lane].Last
	last.Number++
	last.Hash = record.HashNext(last.Hash, item.Payload)
	last.Total += uint64(len(item.Payload))

	op := &w.Ops[item.Op]
	binary.BigEndian.PutUint64(op.Key[len(op.Key)-8:], last.Number)
	copy(op.Value[1:], last.Hash[:])
	binary.BigEndian.PutUint64(op.Value[1+16:], last.Total)
	record.Seal(op.Key, op.Value)
	if item.Staged >= 0 {
		named := &w.Ops[w.Staged[item.Staged].Op]
		copy(named.Value[len(named.Value)-record.CRCSize-len(op.Key):], op.Key)
		record.Seal(named.Key, named.Value)
	}
	item.Number = last.Number
}

// completeAudit fills in the commit's number of an audit record, and its checksum.
func (c *Core) completeAudit(w *Work, a *Audit) {
	op := &w.Ops[a.Op]
	if a.History {
		at := op.Key[len(op.Key)-12:]
		binary.BigEndian.PutUint64(at, c.Before+c.group.number)
		binary.BigEndian.PutUint32(at[8:], uint32(len(c.group.batch.Ops)+a.Op))
	}
	record.Seal(op.Key, op.Value)
}

// settle notes which refused messages w settles.
func (c *Core) settle(w *Work) {
	for _, number := range w.Settle {
		c.settled[number] = true
		c.HighestSettled = max(c.HighestSettled, number)
	}
	op := &w.Ops[w.SettleOp]
	op.Value = record.New(op.Key, binary.BigEndian.AppendUint64(nil, c.HighestSettled)...)
}

// startsAt says whether a lane on the way in begins there: nothing is accepted in it.
func (c *Core) startsAt(s *Start, lane record.LaneKey) bool {
	return s.NewStore || c.Accepted[lane].Number == 0
}

// start takes up where a conversation begins: the lanes on the way out begin at what is kept
// of them now, and what was to be trimmed since the store before had it stays.
func (c *Core) start(w *Work) {
	b := w.Bind
	s := b.Start
	if s == nil {
		return
	}
	for lane := range message.Lane(record.Lanes) {
		of := record.LaneKey{Peer: b.Peer, Lane: lane}
		fact := AcceptedFact{LaneKey: of, At: record.AcceptedAt{Incarnation: b.Incarnation, Position: s.At[lane]}}
		if c.startsAt(s, of) {
			fact.Incoming = &record.Incoming{}
			c.Incoming[of] = record.Incoming{}
		}
		c.Accepted[of] = fact.At
		c.group.facts.Accepted = append(c.group.facts.Accepted, fact)
	}
	if !s.NewStore {
		return
	}
	c.trims = slices.DeleteFunc(c.trims, func(t Trim) bool { return t.Peer == b.Peer })
	op := &w.Ops[s.Op]
	at := op.Value[1+len(record.Incarnation{}):]
	if l := c.lanes[b.Peer]; l != nil {
		for lane := range l.ends {
			low := l.ends[lane].Low
			binary.BigEndian.PutUint64(at[lane*(8+16):], low.Number)
			copy(at[lane*(8+16)+8:], low.Hash[:])
		}
	}
	record.Seal(op.Key, op.Value)
}
