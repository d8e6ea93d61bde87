package record

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"time"

	"fmqm/internal/cbor"
	"fmqm/message"
	"fmqm/processtable"
)

// Removed is what stays of an instance whose audit retention has removed (S4): as much
// as refuses a repeat of its start (N2) and what arrives late for any of its activities
// (N7). There is one for each instance, and none for each activity: that nothing of the
// instance can still be under way here is known before anything is removed.
type Removed struct {
	Instance message.InstanceID
	Process  processtable.ProcessID
	Origin   processtable.NodeID
	Time     time.Time // of the removal, for people (invariant 14)
	Stopped  bool      // an operator ended it: what arrives late is absorbed
	// Start is not nil at the node where the instance was started.
	Start *RemovedStart
}

// RemovedStart is what stays at an instance's origin, beside the rest.
type RemovedStart struct {
	Definition processtable.ShortHash
	Input      InputSum
	Key        string
	Started    time.Time // for people, as Ended
	Ended      time.Time
}

// InputSum stands for an instance's input, encoded, where that is not kept.
type InputSum [16]byte

// SumInput gives the sum of an encoded input. It is part of the format.
func SumInput(encoded []byte) InputSum {
	sum := sha256.Sum256(encoded)
	return InputSum(sum[:len(InputSum{})])
}

// RemovedKey is that of what stays of an instance.
func RemovedKey(i message.InstanceID) []byte { return append([]byte{ClassRemoved}, i[:]...) }

// EncodeRemoved gives the sealed record of r.
func EncodeRemoved(r *Removed) []byte {
	w := cbor.BeginMap(nil)
	w.Text(0, r.Process.Name)
	w.Uint(1, uint64(r.Process.Version))
	w.Text(2, string(r.Origin))
	w.Time(3, r.Time)
	w.Bool(4, r.Stopped)
	if s := r.Start; s != nil {
		w.Bytes(5, s.Definition[:])
		w.Bytes(6, s.Input[:])
		w.Text(7, s.Key)
		w.Time(8, s.Started)
		w.Time(9, s.Ended)
	}
	return New(RemovedKey(r.Instance), w.B...)
}

// ReadRemoved reads what stays of an instance.
func ReadRemoved(key, value []byte) (r Removed, err error) {
	content, err := Open(key, value)
	if err != nil {
		return r, err
	}
	if len(key) != 1+len(r.Instance) {
		return r, Damaged(key, ErrKey.Error())
	}
	r.Instance = message.InstanceID(key[1:])
	in := cbor.NewReader(bytes.Clone(content))
	start := func() *RemovedStart {
		if r.Start == nil {
			r.Start = &RemovedStart{}
		}
		return r.Start
	}
	for f := in.Map(); f.Next(); {
		switch f.Key {
		case 0:
			r.Process.Name = f.Text(processtable.MaxName)
		case 1:
			r.Process.Version = int(f.Uint(processtable.MaxVersion))
		case 2:
			r.Origin = processtable.NodeID(f.Text(processtable.MaxName))
		case 3:
			r.Time = f.Time()
		case 4:
			r.Stopped = f.Bool()
		case 5:
			f.Fixed(start().Definition[:])
		case 6:
			f.Fixed(start().Input[:])
		case 7:
			start().Key = f.Text(MaxReason)
		case 8:
			start().Started = f.Time()
		case 9:
			start().Ended = f.Time()
		default:
			f.Unknown()
		}
	}
	if err := in.End(); err != nil {
		return r, fmt.Errorf("%w: %w", Damaged(key, "this program cannot read it"), err)
	}
	return r, nil
}

// Record stands for one of the records that were removed.
func (r *Removed) Record(a processtable.ActivityID, event Event, t time.Time) AuditRecord {
	if r.Stopped && event != EventStarted {
		event = EventStopped
	}
	return AuditRecord{Time: t, Process: r.Process, Instance: r.Instance, Origin: r.Origin, Activity: a, Event: event, Removed: r}
}

// Started stands for the record of the instance's start, at its origin.
func (r *Removed) Started() AuditRecord {
	a := r.Record(processtable.Source, EventStarted, r.Start.Started)
	a.Definition, a.Reason = r.Start.Definition, r.Start.Key
	return a
}

// Ended stands for the record of the instance's end, at its origin.
func (r *Removed) Ended() AuditRecord {
	a := r.Record(processtable.Sink, EventEnded, r.Start.Ended)
	a.Definition = r.Start.Definition
	return a
}
