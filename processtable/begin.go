package processtable

import (
	"errors"
	"fmt"
	"slices"

	"fmqm/condition"
	"fmqm/container"
	"fmqm/internal/cbor"
)

// MaxChildren is the highest number that a table can have of instances that its process begins.
const MaxChildren = 1 << 20

// MaxElements is how many elements a bundle may have (N10).
const MaxElements = 100_000

// What the outside of a bundle consists of (N21): its input, where each element is a whole input of one
// execution, and the members that its output may have.
const (
	MemberStruct  = "_STRUCT"
	MemberResults = "_RESULTS" // list of outputs
	MemberErrors  = "_ERRORS"  // list of texts; empty: there is none
	MemberRCs     = "_RCS"     // list of return codes
	MemberCount   = "_COUNT"   // elements
	MemberDone    = "_DONE"    // elements that have returned
	MemberFailed  = "_FAILED"  // elements that have returned, and failed
)

// Counts are what the until of a bundle is over.
var Counts = container.NewStructure("", []container.Member{
	{Name: MemberCount, Type: container.Scalar(container.Int)},
	{Name: MemberDone, Type: container.Scalar(container.Int)},
	{Name: MemberFailed, Type: container.Scalar(container.Int)},
})

// writeWorkers writes what tables have from format 7 on.
func writeWorkers(m *cbor.Map, t *Table) error {
	if len(t.Workers) == 0 {
		return nil
	}
	if t.Format < BundleFormat {
		return fmt.Errorf("format %d has no calls", t.Format)
	}
	var failed error
	list(m, keyWorkers, t.Workers, func(b []byte, w Worker) []byte {
		at := slices.IndexFunc(t.Roster, func(p Place) bool { return p.Activity == w.Activity })
		if at < 0 && failed == nil {
			failed = fmt.Errorf("workers: the roster has no %q", w.Activity)
		}
		b = cbor.AppendBool(cbor.AppendUint(cbor.AppendArray(b, 3), uint64(max(0, at))), w.Each)
		b = cbor.AppendArray(b, len(w.Nodes))
		for _, n := range w.Nodes {
			b = appendName(b, n)
		}
		return b
	})
	return failed
}

func (d *decoder) worker() Worker {
	d.Tuple(3)
	return Worker{
		Activity: d.activityAt(len(d.table.Roster) - 1),
		Each:     d.Bool(),
		Nodes:    items(d, maxActivities, name[NodeID](d)),
	}
}

// begins writes what a bundle or a call has beside other activities.
func (e *encoder) begins(m *cbor.Map, a *Activity) {
	if b := a.Bundle; b != nil {
		m.Text(keyMember, b.Member)
		m.Int(keyParallel, int64(b.Parallel))
		if b.Until != nil {
			writeIndex(m, keyUntil, e.condition(b.Until))
		}
		if b.Failed != nil {
			writeIndex(m, keyFailed, e.condition(b.Failed))
		}
	}
	if c := a.Call; c != nil {
		if c.Node != nil {
			writeIndex(m, keyCallNode, e.condition(c.Node))
		}
		list(m, keyCallOf, c.Of, appendName[NodeID])
	}
}

func (d *decoder) begins(a *Activity, key int) {
	if key <= keyFailed && a.Bundle == nil {
		a.Bundle = &Bundle{}
	}
	if key > keyFailed && a.Call == nil {
		a.Call = &Call{}
	}
	switch key {
	case keyMember:
		a.Bundle.Member = d.Text(MaxName)
	case keyParallel:
		a.Bundle.Parallel = d.number(MaxParallel)
	case keyUntil:
		a.Bundle.Until = d.conditionAt()
	case keyFailed:
		a.Bundle.Failed = d.conditionAt()
	case keyCallNode:
		a.Call.Node = d.conditionAt()
	case keyCallOf:
		a.Call.Of = items(d, maxActivities, name[NodeID](d))
	}
}

// work adds the row that does a call's work here, if it may be done here.
func (v *validator) work(want []RowID, p Place) []RowID {
	w := v.t.WorkersOf(p.Activity)
	if w == nil || !slices.Contains(w.Nodes, v.t.Node) {
		return want
	}
	return append(want, w.row())
}

// workers checks what a table says of where the work of calls is done.
func (v *validator) workers() error {
	last := -1
	for _, w := range v.t.Workers {
		at := v.at(w.Activity)
		if at <= last || w.Activity == Sink {
			return fmt.Errorf("workers: %s is not in the order of the roster, or occurs twice", w.Activity)
		}
		last = at
		if len(w.Nodes) == 0 {
			return fmt.Errorf("workers: %s has none", w.Activity)
		}
		seen := map[NodeID]bool{}
		for _, n := range w.Nodes {
			if !ValidNode(string(n)) || seen[n] {
				return fmt.Errorf("workers: %s: node %q is not a name, or occurs twice", w.Activity, n)
			}
			seen[n] = true
		}
		if p := v.index.places[w.Activity]; v.t.HasPlace(p) {
			row := w.row()
			if row.Begun--; row.Begun == 0 {
				row.Inside = p.Inside
			}
			if a := v.t.Activity(row); a == nil || a.Manual == nil && (a.Call == nil || !slices.Equal(a.Call.Of, w.Nodes)) {
				return fmt.Errorf("workers: %s is no call, or not of those nodes", w.Activity)
			} else if a.Manual != nil && !slices.Equal(a.Manual.Elsewhere(p.Node), w.Nodes) {
				return fmt.Errorf("workers: %s is not offered at those nodes", w.Activity)
			}
		}
	}
	return nil
}

// begins checks what a bundle or a call has, and what either has begun.
func (v *validator) begins(a *Activity) error {
	plain := a.Exit == nil && len(a.Feedback) == 0 && a.MaxIterations == 0 && a.Again == Backoff{} && a.Retry == Retry{} && !a.RCIsData && !a.RCContinue && !a.NoOutput
	switch {
	case (a.Kind == KindBundle) != (a.Bundle != nil), (a.Kind == KindCall) != (a.Call != nil):
		return errors.New("a bundle has elements, a call has nodes, and nothing else has either")
	case (a.Bundle != nil || a.Call != nil) && !plain:
		return errors.New("exit condition, feedback, repetition, retry and return codes are those of what it begins")
	case a.Begun() && (len(a.InControl)+len(a.OutControl)+len(a.InData)+len(a.OutData)+len(a.Cancels)+len(a.CancelledBy) > 0 || a.FirstMatch ||
		a.Start.Op != condition.LogicAnd || len(a.Start.Args) > 0):
		return errors.New("it is begun, so it has neither connectors nor a start condition, and cancels nothing")
	case v.t.isWork(a.Row()) && a.Kind == KindManual:
		return v.offer(a)
	case v.t.isWork(a.Row()) && (a.Kind != KindProgram && a.Kind != KindProcess || a.Deadline != nil):
		return errors.New("what a call has done is a program or a subprocess, and has no deadline")
	case a.Begun() && a.Path[len(a.Path)-1].Elements == v.t.isWork(a.Row()):
		return errors.New("it is begun by another row than the table says")
	case a.Bundle != nil:
		return v.bundle(a)
	case a.Call != nil:
		return v.call(a)
	}
	return nil
}

// offer checks what is at another node than its home of a manual activity (Manual.Offered): it ends with that, and by nothing else. Its
// notices are for the people there.
func (v *validator) offer(a *Activity) error {
	if a.Exit != nil || a.Deadline != nil || a.Path[len(a.Path)-1].Elements {
		return errors.New("what is offered beside its home has neither exit condition nor deadline: home has those")
	}
	if len(a.Notify) > 0 && v.t.Format < AwayFormat {
		return fmt.Errorf("format %d has no notices of what is offered beside its home", v.t.Format)
	}
	if slices.ContainsFunc(a.Notify, func(n Notice) bool { return n.Program != "" }) {
		return errors.New("what is offered beside its home has notices for people only: home runs their programs")
	}
	return nil
}

func (v *validator) bundle(a *Activity) error {
	row := a.Row()
	one := v.t.Activity(RowID{Name: a.Name, Inside: a.Name, Begun: row.Begun + 1})
	switch {
	case row.Begun != 0 || one == nil:
		return errors.New("a bundle is begun by connectors, and has a row for one execution")
	case a.Deadline != nil:
		return errors.New("the deadline of a bundle is that of one execution")
	case a.Bundle.Parallel < 1:
		return errors.New("parallel is below 1")
	}
	want := []container.Member{{Name: MemberStruct, Type: one.Input}}
	if a.Bundle.Member != "" {
		want = one.Input.Members
	}
	if !slices.EqualFunc(a.Input.Members, want, func(have, inner container.Member) bool {
		if a.Bundle.Member == "" || a.Bundle.Member == inner.Name {
			return have.Name == inner.Name && have.Type.Kind == container.List && have.Type.Elem == inner.Type
		}
		return have.Name == inner.Name && have.Type == inner.Type
	}) {
		return fmt.Errorf("its input is not that of one execution, with a list as %q", a.Bundle.Member)
	}
	if _, has := a.Input.MemberIndex(a.Bundle.Member); a.Bundle.Member != "" && !has {
		return fmt.Errorf("its input has no member %q", a.Bundle.Member)
	}
	for _, m := range a.Output.Members {
		if !isResult(m, one.Output) {
			return fmt.Errorf("its output has %s, a %s, which no bundle gives", m.Name, m.Type)
		}
	}
	return nil
}

// isResult says whether a bundle of executions with this output gives such a member.
func isResult(m container.Member, output *container.Type) bool {
	list := func(kind container.Kind) bool { return m.Type.Kind == container.List && m.Type.Elem.Kind == kind }
	switch m.Name {
	case MemberResults:
		return m.Type.Kind == container.List && m.Type.Elem == output
	case MemberErrors:
		return list(container.String)
	case MemberRCs:
		return list(container.Int)
	case MemberCount, MemberDone, MemberFailed:
		return m.Type.Kind == container.Int
	}
	return false
}

func (v *validator) call(a *Activity) error {
	w := v.t.WorkersOf(a.Name)
	if a.Call.Node == nil || w == nil || !slices.Equal(w.Nodes, a.Call.Of) {
		return errors.New("a call has an expression for the node, and the table says the same nodes for its work")
	}
	row := a.Row()
	if w.row().Begun != row.Begun+1 {
		return errors.New("the table says otherwise whether its work is that of each element of a bundle")
	}
	if work := v.t.Activity(w.row()); work != nil && (work.Input != a.Input || work.Output != a.Output || work.Continues != a.Continues) {
		return errors.New("what does its work has another input or output, or other errors to go on after")
	}
	return nil
}
