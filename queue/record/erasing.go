package record

import (
	"bytes"
	"fmt"
	"time"

	"fmqm/container"
	"fmqm/internal/cbor"
	"fmqm/message"
	"fmqm/processtable"
)

// Erasing is how far a node has come with overwriting the data of an instance. It is there from when the node was asked
// until nothing of what was overwritten is in its files any more: so who is killed in between goes on.
type Erasing struct {
	Instance message.InstanceID
	Process  processtable.ProcessID
	Origin   processtable.NodeID // where the instance was started, as what is here says
	Members  container.Members
	By       string // who wants it, as "alice at B"
	Reason   string
	Asked    time.Time
	Records  uint64 // audit records that were overwritten so far
	// Over: all are; what was in their place may still be in files of the store.
	Over bool
	// Gone: it is done, and nothing of it is kept but a line of history.
	Gone bool
}

// ErasingKey is that of how far the erasing of an instance has come.
func ErasingKey(i message.InstanceID) []byte { return append(ErasingKeys(), i[:]...) }

// ErasingKeys is what the keys of all of them begin with.
func ErasingKeys() []byte { return AppendName([]byte{ClassMeta}, "erase") }

// ErasingRecord gives the record of how far an erasing has come; nil where it is Gone.
func ErasingRecord(e *Erasing) (key, value []byte) {
	key = ErasingKey(e.Instance)
	if e.Gone {
		return key, nil
	}
	w := cbor.BeginMap(nil)
	w.Text(0, e.Process.Name)
	w.Uint(1, uint64(e.Process.Version))
	w.Text(2, string(e.Origin))
	appendMembers(&w, 3, &e.Members)
	w.Text(4, e.By)
	w.Text(5, CutReason(e.Reason))
	w.Time(6, e.Asked)
	w.Uint(7, e.Records)
	w.Bool(8, e.Over)
	return key, New(key, w.B...)
}

// ReadErasing reads it.
func ReadErasing(key, value []byte) (e Erasing, err error) {
	content, err := Open(key, value)
	if err != nil {
		return e, err
	}
	prefix := len(ErasingKeys())
	if len(key) != prefix+len(e.Instance) {
		return e, Damaged(key, ErrKey.Error())
	}
	e.Instance = message.InstanceID(key[prefix:])
	const limit = 1<<64 - 1
	in := cbor.NewReader(bytes.Clone(content))
	for f := in.Map(); f.Next(); {
		switch f.Key {
		case 0:
			e.Process.Name = f.Text(processtable.MaxName)
		case 1:
			e.Process.Version = int(f.Uint(processtable.MaxVersion))
		case 2:
			e.Origin = processtable.NodeID(f.Text(processtable.MaxName))
		case 3:
			e.Members = readMembers(&f)
		case 4:
			e.By = f.Text(message.MaxBy)
		case 5:
			e.Reason = f.Text(MaxReason)
		case 6:
			e.Asked = f.Time()
		case 7:
			e.Records = f.Uint(limit)
		case 8:
			e.Over = f.Bool()
		default:
			f.Unknown()
		}
	}
	if err := in.End(); err != nil {
		return e, fmt.Errorf("%w: %w", Damaged(key, "this program cannot read it"), err)
	}
	return e, nil
}

// appendMembers appends the paths of members; an empty array: all data.
func appendMembers(w *cbor.Map, key byte, m *container.Members) {
	w.Key(key)
	w.B = cbor.AppendArray(w.B, len(m.Paths))
	for _, path := range m.Paths {
		w.B = cbor.AppendText(w.B, path)
	}
}

func readMembers(f *cbor.Fields) (m container.Members) {
	for range f.Items(container.MaxMembers) {
		m.Paths = append(m.Paths, f.Text(container.MaxMemberPath))
	}
	m.All = len(m.Paths) == 0
	return m
}

// Erased is what a record says of data that was taken out of it, or, of EventErased, out of others.
type Erased struct {
	Time time.Time
	// Input is, of EventStarted, the sum of the input that the instance was started with: a repeat of the start
	// is told by it (N2).
	Input InputSum
	// Members and Records are of EventErased: what was overwritten, in how many records of this node.
	Members container.Members
	Records uint64
}

func appendErased(b []byte, e *Erased) []byte {
	w := cbor.BeginMap(b)
	w.Time(0, e.Time)
	if e.Input != (InputSum{}) {
		w.Bytes(1, e.Input[:])
	}
	if e.Members.All || len(e.Members.Paths) > 0 {
		appendMembers(&w, 2, &e.Members)
		w.Uint(3, e.Records)
	}
	return w.B
}

func readErased(r *cbor.Reader) *Erased {
	e := &Erased{}
	for f := r.Map(); f.Next(); {
		switch f.Key {
		case 0:
			e.Time = f.Time()
		case 1:
			f.Fixed(e.Input[:])
		case 2:
			e.Members = readMembers(&f)
		case 3:
			e.Records = f.Uint(1<<64 - 1)
		default:
			f.Unknown()
		}
	}
	return e
}

// InputSum is, of EventStarted, the sum of the input that the instance was started with, also where that was
// overwritten since.
func (a *AuditRecord) InputSum() InputSum {
	if a.Erased != nil && a.Erased.Input != (InputSum{}) {
		return a.Erased.Input
	}
	return SumInput(a.Output)
}

// Rewrite is an audit record that takes the place of one of the same instance, activity and event: of which data were
// overwritten. The numbers that its messages got in links stay.
type Rewrite struct {
	Key    []byte
	Before BodyRef // what the one before has staged; count 0: nothing
	// Unfound are, of a start, the values by which the instance is not found any more.
	Unfound []Searched
	Record  AuditRecord
}
