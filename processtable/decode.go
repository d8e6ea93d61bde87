package processtable

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"time"

	"fmqm/condition"
	"fmqm/container"
	"fmqm/internal/cbor"
)

// Limits of the language that bound the lists of a table.
const (
	maxActivities = 10_000
	maxConnectors = 100_000
	maxText       = 4 << 10 // longest text for people, in bytes
)

// ErrFormat says that a table has a format that this version of the code does not
// know: it was compiled by a newer one.
var ErrFormat = errors.New("unknown table format")

// knownFormats tells people which there are (HasFormat).
const knownFormats = "1, 2 and 4 to 9"

// Decode reads what Encode wrote, with the definer's signature if Sign or SignFor added one, and
// accepts nothing else; the table that it returns is whole, and a signature is of it.
// Whether the definer is one to be trusted, and its terms hold, is for the caller to say. It is bounded by the size of data, at most MaxEncoded bytes, and shares
// nothing with it. Equal types of the result are one *Type, equal conditions one
// *Checked; whether a condition can be loaded is for condition.Load to say. Errors
// name the place in the table.
func Decode(data []byte) (*Table, error) {
	if len(data) > MaxEncoded {
		return nil, fmt.Errorf("decode process table: %d bytes are above the limit of %d", len(data), MaxEncoded)
	}
	data, signature := cutSignature(data)
	t, err := decode(data)
	if err != nil {
		return nil, fmt.Errorf("decode process table: %w", err)
	}
	again, err := encode(t)
	if err == nil && !bytes.Equal(again, data) {
		err = fmt.Errorf("%s: it is not in the form that the compiler writes: compile and upload the process again", QueueName(t.Process, t.Node))
	}
	if err == nil && signature != nil {
		signature.into(t)
		err = signature.check(t, data)
	}
	if err != nil {
		return nil, fmt.Errorf("decode process table: %w", err)
	}
	return t, nil
}

func decode(data []byte) (*Table, error) {
	d := &decoder{Reader: cbor.NewReader(data), lists: map[*container.Type]*container.Type{}}
	t := &d.table
	for key := range d.Named(tableFields) {
		if t.Format == 0 && key != keyFormat {
			d.Fail("the format version is missing: this is not a process table")
			continue
		}
		d.tableField(key)
	}
	err := d.End()
	if err != nil && t.Node != "" {
		err = fmt.Errorf("%s: %w", QueueName(t.Process, t.Node), err)
	}
	if err == nil {
		t.index = newIndex(t)
		err = validate(t)
	}
	if err != nil {
		return nil, err
	}
	return t, nil
}

// decoder reads what encoder writes. By a length that it reads it allocates nothing: a list
// grows with the elements that are really there.
type decoder struct {
	cbor.Reader
	table      Table
	roster     []ActivityID // as far as it was read
	structures []*container.Type
	lists      map[*container.Type]*container.Type // by element: one *Type for equal types
	conditions []*condition.Checked
}

var tableFields = []string{
	keyFormat: "format", keyProcess: "process", keyVersion: "version", keyNode: "node", keyDefinition: "definition hash",
	keyRoster: "roster", keyStarts: "starts", keyStructures: "structures", keyConditions: "conditions",
	keyInput: "input", keyOutput: "output", keyActivities: "activities", keyDetours: "detours", keyResolvers: "resolvers",
	keySchedules: "schedules", keyChildren: "subprocesses", keyWorkers: "workers", keyHistory: "history",
	keyStarters: "staff", keyAdministrator: "administrator", keyPriorities: "priority", keySearch: "search", keyDeadlines: "deadlines",
}

func (d *decoder) tableField(key int) {
	t := &d.table
	switch key {
	case keyFormat:
		t.Format = d.number(math.MaxInt32)
		if !HasFormat(t.Format) {
			d.Fail("%w %d: this node reads formats %s: upgrade it, or compile with --table-format %d", ErrFormat, t.Format, knownFormats, FlowMarkFormat)
		}
	case keyProcess:
		t.Process.Name = d.Text(MaxName)
	case keyVersion:
		t.Process.Version = d.number(MaxVersion)
	case keyNode:
		t.Node = NodeID(d.Text(MaxName))
	case keyDefinition:
		d.Fixed(t.Definition[:])
	case keyRoster:
		t.Roster = items(d, maxActivities, d.place)
	case keyStarts:
		t.Starts = items(d, maxActivities, name[NodeID](d))
	case keyStructures:
		for range d.Items(MaxEncoded) {
			d.structures = append(d.structures, d.structure())
		}
	case keyConditions:
		d.conditions = items(d, 2*maxConnectors, d.condition)
	case keyInput:
		t.Input = d.structureAt()
	case keyOutput:
		t.Output = d.structureAt()
	case keyActivities:
		t.Activities = items(d, 5*maxActivities+2, d.activity)
	case keyDetours:
		d.since(2)
		t.Detours = items(d, maxActivities, d.detour)
	case keyResolvers:
		d.since(2)
		t.Resolvers = items(d, maxActivities, d.resolver)
	case keySchedules:
		d.since(ModelFormat)
		t.Schedules = items(d, MaxSchedules, d.schedule)
	case keyChildren:
		d.since(ModelFormat)
		t.Children = d.number(MaxChildren)
	case keyWorkers:
		d.since(BundleFormat)
		t.Workers = items(d, maxActivities, d.worker)
	case keyHistory:
		d.since(BundleFormat)
		t.History = d.number(math.MaxInt32)
	case keyStarters, keyAdministrator, keyPriorities, keySearch, keyDeadlines:
		d.last(key)
	}
}

// since refuses a field that the table's format does not have.
func (d *decoder) since(format int) {
	if d.table.Format < format {
		d.Fail("format %d has no such field: it is of format %d on", d.table.Format, format)
	}
}

// items reads a list.
func items[T any](d *decoder, limit int, get func() T) (all []T) {
	for range d.Items(limit) {
		all = append(all, get())
	}
	return all
}

func name[T ~string](d *decoder) func() T { return func() T { return T(d.Text(MaxName)) } }

func (d *decoder) number(limit int) int { return int(d.Uint(uint64(limit))) }

func (d *decoder) place() Place {
	if d.table.flat() {
		d.Tuple(2)
		return Place{Activity: ActivityID(d.Text(MaxName)), Node: NodeID(d.Text(MaxName))}
	}
	d.Tuple(3)
	p := Place{Activity: ActivityID(d.Text(MaxName)), Node: NodeID(d.Text(MaxName))}
	inside := d.number(maxActivities)
	d.roster = append(d.roster, p.Activity)
	switch {
	case inside >= len(d.roster):
		d.Fail("%s is inside of place %d, which does not stand before it", p.Activity, inside)
	case inside > 0:
		p.Inside = d.roster[inside-1]
	}
	return p
}

var conditionFields = []string{keyText: "text", keyExpr: "expression", keyReadsRC: "reads _RC", keyMacros: "macros", keyReads: "words"}

func (d *decoder) condition() *condition.Checked {
	c := &condition.Checked{}
	for key := range d.Named(conditionFields) {
		switch key {
		case keyText:
			c.Text = d.Text(condition.MaxText)
		case keyExpr:
			c.Expr = bytes.Clone(d.Bytes(MaxEncoded))
		case keyReadsRC:
			c.ReadsRC = d.Bool()
		case keyMacros:
			c.Macros = d.Bool()
		case keyReads:
			d.since(BlockFormat)
			c.Reads = condition.Words(d.Uint(math.MaxUint16))
		}
	}
	if len(c.Expr) == 0 {
		d.Fail("the checked expression is missing")
	}
	return c
}

func (d *decoder) conditionAt() *condition.Checked {
	n := d.number(MaxEncoded)
	if n >= len(d.conditions) {
		d.Fail("there is no condition %d", n)
		return nil
	}
	return d.conditions[n]
}

var activityFields = []string{
	keyName: "name", keyKind: "kind", keyProgram: "program", keyActInput: "input", keyActOutput: "output", keyNoOutput: "no output",
	keyInControl: "incoming control connectors", keyStart: "start condition", keyOutControl: "outgoing control connectors",
	keyInData: "incoming data connectors", keyOutData: "outgoing data connectors", keyExit: "exit condition", keyFeedback: "feedback",
	keyMaxIterations: "max_iterations", keyAgain: "again", keyRetry: "retry", keyRCIsData: "_RC is data", keyRCContinue: "on_rc continue",
	keyBehaviour: "behaviour", keySpec: "spec", keyPath: "path", keyFirstMatch: "first match",
	keyMore: "more",
}

var moreFields = []string{
	keyDeadline: "deadline", keyWait: "wait", keyContinues: "on_error continue", keyCancels: "cancels", keyCancelledBy: "cancelled by",
	keyChild: "process", keyIndependent: "independent",
	keyMember: "for_each", keyParallel: "parallel", keyUntil: "until", keyFailed: "failed", keyCallNode: "at", keyCallOf: "nodes of at",
	keyReceive: "receive", keySend: "send",
	keyFirst: "first", keyNotify: "notices", keyManual: "manual", keyPriority: "priority",
}

func (d *decoder) activity() *Activity {
	a := &Activity{}
	for key := range d.Named(activityFields) {
		d.activityField(a, key)
	}
	d.Within(string(a.Name))
	return a
}

func (d *decoder) activityField(a *Activity, key int) {
	switch key {
	case keyName:
		a.Name = ActivityID(d.Text(MaxName))
	case keyKind:
		a.Kind = Kind(d.Uint(math.MaxUint8))
	case keyProgram:
		a.Program = ProgramID(d.Text(MaxName))
	case keyActInput:
		a.Input = d.structureAt()
	case keyActOutput:
		a.Output = d.structureAt()
	case keyNoOutput:
		a.NoOutput = d.Bool()
	case keyInControl:
		a.InControl = items(d, maxConnectors, func() InControl { return InControl{From: ActivityID(d.Text(MaxName))} })
	case keyStart:
		a.Start = d.logic(1)
	case keyOutControl:
		a.OutControl = items(d, maxConnectors, d.outControl)
	case keyInData:
		a.InData = items(d, maxConnectors, d.inData)
	case keyOutData:
		a.OutData = items(d, maxConnectors, d.outData)
	case keyExit:
		a.Exit = d.conditionAt()
	case keyFeedback:
		a.Feedback = items(d, MaxEncoded, d.mapping)
	case keyMaxIterations:
		a.MaxIterations = d.number(math.MaxInt32)
	case keyAgain:
		d.Tuple(2)
		a.Again = d.backoff()
	case keyRetry:
		d.Tuple(3)
		a.Retry = Retry{Attempts: d.number(math.MaxInt32), Backoff: d.backoff()}
	case keyRCIsData:
		a.RCIsData = d.Bool()
	case keyRCContinue:
		a.RCContinue = d.Bool()
	case keyBehaviour:
		d.since(4)
		a.Behaviour = BehaviourID(d.Text(MaxName))
	case keySpec:
		d.since(4)
		a.Spec = bytes.Clone(d.Bytes(MaxSpec))
	case keyPath:
		d.since(4)
		a.Path = items(d, MaxPath, d.composite)
	case keyMore:
		d.since(BlockFormat)
		for key := range d.Named(moreFields) {
			d.moreField(a, key)
		}
	case keyFirstMatch:
		d.since(BlockFormat)
		a.FirstMatch = d.Bool()
	}
}

func (d *decoder) moreField(a *Activity, key int) {
	switch key {
	case keyDeadline:
		a.Deadline = d.moment()
	case keyWait:
		a.Wait = d.moment()
	case keyContinues:
		a.Continues = d.Bool()
	case keyCancels:
		a.Cancels = items(d, maxActivities, func() Place {
			d.Tuple(2)
			return Place{Activity: ActivityID(d.Text(MaxName)), Node: NodeID(d.Text(MaxName))}
		})
	case keyCancelledBy:
		a.CancelledBy = items(d, maxActivities, name[ActivityID](d))
	case keyChild:
		d.since(ModelFormat)
		d.Tuple(2)
		a.Child = &Child{Name: d.Text(MaxName), Version: d.number(MaxVersion)}
	case keyIndependent:
		d.since(ModelFormat)
		a.Independent = d.Bool()
	case keyMember, keyParallel, keyUntil, keyFailed, keyCallNode, keyCallOf:
		d.since(BundleFormat)
		d.begins(a, key)
	case keyReceive:
		a.Receive = d.receive()
	case keySend:
		a.Send = d.send()
	case keyFirst:
		d.since(BundleFormat)
		a.First = d.number(maxConnectors)
	case keyNotify:
		d.since(BundleFormat)
		a.Notify = items(d, MaxNotices, d.notice)
	case keyManual:
		a.Manual = d.manual()
	case keyPriority:
		a.Priority = d.priority()
	}
}

var momentFields = []string{keyAt: "at", keyFixed: "fixed", keyMoment: "expression"}

func (d *decoder) moment() *Moment {
	m := &Moment{}
	for key := range d.Named(momentFields) {
		switch key {
		case keyAt:
			m.At = d.Bool()
		case keyFixed:
			m.Fixed = d.Int()
		case keyMoment:
			m.Expr = d.conditionAt()
		}
	}
	return m
}

func (d *decoder) composite() Composite {
	parts := 3
	if !d.table.flat() {
		parts++
	}
	d.Tuple(parts)
	c := Composite{Activity: ActivityID(d.Text(MaxName)), Iterations: d.number(math.MaxInt32), Elements: d.Bool()}
	if !d.table.flat() {
		c.Catches = d.Bool()
	}
	return c
}

func (d *decoder) backoff() Backoff {
	return Backoff{After: time.Duration(d.Int()), Max: time.Duration(d.Int())}
}

var connectorFields = []string{keyEnd: "other end", keyEndNode: "its node", keyCondition: "condition", keyOtherwise: "otherwise", keyMappings: "mappings"}

func (d *decoder) outControl() (c OutControl) {
	for key := range d.Named(connectorFields[:keyOtherwise+1]) {
		switch key {
		case keyEnd:
			c.To = ActivityID(d.Text(MaxName))
		case keyEndNode:
			c.Node = NodeID(d.Text(MaxName))
		case keyCondition:
			c.Condition = d.conditionAt()
		case keyOtherwise:
			c.Otherwise = d.Bool()
		}
	}
	return c
}

func (d *decoder) inData() InData {
	c := d.outData()
	if c.Node != "" {
		d.Fail("an incoming connector has no node")
	}
	return InData{From: c.To, Mappings: c.Mappings}
}

func (d *decoder) outData() (c OutData) {
	for key := range d.Named(connectorFields) {
		switch key {
		case keyEnd:
			c.To = ActivityID(d.Text(MaxName))
		case keyEndNode:
			c.Node = NodeID(d.Text(MaxName))
		case keyMappings:
			c.Mappings = items(d, MaxEncoded, d.mapping)
		default:
			d.Fail("a data connector has no condition")
		}
	}
	return c
}

var mappingFields = []string{
	keyRC: "_RC", keyFrom: "from", keyTo: "to", keyType: "type", keySource: "source", keyTarget: "target", keyWord: "word",
	keyWorked: "expression", keyOfWord: "of words", keyAppend: "append", keyDid: "did",
}

func (d *decoder) mapping() (m Mapping) {
	step := func() int { return d.number(MaxEncoded) }
	for key := range d.Named(mappingFields) {
		switch key {
		case keyRC:
			m.RC = d.Bool()
		case keyFrom:
			m.From = items(d, container.MaxNesting, step)
		case keyTo:
			m.To = items(d, container.MaxNesting, step)
		case keyType:
			m.Type = d.typeRef(0)
		case keySource:
			m.Source = d.Text(maxText)
		case keyTarget:
			m.Target = d.Text(maxText)
		case keyWord:
			d.since(BlockFormat)
			m.Word = condition.Words(d.Uint(math.MaxUint16))
		case keyWorked:
			d.since(ModelFormat)
			m.Expr = d.conditionAt()
		case keyOfWord:
			d.since(ModelFormat)
			m.OfWords = d.Bool()
		case keyAppend:
			d.since(ModelFormat)
			m.Append = d.Bool()
		case keyDid:
			d.since(PeopleFormat)
			m.Did = d.Bool()
		}
	}
	return m
}

var logicFields = []string{keyOp: "operator", keyVar: "variable", keyN: "number", keyArgs: "arguments"}

func (d *decoder) logic(depth int) (l condition.Logic) {
	if depth > maxLogic {
		d.Fail("nested deeper than %d", maxLogic)
		return l
	}
	for key := range d.Named(logicFields) {
		switch key {
		case keyOp:
			if l.Op = condition.LogicOp(d.Uint(math.MaxUint8)); condition.LogicRan <= l.Op && l.Op <= condition.LogicFailed {
				d.since(ModelFormat)
			}
		case keyVar:
			l.Var = d.number(maxConnectors)
		case keyN:
			l.N = d.number(maxConnectors)
		case keyArgs:
			l.Args = items(d, maxConnectors, func() condition.Logic { return d.logic(depth + 1) })
		}
	}
	return l
}
