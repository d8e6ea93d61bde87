package message

import (
	"cmp"
	"time"

	"github.com/google/uuid"

	"fmqm/processtable"
)

// FormatVersion is the newest version of the message format that this code reads. Each message
// is written in the lowest that can say it: see Header.Format.
const FormatVersion = 5

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

// Row is the activity's row in its process's tables.
func (e *Entry) Row() processtable.RowID {
	return e.Scope.Row(e.Activity)
}

// Path is how people name the activity, as Scope.Path does.
func (e *Entry) Path() string { return e.Scope.Path(e.Activity) }

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
	// KindNotice tells sink, or the bundle around, that an activity went in error, or left it (N4, N21). Body: Notice.
	KindNotice Kind = 4
	// KindMarker ends an instance at a node: an operator terminated it (N7). Body: Marker.
	KindMarker Kind = 5
	// KindTable brings a process table from the definition node. Body: an encoded table.
	KindTable Kind = 6
	// KindDue lies in an entry once the time of a timer of it has come (N13). It never leaves its
	// node. Source is the timer's name, and Number its time, as DueNumber gives it; there is no body.
	KindDue Kind = 7
	// KindWord is what an operator wants of an activity (N15). It lies in the activity's entry
	// until it is answered, and makes none. Body: Word.
	KindWord Kind = 8
	// KindAnswer tells the node that was asked what has come of a word (N15). Body: Answer.
	KindAnswer Kind = 9
	// KindBegin is a composite's, for the source of what it begins (N12, N18), or, of a bundle and a call, for the
	// row of its name (N20, N21): the message's scope is the composite's, with a frame for what was begun. Body: Begin.
	KindBegin Kind = 10
	// KindReturn is what a composite has begun, for the composite (N12): its source is the sink of
	// that, or the source where that has failed, in the scope that was begun. Of a subprocess it is the
	// child's sink, as in the activity's own scope, with the child's number (N19). Of a bundle and a call it is
	// the row of its name, in the scope that was begun; of a call with a number that says the node (Work). Body: Return.
	KindReturn Kind = 11
	// KindCancel ends an activity that has not ended (N25): its source is the composite around it, in
	// whose scope that is, or another activity of its scope. Body: Cancel.
	KindCancel Kind = 12
	// KindStart begins an instance whose parent is an activity of the same node (N19): it lies in the
	// entry of its source, and never leaves the node. Body: Start.
	KindStart Kind = 13
	// KindChunk has outcomes of a bundle, which lie in its entry in place of what had returned (N21). It is
	// the entry's own, and written once. Body: Chunk.
	KindChunk Kind = 14
	// KindEvent is an event (N24): on its way to an event queue and in it, or in the entry of the receive
	// that takes it. Source is its token. Body: Event.
	KindEvent Kind = 16
	// KindWait lies in an event queue while a receive of the node waits for an event, and never leaves it.
	// Source is its token. Body: Wait.
	KindWait Kind = 17
	// KindPast lies in an event queue: an event that no receive takes any more, and never leaves it. Source is
	// the event's token. Body: Past.
	KindPast Kind = 18
	// KindOver takes something out of an event queue: a receive waits no more, or an operator drops an
	// event. It never leaves its node. Source is the token of that.
	KindOver Kind = 19
	// KindCurrent brings a process table that is current at once (N19), to a node that has it already
	// too. Who brings it proves with it that it may. Body: an encoded table.
	KindCurrent Kind = 20
	// KindMark suspends an instance, or an activity of it, at a node, or lifts suspends (N29). It lies there for
	// the instance, beside its marker. Number is that of its identifier. Body: Mark.
	KindMark Kind = 21
	// KindOffer tells a node that offers a manual activity beside its home how the item is now (N27): who has it, or that it is
	// offered again. It is for the row that a KindBegin of the home has begun there, and its source is the activity at home.
	// Number grows with each. Body: Offer.
	KindOffer Kind = 22
	// KindRecall is of the home of an activity that is to be restarted (N30), which is its source. For an activity to which a
	// connector of that leads it voids what came by it under a lower number than its own; or it asks for what that has sent once
	// more. Body: Recall.
	KindRecall Kind = 24
	// KindRecalled answers a recall, under its number; source is the activity that it was for. Body: Recalled.
	KindRecalled Kind = 25
)

// OfTable says whether it brings a process table.
func (k Kind) OfTable() bool { return k == KindTable || k == KindCurrent }

// OfInstance says whether it is the instance's, and of no activity: its marker, and its marks.
func (k Kind) OfInstance() bool { return k == KindMarker || k == KindMark }

// OfWord says whether it is of an operator's word, or of the answer to one (N15).
func (k Kind) OfWord() bool { return k == KindWord || k == KindAnswer }

var kindNames = [...]string{
	KindConnector: "connector", KindRecord: "record", KindSnapshot: "snapshot", KindNotice: "notice", KindMarker: "marker",
	KindTable: "table", KindDue: "due", KindWord: "word", KindAnswer: "answer",
	KindBegin: "begin", KindReturn: "return", KindCancel: "cancel",
	KindStart: "start", KindChunk: "chunk",
	KindEvent: "event", KindWait: "wait", KindPast: "past", KindOver: "over",
	KindCurrent: "current", KindMark: "mark", KindOffer: "offer",
	KindRecall: "recall", KindRecalled: "recalled",
}

// String is the word of the API and of dumps for a kind; empty: this code does not know it.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return ""
}

// Truth is the state of a control connector. The numbers are part of the format. In processes whose
// tables are of processtable.ModelFormat or later it says how the connector's activity has ended: False
// and True that it ran, and ended by itself.
type Truth uint8

const (
	Unresolved   Truth = 0 // or: this message has no control part
	False        Truth = 1
	True         Truth = 2
	FalseSkipped Truth = 3 // FALSE: it did not run, or was cancelled; from format 4 on, as the next two
	FalseFailed  Truth = 4 // FALSE: a deadline or an error has ended it
	TrueFailed   Truth = 5 // TRUE: a deadline or an error has ended it, and the connector is the path for that
)

// IsTrue says whether the connector is resolved and TRUE.
func (t Truth) IsTrue() bool { return t == True || t == TrueFailed }

// IsFalse says whether the connector is resolved and FALSE.
func (t Truth) IsFalse() bool { return t == False || t == FalseSkipped || t == FalseFailed }

// Failed is the same truth of an activity that a deadline or an error has ended.
func (t Truth) Failed() Truth {
	if t.IsTrue() {
		return TrueFailed
	}
	return FalseFailed
}

// String is the word of the API and of dumps; empty: unresolved.
func (t Truth) String() string {
	words := [...]string{"", "FALSE", "TRUE", "FALSE, skipped", "FALSE, failed", "TRUE, failed"}
	if int(t) < len(words) {
		return words[t]
	}
	return ""
}

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
	DataWords   Data = 3 // resolved; the body has the values of the engine's words only (N22, N23); from format 3 on
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
	// SourceScope, Source and Number are the sender's part of the message's identity (N11): the
	// scope that Source is in, which is Scope unless the message goes into a composite or comes
	// out of one; and a number where one source sends the entry more than one message of a kind.
	SourceScope Scope
	Source      processtable.ActivityID
	Number      uint64
	Kind        Kind
	Control     Truth
	Data        Data
	OnBehalf    processtable.NodeID // resolved on behalf of this host (N6); empty otherwise
	Onward      bool                // with OnBehalf: the target's own onward messages have been sent
	Lane        Lane
	Rank        Rank   // what the instance was given as its priority, as each message of its work says; from format 5 on
	Clock       uint64 // logical: highest seen by the sender's entry, plus one
	Trace       string // W3C traceparent, carried along
}

// Message is a header with the body's encoded form. Body is nil where the kind, or
// the header's Data, says that there is nothing to carry. A Message is immutable.
type Message struct {
	Header
	Body []byte
	// From is the peer that has brought it to this node; empty where that is not known, or it
	// was made here. It is no part of the encoded form.
	From processtable.NodeID
	// Arrival says when it came to its queue. It is no part of the encoded form.
	Arrival Arrival
}

// Arrival is the number of a message in a process queue, which the store gives it when it is put
// there (N11): the lower one was first, whatever was forgotten and read again since. It is zero
// before that, and of what was put before there were such numbers, which is earlier than all else.
type Arrival struct {
	Commit uint64
	Index  uint32
}

// Compare orders two arrivals: negative where a was first.
func (a Arrival) Compare(b Arrival) int {
	return cmp.Or(cmp.Compare(a.Commit, b.Commit), cmp.Compare(a.Index, b.Index))
}

// Format is the version of the message format that the message is written in. Version 2 has
// words, answers, timers that are due, numbers, and sources in another scope than the message's,
// version 3 data that is of words only, version 4 control connectors whose activity was skipped or has failed,
// version 5 the priority of an instance.
func (h *Header) Format() uint32 {
	if h.Rank != 0 {
		return 5
	}
	if h.Control > True {
		return 4
	}
	if h.Data == DataWords {
		return 3
	}
	if h.Kind == KindDue || h.Kind == KindWord || h.Kind == KindAnswer || h.Number != 0 || h.SourceScope != h.Scope {
		return 2
	}
	return 1
}

// Entry says which activity's the message is.
func (h *Header) Entry() Entry {
	return Entry{Instance: h.Instance, Scope: h.Scope, Activity: h.Activity}
}

// Key identifies a message within its entry (N11): it is the sender's, so a repeat has the key
// of the first one, and a thousand returns to one entry have a thousand.
type Key struct {
	Kind   Kind
	Source processtable.ActivityID
	Scope  Scope  `json:",omitempty"` // of Source
	Number uint64 `json:",omitempty"` // of the message, among those of the kind that Source sends the entry
}

// SourceRow is the row of the source in its process's tables.
func (h *Header) SourceRow() processtable.RowID {
	return h.SourceScope.Row(h.Source)
}

// Key identifies the message within its Entry.
func (h *Header) Key() Key {
	return Key{Kind: h.Kind, Source: h.Source, Scope: h.SourceScope, Number: h.Number}
}

// DueNumber is how the time of a timer is written: nanoseconds since 1970, and 0 for what lies before.
func DueNumber(due time.Time) uint64 { return uint64(max(0, due.UnixNano())) }

// DueKey is the key of the message that says that a timer of e has come.
func DueKey(e *Entry, name string, due time.Time) Key {
	return Key{Kind: KindDue, Source: processtable.ActivityID(name), Scope: e.Scope, Number: DueNumber(due)}
}

// Plain says that a message of e with the key is the only one of its kind from its source, which is in
// e's scope: the one form that there was before N11.
func (k *Key) Plain(e *Entry) bool { return k.Number == 0 && k.Scope == e.Scope }
