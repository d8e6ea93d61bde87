package message

import (
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
	"strings"
	"time"

	"github.com/google/uuid"

	"fmqm/container"
	"fmqm/internal/cbor"
	"fmqm/processtable"
)

// Limits of an event.
const (
	MaxEventID = 256                  // bytes of an identifier that was given from outside
	MaxKeep    = processtable.MaxKeep // how long one may be kept
)

// Event is the body of a KindEvent message (N24): what was sent, by whom, and, at the node where it is
// kept, since when it is.
type Event struct {
	Name  processtable.EventID
	Key   string // at most processtable.MaxEventKey bytes; empty: it was sent without one
	Shape Shape  // of Data
	Data  []byte // CBOR container
	Sent  time.Time
	Keep  time.Duration // how long it is kept where it is sent to; 0: as that node says

	// Who sent it: an activity of an instance (Sender), or somebody at Node (ID, By). The two, with ID, are
	// its identity: see Token.
	Node   processtable.NodeID
	Sender *Parent // Node and Attempt mean nothing
	ID     string  // that was given from outside; not with Sender
	By     string  // who, as "alice at B"; not with Sender

	// What the node notes that keeps it; never between nodes.
	Since   time.Time // it is there
	Until   time.Time // then it is set aside
	Arrival Arrival   // of the first message, where the event was taken and put back: its place in the order
	Taker   *Round    // in a receive's entry: for which round of that it was taken
}

// Shape is the fingerprint of a structure (container.Fingerprint).
type Shape = [sha256.Size]byte

// Round is one time that a receive waits: an iteration, in a run.
type Round struct{ Iteration, Run int }

// Wait is the body of a KindWait message: a receive waits for an event. Its Taker is the receive.
type Wait struct {
	Name  processtable.EventID
	Key   string
	Taker Parent // Attempt means nothing
	Clock uint64 // of the receive
	Since time.Time
}

// Past is the body of a KindPast message: what is remembered of an event that no receive takes any more.
type Past struct {
	Event Event   // without Data where it was taken
	Taker *Parent // nil: it was not taken, but set aside since it was too old
	At    time.Time
	Until time.Time // it goes then; zero: never
}

// Token names an event within the entry where it is kept, and wherever it is spoken of: by who sent it, and
// its identifier. No two senders can have one, nor one sender for two executions.
func (e *Event) Token() processtable.ActivityID {
	if e.Sender != nil {
		return token('e', "fmqm event 1", append([]string{string(e.Node)}, e.Sender.names()...), e.Sender.Iteration, e.Sender.Run)
	}
	return token('o', "fmqm event from outside 1", []string{string(e.Node), e.ID})
}

// Token names the round of a receive, in each entry where it waits.
func (w *Wait) Token() processtable.ActivityID { return WaitToken(&w.Taker) }

// WaitToken is that of a Wait of the receive.
func WaitToken(taker *Parent) processtable.ActivityID {
	return token('w', "fmqm wait 1", taker.names(), taker.Iteration, taker.Run)
}

func (p *Parent) names() []string {
	return []string{p.Process.String(), p.Instance.String(), string(p.Scope), string(p.Activity)}
}

// base32Names has only what the name of an activity can have.
var base32Names = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// token is the name of an activity that is made of texts and numbers, and as good as never of others.
func token(first byte, of string, texts []string, numbers ...int) processtable.ActivityID {
	sum := sumOf(of, texts, numbers...)
	return processtable.ActivityID(string(first) + base32Names.EncodeToString(sum[:]))
}

func sumOf(of string, texts []string, numbers ...int) [sha256.Size]byte {
	h := sha256.New()
	h.Write([]byte(of))
	for _, s := range texts {
		h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(s))))
		h.Write([]byte(s))
	}
	for _, n := range numbers {
		h.Write(binary.BigEndian.AppendUint64(nil, uint64(n)))
	}
	return [sha256.Size]byte(h.Sum(nil))
}

// IsToken says whether a name is a Token: of an event, or of a wait.
func IsToken(name processtable.ActivityID) bool { return isEvent(name) || IsWaitToken(name) }

func isEvent(name processtable.ActivityID) bool {
	return len(name) == 53 && (name[0] == 'e' || name[0] == 'o')
}

// IsWaitToken says whether a name is the Token of a wait.
func IsWaitToken(name processtable.ActivityID) bool {
	return len(name) == 53 && strings.HasPrefix(string(name), "w")
}

// MeetingOf is the entry of an EventQueue where events of one name, shape and key meet receives.
func MeetingOf(name processtable.EventID, shape Shape, key string) Entry {
	sum := sumOf("fmqm meeting 1", []string{string(name), string(shape[:]), key})
	return Entry{Instance: unstartedID(sum[:]), Activity: processtable.EventMeets}
}

// PassageOf is under which identifier the audit of a node has that it passed an event on: of no instance, and of this event
// only.
func PassageOf(token processtable.ActivityID) InstanceID {
	sum := sumOf("fmqm passage 1", []string{string(token)})
	return unstartedID(sum[:])
}

// unstartedID makes an identifier that no instance has: it is of no time.
func unstartedID(sum []byte) InstanceID {
	id := InstanceID(sum[:16])
	id[6], id[8] = id[6]&0x0f|0x80, id[8]&0x3f|0x80 // UUIDv8
	return id
}

// ToMeeting is the header of a message to the entry of node where an event of e's kind meets receives.
func ToMeeting(node processtable.NodeID, meeting Entry, source processtable.ActivityID, kind Kind) Header {
	return Header{
		Queue: Queue{Process: processtable.EventQueue, Node: node}, Instance: meeting.Instance, Activity: meeting.Activity,
		Source: source, Kind: kind,
	}
}

// Message is the event on its way to the event queue of a node.
func (e *Event) Message(to processtable.NodeID) Message {
	return Message{Header: ToMeeting(to, MeetingOf(e.Name, e.Shape, e.Key), e.Token(), KindEvent), Body: EncodeEvent(*e)}
}

// OfEvents says whether the message is of an EventQueue.
func (h *Header) OfEvents() bool { return h.Queue.Process == processtable.EventQueue }

// EventRef names an event, in history and wherever one is spoken of.
type EventRef struct {
	Token processtable.ActivityID // empty where it is not known any more
	Name  processtable.EventID
	Key   string              `json:",omitempty"`
	Node  processtable.NodeID // that has sent it
	ID    string              `json:",omitempty"` // that was given from outside
}

// Ref names the event.
func (e *Event) Ref() EventRef {
	return EventRef{Token: e.Token(), Name: e.Name, Key: e.Key, Node: e.Node, ID: e.ID}
}

// AppendEventRef appends the encoded form, a map.
func AppendEventRef(b []byte, r *EventRef) []byte {
	w := cbor.BeginMap(b)
	w.Text(0, string(r.Token))
	w.Text(1, string(r.Name))
	w.Text(2, r.Key)
	w.Text(3, string(r.Node))
	w.Text(4, r.ID)
	return w.B
}

// ReadEventRef reads what AppendEventRef has written.
func ReadEventRef(r *cbor.Reader) (e EventRef) {
	const name = processtable.MaxName
	for f := r.Map(); f.Next(); {
		switch f.Key {
		case 0:
			e.Token = processtable.ActivityID(f.Text(name))
		case 1:
			e.Name = processtable.EventID(f.Text(name))
		case 2:
			e.Key = f.Text(processtable.MaxEventKey)
		case 3:
			e.Node = processtable.NodeID(f.Text(name))
		case 4:
			e.ID = f.Text(MaxEventID)
		default:
			f.Unknown()
		}
	}
	return e
}

// EventNamed is an event of which only the name is known; nil: none.
func EventNamed(name string) *EventRef {
	if name == "" {
		return nil
	}
	return &EventRef{Name: processtable.EventID(name)}
}

// Back is the event on its way back to its place in the queue of its node, of a receive that has not taken it.
func (e *Event) Back(node processtable.NodeID) Message {
	back := *e
	back.Taker = nil
	return back.Message(node)
}

// Keys of an event's body.
const (
	eventName = iota
	eventKey
	eventShape
	eventData
	eventSent
	eventKeep
	eventNode
	eventSender
	eventID
	eventBy
	eventSince
	eventUntil
	eventCommit
	eventIndex
	eventIteration
	eventRun
)

// EncodeEvent gives the body of a KindEvent message.
func EncodeEvent(e Event) []byte {
	b := cbor.AppendArray(make([]byte, 0, 128+len(e.Data)+len(e.Key)+len(e.ID)+len(e.By)+4*processtable.MaxName), 2)
	return appendEvent(cbor.AppendUint(b, 1), &e)
}

// appendEvent appends the fields of an event, a map.
func appendEvent(b []byte, e *Event) []byte {
	w := cbor.BeginMap(b)
	w.Text(eventName, string(e.Name))
	w.Text(eventKey, e.Key)
	w.Bytes(eventShape, e.Shape[:])
	w.Bytes(eventData, e.Data)
	w.Time(eventSent, e.Sent)
	w.Uint(eventKeep, uint64(e.Keep))
	w.Text(eventNode, string(e.Node))
	if e.Sender != nil {
		w.Key(eventSender)
		w.B = AppendParent(w.B, e.Sender)
	}
	w.Text(eventID, e.ID)
	w.Text(eventBy, cutTo(e.By, MaxBy))
	w.Time(eventSince, e.Since)
	w.Time(eventUntil, e.Until)
	w.Uint(eventCommit, e.Arrival.Commit)
	w.Uint(eventIndex, uint64(e.Arrival.Index))
	if e.Taker != nil {
		w.Uint(eventIteration, uint64(e.Taker.Iteration))
		w.Uint(eventRun, uint64(e.Taker.Run))
	}
	return w.B
}

// DecodeEvent reads the body of a KindEvent message. Data is a part of data.
func DecodeEvent(data []byte) (e Event, err error) {
	shaped := false
	_, err = decodeBody("event", 1, data, func(f *cbor.Fields) { shaped = decodeEventField(&e, f) || shaped })
	if err == nil {
		err = e.valid(shaped)
	}
	return e, err
}

func decodeEventField(e *Event, f *cbor.Fields) (shaped bool) {
	switch f.Key {
	case eventName:
		e.Name = processtable.EventID(f.Text(processtable.MaxName))
	case eventKey:
		e.Key = f.Text(processtable.MaxEventKey)
	case eventShape:
		f.Fixed(e.Shape[:])
		return true
	case eventData:
		e.Data = f.Bytes(container.MaxEncoded)
	case eventSent:
		e.Sent = f.Time()
	case eventKeep:
		e.Keep = time.Duration(f.Uint(uint64(MaxKeep)))
	case eventNode:
		e.Node = processtable.NodeID(f.Text(processtable.MaxName))
	case eventSender:
		sender := ReadParent(f.Reader)
		e.Sender = &sender
	case eventID:
		e.ID = f.Text(MaxEventID)
	case eventBy:
		e.By = f.Text(MaxBy)
	case eventSince:
		e.Since = f.Time()
	case eventUntil:
		e.Until = f.Time()
	case eventCommit:
		e.Arrival.Commit = f.Uint(1<<64 - 1)
	case eventIndex:
		e.Arrival.Index = uint32(f.Uint(1<<32 - 1))
	case eventIteration:
		e.taker().Iteration = int(f.Uint(MaxIteration))
	case eventRun:
		e.taker().Run = int(f.Uint(MaxIteration))
	default:
		f.Unknown()
	}
	return false
}

func (e *Event) taker() *Round {
	if e.Taker == nil {
		e.Taker = &Round{}
	}
	return e.Taker
}

func (e *Event) valid(shaped bool) error {
	switch {
	case !processtable.ValidProgram(string(e.Name)):
		return invalid("event %.80q is not a name", e.Name)
	case !shaped:
		return invalid("event %s has no shape", e.Name)
	case !processtable.ValidNode(string(e.Node)):
		return invalid("event %s: node %.80q is not a name", e.Name, e.Node)
	case (e.Sender != nil) == (e.ID != "") || e.Sender != nil && e.By != "":
		return invalid("event %s is sent by an activity, or has an identifier", e.Name)
	}
	return nil
}

// EncodeWait gives the body of a KindWait message.
func EncodeWait(t Wait) []byte {
	w := beginBody(1, len(t.Key)+len(t.Taker.Scope)+4*processtable.MaxName)
	w.Text(0, string(t.Name))
	w.Text(1, t.Key)
	w.Key(2)
	w.B = AppendParent(w.B, &t.Taker)
	w.Uint(3, t.Clock)
	w.Time(4, t.Since)
	return w.B
}

// DecodeWait reads the body of a KindWait message.
func DecodeWait(data []byte) (t Wait, err error) {
	_, err = decodeBody("wait", 1, data, func(f *cbor.Fields) {
		switch f.Key {
		case 0:
			t.Name = processtable.EventID(f.Text(processtable.MaxName))
		case 1:
			t.Key = f.Text(processtable.MaxEventKey)
		case 2:
			t.Taker = ReadParent(f.Reader)
		case 3:
			t.Clock = f.Uint(MaxClock)
		case 4:
			t.Since = f.Time()
		default:
			f.Unknown()
		}
	})
	if err == nil && t.Taker.Instance == uuid.Nil {
		err = invalid("wait: no receive")
	}
	return t, err
}

// EncodePast gives the body of a KindPast message.
func EncodePast(p Past) []byte {
	w := beginBody(1, len(p.Event.Data)+8*processtable.MaxName)
	w.Key(0)
	w.B = appendEvent(w.B, &p.Event)
	if p.Taker != nil {
		w.Key(1)
		w.B = AppendParent(w.B, p.Taker)
	}
	w.Time(2, p.At)
	w.Time(3, p.Until)
	return w.B
}

// DecodePast reads the body of a KindPast message. Data of the event is a part of data.
func DecodePast(data []byte) (p Past, err error) {
	shaped := false
	_, err = decodeBody("past event", 1, data, func(f *cbor.Fields) {
		switch f.Key {
		case 0:
			for of := f.Reader.Map(); of.Next(); {
				shaped = decodeEventField(&p.Event, &of) || shaped
			}
		case 1:
			taker := ReadParent(f.Reader)
			p.Taker = &taker
		case 2:
			p.At = f.Time()
		case 3:
			p.Until = f.Time()
		default:
			f.Unknown()
		}
	})
	if err == nil {
		err = p.Event.valid(shaped)
	}
	return p, err
}
