package queue

import (
	"bytes"

	"fmqm/internal/store"
	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue/record"
)

// Incoming gives what is stored of a message that has not come whole from peer in lane.
func (m *Manager) Incoming(peer processtable.NodeID, lane message.Lane) Incoming {
	m.durable.Lock()
	defer m.durable.Unlock()
	return m.durable.incoming[record.LaneKey{Peer: peer, Lane: lane}]
}

// loadIncoming finds what is stored of messages that have not come whole, and removes parts
// of which nothing will come: they are not the newest items of their lane, so that the
// conversation that they were of is over.
func (m *Manager) loadIncoming() error {
	found := map[record.LaneKey]map[uint64]int{}
	err := m.eachPart(func(at record.LaneKey, first uint64, index int, _ []byte) error {
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
			if first+uint64(count) == m.durable.accepted[at].Number+1 {
				m.durable.incoming[at] = Incoming{First: first, Count: count}
			}
		}
	}
	var stuck [][]byte
	err = m.eachPart(func(at record.LaneKey, first uint64, index int, key []byte) error {
		if in := m.durable.incoming[at]; first != in.First || index >= in.Count {
			stuck = append(stuck, bytes.Clone(key))
		}
		return nil
	})
	if err != nil {
		return err
	}
	return m.removeParts(stuck)
}

// eachPart visits the parts that are stored, in their order. The key is valid until visit
// returns.
func (m *Manager) eachPart(visit func(at record.LaneKey, first uint64, index int, key []byte) error) error {
	return m.scan(store.ScanOptions{Prefix: []byte{record.ClassPart}, KeysOnly: true}, func(key, _ []byte) error {
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
func (m *Manager) removeParts(keys [][]byte) error {
	for _, key := range keys {
		value, err := m.engine.Get(key)
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
		if err := m.engine.Commit(m.engine.Last()+1, &b); err != nil {
			return err
		}
	}
	return nil
}
