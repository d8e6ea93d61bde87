package processtable

import (
	"cmp"
	"errors"
	"fmt"

	"fmqm/condition"
	"fmqm/container"
	"fmqm/internal/cbor"
)

// The format. A table is a map with small whole numbers as keys, deterministic CBOR
// throughout; a field with its zero value is left out. Structures and conditions are
// written once, in the order of first use, and referred to by index; a structure
// refers only to structures before it. A type is the number of its kind, or
// [Structure, index], or [List, type]. A place is an index into the roster, or the
// number behind its last for sink.
const (
	keyFormat     = 1
	keyProcess    = 2
	keyVersion    = 3
	keyNode       = 4
	keyDefinition = 5
	keyRoster     = 6 // list of [activity, node], from format 5 on with the place, counted from 1, of the composite around it, or 0; node may be Origin from format 7 on
	keyStarts     = 7
	keyStructures = 8
	keyConditions = 9
	keyInput      = 10
	keyOutput     = 11
	keyActivities = 12
	keyDetours    = 13 // from format 2 on: list of [place, places, places]
	keyResolvers  = 14 // from format 2 on: list of [node, places]
	keySchedules  = 15 // from format 6 on
	keyChildren   = 16 // from format 6 on
	keyWorkers    = 17 // from format 7 on: list of [place, each, nodes]
	keyHistory    = 18 // from format 7 on

	keyStarters      = 19 // from format 8 on, as the next two
	keyAdministrator = 20
	keyPriorities    = 21 // the priority of the process
	keySearch        = 22 // from format 9 on, as the next: list of paths
	keyDeadlines     = 23
)

// Keys of an activity.
const (
	keyName          = 1
	keyKind          = 2
	keyProgram       = 3
	keyActInput      = 4
	keyActOutput     = 5
	keyNoOutput      = 6
	keyInControl     = 7 // list of activities
	keyStart         = 8
	keyOutControl    = 9
	keyInData        = 10
	keyOutData       = 11
	keyExit          = 12
	keyFeedback      = 13
	keyMaxIterations = 14
	keyAgain         = 15 // [after, max] in nanoseconds
	keyRetry         = 16 // [attempts, after, max]
	keyRCIsData      = 17
	keyRCContinue    = 18
	keyBehaviour     = 19 // from format 4 on, as the next two
	keySpec          = 20
	keyPath          = 21 // list of [activity, iterations, elements], from format 5 on with catches
	keyFirstMatch    = 22 // from format 5 on
	keyMore          = 23 // from format 5 on: a map
)

// Keys of what an activity has from format 5 on.
const (
	keyDeadline    = 1
	keyWait        = 2
	keyContinues   = 3
	keyCancels     = 4 // list of [activity, node]
	keyCancelledBy = 5
	keyChild       = 6 // from format 6 on, as the next: [process, version]
	keyIndependent = 7
	keyMember      = 8 // from format 7 on, as all to 13; the first four are of a bundle
	keyParallel    = 9
	keyUntil       = 10 // index of a condition, as the next
	keyFailed      = 11
	keyCallNode    = 12 // index of a condition; with the next, of a call
	keyCallOf      = 13 // list of nodes

	keyReceive = 18 // from format 7 on, as the next: a map
	keySend    = 19

	keyFirst  = 14 // from format 7 on
	keyNotify = 16 // from format 7 on: list of notices
)

// Keys of a connector: the other end, where it lives, and what the connector has.
const (
	keyEnd       = 1
	keyEndNode   = 2
	keyCondition = 3
	keyOtherwise = 4
	keyMappings  = 5
)

// Keys of a mapping.
const (
	keyRC     = 1
	keyFrom   = 2
	keyTo     = 3
	keyType   = 4
	keySource = 5
	keyTarget = 6
	keyWord   = 7 // from format 5 on
	keyWorked = 8 // from format 6 on, as the next two: index of a condition
	keyOfWord = 9
	keyAppend = 10
	keyDid    = 11 // from format 8 on
)

// Keys of a moment.
const (
	keyAt     = 1
	keyFixed  = 2
	keyMoment = 3 // index of a condition
)

// Keys of a start condition's tree.
const (
	keyOp   = 1
	keyVar  = 2
	keyN    = 3
	keyArgs = 4
)

// Keys of a checked condition.
const (
	keyText    = 1
	keyExpr    = 2
	keyReadsRC = 3
	keyMacros  = 4
	keyReads   = 5 // from format 5 on
)

// TooLarge says that a table would be over MaxEncoded.
type TooLarge struct {
	Process ProcessID
	Node    NodeID
	Bytes   int
}

func (e *TooLarge) Error() string {
	return fmt.Sprintf("%s takes %d bytes, above the limit of %d: split the process, or host fewer of its activities at one node",
		QueueName(e.Process, e.Node), e.Bytes, MaxEncoded)
}

// Encode gives the stored and sent form of a table: the same bytes for the same
// table, always. It refuses a table that Decode would refuse, and one over MaxEncoded:
// then the error is a *TooLarge.
func Encode(t *Table) ([]byte, error) {
	b, _, err := EncodeAsRead(t)
	return b, err
}

// EncodeAsRead is Encode, and gives the table as who reads those bytes has it.
func EncodeAsRead(t *Table) ([]byte, *Table, error) {
	b, err := encode(t)
	if err != nil {
		return nil, nil, fmt.Errorf("encode process table: %w", err)
	}
	read, err := decode(b)
	if err != nil {
		return nil, nil, fmt.Errorf("encode process table: %w", err)
	}
	return b, read, nil
}

func encode(t *Table) ([]byte, error) {
	if t == nil {
		return nil, errors.New("there is no table")
	}
	if !HasFormat(t.Format) {
		return nil, fmt.Errorf("%w %d: this version writes formats %s", ErrFormat, t.Format, knownFormats)
	}
	e := &encoder{
		types:      typeWriter{byType: map[*container.Type]int{}, byBody: map[string]int{}},
		conditions: map[conditionKey]int{},
		flat:       t.flat(),
	}
	input := e.structure("input", t.Input)
	output := e.structure("output", t.Output)
	activities := make([][]byte, len(t.Activities))
	for i, a := range t.Activities {
		if a == nil {
			return nil, fmt.Errorf("%s: activity %d is nil", QueueName(t.Process, t.Node), i)
		}
		if t.flat() && a.whole() {
			return nil, fmt.Errorf("%s: activity %s: format %d has no words of the engine but _RC, no deadlines, waits and cancelling, and nothing that goes on after errors", QueueName(t.Process, t.Node), a.Name, t.Format)
		}
		if t.Format < 4 && (a.Behaviour != "" || len(a.Spec)+len(a.Path) > 0) {
			return nil, fmt.Errorf("%s: activity %s: format %d has no behaviours and no composites", QueueName(t.Process, t.Node), a.Name, t.Format)
		}
		if t.Format < ModelFormat && (a.Child != nil || a.Independent) {
			return nil, fmt.Errorf("%s: activity %s: format %d has no subprocesses", QueueName(t.Process, t.Node), a.Name, t.Format)
		}
		if t.Format < BundleFormat && (a.Bundle != nil || a.Call != nil) {
			return nil, fmt.Errorf("%s: activity %s: format %d has no bundles and no calls", QueueName(t.Process, t.Node), a.Name, t.Format)
		}
		if t.Format < BundleFormat && (a.First != 0 || len(a.Notify) > 0) {
			return nil, fmt.Errorf("%s: activity %s: format %d has no start with the first connectors, and no notices", QueueName(t.Process, t.Node), a.Name, t.Format)
		}
		if t.Format < PeopleFormat && a.people() {
			return nil, fmt.Errorf("%s: activity %s: format %d has nothing that people do, and no priorities", QueueName(t.Process, t.Node), a.Name, t.Format)
		}
		if t.Format < ModelFormat && a.asks() {
			return nil, fmt.Errorf("%s: activity %s: format %d has no mappings that work out or append, and no start condition that asks how activities ended", QueueName(t.Process, t.Node), a.Name, t.Format)
		}
		if t.Format < BundleFormat && a.events() {
			return nil, fmt.Errorf("%s: activity %s: format %d has no events", QueueName(t.Process, t.Node), a.Name, t.Format)
		}
		if t.flat() && a.FirstMatch {
			return nil, fmt.Errorf("%s: activity %s: format %d has no choice of the first match", QueueName(t.Process, t.Node), a.Name, t.Format)
		}
		activities[i] = e.activity(a)
	}
	last, err := e.lastOf(t)
	if err = cmp.Or(e.err, err); err != nil {
		return nil, fmt.Errorf("%s: %w", QueueName(t.Process, t.Node), err)
	}

	m := cbor.BeginMap(nil)
	m.Int(keyFormat, int64(t.Format))
	m.Text(keyProcess, t.Process.Name)
	m.Int(keyVersion, int64(t.Process.Version))
	m.Text(keyNode, string(t.Node))
	m.Key(keyDefinition)
	m.B = cbor.AppendBytes(m.B, t.Definition[:])
	if t.Format < BundleFormat && t.OriginHosts() {
		return nil, fmt.Errorf("%s: format %d has no activities where the instance was started", QueueName(t.Process, t.Node), t.Format)
	}
	if err := writeRoster(&m, t); err != nil {
		return nil, fmt.Errorf("%s: %w", QueueName(t.Process, t.Node), err)
	}
	list(&m, keyStarts, t.Starts, appendName[NodeID])
	list(&m, keyStructures, e.types.bodies, appendWritten)
	list(&m, keyConditions, e.checked, appendCondition)
	writeIndex(&m, keyInput, input)
	writeIndex(&m, keyOutput, output)
	list(&m, keyActivities, activities, appendWritten)
	if err := writeDetours(&m, t); err != nil {
		return nil, fmt.Errorf("%s: %w", QueueName(t.Process, t.Node), err)
	}
	if err := writeSchedules(&m, t); err != nil {
		return nil, fmt.Errorf("%s: %w", QueueName(t.Process, t.Node), err)
	}
	if t.Children != 0 && t.Format < ModelFormat {
		return nil, fmt.Errorf("%s: format %d has no subprocesses", QueueName(t.Process, t.Node), t.Format)
	}
	m.Uint(keyChildren, uint64(t.Children))
	if err := writeWorkers(&m, t); err != nil {
		return nil, fmt.Errorf("%s: %w", QueueName(t.Process, t.Node), err)
	}
	if t.History != 0 && t.Format < BundleFormat {
		return nil, fmt.Errorf("%s: format %d keeps the history of all iterations", QueueName(t.Process, t.Node), t.Format)
	}
	m.Int(keyHistory, int64(t.History))
	writeFields(&m, last)
	if len(m.B) > MaxEncoded {
		return nil, &TooLarge{Process: t.Process, Node: t.Node, Bytes: len(m.B)}
	}
	return m.B, nil
}

func writeRoster(m *cbor.Map, t *Table) error {
	var failed error
	at := make(map[ActivityID]int, len(t.Roster))
	list(m, keyRoster, t.Roster, func(b []byte, p Place) []byte {
		inside, known := at[p.Inside]
		if p.Inside != "" && (t.flat() || !known) {
			failed = fmt.Errorf("roster: %s is inside of %q, which does not stand before it, or format %d has no blocks", p.Activity, p.Inside, t.Format)
		}
		at[p.Activity] = len(at) + 1
		if t.flat() {
			return appendName(appendName(cbor.AppendArray(b, 2), p.Activity), p.Node)
		}
		return cbor.AppendUint(appendName(appendName(cbor.AppendArray(b, 3), p.Activity), p.Node), uint64(inside))
	})
	return failed
}

// list writes a field with a list, nothing if it is empty.
func list[T any](m *cbor.Map, key byte, all []T, write func([]byte, T) []byte) {
	m.Array(key, len(all))
	for _, v := range all {
		m.B = write(m.B, v)
	}
}

// writeIndex writes a field whose value counts from 0.
func writeIndex(m *cbor.Map, key byte, n int) {
	m.Key(key)
	m.B = cbor.AppendUint(m.B, uint64(n))
}

func appendName[T ~string](b []byte, name T) []byte { return cbor.AppendText(b, string(name)) }

func appendWritten(b, written []byte) []byte { return append(b, written...) }

func appendNumbers(b []byte, all ...int64) []byte {
	b = cbor.AppendArray(b, len(all))
	for _, n := range all {
		b = cbor.AppendInt(b, n)
	}
	return b
}

// encoder writes the activities, which come last in a table, while it gathers the
// structures and conditions that come before them.
type encoder struct {
	types      typeWriter
	conditions map[conditionKey]int
	checked    []*condition.Checked
	flat       bool
	err        error // the first
}

type conditionKey struct {
	text, expr      string
	readsRC, macros bool
	reads           condition.Words
}

func (e *encoder) fail(format string, args ...any) {
	if e.err == nil {
		e.err = fmt.Errorf(format, args...)
	}
}

func (e *encoder) structure(what string, t *container.Type) int {
	if t == nil || t.Kind != container.Structure || container.Depth(t) > container.MaxNesting {
		e.fail("%s: want a structure, nested no deeper than %d", what, container.MaxNesting)
		return 0
	}
	n, err := e.types.structure(t)
	if err != nil {
		e.fail("%s: %w", what, err)
	}
	return n
}

func (e *encoder) condition(c *condition.Checked) int {
	k := conditionKey{text: c.Text, expr: string(c.Expr), readsRC: c.ReadsRC, macros: c.Macros, reads: c.Reads}
	n, ok := e.conditions[k]
	if !ok {
		n = len(e.checked)
		e.conditions[k] = n
		e.checked = append(e.checked, c)
	}
	return n
}

func appendCondition(b []byte, c *condition.Checked) []byte {
	m := cbor.BeginMap(b)
	m.Text(keyText, c.Text)
	m.Bytes(keyExpr, c.Expr)
	m.Bool(keyReadsRC, c.ReadsRC)
	m.Bool(keyMacros, c.Macros)
	m.Uint(keyReads, uint64(c.Reads))
	return m.B
}
