package queue

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"fmqm/internal/store"
	"fmqm/internal/task"
	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue/record"
)

// A conversation belongs to the two stores that have it (L1). When a peer has lost its
// store, an operator lets the conversation begin anew with the one that it has now:
// nothing of that one is accepted yet, and it gets what the transmission queue still
// holds. The items keep their numbers; where they begin is recorded on both sides.

// startPut begins a peer's lanes at positions, on the way in.
type startPut struct {
	anew bool // the peer has another store; else only lanes of which nothing was accepted begin
	at   [record.Lanes]Position
	op   int // of the record where the conversation began on the way out, if anew
}

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
	start := &startPut{anew: true}
	w := m.prepare(&Tx{})
	key := record.AppendName([]byte{record.ClassPeer}, string(peer))
	w.ops = append(w.ops, store.Op{Key: key, Value: record.New(key, inc[:]...)})
	key = record.BeganKey(peer)
	start.op = len(w.ops)
	w.ops = append(w.ops, store.Op{Key: key, Value: record.New(key, append(inc[:], make([]byte, record.BeganSize-len(inc))...)...)})
	for lane := range message.Lane(record.Lanes) {
		w.acceptedAt(peer, lane, inc, Position{})
		if err := m.dropParts(w, peer, lane); err != nil {
			return fmt.Errorf("rebind incarnation of %s: %w", peer, err)
		}
	}
	w.bind = &bindPut{peer: peer, incarnation: inc, start: start}
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
	start := &startPut{}
	for lane := range message.Lane(record.Lanes) {
		start.at[lane] = m.Accepted(peer, lane)
		if start.at[lane].Number == 0 {
			start.at[lane] = at[lane]
			if err := m.dropParts(w, peer, lane); err != nil {
				return fmt.Errorf("begin with %s: %w", peer, err)
			}
		}
		w.acceptedAt(peer, lane, inc, start.at[lane])
	}
	w.bind = &bindPut{peer: peer, incarnation: inc, start: start}
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
	w.ops = append(w.ops, record.Accepted(record.LaneKey{Peer: peer, Lane: lane}, record.AcceptedAt{Incarnation: inc, Position: at}))
}

// await commits a transaction of the manager's own.
func (m *Manager) await(w *work) error {
	done := task.NewAnswer[error](m.sched)
	w.tx.Done = done.Give
	w.size = m.engine.Size(&store.Batch{Ops: w.ops})
	m.submit(w)
	err, _, _ := done.Wait(context.Background())
	return err
}

// start takes up where a conversation begins: the lanes on the way out begin at what
// is kept of them now, and what was to be trimmed since the store before had it stays.
func (c *core) start(w *work) {
	b := w.bind
	if b.start == nil {
		return
	}
	c.lossy = true
	b.start.accept(b, c.accepted)
	if !b.start.anew {
		return
	}
	c.trims = slices.DeleteFunc(c.trims, func(r trimRequest) bool { return r.to.peer == b.peer })
	op := &w.ops[b.start.op]
	at := op.Value[1+len(Incarnation{}):]
	for t, ends := range c.lanes {
		if t.peer != b.peer {
			continue
		}
		for lane := range ends {
			low := ends[lane].low
			binary.BigEndian.PutUint64(at[lane*(8+16):], low.Number)
			copy(at[lane*(8+16)+8:], low.Hash[:])
		}
	}
	record.Seal(op.Key, op.Value)
}

func (s *startPut) accept(b *bindPut, accepted map[record.LaneKey]record.AcceptedAt) {
	for lane := range message.Lane(record.Lanes) {
		accepted[record.LaneKey{Peer: b.peer, Lane: lane}] = record.AcceptedAt{Incarnation: b.incarnation, Position: s.at[lane]}
	}
}
