package behaviour

import (
	"time"

	"fmqm/container"
	"fmqm/message"
	"fmqm/processtable"
)

// Effects is what should happen to one entry now. Everything in it but Invoke happens
// in one transaction (invariant 3); the zero Effects means: wait. What Decide gives ends the
// entry or changes its messages, by Takes or by one put for itself: it is asked again after
// the transaction, and of the same messages it would give the same, without end.
type Effects struct {
	// Invoke: run the program now; of an empty activity, Compute, and Judge what it gives, since
	// its conditions may take long. Nothing else is set beside it.
	Invoke *Invoke
	// Put are the messages to put: onward ones, or the entry's own snapshot with a notice.
	Put []message.Message
	// Timers are set: those of State.Timers that are not among them are taken. Takes are messages
	// that are removed although the entry does not end.
	Timers []Timer
	Takes  []message.Key
	// Untimed are timers that are taken although no State names them: they were set with a message that
	// others have put.
	Untimed []Timer
	// Ends: the entry's messages, all those of its State.Keys, are removed.
	Ends bool
	// Recall is what becomes of the word that wants a restart, and of the record of the entry's end, which it has beside its
	// messages while it is recalled (N30); nil: nothing.
	Recall *RecallEnd
	// Lines are what the audit records before Outcome, which is what it records of the entry; zero: nothing.
	Lines   []Outcome
	Outcome Outcome
}

// RecallEnd is how a recall has come out.
type RecallEnd struct {
	Word       message.WordID
	Answer     message.Answer // to the word, with its Result
	Superseded bool           // the end becomes a line of history; else it stands
	Edition    uint64         // what it had sent has this number from now on; 0: as before
}

// Timer puts a message into its entry once its time has come (N13).
type Timer struct {
	Name  string // of the entry's timers, in the form of an activity's name; may be empty
	Due   time.Time
	Pause time.Duration // how long it is to wait; 0: Due is a time of the calendar, however the clock is set
}

// Waits reports that there is nothing to do until something arrives. All that a behaviour may
// set counts: what does not would be dropped without a word.
func (e *Effects) Waits() bool {
	return e.Invoke == nil && !e.Ends && len(e.Put)+len(e.Timers)+len(e.Takes)+len(e.Untimed)+len(e.Lines) == 0 && e.Recall == nil && e.Outcome.What == Nothing
}

// Subprocess is the program of what is done by an instance of another process (N19): no configuration
// can give a program this name. It says which instance is to begin (Result.Child), and begins nothing.
const Subprocess processtable.ProgramID = "@process"

// Begin is the program of what is begun in scopes of its own, of bundles and calls (N20, N21): no configuration can give a
// program this name. It does nothing but to say that there is room for it (Result.Begins).
const Begin processtable.ProgramID = "@begin"

// Invoke asks for one attempt of a program. Iteration and Attempt count from 1, Run
// from 0.
type Invoke struct {
	Program   processtable.ProgramID // empty: none, but what the behaviour itself computes of the input
	Iteration int
	Attempt   int
	Run       int
	Input     *container.Struct
	Instance  string // of a source: the word _INSTANCE
	// RC and Ending are what Compute gives, of what comes back from elsewhere (N20).
	RC int64
	message.Ending
	Event *message.EventRef // of a receive: with which it ends
	// To are the nodes into whose queues it will send: it waits while one is at its quota (S3).
	To []processtable.NodeID
	// Child, with Subprocess as the program: of which process an instance is to begin (N19).
	Child *processtable.Child

	Deadline time.Time // of the activity; zero: it has none
	// People is the notice of which the program is told who may see it (N27); nil: it is told of nobody.
	People *Item
	// Told is what a program of a notice is told has happened; nil: its time has come, or it is none (paper, section 4).
	Told *message.Told
	// Rank is its priority among what is ready: of all that Decide gives.
	Rank message.Rank

	// What the program is to give: its output's type, and whether there is none; whether a
	// return code other than 0 is data, and an HTTP status that would be a failed attempt (P3).
	Output               *container.Type
	NoOutput             bool
	RCIsData, RCContinue bool
}

// What says what became of an entry.
type What uint8

const (
	Nothing     What = iota
	Terminated       // it ran, and its exit condition was TRUE
	Skipped          // dead path
	Stopped          // by an operator's terminate
	Iterated         // the exit condition was FALSE
	Failed           // a failed attempt, to be repeated
	InError          // an operator is needed
	Retried          // an operator's retry
	Passed           // dead path: its connectors are resolved, and its host ends it later (R18)
	Cancelled        // by another activity (N25)
	Cancelling       // it is being ended, and some of what is inside of it was cancelled (N25)
	Began            // an instance of another process was begun for it (N19)
	Decided          // with the first connectors into it: those Counted (N14)
	Forced           // an operator has ended it with an output, which its end tells of (N30)
	Notified         // a program has run beside the work: Reason says which, and why it failed, if it did (N23)
	Offered          // of a work item, as those that follow (N27): people may claim it
	Claimed          // somebody was given it
	Released         // it is offered again
	Transferred      // it was given to another: To
	Saved            // its draft was changed
	Completed        // what its output is, is settled
	Withdrawn        // people have lost it before it was completed
	Escalated        // a notice has come to people, or, with By, somebody has taken it off their worklists; Attempt is its number, from 1
	Recalled         // its restart was asked for, and what it had sent is being taken out; or that was done here, or not, of what another one had sent (N30)
	Restarted        // it is to run once more
	Kept             // its restart was given up, and its end stands
)

// Outcome is the line of history that a transaction writes.
type Outcome struct {
	Rank           message.Rank // of a source that has ended: what its instance was given as its priority
	What           What
	Clock          uint64
	Iteration      int
	Attempt        int
	Run            int
	RC             int64
	Started        time.Time
	Reason         string
	By             string // of Stopped, Retried, Forced, Skipped by an operator, and Terminated with an output given by hand: who, as "alice at B"; of the end of source: who has started the instance
	For, To        string // of what a person does, who is By: whom he stands in for; and who is given the item (N27)
	Operator       string // of what a person does: who acts in his name, as "alice at B"; empty: he himself does
	Output         []byte // CBOR; of Began, of a call: the input (N20)
	message.Ending        // of Terminated, and of InError where what follows from such an end has failed
	// Counted are the activities whose connectors counted, of what is decided with the first of them: of Decided,
	// and of every end after that. Raced are those whose connectors came too late (N14).
	Counted, Raced []processtable.ActivityID
	// Child is the instance that was begun, of Began, or was begun last, of an end. Parent is who has begun the one that source
	// or sink are of; nil: nobody has (N19).
	Child  message.Child
	Parent *message.Parent
	// About is the event that a receive has taken (N24): of Terminated, Iterated, and of InError where what follows
	// from it has failed.
	About *message.EventRef
	// Told is what a notice tells of, without its text: of Escalated and Notified; nil: it came at its time.
	Told *message.Told
}

// Result is how one attempt of a program ended. With Err it failed, and the other
// fields but the times mean nothing.
type Result struct {
	RC      int64
	Output  *container.Struct
	Err     string
	Final   bool // with Err: it is not repeated, whatever attempts are left
	Started time.Time
	Ended   time.Time
	message.Ending
	Instance string            // of a source: the word _INSTANCE; empty: nothing may read it
	By       message.Doer      // of a manual activity who did it, of source who has started the instance: _BY, and what hidden connectors bring; zero: nobody
	Event    *message.EventRef // that a receive has taken; nil: none
	Given    bool              // somebody has given the output by hand
	Forced   bool              // an operator has ended it so: the exit condition is not asked (N30)
	Said     string            // what the program wrote last to its standard error; for the history, nothing is decided by it
	Child    message.Child     // of Subprocess: the instance that is to begin; with it, Output means nothing
	Begins   bool              // of Begin: what is to begin has room; Output means nothing
	Judged   Judgement         // of this very result, made beforehand; nil: Conclude makes it
}

// EventName is the word _EVENT.
func (r *Result) EventName() string {
	if r.Event == nil {
		return ""
	}
	return string(r.Event.Name)
}

// Judgement is what a behaviour makes of a result beforehand: all that may take long in
// concluding, such as conditions that search texts and lists. It needs nothing but the
// result, so where it may take long it is made apart from the process thread. Only the
// behaviour that has made it knows what is in it.
type Judgement any

// Refusal is why a message cannot take effect (L5). It changes nothing.
type Refusal struct{ Reason string }

func (r *Refusal) Error() string { return r.Reason }
