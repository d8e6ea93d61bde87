package interpret

import (
	"fmqm/container"
	"fmqm/definition"
)

// Programs runs the programs of activities. Activities that are empty run none.
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
	Scope     Scope // where the activity is
	Iteration int
	Attempt   int
	Input     *container.Struct
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
}

// Options of a run. The zero value will do.
type Options struct {
	// Observe is told of every attempt when it has ended; nil: nobody is.
	Observe func(activity *definition.Activity, call Call, outcome Outcome)
	// LastIterations forgets what was inside a block in all iterations but its last: for
	// loops of which nobody asks how they came to their end.
	LastIterations bool
}

// State is the state of an instance or an activity, in the words of every status.
type State string

// States that an activity can be in when nothing more can go on.
const (
	Inactive   State = "inactive"   // nothing has arrived
	Waiting    State = "waiting"    // some connectors are resolved
	Running    State = "running"    // a block with something inside that does not go on
	InError    State = "in-error"   // also of an instance: something is, and nothing else can go on
	Terminated State = "terminated" // it ran
	Skipped    State = "skipped"    // dead path
)

// Finished is the state of an instance whose sink has terminated.
const Finished State = "finished"

// Result is what became of an instance.
type Result struct {
	Process    *definition.Process
	State      State             // Finished or InError
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
	State      State
	Iterations int    // begun; 0 if it never ran
	Attempts   int    // of the last iteration's program
	RC         *int64 // of the last attempt, if its program ended; 0 of a block's iteration that ended
	// Input and Output are of the last iteration; nil if it never ran. Output is nil
	// also where the last attempt failed, or the block's iteration has not ended.
	Input, Output *container.Struct
	Error         string // why it is in error
	// Inside has, of a block that was decided, the activities inside in file order: of each
	// iteration, or of the last one ([Options].LastIterations). A skipped block has them
	// once, all skipped, in no iteration.
	Inside [][]ActivityResult
}

// Path names the execution as people read it: "documents#2/check". It is the key by which
// runs are compared.
func (a *ActivityResult) Path() string { return a.Scope.Path(a.Activity) }
