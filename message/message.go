package message

import (
	"github.com/google/uuid"

	"fmqm/processtable"
)

// FormatVersion is the version of the message format that this code writes.
const FormatVersion = 1

// InstanceID identifies a process instance: a UUIDv7 made where it is started, or
// a UUIDv8 derived from a start key (N2).
type InstanceID = uuid.UUID

// Queue names a process queue, name@version.node: the paper's Q_node,process.
type Queue struct {
	Process processtable.ProcessID
	Node    processtable.NodeID
}

// Entry identifies one activity of one instance: what an instance table entry, and
// a prefix of a process queue, are about.
type Entry struct {
	Instance InstanceID
	Scope    Scope
	Activity processtable.ActivityID
}

// Kind says what a message is. The numbers are part of the format.
type Kind uint8

const (
	// KindConnector resolves the connectors, control and data, from one activity to another.
	KindConnector Kind = 1
	// KindRecord is the instance's record, put into sink's queue by the start (N1). Body: Record.
	KindRecord Kind = 2
	// KindSnapshot is an activity's own memory: iteration, failed attempts, error (N4, N9).
	// There is at most one for an entry; each replaces the one before. Body: Snapshot.
	KindSnapshot Kind = 3
	// KindNotice tells sink that an activity went in error, or left it (N4). Body: Notice.
	KindNotice Kind = 4
	// KindMarker ends an instance at a node: an operator terminated it (N7). Body: Marker.
	KindMarker Kind = 5
	// KindTable brings a process table from the definition node. Body: an encoded table.
	KindTable Kind = 6
)

// Truth is the state of a control connector. The numbers are part of the format.
type Truth uint8

const (
	Unresolved Truth = 0 // or: this message has no control part
	False      Truth = 1
	True       Truth = 2
)

// TruthOf gives the resolved state for b.
func TruthOf(b bool) Truth {
	if b {
		return True
	}
	return False
}

// Data is the state of a data connector. The numbers are part of the format.
type Data uint8

const (
	DataNone    Data = 0 // unresolved, or: this message has no data part
	DataAbsent  Data = 1 // resolved without data: the source was skipped
	DataPresent Data = 2 // resolved; the body has the values
)

// Lane separates bulk from expedited messages on a link (L2).
type Lane uint8

const (
	LaneData    Lane = 0
	LaneControl Lane = 1
)

// MaxClock is the highest logical clock that a message from another site may have: more
// than the steps of any instance, and so far from the end of its 64 bits that whoever
// gives it leaves room for what follows.
const MaxClock = 1 << 40

// Next is the logical clock of what follows on something: one more, up to MaxClock.
func Next(clock uint64) uint64 {
	if clock >= MaxClock {
		return clock
	}
	return clock + 1
}

// Header is what every message carries.
type Header struct {
	Queue      Queue // the queue that it is for
	Definition processtable.ShortHash
	Instance   InstanceID
	Origin     processtable.NodeID // where the instance was started
	Scope      Scope
	Activity   processtable.ActivityID // the target
	Source     processtable.ActivityID
	Kind       Kind
	Control    Truth
	Data       Data
	OnBehalf   processtable.NodeID // resolved on behalf of this host (N6); empty otherwise
	Onward     bool                // with OnBehalf: the target's own onward messages have been sent
	Lane       Lane
	Clock      uint64 // logical: highest seen by the sender's entry, plus one
	Trace      string // W3C traceparent, carried along
}

// Message is a header with the body's encoded form. Body is nil where the kind, or
// the header's Data, says that there is nothing to carry. A Message is immutable.
type Message struct {
	Header
	Body []byte
	// From is the peer that has brought it to this node; empty where that is not known, or it
	// was made here. It is no part of the encoded form.
	From processtable.NodeID
}

// Entry says which activity's the message is.
func (h *Header) Entry() Entry {
	return Entry{Instance: h.Instance, Scope: h.Scope, Activity: h.Activity}
}

// Key identifies a message within its entry.
type Key struct {
	Kind   Kind
	Source processtable.ActivityID
}

// Key identifies the message within its Entry.
func (h *Header) Key() Key { return Key{Kind: h.Kind, Source: h.Source} }
