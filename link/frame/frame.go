package frame

import (
	"errors"
	"fmt"

	"fmqm/internal/text"
	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue/record"
)

// Limits of frames, in bytes. A transport refuses what is larger than MaxFrame.
const (
	MaxFrame  = 4 << 20
	MaxHello  = 16 << 10 // the first frame on a connection, before anybody is known
	MaxItem   = 2 << 20  // the payload of one item
	MaxBody   = 3 << 20  // the body of a query or of a reply
	MaxReason = 2 << 10  // a text for people; a longer one is cut
	MaxItems  = 1 << 14  // items in a frame
	maxKind   = 64
	maxBodies = 256 // kinds of messages that a hello speaks of
)

// Type says what a frame is. The numbers are part of the format.
type Type uint8

const (
	TypeHello Type = 1 // who calls, and where its lanes stand
	TypeData  Type = 2 // items of one lane
	TypeAck   Type = 3 // nothing but what every frame carries
	TypeGap   Type = 4 // ask again from a number
	TypeQuery Type = 5 // a question of the node, not persistent
	TypeReply Type = 6
	TypeStop  Type = 7 // the sender refuses to go on
)

// Receipt is how far one lane has been received. It stands in every frame.
type Receipt struct {
	record.Position        // on disk
	Received        uint64 // held in memory, on the way to the disk; at least Number
}

// Frame is what links exchange. The fields that every frame has come first; exactly
// the one body that its Type names is set, and TypeAck has none.
type Frame struct {
	Version uint8
	Type    Type
	From    uint64 // session of the sender: a random number for each link that a daemon makes
	To      uint64 // session of the receiver as the sender knows it; 0: not known yet
	Seq     uint64 // counts the sender's frames, so that an older one is seen to be older
	// Challenge asks for a frame with the same number as Answer: what is answered was
	// sent after the question, by a daemon that is alive. 0: none.
	Challenge uint64
	Answer    uint64
	Receipts  [record.Lanes]Receipt

	Hello *Hello
	Data  *Data
	Gap   *Gap
	Query *Query
	Reply *Reply
	Stop  *Stop
}

// Hello says who calls, and which site it calls.
type Hello struct {
	Node        processtable.NodeID // who speaks
	Expected    processtable.NodeID // whom it wants to speak to
	Incarnation record.Incarnation  // of the speaker's store
	Known       record.Incarnation  // of the peer's store, as the speaker knows it; zero: never met
	MinVersion  uint8               // of the frame formats that the speaker reads (L6)
	MaxVersion  uint8
	Low         [record.Lanes]uint64 // the number before the lowest one that the speaker still keeps

	// From version 2 on. Zero ranges: the speaker reads version 1 of messages and tables.
	Messages message.Range                 // of the message formats that the speaker reads
	Tables   message.Range                 // of the table formats
	Begin    [record.Lanes]record.Position // before the first item that is for the peer's present store (L1)

	// From version 3 on. All zero: as the version before, which did not say it (message.Before).
	Bodies message.Bodies // the newest version of each kind's body that the speaker reads
}

// Data carries items First, First+1, ... of a lane.
type Data struct {
	Lane     message.Lane
	First    uint64
	Prev     record.Hash // before First
	End      record.Hash // after the last item
	Payloads [][]byte
}

// Gap asks for a lane's items again from a number on.
type Gap struct {
	Lane message.Lane
	From uint64
}

// Query is a question; its answer has the same ID.
type Query struct {
	ID      uint64
	Kind    string
	Body    []byte
	Timeout uint32 // how long the asker waits, in milliseconds
}

// Reply answers a Query; Error is empty if it could be answered.
type Reply struct {
	ID    uint64
	Body  []byte
	Error string
}

// Stop ends a conversation.
type Stop struct {
	Code   StopCode
	Node   processtable.NodeID // who speaks
	Reason string
	Final  bool // false: it may be tried again later
}

// StopCode says why a conversation was refused. The numbers are part of the format.
type StopCode uint8

const (
	StopBelowLowest    StopCode = 1  // one side needs what the other has let go
	StopAboveLast      StopCode = 2  // one side has what the other never sent
	StopOtherHash      StopCode = 3  // same number, other messages
	StopNewIncarnation StopCode = 4  // another store under a known name
	StopWrongNode      StopCode = 5  // another site answers than the one that was called
	StopTwoDaemons     StopCode = 6  // two daemons run under one name
	StopVersion        StopCode = 7  // no common frame format; not final
	StopUnknownPeer    StopCode = 8  // the caller is not among the peers; not final
	StopCannotGoOn     StopCode = 9  // a frame that makes no sense, or a store that fails; not final
	StopByPeer         StopCode = 10 // the peer stopped the link
)

// Errors of Decode, wrapped.
var (
	// ErrDamaged: the checksum does not match. Such a frame is as good as lost (L5).
	ErrDamaged = errors.New("frame is damaged")
	// ErrMalformed: the frame came as it was sent, and is not one that this version can read.
	ErrMalformed = errors.New("malformed frame")
)

// body gives the one body that the type wants, for checks, and how many are set.
func (f *Frame) body() (wanted bool, set int) {
	bodies := [...]bool{
		TypeHello: f.Hello != nil,
		TypeData:  f.Data != nil,
		TypeAck:   true,
		TypeGap:   f.Gap != nil,
		TypeQuery: f.Query != nil,
		TypeReply: f.Reply != nil,
		TypeStop:  f.Stop != nil,
	}
	for t, b := range bodies {
		if b && Type(t) != TypeAck {
			set++
		}
	}
	return int(f.Type) < len(bodies) && bodies[f.Type], set
}

// Check holds what both Encode and Decode insist on.
func (f *Frame) Check() error {
	if f.From == 0 {
		return errors.New("session 0: a sender's session is never 0")
	}
	wanted, set := f.body()
	switch {
	case f.Type == 0 || f.Type > TypeStop:
		return fmt.Errorf("frame type %d: expected %d to %d", f.Type, TypeHello, TypeStop)
	case f.Type == TypeAck && set != 0:
		return errors.New("an acknowledgement with a body")
	case !wanted:
		return fmt.Errorf("a frame of type %d without its body", f.Type)
	case set > 1:
		return fmt.Errorf("a frame of type %d with %d bodies", f.Type, set)
	}
	for lane, r := range f.Receipts {
		if r.Received < r.Number {
			return fmt.Errorf("lane %d: received up to %d is less than accepted up to %d", lane, r.Received, r.Number)
		}
	}
	return f.checkBody()
}

func (f *Frame) checkBody() error {
	switch f.Type {
	case TypeHello:
		return f.Hello.check()
	case TypeData:
		return f.Data.check()
	case TypeGap:
		if f.Gap.From == 0 {
			return errors.New("a gap from 0: items count from 1")
		}
		return checkLane(f.Gap.Lane)
	case TypeQuery:
		if f.Query.Kind == "" || len(f.Query.Kind) > maxKind {
			return fmt.Errorf("query kind of %d bytes: expected 1 to %d", len(f.Query.Kind), maxKind)
		}
		return CheckSize("query body", len(f.Query.Body), MaxBody)
	case TypeReply:
		if err := CheckSize("reply error", len(f.Reply.Error), MaxReason); err != nil {
			return err
		}
		return CheckSize("reply body", len(f.Reply.Body), MaxBody)
	case TypeStop:
		if f.Stop.Code == 0 {
			return errors.New("a stop without its code")
		}
		return CheckSize("stop reason", len(f.Stop.Reason), MaxReason)
	case TypeAck:
	}
	return nil
}

func (h *Hello) check() error {
	switch {
	case !processtable.ValidNode(string(h.Node)):
		return fmt.Errorf("node name %.80q is not one", string(h.Node))
	case !processtable.ValidNode(string(h.Expected)):
		return fmt.Errorf("expected node name %.80q is not one", string(h.Expected))
	case h.Incarnation == record.Incarnation{}:
		return errors.New("incarnation 0: a store's incarnation is never 0")
	case h.MinVersion == 0 || h.MinVersion > h.MaxVersion:
		return fmt.Errorf("format versions %d to %d: not a range", h.MinVersion, h.MaxVersion)
	}
	for _, r := range []message.Range{h.Messages, h.Tables} {
		if r != (message.Range{}) && (r.Min == 0 || r.Min > r.Max) {
			return fmt.Errorf("format versions %s of messages or tables: not a range", r)
		}
	}
	for l := range h.Begin {
		if h.Begin[l].Number > h.Low[l] {
			return fmt.Errorf("lane %d: it begins at %d, and is kept from %d on", l, h.Begin[l].Number, h.Low[l])
		}
	}
	return nil
}

func (d *Data) check() error {
	if err := checkLane(d.Lane); err != nil {
		return err
	}
	if d.First == 0 || d.First+uint64(len(d.Payloads)) < d.First {
		return fmt.Errorf("items from number %d: items count from 1 and end before 2^64", d.First)
	}
	if len(d.Payloads) == 0 || len(d.Payloads) > MaxItems {
		return fmt.Errorf("%d items in a frame: expected 1 to %d", len(d.Payloads), MaxItems)
	}
	for i, p := range d.Payloads {
		if len(p) > MaxItem {
			return fmt.Errorf("item %d of %d bytes: at most %d", d.First+uint64(i), len(p), MaxItem)
		}
	}
	return nil
}

func checkLane(l message.Lane) error {
	if l >= record.Lanes {
		return fmt.Errorf("lane %d: expected 0 to %d", l, record.Lanes-1)
	}
	return nil
}

// CheckSize refuses what has more bytes than its limit.
func CheckSize(what string, n, limit int) error {
	if n > limit {
		return fmt.Errorf("%s of %d bytes: at most %d", what, n, limit)
	}
	return nil
}

// Cut shortens a text to what a frame carries.
func Cut(s string) string { return text.Cut(s, MaxReason) }
