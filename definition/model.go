package definition

import (
	"time"

	"fmqm/condition"
	"fmqm/container"
	"fmqm/processtable"
	"fmqm/schedule"
)

// Pos is a place in a file; lines and columns count from 1. Column counts characters.
type Pos struct {
	File   string
	Line   int
	Column int
}

// Process is a checked definition. Everything in it is resolved: names exist, types
// match, conditions are checked, default mappings are written out.
type Process struct {
	Pos         Pos
	Name        string
	Version     int
	Description string
	Structures  []*container.Type // in file order
	Input       *container.Type   // never nil: container.Empty where none is named
	Output      *container.Type
	Starts      []string // in file order, or the nodes of activities without predecessors
	Schedules   []*Schedule
	Deadline    *Moment  // of an instance, from its start; nil: none
	Events      []*Event // that it declares, in file order
	History     int      // iterations of each loop whose history is kept; 0: all
	Notify      []Notice // at the origin, over the input
	// Staff may start it, besides operators; Administrator is told when nobody may do a manual activity: neither reads data.
	// Both are nil where there are only operators.
	Staff, Administrator *Who
	Priority             *Priority // of its activities; nil: 4
	Search               []string  // members of the input that instances are found by, as paths, in file order
	Graph
}

// Bundle makes an activity one execution for each element of a list (N21). All else of the activity is
// of one execution, but for its start condition, its connectors, and whom it cancels.
type Bundle struct {
	Pos      Pos
	Member   string     // of the activity's input, which takes one element; empty: each element is a whole input
	Parallel int        // elements that are under way at once, at most
	Until    *Condition // over _COUNT, _DONE and _FAILED; nil: it does not end before all have returned
	Failed   *Condition // over one execution's output and _RC; nil: nothing more counts as failed
	// Input is what connectors from outside lead to: that of one execution with Member as a list, or the one
	// member _STRUCT. Output has _COUNT, _DONE and _FAILED, and those of _RESULTS, _ERRORS and _RCS that anything
	// outside reads.
	Input, Output *container.Type
}

// Call says at which of several nodes an activity is done (N20).
type Call struct {
	Pos  Pos
	Node *Condition // over the input: a string, one of Of
	Of   []string   // in file order, sets written out
}

// Schedule says when a node starts instances of the process by itself (N23).
type Schedule struct {
	Pos         Pos
	Node        string // one of Starts
	Rule        schedule.Rule
	Input       *container.Struct // nil: the defaults
	Due         string            // the member of the input that takes the time; empty: none
	Missed      processtable.Missed
	SkipOverlap bool
}

// Graph is what a process consists of, or a block: activities with the connectors between them.
// In its connectors "source" is the input, in those of data "sink" the output, of what the graph is of.
type Graph struct {
	Activities []*Activity
	Control    []*Control
	Data       []*Data
}

// StartKind is the form of a start condition.
type StartKind uint8

const (
	StartAll        StartKind = iota + 1 // every incoming control connector is TRUE; also without predecessors
	StartAny                             // at least one
	StartAtLeast                         // at least N
	StartExpression                      // Text over the names of the predecessors
	StartFirst                           // the first N that are TRUE, without waiting for the others
)

// Start is a start condition, evaluated once, when every incoming connector is resolved; of StartFirst
// as soon as that is decided.
type Start struct {
	Kind    StartKind
	N       int
	Text    string // canonical
	Written string // as the file has it
	Pos     Pos
	Asks    bool // it asks how predecessors ended: ran(X), skipped(X) or failed(X)
}

// Condition is a checked transition or exit condition, or an expression.
type Condition struct {
	Checked condition.Checked // its Text is canonical
	Written string            // as the file has it
	Pos     Pos
}

// OnRC says what a return code other than 0 means.
type OnRC uint8

const (
	OnRCDefault  OnRC = iota // data if a condition or mapping of this activity reads _RC, else a failed attempt
	OnRCContinue             // always data
	OnRCError                // always a failed attempt
)

// Defaults of activities, where the file says nothing.
const (
	DefaultMaxIterations = 10_000
	DefaultAgainAfter    = time.Second
	DefaultAgainMax      = time.Minute
	DefaultRetryBackoff  = time.Second
	DefaultRetryMax      = time.Minute
	DefaultParallel      = 100
)

// Moment is a time at which something is over (N23).
type Moment struct {
	Pos   Pos
	At    bool       // it is a time of the calendar; else it is counted from when the activity was decided
	Fixed int64      // where there is no Expr: nanoseconds, since 1970 or to be counted; above 0
	Expr  *Condition // over the input: of type timestamp, or duration

	unread bool // what is written was reported: nothing else is said of it
}

// Child is a process of which an activity begins an instance (N19).
type Child struct {
	Pos     Pos
	Name    string
	Version int // 0: the highest that is current at the activity's node when it begins
}

func (c *Child) String() string {
	return processtable.ProcessID{Name: c.Name, Version: c.Version}.String()
}

// Activity is one step. Exactly one of Program, Empty, Block, Child, Wait, Receive, Send and Staff is set. Its name is unique in the
// process, whatever it is inside of.
type Activity struct {
	Pos           Pos
	Name          string
	Description   string
	Node          string
	Program       string
	Empty         bool
	Block         *Graph                   // done by these, once more until Exit is TRUE (N18)
	Wait          *Moment                  // then it does as an empty one (N23)
	Child         *Child                   // done by an instance of this process (N19)
	Bundle        *Bundle                  // nil: it is done once
	Call          *Call                    // nil: it is done at Node
	Independent   bool                     // what ends the activity early does not end that
	Receive       *Receive                 // it waits for an event (N24)
	Send          *Send                    // then it does as an empty one (N24)
	Staff         *Who                     // done by one of these (N27)
	Title         []processtable.TitlePart // of a manual one, for people; none: its name
	OfferedAt     []string                 // of a manual one: to whose people it is offered, by their nodes; nil: those of Node
	Priority      *Priority                // nil: the process's
	Input, Output *container.Type          // never nil
	NoOutput      bool                     // the file names no output
	Start         Start
	FirstMatch    bool       // of the control connectors out of it only the first one that is TRUE counts, in file order
	Exit          *Condition // nil: always TRUE
	MaxIterations int
	AgainAfter    time.Duration
	AgainMax      time.Duration
	RetryAttempts int // all tries; at least 1
	RetryBackoff  time.Duration
	RetryMax      time.Duration
	OnRC          OnRC
	RCIsData      bool     // OnRC, resolved
	Deadline      *Moment  // nil: none (N23)
	Notify        []Notice // beside the work, at home, over the input (N23, N27)
	Continues     bool     // with _ERROR after the last attempt; else it waits for an operator (N22)
	Cancels       []string // others of the same graph, when it has run (N25)
}

// Words are those of the engine that the activity's conditions and mappings can read, beside _RC,
// where no member of its output hides them.
func (a *Activity) Words() condition.Words {
	var words condition.Words
	if a.Deadline != nil {
		words |= condition.WordTimeout
	}
	if a.Continues {
		words |= condition.WordError
	}
	if a.Receive != nil {
		words |= condition.WordEvent
	}
	if a.Staff != nil {
		words |= condition.WordBy
	}
	return words
}

// Takes is the container that connectors from others lead to, Gives the one that they come from: of a bundle
// other ones than those of one execution.
func (a *Activity) Takes() *container.Type {
	if a.Bundle != nil {
		return a.Bundle.Input
	}
	return a.Input
}

// Gives is described at Takes.
func (a *Activity) Gives() *container.Type {
	if a.Bundle != nil {
		return a.Bundle.Output
	}
	return a.Output
}

// Outside are the words of the engine that conditions and mappings of connectors to others can read.
func (a *Activity) Outside() condition.Words {
	if a.Bundle != nil { // its words are members of what it gives
		return 0
	}
	return a.Words()
}

// Control is a control connector. With neither Condition nor Otherwise it is TRUE
// whenever its source ran. Source may be "source": then Condition is over the input of what the
// graph is of, and Otherwise about the connectors out of source that have a condition. What no
// connector leads to starts with source, without one that says so.
type Control struct {
	Pos            Pos
	Source, Target string
	Condition      *Condition
	Otherwise      bool
}

// Data is a data connector, with its mappings written out. Source may be "source",
// Target "sink"; both the same activity is the feedback of a loop.
type Data struct {
	Pos            Pos
	Source, Target string
	Mappings       []Mapping
}

// Mapping assigns one member (or _RC, if RC is set, or a word of the engine, or what Expr gives) of the
// source's output container to one member of the target's input container. Type is the type of both;
// where it appends, To leads to a list of that, of which it makes one more element.
type Mapping struct {
	Pos            Pos
	RC             bool
	Word           condition.Words // 0: none
	Expr           *Condition      // over the output; nil: it copies
	OfWords        bool            // Expr reads words of the engine, or _RC, and no member
	Append         bool
	From, To       container.Path
	Type           *container.Type
	Source, Target string // as written
}
