package processtable

import (
	"errors"
	"fmt"

	"fmqm/condition"
	"fmqm/container"
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
	keyRoster     = 6 // list of [activity, node]
	keyStarts     = 7
	keyStructures = 8
	keyConditions = 9
	keyInput      = 10
	keyOutput     = 11
	keyActivities = 12
	keyDetours    = 13 // from format 2 on: list of [place, places, places]
	keyResolvers  = 14 // from format 2 on: list of [node, places]
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
	if t.Format < 1 || t.Format > FormatVersion {
		return nil, fmt.Errorf("%w %d: this version writes formats 1 to %d", ErrFormat, t.Format, FormatVersion)
	}
	e := &encoder{
		types:      typeWriter{byType: map[*container.Type]int{}, byBody: map[string]int{}},
		conditions: map[conditionKey]int{},
	}
	input := e.structure("input", t.Input)
	output := e.structure("output", t.Output)
	for _, a := range t.Activities {
		e.activity(a)
	}
	if e.err != nil {
		return nil, fmt.Errorf("%s: %w", QueueName(t.Process, t.Node), e.err)
	}

	w := &writer{}
	o := w.object()
	o.int(keyFormat, int64(t.Format))
	o.text(keyProcess, t.Process.Name)
	o.int(keyVersion, int64(t.Process.Version))
	o.text(keyNode, string(t.Node))
	o.key(keyDefinition).bytes(t.Definition[:])
	o.list(keyRoster, len(t.Roster), func(i int) {
		w.array(2)
		w.text(string(t.Roster[i].Activity))
		w.text(string(t.Roster[i].Node))
	})
	o.list(keyStarts, len(t.Starts), func(i int) { w.text(string(t.Starts[i])) })
	o.list(keyStructures, len(e.types.bodies), func(i int) { w.b = append(w.b, e.types.bodies[i]...) })
	o.list(keyConditions, len(e.checked), func(i int) { writeCondition(w, e.checked[i]) })
	o.key(keyInput).int(int64(input))
	o.key(keyOutput).int(int64(output))
	o.list(keyActivities, len(t.Activities), func(i int) {
		w.b = append(w.b, e.w.b[e.begins[i]:e.ends(i)]...)
	})
	if err := writeDetours(o, t); err != nil {
		return nil, fmt.Errorf("%s: %w", QueueName(t.Process, t.Node), err)
	}
	if len(w.b) > MaxEncoded {
		return nil, &TooLarge{Process: t.Process, Node: t.Node, Bytes: len(w.b)}
	}
	return w.b, nil
}

// encoder writes the activities, which come last in a table, while it gathers the
// structures and conditions that come before them.
type encoder struct {
	w          writer
	begins     []int // where in w each activity begins
	types      typeWriter
	conditions map[conditionKey]int
	checked    []*condition.Checked
	err        error // the first
}

type conditionKey struct {
	text, expr      string
	readsRC, macros bool
}

func (e *encoder) ends(i int) int {
	if i+1 < len(e.begins) {
		return e.begins[i+1]
	}
	return len(e.w.b)
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
	k := conditionKey{text: c.Text, expr: string(c.Expr), readsRC: c.ReadsRC, macros: c.Macros}
	n, ok := e.conditions[k]
	if !ok {
		n = len(e.checked)
		e.conditions[k] = n
		e.checked = append(e.checked, c)
	}
	return n
}

func writeCondition(w *writer, c *condition.Checked) {
	o := w.object()
	o.text(keyText, c.Text)
	if len(c.Expr) > 0 {
		o.key(keyExpr).bytes(c.Expr)
	}
	o.bool(keyReadsRC, c.ReadsRC)
	o.bool(keyMacros, c.Macros)
}

func (e *encoder) activity(a *Activity) {
	if a == nil {
		e.fail("activity %d is nil", len(e.begins))
		return
	}
	w := &e.w
	e.begins = append(e.begins, len(w.b))
	o := w.object()
	o.text(keyName, string(a.Name))
	o.int(keyKind, int64(a.Kind))
	o.text(keyProgram, string(a.Program))
	o.key(keyActInput).int(int64(e.structure(string(a.Name)+": input", a.Input)))
	o.key(keyActOutput).int(int64(e.structure(string(a.Name)+": output", a.Output)))
	o.bool(keyNoOutput, a.NoOutput)
	o.list(keyInControl, len(a.InControl), func(i int) { w.text(string(a.InControl[i].From)) })
	e.logic(o.key(keyStart), a.Start, a.Name, 1)
	o.list(keyOutControl, len(a.OutControl), func(i int) { e.outControl(a.OutControl[i]) })
	o.list(keyInData, len(a.InData), func(i int) {
		d := w.object()
		d.text(keyEnd, string(a.InData[i].From))
		e.mappings(d, keyMappings, a.Name, a.InData[i].Mappings)
	})
	o.list(keyOutData, len(a.OutData), func(i int) {
		d := w.object()
		d.text(keyEnd, string(a.OutData[i].To))
		d.text(keyEndNode, string(a.OutData[i].Node))
		e.mappings(d, keyMappings, a.Name, a.OutData[i].Mappings)
	})
	if a.Exit != nil {
		o.key(keyExit).int(int64(e.condition(a.Exit)))
	}
	e.mappings(o, keyFeedback, a.Name, a.Feedback)
	o.int(keyMaxIterations, int64(a.MaxIterations))
	if a.Again != (Backoff{}) {
		o.key(keyAgain).array(2)
		w.int(int64(a.Again.After))
		w.int(int64(a.Again.Max))
	}
	if a.Retry != (Retry{}) {
		o.key(keyRetry).array(3)
		w.int(int64(a.Retry.Attempts))
		w.int(int64(a.Retry.Backoff.After))
		w.int(int64(a.Retry.Backoff.Max))
	}
	o.bool(keyRCIsData, a.RCIsData)
	o.bool(keyRCContinue, a.RCContinue)
}

func (e *encoder) outControl(c OutControl) {
	o := e.w.object()
	o.text(keyEnd, string(c.To))
	o.text(keyEndNode, string(c.Node))
	if c.Condition != nil {
		o.key(keyCondition).int(int64(e.condition(c.Condition)))
	}
	o.bool(keyOtherwise, c.Otherwise)
}

func (e *encoder) mappings(o object, key byte, name ActivityID, ms []Mapping) {
	o.list(key, len(ms), func(i int) {
		m := &ms[i]
		f := e.w.object()
		f.bool(keyRC, m.RC)
		f.list(keyFrom, len(m.From), func(j int) { e.w.int(int64(m.From[j])) })
		f.list(keyTo, len(m.To), func(j int) { e.w.int(int64(m.To[j])) })
		if err := e.types.reference(f.key(keyType), m.Type); err != nil {
			e.fail("%s: mapping %s to %s: %w", name, m.Source, m.Target, err)
		}
		f.text(keySource, m.Source)
		f.text(keyTarget, m.Target)
	})
}

// maxLogic bounds the depth of a start condition's tree: its text cannot nest deeper.
const maxLogic = condition.MaxText

func (e *encoder) logic(w *writer, l condition.Logic, name ActivityID, depth int) {
	if depth > maxLogic {
		e.fail("%s: the start condition is nested deeper than %d", name, maxLogic)
		return
	}
	o := w.object()
	o.int(keyOp, int64(l.Op))
	o.int(keyVar, int64(l.Var))
	o.int(keyN, int64(l.N))
	o.list(keyArgs, len(l.Args), func(i int) { e.logic(w, l.Args[i], name, depth+1) })
}
