package lane

import (
	"bytes"
	"errors"
	"fmt"

	"fmqm/internal/store"
	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue/commit"
	"fmqm/queue/prepare"
	"fmqm/queue/record"
)

// A conversation belongs to the two stores that have it (L1). When a peer has lost its
// store, an operator lets the conversation begin again with the one that it has now:
// nothing of that one is accepted yet, and it gets what the transmission queue still
// holds. The items keep their numbers; where they begin is recorded on both sides.

// KnownIncarnation gives the incarnation under which peer was met, and whether it was.
func (l *Lanes) KnownIncarnation(peer processtable.NodeID) (record.Incarnation, bool) {
	l.durable.Lock()
	defer l.durable.Unlock()
	inc, ok := l.durable.peers[peer]
	return inc, ok
}

// BindIncarnation records, durably, under which incarnation peer is known. It blocks
// for one commit. A second call with another incarnation is refused with
// ErrOutOfOrder: an operator decides (L1).
func (l *Lanes) BindIncarnation(peer processtable.NodeID, inc record.Incarnation) error {
	if !processtable.ValidNode(string(peer)) {
		return fmt.Errorf("bind incarnation: %.80q is not a node's name", peer)
	}
	key := record.AppendName([]byte{record.ClassPeer}, string(peer))
	w := l.committer.Empty()
	w.Ops = append(w.Ops, store.Op{Key: key, Value: record.New(key, inc[:]...)})
	w.Bind = &commit.Bind{Peer: peer, Incarnation: inc}
	return l.committer.Commit(w)
}

// ReplaceIncarnation records, in one transaction, that peer has another store from now
// on, by an operator's word (L1): nothing was accepted of it yet, parts of messages of
// the store before are dropped, and what waits in the transmission queue is what the
// conversation begins with. It blocks for one commit. No Accept of that peer may be
// under way. The store that is known already is refused, and a peer that was never met.
func (l *Lanes) ReplaceIncarnation(peer processtable.NodeID, inc record.Incarnation) error {
	if inc == (record.Incarnation{}) {
		return errors.New("replace incarnation: 0 cannot be an incarnation")
	}
	if known, met := l.KnownIncarnation(peer); !met || known == inc {
		return fmt.Errorf("replace incarnation of %s: %w: this store knows it as %s", peer, commit.ErrOutOfOrder, known)
	}
	start := &commit.Start{NewStore: true}
	w := l.committer.Empty()
	key := record.AppendName([]byte{record.ClassPeer}, string(peer))
	w.Ops = append(w.Ops, store.Op{Key: key, Value: record.New(key, inc[:]...)})
	start.Op = len(w.Ops)
	key = record.BeganKey(peer)
	began := store.Op{Key: key, Value: record.New(key, record.AppendPositions(inc, &start.At)...)}
	w.Ops = append(w.Ops, began)
	for lane := range message.Lane(record.Lanes) {
		acceptedAt(w, peer, lane, inc, record.Position{})
	}
	w.Bind = &commit.Bind{Peer: peer, Incarnation: inc, Start: start}
	return l.committer.Commit(w)
}

// BeginAccepted records, durably, that what peer sends begins after the positions, in
// each lane of which nothing was accepted yet: its operator has let this store take the place of the one before.
// It blocks for one commit.
func (l *Lanes) BeginAccepted(peer processtable.NodeID, at [record.Lanes]record.Position) error {
	inc, met := l.KnownIncarnation(peer)
	if !met {
		return fmt.Errorf("begin with %s: %w: this store has not met it yet", peer, commit.ErrOutOfOrder)
	}
	w := l.committer.Empty()
	start := &commit.Start{}
	for lane := range message.Lane(record.Lanes) {
		start.At[lane] = l.Accepted(peer, lane)
		if start.At[lane].Number == 0 {
			start.At[lane] = at[lane]
		}
		acceptedAt(w, peer, lane, inc, start.At[lane])
	}
	w.Bind = &commit.Bind{Peer: peer, Incarnation: inc, Start: start}
	return l.committer.Commit(w)
}

// acceptedAt adds the record of what was accepted from a peer in a lane.
func acceptedAt(w *prepare.Changes, peer processtable.NodeID, lane message.Lane, inc record.Incarnation, at record.Position) {
	w.Ops = append(w.Ops, record.Accepted(record.LaneKey{Peer: peer, Lane: lane}, record.AcceptedAt{Incarnation: inc, Position: at}))
}

// Began gives, for each lane, the position before the first item of the transmission
// queue that is for the peer's present store; zero where that is from the beginning.
func (l *Lanes) Began(peer processtable.NodeID) (at [record.Lanes]record.Position, err error) {
	_, at, _, err = l.positions(record.BeganKey(peer))
	if err != nil {
		return at, fmt.Errorf("read where the conversation with %s began: %w", peer, err)
	}
	return at, nil
}

// RestoredAccepted gives what this store, where it was restored from a backup, had
// accepted of peer, and of which incarnation of it; false if nothing is known of that.
func (l *Lanes) RestoredAccepted(peer processtable.NodeID) (inc record.Incarnation, at [record.Lanes]record.Position, known bool, err error) {
	if inc, at, known, err = l.positions(record.RestoredKey(peer)); err != nil {
		err = fmt.Errorf("read what was accepted from %s before: %w", peer, err)
	}
	return inc, at, known, err
}

// positions reads the record at key; known is false where there is none.
func (l *Lanes) positions(key []byte) (inc record.Incarnation, at [record.Lanes]record.Position, known bool, err error) {
	content, err := l.records.Content(key)
	if errors.Is(err, store.ErrNotFound) {
		return inc, at, false, nil
	}
	if err == nil {
		inc, at, err = record.ReadPositions(key, content)
	}
	return inc, at, err == nil, l.records.Judge(err)
}

// Recreated reports whether others may know instances of this node that this store does not
// know, because it was restored, or is new for a node that others know.
func (l *Lanes) Recreated() (bool, error) {
	_, err := l.records.Get(record.KeyRecreated)
	if errors.Is(err, store.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// NoteRecreated records, durably, that this store was made for a node that others knew by another one.
// It blocks for one commit.
func (l *Lanes) NoteRecreated() error {
	w := l.committer.Empty()
	w.Ops = append(w.Ops, store.Op{Key: record.KeyRecreated, Value: record.New(record.KeyRecreated, 1)})
	w.Recreated = true
	return l.committer.Commit(w)
}

// StoreLost reports whether a store was lost, here or at a peer, so that any message may come again.
func (k Keeper) StoreLost() (bool, error) {
	if here, err := k.Recreated(); here || err != nil {
		return here, err
	}
	began := record.AppendName([]byte{record.ClassMeta}, record.BeganName)
	key, err := k.records.FirstUnder([]byte{record.ClassMeta}, began)
	return bytes.HasPrefix(key, began), err
}
