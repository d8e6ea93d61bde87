package queue

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"fmqm/internal/store"
	"fmqm/internal/task"
	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue/commit"
	"fmqm/queue/record"
)

// A conversation belongs to the two stores that have it (L1). When a peer has lost its
// store, an operator lets the conversation begin anew with the one that it has now:
// nothing of that one is accepted yet, and it gets what the transmission queue still
// holds. The items keep their numbers; where they begin is recorded on both sides.

// RebindIncarnation records, in one transaction, that peer has another store from now
// on, by an operator's word (L1): nothing was accepted of it yet, parts of messages of
// the store before are dropped, and what waits in the transmission queue is what the
// conversation begins with. It blocks for one commit. No Accept of that peer may be
// under way. The store that is known already is refused, and a peer that was never met.
func (m *Manager) RebindIncarnation(peer processtable.NodeID, inc Incarnation) error {
	if inc == (Incarnation{}) {
		return errors.New("rebind incarnation: 0 cannot be an incarnation")
	}
	if known, met := m.KnownIncarnation(peer); !met || known == inc {
		return fmt.Errorf("rebind incarnation of %s: %w: this store knows it as %s", peer, ErrOutOfOrder, known)
	}
	start := &commit.Start{Anew: true}
	w := m.prepare(&Tx{})
	key := record.AppendName([]byte{record.ClassPeer}, string(peer))
	w.Ops = append(w.Ops, store.Op{Key: key, Value: record.New(key, inc[:]...)})
	key = record.BeganKey(peer)
	start.Op = len(w.Ops)
	w.Ops = append(w.Ops, store.Op{Key: key, Value: record.New(key, append(inc[:], make([]byte, record.BeganSize-len(inc))...)...)})
	for lane := range message.Lane(record.Lanes) {
		w.acceptedAt(peer, lane, inc, Position{})
		if err := m.dropParts(w, peer, lane); err != nil {
			return fmt.Errorf("rebind incarnation of %s: %w", peer, err)
		}
	}
	w.Bind = &commit.Bind{Peer: peer, Incarnation: inc, Start: start}
	return m.await(w)
}

// BeginAccepted records, durably, that what peer sends begins after the positions, in
// each lane of which nothing was accepted yet: its operator has bound this store anew.
// It blocks for one commit.
func (m *Manager) BeginAccepted(peer processtable.NodeID, at [record.Lanes]Position) error {
	inc, met := m.KnownIncarnation(peer)
	if !met {
		return fmt.Errorf("begin with %s: %w: this store has not met it yet", peer, ErrOutOfOrder)
	}
	w := m.prepare(&Tx{})
	start := &commit.Start{}
	for lane := range message.Lane(record.Lanes) {
		start.At[lane] = m.Accepted(peer, lane)
		if start.At[lane].Number == 0 {
			start.At[lane] = at[lane]
			if err := m.dropParts(w, peer, lane); err != nil {
				return fmt.Errorf("begin with %s: %w", peer, err)
			}
		}
		w.acceptedAt(peer, lane, inc, start.At[lane])
	}
	w.Bind = &commit.Bind{Peer: peer, Incarnation: inc, Start: start}
	return m.await(w)
}

// Began gives, for each lane, the position before the first item of the transmission
// queue that is for the peer's present store; zero where that is from the beginning.
func (m *Manager) Began(peer processtable.NodeID) (at [record.Lanes]Position, err error) {
	key := record.BeganKey(peer)
	value, err := m.engine.Get(key)
	if errors.Is(err, store.ErrNotFound) {
		return at, nil
	}
	if err != nil {
		return at, fmt.Errorf("read where the conversation with %s began: %w", peer, err)
	}
	content, err := record.Open(key, value)
	if err != nil {
		return at, err
	}
	if len(content) != record.BeganSize {
		return at, record.Damaged(key, "this program does not know the form of its content")
	}
	content = content[len(Incarnation{}):]
	for lane := range at {
		at[lane].Number = binary.BigEndian.Uint64(content)
		copy(at[lane].Hash[:], content[8:])
		content = content[8+len(Hash{}):]
	}
	return at, nil
}

// acceptedAt adds the record of what was accepted from a peer in a lane.
func (w *work) acceptedAt(peer processtable.NodeID, lane message.Lane, inc Incarnation, at Position) {
	w.Ops = append(w.Ops, record.Accepted(record.LaneKey{Peer: peer, Lane: lane}, record.AcceptedAt{Incarnation: inc, Position: at}))
}

// await commits a transaction of the manager's own.
func (m *Manager) await(w *work) error {
	done := task.NewAnswer[error](m.sched)
	w.tx.Done = done.Give
	w.Size = m.engine.Size(&store.Batch{Ops: w.Ops})
	m.submit(w)
	err, _, _ := done.Wait(context.Background())
	return err
}
