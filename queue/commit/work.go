package commit

import (
	"errors"

	"fmqm/internal/store/change"
	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue/record"
)

// Why a work is refused, wrapped.
var (
	// ErrStale: an entry that it was decided on has something that the decision did not take in.
	ErrStale = errors.New("the entry has new messages that the decision did not take in")
	// ErrBound: the name@version of a table is bound to another definition (N3).
	ErrBound = errors.New("this name and version belong to another definition")
	// ErrTooLarge: the records, without staged bodies, exceed MaxLarge, or one has a key or a
	// value that the engine does not take.
	ErrTooLarge = errors.New("the transaction is too large")
	// ErrOutOfOrder: an Accept does not continue from the number and hash on disk.
	ErrOutOfOrder = errors.New("the link's numbers are out of order")
	// ErrTabled: a message was to wait for a table, or a table to be stored, that has come
	// another way at the same moment: the message can be judged by it, and of two tables of
	// one definition the first stays, in the format that the node runs.
	ErrTabled = errors.New("the table is here already: it came another way at the same moment")
	// ErrClosed: it would begin an instance of a version about which this node has given its final word (N31).
	ErrClosed = errors.New("nothing of this version begins here any more")
	// ErrNotRefused: there is no refused message, or no longer one, with the number that a
	// transaction takes out.
	ErrNotRefused = errors.New("no refused message has this number")
)

// Work is a transaction as its submitter has prepared it: encoded, its keys built. What only
// the committer knows (numbers of links, hashes, the number of the commit) is filled in here.
// It is the core's from Step until an effect has given it back.
type Work struct {
	Ticket any   // what the submitter knows it by; the core does not look at it
	Err    error // why it cannot be committed: it is refused in its turn

	Ops    []change.Op
	Size   int64       // of Ops, as Config.Size reckons
	Stage  []change.Op // chunks of bodies, to be written before
	Staged []Staged    // bodies that Ops name
	// Replaces are the Ops that may remove a record whose body is staged.
	Replaces []int

	Consumes []Consume
	Puts     []Put
	Items    []Item
	Audits   []Audit
	Links    []Link
	Tables   []Table
	Current  []processtable.ProcessID // that are pending no more
	Retired  []record.Retirement      // what is said of versions
	Quiet    []record.Quiet           // process queues into which nothing was put since
	Begins   []processtable.ProcessID // of which it begins instances
	Closes   []processtable.ProcessID // of which none begins any more
	Final    []record.Final           // final words that are known
	Without  []record.WriteOff        // nodes that are written off, or no more
	Removes  []record.Tombstone       // of tables that go
	Parks    []processtable.ProcessID // of messages that are to wait for a table
	Settle   []uint64                 // refused messages that go
	SettleOp int                      // of Ops, that notes the highest number ever settled
	Accept   *Accept
	Bind     *Bind
	Move     *Move

	// Claims are the keys that say whose the refused messages were that went; the core says them.
	Claims [][]byte

	seen      uint64 // the last commit when it was submitted: what it may have been decided on
	stageDone int
	examined  bool
	extra     []change.Op // removals of what replaced records had staged
	gone      [][]byte    // these records
	apart     int         // items that wait apart
	bare      int64       // Size as it was submitted: of a Move, without what it changes of the audit
}

// Consume names an entry that the work was decided on, and says whether it takes messages of it.
type Consume struct {
	Process processtable.ProcessID
	Entry   message.Entry
	Takes   bool

	mark *mark
}

// Put is a message for an entry of this node.
type Put struct {
	Process processtable.ProcessID
	Entry   message.Entry
	Op      int  // of Work.Ops: the message's record
	Marker  bool // an operator has ended the instance, or has suspended it or something of it

	// Number is of the delivery, and Oldest of the first one to the entry of those that were not
	// all taken: no other entry has it. Deliver says whether there is a reader to have it. Arrival
	// is what the record has (N11). The core says all four.
	Number  uint64
	Oldest  uint64
	Arrival message.Arrival
	Deliver bool
	mark    *mark
}

// Item is an item of a transmission queue.
type Item struct {
	Peer    processtable.NodeID
	Lane    message.Lane
	Op      int
	Payload []byte
	Staged  int // of Work.Staged, or -1
	// Message is what the item carries, or a part of it; nil: what was apart, and is moved.
	Message *message.Message
	First   bool // of its message
	// Number and Apart the core says: without a number it waits apart (N17).
	Number uint64
	Apart  bool
}

// Audit is an audit record whose key or checksum is not complete yet.
type Audit struct {
	Op      int
	History bool // the key ends with commit and index
	Sent    int  // messages that it says were sent: so many numbers are at its end
}

// Link says that a message that an audit record says was sent is an item.
type Link struct{ Audit, Sent, Item int }

// Staged is a body that was staged, and the record that names it.
type Staged struct {
	Ref   record.BodyRef
	Op    int  // of the record that makes it exist
	Owner int  // Op of the record that names it
	Kept  bool // until Owner goes
}

// Table binds a process to a definition.
type Table struct {
	Process    processtable.ProcessID
	Definition processtable.DefinitionHash
	Stores     bool // Ops have its record: it was not here when the work was prepared
	Pending    bool // and that it is pending
}

// Accept advances what was accepted of a peer in a lane.
type Accept struct {
	record.LaneKey
	To     record.AcceptedAt
	Count  uint64      // of items, up to To
	Before record.Hash // where they continue from
	Whole  []uint64    // first parts of messages of which nothing more will come: their parts go
	// Incoming is what there is in parts then; nil: as before.
	Incoming *record.Incoming
}

// Bind says under which incarnation a peer is known from now on.
type Bind struct {
	Peer        processtable.NodeID
	Incarnation record.Incarnation
	Start       *Start // nil: the peer is met for the first time
}

// Start begins a peer's lanes at positions, on the way in.
type Start struct {
	NewStore bool // the peer has another store; else only lanes of which nothing was accepted begin
	At       [record.Lanes]record.Position
	Op       int // of the record where the conversation began on the way out, if NewStore
}

func (*Work) event() {}
