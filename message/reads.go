package message

import (
	"fmt"
	"math"

	"fmqm/internal/cbor"
	"fmqm/processtable"
)

// Range is a range of format versions, both ends included.
type Range struct{ Min, Max uint8 }

func (r Range) String() string { return fmt.Sprintf("%d to %d", r.Min, r.Max) }

// Has says whether a version is in the range.
func (r Range) Has(v uint32) bool { return uint32(r.Min) <= v && v <= uint32(r.Max) }

// OrFirst: who says nothing of a format reads its first version.
func (r Range) OrFirst() Range {
	if r == (Range{}) {
		return Range{1, 1}
	}
	return r
}

// MaxKinds is how many kinds of messages there can be.
const MaxKinds = 32

// Bodies has the newest version of each kind's body, by kind; 0: the kind is not known.
type Bodies [MaxKinds]uint8

// Reads is what a node reads of messages and tables (L6, N17).
type Reads struct {
	Message, Table Range
	Bodies         Bodies
}

// Current gives what this program reads.
func Current() Reads {
	return Reads{
		Message: Range{1, FormatVersion},
		Table:   Range{1, processtable.NodeFormat},
		Bodies:  bodies,
	}
}

var bodies = Bodies{
	KindConnector: 1, KindRecord: recordVersion, KindSnapshot: snapshotVersion, KindNotice: noticeVersion, KindMarker: markerVersion, KindTable: 1,
	KindWord: wordVersion, KindAnswer: 1, KindBegin: beginVersion, KindReturn: returnVersion, KindCancel: 1, KindStart: startVersion, KindChunk: 1,
	KindEvent: 1, KindWait: 1, KindPast: 1, KindOver: 1, KindCurrent: 1, KindMark: 1, KindOffer: 1, KindRecall: 1, KindRecalled: 1,
}

// Before gives what the version reads that was the last not to say it of bodies. It never
// changes: what a peer of that version, or one that was never heard, is taken to read.
func Before() Reads {
	return Reads{
		Message: Range{1, 1},
		Table:   Range{1, 3},
		Bodies:  Bodies{KindConnector: 1, KindRecord: 1, KindSnapshot: 2, KindNotice: 1, KindMarker: 2, KindTable: 1},
	}
}

// Needs is what a node has to read for one message. What is 0 is not needed.
type Needs struct {
	Format uint8 // of the message
	Kind   Kind
	Body   uint8 // version of its body
	Table  uint8 // format of the process table that it brings
}

// NeedsOf says what a node has to read for m.
func NeedsOf(m *Message) Needs { return needsOf(uint64(m.Format()), m.Kind, m.Body) }

func needsOf(format uint64, k Kind, body []byte) Needs {
	n := Needs{Format: uint8(min(format, 255)), Kind: k, Body: 1}
	switch k {
	case KindConnector:
	case KindTable, KindCurrent:
		n.Table = uint8(min(processtable.ReaderOf(body), 255))
	default:
		n.Body = bodyVersion(body)
	}
	return n
}

// NeedsOfEncoded is NeedsOf of an encoded message, which may end anywhere behind the first bytes of
// the body, so that the first part of a large one will do. What it does not show is not needed; what
// a version of the message format has behind its number is only known of versions that this program
// reads.
func NeedsOfEncoded(data []byte) Needs {
	r := cbor.NewReader(data)
	r.Array(3)
	format := r.Uint(math.MaxUint32)
	if format > FormatVersion {
		return Needs{Format: uint8(min(format, 255))}
	}
	r = cbor.NewReader(data)
	h := decodeHeader(&r)
	if r.Err() != nil {
		return Needs{Format: uint8(format)}
	}
	return needsOf(format, h.Kind, behindHead(data[r.Offset():]))
}

// behindHead gives what stands behind the head of a byte string.
func behindHead(data []byte) []byte {
	if len(data) == 0 {
		return nil
	}
	head := 1
	if low := data[0] & 0x1f; low >= 24 && low <= 27 {
		head += 1 << (low - 24)
	}
	return data[min(head, len(data)):]
}

// bodyVersion is the version that a body begins with; 1 where it has none.
func bodyVersion(body []byte) uint8 {
	r := cbor.NewReader(body)
	if r.Array(2) != 2 || r.Err() != nil {
		return 1
	}
	v := r.Uint(1<<32 - 1)
	if r.Err() != nil {
		return 1
	}
	return uint8(min(v, 255))
}

// Lacks says what of n a node that reads r cannot read, for people; empty: it reads all.
func (r *Reads) Lacks(n Needs) string {
	switch {
	case n.Format != 0 && !r.Message.Has(uint32(n.Format)):
		return fmt.Sprintf("message format %d, and it reads %s", n.Format, r.Message)
	case n.Table != 0 && !r.Table.Has(uint32(n.Table)):
		return fmt.Sprintf("table format %d, and it reads %s", n.Table, r.Table)
	case n.Kind >= MaxKinds || n.Kind != 0 && r.Bodies[n.Kind] == 0:
		return fmt.Sprintf("a kind of message (%d) that it does not know", n.Kind)
	case n.Kind != 0 && n.Body > r.Bodies[n.Kind]:
		return fmt.Sprintf("version %d of a kind of message (%d), and it reads up to %d", n.Body, n.Kind, r.Bodies[n.Kind])
	}
	return ""
}

// Has says whether a node that reads r reads what n needs.
func (r *Reads) Has(n Needs) bool { return r.Lacks(n) == "" }
