package queue

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"

	"fmqm/internal/store"
	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue/record"
)

// A restored store is a new one to its peers (L1): nothing of theirs counts as accepted,
// and what its transmission queues keep is what its conversations begin with. What the
// copy had accepted is noted, so that a peer need not send all of it again (S4).

// renewal collects, while a backup is read, what its conversations have to become.
type renewal struct {
	peers    map[processtable.NodeID]Incarnation
	accepted map[processtable.NodeID]*[record.Lanes]Position
	low      map[processtable.NodeID]*[record.Lanes]Position
}

func newRenewal() *renewal {
	return &renewal{
		peers:    map[processtable.NodeID]Incarnation{},
		accepted: map[processtable.NodeID]*[record.Lanes]Position{},
		low:      map[processtable.NodeID]*[record.Lanes]Position{},
	}
}

func setLane(of map[processtable.NodeID]*[record.Lanes]Position, at record.LaneKey, p Position) {
	if of[at.Peer] == nil {
		of[at.Peer] = &[record.Lanes]Position{}
	}
	of[at.Peer][at.Lane] = p
}

// take looks at a record; keep is false for what a new store does not have.
func (r *renewal) take(key, value []byte) (keep bool, err error) {
	switch key[0] {
	case record.ClassAccepted:
		lane, at, err := record.ReadAccepted(key, value)
		if err != nil || lane.Lane >= record.Lanes {
			return false, first1(err, record.Damaged(key, record.ErrKey.Error()))
		}
		setLane(r.accepted, lane, at.Position)
		return false, nil
	case record.ClassLow:
		peer, lane, low, err := record.ReadLow(key, value)
		if err != nil {
			return false, err
		}
		setLane(r.low, record.LaneKey{Peer: peer, Lane: lane}, low.Position)
	case record.ClassPeer:
		content, err := record.Open(key, value)
		k := record.KeyReader{Rest: key[1:]}
		peer := processtable.NodeID(k.Name())
		if err != nil || k.End() != nil || len(content) != len(Incarnation{}) {
			return false, first1(err, record.Damaged(key, record.ErrKey.Error()))
		}
		r.peers[peer] = Incarnation(content)
	}
	return true, nil
}

// records are what the new store has instead.
func (r *renewal) records() []store.Op {
	if len(r.peers) == 0 {
		return nil // nobody else can know anything of it
	}
	ops := []store.Op{{Key: record.KeyAnew, Value: record.New(record.KeyAnew, 1)}}
	for _, peer := range slices.Sorted(maps.Keys(r.peers)) {
		incarnation := r.peers[peer]
		if at := r.low[peer]; at != nil {
			key := record.BeganKey(peer)
			ops = append(ops, store.Op{Key: key, Value: record.New(key, record.AppendPositions(incarnation, at)...)})
		}
		if at := r.accepted[peer]; at != nil {
			key := record.RestoredKey(peer)
			ops = append(ops, store.Op{Key: key, Value: record.New(key, record.AppendPositions(incarnation, at)...)})
		}
	}
	return ops
}

// RestoredAccepted gives what this store, where it was restored from a backup, had
// accepted of peer, and of which incarnation of it; false if nothing is known of that.
func (m *Manager) RestoredAccepted(peer processtable.NodeID) (inc Incarnation, at [record.Lanes]Position, known bool, err error) {
	key := record.RestoredKey(peer)
	content, err := m.meta(key)
	if errors.Is(err, store.ErrNotFound) {
		return inc, at, false, nil
	}
	if err == nil && len(content) != record.BeganSize {
		err = record.Damaged(key, "this program does not know the form of its content")
	}
	if err != nil {
		return inc, at, false, fmt.Errorf("read what was accepted from %s before: %w", peer, err)
	}
	copy(inc[:], content)
	content = content[len(inc):]
	for lane := range at {
		at[lane].Number = binary.BigEndian.Uint64(content)
		copy(at[lane].Hash[:], content[8:])
		content = content[8+len(Hash{}):]
	}
	return inc, at, true, nil
}

// Anew reports whether others may know instances of this node that this store does not
// know, because it was restored, or is new for a node that others know.
func (m *Manager) Anew() (bool, error) {
	_, err := m.engine.Get(record.KeyAnew)
	if errors.Is(err, store.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// NoteAnew records, durably, that this store was made anew for a node that others knew.
// It blocks for one commit.
func (m *Manager) NoteAnew() error {
	w := m.prepare(&Tx{})
	w.Ops = append(w.Ops, store.Op{Key: record.KeyAnew, Value: record.New(record.KeyAnew, 1)})
	w.anew = true
	return m.await(w)
}

// dropParts removes what was kept of messages of peer that had not come whole: the
// conversation that they belong to is over.
func (m *Manager) dropParts(w *work, peer processtable.NodeID, lane message.Lane) error {
	prefix := record.AppendLane(nil, record.ClassPart, peer, lane)
	return m.engine.Scan(store.ScanOptions{Prefix: prefix, KeysOnly: true}, func(key, _ []byte) bool {
		w.Replaces = append(w.Replaces, len(w.Ops))
		w.Ops = append(w.Ops, store.Op{Key: append([]byte(nil), key...)})
		return true
	})
}
