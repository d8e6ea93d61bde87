package record

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"time"

	"fmqm/internal/cbor"
	"fmqm/message"
	"fmqm/processtable"
)

// MaxWhy is how long the reason of a WriteOff is at most, in bytes.
const MaxWhy = 1024

// WriteOff says that the table of a retired version goes here without a node that is gone for ever: as if it had given its
// final word, and needed the table for nothing (N31). An operator of this site has said so; other sites are not told.
type WriteOff struct {
	Process processtable.ProcessID
	Node    processtable.NodeID
	Store   Incarnation // that the node had then, as far as known here
	By      string      // at most message.MaxBy bytes
	Why     string      // at most MaxWhy bytes
	Time    time.Time   // for people (invariant 14)
	Undo    bool        // of a change: the node is not written off any more, and the record goes
}

// WriteOffKey is that of a node that is written off.
func WriteOffKey(p processtable.ProcessID, node processtable.NodeID) []byte {
	key := binary.BigEndian.AppendUint32(AppendName(WriteOffKeys(), p.Name), uint32(p.Version))
	return AppendName(key, string(node))
}

// WriteOffKeys is what the keys of all of them begin with.
func WriteOffKeys() []byte { return AppendName([]byte{ClassMeta}, "without") }

// WriteOffRecord gives the record of a node that is written off, or with Undo no value: it goes.
func WriteOffRecord(o *WriteOff) (key, value []byte) {
	key = WriteOffKey(o.Process, o.Node)
	if o.Undo {
		return key, nil
	}
	w := cbor.BeginMap(nil)
	w.Bytes(0, o.Store[:])
	w.Text(1, o.By)
	w.Text(2, o.Why)
	w.Time(3, o.Time)
	return key, New(key, w.B...)
}

// ReadWriteOff reads it.
func ReadWriteOff(key, value []byte) (o WriteOff, err error) {
	content, err := Open(key, value)
	if err != nil {
		return o, err
	}
	k := KeyReader{Rest: key[1:]}
	_ = k.Name()
	o.Process.Name = k.Name()
	o.Process.Version = int(k.Uint32())
	o.Node = processtable.NodeID(k.Name())
	if k.End() != nil {
		return o, Damaged(key, ErrKey.Error())
	}
	in := cbor.NewReader(bytes.Clone(content))
	for f := in.Map(); f.Next(); {
		switch f.Key {
		case 0:
			f.Fixed(o.Store[:])
		case 1:
			o.By = f.Text(message.MaxBy)
		case 2:
			o.Why = f.Text(MaxWhy)
		case 3:
			o.Time = f.Time()
		default:
			f.Unknown()
		}
	}
	if err := in.End(); err != nil {
		return o, fmt.Errorf("%w: %w", Damaged(key, "this program cannot read it"), err)
	}
	return o, nil
}
