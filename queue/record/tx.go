package record

import (
	"time"

	"fmqm/internal/store/change"
	"fmqm/message"
	"fmqm/processtable"
)

// Tx is one transaction. All of it happens or none. The committer owns it from
// Submit until Done.
type Tx struct {
	Consume []Consume         // the entries that it was decided on, and what it removes of them
	Put     []message.Message // to this node's process queues, or to the transmission queue of Header.Queue.Node
	Timers  []Timer           // of local entries: they are set
	Came    []Timer           // their time has come: they go, and Put has their messages
	Audit   []AuditRecord
	Tables  []TableRecord
	Current []processtable.ProcessID // these versions are pending no more; what is not pending stays so
	Retire  []Retirement             // what is said of versions from now on: whoever submits it has seen what was said before
	Quiet   []Quiet                  // process queues into which nothing was put since it was decided
	Final   []Final                  // final words that are known from now on; each takes the place of one before
	Without []WriteOff               // nodes without which the tables of versions go here, or no more
	Remove  []Tombstone              // versions of which the table goes, and the text; Quiet names them too
	// Definitions are texts of definitions: each takes the place of the one that was kept.
	Definitions []Definition
	Accept      *Accept   // what a link has accepted with this transaction
	Refuse      []Refused // messages that are kept as refused (L5)
	// Park are messages whose process has no table here (N3); the transaction is refused with
	// ErrTabled if it has. Unpark are those that wait no more, as ParkedFor gave them; each may
	// be taken once.
	Park, Unpark []Parked
	// Settle are the numbers of refused messages that go with this transaction; it is
	// refused with ErrNotRefused if one of them is not there any more.
	Settle   []uint64
	Rebuild  *Rebuild    // how far the rebuilding of a peer has come with this transaction
	Schedule *Schedule   // how far the schedules of a process have come with this transaction
	Forget   []change.Op // audit records that go, and what stays in their place
	Rewrite  []Rewrite   // audit records that take the place of others
	// Supersede are ends of activities that do not stand as they are: who submits it has Forget and Rewrite say so
	// (Queue.Superseding), and else does nothing.
	Supersede []Supersede
	Erasing   *Erasing // how far the erasing of an instance has come with this transaction
	// Done is called once, from the committer's goroutine, and must not block. The
	// error is nil if the transaction is on disk. With queue.ErrStopped it may have happened,
	// whole: the store says so when it is opened. With any other error nothing of it has.
	Done func(error)
}

// Supersede is what becomes of the record of an activity's end where that is, or was to be, restarted (N30).
type Supersede struct {
	Entry   message.Entry
	Edition uint64 // 0: it becomes a line of history; else this is the number of the connectors that it says were sent
}

// Consume names an entry of one of this node's process queues, the messages of it
// that go (GET, paper §3.3), and its timers that do. Without any the entry is only checked for
// newcomers.
type Consume struct {
	Process processtable.ProcessID
	Entry   message.Entry
	Keys    []message.Key
	// Replaces are, of the messages that the transaction puts for this entry, those that
	// take the place of one that is stored, where the submitter knows that; nil: it does
	// not. It is for what Depth counts.
	Replaces []message.Key
	Timers   []Timer // to remove: name and time count
}

// TableRecord stores an encoded process table. It is refused with ErrBound if
// name@version is there with another definition, and changes nothing if it is there
// with the same. One that came at the same moment another way is ErrTabled: what is
// submitted again then changes nothing.
type TableRecord struct {
	Process    processtable.ProcessID
	Definition processtable.DefinitionHash
	Encoded    []byte
	Pending    bool // when it is stored (N19)
}

// Accept advances what was accepted from a peer. The committer checks that Number-Count,
// Before and Incarnation are what is on disk; one Accept for a lane may be under way at
// a time.
type Accept struct {
	Peer        processtable.NodeID
	Incarnation Incarnation // the peer's
	Lane        message.Lane
	Number      uint64 // of the last message accepted with this transaction
	Count       uint64 // how many were
	Before      Hash   // at Number-Count: where the items continue from
	Hash        Hash   // after Number
	// Parts are pieces of the one large message that is not whole with this transaction: they
	// follow one another, and the last one is the item Number.
	Parts []Part
	// Whole names, by the number of its first part, each message whose last part came, or of
	// which nothing more will: the parts that are stored of it are removed.
	Whole []uint64
}

// Part is a stored piece of a large message on its way in (L4).
type Part struct {
	First uint64 // number of the message's first part: identifies it within peer and lane
	Index int
	Data  []byte
}

// Refused is a message that was accepted and cannot take effect (L5).
type Refused struct {
	Number  uint64 // in the order in which they were refused; given when it is put
	Time    time.Time
	Peer    processtable.NodeID // whose link has refused it; empty: a process thread has
	From    processtable.NodeID // the peer that brought it, where that is not Peer; what reads it back does not tell
	Reason  string
	Message []byte // as it came, encoded
}

// Delivery is what a Mailbox gives: the newcomers of one entry; without messages: those that the
// store has are to be looked at.
type Delivery struct {
	Entry    message.Entry
	Messages []message.Message
}
