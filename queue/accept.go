package queue

import (
	"encoding/binary"
	"fmt"

	"fmqm/internal/store"
	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue/commit"
	"fmqm/queue/record"
)

func (b *builder) accept(a *Accept) {
	if !processtable.ValidNode(string(a.Peer)) || a.Lane >= record.Lanes {
		b.fail(fmt.Errorf("accept from %.80q lane %d: there is no such site or lane", a.Peer, a.Lane))
		return
	}
	put := &commit.Accept{
		LaneKey: record.LaneKey{Peer: a.Peer, Lane: a.Lane},
		To:      record.AcceptedAt{Incarnation: a.Incarnation, Position: Position{Number: a.Number, Hash: a.Hash}},
		Count:   a.Count, Before: a.Before,
	}
	b.Accept = put
	b.Ops = append(b.Ops, record.Accepted(put.LaneKey, put.To))
	whole := map[uint64]bool{}
	for _, first := range a.Whole {
		whole[first] = true
		prefix := partPrefix(a.Peer, a.Lane, first)
		err := b.m.engine.Scan(store.ScanOptions{Prefix: prefix, KeysOnly: true}, func(key, _ []byte) bool {
			put.Parts = append(put.Parts, append([]byte(nil), key...))
			return true
		})
		if err != nil {
			b.fail(fmt.Errorf("parts from %s: %w", a.Peer, err))
		}
	}
	if len(whole) > 0 {
		put.Incoming = &Incoming{}
	}
	for i := range a.Parts {
		p := &a.Parts[i]
		if whole[p.First] {
			continue
		}
		if len(p.Data) > record.PartSize || p.Index < 0 || p.Index >= MaxParts || p.First+uint64(p.Index) != a.Number-uint64(len(a.Parts)-1-i) {
			b.fail(fmt.Errorf("accept from %[4]s: part %[1]d (%[2]d bytes) of message %[3]d does not fit items up to %[5]d", p.Index, len(p.Data), p.First, a.Peer, a.Number))
			return
		}
		b.large(record.AppendPartKey(nil, a.Peer, a.Lane, p.First, p.Index), record.Begin(nil), p.Data)
		put.Incoming = &Incoming{First: p.First, Count: p.Index + 1}
	}
}

func partPrefix(peer processtable.NodeID, lane message.Lane, first uint64) []byte {
	return binary.BigEndian.AppendUint64(record.AppendLane(nil, record.ClassPart, peer, lane), first)
}

// Accepted says what is on disk of what peer sent in lane.
func (m *Manager) Accepted(peer processtable.NodeID, lane message.Lane) Position {
	m.durable.Lock()
	defer m.durable.Unlock()
	return m.durable.accepted[record.LaneKey{Peer: peer, Lane: lane}].Position
}

// KnownIncarnation gives the incarnation under which peer was met, and whether it was.
func (m *Manager) KnownIncarnation(peer processtable.NodeID) (Incarnation, bool) {
	m.durable.Lock()
	defer m.durable.Unlock()
	inc, ok := m.durable.peers[peer]
	return inc, ok
}

// BindIncarnation records, durably, under which incarnation peer is known. It blocks
// for one commit. A second call with another incarnation is refused with
// ErrOutOfOrder: an operator decides (L1).
func (m *Manager) BindIncarnation(peer processtable.NodeID, inc Incarnation) error {
	if !processtable.ValidNode(string(peer)) {
		return fmt.Errorf("bind incarnation: %.80q is not a node's name", peer)
	}
	key := record.AppendName([]byte{record.ClassPeer}, string(peer))
	w := m.prepare(&Tx{})
	w.Ops = append(w.Ops, store.Op{Key: key, Value: record.New(key, inc[:]...)})
	w.Bind = &commit.Bind{Peer: peer, Incarnation: inc}
	return m.await(w)
}

// Parts gives the stored parts of the message from peer whose first part has the
// number first, in their order. The last part is never stored.
func (m *Manager) Parts(peer processtable.NodeID, lane message.Lane, first uint64) ([][]byte, error) {
	var places []record.Place
	var failed error
	err := m.engine.Scan(store.ScanOptions{Prefix: partPrefix(peer, lane, first)}, func(key, value []byte) bool {
		content, err := record.Open(key, value)
		if err != nil {
			failed = err
			return false
		}
		p, _, err := record.ReadPlace(key, append([]byte(nil), content...))
		if err != nil {
			failed = err
			return false
		}
		places = append(places, p)
		return true
	})
	if err = first1(failed, err); err != nil {
		return nil, fmt.Errorf("parts of message %d from %s: %w", first, peer, m.judge(err))
	}
	parts := make([][]byte, len(places))
	for i, p := range places {
		if parts[i], err = m.body(p); err != nil {
			return nil, fmt.Errorf("part %d of message %d from %s: %w", i, first, peer, m.judge(err))
		}
	}
	return parts, nil
}
