package lane

import (
	"bytes"
	"errors"
	"fmt"

	"fmqm/internal/store"
	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue/commit"
	"fmqm/queue/read"
	"fmqm/queue/record"
)

// loading is what is done once, before anything is committed: what the lanes have is read, for
// those who ask and for the committer.
type loading struct {
	*Lanes
	engine store.Engine
	state  *commit.State
}

// Load reads what the store has of lanes, and gives the committer's copy of it to state. It removes
// parts of which nothing will come.
func (k Keeper) Load(engine store.Engine, state *commit.State) error {
	l := loading{Lanes: k.Lanes, engine: engine, state: state}
	for _, step := range []func() error{l.loadPeers, l.loadTransmissions, l.loadReads, l.loadApart, l.loadIncoming} {
		if err := step(); err != nil {
			return err
		}
	}
	for _, t := range l.registry.transmissions {
		state.Lanes[t.peer] = t.ends
	}
	return nil
}

func (l loading) loadPeers() error {
	err := l.records.Each(store.ScanOptions{Prefix: []byte{record.ClassPeer}}, func(key, value []byte) error {
		content, err := record.Open(key, value)
		if err != nil {
			return err
		}
		k := record.KeyReader{Rest: key[1:]}
		peer := processtable.NodeID(k.Name())
		if k.End() != nil || len(content) != len(record.Incarnation{}) {
			return record.Damaged(key, "this program does not know its form")
		}
		l.durable.peers[peer], l.state.Peers[peer] = record.Incarnation(content), record.Incarnation(content)
		return nil
	})
	if err != nil {
		return err
	}
	return l.records.Each(store.ScanOptions{Prefix: []byte{record.ClassAccepted}}, func(key, value []byte) error {
		lane, at, err := record.ReadAccepted(key, value)
		l.durable.accepted[lane], l.state.Accepted[lane] = at, at
		return err
	})
}

// loadTransmissions finds both ends of every lane, without reading what lies between.
func (l loading) loadTransmissions() error {
	err := l.records.Each(store.ScanOptions{Prefix: []byte{record.ClassLow}}, func(key, value []byte) error {
		peer, lane, low, err := record.ReadLow(key, value)
		if err == nil {
			l.Transmission(peer).ends[lane] = commit.LaneEnd{Last: low, Low: low}
		}
		return err
	})
	if err != nil {
		return err
	}
	// The first key of each peer's lane leads to the next one.
	for from := []byte{record.ClassTransmission}; from != nil; {
		key, err := l.records.FirstUnder([]byte{record.ClassTransmission}, from)
		if err != nil || key == nil {
			return err
		}
		k := record.KeyReader{Rest: key[1:]}
		peer, lane := processtable.NodeID(k.Name()), message.Lane(k.Bytes(1)[0])
		if k.Bad || lane >= record.Lanes {
			return record.Damaged(key, record.ErrKey.Error())
		}
		if err := l.loadLane(l.Transmission(peer), lane); err != nil {
			return err
		}
		from = store.After(record.AppendLane(nil, record.ClassTransmission, peer, lane))
	}
	return nil
}

// loadLane finds the last item of a lane, and verifies that the first follows on low.
func (l loading) loadLane(t *Transmission, lane message.Lane) error {
	prefix := record.AppendLane(nil, record.ClassTransmission, t.peer, lane)
	for _, reverse := range []bool{false, true} {
		found := false
		err := l.records.Each(store.ScanOptions{Prefix: prefix, Reverse: reverse}, func(key, value []byte) error {
			if found {
				return read.ErrEnough
			}
			found = true
			item, err := record.ReadItem(key, value)
			if err != nil {
				return err
			}
			if !reverse && item.At.Number != t.ends[lane].Low.Number+1 {
				return record.Damaged(key, fmt.Sprintf("items from %d on are missing", t.ends[lane].Low.Number+1))
			}
			t.ends[lane].Last = item.At
			return nil
		})
		if err != nil && !errors.Is(err, read.ErrEnough) {
			return err
		}
	}
	return nil
}

// loadReads finds what peers have said last that they read.
func (l loading) loadReads() error {
	prefix := record.AppendName([]byte{record.ClassMeta}, record.ReadsName)
	return l.records.Each(store.ScanOptions{Prefix: prefix}, func(key, value []byte) error {
		peer, reads, err := record.ReadReads(key, value)
		if err != nil {
			return err
		}
		l.state.Reads[peer], l.Transmission(peer).reads = reads, reads
		return nil
	})
}

// loadApart finds what waits apart. It reads the records, and no body that is staged.
func (l loading) loadApart() error {
	return l.records.Each(store.ScanOptions{Prefix: []byte{record.ClassApart}}, func(key, value []byte) error {
		a, err := record.ReadApart(key, value)
		if err != nil {
			return err
		}
		t := l.Transmission(a.Peer)
		if t.apart.Count == 0 {
			t.apart.Oldest, t.apart.Needs = a.Put, a.Needs
		}
		t.apart.Count++
		t.apart.Bytes += uint64(a.Size)
		l.state.Apart[a.Peer] = append(l.state.Apart[a.Peer], commit.ApartOf(&a))
		return nil
	})
}

// loadIncoming finds what is stored of messages that have not come whole, and removes parts
// of which nothing will come: they are not the newest items of their lane, so that the
// conversation that they were of is over.
func (l loading) loadIncoming() error {
	found := map[record.LaneKey]map[uint64]int{}
	err := l.eachPart(func(at record.LaneKey, first uint64, index int, _ []byte) error {
		if found[at] == nil {
			found[at] = map[uint64]int{}
		}
		if found[at][first] == index { // else there is a gap before it
			found[at][first]++
		}
		return nil
	})
	if err != nil {
		return err
	}
	for at, messages := range found {
		for first, count := range messages {
			if first+uint64(count) == l.durable.accepted[at].Number+1 {
				in := record.Incoming{First: first, Count: count}
				l.durable.incoming[at], l.state.Incoming[at] = in, in
			}
		}
	}
	var stuck [][]byte
	err = l.eachPart(func(at record.LaneKey, first uint64, index int, key []byte) error {
		if in := l.durable.incoming[at]; first != in.First || index >= in.Count {
			stuck = append(stuck, bytes.Clone(key))
		}
		return nil
	})
	if err != nil {
		return err
	}
	return l.removeParts(stuck)
}

// eachPart visits the parts that are stored, in their order. The key is valid until visit
// returns.
func (l loading) eachPart(visit func(at record.LaneKey, first uint64, index int, key []byte) error) error {
	return l.records.Each(store.ScanOptions{Prefix: []byte{record.ClassPart}, KeysOnly: true}, func(key, _ []byte) error {
		k := record.KeyReader{Rest: key[1:]}
		at := record.LaneKey{Peer: processtable.NodeID(k.Name()), Lane: message.Lane(k.Bytes(1)[0])}
		first, index := k.Uint64(), k.Uint32()
		if k.End() != nil {
			return record.Damaged(key, record.ErrKey.Error())
		}
		return visit(at, first, int(index), key)
	})
}

// removeParts removes records of parts, with their bodies, before anything else is done.
func (l loading) removeParts(keys [][]byte) error {
	for _, key := range keys {
		value, err := l.records.Get(key)
		if err != nil {
			return err
		}
		ref, staged, err := record.RefOf(key, value)
		if err != nil {
			return err
		}
		b := store.Batch{Ops: []store.Op{{Key: key}}}
		if staged {
			b.Ops = record.RemoveStaged(b.Ops, ref)
		}
		if err := l.engine.Commit(l.engine.Last()+1, &b); err != nil {
			return err
		}
	}
	return nil
}
