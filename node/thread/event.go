package thread

import (
	"fmqm/behaviour"
	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue/record"
)

// Token names something asynchronous that is under way: the machine gives one with each effect
// that is answered, whoever speaks for an operator with each word. No two of a machine are the
// same.
type Token uint64

// Event is something that has happened: one of the types of this file.
type Event interface{ event() }

// Delivered is what the mailbox gives: newcomers of one entry, or a timer that is due.
type Delivered struct{ record.Delivery }

// Coming is what the mailbox gives at once, before it is given one by one: the store takes it for
// known, so nothing may be decided of these entries without it.
type Coming struct{ Deliveries []record.Delivery }

// MailRead: what the mailbox had was given, perhaps nothing. What was refused as stale is
// decided again with it.
type MailRead struct{}

// Browsed answers Browse: the entries that follow After, in their order, and whether there
// are more behind them.
type Browsed struct {
	Token   Token
	Entries []record.EntryMessages
	More    bool
}

// Loaded answers Load: one Facts for each entry, in the order asked.
type Loaded struct {
	Token Token
	Facts []Facts
}

// Facts are what the store has of an entry, as far as was asked.
type Facts struct {
	Messages []message.Message
	End      *record.AuditRecord // how it has ended; nil: it has not
	Marker   *message.Message    // of its instance; nil: none
	Marks    []message.Marked    // of its instance: read with Marker
	Children []Child             // under way, that its instance has begun here
	Said     *record.AuditRecord // how the word was answered before; nil: it was not
}

// Child is an instance that an activity has begun, and that has not ended.
type Child struct {
	By message.Entry
	message.Child
}

// Listed answers List: each entry of which the queue has messages, once.
type Listed struct {
	Token   Token
	Entries []message.Entry
}

// Unread answers Browse, Load or List where the store could not be read.
type Unread struct {
	Token Token
	Err   error
}

// Committed is a transaction's end.
type Committed struct {
	Token Token
	End   End
	Text  string // why it was not done, for people
}

// End is how a transaction has ended.
type End uint8

const (
	Done     End = iota // it is on disk
	Stale               // an entry of it has newcomers that are not in the decision
	TooLarge            // it can never be done as it stands: it, or a message of it, is over a limit
	NotAside            // a refused message that it takes is not there any more
	Stopped             // the store is closed: nobody knows, and nothing more comes
	Failed              // the store could not do it
)

// Granted answers Ask: there is a place.
type Granted struct {
	Token   Token
	Program processtable.ProgramID
}

// HeldBack answers Ask: the activity would send where nothing more may wait (S3).
type HeldBack struct{ Token Token }

// Ended is a program's end.
type Ended struct {
	Token  Token
	Entry  message.Entry
	Result *behaviour.Result
}

// Room: there is room again for what was held back.
type Room struct{}

// Reach says to which nodes messages have a way (N6).
type Reach struct {
	All   bool
	Nodes []processtable.NodeID // those, if not all
}

// Losses says which stores were lost.
type Losses struct {
	Any  bool // one was, here or at a peer
	Anew bool // the one here: others know it from an earlier store, so that entries of an instance may have ended before it is started
}

// Start is a client's word: an instance is to be started, if it was not (N2).
type Start struct {
	Word  Token
	Start behaviour.Start
}

// Evaluated answers Evaluate: the result, with its judgement.
type Evaluated struct {
	Token  Token
	Result behaviour.Result
}

// Found answers Inquire: one May for each of the people.
type Found struct {
	Token Token
	May   []May
	Over  bool   // who was asked for administers the process
	Could string // who could have the item, for people; empty: it is not known
}

// May says whether a person may have an item.
type May struct {
	Doer message.Doer // the person as this node's staff has him, and whom he stands in for
	Is   bool
	Why  string // for people, why not; may be empty
}

// Judge is an operator's word about a connector message that was refused.
type Judge struct {
	Word Token
	Verdict
}

func (Delivered) event() {}
func (Coming) event()    {}
func (MailRead) event()  {}
func (Browsed) event()   {}
func (Loaded) event()    {}
func (Listed) event()    {}
func (Unread) event()    {}
func (Committed) event() {}
func (Granted) event()   {}
func (HeldBack) event()  {}
func (Ended) event()     {}
func (Room) event()      {}
func (Reach) event()     {}
func (Losses) event()    {}
func (Start) event()     {}
func (Evaluated) event() {}
func (Judge) event()     {}
func (Found) event()     {}
