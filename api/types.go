package api

import (
	"encoding/json"
	"time"

	"github.com/google/uuid"
)

// InstanceID identifies a process instance: a UUIDv7, or a UUIDv8 made by KeyedInstance.
type InstanceID = uuid.UUID

// InstanceState is the state of an instance; the words are API.
type InstanceState string

const (
	InstanceRunning    InstanceState = "running"
	InstanceSuspended  InstanceState = "suspended"
	InstanceInError    InstanceState = "in-error" // an activity is in error and nothing else can go on
	InstanceFinished   InstanceState = "finished"
	InstanceTerminated InstanceState = "terminated" // by an operator
	InstanceUnknown    InstanceState = "unknown"    // the node where it was started did not answer
)

// ActivityState is the state of an activity; the words are API.
type ActivityState string

const (
	ActivityInactive   ActivityState = "inactive" // nothing has arrived
	ActivityWaiting    ActivityState = "waiting"  // some connectors are resolved
	ActivityReady      ActivityState = "ready"
	ActivityRunning    ActivityState = "running"
	ActivitySuspended  ActivityState = "suspended"
	ActivityInError    ActivityState = "in-error"
	ActivityExecuted   ActivityState = "executed" // ran, not yet terminated
	ActivityTerminated ActivityState = "terminated"
	ActivitySkipped    ActivityState = "skipped"   // dead path
	ActivityCancelled  ActivityState = "cancelled" // another activity has ended it
	ActivityUnknown    ActivityState = "unknown"   // its node did not answer, has removed or lost what it had recorded, or is behind what others know
)

// What an activity is; the words are API.
const (
	KindProgram = "program"
	KindEmpty   = "empty"
	KindBlock   = "block"
	KindWait    = "wait"
	KindProcess = "process"
	KindReceive = "receive"
	KindSend    = "send"
	KindBundle  = "bundle"
	KindManual  = "manual"
)

// StartRequest starts an instance. It is idempotent (N2): a known Instance with the
// same process and input gives that instance, with other content it is refused. A
// process without version matches an instance of any version of that name, so that
// what is repeated after an upload still finds what it has started.
type StartRequest struct {
	Instance InstanceID      `json:"instance"`
	Process  string          `json:"process"`         // NAME@VERSION, or NAME for the highest that is current
	Input    json.RawMessage `json:"input,omitempty"` // one JSON object; nothing: all defaults
	Key      string          `json:"key,omitempty"`   // what Instance was derived from, to be shown; at most 1 KiB
	// Priority is that of what it does, 0 to 9, but for activities with one of their own; missing: the process's.
	Priority *int `json:"priority,omitempty"`
}

// Status is what is known of an instance over all nodes. Times are for people.
type Status struct {
	Instance InstanceID `json:"instance"`
	Process  string     `json:"process"`       // NAME@VERSION
	Key      string     `json:"key,omitempty"` // that it was started with
	// StartedBy is who has started it by hand, as in a history; missing: nobody known, or an activity or a schedule.
	StartedBy string        `json:"started_by,omitempty"`
	Priority  *int          `json:"priority,omitempty"` // of what it does; missing: 4
	Parent    *Parent       `json:"parent,omitempty"`   // the activity that has begun it; missing: it was started by itself
	State     InstanceState `json:"state"`
	InError   int           `json:"in_error,omitempty"` // activities in error, wherever they are
	Reason    string        `json:"reason,omitempty"`   // why it is in-error, terminated or unknown
	// ErrorIn is, of one in error in which nothing itself is, the activity in an instance that a subprocess has
	// begun, at whatever depth: without its name, where the node that was asked has no part in that process.
	ErrorIn     *Parent         `json:"error_in,omitempty"`
	By          string          `json:"by,omitempty"` // who has terminated it, as "alice at B"
	Started     time.Time       `json:"started,omitzero"`
	Ended       time.Time       `json:"ended,omitzero"`
	Output      json.RawMessage `json:"output,omitempty"` // of a finished instance
	Scope       string          `json:"scope,omitempty"`  // that was asked for, with its iterations
	Activities  []Activity      `json:"activities"`       // in file order, without source and sink; of a block's those that are in error
	Next        string          `json:"next,omitempty"`   // there may be others after this one: StatusRequest.After of the next page
	Unreachable []Unreachable   `json:"unreachable"`
	Removed     []Removed       `json:"removed,omitempty"`
	Erased      time.Time       `json:"erased,omitzero"`  // when data of it were first overwritten where it was started; history says which
	Clocks      []NodeClock     `json:"clocks,omitempty"` // of the nodes that answered, where one is behind
	// Suspends are those in force, of one that has not ended; Pending the nodes that have not heard of a suspend or
	// a resume.
	Suspends []Suspend `json:"suspends,omitempty"`
	Pending  []Pending `json:"pending,omitempty"`
	// Children are the instances that its activities have begun, of fmqm status --tree: who asks a node
	// asks for each himself.
	Children []Status `json:"children,omitempty"`
	// Newer is, of a start of NAME alone, a higher version that is stored there and not current.
	Newer *Newer `json:"newer,omitempty"`
	// More names the nodes whose answer would have been too large for a link (3 MiB): they
	// left out large outputs, the oldest events of a history, and ends of long reasons.
	More []string `json:"more,omitempty"`
}

// Suspend is one that is in force.
type Suspend struct {
	ID       WordID    `json:"id"`
	Scope    string    `json:"scope,omitempty"`
	Activity string    `json:"activity,omitempty"` // missing: the instance; without scope each execution of it
	By       string    `json:"by,omitempty"`
	Since    time.Time `json:"since"`
	Until    time.Time `json:"until,omitzero"`
	Reason   string    `json:"reason,omitempty"`
}

// Pending is a node that has not heard of a word yet, as far as the nodes that answered can tell.
type Pending struct {
	Word      string    `json:"word"` // suspend, resume or expedite
	ID        WordID    `json:"id"`
	Node      string    `json:"node"`
	LastHeard time.Time `json:"last_heard,omitzero"`
}

// Parent is an activity of another instance: that has begun one, or of [Status.ErrorIn].
type Parent struct {
	Instance InstanceID `json:"instance"`
	Process  string     `json:"process"` // NAME@VERSION
	Scope    string     `json:"scope,omitempty"`
	Activity string     `json:"activity"`
}

// NodeClock says up to which moment of the logical clock a node has told of an instance.
type NodeClock struct {
	Node  string `json:"node"`
	Clock uint64 `json:"clock"`
	// Behind: others know of activities there that they have ended, and the node does not
	// tell so: they are unknown, with the reason.
	Behind bool `json:"behind,omitempty"`
}

// Ended says whether nothing more comes of an activity in this state.
func (s ActivityState) Ended() bool {
	return s == ActivityTerminated || s == ActivitySkipped || s == ActivityCancelled
}

// Removed says that retention has removed what a node had recorded of an instance that
// has ended. What the node then still tells of it is its state, at its origin.
type Removed struct {
	Node string    `json:"node"`
	Time time.Time `json:"time"`
}

// Activity is what is known of one activity of an instance. What never ran has a
// name, a node and a state only.
type Activity struct {
	Scope      string        `json:"scope,omitempty"` // as in HistoryEvent; of what is inside of a block that never began, without iteration
	Activity   string        `json:"activity"`
	Kind       string        `json:"kind,omitempty"` // KindProgram and so on; missing: the process has no blocks, or its node did not tell
	Node       string        `json:"node"`
	At         string        `json:"at,omitempty"`            // of a call: the node where its work is done
	Elements   *Elements     `json:"elements,omitempty"`      // of a bundle, as far as they are known
	Child      *InstanceID   `json:"child,omitempty"`         // of a subprocess: the instance that was begun last
	Of         string        `json:"child_process,omitempty"` // which is of NAME@VERSION
	State      ActivityState `json:"state"`
	Iterations int           `json:"iterations,omitempty"`
	Run        int           `json:"run,omitempty"`      // from 2 on: how often it was begun, with an operator's retries
	Attempts   int           `json:"attempts,omitempty"` // of this iteration, where there was more than one
	RC         *int64        `json:"rc,omitempty"`       // where it has run
	Reason     string        `json:"reason,omitempty"`   // of in-error, suspended, waiting for a repeat, and of what was ended by hand
	By         string        `json:"by,omitempty"`       // who has ended it by hand, or has given its output, as "alice at B"; of a manual activity who has claimed or done it, as "ann@ward"
	For        string        `json:"for,omitempty"`      // of a manual activity: whom that person stands in for
	Item       string        `json:"item,omitempty"`     // of a manual activity that is offered or claimed: its work item
	Started    time.Time     `json:"started,omitzero"`
	Ended      time.Time     `json:"ended,omitzero"`
	Due        time.Time     `json:"due,omitzero"`      // of what has not ended: its deadline, or of a wait the time at which it goes on
	Timeout    bool          `json:"timeout,omitempty"` // its deadline has ended it
	Error      string        `json:"error,omitempty"`   // why its last attempt failed, where it went on after that
	Waits      *EventWait    `json:"waits,omitempty"`   // of a receive that waits: for what
	// Restart is, of what has ended, that it is to run once more; Reason says who wants that, and whose answer is missing.
	Restart ActivityRestart `json:"restart,omitempty"`
	// Priority is that of what is ready, offered or running; missing: 4.
	Priority *int            `json:"priority,omitempty"`
	Output   json.RawMessage `json:"output,omitempty"`
	More     bool            `json:"more,omitempty"` // the output is left out: the answer would be too large
	// Input is what its program gets, of one that has not ended; over 64 KiB it is left out.
	Input json.RawMessage `json:"input,omitempty"`
	// Stderr has the last lines of its program's standard error, up to 2 KiB: of an attempt
	// that runs, or of the last one that failed.
	Stderr string `json:"stderr,omitempty"`
}

// EventWait says for which events a receive waits: the first that comes, of those with the key.
type EventWait struct {
	Events []string `json:"events"`
	Key    string   `json:"key,omitempty"` // missing: those without one
}

// Unreachable is a node that did not answer in time.
type Unreachable struct {
	Node      string    `json:"node"`
	LastHeard time.Time `json:"last_heard,omitzero"` // zero: never
	Reason    string    `json:"reason,omitempty"`    // why it did not answer, where it is heard
}

// ListRequest asks for the instances that were started at the node, newest first.
type ListRequest struct {
	All        bool            // also those that have ended
	Everywhere bool            // also those that were started at other sites, of the processes that this node has a part in
	State      InstanceState   // only those in this state; empty: in any. With finished and terminated, those that have ended; with suspended, those of which something is
	States     []InstanceState // instead of State: only those in one of these, of which none is unknown
	Process    string          // only those of NAME or NAME@VERSION; empty: of any process
	InError    bool            // only those with an activity in error
	Since      time.Time       // only those that were started then or later
	Until      time.Time       // only those that were started before
	Parent     InstanceID      // only those that activities of this instance have begun; uuid.Nil: all
	Activity   string          // only those of which something lies at this activity, at its node, or where it is in error
	StartedBy  string          // only those that this one has started
	Where      string          // only those of which the input fulfils this condition; with Process
	Search     []string        // only those that are found by all of these, as claim_id=C-17, due<2026-07-01 or name=Mei*, of members that the process declares; with Process
	WaitingOn  string          // only those of which messages wait for this node
	Oldest     bool            // the oldest start first
	Count      bool            // only how many there are: ListAnswer.Count
	After      InstanceID      // the last one of the page before; uuid.Nil: from the beginning
	Next       string          // instead of After: ListAnswer.Next of the page before
	Limit      int             // at most so many; 1 to MaxPage
}

// ListAnswer is one page. More: there may be others, after Next. A page may have fewer than
// were asked for, or none, and others may follow: what one answer may cost is bounded.
type ListAnswer struct {
	Instances   []Instance    `json:"instances"`
	More        bool          `json:"more"`
	Next        string        `json:"next,omitempty"`
	Unreachable []Unreachable `json:"unreachable,omitempty"` // sites where instances may have been started, and that did not answer
	Count       *ListCount    `json:"count,omitempty"`       // where it was asked for: of this page
}

// ListCount says how many instances a list has. What runs counts as running, also where nothing goes on in it, unless the
// state in-error is asked for. InError: how many of those have an activity in error.
type ListCount struct {
	Count   int                   `json:"count"`
	States  map[InstanceState]int `json:"states"`
	InError int                   `json:"in_error"`
}

// Add adds what others have.
func (c *ListCount) Add(others *ListCount) {
	c.Count += others.Count
	c.InError += others.InError
	for state, n := range others.States {
		c.States[state] += n
	}
}

// TerminateRequest says which instance is to end. Process: where another site has made up instances of
// other processes under its identifier, that of this one, NAME@VERSION.
type TerminateRequest struct {
	Process string `json:"process,omitempty"`
	Reason  string `json:"reason,omitempty"` // the operator's, for the history; at most MaxReason bytes
}

// Instance is one line of a list.
type Instance struct {
	Instance  InstanceID    `json:"instance"`
	Process   string        `json:"process"`
	Key       string        `json:"key,omitempty"`        // that it was started with
	StartedBy string        `json:"started_by,omitempty"` // as in Status
	Priority  *int          `json:"priority,omitempty"`   // as in Status
	Parent    *Parent       `json:"parent,omitempty"`     // as in Status
	State     InstanceState `json:"state"`
	InError   int           `json:"in_error,omitempty"`  // activities that told of an error; of a running instance
	Suspended bool          `json:"suspended,omitempty"` // it, or an activity of it, as far as its origin knows; of a running instance
	Started   time.Time     `json:"started,omitzero"`
	Ended     time.Time     `json:"ended,omitzero"`
	Origin    string        `json:"origin,omitempty"` // the node where it was started
	// Errors are its activities in error, where only instances with such were asked for; at
	// most 100.
	Errors []ActivityError `json:"errors,omitempty"`
}

// ActivityError is an activity in error. A long reason is cut; a status has it whole.
type ActivityError struct {
	Scope    string `json:"scope,omitempty"` // as in HistoryEvent
	Activity string `json:"activity"`
	Node     string `json:"node"`
	Reason   string `json:"reason,omitempty"`
}

// HistoryAnswer is an instance's history over all nodes, in the order of the logical
// clock, then of the node's name (invariant 14).
type HistoryAnswer struct {
	Events      []HistoryEvent `json:"events"`
	Unreachable []Unreachable  `json:"unreachable"`
	Removed     []Removed      `json:"removed,omitempty"` // nodes whose events are gone
	Clocks      []NodeClock    `json:"clocks,omitempty"`  // as in Status
	More        []string       `json:"more,omitempty"`    // as in Status
}

// Event names what happened; the words are API.
type Event string

const (
	EventStarted     Event = "started"    // the instance; activity source
	EventEnded       Event = "ended"      // the instance; activity sink
	EventTerminated  Event = "terminated" // an activity that ran
	EventSkipped     Event = "skipped"    // an activity on a dead path
	EventStopped     Event = "stopped"    // by an operator's terminate
	EventCancelled   Event = "cancelled"  // by another activity: the reason says which
	EventCancelling  Event = "cancelling" // some of what is inside of it was cancelled, before it is ended
	EventIterated    Event = "iterated"   // the exit condition was FALSE: once more
	EventFailed      Event = "failed"     // a failed attempt that will be repeated
	EventInError     Event = "in-error"
	EventRetried     Event = "retried"     // an operator's retry
	EventForced      Event = "forced"      // an operator has finished an activity by hand; its end follows
	EventRestarted   Event = "restarted"   // an operator has an activity run once more that had terminated
	EventRecalled    Event = "recalled"    // what an activity had sent is asked back, so that it can be restarted; or was taken out here, or cannot be: the reason says which
	EventEndKept     Event = "kept"        // a restart was given up: the reason says why; the activity's end stands
	EventDropped     Event = "dropped"     // a message to the activity, which had been set aside, will not take effect: by an operator's word
	EventAsked       Event = "asked"       // an operator asked that node for what the activity's node has to do
	EventAnswered    Event = "answered"    // an operator's word was not carried out; or its answer came to the node that was asked
	EventBegun       Event = "begun"       // an iteration of a block, or the instance of a subprocess
	EventReturned    Event = "returned"    // what is inside of a block has come to an end in an iteration; or that instance has
	EventSent        Event = "sent"        // an activity has sent an event
	EventReceived    Event = "received"    // a receive has taken an event
	EventPutBack     Event = "put-back"    // an event came for a receive that was over, or beside the one that it took: it is back in its place
	EventDecided     Event = "decided"     // with the first control connectors into it: about says of which activities they are
	EventRaced       Event = "raced"       // a connector into it came too late: about says what had won
	EventNotified    Event = "notified"    // a program of notify has run: the reason says which, and why it failed, if it did
	EventOffered     Event = "offered"     // a work item, to those who may have it; about, here as in the next: the item
	EventClaimed     Event = "claimed"     // somebody was given it
	EventReleased    Event = "released"    // it is offered again
	EventTransferred Event = "transferred" // somebody else was given it: about names him too
	EventSaved       Event = "saved"       // its draft was changed
	EventCompleted   Event = "completed"   // somebody has done it: the activity's end, or its next iteration, follows
	EventWithdrawn   Event = "withdrawn"   // it was taken from people before it was completed: the reason says why
	EventEscalated   Event = "escalated"   // a notice has come to people, or, where by says who, was taken off their worklists; about: the notice's item
	EventPassed      Event = "passed"      // what leads out of a dead activity was resolved, there or at another node, before its host ended it
	EventSuspended   Event = "suspended"   // the instance, with activity source, or an activity; by an operator
	EventResumed     Event = "resumed"     // a suspend was lifted, by an operator or since its time has come
	EventErased      Event = "erased"      // data of the instance were overwritten at that node, by an operator; about says which
	EventExpedited   Event = "expedited"   // the instance, with activity source, was given another priority, which about says; by an operator
)

// HistoryEvent is one line of history, and what watch gives.
type HistoryEvent struct {
	Clock     uint64    `json:"clock"`
	Time      time.Time `json:"time"`
	Node      string    `json:"node"`
	Scope     string    `json:"scope,omitempty"` // where the activity is: the composites around it, as in "documents#2"; empty: at the top
	Activity  string    `json:"activity"`
	Event     Event     `json:"event"`
	Iteration int       `json:"iteration,omitempty"`
	Run       int       `json:"run,omitempty"` // as in Activity
	Attempt   int       `json:"attempt,omitempty"`
	RC        *int64    `json:"rc,omitempty"`
	Reason    string    `json:"reason,omitempty"`
	About     string    `json:"about,omitempty"`    // of begun and returned of a subprocess: the instance; of sent, received and put-back: the event, NAME or NAME KEY; of decided and raced: the activities whose connectors counted
	By        string    `json:"by,omitempty"`       // who has done it by hand, as "alice at B": an operator's name, or user:NAME of a user of that machine
	For       string    `json:"for,omitempty"`      // whom that person stood in for
	Operator  string    `json:"operator,omitempty"` // who acted in that person's name (--as), as By of what is done by hand; of withdrawn: who has ended the activity, and By who had the item
	Stderr    string    `json:"stderr,omitempty"`   // of failed and in-error: the last lines of the program's standard error
}

// RefusedRequest asks for the messages that the node has set aside (L5), newest first.
type RefusedRequest struct {
	Before uint64 // the last number of the page before; 0: from the beginning
	Limit  int    // at most so many; 1 to MaxPage
}

// RefusedAnswer is one page. More: there are others after the last one.
type RefusedAnswer struct {
	Messages []Refused `json:"messages"`
	More     bool      `json:"more"`
}

// Refused is a message that a node took and could not let take effect. What cannot be
// read of it is missing.
type Refused struct {
	Number   uint64     `json:"number"` // at its node
	Time     time.Time  `json:"time"`
	From     string     `json:"from"` // the node that it came from, or whose activity sent it
	Kind     string     `json:"kind,omitempty"`
	Process  string     `json:"process,omitempty"`
	Instance InstanceID `json:"instance,omitzero"`
	Activity string     `json:"activity,omitempty"` // that it was for
	Source   string     `json:"source,omitempty"`   // activity that sent it
	Reason   string     `json:"reason"`
}

// NodesAnswer is the node asked, first, and its peers by name.
type NodesAnswer struct {
	Nodes []Node `json:"nodes"`
}

// NodeSelf is the state of the node that was asked; those of the others are states of
// their links.
const NodeSelf = "self"

// Node is a site as the node asked sees it.
type Node struct {
	Node      string    `json:"node"`
	State     string    `json:"state"` // NodeSelf, connected, connecting, waiting, stopped, unconfigured
	LastHeard time.Time `json:"last_heard,omitzero"`
	Waiting   uint64    `json:"waiting"` // messages held for it
	Reason    string    `json:"reason,omitempty"`
	Link      *Link     `json:"link,omitempty"`   // of a peer: all that is known of the link
	Broker    *Broker   `json:"broker,omitempty"` // of the node asked, if it has one
}

// WhyAnswer says what an instance waits for.
type WhyAnswer struct {
	Instance    InstanceID    `json:"instance"`
	Process     string        `json:"process"`
	State       InstanceState `json:"state"`
	Reason      string        `json:"reason,omitempty"` // as in Status
	By          string        `json:"by,omitempty"`     // as in Status
	Waits       []Wait        `json:"waits"`
	Unreachable []Unreachable `json:"unreachable"`
	Clocks      []NodeClock   `json:"clocks,omitempty"` // as in Status
	More        []string      `json:"more,omitempty"`   // as in Status
}

// Wait is one activity that does not go on, and why.
type Wait struct {
	Scope     string        `json:"scope,omitempty"` // as in HistoryEvent
	Activity  string        `json:"activity"`
	Node      string        `json:"node"`
	State     ActivityState `json:"state"`
	For       string        `json:"for"`                 // what it waits for, in words
	At        string        `json:"at"`                  // the node where that is
	Since     time.Time     `json:"since,omitzero"`      // when it began to wait
	Heard     bool          `json:"heard"`               // whether At answered just now
	LastHeard time.Time     `json:"last_heard,omitzero"` // when At was last heard; zero: never
	Child     *InstanceID   `json:"child,omitempty"`     // the instance of a subprocess that it waits for
	Instance  *InstanceID   `json:"instance,omitempty"`  // of a line about such an instance: that
	Due       time.Time     `json:"due,omitzero"`        // of the next attempt, where For says that it waits for that

	Input  json.RawMessage `json:"input,omitempty"`  // as in Activity; likewise Stderr
	Stderr string          `json:"stderr,omitempty"` // the last lines of its program's standard error
}

// RetryRequest lets an activity in error go on: its program runs again, with an input if there is one; or, with an
// output, counts as having given that with return code 0.
type RetryRequest struct {
	Scope    string          `json:"scope,omitempty"` // of the activity, as a status tells it
	Activity string          `json:"activity"`
	Input    json.RawMessage `json:"input,omitempty"`  // one JSON object, as the next
	Output   json.RawMessage `json:"output,omitempty"` // one JSON object
	Reason   string          `json:"reason,omitempty"` // the operator's, for the history; at most MaxReason bytes
	// Word is the identifier of the operator's word, a UUIDv7; without it the node makes one. A
	// word that was asked before is not asked again: what has come of it is told, or waited for.
	Word WordID `json:"word,omitzero"`
	// Asked says that Word was asked before: where the node does not know it, nothing is asked, and
	// the answer is CodeNotFound.
	Asked bool `json:"asked,omitempty"`
}

// HandRequest ends an activity by an operator's hand, whatever it does or waits for: by Finish it has run, with the
// output and return code 0; by Skip, without an output, what leads out of it is dead.
type HandRequest struct {
	Scope    string          `json:"scope,omitempty"` // as in RetryRequest
	Activity string          `json:"activity"`
	Output   json.RawMessage `json:"output,omitempty"` // of Finish: one JSON object
	Reason   string          `json:"reason,omitempty"` // as in RetryRequest, likewise the next
	Word     WordID          `json:"word,omitzero"`
	Asked    bool            `json:"asked,omitempty"`
}

// WordID identifies an operator's word.
type WordID = uuid.UUID

// WordResult is what has come of an operator's word.
type WordResult string

const (
	WordDone   WordResult = "done"
	WordQueued WordResult = "queued" // it is on disk, on its way to the activity's node, and done once that hears of it
)

// Word says what has come of an operator's word (N15). What is refused is an error.
type Word struct {
	Instance  InstanceID `json:"instance"`
	Scope     string     `json:"scope,omitempty"`
	Activity  string     `json:"activity,omitempty"` // missing: the instance
	Word      string     `json:"word"`               // retry, finish, skip, restart, withdraw, suspend or resume
	ID        WordID     `json:"id"`
	Result    WordResult `json:"result"`
	Reason    string     `json:"reason,omitempty"` // why it is queued; of a suspend, where it does not hold
	Node      string     `json:"node"`             // of the activity; of a suspend, where the instance was started
	LastHeard time.Time  `json:"last_heard,omitzero"`
}

// Place says where an activity lives.
type Place struct {
	Activity string `json:"activity"`
	Node     string `json:"node"`
	Inside   string `json:"inside,omitempty"` // the innermost block around it; empty: none
	// Each: it is a bundle, as far as the node can tell. At are the nodes at which the work of a call may be done.
	Each bool     `json:"each,omitempty"`
	At   []string `json:"at,omitempty"`
}

// Elements says how many elements of a bundle have come to what.
type Elements struct {
	Count     int `json:"count"`
	Done      int `json:"done"`
	Failed    int `json:"failed"`
	Cancelled int `json:"cancelled"`
	InError   int `json:"in_error"`
}
