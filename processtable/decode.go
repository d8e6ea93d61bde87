package processtable

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"time"

	"fmqm/condition"
	"fmqm/container"
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
	r := &reader{data: data}
	d := &decoder{reader: r, types: typeReader{reader: r, lists: map[*container.Type]*container.Type{}}}
	t := &Table{}
	err := r.object(func(key int) error {
		if key == keyFormat {
			return read(&t.Format, "format", d.format)
		}
		if t.Format == 0 {
			return errors.New("the format version is missing: this is not a process table")
		}
		return d.tableField(t, key)
	})
	if err == nil && r.left() > 0 {
		err = fmt.Errorf("%d bytes follow after the end", r.left())
	}
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

type decoder struct {
	*reader
	types      typeReader
	conditions []*condition.Checked
}

func (d *decoder) format() (int, error) {
	n, err := d.uint(math.MaxInt32)
	if err == nil && (n < 1 || n > FormatVersion) {
		err = fmt.Errorf("%w %d: this node reads formats 1 to %d: upgrade it, or compile with --table-format %d", ErrFormat, n, FormatVersion, FormatVersion)
	}
	return n, err
}

func (d *decoder) tableField(t *Table, key int) error {
	switch key {
	case keyProcess:
		return read(&t.Process.Name, "process", d.name)
	case keyVersion:
		return read(&t.Process.Version, "version", func() (int, error) { return d.uint(MaxVersion) })
	case keyNode:
		return read((*string)(&t.Node), "node", d.name)
	case keyDefinition:
		return read(&t.Definition, "definition hash", d.hash)
	case keyRoster:
		return list(d.reader, &t.Roster, "roster: place", maxActivities, d.place)
	case keyStarts:
		return list(d.reader, &t.Starts, "starts: node", maxActivities, func() (NodeID, error) {
			s, err := d.name()
			return NodeID(s), err
		})
	case keyStructures:
		var all []*container.Type
		return list(d.reader, &all, "structure", MaxEncoded, d.types.readStructure)
	case keyConditions:
		return list(d.reader, &d.conditions, "condition", 2*maxConnectors, d.checked)
	case keyInput:
		return read(&t.Input, "input", d.types.readIndex)
	case keyOutput:
		return read(&t.Output, "output", d.types.readIndex)
	case keyActivities:
		return list(d.reader, &t.Activities, "activity", maxActivities+2, d.activity)
	}
	if t.Format >= 2 {
		switch key {
		case keyDetours:
			return list(d.reader, &t.Detours, "detour", maxActivities, func() (Detour, error) { return d.detour(t) })
		case keyResolvers:
			return list(d.reader, &t.Resolvers, "resolver", maxActivities, func() (Resolver, error) { return d.resolver(t) })
		}
	}
	return unknown(key)
}

func (d *decoder) name() (string, error) { return d.text(MaxName) }

func (d *decoder) hash() (h DefinitionHash, err error) {
	b, err := d.take(majorBytes, len(h))
	if err == nil && len(b) != len(h) {
		err = fmt.Errorf("want %d bytes, not %d", len(h), len(b))
	}
	copy(h[:], b)
	return h, err
}

func (d *decoder) place() (p Place, err error) {
	var parts []string
	if err := list(d.reader, &parts, "part", 2, d.name); err != nil {
		return p, err
	}
	if len(parts) != 2 {
		return p, errors.New("want an activity and its node")
	}
	return Place{Activity: ActivityID(parts[0]), Node: NodeID(parts[1])}, nil
}

func (d *decoder) checked() (*condition.Checked, error) {
	c := &condition.Checked{}
	err := d.object(func(key int) error {
		switch key {
		case keyText:
			return read(&c.Text, "text", func() (string, error) { return d.text(condition.MaxText) })
		case keyExpr:
			return read(&c.Expr, "expression", func() ([]byte, error) { return d.bytes(MaxEncoded) })
		case keyReadsRC:
			return read(&c.ReadsRC, "reads _RC", d.bool)
		case keyMacros:
			return read(&c.Macros, "macros", d.bool)
		}
		return unknown(key)
	})
	if err == nil && len(c.Expr) == 0 {
		err = errors.New("the checked expression is missing")
	}
	return c, err
}

func (d *decoder) conditionIndex() (*condition.Checked, error) {
	n, err := d.uint(MaxEncoded)
	if err != nil {
		return nil, err
	}
	if n >= len(d.conditions) {
		return nil, fmt.Errorf("there is no condition %d", n)
	}
	return d.conditions[n], nil
}

func (d *decoder) activity() (*Activity, error) {
	a := &Activity{}
	err := d.object(func(key int) error {
		if key == keyName {
			return read((*string)(&a.Name), "name", d.name)
		}
		if err := d.activityField(a, key); err != nil {
			return fmt.Errorf("%s: %w", a.Name, err)
		}
		return nil
	})
	return a, err
}

func (d *decoder) activityField(a *Activity, key int) error {
	switch key {
	case keyKind:
		return read(&a.Kind, "kind", func() (Kind, error) {
			n, err := d.uint(math.MaxUint8)
			return Kind(n), err
		})
	case keyProgram:
		return read((*string)(&a.Program), "program", d.name)
	case keyActInput:
		return read(&a.Input, "input", d.types.readIndex)
	case keyActOutput:
		return read(&a.Output, "output", d.types.readIndex)
	case keyNoOutput:
		return read(&a.NoOutput, "no output", d.bool)
	case keyInControl:
		return list(d.reader, &a.InControl, "incoming control connector", maxConnectors, d.inControl)
	case keyStart:
		return read(&a.Start, "start condition", func() (condition.Logic, error) { return d.logic(1) })
	case keyOutControl:
		return list(d.reader, &a.OutControl, "outgoing control connector", maxConnectors, d.outControl)
	case keyInData:
		return list(d.reader, &a.InData, "incoming data connector", maxConnectors, d.inData)
	case keyOutData:
		return list(d.reader, &a.OutData, "outgoing data connector", maxConnectors, d.outData)
	case keyExit:
		return read(&a.Exit, "exit condition", d.conditionIndex)
	case keyFeedback:
		return list(d.reader, &a.Feedback, "feedback: mapping", MaxEncoded, d.mapping)
	case keyMaxIterations:
		return read(&a.MaxIterations, "max_iterations", func() (int, error) { return d.uint(math.MaxInt32) })
	case keyAgain:
		return read(&a.Again, "again", d.again)
	case keyRetry:
		return read(&a.Retry, "retry", d.retry)
	case keyRCIsData:
		return read(&a.RCIsData, "_RC is data", d.bool)
	case keyRCContinue:
		return read(&a.RCContinue, "on_rc continue", d.bool)
	}
	return unknown(key)
}

func (d *decoder) inControl() (InControl, error) {
	s, err := d.name()
	return InControl{From: ActivityID(s)}, err
}

func (d *decoder) outControl() (c OutControl, err error) {
	err = d.object(func(key int) error {
		switch key {
		case keyEnd:
			return read((*string)(&c.To), "to", d.name)
		case keyEndNode:
			return read((*string)(&c.Node), "node", d.name)
		case keyCondition:
			return read(&c.Condition, "condition", d.conditionIndex)
		case keyOtherwise:
			return read(&c.Otherwise, "otherwise", d.bool)
		}
		return unknown(key)
	})
	return c, err
}

func (d *decoder) inData() (c InData, err error) {
	err = d.object(func(key int) error {
		switch key {
		case keyEnd:
			return read((*string)(&c.From), "from", d.name)
		case keyMappings:
			return list(d.reader, &c.Mappings, "mapping", MaxEncoded, d.mapping)
		}
		return unknown(key)
	})
	return c, err
}

func (d *decoder) outData() (c OutData, err error) {
	err = d.object(func(key int) error {
		switch key {
		case keyEnd:
			return read((*string)(&c.To), "to", d.name)
		case keyEndNode:
			return read((*string)(&c.Node), "node", d.name)
		case keyMappings:
			return list(d.reader, &c.Mappings, "mapping", MaxEncoded, d.mapping)
		}
		return unknown(key)
	})
	return c, err
}

func (d *decoder) mapping() (m Mapping, err error) {
	err = d.object(func(key int) error {
		switch key {
		case keyRC:
			return read(&m.RC, "_RC", d.bool)
		case keyFrom:
			return list(d.reader, (*[]int)(&m.From), "from: step", container.MaxNesting, d.step)
		case keyTo:
			return list(d.reader, (*[]int)(&m.To), "to: step", container.MaxNesting, d.step)
		case keyType:
			return read(&m.Type, "type", d.types.readReference)
		case keySource:
			return read(&m.Source, "source", func() (string, error) { return d.text(maxText) })
		case keyTarget:
			return read(&m.Target, "target", func() (string, error) { return d.text(maxText) })
		}
		return unknown(key)
	})
	return m, err
}

func (d *decoder) step() (int, error) { return d.uint(MaxEncoded) }

func (d *decoder) logic(depth int) (l condition.Logic, err error) {
	if depth > maxLogic {
		return l, fmt.Errorf("nested deeper than %d", maxLogic)
	}
	err = d.object(func(key int) error {
		switch key {
		case keyOp:
			return read(&l.Op, "operator", func() (condition.LogicOp, error) {
				n, err := d.uint(math.MaxUint8)
				return condition.LogicOp(n), err
			})
		case keyVar:
			return read(&l.Var, "variable", func() (int, error) { return d.uint(maxConnectors) })
		case keyN:
			return read(&l.N, "number", func() (int, error) { return d.uint(maxConnectors) })
		case keyArgs:
			return d.array(maxConnectors, func(int) error {
				arg, err := d.logic(depth + 1)
				l.Args = append(l.Args, arg)
				return err
			})
		}
		return unknown(key)
	})
	return l, err
}

func (d *decoder) numbers(n int) ([]int64, error) {
	var v []int64
	err := list(d.reader, &v, "number", n, d.int)
	if err == nil && len(v) != n {
		err = fmt.Errorf("want %d numbers, not %d", n, len(v))
	}
	return v, err
}

func (d *decoder) again() (Backoff, error) {
	v, err := d.numbers(2)
	if err != nil {
		return Backoff{}, err
	}
	return Backoff{After: time.Duration(v[0]), Max: time.Duration(v[1])}, nil
}

func (d *decoder) retry() (Retry, error) {
	v, err := d.numbers(3)
	if err != nil {
		return Retry{}, err
	}
	if v[0] > math.MaxInt32 {
		return Retry{}, fmt.Errorf("%d attempts are above the limit of %d", v[0], math.MaxInt32)
	}
	return Retry{Attempts: int(v[0]), Backoff: Backoff{After: time.Duration(v[1]), Max: time.Duration(v[2])}}, nil
}
