package queue

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"fmqm/internal/cbor"
	"fmqm/internal/store"
	"fmqm/message"
	"fmqm/processtable"
)

// A peer that lost its store, or got an older copy back, is sent again what the audit
// queue can build (S4). How far that has come is a record of its own, written in the
// transactions that put the messages: who is killed in the middle goes on behind the
// last message that is in the transmission queue, and not before it.

// Stage is how far the rebuilding of a peer has come. The numbers are part of the format.
type Stage uint8

const (
	StageDecided Stage = 1 // an operator has decided; what the peer still has is not known
	StageSending Stage = 2 // the messages are put, instance by instance
	StageDone    Stage = 3
)

// Rebuild is how far the rebuilding of one peer has come.
type Rebuild struct {
	Peer        processtable.NodeID
	Incarnation Incarnation // the peer's new store
	Stage       Stage
	Restored    bool          // the peer had an older copy, which has what is not above Floor
	Floor       [lanes]uint64 // numbers that the older copy had accepted; 0: not known
	// Highest is the last number of each lane when the rebuilding was done: a copy that has
	// accepted fewer lacks some of what was sent again.
	Highest [lanes]uint64
	// After is the last instance that was looked at, or, with Part over 0, the one of which
	// so many messages are put already.
	After     message.InstanceID
	Part      uint64
	Messages  uint64 // put so far
	Instances uint64 // of these
	By        string // who has decided it, as "alice at B"; not known of what an older version wrote
}

func rebuildKey(peer processtable.NodeID) []byte {
	return appendName(appendName([]byte{classMeta}, "rebuild"), string(peer))
}

// rebuild adds the record of how far a rebuilding has come with the transaction.
func (b *builder) rebuild(r *Rebuild) {
	if r == nil {
		return
	}
	if !processtable.ValidNode(string(r.Peer)) {
		b.fail(fmt.Errorf("rebuild of %.80q: this cannot be the name of a node", r.Peer))
		return
	}
	w := cbor.BeginMap(nil)
	w.Bytes(0, r.Incarnation[:])
	w.Uint(1, uint64(r.Stage))
	w.Bool(2, r.Restored)
	w.Uint(3, r.Floor[0])
	w.Uint(4, r.Floor[1])
	w.Uint(5, r.Highest[0])
	w.Uint(6, r.Highest[1])
	w.Bytes(7, r.After[:])
	w.Uint(8, r.Part)
	w.Uint(9, r.Messages)
	w.Uint(10, r.Instances)
	w.Text(11, r.By)
	key := rebuildKey(r.Peer)
	b.op(key, newRecord(key, w.B...))
}

// Rebuilding says how far the rebuilding of peer has come; false: there was none.
func (m *Manager) Rebuilding(peer processtable.NodeID) (Rebuild, bool, error) {
	key := rebuildKey(peer)
	value, err := m.engine.Get(key)
	if errors.Is(err, store.ErrNotFound) {
		return Rebuild{}, false, nil
	}
	if err != nil {
		return Rebuild{}, false, fmt.Errorf("read the rebuild of %s: %w", peer, err)
	}
	r, err := readRebuild(key, value)
	return r, err == nil, err
}

// Rebuilds gives the rebuilding of every peer, also what is done.
func (m *Manager) Rebuilds() ([]Rebuild, error) {
	var all []Rebuild
	prefix := appendName([]byte{classMeta}, "rebuild")
	err := m.scan(store.ScanOptions{Prefix: prefix}, func(key, value []byte) error {
		r, err := readRebuild(key, value)
		all = append(all, r)
		return err
	})
	return all, err
}

func readRebuild(key, value []byte) (r Rebuild, err error) {
	content, err := openRecord(key, value)
	if err != nil {
		return r, err
	}
	k := keyReader{rest: key[1:]}
	_ = k.name()
	r.Peer = processtable.NodeID(k.name())
	if k.end() != nil {
		return r, damaged(key, errKey.Error())
	}
	const limit = 1<<64 - 1
	in := cbor.NewReader(bytes.Clone(content))
	for f := in.Map(); f.Next(); {
		switch f.Key {
		case 0:
			f.Fixed(r.Incarnation[:])
		case 1:
			r.Stage = Stage(f.Uint(uint64(StageDone)))
		case 2:
			r.Restored = f.Bool()
		case 3, 4:
			r.Floor[f.Key-3] = f.Uint(limit)
		case 5, 6:
			r.Highest[f.Key-5] = f.Uint(limit)
		case 7:
			f.Fixed(r.After[:])
		case 8:
			r.Part = f.Uint(limit)
		case 9:
			r.Messages = f.Uint(limit)
		case 10:
			r.Instances = f.Uint(limit)
		case 11:
			r.By = f.Text(message.MaxBy)
		default:
			f.Unknown()
		}
	}
	if err := in.End(); err != nil {
		return r, fmt.Errorf("%w: %w", damaged(key, "this program cannot read it"), err)
	}
	return r, nil
}

// AuditInstances gives up to limit instances of which the audit queue has something, or
// had until retention removed it, by their identifiers, from behind after on.
func (m *Manager) AuditInstances(after message.InstanceID, limit int) ([]message.InstanceID, error) {
	return m.instancesOf([]byte{classInstance, classEnd, classHistory, classRemoved}, after, limit)
}

func (m *Manager) instancesOf(classes []byte, after message.InstanceID, limit int) ([]message.InstanceID, error) {
	var found []message.InstanceID
	for _, class := range classes {
		o := store.ScanOptions{Prefix: []byte{class}, From: store.After(append([]byte{class}, after[:]...)), KeysOnly: true}
		if after == (message.InstanceID{}) {
			o.From = nil
		}
		own := 0
		var last message.InstanceID
		err := m.scan(o, func(key, _ []byte) error {
			id, err := instanceOf(key)
			if err != nil {
				return err
			}
			if own > 0 && id == last {
				return nil
			}
			if own == limit {
				return errEnough
			}
			own++
			last = id
			found = append(found, id)
			return nil
		})
		if err != nil && !errors.Is(err, errEnough) {
			return nil, fmt.Errorf("read the instances of the audit queue: %w", err)
		}
	}
	slices.SortFunc(found, func(a, b message.InstanceID) int { return bytes.Compare(a[:], b[:]) })
	found = slices.Compact(found)
	return found[:min(len(found), limit)], nil
}
