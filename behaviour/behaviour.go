package behaviour

import (
	"slices"
	"time"

	"fmqm/container"
	"fmqm/message"
	"fmqm/processtable"
)

// Behaviour is what one row of a process table means, made ready. It is immutable and safe
// for concurrent use; a State belongs to its process thread. A State that is handed in is one
// that Empty has made.
type Behaviour interface {
	// Empty gives the state of an entry without messages.
	Empty(message.Entry) State
	// Fold adds what a message says: any order of the same messages, with repeats, gives the
	// same state (invariant 2). It returns a *Refusal, and leaves the state as it was, if the
	// message does not fit the row.
	Fold(State, message.Message) error
	// Decide says what should be, everything present being folded. now is for what people are
	// shown, and for timers that are set: nothing else is decided by it. That the time of one has
	// come is a message (Basis.Came).
	Decide(s State, now time.Time) Effects
	// MayEnd says whether the message could be what ends the entry without a program, whatever
	// else it has: where not, a cascade does not try it (N5). True is always right.
	MayEnd(*message.Message) bool
	// Conclude says what follows from the end of what Decide has asked to invoke.
	Conclude(s State, r Result, now time.Time) Effects
	// Command says what follows from a word about the entry, or why nothing can.
	Command(s State, c Command, now time.Time) (Effects, error)
	// Review gives the result that a word would evaluate; nil: none. It fails where that does.
	Review(s State, c Reviewable, now time.Time) (*Result, error)
	// Without gives the message that resolves, by an operator's hand, what a refused message
	// would have resolved: FALSE, no data; and says so.
	Without(s State, refused message.Message) (message.Message, string)
	// View gives what others may see.
	View(s State, now time.Time) View
	// Follows says whether a connector leads from an activity to it: whether a message from
	// there may be for it.
	Follows(processtable.ActivityID) bool
	// Again builds a message once more that it has sent (S4). It has everything that took effect
	// in the first one; the trace is not kept.
	Again(Spoken) (message.Message, error)

	Evaluator
}

// Evaluator is the part of a Behaviour that may take long and changes nothing: it is called
// beside the process thread.
type Evaluator interface {
	// Compute gives the result of an Invoke without a program.
	Compute(call Invoke, started time.Time) Result
	// Slow says whether what follows from a result may take so long that Judge is to be asked
	// for it first.
	Slow(*Result) bool
	Judge(*Result) Judgement
	// Values gives what a connector message brings; nil: the row has no data connector from its
	// source.
	Values(message.Message) ([]Value, error)
}

// State is what the messages of one entry say to its behaviour. It is plain data without a
// goroutine, and may be dropped at any time, since the messages are its durable form.
type State interface {
	Known() *Basis
	// Clone gives a State that can be folded on without changing this one.
	Clone() State
	// Bytes estimates the memory that it takes.
	Bytes() int
	// InError reports that the entry waits for an operator.
	InError() bool
	// Interrupted reports that what runs of the entry is to be ended early.
	Interrupted() bool
	// Timers are those that are set for the entry; of those that have come it has a message.
	Timers() []Timer
	// Empty reports that no message was folded, Holds that one was. Forget takes messages out that were removed while the
	// entry goes on. A Basis does these for entries of few messages.
	Empty() bool
	Holds(message.Key) bool
	Forget(taken []message.Key)
}

// Basis is what is known of an entry whatever its behaviour.
type Basis struct {
	Entry     message.Entry
	Origin    processtable.NodeID // where the instance was started
	Trace     string
	Clock     uint64          // the highest of the messages folded
	Keys      []message.Key   // the messages folded: the exact set that the entry's end removes
	Consumed  []Resolved      // how each connector message resolved its connectors, for the audit
	Own       bool            // one of them is its own: something of it was decided
	Stopped   bool            // a marker: the instance was terminated by an operator (N7)
	Cancelled bool            // another activity, or what it is inside of, ends it (N25): no suspend holds that up
	Rank      message.Rank    // what its instance was given as its priority (N31)
	Expedited message.Rank    // what an operator has made of that since, by the instance's marks (N29)
	StoppedBy string          // who that was, as far as the marker says
	Marker    *message.Marker // the marker, where it says why, or who ends sink tells the other nodes of it (N19)
}

// Known gives the Basis itself, for the State that has it.
func (b *Basis) Known() *Basis { return b }

// Empty reports that no message was folded.
func (b *Basis) Empty() bool { return len(b.Keys) == 0 && !b.Stopped }

// Holds says whether a message was folded.
func (b *Basis) Holds(k message.Key) bool { return slices.Contains(b.Keys, k) }

// Came says whether the time of a timer has come (N13).
func (b *Basis) Came(t Timer) bool {
	return slices.Contains(b.Keys, message.DueKey(&b.Entry, t.Name, t.Due))
}

// Passing are the keys of the messages that mean nothing any more once their entry has decided
// something: of timers that have come, returns, and what offers were told.
func (b *Basis) Passing() (keys []message.Key) {
	for _, k := range b.Keys {
		if k.Kind == message.KindDue || k.Kind == message.KindReturn || k.Kind == message.KindOffer {
			keys = append(keys, k)
		}
	}
	return keys
}

// fewTaken is up to how many a search one by one is cheaper than a map.
const fewTaken = 8

// Forget takes messages out of the set that were removed while the entry goes on.
func (b *Basis) Forget(taken []message.Key) {
	switch {
	case len(taken) == 0:
	case len(taken) <= fewTaken:
		b.Keys = slices.DeleteFunc(b.Keys, func(k message.Key) bool { return slices.Contains(taken, k) })
	default:
		gone := make(map[message.Key]bool, len(taken))
		for _, k := range taken {
			gone[k] = true
		}
		b.Keys = slices.DeleteFunc(b.Keys, func(k message.Key) bool { return gone[k] })
	}
}

// Note takes what a message says of its instance.
func (b *Basis) Note(m message.Message) {
	b.Entry = m.Entry()
	if m.Origin != "" {
		b.Origin = m.Origin
	}
	b.Trace = max(b.Trace, m.Trace) // some have none
	b.Clock = max(b.Clock, m.Clock)
	b.Rank = max(b.Rank, m.Rank) // all say the same, or nothing
	b.Own = b.Own || m.Kind == message.KindSnapshot || m.Kind == message.KindRecord || m.Kind == message.KindBegin || m.Kind == message.KindStart || m.Kind == message.KindChunk
}

// Stop notes the marker of the entry's instance (N7). One that names another origin is not
// of this instance: who may start the process there has given it the same identifier.
func (b *Basis) Stop(marker message.Message) {
	if b.Origin != "" && marker.Origin != b.Origin {
		return
	}
	b.Stopped = true
	if m, err := message.DecodeMarker(marker.Body); err == nil {
		if b.StoppedBy, b.Marker = m.By, nil; m.Relay || m.Why() != "" {
			b.Marker = &m
		}
	}
}

// Resolved is what the audit keeps of a connector message.
type Resolved struct {
	Key     message.Key
	Control message.Truth
	Data    message.Data
	Clock   uint64
}

// Command is a word about an entry: one of the types below.
type Command interface{ command() }

// Reviewable is a word that may ask for conditions to be evaluated, which can take long.
type Reviewable interface {
	Command
	// With gives it with the result of a Review and its Judgement, made beforehand; nil: with none.
	With(reviewed *Result) Reviewable
}

type (
	// Retry is an operator's: an entry in error is to go on; with an output as if its program
	// had ended with it, or with another input. Reviewed is the result of a Review with its Judgement, nil: none.
	Retry struct {
		Input    *container.Struct
		Output   *container.Struct
		Reviewed *Result
	}
	// ByHand is an operator's: an entry that was decided TRUE ends, whatever it does or waits for; with an
	// output, as if it had run and its exit condition were TRUE, without one as on a dead path (N30). It fails where what
	// follows from the output does. Reviewed is as of a Retry.
	ByHand struct {
		Output   *container.Struct
		By, Why  string
		Started  time.Time // of the attempt that was ended for it; zero: none ran
		Reviewed *Result
	}
	// Restart is an operator's: an activity that has terminated is to run once more, if nothing was decided on what it had sent
	// (N30). The state is that of an entry without messages; the rest is how it has ended, as history has it.
	Restart struct {
		Wanted                  message.Restart
		Iteration, Attempt, Run int
		RC                      int64
		message.Ending
		Started time.Time
		Output  []byte // CBOR container
		Events  bool   // it has taken an event
	}
	// Withdraw is an operator's: a restart is given up.
	Withdraw struct{ By, Why string }
	// Refuse: a message to it could not take effect, so it is to be in error (L5).
	Refuse struct {
		Message message.Message
		Reason  string
	}
	// Forgive: a refused message is seen to. If the entry is in error because of it, it goes on;
	// unless it has cause to be in error for one of Others, which are refused and not seen to.
	// Else nothing follows.
	Forgive struct {
		Message message.Message
		Others  []Refuse
	}
	// TooLarge: the transaction of its effects could not be committed as it stands. Result is
	// what they were concluded from, nil: nothing had ended.
	TooLarge struct {
		Result *Result
		Reason string
	}
)

// With gives a retry with what was reviewed.
func (r Retry) With(reviewed *Result) Reviewable {
	r.Reviewed = reviewed
	return r
}

// With gives a hand with what was reviewed.
func (h ByHand) With(reviewed *Result) Reviewable {
	h.Reviewed = reviewed
	return h
}

func (Retry) command()    {}
func (ByHand) command()   {}
func (Restart) command()  {}
func (Withdraw) command() {}
func (Refuse) command()   {}
func (Forgive) command()  {}
func (TooLarge) command() {}
