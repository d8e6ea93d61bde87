package backup

import (
	"cmp"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"fmqm/internal/failpoint"
	"fmqm/internal/store"
	"fmqm/processtable"
	"fmqm/queue/record"
)

// Restore fills a new store from a backup, and gives it a new incarnation (L1): peers
// that knew the old one stop their links until an operator decides. After an error or a
// crash the store cannot be used: its format is written last, and a store without one is
// refused. random is crypto/rand's Reader if nil.
func Restore(r io.Reader, engine store.Engine, random io.Reader) (Info, error) {
	if engine.Last() != 0 {
		return Info{}, errors.New("restore: this store already has content: restore into a new data directory")
	}
	if random == nil {
		random = rand.Reader
	}
	var own record.Incarnation
	if _, err := io.ReadFull(random, own[:]); err != nil {
		return Info{}, fmt.Errorf("restore: make an incarnation: %w", err)
	}
	var b store.Batch
	commit := func() error {
		if len(b.Ops) == 0 {
			return nil
		}
		err := engine.Commit(engine.Last()+1, &b)
		b = store.Batch{}
		failpoint.Hit("restore.part")
		return err
	}
	size := int64(0)
	renewed := newRenewal()
	put := func(key, value []byte) error {
		one := engine.Size(&store.Batch{Ops: []store.Op{{Key: key, Value: value}}})
		if size+one > engine.MaxBatch() {
			if err := commit(); err != nil {
				return err
			}
			size = 0
		}
		size += one
		b.Put(key, value)
		return nil
	}
	var last []store.Op
	info, err := readAll(r, func(key, value []byte) error {
		switch string(key) {
		case string(record.KeyIncarnation):
			value = record.New(record.KeyIncarnation, own[:]...)
		case string(record.KeyFormat):
			last = append(last, store.Op{Key: key, Value: value})
			return nil
		}
		keep, err := renewed.take(key, value)
		if err != nil || !keep {
			return err
		}
		return put(key, value)
	})
	var changes []store.Op
	if err == nil {
		changes, err = renewed.large()
	}
	if err == nil {
		err = commit()
	}
	for _, op := range append(append(changes, renewed.records(info.Commit)...), last...) {
		if err == nil {
			err = put(op.Key, op.Value)
		}
	}
	if err == nil {
		err = commit()
	}
	if err != nil {
		return info, fmt.Errorf("restore: %w", err)
	}
	failpoint.Hit("restore.written")
	return info, nil
}

// A restored store is a new one to its peers (L1): nothing of theirs counts as accepted,
// and what its transmission queues keep is what its conversations begin with. What the
// copy had accepted is noted, so that a peer need not send all of it again (S4).

// renewal collects, while a backup is read, what its conversations have to become.
type renewal struct {
	peers    map[processtable.NodeID]record.Incarnation
	accepted map[processtable.NodeID]*[record.Lanes]record.Position
	low      map[processtable.NodeID]*[record.Lanes]record.Position
	commits  uint64 // of the stores that the copied one was restored from itself
	head     []byte // content of the record of a large transaction that was half made
	pieces   []byte // its changes
	count    uint32 // of pieces
}

func newRenewal() *renewal {
	return &renewal{
		peers:    map[processtable.NodeID]record.Incarnation{},
		accepted: map[processtable.NodeID]*[record.Lanes]record.Position{},
		low:      map[processtable.NodeID]*[record.Lanes]record.Position{},
	}
}

func setLane(of map[processtable.NodeID]*[record.Lanes]record.Position, at record.LaneKey, p record.Position) {
	if of[at.Peer] == nil {
		of[at.Peer] = &[record.Lanes]record.Position{}
	}
	of[at.Peer][at.Lane] = p
}

// take looks at a record; keep is false for what a new store does not have.
func (r *renewal) take(key, value []byte) (keep bool, err error) {
	switch key[0] {
	case record.ClassMeta:
		if string(key) != string(record.KeyCommits) {
			return true, nil
		}
		r.commits, err = record.ReadCommits(key, value)
		return false, err
	case record.ClassLarge:
		content, err := record.Open(key, value)
		if len(key) == len(record.KeyLarge) {
			r.head = content
		} else {
			r.pieces = append(r.pieces, content...)
			r.count++
		}
		return false, err
	case record.ClassAccepted:
		lane, at, err := record.ReadAccepted(key, value)
		if err != nil || lane.Lane >= record.Lanes {
			return false, cmp.Or(err, record.Damaged(key, record.ErrKey.Error()))
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
		if err != nil || k.End() != nil || len(content) != len(record.Incarnation{}) {
			return false, cmp.Or(err, record.Damaged(key, record.ErrKey.Error()))
		}
		r.peers[peer] = record.Incarnation(content)
	}
	return true, nil
}

// large gives what is left to do of a large transaction that was half made. It has happened in the
// copied store; were it finished when the new one is opened, what it accepts would count there.
func (r *renewal) large() (changes []store.Op, err error) {
	switch {
	case r.head == nil: // it has not happened
		return nil, nil
	case len(r.head) != 4 || binary.BigEndian.Uint32(r.head) != r.count:
		return nil, record.Damaged(record.KeyLarge, fmt.Sprintf("it has %d pieces", r.count))
	}
	all, err := record.ReadOps(r.pieces)
	if err != nil {
		return nil, record.Damaged(record.KeyLarge, err.Error())
	}
	for _, op := range all {
		keep := true
		if op.Value != nil {
			if keep, err = r.take(op.Key, op.Value); err != nil {
				return nil, err
			}
		}
		if keep {
			changes = append(changes, op)
		}
	}
	return changes, nil
}

// records are what the new store has instead, where the copied one had so many commits.
func (r *renewal) records(commits uint64) []store.Op {
	ops := []store.Op{{Key: record.KeyCommits, Value: record.NewCommits(r.commits + commits)}}
	if len(r.peers) == 0 {
		return ops // nobody else can know anything of it
	}
	ops = append(ops, store.Op{Key: record.KeyRecreated, Value: record.New(record.KeyRecreated, 1)})
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
