package lane

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"fmqm/internal/store"
	"fmqm/internal/task"
	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue/commit"
	"fmqm/queue/read"
	"fmqm/queue/record"
)

// Transmission is the transmission queue for one peer: what it was sent and has not
// acknowledged. All methods are safe for concurrent use.
type Transmission struct {
	of   *Lanes
	peer processtable.NodeID
	wake *task.Bell

	mu sync.Mutex
	// As far as it is durable:
	ends  commit.LaneEnds
	apart commit.ApartFact // what waits apart (N17)
	reads message.Reads    // what the peer has said last that it reads
}

// Stats are what a transmission queue holds.
type Stats struct {
	Peer   processtable.NodeID
	Count  uint64    // items, also those that wait apart
	Bytes  uint64    // of their payloads
	Oldest time.Time // when the oldest was put; zero if there is none
	Apart  uint64    // of the items, those that wait apart: the peer does not read them yet (N17)
	Lacks  string    // what the peer lacks to read the first of them, for people
}

func (t *Transmission) end(lane message.Lane) commit.LaneEnd {
	t.mu.Lock()
	defer t.mu.Unlock()
	if lane >= record.Lanes {
		return commit.LaneEnd{}
	}
	return t.ends[lane]
}

// Last is the newest durable position in lane.
func (t *Transmission) Last(lane message.Lane) record.Position { return t.end(lane).Last.Position }

// Low is the position before the oldest item that is still kept in lane.
func (t *Transmission) Low(lane message.Lane) record.Position { return t.end(lane).Low.Position }

// Wake rings when items were added.
func (t *Transmission) Wake() *task.Bell { return t.wake }

// Trim lets everything in lane up to number go, with the next commit or after a second
// (L4). What is above Last is left alone.
func (t *Transmission) Trim(lane message.Lane, number uint64) {
	end := t.end(lane)
	if number = min(number, end.Last.Number); number > end.Low.Number {
		t.of.committer.Trim(commit.Trim{Peer: t.peer, Lane: lane, Upto: number})
	}
}

// Size is how many items the queue holds, and the bytes of their payloads; both lanes and what
// waits apart together. Unlike Stats it reads nothing from disk.
func (t *Transmission) Size() (count, bytes uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	count, bytes = t.apart.Count, t.apart.Bytes
	for i := range t.ends {
		count += t.ends[i].Last.Number - t.ends[i].Low.Number
		bytes += t.ends[i].Last.Total - t.ends[i].Low.Total
	}
	return count, bytes
}

// Stats says what the queue holds; both lanes and what waits apart together.
func (t *Transmission) Stats() (Stats, error) {
	s := Stats{Peer: t.peer}
	t.mu.Lock()
	s.Apart, s.Count, s.Bytes, s.Oldest = t.apart.Count, t.apart.Count, t.apart.Bytes, t.apart.Oldest
	if s.Apart > 0 {
		s.Lacks = t.reads.Lacks(t.apart.Needs)
	}
	t.mu.Unlock()
	for lane := range message.Lane(record.Lanes) {
		end := t.end(lane)
		s.Count += end.Last.Number - end.Low.Number
		s.Bytes += end.Last.Total - end.Low.Total
		if end.Last.Number == end.Low.Number {
			continue
		}
		key := record.AppendItemKey(nil, t.peer, lane, end.Low.Number+1)
		value, err := t.of.records.Get(key)
		if errors.Is(err, store.ErrNotFound) {
			var low record.ItemAt
			if low, err = t.storedLow(lane); err == nil {
				if low.Number > end.Low.Number {
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
			return s, fmt.Errorf("transmission queue for %s: %w", t.peer, t.of.records.Judge(err))
		}
		if s.Oldest.IsZero() || item.Put.Before(s.Oldest) {
			s.Oldest = item.Put
		}
	}
	return s, nil
}

// Read gives items of lane from number on, in order and without a gap, as many as fit
// maxBytes of payload, and at least one if there is one. It reads from disk.
func (t *Transmission) Read(lane message.Lane, from uint64, maxBytes int) ([]record.Item, error) {
	end := t.end(lane)
	for {
		items, err := t.read(lane, end, from, maxBytes)
		if errors.Is(err, read.ErrGone) {
			low, failed := t.storedLow(lane)
			if failed == nil && low.Number > end.Low.Number {
				end.Low = low // trimmed while it was read
				continue
			}
			err = cmp.Or(failed, err)
		}
		if err != nil {
			return nil, fmt.Errorf("transmission queue for %s: %w", t.peer, t.of.records.Judge(err))
		}
		return items, nil
	}
}

func (t *Transmission) read(lane message.Lane, end commit.LaneEnd, from uint64, maxBytes int) ([]record.Item, error) {
	from = max(from, end.Low.Number+1)
	if from > end.Last.Number {
		return nil, nil
	}
	var found []record.StoredItem
	var failed error
	size, cut := 0, false
	o := store.ScanOptions{Prefix: record.AppendLane(nil, record.ClassTransmission, t.peer, lane), From: record.AppendItemKey(nil, t.peer, lane, from)}
	err := t.of.records.Scan(o, func(key, value []byte) bool {
		item, err := record.ReadItem(key, slices.Clone(value))
		if err != nil {
			failed = err
			return false
		}
		size += max(item.Place.Ref.Size, len(item.Place.Inline))
		if cut = item.At.Number > end.Last.Number || (len(found) > 0 && size > maxBytes); cut {
			return false
		}
		found = append(found, item)
		cut = size >= maxBytes
		return !cut
	})
	if err = cmp.Or(failed, err); err != nil {
		return nil, err
	}
	if next := from + uint64(len(found)); !cut && next <= end.Last.Number {
		return nil, fmt.Errorf("item %d of lane %d: %w", next, lane, read.ErrGone)
	}
	items := make([]record.Item, len(found))
	for i := range found {
		f := &found[i]
		if f.At.Number != from+uint64(i) {
			return nil, fmt.Errorf("item %d of lane %d: %w", from+uint64(i), lane, read.ErrGone)
		}
		payload, err := t.of.records.Body(f.Place)
		if err != nil {
			return nil, err
		}
		items[i] = record.Item{Number: f.At.Number, Hash: f.At.Hash, Payload: payload}
	}
	return items, nil
}

// storedLow is the position before the oldest item of lane as the store has it: what a
// commit trims is gone before its end is known to Low.
func (t *Transmission) storedLow(lane message.Lane) (record.ItemAt, error) {
	key := record.AppendLane(nil, record.ClassLow, t.peer, lane)
	value, err := t.of.records.Get(key)
	if errors.Is(err, store.ErrNotFound) {
		return record.ItemAt{}, nil
	}
	if err != nil {
		return record.ItemAt{}, err
	}
	_, _, low, err := record.ReadLow(key, value)
	return low, err
}
