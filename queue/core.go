package queue

import (
	"encoding/binary"
	"errors"
	"fmt"

	"fmqm/internal/store"
	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue/record"
)

const (
	// maxGroup is how many transactions are joined into one commit.
	maxGroup = 1024
	// maxTrims is how many items a commit trims beside transactions.
	maxTrims = 4096
)

// core is the committer without its goroutine (invariant 13): add and trim are its
// events, build gives the next group to write, finish what follows from it. It
// handles transactions strictly in the order in which they were submitted.
type core struct {
	size     func(*store.Batch) int64
	get      func(key []byte) ([]byte, error)
	maxBatch int64

	waiting []*work
	next    int    // of waiting
	version uint64 // of the last commit
	handled uint64 // the last transaction that was looked at

	lanes    map[*Transmission]*[record.Lanes]laneEnd
	accepted map[record.LaneKey]record.AcceptedAt
	peers    map[processtable.NodeID]Incarnation
	tables   map[processtable.ProcessID]processtable.DefinitionHash

	alone  bool // the next transaction is large: it gets a group of its own
	staged *stagedFilter
	fresh  map[string]*record.BodyRef // by record, for what the group changes: nil if it has nothing staged
	lossy  bool                       // a store was lost, here or at a peer: any message may come again
	unsure uint64                     // puts of which it is not known whether they replaced a message
	trims  []trimRequest
	taken  map[uint64]bool // of what is set aside, by the group
	// highestTaken is the highest number that was ever taken out of what is set aside.
	highestTaken uint64
	late         []lateMarks // entries whose consumption was reported, until stragglers are through
}

// laneEnd is both ends of a lane of a transmission queue, as far as they are applied.
type laneEnd struct {
	last, low record.ItemAt
}

// trimRequest asks for a lane's items up to a number to go.
type trimRequest struct {
	to   *Transmission
	lane message.Lane
	upto uint64
}

type lateMarks struct {
	until   uint64
	entries []consumePut
}

// group is what one commit writes.
type group struct {
	version uint64
	batch   store.Batch
	size    int64
	works   []*work
	refused []*work
	lanes   map[*Transmission]bool // those that changed
}

// add takes a submitted transaction.
func (c *core) add(w *work) { c.waiting = append(c.waiting, w) }

// trim asks for items to go with the next commit.
func (c *core) trim(r trimRequest) { c.trims = append(c.trims, r) }

// idle says whether build would give nothing.
func (c *core) idle() bool { return c.next == len(c.waiting) && len(c.trims) == 0 }

// build gives the next group: as many transactions as fit, in order. Its batch may be
// empty, where all were refused. An error means that the store is damaged.
func (c *core) build(g *group) error {
	g.version = c.version + 1
	if !c.alone {
		if err := c.addTrims(g); err != nil {
			return err
		}
	}
	for c.next < len(c.waiting) && len(g.works) < maxGroup {
		w := c.waiting[c.next]
		done, err := c.handle(g, w)
		if err != nil {
			return err
		}
		if !done {
			break
		}
		c.waiting[c.next] = nil
		c.next++
		c.handled = w.seq
	}
	if c.next == len(c.waiting) {
		c.waiting, c.next = c.waiting[:0], 0
	}
	return nil
}

// handle adds w to the group or refuses it; false if the group is full before.
func (c *core) handle(g *group, w *work) (bool, error) {
	if !w.examined {
		w.examined = true
		if w.err == nil {
			w.err = c.examine(w)
		}
		if w.err == nil {
			if err := c.findReplaced(w); err != nil {
				return false, err
			}
			w.size += c.size(&store.Batch{Ops: w.extra})
			if w.size > maxLarge {
				w.err = fmt.Errorf("%w: its records and removals have %d bytes, and at most %d are allowed", ErrTooLarge, w.size, maxLarge)
			}
		}
		if w.err != nil {
			g.refused = append(g.refused, w)
			return true, nil
		}
	}
	c.alone = w.size > c.maxBatch
	if !c.stageInto(g, w) || (c.alone && len(g.batch.Ops) > 0) || (!c.alone && g.size+w.size > c.maxBatch) {
		return false, nil
	}
	c.alone = false
	g.size += w.size
	c.apply(g, w)
	return true, nil
}

// examine says why w cannot be committed as things are.
func (c *core) examine(w *work) error {
	for i := range w.consumes {
		k := &w.consumes[i]
		if k.process.stale(&k.consume.Entry, w.seq) {
			return fmt.Errorf("%w: %s of instance %s", ErrStale, k.consume.Entry.Activity, k.consume.Entry.Instance)
		}
	}
	for i := range w.tx.Tables {
		t := &w.tx.Tables[i]
		if bound, ok := c.tables[t.Process]; ok && bound != t.Definition {
			return fmt.Errorf("table of %s: %w: raise the version of the process (here it is %s, the new one is %s)",
				t.Process, ErrBound, bound.Short(), t.Definition.Short())
		}
	}
	if err := c.examineParked(w.tx.Park); err != nil {
		return err
	}
	if w.accept != nil {
		if err := c.examineAccept(w.tx.Accept); err != nil {
			return err
		}
	}
	if err := c.examineAside(w.tx.TakeAside); err != nil {
		return err
	}
	if b := w.bind; b != nil {
		anew := b.start != nil && b.start.anew
		if bound, ok := c.peers[b.peer]; ok && bound != b.incarnation && !anew {
			return fmt.Errorf("bind incarnation of %s: %w: this store knows it as %s, not %s", b.peer, ErrOutOfOrder, bound, b.incarnation)
		}
	}
	return nil
}

func (c *core) examineAccept(a *Accept) error {
	bound, ok := c.peers[a.Peer]
	at := c.accepted[record.LaneKey{Peer: a.Peer, Lane: a.Lane}]
	switch {
	case !ok || bound != a.Incarnation:
		return fmt.Errorf("accept from %s: %w: this store knows it by another incarnation", a.Peer, ErrOutOfOrder)
	case a.Count > a.Number || a.Number-a.Count != at.Number:
		return fmt.Errorf("accept from %s lane %d: %w: its items (%d) end at %d, but the store ends at %d",
			a.Peer, a.Lane, ErrOutOfOrder, a.Count, a.Number, at.Number)
	case a.Before != at.Hash:
		return fmt.Errorf("accept from %s lane %d: %w: its hash at %d is another one", a.Peer, a.Lane, ErrOutOfOrder, at.Number)
	}
	return nil
}

// findReplaced adds the removal of what was staged for records that w removes.
func (c *core) findReplaced(w *work) error {
	for _, i := range w.replaces {
		if err := c.replace(w, w.ops[i].Key); err != nil {
			return err
		}
	}
	if w.accept != nil {
		for _, key := range w.accept.parts {
			if err := c.replace(w, key); err != nil {
				return err
			}
			w.extra = append(w.extra, store.Op{Key: key})
		}
	}
	return nil
}

func (c *core) replace(w *work, key []byte) error {
	ref, err := c.stagedBy(key)
	if err == nil && ref != nil {
		w.extra = record.RemoveStaged(w.extra, *ref)
	}
	return err
}

// stagedBy gives the staged body of the record at key, nil if there is none.
func (c *core) stagedBy(key []byte) (*record.BodyRef, error) {
	if !c.staged.maybe(key) {
		return nil, nil
	}
	if ref, ok := c.fresh[string(key)]; ok {
		return ref, nil
	}
	value, err := c.get(key)
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	ref, ok, err := record.RefOf(key, value)
	if err != nil || !ok {
		return nil, err
	}
	return &ref, nil
}

// stageInto adds the chunks of w to the group, as many as fit; false if not all did.
func (c *core) stageInto(g *group, w *work) bool {
	for w.stageDone < len(w.stage) {
		op := w.stage[w.stageDone : w.stageDone+1]
		size := c.size(&store.Batch{Ops: op})
		if g.size+size > c.maxBatch {
			return false
		}
		g.size += size
		g.batch.Ops = append(g.batch.Ops, op...)
		w.stageDone++
	}
	return true
}

// apply adds w to the group: it can be refused no more.
func (c *core) apply(g *group, w *work) {
	for i := range w.consumes {
		if k := &w.consumes[i]; k.takes {
			k.process.consume(k.consume)
		}
	}
	again := c.lossy || len(w.tx.TakeAside) > 0
	for i := range w.local {
		put := &w.local[i]
		entry := put.message.Entry()
		put.process.put(&entry, put.adds)
		if put.adds && (again || !put.sure) {
			c.unsure++
		}
	}
	for i := range w.items {
		c.number(g, w, &w.items[i])
	}
	for _, l := range w.links {
		w.tx.Audit[l.audit].Sent[l.sent].Number = w.items[l.item].number
	}
	for i := range w.audits {
		completeAudit(g, w, i)
	}
	c.noteStaged(w)
	if a := w.accept; a != nil {
		c.accepted[record.LaneKey{Peer: a.peer, Lane: a.lane}] = a.at
	}
	if b := w.bind; b != nil {
		c.peers[b.peer] = b.incarnation
		c.start(w)
	}
	if len(w.tx.TakeAside) > 0 {
		c.takeAside(w)
	}
	c.lossy = c.lossy || w.anew
	for i := range w.tx.Tables {
		c.tables[w.tx.Tables[i].Process] = w.tx.Tables[i].Definition
	}
	g.batch.Ops = append(g.batch.Ops, w.extra...)
	g.batch.Ops = append(g.batch.Ops, w.ops...)
	g.works = append(g.works, w)
}

// noteStaged keeps the filter in step with what w removes and names.
func (c *core) noteStaged(w *work) {
	for _, i := range w.replaces {
		c.noteRemoved(w.ops[i].Key)
	}
	if w.accept != nil {
		for _, key := range w.accept.parts {
			c.noteRemoved(key)
		}
	}
	for i := range w.staged {
		s := &w.staged[i]
		if s.kept {
			key := w.ops[s.owner].Key
			c.staged.add(key)
			c.fresh[string(key)] = &s.ref
		}
	}
}

func (c *core) noteRemoved(key []byte) {
	if ref, err := c.stagedBy(key); err == nil && ref != nil {
		c.staged.remove(key)
		c.fresh[string(key)] = nil
	}
}

// number gives an item the next number of its lane and the running hash (L1).
func (c *core) number(g *group, w *work, item *itemPut) {
	ends := c.lanes[item.to]
	if ends == nil {
		ends = &[record.Lanes]laneEnd{}
		c.lanes[item.to] = ends
	}
	last := &ends[item.lane].last
	last.Number++
	last.Hash = HashNext(last.Hash, item.payload)
	last.Total += uint64(len(item.payload))
	g.lanes[item.to] = true

	op := &w.ops[item.op]
	binary.BigEndian.PutUint64(op.Key[len(op.Key)-8:], last.Number)
	copy(op.Value[1:], last.Hash[:])
	binary.BigEndian.PutUint64(op.Value[1+16:], last.Total)
	record.Seal(op.Key, op.Value)
	if item.staged >= 0 {
		named := &w.ops[w.staged[item.staged].op]
		copy(named.Value[len(named.Value)-record.CRCSize-len(op.Key):], op.Key)
		record.Seal(named.Key, named.Value)
	}
	item.number = last.Number
}

// completeAudit fills in the commit's number and the link numbers of an audit record.
func completeAudit(g *group, w *work, i int) {
	a := &w.audits[i]
	op := &w.ops[a.op]
	if a.history {
		at := op.Key[len(op.Key)-12:]
		binary.BigEndian.PutUint64(at, g.version)
		binary.BigEndian.PutUint32(at[8:], uint32(len(g.batch.Ops)+a.op))
	}
	sent := w.tx.Audit[i].Sent
	numbers := op.Value[len(op.Value)-record.CRCSize-8*len(sent):]
	for s := range sent {
		binary.BigEndian.PutUint64(numbers[8*s:], sent[s].Number)
	}
	record.Seal(op.Key, op.Value)
}

// finish tells the core that the group is durable, and until which number submitted
// transactions did not know of it.
func (c *core) finish(g *group, submitted uint64) {
	if len(g.batch.Ops) > 0 {
		c.version = g.version
	}
	clear(c.fresh)
	clear(c.taken)
	c.forgetLate()
	var consumed []consumePut
	for _, w := range g.works {
		for i := range w.consumes {
			if w.consumes[i].takes {
				consumed = append(consumed, w.consumes[i])
			}
		}
	}
	if submitted <= c.handled {
		submitted = 0
	}
	for i := range consumed {
		consumed[i].process.reported(&consumed[i].consume.Entry, neverReported, submitted)
	}
	if submitted > 0 && len(consumed) > 0 {
		c.late = append(c.late, lateMarks{until: submitted, entries: consumed})
	}
}

// forgetLate clears the marks of consumptions that every straggler has met.
func (c *core) forgetLate() {
	for len(c.late) > 0 && c.late[0].until <= c.handled {
		for i := range c.late[0].entries {
			k := &c.late[0].entries[i]
			k.process.reported(&k.consume.Entry, c.late[0].until, 0)
		}
		c.late = c.late[1:]
	}
}
