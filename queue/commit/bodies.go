package commit

import (
	"hash/crc32"
	"slices"

	"fmqm/internal/store/change"
	"fmqm/message"
	"fmqm/queue/record"
)

// bodySlots is the size of Bodies.
const bodySlots = 1 << 12

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Bodies says, in memory of a fixed size, which records may have a staged body, so that
// removing the others costs no read. It is the same in every process.
type Bodies struct {
	total int
	slots [bodySlots]uint32
}

func (b *Bodies) slot(key []byte) *uint32 { return &b.slots[crc32.Checksum(key, castagnoli)%bodySlots] }

// Add notes that a record has one.
func (b *Bodies) Add(key []byte) {
	*b.slot(key)++
	b.total++
}

func (b *Bodies) remove(key []byte) {
	*b.slot(key)--
	b.total--
}

func (b *Bodies) maybe(key []byte) bool { return b.total > 0 && *b.slot(key) > 0 }

// lookUp gives the value of a key as it was before the group, nil if there is none. It is not
// known until it was read.
func (c *Core) lookUp(key []byte) (value []byte, known bool) {
	value, known = c.known[string(key)]
	if !known {
		c.missing.Keys = append(c.missing.Keys, key)
	}
	return value, known
}

// firstUnder gives the first key under a prefix as it was before the group, nil if there is none.
func (c *Core) firstUnder(prefix []byte) (key []byte, known bool) {
	key, known = c.first[string(prefix)]
	if !known {
		c.missing.Under = append(c.missing.Under, prefix)
	}
	return key, known
}

// reads says whether something is to be read before the group goes on.
func (c *Core) reads() bool { return len(c.missing.Keys)+len(c.missing.Under) > 0 }

// bodyAt gives the staged body of the record at key, nil if there is none.
func (c *Core) bodyAt(key []byte) (ref *bodyRef, known bool, err error) {
	if !c.Bodies.maybe(key) {
		return nil, true, nil
	}
	if ref, ok := c.fresh[string(key)]; ok {
		return ref, true, nil
	}
	value, known := c.lookUp(key)
	if value == nil {
		return nil, known, nil
	}
	found, ok, err := record.RefOf(key, value)
	if err != nil || !ok {
		return nil, true, err
	}
	return &found, true, nil
}

// findReplaced adds the removal of what was staged for records that w removes.
func (c *Core) findReplaced(w *Work) (known bool, err error) {
	w.extra, w.gone, known = w.extra[:0], w.gone[:0], true
	look := func(key []byte) bool {
		ref, ok, failed := c.bodyAt(key)
		if known = known && ok; failed != nil {
			err = failed
		}
		if ref != nil {
			w.extra = record.RemoveStaged(w.extra, *ref)
			w.gone = append(w.gone, key)
		}
		return err == nil
	}
	for _, i := range w.Replaces {
		if !look(w.Ops[i].Key) {
			return false, err
		}
	}
	for _, key := range c.partsGone(w) {
		if !look(key) {
			return false, err
		}
		w.extra = append(w.extra, change.Op{Key: key})
	}
	return known, nil
}

// partsGone gives the stored parts of which nothing more will come: their message came whole, or
// the conversation that it was of is over. What is stored is known from memory, as it is when w
// has its turn.
func (c *Core) partsGone(w *Work) (keys [][]byte) {
	drop := func(lane record.LaneKey, in record.Incoming) {
		for i := range in.Count {
			keys = append(keys, record.AppendPartKey(nil, lane.Peer, lane.Lane, in.First, i))
		}
	}
	if a := w.Accept; a != nil && slices.Contains(a.Whole, c.Incoming[a.LaneKey].First) {
		drop(a.LaneKey, c.Incoming[a.LaneKey])
	}
	if b := w.Bind; b != nil && b.Start != nil {
		for lane := range message.Lane(record.Lanes) {
			if of := (record.LaneKey{Peer: b.Peer, Lane: lane}); c.startsAt(b.Start, of) {
				drop(of, c.Incoming[of])
			}
		}
	}
	return keys
}

// stageInto adds the chunks of w to the group, as many as fit; false if not all did.
func (c *Core) stageInto(w *Work) bool {
	g := &c.group
	for w.stageDone < len(w.Stage) {
		op := w.Stage[w.stageDone : w.stageDone+1]
		size := c.sizeOf(op)
		if g.size+size > c.MaxBatch {
			return false
		}
		g.size += size
		g.batch.Ops = append(g.batch.Ops, op...)
		w.stageDone++
	}
	return true
}

// staging says whether chunks of a transaction were added that was not.
func (c *Core) staging() bool {
	if c.next == len(c.waiting) {
		return false
	}
	w, is := c.waiting[c.next].(*Work)
	return is && w.stageDone > 0
}

// noteBodies keeps the filter in step with what w removes and names.
func (c *Core) noteBodies(w *Work) {
	for _, key := range w.gone {
		if ref, ok := c.fresh[string(key)]; ref != nil || !ok { // else it was named twice
			c.removeBody(key)
		}
	}
	for i := range w.Staged {
		if s := &w.Staged[i]; s.Kept {
			key := w.Ops[s.Owner].Key
			c.Bodies.Add(key)
			c.fresh[string(key)] = &s.Ref
		}
	}
}

func (c *Core) removeBody(key []byte) {
	c.Bodies.remove(key)
	c.fresh[string(key)] = nil
}
