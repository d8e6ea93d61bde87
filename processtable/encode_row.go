package processtable

import (
	"fmqm/condition"
	"fmqm/internal/cbor"
)

func (e *encoder) activity(a *Activity) []byte {
	m := cbor.BeginMap(nil)
	m.Text(keyName, string(a.Name))
	m.Uint(keyKind, uint64(a.Kind))
	m.Text(keyProgram, string(a.Program))
	writeIndex(&m, keyActInput, e.structure(string(a.Name)+": input", a.Input))
	writeIndex(&m, keyActOutput, e.structure(string(a.Name)+": output", a.Output))
	m.Bool(keyNoOutput, a.NoOutput)
	list(&m, keyInControl, a.InControl, func(b []byte, c InControl) []byte { return appendName(b, c.From) })
	if a.Behaviour == "" {
		m.Key(keyStart)
		m.B = e.logic(m.B, a.Start, a.Name, 1)
	}
	list(&m, keyOutControl, a.OutControl, e.outControl)
	list(&m, keyInData, a.InData, func(b []byte, c InData) []byte {
		d := cbor.BeginMap(b)
		d.Text(keyEnd, string(c.From))
		e.mappings(&d, keyMappings, a.Name, c.Mappings)
		return d.B
	})
	list(&m, keyOutData, a.OutData, func(b []byte, c OutData) []byte {
		d := cbor.BeginMap(b)
		d.Text(keyEnd, string(c.To))
		d.Text(keyEndNode, string(c.Node))
		e.mappings(&d, keyMappings, a.Name, c.Mappings)
		return d.B
	})
	if a.Exit != nil {
		writeIndex(&m, keyExit, e.condition(a.Exit))
	}
	e.mappings(&m, keyFeedback, a.Name, a.Feedback)
	m.Int(keyMaxIterations, int64(a.MaxIterations))
	if a.Again != (Backoff{}) {
		m.Key(keyAgain)
		m.B = appendNumbers(m.B, int64(a.Again.After), int64(a.Again.Max))
	}
	if a.Retry != (Retry{}) {
		m.Key(keyRetry)
		m.B = appendNumbers(m.B, int64(a.Retry.Attempts), int64(a.Retry.Backoff.After), int64(a.Retry.Backoff.Max))
	}
	m.Bool(keyRCIsData, a.RCIsData)
	m.Bool(keyRCContinue, a.RCContinue)
	m.Text(keyBehaviour, string(a.Behaviour))
	m.Bytes(keySpec, a.Spec)
	list(&m, keyPath, a.Path, func(b []byte, c Composite) []byte {
		parts := 3
		if !e.flat {
			parts++
		}
		b = appendName(cbor.AppendArray(b, parts), c.Activity)
		b = cbor.AppendBool(cbor.AppendInt(b, int64(c.Iterations)), c.Elements)
		if !e.flat {
			b = cbor.AppendBool(b, c.Catches)
		}
		return b
	})
	m.Bool(keyFirstMatch, a.FirstMatch)
	if a.more() {
		m.Key(keyMore)
		m.B = e.more(m.B, a)
	}
	return m.B
}

func (e *encoder) more(b []byte, a *Activity) []byte {
	m := cbor.BeginMap(b)
	e.moment(&m, keyDeadline, a.Deadline)
	e.moment(&m, keyWait, a.Wait)
	m.Bool(keyContinues, a.Continues)
	list(&m, keyCancels, a.Cancels, func(b []byte, p Place) []byte {
		return appendName(appendName(cbor.AppendArray(b, 2), p.Activity), p.Node)
	})
	list(&m, keyCancelledBy, a.CancelledBy, appendName[ActivityID])
	if a.Child != nil {
		m.Key(keyChild)
		m.B = cbor.AppendUint(appendName(cbor.AppendArray(m.B, 2), a.Child.Name), uint64(a.Child.Version))
	}
	m.Bool(keyIndependent, a.Independent)
	e.begins(&m, a)
	m.Int(keyFirst, int64(a.First))
	list(&m, keyNotify, a.Notify, e.notice)
	e.events(&m, a)
	e.people(&m, a)
	return m.B
}

func (e *encoder) moment(of *cbor.Map, key byte, when *Moment) {
	if when == nil {
		return
	}
	of.Key(key)
	m := cbor.BeginMap(of.B)
	m.Bool(keyAt, when.At)
	m.Int(keyFixed, when.Fixed)
	if when.Expr != nil {
		writeIndex(&m, keyMoment, e.condition(when.Expr))
	}
	of.B = m.B
}

func (e *encoder) outControl(b []byte, c OutControl) []byte {
	m := cbor.BeginMap(b)
	m.Text(keyEnd, string(c.To))
	m.Text(keyEndNode, string(c.Node))
	if c.Condition != nil {
		writeIndex(&m, keyCondition, e.condition(c.Condition))
	}
	m.Bool(keyOtherwise, c.Otherwise)
	return m.B
}

func (e *encoder) mappings(of *cbor.Map, key byte, name ActivityID, all []Mapping) {
	step := func(b []byte, n int) []byte { return cbor.AppendInt(b, int64(n)) }
	list(of, key, all, func(b []byte, to Mapping) []byte {
		m := cbor.BeginMap(b)
		m.Bool(keyRC, to.RC)
		list(&m, keyFrom, to.From, step)
		list(&m, keyTo, to.To, step)
		m.Key(keyType)
		var err error
		if m.B, err = e.types.reference(m.B, to.Type); err != nil {
			e.fail("%s: mapping %s to %s: %w", name, to.Source, to.Target, err)
		}
		m.Text(keySource, to.Source)
		m.Text(keyTarget, to.Target)
		m.Uint(keyWord, uint64(to.Word))
		if to.Expr != nil {
			writeIndex(&m, keyWorked, e.condition(to.Expr))
		}
		m.Bool(keyOfWord, to.OfWords)
		m.Bool(keyAppend, to.Append)
		m.Bool(keyDid, to.Did)
		return m.B
	})
}

// maxLogic bounds the depth of a start condition's tree: its text cannot nest deeper.
const maxLogic = condition.MaxText

func (e *encoder) logic(b []byte, l condition.Logic, name ActivityID, depth int) []byte {
	if depth > maxLogic {
		e.fail("%s: the start condition is nested deeper than %d", name, maxLogic)
		return b
	}
	m := cbor.BeginMap(b)
	m.Int(keyOp, int64(l.Op))
	m.Int(keyVar, int64(l.Var))
	m.Int(keyN, int64(l.N))
	list(&m, keyArgs, l.Args, func(b []byte, arg condition.Logic) []byte { return e.logic(b, arg, name, depth+1) })
	return m.B
}
