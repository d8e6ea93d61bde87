package record

import (
	"bytes"
	"fmt"

	"fmqm/internal/cbor"
	"fmqm/message"
	"fmqm/processtable"
)

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
	Floor       [Lanes]uint64 // numbers that the older copy had accepted; 0: not known
	// Highest is the last number of each lane when the rebuilding was done: a copy that has
	// accepted fewer lacks some of what was sent again.
	Highest [Lanes]uint64
	// After is the last instance that was looked at, or, with Part over 0, the one of which
	// so many messages are put already.
	After     message.InstanceID
	Part      uint64
	Messages  uint64 // put so far
	Instances uint64 // of these
	By        string // who has decided it, as "alice at B"; not known of what an older version wrote
}

// RebuildKey is that of how far the rebuilding of a peer has come.
func RebuildKey(peer processtable.NodeID) []byte {
	return AppendName(AppendName([]byte{ClassMeta}, "rebuild"), string(peer))
}

// RebuildRecord gives the record of how far a rebuilding has come.
func RebuildRecord(r *Rebuild) (key, value []byte) {
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
	key = RebuildKey(r.Peer)
	return key, New(key, w.B...)
}

// ReadRebuild reads it.
func ReadRebuild(key, value []byte) (r Rebuild, err error) {
	content, err := Open(key, value)
	if err != nil {
		return r, err
	}
	k := KeyReader{Rest: key[1:]}
	_ = k.Name()
	r.Peer = processtable.NodeID(k.Name())
	if k.End() != nil {
		return r, Damaged(key, ErrKey.Error())
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
		return r, fmt.Errorf("%w: %w", Damaged(key, "this program cannot read it"), err)
	}
	return r, nil
}
