package processtable

import (
	"errors"
	"fmt"
	"slices"

	"fmqm/condition"
	"fmqm/container"
)

func (v *validator) control(a *Activity) error {
	if a.Name == Source && len(a.InControl) > 0 || a.Name == Sink && len(a.OutControl) > 0 {
		return errors.New("it has control connectors on the wrong side")
	}
	from := map[ActivityID]bool{}
	for _, c := range a.InControl {
		if err := v.incoming("control", a, c.From, from); err != nil {
			return err
		}
		if v.isLocal(RowID{Name: c.From, Inside: v.inside(a)}) && !v.outControl[ends{v.inside(a), c.From, a.Name}] {
			return fmt.Errorf("incoming control connector from %s: %s has none to it", c.From, c.From)
		}
	}
	if from[Source] && len(from) > 1 && v.t.flat() {
		return errors.New("control connectors from source and from activities: source starts only what has no predecessors")
	}
	to := map[ActivityID]bool{}
	otherwise, beside, awaited := 0, 0, false
	for _, c := range a.OutControl {
		if err := v.outgoing("control", a, c.To, c.Node, to); err != nil {
			return err
		}
		if (c.Condition != nil || c.Otherwise) && (a.Name == Source && v.t.flat() || c.To == Sink) || c.Condition != nil && c.Otherwise {
			return fmt.Errorf("outgoing control connector to %s: it cannot have a condition", c.To)
		}
		switch {
		case c.Otherwise:
			otherwise++
		case c.Condition != nil || a.Name != Source && c.To != Sink:
			beside++
		}
		if c.To != Sink && !v.mayNotWait(v.inside(a), c.To) {
			awaited = true
		}
		if v.isLocal(RowID{Name: c.To, Inside: v.inside(a)}) && !v.inControl[ends{v.inside(a), a.Name, c.To}] {
			return fmt.Errorf("outgoing control connector to %s: %s has none from it", c.To, c.To)
		}
	}
	if to[Sink] && awaited {
		return errors.New("control connectors to sink and to activities: sink follows only what has no successors, or none that wait for it")
	}
	if otherwise > 1 || otherwise == 1 && beside == 0 {
		return errors.New("want at most one otherwise, beside other outgoing control connectors")
	}
	return nil
}

func (v *validator) incoming(kind string, a *Activity, from ActivityID, seen map[ActivityID]bool) error {
	_, known := v.t.NodeOf(RowID{Name: from, Inside: v.inside(a)})
	switch {
	case !known, from == Sink, from == a.Name:
		return fmt.Errorf("incoming %s connector from %q: it is not another activity of the process, or of the same block", kind, from)
	case seen[from]:
		return fmt.Errorf("incoming %s connector from %s: it occurs twice", kind, from)
	}
	seen[from] = true
	return nil
}

func (v *validator) outgoing(kind string, a *Activity, to ActivityID, node NodeID, seen map[ActivityID]bool) error {
	place, known := v.t.NodeOf(RowID{Name: to, Inside: v.inside(a)})
	switch {
	case !known, to == Source, to == a.Name:
		return fmt.Errorf("outgoing %s connector to %q: it is not another activity of the process, or of the same block", kind, to)
	case node != place:
		return fmt.Errorf("outgoing %s connector to %s: it says node %q, but the roster says %s", kind, to, node, place)
	case seen[to]:
		return fmt.Errorf("outgoing %s connector to %s: it occurs twice", kind, to)
	}
	seen[to] = true
	return nil
}

// checkLogic says whether a start condition can be evaluated over n connectors.
func checkLogic(l condition.Logic, n int) error {
	switch l.Op {
	case condition.LogicVar, condition.LogicRan, condition.LogicSkipped, condition.LogicFailed:
		if l.Var >= n || l.N != 0 || len(l.Args) != 0 {
			return fmt.Errorf("connector %d of %d", l.Var, n)
		}
		return nil
	case condition.LogicNot:
		if len(l.Args) != 1 || l.N != 0 {
			return errors.New("not takes one argument")
		}
	case condition.LogicAnd, condition.LogicOr:
		if l.N != 0 {
			return errors.New("only at_least has a number")
		}
	case condition.LogicAtLeast:
		if l.N < 1 || l.N > len(l.Args) {
			return fmt.Errorf("at_least %d of %d", l.N, len(l.Args))
		}
	default:
		return fmt.Errorf("operator %d is unknown", l.Op)
	}
	if l.Var != 0 {
		return errors.New("only a connector has an index")
	}
	for _, arg := range l.Args {
		if err := checkLogic(arg, n); err != nil {
			return err
		}
	}
	return nil
}

func (v *validator) data(a *Activity) error {
	if a.Name == Source && len(a.InData) > 0 || a.Name == Sink && len(a.OutData) > 0 {
		return errors.New("it has data connectors on the wrong side")
	}
	from := map[ActivityID]bool{}
	for _, c := range a.InData {
		if err := v.incoming("data", a, c.From, from); err != nil {
			return err
		}
		if err := v.mappings(c.Mappings, v.outputOf(RowID{Name: c.From, Inside: v.inside(a)}), a.Input, c.From); err != nil {
			return fmt.Errorf("incoming data connector from %s: %w", c.From, err)
		}
		if err := v.did(c.Mappings, RowID{Name: c.From, Inside: v.inside(a)}, a.Row()); err != nil {
			return fmt.Errorf("incoming data connector from %s: %w", c.From, err)
		}
		if v.isLocal(RowID{Name: c.From, Inside: v.inside(a)}) && !sameMappings(v.outData[ends{v.inside(a), c.From, a.Name}], c.Mappings) {
			return fmt.Errorf("incoming data connector from %s: %s does not have the same one to it", c.From, c.From)
		}
	}
	to := map[ActivityID]bool{}
	for _, c := range a.OutData {
		if err := v.outgoing("data", a, c.To, c.Node, to); err != nil {
			return err
		}
		if err := v.mappings(c.Mappings, a.Output, v.inputOf(RowID{Name: c.To, Inside: v.inside(a)}), a.Name); err != nil {
			return fmt.Errorf("outgoing data connector to %s: %w", c.To, err)
		}
		if err := v.did(c.Mappings, a.Row(), RowID{Name: c.To, Inside: v.inside(a)}); err != nil {
			return fmt.Errorf("outgoing data connector to %s: %w", c.To, err)
		}
		if v.isLocal(RowID{Name: c.To, Inside: v.inside(a)}) && !sameMappings(v.inData[ends{v.inside(a), a.Name, c.To}], c.Mappings) {
			return fmt.Errorf("outgoing data connector to %s: %s does not have the same one from it", c.To, c.To)
		}
	}
	if len(a.Feedback) > 0 {
		if slices.ContainsFunc(a.Feedback, func(m Mapping) bool { return m.Did }) {
			return errors.New("feedback: no hidden connector feeds back")
		}
		if err := v.mappings(a.Feedback, a.Output, a.Input, a.Name); err != nil {
			return fmt.Errorf("feedback: %w", err)
		}
	}
	return nil
}

// outputOf gives the output container of an activity, or nil if this table does not
// know it.
func (v *validator) outputOf(row RowID) *container.Type {
	if row == (RowID{Name: Source}) {
		return v.t.Input
	}
	if a := v.t.Activity(row); a != nil {
		return a.Output
	}
	return nil
}

func (v *validator) inputOf(row RowID) *container.Type {
	if row == (RowID{Name: Sink}) {
		return v.t.Output
	}
	if a := v.t.Activity(row); a != nil {
		return a.Input
	}
	return nil
}

// mappings checks both ends; source or target is nil for a container that only
// another node's table has.
func (v *validator) mappings(ms []Mapping, source, target *container.Type, from ActivityID) error {
	if len(ms) == 0 {
		return errors.New("it maps nothing")
	}
	for i, m := range ms {
		if err := checkMapping(m, source, target, from); err != nil {
			return fmt.Errorf("mapping %d (%s to %s): %w", i, m.Source, m.Target, err)
		}
	}
	return nil
}

func checkMapping(m Mapping, source, target *container.Type, from ActivityID) error {
	if m.Type == nil {
		return errors.New("the type is missing")
	}
	if m.Did {
		return nil // did checks it
	}
	if m.Expr != nil {
		if len(m.From) != 0 || m.RC || m.Word != 0 {
			return errors.New("an expression is worked out, and copies neither a member nor a word")
		}
	} else if m.OfWords {
		return errors.New("only an expression can be of words")
	} else if m.Word != 0 {
		if len(m.From) != 0 || m.RC || !m.Word.Single() || !container.SameType(m.Type, (condition.Scope{}).TypeOf(m.Word)) {
			return errors.New("a word of the engine is of its own type, without members")
		}
	} else if m.RC {
		if from == Source || len(m.From) != 0 || m.Type.Kind != container.Int {
			return errors.New("_RC is an int, of an activity, without members")
		}
	} else if err := checkEnd(source, m.From, m.Type, false); err != nil {
		return fmt.Errorf("from: %w", err)
	}
	if err := checkEnd(target, m.To, m.Type, m.Append); err != nil {
		return fmt.Errorf("to: %w", err)
	}
	return nil
}

// checkEnd: appended says that the path leads to a list of what is wanted.
func checkEnd(t *container.Type, p container.Path, want *container.Type, appended bool) error {
	if len(p) == 0 {
		return errors.New("the path is empty")
	}
	if t == nil {
		return nil
	}
	got, err := t.TypeAt(p)
	if err == nil && appended {
		if got.Kind != container.List {
			return fmt.Errorf("path %v of %s leads to %s, to which nothing can be appended", []int(p), t, got)
		}
		got = got.Elem
	}
	if err == nil && got != want {
		err = fmt.Errorf("path %v of %s leads to %s, not %s", []int(p), t, got, want)
	}
	return err
}

func sameMappings(a, b []Mapping) bool {
	return slices.EqualFunc(a, b, func(m, n Mapping) bool {
		return m.RC == n.RC && m.Word == n.Word && m.Expr == n.Expr && m.OfWords == n.OfWords && m.Append == n.Append && m.Did == n.Did && m.Type == n.Type && slices.Equal(m.From, n.From) && slices.Equal(m.To, n.To)
	})
}
