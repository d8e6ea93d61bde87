package behaviour

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"fmqm/container"
	"fmqm/message"
	"fmqm/processtable"
)

// Process is a process table made ready: what a node knows of a process beside the rows that
// it hosts. It is immutable and safe for concurrent use.
type Process interface {
	Table() *processtable.Table
	// Definition is the short hash that the process's messages carry.
	Definition() processtable.ShortHash
	// Activity gives what a row means; nil: the activity is not hosted here.
	Activity(processtable.RowID) Behaviour
	// Start gives the effects of starting an instance at this node (N1).
	Start(Start) (Effects, error)
	// Refuses says why a peer may not send a message of the process, or nothing (invariant 11).
	// Whether it fits the row in content is for Fold to say.
	Refuses(peer processtable.NodeID, h *message.Header) string
	// PassAround says whether the target of a message, at another node, is dead by it alone,
	// and may be passed around: then it gives the message as the record that its host gets, and
	// what leads out of it, for the same transaction (N6).
	PassAround(message.Message) (record message.Message, e Effects, ok bool)
	// Again builds a message once more that an activity of this table has sent, or that was sent
	// on another node's behalf (S4). It has everything that took effect in the first one; the
	// trace is not kept. An error names the activity.
	Again(Spoken) (message.Message, error)
	// Unsaid gives what an activity of this table says to a node about its end, where it has told nobody of
	// that: it was skipped, and whoever has passed around it has told (N6), or it was cancelled with all that is
	// around it (N25). Of end it reads what is said of the source, Node and Reason; nothing: it has nothing to say there.
	Unsaid(end Spoken) []Spoken
}

// Start describes a new instance.
type Start struct {
	Instance message.InstanceID
	Key      string // of fmqm start --key; empty if none
	Input    *container.Struct
	By       message.Doer // who starts it; zero: no person
	Rank     message.Rank // the priority that it is given; 0: the process's
	Told     string       // who starts it, as the history has it: "user:bob at A", "ann@A"; empty: nobody known, or no hand
	Trace    string
	Now      time.Time
	Judged   Judgement // of source, whose output is the input; nil: none was made beforehand
}

// Spoken is a message that was sent, as the audit tells of it (S4, N16): what its source's
// transaction left, and what it said to one target.
type Spoken struct {
	Instance message.InstanceID
	Origin   processtable.NodeID
	Scope    message.Scope // of Source
	Source   processtable.ActivityID
	Clock    uint64 // of the source's transaction
	RC       int64
	Ending   message.Ending
	Reason   string            // that history gives for the transaction
	Output   []byte            // CBOR container of the source; nil if it did not run. Of an event: the body of its message
	By       message.Doer      // who did the source, or of source has started the instance; zero: nobody
	Event    *message.EventRef // that the source has received; nil: none
	Kind     message.Kind      // 0: a connector
	Number   uint64            // of the message, among those of its kind from the source
	Within   message.Scope     // that Target is in
	Target   processtable.ActivityID
	Node     processtable.NodeID
	Control  message.Truth
	Data     message.Data
	Lane     message.Lane
	Rank     message.Rank // what the instance was given as its priority (N31)
	// Onward: what leads out of the target was resolved on its host's behalf in the same
	// transaction (N6).
	Onward bool
}

// Row is the row of the source.
func (s *Spoken) Row() processtable.RowID {
	return s.Scope.Row(s.Source)
}

// SentEvent builds an event once more that was sent to another node, which knows a repeat by its token (N24).
func (s *Spoken) SentEvent() (message.Message, error) {
	e, err := message.DecodeEvent(s.Output)
	if err != nil {
		return message.Message{}, fmt.Errorf("read the event: %w", err)
	}
	m := e.Message(s.Node)
	m.Clock = s.Clock
	return m, nil
}

// Message is the message without what it has of the source's output. It is of the process of
// which t is a table.
func (s *Spoken) Message(t *processtable.Table) message.Message {
	m := message.Message{Header: message.Header{
		Queue:      message.Queue{Process: t.Process, Node: s.Node},
		Definition: t.Definition.Short(),
		Instance:   s.Instance,
		Origin:     s.Origin,
		Scope:      s.Within,
		Activity:   s.Target,

		SourceScope: s.Scope,
		Source:      s.Source,

		Number: s.Number,

		Kind:    cmp.Or(s.Kind, message.KindConnector),
		Control: s.Control,
		Data:    s.Data,
		Lane:    s.Lane,
		Clock:   s.Clock,
		Rank:    s.Rank,
	}}
	if s.Onward {
		m.OnBehalf, m.Onward = s.Node, true
	}
	return m
}

// ErrReviewed: what was judged for a Retry is not what it would evaluate now.
var ErrReviewed = errors.New("the activity has changed meanwhile")
