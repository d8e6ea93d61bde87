package queue

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"fmqm/internal/store"
	"fmqm/internal/task"
	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue/record"
)

// Transmission is the transmission queue for one peer: what it was sent and has not
// acknowledged. All methods are safe for concurrent use.
type Transmission struct {
	m    *Manager
	peer processtable.NodeID
	wake *task.Bell

	mu   sync.Mutex
	ends [record.Lanes]laneEnd // as far as they are durable
}

// TransmissionStats is what a transmission queue holds.
type TransmissionStats struct {
	Peer   processtable.NodeID
	Count  uint64    // items
	Bytes  uint64    // of their payloads
	Oldest time.Time // when the oldest was put; zero if there is none
}

// Transmission gives the transmission queue for peer, also if nothing was ever sent there.
func (m *Manager) Transmission(peer processtable.NodeID) *Transmission {
	m.registry.RLock()
	t := m.registry.transmissions[peer]
	m.registry.RUnlock()
	if t != nil {
		return t
	}
	m.registry.Lock()
	defer m.registry.Unlock()
	if t = m.registry.transmissions[peer]; t == nil {
		t = &Transmission{m: m, peer: peer, wake: m.sched.Bell()}
		m.registry.transmissions[peer] = t
	}
	return t
}

// Peers gives the nodes whose transmission queue is not empty, by name.
func (m *Manager) Peers() []processtable.NodeID {
	m.registry.RLock()
	defer m.registry.RUnlock()
	var peers []processtable.NodeID
	for peer, t := range m.registry.transmissions {
		if t.count() > 0 {
			peers = append(peers, peer)
		}
	}
	slices.SortFunc(peers, func(a, b processtable.NodeID) int { return strings.Compare(string(a), string(b)) })
	return peers
}

func (t *Transmission) end(lane message.Lane) laneEnd {
	t.mu.Lock()
	defer t.mu.Unlock()
	if lane >= record.Lanes {
		return laneEnd{}
	}
	return t.ends[lane]
}

func (t *Transmission) count() uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	var n uint64
	for i := range t.ends {
		n += t.ends[i].last.Number - t.ends[i].low.Number
	}
	return n
}

// Last is the newest durable position in lane.
func (t *Transmission) Last(lane message.Lane) Position { return t.end(lane).last.Position }

// Low is the position before the oldest item that is still kept in lane.
func (t *Transmission) Low(lane message.Lane) Position { return t.end(lane).low.Position }

// Wake rings when items were added.
func (t *Transmission) Wake() *task.Bell { return t.wake }

// Trim lets everything in lane up to number go, with the next commit or after a second
// (L4). What is above Last is left alone.
func (t *Transmission) Trim(lane message.Lane, number uint64) {
	end := t.end(lane)
	if number = min(number, end.last.Number); number > end.low.Number {
		t.m.requestTrim(t, lane, number)
	}
}

// Stats says what the queue holds; both lanes together.
func (t *Transmission) Stats() (TransmissionStats, error) {
	s := TransmissionStats{Peer: t.peer}
	for lane := range message.Lane(record.Lanes) {
		end := t.end(lane)
		s.Count += end.last.Number - end.low.Number
		s.Bytes += end.last.Total - end.low.Total
		if end.last.Number == end.low.Number {
			continue
		}
		key := record.AppendItemKey(nil, t.peer, lane, end.low.Number+1)
		value, err := t.m.engine.Get(key)
		if errors.Is(err, store.ErrNotFound) {
			var low record.ItemAt
			if low, err = t.storedLow(lane); err == nil {
				if low.Number > end.low.Number {
					continue // trimmed meanwhile
				}
				err = record.Damaged(key, "it is missing")
			}
		}
		var item record.StoredItem
		if err == nil {
			item, err = record.ReadItem(key, value)
		}
		if err != nil {
			return s, fmt.Errorf("transmission queue for %s: %w", t.peer, t.m.judge(err))
		}
		if s.Oldest.IsZero() || item.Put.Before(s.Oldest) {
			s.Oldest = item.Put
		}
	}
	return s, nil
}

// Read gives items of lane from number on, in order and without a gap, as many as fit
// maxBytes of payload, and at least one if there is one. It reads from disk.
func (t *Transmission) Read(lane message.Lane, from uint64, maxBytes int) ([]Item, error) {
	end := t.end(lane)
	for {
		items, err := t.read(lane, end, from, maxBytes)
		if errors.Is(err, errGone) {
			low, failed := t.storedLow(lane)
			if failed == nil && low.Number > end.low.Number {
				end.low = low // trimmed while it was read
				continue
			}
			err = first1(failed, err)
		}
		if err != nil {
			return nil, fmt.Errorf("transmission queue for %s: %w", t.peer, t.m.judge(err))
		}
		return items, nil
	}
}

func (t *Transmission) read(lane message.Lane, end laneEnd, from uint64, maxBytes int) ([]Item, error) {
	from = max(from, end.low.Number+1)
	if from > end.last.Number {
		return nil, nil
	}
	var found []record.StoredItem
	var failed error
	size, cut := 0, false
	o := store.ScanOptions{Prefix: record.AppendLane(nil, record.ClassTransmission, t.peer, lane), From: record.AppendItemKey(nil, t.peer, lane, from)}
	err := t.m.engine.Scan(o, func(key, value []byte) bool {
		item, err := record.ReadItem(key, slices.Clone(value))
		if err != nil {
			failed = err
			return false
		}
		size += max(item.Place.Ref.Size, len(item.Place.Inline))
		if cut = item.At.Number > end.last.Number || (len(found) > 0 && size > maxBytes); cut {
			return false
		}
		found = append(found, item)
		cut = size >= maxBytes
		return !cut
	})
	if err = first1(failed, err); err != nil {
		return nil, err
	}
	if next := from + uint64(len(found)); !cut && next <= end.last.Number {
		return nil, fmt.Errorf("item %d of lane %d: %w", next, lane, errGone)
	}
	items := make([]Item, len(found))
	for i := range found {
		f := &found[i]
		if f.At.Number != from+uint64(i) {
			return nil, fmt.Errorf("item %d of lane %d: %w", from+uint64(i), lane, errGone)
		}
		payload, err := t.m.body(f.Place)
		if err != nil {
			return nil, err
		}
		items[i] = Item{Number: f.At.Number, Hash: f.At.Hash, Payload: payload}
	}
	return items, nil
}

// storedLow is the position before the oldest item of lane as the store has it: what a
// commit trims is gone before its end is known to Low.
func (t *Transmission) storedLow(lane message.Lane) (record.ItemAt, error) {
	key := record.AppendLane(nil, record.ClassLow, t.peer, lane)
	value, err := t.m.engine.Get(key)
	if errors.Is(err, store.ErrNotFound) {
		return record.ItemAt{}, nil
	}
	if err != nil {
		return record.ItemAt{}, err
	}
	_, _, low, err := record.ReadLow(key, value)
	return low, err
}

// addTrims adds the trims that were asked for to the group, so many that transactions
// have room beside them; the rest goes with the next.
func (c *core) addTrims(g *group) error {
	for budget := uint64(maxTrims); len(c.trims) > 0 && g.size < c.maxBatch/2; {
		r := c.trims[0]
		low := c.lanes[r.to][r.lane].low.Number
		if budget == 0 {
			return nil
		}
		if r.upto > low {
			if err := c.trimLane(g, r, min(r.upto, low+budget)); err != nil {
				return fmt.Errorf("trim transmission queue for %s: %w", r.to.peer, err)
			}
		}
		reached := c.lanes[r.to][r.lane].low.Number
		budget -= max(reached, low) - low
		if reached < r.upto {
			return nil
		}
		c.trims = c.trims[1:]
	}
	return nil
}

// trimLane removes items up to number, or fewer if the group is half full before.
func (c *core) trimLane(g *group, r trimRequest, number uint64) error {
	end := &c.lanes[r.to][r.lane]
	upto := end.low.Number
	for upto < number && g.size < c.maxBatch/2 {
		key := record.AppendItemKey(nil, r.to.peer, r.lane, upto+1)
		ops := []store.Op{{Key: key}}
		ref, err := c.stagedBy(key)
		if err != nil {
			return err
		}
		if ref != nil {
			ops = record.RemoveStaged(ops, *ref)
			c.noteRemoved(key)
		}
		g.batch.Ops = append(g.batch.Ops, ops...)
		g.size += c.size(&store.Batch{Ops: ops})
		upto++
	}
	key := record.AppendItemKey(nil, r.to.peer, r.lane, upto)
	value, err := c.get(key)
	if err != nil {
		return fmt.Errorf("item %d: %w", upto, err)
	}
	item, err := record.ReadItem(key, value)
	if err != nil {
		return err
	}
	end.low = item.At
	op := record.LowRecord(r.to.peer, r.lane, end.low)
	g.batch.Ops = append(g.batch.Ops, op)
	g.size += c.size(&store.Batch{Ops: []store.Op{op}})
	g.lanes[r.to] = true
	return nil
}
