package processtable

import (
	"crypto/ed25519"
	"slices"
	"strconv"
	"time"

	"fmqm/condition"
	"fmqm/container"
)

// FormatVersion is the newest version of the table format. This code reads and writes
// all versions from 1 on (L6): version 2 added Detours and Resolvers (N6), version 4 rows with
// a behaviour of their own, and those inside of composites (N10), version 5 blocks (N18) with what
// is inside of them in the roster, choices of the first match, and conditions out of source, version 6
// subprocesses (N19), schedules (N23), mappings that work out what they set or append it to a list, and
// start conditions that ask how activities ended, version 7 bundles and calls (N20, N21), events (N24), and activities at Origin. There is no version 3:
// links have that number for tables in an envelope (EnvelopeFormat). Version 8 added what people do (N27), and
// priorities, version 9 what instances are found by, and notices of what has happened to them.
const FormatVersion = 9

// NodeFormat is the newest version of tables that nodes take, and say that they read. It is below FormatVersion
// while the compiler knows more than nodes can do.
const NodeFormat = 9

// FlowMarkFormat is the lowest version that says all of a process whose activities are
// FlowMark's, and outside of composites, BlockFormat the one of a process with what version 5 has,
// ModelFormat of one with what only version 6 has, BundleFormat, PeopleFormat and SearchFormat the same of versions 7 to 9: the compiler writes the
// lowest that will do. From ModelFormat on a control connector's message says how its activity has ended.
const (
	FlowMarkFormat = 2
	BlockFormat    = 5
	ModelFormat    = 6
	BundleFormat   = 7
	PeopleFormat   = 8
	SearchFormat   = 9
	ToldFormat     = 9 // of a process that tells of what happens to its instances
	AwayFormat     = 9 // of one with notices for people of what is offered beside its home
)

// HasFormat says whether there is a version of the table format, and this code knows it.
func HasFormat(version int) bool {
	return 1 <= version && version <= FormatVersion && version != EnvelopeFormat
}

// Limits of a row of format 4.
const (
	MaxSpec = 256 << 10 // bytes of a Spec
	MaxPath = 16        // composites around an activity (N10)
)

// MaxScope is how long the scope of a message may be, in bytes.
const MaxScope = 1024

// ScopeSize is how long a scope with this static path can be, in bytes.
func ScopeSize(path []Composite) int {
	const run, element, slash = len("~2147483647"), len("[99999]"), len("/")
	size := -slash
	for _, c := range path {
		size += len(c.Activity) + run + slash
		if c.Iterations > 0 {
			size += len("#") + len(strconv.Itoa(c.Iterations))
		}
		if c.Elements {
			size += element
		}
	}
	return max(0, size)
}

// MaxEncoded is the size limit of one encoded table, in bytes.
const MaxEncoded = 8 << 20

type (
	// NodeID names a site.
	NodeID string
	// ActivityID names an activity within its process.
	ActivityID string
	// ProgramID names a program of a node's configuration.
	ProgramID string
	// BehaviourID names what gives the messages of a row their meaning; empty: FlowMark's.
	BehaviourID string
)

// Origin stands in a table for "the node where the instance was started": the
// place of sink, which no table can know (N1), and from format 7 on of activities (N20).
const Origin NodeID = "@origin"

// The two activities that the compiler adds (N1).
const (
	Source ActivityID = "source"
	Sink   ActivityID = "sink"
)

// ProcessID is name@version.
type ProcessID struct {
	Name    string
	Version int
}

// DefinitionHash is the SHA-256 of a definition's canonical form: its meaning, not
// its layout, comments, or the bytes a compiler made of it.
type DefinitionHash [32]byte

// ShortHash is how messages carry a DefinitionHash: its first 8 bytes.
type ShortHash [8]byte

// Short gives the form that messages carry.
func (h DefinitionHash) Short() ShortHash { return ShortHash(h[:8]) }

// Table is all that one node needs of one process.
type Table struct {
	Format     int // of its encoded form; all tables of one compilation have the same
	Process    ProcessID
	Node       NodeID // whose table this is
	Definition DefinitionHash
	Roster     []Place  // every activity of the process, in file order, without source and sink
	Starts     []NodeID // where an instance may be started; those nodes' tables hold source and sink, and what is at Origin
	Input      *container.Type
	Output     *container.Type
	Activities []*Activity // those hosted here, in file order; a block's source and sink behind it; at start nodes the process's source first and sink last
	Detours    []Detour    // in the roster's order; from format 2 on
	Resolvers  []Resolver  // by node; from format 2 on
	Schedules  []Schedule  // by which instances are started at this node, in file order; from format 6 on
	Children   int         // instances that activities of the process may have begun at once, at all nodes: of each subprocess one, times Parallel of the bundles around it; from format 6 on
	Workers    []Worker    // of the calls of the process, at all nodes, in the roster's order; from format 7 on
	History    int         // of each loop the iterations of which the audit is kept; 0: all. From format 7 on

	// Starters may start instances, besides operators; nil: only these. Administrator is whom the process's node tells when
	// nobody may do a manual activity, and who may transfer it; nil: operators. Neither reads data or asks for
	// doers. Priority is that of activities which have none of their own; nil: DefaultPriority. From format 8 on.
	Starters, Administrator *Who
	Priority                *Priority // over the process's input

	// Search are members of the input that instances are found by, as paths, in file order: at nodes where they may be
	// started. From format 9 on.
	Search []string

	// Deadlines: an activity that its deadline has ended tells the instance's origin, where notices of the process are about that. From
	// format 9 on.
	Deadlines bool

	// Definer is who signed the encoded form; nil: nobody. Terms are his, if the signature is
	// of version 2. Encode leaves both out, Sign and SignFor add them.
	Definer ed25519.PublicKey
	Terms   Terms

	index *index // look-ups; nil in a table that was not decoded
}

// Detour is an activity of another node whose outgoing connectors this node resolves
// on that node's behalf, once the only control connector into it is FALSE (N6): so a
// dead path passes around a node that is down. The targets are in file order.
type Detour struct {
	Activity   ActivityID
	OutControl []ActivityID
	OutData    []ActivityID
}

// Resolver is a node that may resolve, on the behalf of their host, the connectors of
// activities that lead into this table's (N6, invariant 11); FALSE and "no data" only.
type Resolver struct {
	Node       NodeID       // or Origin, from format 7 on
	Activities []ActivityID // in the roster's order
}

// Worker says where the work of a call is done (N20), or a manual activity is offered beside its home (N27): each of the nodes
// has a row for it, of the same name.
type Worker struct {
	Activity ActivityID
	Each     bool     // it is done for each element of a bundle, which has the same name
	Nodes    []NodeID // as in Call.Of, or those of Manual.Offered that are not the home
}

// Place says where an activity lives.
type Place struct {
	Activity ActivityID
	Node     NodeID     // or Origin, from format 7 on
	Inside   ActivityID // the innermost composite around it, which stands before it; empty: none. From format 5 on
}

// RowID names an activity of a process, with its sources and sinks: every block has these two of
// its own, so that the name alone does not say which.
type RowID struct {
	Name   ActivityID
	Inside ActivityID // the innermost composite around it; empty: none
	// Begun tells the rows of one name apart, of which each is begun by the one before: how many composites around
	// it, innermost first, have its name. 0: nothing of its name is around it.
	Begun uint8
}

// RowAt names the row of an activity with this static path.
func RowAt(name ActivityID, path []Composite) RowID {
	row := RowID{Name: name}
	for i, c := range slices.Backward(path) {
		if i == len(path)-1 {
			row.Inside = c.Activity
		}
		if c.Activity != name {
			break
		}
		row.Begun++
	}
	return row
}

// Kind is what sort of step an activity of FlowMark is. The numbers are part of the stored format.
type Kind uint8

const (
	KindProgram Kind = 1 // invokes a registered program
	KindEmpty   Kind = 2 // routing only: echo, with _RC 0
	KindSource  Kind = 3 // terminates when the instance is started; its output is the process's input. A block's: when an iteration begins, and the block's
	KindSink    Kind = 4 // terminates when everything has; its input is the process's output. A block's: when an iteration has ended, and the block's
	KindBlock   Kind = 5 // its work is done by the activities inside of it (N18); from format 5 on
	KindWait    Kind = 6 // terminates when its time has come, as an empty one (N23); from format 5 on

	KindProcess Kind = 7 // its work is done by an instance of another process (N19); from format 6 on

	KindBundle Kind = 8 // its work is done by one execution for each element of a list (N21); from format 7 on
	KindCall   Kind = 9 // its work is done at a node that its input names (N20); from format 7 on

	KindReceive Kind = 10 // terminates with an event that it takes (N24); from format 7 on
	KindSend    Kind = 11 // terminates at once, as an empty one, and sends an event (N24); from format 7 on

	KindManual Kind = 12 // its work is done by a person (N27); from format 8 on
)

// Activity is one row of a process table: paper §3.2, the list of what an entry has.
//
// What a node knows of a row, whatever its behaviour, are its name, its place and its ports:
// the program that it may invoke, its containers, and the connectors that lead in and out. A
// row of another behaviour than FlowMark's has these, and in Spec what only its behaviour
// reads. All else is FlowMark's.
type Activity struct {
	Name      ActivityID
	Behaviour BehaviourID // from format 4 on
	Spec      []byte      // from format 4 on; at most MaxSpec bytes, none of FlowMark's
	Path      []Composite // what it is inside of, outermost first; from format 4 on (N10)
	Program   ProgramID   // empty: it invokes none

	Input  *container.Type // never nil; the empty structure where the definition names none
	Output *container.Type

	InControl  []InControl  // in file order; Logic's variables are indexes into it
	OutControl []OutControl // in file order; conditions are FlowMark's
	InData     []InData     // in file order: the order in which mappings apply (N8)
	OutData    []OutData

	Kind Kind
	// NoOutput: the definition names no output, so what the program prints is log.
	NoOutput      bool
	Start         condition.Logic
	Exit          *condition.Checked // nil: always TRUE
	Feedback      []Mapping          // output (and _RC) onto the next iteration's input
	MaxIterations int
	Again         Backoff // between iterations, from the fourth quick one (N9)
	Retry         Retry
	// RCIsData: something of this activity reads _RC, or on_rc says continue, so a
	// return code other than 0 is data; otherwise it is a failed attempt.
	RCIsData bool
	// Deadline is when the activity is ended, counted from when it was decided (N23), Wait when
	// one of KindWait goes on; nil: never. From format 5 on, as the next three.
	Deadline, Wait *Moment
	// Continues: when no attempt is left the activity terminates, and _ERROR says why; a block
	// terminates when something inside of it would wait for an operator (N22).
	Continues bool
	// Cancels are activities of the same graph that are cancelled when the activity has run,
	// CancelledBy those that may cancel it (N25).
	Cancels     []Place
	CancelledBy []ActivityID
	// FirstMatch: of OutControl, in its order, only the first that is TRUE is; from format 5 on.
	FirstMatch bool
	// Child is the process of which one of KindProcess begins an instance, Independent that what ends
	// the activity early does not end that (N19); from format 6 on.
	Child       *Child
	Independent bool
	// Bundle is what one of KindBundle has of its elements, Call where what one of KindCall has begun is
	// done; from format 7 on.
	Bundle *Bundle
	Call   *Call
	// Receive is what one of KindReceive waits for, Send what one of KindSend sends; from format 7 on.
	Receive *Receive
	Send    *Send
	// First: it is decided TRUE with this many of the incoming control connectors TRUE, without the others,
	// and FALSE once so many cannot be; Start says the same of them all. 0: all are waited for (N14). From format 7 on.
	First int
	// Notify are programs that run, and notices that people are shown, beside the work, once each or again and again, which nobody waits for: those of
	// sink, of the process, over its input and at the origin (N23). From format 7 on.
	Notify []Notice
	// Manual is what one of KindManual has, Priority the activity's own; nil: the process's. From format 8 on.
	Manual   *Manual
	Priority *Priority
	// RCContinue: on_rc: continue is written, so also an HTTP status that would be a
	// failed attempt is data (P3).
	RCContinue bool
}

// Bundle is what an activity with a list of elements has beside other activities (N21). The row of one
// execution is another one, of the same name and inside of it: it has no connectors, its input is
// that of one element, and what is done, repeated and limited is its own.
//
// The bundle's own Input is that of one execution with Member as a list of its type, or the one
// member _STRUCT, a list of whole inputs. Its Output has _COUNT, _DONE and _FAILED (numbers), and those of
// the members _RESULTS (the outputs), _ERRORS (texts) and _RCS that anything reads.
type Bundle struct {
	Member   string             // of one execution's input; empty: each element is a whole input
	Parallel int                // elements that are under way at once, at most; 1 to MaxParallel
	Until    *condition.Checked // over _COUNT, _DONE and _FAILED: TRUE ends it early; nil: it does not end early
	Failed   *condition.Checked // over one execution's output and _RC: TRUE counts it as failed; nil: nothing more does
}

// MaxParallel is how many elements of a bundle may be under way at once.
const MaxParallel = 1000

// Call says where the work of an activity is done (N20): what does it there is another row, of the same
// name and inside of it, in the table of each node of Of. It has its exit condition, feedback and retries;
// the call has the connectors, the deadline, and what goes on after errors.
type Call struct {
	Node *condition.Checked // over the input, a text: one of Of, else the activity is in error
	Of   []NodeID           // in file order; they may include the call's own node
}

// Child says of which process an instance is begun: of the version, or, where that is 0, of the
// highest that the activity's home has when it begins.
type Child struct {
	Name    string
	Version int
}

func (c Child) String() string { return ProcessID(c).String() }

// Composite is one step of the static path to an activity: a block or a bundle around it. A
// message's scope has a frame for each (N10).
type Composite struct {
	Activity ActivityID
	// Iterations is how often it may be repeated, from 1 on; 0: it is not, and its frames have no
	// iteration.
	Iterations int
	// Elements: it is a bundle, and each of its frames is of one element.
	Elements bool
	// Catches: what would wait for an operator inside of it is told to it (N22). From format 5 on.
	Catches bool
}

// Moment is a time at which something is over.
type Moment struct {
	At    bool               // it is a time of the calendar; else it is counted from when the activity was decided
	Fixed int64              // where there is no Expr: nanoseconds, since 1970 or to be counted
	Expr  *condition.Checked // over the input, a timestamp or a duration
}

// Row names the row.
func (a *Activity) Row() RowID { return RowAt(a.Name, a.Path) }

// Begun says whether the row is one execution of a bundle, or what a call has done: such a one has no
// connectors, and begins with a message of the row around it, which has its name.
func (a *Activity) Begun() bool { return a.Inside() == a.Name }

// Inside is the innermost composite around the activity; empty: none.
func (a *Activity) Inside() ActivityID {
	if n := len(a.Path); n > 0 {
		return a.Path[n-1].Activity
	}
	return ""
}

// Inner is the step of the static path to what is inside of a block, or of a bundle or a call to what that
// begins.
func (a *Activity) Inner() Composite {
	switch {
	case a.Kind == KindBundle:
		return Composite{Activity: a.Name, Elements: true}
	case a.Kind == KindCall:
		return Composite{Activity: a.Name, Iterations: 1}
	}
	c := Composite{Activity: a.Name, Iterations: 1, Catches: a.Continues}
	if a.Exit != nil {
		c.Iterations = a.MaxIterations
	}
	return c
}

// Words are those of the engine that the activity's conditions and mappings may read, beside _RC.
func (a *Activity) Words() condition.Words {
	var words condition.Words
	if a.Kind == KindSource {
		words |= condition.WordInstance
		if len(a.Path) == 0 {
			words |= condition.WordBy
		}
	}
	if a.Kind == KindManual {
		words |= condition.WordBy
	}
	if a.Deadline != nil || a.Begun() { // a call has the deadline of its work, which ends without that word
		words |= condition.WordTimeout
	}
	if a.Continues || a.Begun() {
		words |= condition.WordError
	}
	if a.Kind == KindReceive {
		words |= condition.WordEvent
	}
	return words
}

// Added reports that the compiler has added the activity: it is source or sink (N1, N18).
func (a *Activity) Added() bool { return a.Name == Source || a.Name == Sink }

// Backoff is a wait that doubles from After up to Max.
type Backoff struct{ After, Max time.Duration }

// Retry says how often a failed attempt is repeated. Attempts counts all tries; at
// least 1.
type Retry struct {
	Attempts int
	Backoff  Backoff
}

// InControl is an incoming control connector.
type InControl struct{ From ActivityID }

// OutControl is an outgoing control connector with its transition condition: the
// paper's "t4, Q_D,0, CONDITION". With neither Condition nor Otherwise it is TRUE
// whenever its source ran. Out of source, from format 5 on, Condition is over its output, and
// Otherwise is about those that have one: what begins in any case is not beside the choice.
type OutControl struct {
	To        ActivityID
	Node      NodeID // where To lives, or Origin
	Condition *condition.Checked
	Otherwise bool
}

// InData is an incoming data connector with its filter.
type InData struct {
	From     ActivityID
	Mappings []Mapping
}

// OutData is an outgoing data connector. Sent are the values of the Mappings'
// sources, in order; the receiver's InData has the same mappings.
type OutData struct {
	To       ActivityID
	Node     NodeID
	Mappings []Mapping
}

// Mapping assigns one member of a source container (or _RC) to one member of a
// target container. Type is the type of both ends; where it appends, To leads to a list of
// that. Where the path leads to a structure all its leaves are assigned.
type Mapping struct {
	RC   bool            // the source is _RC and From is empty
	Word condition.Words // the source is this word of the engine, and From is empty; from format 5 on
	// Expr is worked out over the source container, and From is empty; from format 6 on, as the next two.
	Expr *condition.Checked
	// OfWords: Expr reads words of the engine and no member, so that it is sent like these where the
	// activity did not end by itself.
	OfWords bool
	Append  bool // what is assigned is one more element at the end of the list that To leads to
	Did     bool // it is a hidden connector's (Manual), and assigns nothing; from format 8 on
	From    container.Path
	To      container.Path
	Type    *container.Type
	Source  string // both ends as written, for people
	Target  string
}

// Pause is the n-th wait, counting from 0: After, doubled n times, at most Max.
func (b Backoff) Pause(n int) time.Duration {
	d := b.After
	for range n {
		if d >= b.Max {
			break
		}
		d *= 2
	}
	return min(d, b.Max)
}
