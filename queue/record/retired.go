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

// Retirement is the last that was said of whether a version may begin anything new (N31). It is kept as it was said, so
// that other sites can judge it by themselves.
type Retirement struct {
	Process    processtable.ProcessID
	Definition processtable.DefinitionHash
	Number     uint64 // of what is said about a version, from 1: the higher one holds
	Undo       bool   // it may begin again
	By         string // who has said so, for people; at most message.MaxBy bytes
	Network    string // for which it is signed; empty: for none in particular
	Key        []byte // of the definer who has signed it; empty: nobody has
	Signature  []byte
	Time       time.Time // when it was noted here, for how long it can be taken back at least
}

// Limits of what a retirement carries, in bytes.
const (
	maxNetwork   = processtable.MaxName
	maxSignature = 128
)

// Follows says whether what is said holds against what was said before. Of two with one number the one that
// retires does, so that all sites agree whatever came first.
func (r *Retirement) Follows(before *Retirement) bool {
	return r.Number > before.Number || r.Number == before.Number && !r.Undo && before.Undo
}

// RetirementKey is that of whether a version is retired.
func RetirementKey(p processtable.ProcessID) []byte {
	return binary.BigEndian.AppendUint32(AppendName(RetirementKeys(), p.Name), uint32(p.Version))
}

// RetirementKeys is what the keys of all of them begin with.
func RetirementKeys() []byte { return AppendName([]byte{ClassMeta}, "retired") }

// RetirementRecord gives the record of whether a version is retired.
func RetirementRecord(r *Retirement) (key, value []byte) {
	w := cbor.BeginMap(nil)
	w.Bytes(0, r.Definition[:])
	w.Uint(1, r.Number)
	w.Bool(2, r.Undo)
	w.Text(3, r.By)
	w.Text(4, r.Network)
	if len(r.Key) > 0 {
		w.Bytes(5, r.Key)
		w.Bytes(6, r.Signature)
	}
	w.Time(7, r.Time)
	key = RetirementKey(r.Process)
	return key, New(key, w.B...)
}

// ReadRetirement reads it.
func ReadRetirement(key, value []byte) (r Retirement, err error) {
	content, err := Open(key, value)
	if err != nil {
		return r, err
	}
	k := KeyReader{Rest: key[1:]}
	_ = k.Name()
	r.Process.Name = k.Name()
	r.Process.Version = int(k.Uint32())
	if k.End() != nil {
		return r, Damaged(key, ErrKey.Error())
	}
	const limit = 1<<64 - 1
	in := cbor.NewReader(bytes.Clone(content))
	for f := in.Map(); f.Next(); {
		switch f.Key {
		case 0:
			f.Fixed(r.Definition[:])
		case 1:
			r.Number = f.Uint(limit)
		case 2:
			r.Undo = f.Bool()
		case 3:
			r.By = f.Text(message.MaxBy)
		case 4:
			r.Network = f.Text(maxNetwork)
		case 5:
			r.Key = f.Bytes(maxSignature)
		case 6:
			r.Signature = f.Bytes(maxSignature)
		case 7:
			r.Time = f.Time()
		default:
			f.Unknown()
		}
	}
	if err := in.End(); err != nil {
		return r, fmt.Errorf("%w: %w", Damaged(key, "this program cannot read it"), err)
	}
	return r, nil
}
