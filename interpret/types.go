package interpret

import (
	"fmqm/container"
	"fmqm/definition"
)

// Programs runs the programs of activities, and subprocesses whose definition is not given. Activities
// that are empty run none.
type Programs interface {
	// Run gives the result of one attempt. The call's input belongs to the program.
	Run(activity *definition.Activity, call Call) Outcome
}

// ProgramFunc makes a function into Programs.
type ProgramFunc func(activity *definition.Activity, call Call) Outcome

// Run calls f.
func (f ProgramFunc) Run(activity *definition.Activity, call Call) Outcome { return f(activity, call) }

// Call is one attempt. Iteration counts from 1 in a scope, Attempt from 1 in an iteration.
type Call struct {
	Scope     Scope  // where the activity is; of one execution of a bundle its element, "count[3]"
	Node      string // where it is done
	Iteration int
	Attempt   int
	Input     *container.Struct
	Instance  string          // of a manual activity, as the next: what _INSTANCE says
	Doers     map[string]Doer // who did those that it asks for; of those that are not there nobody
}

// Outcome is how an attempt ended.
type Outcome struct {
	RC int64
	// Output is of the activity's output type; nil stands for the defaults.
	Output *container.Struct
	// BadOutput says why what the program gave is not its output container. Where RC
	// is other than 0 and is data the output then counts as empty; elsewhere the
	// attempt has failed.
	BadOutput string
	// Err says why the attempt has failed; RC and Output then mean nothing.
	Err string
	// By is, of a manual activity, who did it (name@node), For whom that person stood in for; empty: nobody.
	By, For string
	// Impossible says that this cannot be an outcome: the run ends with it.
	Impossible error
}

// Races says how races came out. Programs that implement it are asked; the outcomes of others
// are those of a run in which deadlines and what cancels come too late, but for what cannot end
// without them.
type Races interface {
	// Race says what has come first, of an execution that has come so far. It is asked before
	// the execution is decided, before each attempt, when nothing inside of a block goes on,
	// and when it is in error; perhaps more than once.
	Race(activity *definition.Activity, at At) Race
}

// Bundles are Races that know how far bundles came. Without them elements return in the order of the list, and
// `until` is asked after each.
type Bundles interface {
	// Bundle says it of a bundle that was decided; known is false where nobody says it.
	Bundle(activity *definition.Activity, scope Scope) (came Came, known bool)
}

// Came is how far a bundle came.
type Came struct {
	Begun    int   // the first so many of its elements
	Returned []int // those of them that have ended by themselves, in the order in which they returned: `until` is asked after each
}

// At is how far an execution has come.
type At struct {
	Scope     Scope
	Iteration int  // 0: it is not decided yet
	Attempt   int  // the one that would come next in the iteration; of a block that is under way 1
	InError   bool // it waits for an operator
	Back      bool // of a call: what does its work has ended, and its result is on its way
}

// First is what has come first.
type First uint8

// What can come first.
const (
	Itself    First = iota // the activity goes on
	Deadline               // its deadline (N23)
	Canceller              // what cancels it: another activity, or the end of a block around it (N25)
	Around                 // the end of a block around it, whatever else cancels it
)

// Race is how a race came out.
type Race struct {
	First First
	// Caught is what a block that goes on after errors has caught, "check: no paper"; empty: of
	// what is in error inside of it the first in file order.
	Caught string
	// Dead says of an activity that is cancelled before it was decided that what leads out of it had been
	// resolved by then, on a dead path.
	Dead bool
	// Unbegun says of a call which its deadline ends that its work was begun nowhere: there was no room for that yet.
	Unbegun bool
	// Got is what a receive gets; nil: what an activity of the run sends to it. Stays says that it waits for what
	// the run does not have.
	Got   *Got
	Stays bool
	// Counted are, of an activity that begins with the first connectors and is not decided yet, the sources of those
	// that counted, in the order in which they came, with those of data that had come; nil: as the run has it.
	Counted []string
}

// Options of a run. The zero value will do.
type Options struct {
	// Observe is told of every attempt of a program when it has ended, but not in the instances of
	// subprocesses; nil: nobody is.
	Observe func(activity *definition.Activity, call Call, outcome Outcome)
	// LastIterations forgets what was inside a block in all iterations but its last: for
	// loops of which nobody asks how they came to their end.
	LastIterations bool
	Instance       string // what _INSTANCE says; empty: "instance"
	// Origin is the node where the instance is started, at which activities are of which the definition says so; empty:
	// the first that may start it. That of a subprocess is where its activity is done (N20).
	Origin string
	// Processes are those that subprocesses may be instances of. Others are done by Programs, as if
	// they were programs.
	Processes []*definition.Process
}

// State is the state of an instance or an activity, in the words of every status.
type State string

// States that an activity can be in when nothing more can go on.
const (
	Inactive   State = "inactive"   // nothing has arrived
	Waiting    State = "waiting"    // some connectors are resolved, or it is to be cancelled once all are
	Running    State = "running"    // a receive that waits, or a block or subprocess with something inside that does not go on
	InError    State = "in-error"   // also of an instance: something is, and nothing else can go on
	Terminated State = "terminated" // it ran
	Skipped    State = "skipped"    // dead path
	Cancelled  State = "cancelled"  // something else has ended it (N25)
)

// Finished is the state of an instance whose sink has terminated.
const Finished State = "finished"

// Result is what became of an instance.
type Result struct {
	Process    *definition.Process
	State      State             // Finished or InError, or Running: what has not ended waits for events
	Output     *container.Struct // the process's output; nil unless Finished
	Error      string            // why it is InError though no activity is
	Activities []ActivityResult  // at the top, in file order; [Result.All] has those inside blocks too
}

// ActivityResult is what became of an activity in one scope: one execution.
type ActivityResult struct {
	Definition *definition.Activity
	Scope      Scope
	Activity   string
	Node       string
	At         string // of a call that was begun: the node at which it was done
	State      State
	Iterations int    // begun; 0 if it never ran
	Attempts   int    // of the last iteration's program
	RC         *int64 // of the last attempt, if its program ended; 0 of a block's iteration that ended; -1: it did not end by itself
	// Input and Output are of the last iteration; nil if it never ran. Output is nil
	// also where the last attempt failed, or the block's iteration has not ended.
	Input, Output *container.Struct
	Error         string // why it is in error, or was cancelled
	// Of one that ran and did not end by itself: its deadline has come, or it went on after an
	// error, and why (_TIMEOUT and _ERROR). Its Output has the defaults.
	TimedOut bool
	Failure  string
	// Inside has, of a block that was decided, the activities inside in file order: of each
	// iteration, or of the last one ([Options].LastIterations). A skipped block has them
	// once, all skipped, in no iteration; so has one that was cancelled before it began.
	Inside [][]ActivityResult
	// Counts and Each are of a bundle that was decided: how many elements came to what, and those that were begun,
	// in the list's order.
	Counts *Counts
	Each   []ActivityResult
	// Event is, of a receive, what its last iteration has got (_EVENT); Waits what it waits for, nil if it does not.
	Event string
	Waits *Awaited
	// Children are, of a subprocess whose definition is given, the instances that it has begun: of each
	// attempt, or the last one ([Options].LastIterations).
	Children []Child
}

// Counts are how many elements of a bundle came to what.
type Counts struct {
	Count     int `json:"count"`
	Done      int `json:"done"`   // have returned
	Failed    int `json:"failed"` // of these
	Cancelled int `json:"cancelled"`
	InError   int `json:"in_error"` // wait for an operator, or something inside of them does
}

// Path names the execution as people read it: "documents#2/check", "count[3]". It is the key by which
// runs are compared.
func (a *ActivityResult) Path() string { return a.Scope.Path(a.Activity) }
