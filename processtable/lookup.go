package processtable

import (
	"slices"

	"fmqm/condition"
)

// index makes look-ups in a table independent of its size. Decode builds it; a table
// that was put together by hand has none and is searched.
type index struct {
	activities Rows[*Activity]
	places     map[ActivityID]Place
	nodes      map[NodeID]bool // of the process; true: an instance may be started there
	hosting    map[NodeID]bool // an activity, or the work of one
	resolvers  map[resolution]bool
	workers    map[ActivityID]*Worker
}

// flat says that names alone are looked up: before format 5 no two rows have the same one, and a
// roster does not say what is inside of what.
func (t *Table) flat() bool { return t.Format < BlockFormat }

// Rows has something for each row of a table. It is built before it is read, then it is safe for
// concurrent use.
type Rows[T any] struct {
	flat   bool
	top    map[ActivityID]T
	inside map[RowID]T
}

// NewRows makes one that has nothing.
func NewRows[T any](t *Table) Rows[T] {
	return Rows[T]{flat: t.flat(), top: make(map[ActivityID]T, len(t.Activities)), inside: map[RowID]T{}}
}

// Put gives a row what it has.
func (r *Rows[T]) Put(row RowID, v T) {
	if r.flat || row.Inside == "" {
		r.top[row.Name] = v
	} else {
		r.inside[row] = v
	}
}

// Get gives what a row has, or the zero T.
func (r *Rows[T]) Get(row RowID) T {
	if r.flat || row.Inside == "" {
		return r.top[row.Name]
	}
	return r.inside[row]
}

type resolution struct {
	node     NodeID
	activity ActivityID
}

func newIndex(t *Table) *index {
	x := &index{
		activities: NewRows[*Activity](t),
		places:     make(map[ActivityID]Place, len(t.Roster)),
		nodes:      make(map[NodeID]bool, len(t.Starts)),
		hosting:    map[NodeID]bool{},
	}
	for _, a := range t.Activities {
		x.activities.Put(a.Row(), a)
	}
	for _, p := range t.Roster {
		x.places[p.Activity] = p
		if p.Node != Origin {
			x.nodes[p.Node] = false
			x.hosting[p.Node] = true
		}
	}
	for i := range t.Workers {
		w := &t.Workers[i]
		if x.workers == nil {
			x.workers = make(map[ActivityID]*Worker, len(t.Workers))
		}
		x.workers[w.Activity] = w
		for _, n := range w.Nodes {
			x.nodes[n] = false
			x.hosting[n] = true
		}
	}
	for _, n := range t.Starts {
		x.nodes[n] = true
	}
	if len(t.Resolvers) > 0 {
		x.resolvers = map[resolution]bool{}
	}
	for _, r := range t.Resolvers {
		for _, a := range r.Activities {
			x.resolvers[resolution{r.Node, a}] = true
		}
	}
	return x
}

// Activity gives the entry of an activity, or nil if this node does not host it.
func (t *Table) Activity(row RowID) *Activity {
	if t.index != nil {
		return t.index.activities.Get(row)
	}
	for _, a := range t.Activities {
		if a.Row() == row || a.Name == row.Name && t.flat() {
			return a
		}
	}
	return nil
}

// NodeOf says where an activity lives, from the roster: Source and Sink of a block where the block
// does, those of the process at Origin, one execution of a bundle where the bundle does. HostOf says it of an instance. It is false for
// what the process does not have, and for the work of a call, which has several places (Hosts).
func (t *Table) NodeOf(row RowID) (NodeID, bool) {
	name := row.Name
	if name == Source || name == Sink {
		if row.Inside == "" || t.flat() {
			return Origin, true
		}
		name = row.Inside
	}
	if row.Begun > 0 {
		p, ok := t.place(name)
		return p.Node, ok && t.Format >= BundleFormat && row.Inside == name && !t.isWork(row)
	}
	p, ok := t.place(name)
	if ok && name == row.Name && p.Inside != row.Inside && !t.flat() {
		return "", false
	}
	return p.Node, ok
}

func (t *Table) place(name ActivityID) (Place, bool) {
	if t.index != nil {
		p, ok := t.index.places[name]
		return p, ok
	}
	for _, p := range t.Roster {
		if p.Activity == name {
			return p, true
		}
	}
	return Place{}, false
}

// Of gives the row of an activity of the roster, by its name alone.
func (t *Table) Of(name ActivityID) (RowID, bool) {
	p, ok := t.place(name)
	return RowID{Name: name, Inside: p.Inside}, ok
}

// WorkersOf says where the work of an activity is done; nil: it is no call.
func (t *Table) WorkersOf(name ActivityID) *Worker {
	if t.index != nil {
		return t.index.workers[name]
	}
	for i := range t.Workers {
		if t.Workers[i].Activity == name {
			return &t.Workers[i]
		}
	}
	return nil
}

// isWork says whether a row is what does the work of a call.
func (t *Table) isWork(row RowID) bool {
	if row.Begun == 0 {
		return false
	}
	w := t.WorkersOf(row.Name)
	return w != nil && row == w.row()
}

// row is what does the work.
func (w *Worker) row() RowID {
	row := RowID{Name: w.Activity, Inside: w.Activity, Begun: 1}
	if w.Each {
		row.Begun++
	}
	return row
}

// Hosting says whether a node hosts an activity of every instance, or may do the work of one. Others that have a
// part in the process start instances, and host what is at Origin of these only.
func (t *Table) Hosting(node NodeID) bool {
	if t.index != nil {
		return t.index.hosting[node]
	}
	return slices.ContainsFunc(t.Roster, func(p Place) bool { return p.Node == node && node != Origin }) ||
		slices.ContainsFunc(t.Workers, func(w Worker) bool { return slices.Contains(w.Nodes, node) })
}

// Nodes are all that have a part in the process, sorted.
func (t *Table) Nodes() []NodeID {
	all := slices.Clone(t.Starts)
	for _, p := range t.Roster {
		if p.Node != Origin {
			all = append(all, p.Node)
		}
	}
	for _, w := range t.Workers {
		all = append(all, w.Nodes...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// IsStart says whether instances may be started at this table's node (N1).
func (t *Table) IsStart() bool { return slices.Contains(t.Starts, t.Node) }

// MayStart says whether instances may be started at a node (N1).
func (t *Table) MayStart(node NodeID) bool {
	if t.index != nil {
		return t.index.nodes[node]
	}
	return slices.Contains(t.Starts, node)
}

// HasPart says whether a node has a part in the process: it hosts an activity, or an
// instance may be started there. Others are told nothing of it (invariant 11).
func (t *Table) HasPart(node NodeID) bool {
	if t.index != nil {
		_, has := t.index.nodes[node]
		return has
	}
	return slices.Contains(t.Nodes(), node)
}

// MayResolve says whether a node may resolve, on the behalf of its host, the connectors of an activity that lead into
// this table's activities (N6), in an instance that was started at origin.
func (t *Table) MayResolve(node NodeID, activity ActivityID, origin NodeID) bool {
	return t.resolves(node, activity) || node == origin && t.resolves(Origin, activity)
}

func (t *Table) resolves(node NodeID, activity ActivityID) bool {
	if t.index != nil {
		return t.index.resolvers[resolution{node, activity}]
	}
	return slices.ContainsFunc(t.Resolvers, func(r Resolver) bool {
		return r.Node == node && slices.Contains(r.Activities, activity)
	})
}

// BeginsOthers says whether an activity here begins instances that are suspended, and have another priority, with theirs (N19).
func (t *Table) BeginsOthers() bool {
	return slices.ContainsFunc(t.Activities, func(a *Activity) bool { return a.Child != nil && !a.Independent })
}

// DiesAlone says whether the activity is skipped as soon as the only control connector
// into it is FALSE: then whoever resolves that connector may resolve those out of it (N6).
func (a *Activity) DiesAlone() bool {
	return !a.Added() && a.Behaviour == "" && len(a.InControl) == 1 &&
		a.InControl[0].From != Source && a.Start.Never(condition.ConnectorFalse, condition.ConnectorSkipped, condition.ConnectorFailed)
}

// RunsAlone says whether the activity's program runs as soon as the only control connector
// into it is TRUE, whatever else comes: what makes it so ends nothing by itself (N5).
func (a *Activity) RunsAlone() bool {
	return a.Kind == KindProgram && a.Behaviour == "" && len(a.InControl) == 1 &&
		a.Start.Always(condition.ConnectorTrue, condition.ConnectorCaught)
}

// more says whether a row has keyMore.
func (a *Activity) more() bool {
	return a.Deadline != nil || a.Wait != nil || a.Continues || len(a.Cancels)+len(a.CancelledBy) > 0 || a.Child != nil || a.Independent || a.Bundle != nil || a.Call != nil ||
		a.events() || a.First != 0 || len(a.Notify) > 0 || a.Manual != nil || a.Priority != nil
}

// asks says whether a row has something of FlowMark's that only formats from 6 on have.
func (a *Activity) asks() bool {
	worked := func(m Mapping) bool { return m.Expr != nil || m.OfWords || m.Append }
	return a.Start.AsksEnds() || slices.ContainsFunc(a.Feedback, worked) ||
		slices.ContainsFunc(a.InData, func(d InData) bool { return slices.ContainsFunc(d.Mappings, worked) }) ||
		slices.ContainsFunc(a.OutData, func(d OutData) bool { return slices.ContainsFunc(d.Mappings, worked) })
}

// whole says whether a row has something of FlowMark's that only formats from 5 on have.
func (a *Activity) whole() bool {
	word := func(m Mapping) bool { return m.Word != 0 }
	return a.more() ||
		a.Exit != nil && a.Exit.Reads != 0 || slices.ContainsFunc(a.Feedback, word) ||
		slices.ContainsFunc(a.Path, func(c Composite) bool { return c.Catches }) ||
		slices.ContainsFunc(a.OutControl, func(c OutControl) bool { return c.Condition != nil && c.Condition.Reads != 0 }) ||
		slices.ContainsFunc(a.InData, func(d InData) bool { return slices.ContainsFunc(d.Mappings, word) }) ||
		slices.ContainsFunc(a.OutData, func(d OutData) bool { return slices.ContainsFunc(d.Mappings, word) })
}

// Follows says whether a connector leads from an activity to this one.
func (a *Activity) Follows(from ActivityID) bool {
	return slices.ContainsFunc(a.InControl, func(c InControl) bool { return c.From == from }) ||
		slices.ContainsFunc(a.InData, func(d InData) bool { return d.From == from })
}

// TargetNodes names the nodes that the activity's connectors lead to, Origin among them.
func (a *Activity) TargetNodes() []NodeID {
	var out []NodeID
	for _, c := range a.OutControl {
		out = append(out, c.Node)
	}
	for _, d := range a.OutData {
		out = append(out, d.Node)
	}
	slices.Sort(out)
	return slices.Compact(out)
}
