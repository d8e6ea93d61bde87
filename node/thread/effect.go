package thread

import (
	"fmqm/behaviour"
	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue/record"
)

// Effect is something to be done: one of the types of this file.
type Effect interface{ effect() }

// Commit asks for a transaction; Committed answers.
type Commit struct {
	Token Token
	Tx    *record.Tx
	// Settles: it is what the first entry that it consumes comes to, and not only what takes
	// messages out beside that.
	Settles bool
}

// Load asks for facts about entries; Loaded answers, or Unread.
type Load struct {
	Token   Token
	Entries []message.Entry
	What    What
	Word    message.WordID // of Said
}

// What names facts about an entry.
type What uint8

const (
	Messages What = 1 << iota
	HowEnded
	Marker
	Said // how an operator's word was answered
	// Children are read before the marks: what begins after it was resumed is not among them, unless the
	// resume is among the marks.
	Children
)

// List asks which entries of an instance have messages; Listed answers, or Unread.
type List struct {
	Token    Token
	Instance message.InstanceID
}

// Browse asks for entries with their messages; Browsed answers, or Unread.
type Browse struct {
	Token Token
	After message.Entry // zero: from the first
	Limit int           // of entries
}

// Ask asks for a place of a program, for an activity that will send to some nodes.
// Granted or HeldBack answers, at some time, unless another is asked for the same program before: that takes its place.
type Ask struct {
	Token   Token
	Program processtable.ProgramID
	Row     processtable.RowID
	To      []processtable.NodeID
	Turn    int64 // the lower one goes first, of all process threads
}

// GiveBack gives back a place that was granted.
type GiveBack struct{ Program processtable.ProgramID }

// Invoke begins an activity thread, which has the place that was granted last of this
// program and gives it back when the program has ended. Ended answers.
type Invoke struct {
	Token     Token
	Entry     message.Entry
	Behaviour behaviour.Behaviour
	Call      *behaviour.Invoke
}

// Evaluate asks for the conditions of a result, which may take long; Evaluated answers.
type Evaluate struct {
	Token     Token
	Behaviour behaviour.Behaviour
	Result    behaviour.Result
}

// Interrupt ends a program early. Ended still comes.
type Interrupt struct{ Token Token }

// Look asks for the mail to be read, also where the mailbox has none.
type Look struct{}

// Answer answers a word, once.
type Answer struct {
	Word Token
	Code Code
	Text string // for people: why, or what came of it
}

// Replied says what has come of an operator's word that lay in the queue; that is on disk.
type Replied struct {
	Entry message.Entry // in which it lay: its identifier may be another one's elsewhere
	message.Answer
}

// Code is what came of a word.
type Code uint8

const (
	OK          Code = iota
	Known            // Start: it was started before, with the same content
	Conflict         // Start: another instance has the identifier
	Refused          // it cannot be
	Redelivered      // Judge: the message is in the queue again
	Resolved         // Judge: another message resolves its connectors
	Removed          // Judge: the message is gone, and nothing waits for it
	Pointless        // Judge: nothing waits for it, and it is kept
	Gone             // Judge: it is not there any more
	Closed           // the store is closed: nobody knows
	NotDone          // the store could not do it, or cannot be read
)

// Inquire asks whether people of this node may have a work item (N27); Found answers.
type Inquire struct {
	Token  Token
	Entry  message.Entry
	Item   *behaviour.Item
	People []string // as persons, name@node
	// Vouched are, in place of People, those of another node, which has found out by its own staff that they may, and whom they stand in
	// for: what is asked is whether this node knows better.
	Vouched []message.Doer
	Over    string // of whom it is asked whether he administers the process; empty: of nobody
}

// Show says how a work item is now that it is on disk; nil: there is none of the entry. What it says may be
// what was said before.
type Show struct {
	Entry     message.Entry
	Item      *behaviour.Item
	Suspended bool // nothing that is said of it is carried out (N29)
}

// Fail: what was read or decided cannot be trusted. The node is to stop (invariant 8).
type Fail struct{ Err error }

func (Commit) effect()    {}
func (Load) effect()      {}
func (List) effect()      {}
func (Browse) effect()    {}
func (Ask) effect()       {}
func (GiveBack) effect()  {}
func (Invoke) effect()    {}
func (Evaluate) effect()  {}
func (Interrupt) effect() {}
func (Look) effect()      {}
func (Answer) effect()    {}
func (Replied) effect()   {}
func (Inquire) effect()   {}
func (Show) effect()      {}
func (Fail) effect()      {}
