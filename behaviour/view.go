package behaviour

import (
	"slices"
	"time"

	"fmqm/container"
	"fmqm/message"
	"fmqm/processtable"
)

// Progress is how far an entry has come that has not ended, as its messages say. What runs
// is in memory only.
type Progress uint8

const (
	Waiting   Progress = iota // for messages of others, or a timer
	Ready                     // its program may run, at once or from Due on
	Deciding                  // it needs no program any more: what it comes to is being written
	Erring                    // in error: an operator is needed
	Absorbing                 // on a dead path; it only absorbs what still comes (N6)
	Begun                     // of a composite or subprocess: what it has begun has not returned (N12); of a wait: its time has not come; of a manual activity: somebody has claimed it
	OnList                    // of a manual activity: people may claim it (N27)
)

// View is all that others may see of an entry. Who shows it, lists it, counts it or says why
// it does not go on needs to know no more of its behaviour.
type View struct {
	Progress   Progress
	Waits      []processtable.ActivityID // for messages of these, in the table's order
	Has        []processtable.ActivityID // whose messages have come
	Rank       message.Rank              // the priority of what is ready, offered or running; 0: it is neither
	Due        time.Time                 // of the timer that it waits for; zero: none
	Deadline   time.Time                 // when it is ended whatever it does; zero: never, or not decided
	Own        bool                      // it has a message of its own: something of it was decided
	Run        int                       // grows with an operator's restart (P1)
	Iterations int                       // under way, or next; 0: none began
	Attempts   int                       // that failed, and the last one where the program had ended
	Started    time.Time                 // of the last attempt that has ended; of a composite, of the iteration under way
	Events     []processtable.EventID    // of a receive: it waits for one of these
	Key        string                    // and with this key; empty: without one
	Child      message.Child             // the instance that was begun for it last (N19)
	At         processtable.NodeID       // of a call: where its work was begun last (N20)
	Begins     bool                      // it has begun some of its work, and could begin more
	To         []processtable.NodeID     // of what is ready, or Begins: nodes into whose queues it will send (Invoke.To)
	Item       *message.Item             // of a manual activity that is offered or claimed (N27); nil: it is neither
	Elements   *Elements                 // of a bundle that has begun (N21); nil: it is none, or has not
	Restart    string                    // it has ended, and is to run once more: for people, who wants it, and for whose answer it waits; empty: it is not
	GivenUp    bool                      // its restart is, and not all have answered yet
	Error      string                    // why it is in error, or why the last attempt failed
	RC         *int64                    // in error, where there is one; likewise Output
	Output     []byte                    // CBOR container
	Input      *container.Struct         // of what is ready or in error; nil: it cannot be made, or not yet
}

// Elements says how many elements of a bundle have come to what. UnderWay have begun and not returned, those in
// error among them.
type Elements struct{ Count, Done, Failed, Cancelled, InError, UnderWay int }

// Lacks says whether an entry lacks a connector message from an activity: it waits for that, or it
// absorbs it before it ends.
func Lacks(b Behaviour, v *View, from processtable.ActivityID) bool {
	return slices.Contains(v.Waits, from) || v.Progress == Absorbing && b.Follows(from) && !slices.Contains(v.Has, from)
}

// Value is one that a message brings, with the member that it is for, as people write it.
type Value struct {
	Target string
	Value  container.Value
}
