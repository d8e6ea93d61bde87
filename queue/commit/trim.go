package commit

import (
	"fmt"

	"fmqm/internal/store/change"
	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue/record"
)

// addTrims adds the trims that were asked for to the group, so many that transactions have
// room beside them; the rest goes with the next.
func (c *Core) addTrims() error {
	for budget := uint64(maxTrims); len(c.trims) > 0 && c.group.size < c.MaxBatch/2 && budget > 0; {
		t := c.trims[0]
		before := c.low(t.Peer, t.Lane)
		if t.Upto > before {
			if err := c.trimLane(t, min(t.Upto, before+budget)); err != nil {
				return fmt.Errorf("trim transmission queue for %s: %w", t.Peer, err)
			}
			if c.reads() {
				return nil
			}
		}
		reached := c.low(t.Peer, t.Lane)
		budget -= reached - before
		if reached < t.Upto {
			return nil
		}
		c.trims = c.trims[1:]
	}
	return nil
}

// low is the number before the oldest item of a lane.
func (c *Core) low(peer processtable.NodeID, lane message.Lane) uint64 {
	if l := c.lanes[peer]; l != nil {
		return l.ends[lane].Low.Number
	}
	return 0
}

// trimLane removes items up to number, or fewer if the group is half full before. It does
// nothing where something is to be read first.
func (c *Core) trimLane(t Trim, number uint64) error {
	g := &c.group
	var ops []change.Op
	var gone [][]byte
	known, size, upto := true, g.size, c.low(t.Peer, t.Lane)
	for upto < number && size < c.MaxBatch/2 {
		key, from := record.AppendItemKey(nil, t.Peer, t.Lane, upto+1), len(ops)
		ops = append(ops, change.Op{Key: key})
		ref, ok, err := c.bodyAt(key)
		if err != nil {
			return err
		}
		if known = known && ok; ref != nil {
			ops = record.RemoveStaged(ops, *ref)
			gone = append(gone, key)
		}
		size += c.sizeOf(ops[from:])
		upto++
	}
	if !known {
		return nil
	}
	key := record.AppendItemKey(nil, t.Peer, t.Lane, upto)
	value, ok := c.lookUp(key)
	switch {
	case !ok:
		return nil
	case value == nil:
		return fmt.Errorf("item %d: %w", upto, record.Damaged(key, "it is missing"))
	}
	item, err := record.ReadItem(key, value)
	if err != nil {
		return err
	}
	for _, key := range gone {
		c.removeBody(key)
	}
	c.changed(t.Peer).ends[t.Lane].Low = item.At
	ops = append(ops, record.LowRecord(t.Peer, t.Lane, item.At))
	g.size = size + c.sizeOf(ops[len(ops)-1:])
	g.batch.Ops = append(g.batch.Ops, ops...)
	return nil
}
