package behaviour

import (
	"time"

	"fmqm/container"
	"fmqm/message"
	"fmqm/processtable"
)

// Work is a person's word about the work item of an entry (N27). Whether he may have it by the staff of his node is found
// out before; whether it is his is for the behaviour to say.
type Work struct {
	Wish     message.Wish   // one of message.OfWork
	By       message.Doer   // who it is, and whom he stands in for
	To       message.Doer   // of a transfer: who is to have it
	Over     bool           // he may take it from others: an operator, or who administers the process
	Asked    message.WordID // of a word that another node's person has said: which it is, for that node
	Claim    uint64         // the number of the claim that he saw; 0: of none in particular
	Output   []byte         // JSON of the members that save and complete change; nil: none
	Operator string         // who says it in that person's name, or in nobody's, as "alice at B"; empty: the person himself
	Why      string         // for the history
	Reviewed *Result        // of complete: the result of a Review with its Judgement, made beforehand; nil: none
}

func (Work) command() {}

// With gives the word with what was reviewed.
func (w Work) With(reviewed *Result) Reviewable {
	w.Reviewed = reviewed
	return w
}

// Item is a work item as those are shown it who may have it.
type Item struct {
	message.Item
	At       message.Execution
	Title    string
	Priority int
	Due      time.Time         // when its activity ends whatever they do; zero: never
	Input    *container.Struct // of the activity
	Did      message.Doers     // who did what its staff expression asks for
	Staff    *processtable.Who // who may do it
	// Home is where the item is decided about, if that is another node: it is offered here only. At is then of the activity there.
	Home *Home
	// Elsewhere are other nodes that offer it to their people as well. Away: it is not offered to the people of its home.
	Elsewhere []processtable.NodeID
	Away      bool
	// Notice is not nil where it is a notice: nobody has it, and who has seen it completes it. Input is nil where it
	// could not be read.
	Notice *Notice
}

// Notice says of what an item is a notice (N27).
type Notice struct {
	Of    message.Entry     // the activity; sink: the process
	Input *container.Type   // of the item's input
	Own   *processtable.Who // of a manual activity: who has it, as that is asked of a person; nil: nobody has what it is of
	// Holder: who has the activity sees it, and where nobody has, who may have it, whom the item's Staff says.
	Holder bool
	// Told is what it tells of; nil: it comes at a time. Output is then, at the end of the process, its output; nil: there is none.
	Told   *message.Told
	Output *container.Struct
}

// Home is the place of an item at its home.
type Home struct {
	Node  processtable.NodeID
	Entry message.Entry
}

// Offering is a Behaviour of which entries may be offered to people.
type Offering interface {
	// Item gives the item of an entry; nil: people have nothing to do with it now.
	Item(State) *Item
	// Offers says whether there can be one.
	Offers() bool
	// Draft is what the output of the entry's item is so far: what was saved, else the members of the input with
	// the same name and type. It fails where Item is nil.
	Draft(State) (*container.Struct, error)
}
