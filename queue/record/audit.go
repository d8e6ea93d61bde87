package record

import (
	"fmt"
	"time"

	"fmqm/message"
	"fmqm/processtable"
)

// Event says what an audit record is about. The numbers are part of the format.
type Event uint8

const (
	EventStarted    Event = 1  // the instance; activity is source; Output is the process's input
	EventEnded      Event = 2  // the instance; activity is sink; Output is the process's output
	EventTerminated Event = 3  // an activity that ran
	EventSkipped    Event = 4  // an activity on a dead path
	EventStopped    Event = 5  // an activity, or with sink the instance, ended by an operator's terminate
	EventIterated   Event = 6  // the exit condition was FALSE: once more
	EventFailed     Event = 7  // a failed attempt that will be repeated
	EventInError    Event = 8  // an activity went in error
	EventRetried    Event = 9  // an operator's retry
	EventPassed     Event = 10 // the connectors out of a dead activity were resolved before its host ended it (N6)
	EventDropped    Event = 11 // a message to the activity that had been refused was let go by an operator (L5)
	EventAsked      Event = 12 // an operator's word was sent to the activity's node from here (N15)
	EventAnswered   Event = 13 // an operator's word was not carried out, or its answer came here (N15)
	EventCancelled  Event = 14 // an activity that another one has ended (N25); Reason says which, and why
	EventCancelling Event = 15 // some of what is inside of an activity was cancelled, before it is ended
	EventBegun      Event = 16 // an instance of another process was begun for an activity: Child (N19)
	EventReturned   Event = 17 // Child has come back, with its output or with Reason
	EventDecided    Event = 20 // an activity that is decided with the first connectors: Counted
	EventRaced      Event = 21 // a connector into such an activity came too late: Reason says what had won
	EventNotified   Event = 22 // a program has run beside the activity's work: Reason says which, and why it failed, if it did (N23)
	EventThinned    Event = 23 // retention has removed the iterations of a block up to Iteration: activity is its source, in a scope without iteration (N16)
	EventSent       Event = 26 // an activity has sent an event: About; Output is the body of its message (N24). Of the event queue: one was passed on
	EventReceived   Event = 27 // a receive has taken the event About
	EventPutBack    Event = 28 // the event About came for a receive that was over, or beside the one that it took: it is back in its place

	// Of a manual activity (N27): the item was offered; somebody was given it; gave it back; gave it to another, whom
	// People names; saved a draft; has completed it, which the end of the iteration follows; it was taken from people
	// before it was completed.
	EventOffered     Event = 29
	EventClaimed     Event = 30
	EventReleased    Event = 31
	EventTransferred Event = 32
	EventSaved       Event = 33
	EventCompleted   Event = 34
	EventWithdrawn   Event = 35
	// EventEscalated: a notice of the activity, or of sink, the process, has come to people (N27); with By, somebody has taken it off
	// their worklists. Attempt is the notice's number, from 1, Iteration how often it has come; Reason says why it could not be
	// shown to anybody, or what who took it off wrote.
	EventEscalated Event = 36

	EventForced    Event = 43 // an operator has finished an activity by hand (N30): its end follows
	EventSuspended Event = 44 // an operator has suspended an activity with all inside of it, or, of source, the instance (N29)
	EventResumed   Event = 45 // a suspend of such was lifted, by an operator or since its time has come
	EventExpedited Event = 46 // an operator has given the instance another priority: Rank (N31)
	EventRestarted Event = 47 // an operator has an activity run once more that had terminated (N30): what that end was lies among the other events
	EventRecalled  Event = 48 // what an activity had sent is asked back, so that it can be restarted; or was taken out here, or not: Reason says of which activity
	EventKept      Event = 49 // a restart was given up: Reason says why; the end of the activity stands

	EventErased Event = 50 // data of the instance were overwritten in this node's records: Erased says which; activity is source
)

// MaxEvent is the highest number that there can be of an event.
const MaxEvent = 63

// ranges are the numbers of the events, from each first to its last.
var ranges = [...][2]Event{
	{EventStarted, EventReturned},
	{EventDecided, EventThinned},
	{EventSent, EventPutBack},
	{EventOffered, EventEscalated},
	{EventForced, EventKept},
	{EventErased, EventErased},
}

// Valid says whether it is one that this program knows.
func (e Event) Valid() bool {
	for _, r := range ranges {
		if r[0] <= e && e <= r[1] {
			return true
		}
	}
	return false
}

// Events gives all events.
func Events() (all []Event) {
	for _, r := range ranges {
		for e := r[0]; e <= r[1]; e++ {
			all = append(all, e)
		}
	}
	return all
}

// MaxStderr is how many bytes of what a program said last are kept.
const MaxStderr = 2 << 10

// AuditRecord is one line of history. It has what is needed to build the messages
// that were sent again (S4): what was consumed by name, the output once, and the
// numbers that the onward messages got, which the committer fills in.
type AuditRecord struct {
	Time       time.Time // for people only (invariant 14)
	Clock      uint64
	Process    processtable.ProcessID
	Definition processtable.ShortHash
	Instance   message.InstanceID
	Origin     processtable.NodeID
	Scope      message.Scope
	Activity   processtable.ActivityID
	Event      Event
	Iteration  int // counts from 1; 0 for an activity that never ran
	Attempt    int
	Run        int // grows with an operator's restart
	RC         int64
	Started    time.Time // zero if it did not run
	Reason     string    // of EventFailed, EventInError, EventStopped, EventRetried, EventDropped, EventAsked, EventAnswered, EventForced, EventErased, and of EventSkipped by an operator; of EventStarted the key
	By         string    `json:",omitempty"` // who, as "alice at B": of EventStopped, EventRetried, EventDropped, EventAsked, EventAnswered, EventForced, EventErased, of EventSkipped by an operator, and of EventTerminated with an output given by hand
	Consumed   []Consumed
	Output     []byte // CBOR container; nil if none
	Sent       []Sent
	// Word is the operator's word that the record is about: of EventAsked, EventAnswered,
	// EventRetried, EventForced, and EventSkipped, or EventCancelling before that, by an operator; nil: of none.
	Word *Word `json:",omitempty"`
	// Ending is how an activity that ran has ended: of EventTerminated, and of EventInError where what
	// follows from such an end has failed.
	message.Ending
	// Child is the instance that was begun, or has come back: of EventBegun and EventReturned, and of the
	// end of an activity that has begun one. Parent is
	// the activity that has begun the record's instance: of its EventStarted and its end.
	Child  *message.Child  `json:",omitempty"`
	Parent *message.Parent `json:",omitempty"`
	// About is the event that the record is about: of EventSent, EventReceived and EventPutBack, and of the end of a round of
	// a receive that has taken it.
	About *message.EventRef `json:",omitempty"`
	// Counted are the activities whose connectors counted, of one that is decided with the first of them, in
	// the order in which these came: of EventDecided and of the activity's end (N14).
	Counted []processtable.ActivityID `json:",omitempty"`
	Stderr  string                    `json:",omitempty"` // of EventFailed and EventInError: what the program said last, at most MaxStderr bytes
	// People are, of what somebody did, whom that one stood in for, and to whom the item went: By names him.
	People *message.People `json:",omitempty"`
	// Told is what a notice tells of, without its text: of EventEscalated and EventNotified; nil: it came at its time.
	Told *message.Told `json:",omitempty"`
	// Erased is not nil where data were taken out of the record, and of EventErased.
	Erased *Erased `json:",omitempty"`
	// Search is, of EventStarted, what the instance is found by: what the index of values has of it.
	Search []Searched `json:",omitempty"`
	// Rank is the priority that the instance was given, of EventStarted, of what ends an activity, and of what has sent something;
	// and of EventExpedited that which it has from then on. 0: it was given none.
	Rank message.Rank `json:",omitempty"`
	// Removed is not nil where the record itself was removed by retention: then there is
	// nothing in it but what Removed has.
	Removed *Removed `json:",omitempty"`
}

// Hearsay says that the record tells what an operator asked, was answered, or decided about a refused
// message: the origin, the process and the clock in it may be what a peer has told or written. Of
// whatever has come of an instance there are other records.
func (a *AuditRecord) Hearsay() bool {
	switch a.Event {
	case EventAsked, EventAnswered, EventRetried, EventDropped, EventForced, EventErased:
		return true
	default:
		return false
	}
}

// Answer is how an operator's word was answered that the record is about: its Word is not nil.
func (a *AuditRecord) Answer() message.Answer {
	said := message.Answer{Word: a.Word.ID, Result: a.Word.Result, Text: a.Reason}
	if a.Event == EventKept && said.Result == message.WordRefused { // whose reason is shown at the activity, and says no more than why
		said.Text = fmt.Sprintf("%s %s: %s", a.Word.Wish, a.Scope.Path(a.Activity), a.Reason)
	}
	return said
}

// Doer is who did the activity that the record is about, or has started its instance; zero: no person.
func (a *AuditRecord) Doer() message.Doer {
	d := message.Doer{Person: a.By}
	if a.People != nil {
		d.For = a.People.For
	}
	if !message.ValidPerson(d.Person) {
		return message.Doer{}
	}
	return d
}

// Marked is the line about a suspend or a resume (N29), or an expedite (N31), but for when, and of which instance: one of all of it
// is of its source, as its start is.
func Marked(m *message.Mark) AuditRecord {
	r := AuditRecord{Event: EventSuspended, Scope: m.Scope, Activity: m.Activity, Reason: m.Reason, By: m.By}
	if m.Activity == "" {
		r.Activity = processtable.Source
	}
	switch {
	case m.Resumes():
		r.Event = EventResumed
	case m.Expedites():
		r.Event, r.Rank = EventExpedited, m.Rank
	}
	return r
}

// GivenByHand begins the reason of what a retry with an output has ended.
const GivenByHand = "its output was given by hand"

// Word is what a record says of an operator's word.
type Word struct {
	ID     message.WordID
	Wish   message.Wish
	Result message.WordResult // 0: it was asked, of Home
	Home   processtable.NodeID
}

// Consumed is a message that the termination removed.
type Consumed struct {
	Key     message.Key
	Control message.Truth
	Data    message.Data
	Clock   uint64
}

// Sent is a message that was put for another entry: with a Number if it went to a peer. It is
// known there by the record's scope and activity, Kind and Nth.
type Sent struct {
	Kind    message.Kind  `json:",omitempty"` // 0: a connector
	Nth     uint64        `json:",omitempty"` // Number of the message's header
	Scope   message.Scope `json:",omitempty"` // of Target
	Target  processtable.ActivityID
	Node    processtable.NodeID
	Control message.Truth
	Data    message.Data
	Lane    message.Lane
	Number  uint64
}
