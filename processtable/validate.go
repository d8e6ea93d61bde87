package processtable

import (
	"errors"
	"fmt"
	"slices"

	"fmqm/container"
)

// validate checks what the format alone does not: that the table is whole. It is
// only asked about tables that were just read, whose equal types are one *Type, and that
// have their index.
func validate(t *Table) error {
	v := validator{t: t, index: t.index}
	if err := v.head(); err != nil {
		return err
	}
	if err := v.hosted(); err != nil {
		return fmt.Errorf("%s: %w", QueueName(t.Process, t.Node), err)
	}
	v.findLocal()
	for _, a := range t.Activities {
		if err := v.activity(a); err != nil {
			return fmt.Errorf("%s: activity %s: %w", QueueName(t.Process, t.Node), a.Name, err)
		}
	}
	if err := v.workers(); err != nil {
		return fmt.Errorf("%s: %w", QueueName(t.Process, t.Node), err)
	}
	if here := v.children(); here > t.Children || t.Children > len(t.Roster) && t.Format < BundleFormat {
		return fmt.Errorf("%s: it has %d activities that begin instances, and counts %d", QueueName(t.Process, t.Node), here, t.Children)
	}
	if err := v.schedules(); err != nil {
		return fmt.Errorf("%s: %w", QueueName(t.Process, t.Node), err)
	}
	if err := v.search(); err != nil {
		return fmt.Errorf("%s: %w", QueueName(t.Process, t.Node), err)
	}
	if err := v.tablePeople(); err != nil {
		return fmt.Errorf("%s: %w", QueueName(t.Process, t.Node), err)
	}
	if err := v.detours(); err != nil {
		return fmt.Errorf("%s: %w", QueueName(t.Process, t.Node), err)
	}
	return nil
}

// limits: a row holds the deadline of the process.
func (v *validator) limits(a *Activity) bool {
	return a.Kind == KindSink && len(a.Path) == 0 && v.t.Format >= ModelFormat
}

// children is how many activities here begin instances.
func (v *validator) children() (n int) {
	for _, a := range v.t.Activities {
		if a.Kind == KindProcess {
			n++
		}
	}
	return n
}

type validator struct {
	t     *Table
	index *index
	// The connectors of which both ends are in this table, as each end has them.
	outControl, inControl map[ends]bool
	outData, inData       map[ends][]Mapping
	// The activities here into which connectors lead from one elsewhere.
	remoteControl, remoteData map[RowID][]ActivityID
	leads                     map[ActivityID]bool // a connector leads from it to an activity here
	places                    map[ActivityID]int  // in the roster; made when asked for
	composites                map[ActivityID]bool // something is inside of it
}

// ends are of a connector, which has both inside of the same composite.
type ends struct{ inside, from, to ActivityID }

func (v *validator) findLocal() {
	v.outControl, v.inControl = map[ends]bool{}, map[ends]bool{}
	v.outData, v.inData = map[ends][]Mapping{}, map[ends][]Mapping{}
	v.remoteControl, v.remoteData = map[RowID][]ActivityID{}, map[RowID][]ActivityID{}
	v.leads = map[ActivityID]bool{}
	for _, a := range v.t.Activities {
		within := v.inside(a)
		for _, c := range a.OutControl {
			if v.isLocal(RowID{Name: c.To, Inside: within}) {
				v.outControl[ends{within, a.Name, c.To}] = true
			}
		}
		for _, c := range a.InControl {
			v.leads[c.From] = true
			if from := (RowID{Name: c.From, Inside: within}); v.isLocal(from) {
				v.inControl[ends{within, c.From, a.Name}] = true
			} else {
				v.remoteControl[from] = append(v.remoteControl[from], a.Name)
			}
		}
		for _, c := range a.OutData {
			if v.isLocal(RowID{Name: c.To, Inside: within}) {
				v.outData[ends{within, a.Name, c.To}] = c.Mappings
			}
		}
		for _, c := range a.InData {
			v.leads[c.From] = true
			if from := (RowID{Name: c.From, Inside: within}); v.isLocal(from) {
				v.inData[ends{within, c.From, a.Name}] = c.Mappings
			} else {
				v.remoteData[from] = append(v.remoteData[from], a.Name)
			}
		}
	}
}

// inside is the composite that a row's connectors are inside of.
func (v *validator) inside(a *Activity) ActivityID {
	if v.t.flat() {
		return ""
	}
	return a.Inside()
}

func (v *validator) isLocal(row RowID) bool { return v.t.Activity(row) != nil }

// head checks what stands before the activities.
func (v *validator) head() error {
	t := v.t
	switch {
	case !ValidProcess(t.Process.Name):
		return fmt.Errorf("process %q is not a name", t.Process.Name)
	case t.Process.Version < 1 || t.Process.Version > MaxVersion:
		return fmt.Errorf("process %s: version %d is not between 1 and %d", t.Process.Name, t.Process.Version, MaxVersion)
	case !ValidNode(string(t.Node)):
		return fmt.Errorf("process %s: node %q is not a name", t.Process, t.Node)
	case t.Definition == DefinitionHash{}:
		return fmt.Errorf("%s: the definition hash is missing", QueueName(t.Process, t.Node))
	case t.Input == nil || t.Output == nil:
		return fmt.Errorf("%s: the input or output structure is missing", QueueName(t.Process, t.Node))
	case len(t.Starts) == 0:
		return fmt.Errorf("%s: no node may start it", QueueName(t.Process, t.Node))
	}
	seen := make(map[NodeID]bool, len(t.Starts))
	for _, n := range t.Starts {
		if !ValidNode(string(n)) || seen[n] {
			return fmt.Errorf("%s: starts: %q is not a name, or occurs twice", QueueName(t.Process, t.Node), n)
		}
		seen[n] = true
	}
	return nil
}

// hosted checks the roster, and that the table has just the entries that the roster
// and Starts call for.
func (v *validator) hosted() error {
	var want []RowID
	if v.t.IsStart() {
		want = append(want, RowID{Name: Source})
	}
	v.composites = map[ActivityID]bool{}
	for _, p := range v.t.Roster {
		v.composites[p.Inside] = p.Inside != ""
	}
	seen := make(map[ActivityID]bool, len(v.t.Roster))
	for _, p := range v.t.Roster {
		switch {
		case !ValidActivity(string(p.Activity)) || p.Activity == Source || p.Activity == Sink:
			return fmt.Errorf("roster: %q cannot name an activity", p.Activity)
		case !v.t.validPlace(p.Node):
			return fmt.Errorf("roster: %s: node %q is not a name", p.Activity, p.Node)
		case seen[p.Activity]:
			return fmt.Errorf("roster: %s occurs twice", p.Activity)
		}
		seen[p.Activity] = true
		if !v.t.HasPlace(p) {
			want = v.work(want, p)
			continue
		}
		want = append(want, RowID{Name: p.Activity, Inside: p.Inside})
		if a := v.t.Activity(RowID{Name: p.Activity, Inside: p.Inside}); a != nil && a.Bundle != nil {
			want = append(want, RowID{Name: p.Activity, Inside: p.Activity, Begun: 1})
		}
		want = v.work(want, p)
		if v.composites[p.Activity] {
			want = append(want, RowID{Name: Source, Inside: p.Activity}, RowID{Name: Sink, Inside: p.Activity})
		}
	}
	if v.t.IsStart() {
		want = append(want, RowID{Name: Sink})
	}
	if len(want) != len(v.t.Activities) {
		return fmt.Errorf("it has %d activities, but the roster calls for %d", len(v.t.Activities), len(want))
	}
	for i, a := range v.t.Activities {
		if row := a.Row(); row != want[i] && (!v.t.flat() || a.Name != want[i].Name) {
			return fmt.Errorf("activity %d is %q, but the roster calls for %s", i, a.Name, want[i].Name)
		}
	}
	return nil
}

func (v *validator) activity(a *Activity) error {
	if a.Input == nil || a.Output == nil {
		return errors.New("the input or output structure is missing")
	}
	if err := v.path(a); err != nil {
		return err
	}
	if err := v.meaning(a); err != nil {
		return err
	}
	if err := v.control(a); err != nil {
		return err
	}
	return v.data(a)
}

// meaning checks what is for the behaviour of a row: of another than FlowMark's, that it has
// nothing of FlowMark's.
func (v *validator) meaning(a *Activity) error {
	switch {
	case a.Behaviour != "" && v.composites[a.Name]:
		return fmt.Errorf("something is inside of it, and its behaviour %s is none of a block", a.Behaviour)
	case a.Behaviour != "":
		return other(a)
	}
	if err := v.kind(a); err != nil {
		return err
	}
	if err := v.events(a); err != nil {
		return err
	}
	if err := v.people(a); err != nil {
		return err
	}
	if err := checkLogic(a.Start, len(a.InControl)); err != nil {
		return fmt.Errorf("start condition: %w", err)
	}
	if err := checkFirst(a); err != nil {
		return err
	}
	if err := v.checkNotices(a); err != nil {
		return err
	}
	if err := v.cancels(a); err != nil {
		return err
	}
	for _, when := range []*Moment{a.Deadline, a.Wait} {
		if when != nil && (when.Expr != nil && when.Fixed != 0 || !when.At && when.Fixed < 0) {
			return errors.New("a time that is over is fixed, or an expression, and not counted backwards")
		}
	}
	if len(a.Spec) > 0 {
		return errors.New("it has a spec, and no behaviour that reads it")
	}
	return nil
}

// cancels checks whom an activity cancels, and who may cancel it: others of the same graph.
func (v *validator) cancels(a *Activity) error {
	for _, p := range a.Cancels {
		node, known := v.t.NodeOf(RowID{Name: p.Activity, Inside: v.inside(a)})
		if !known || p.Activity == a.Name || p.Activity == Source || p.Activity == Sink || node != p.Node {
			return fmt.Errorf("it cancels %q at %q: that is no other activity there, of the same graph", p.Activity, p.Node)
		}
		if to := v.t.Activity(RowID{Name: p.Activity, Inside: v.inside(a)}); to != nil && !slices.Contains(to.CancelledBy, a.Name) {
			return fmt.Errorf("it cancels %s, which does not know of that", p.Activity)
		}
	}
	for _, by := range a.CancelledBy {
		if _, known := v.t.NodeOf(RowID{Name: by, Inside: v.inside(a)}); !known || by == a.Name || by == Source || by == Sink {
			return fmt.Errorf("it is cancelled by %q: that is no other activity of the same graph", by)
		}
	}
	return nil
}

// other checks a row of another behaviour, as far as a table knows of it.
func other(a *Activity) error {
	switch {
	case !ValidBehaviour(string(a.Behaviour)):
		return fmt.Errorf("behaviour %q is not a name", a.Behaviour)
	case a.Added():
		return fmt.Errorf("behaviour %s: source and sink are FlowMark's", a.Behaviour)
	case a.Program != "" && !ValidProgram(string(a.Program)):
		return fmt.Errorf("program %q is not a name", a.Program)
	case a.Kind != 0 || a.NoOutput || a.Start.Op != 0 || a.Exit != nil || len(a.Feedback) > 0 || a.MaxIterations != 0 ||
		a.Again != Backoff{} || a.Retry != Retry{} || a.RCIsData || a.RCContinue || a.FirstMatch || a.whole():
		return fmt.Errorf("behaviour %s: kind, start and exit condition, feedback, repetition, retry and choice are FlowMark's: what it needs stands in its spec", a.Behaviour)
	}
	for _, d := range a.OutData {
		if slices.ContainsFunc(d.Mappings, func(m Mapping) bool { return m.Expr != nil }) {
			return fmt.Errorf("behaviour %s: outgoing data connector to %s: mappings that work something out are FlowMark's", a.Behaviour, d.To)
		}
	}
	for _, c := range a.OutControl {
		if c.Condition != nil || c.Otherwise {
			return fmt.Errorf("behaviour %s: outgoing control connector to %s: transition conditions are FlowMark's", a.Behaviour, c.To)
		}
	}
	return nil
}

// path checks the composites around an activity, innermost first.
func (v *validator) path(a *Activity) error {
	if a.Added() && len(a.Path) > 0 && v.t.flat() {
		return errors.New("source and sink are inside of nothing")
	}
	if n := ScopeSize(a.Path); n > MaxScope {
		return fmt.Errorf("path: a scope of it may have %d bytes, above the limit of %d", n, MaxScope)
	}
	seen, inner := map[ActivityID]bool{a.Name: true}, a.Name
	for i, c := range slices.Backward(a.Path) {
		if !ValidActivity(string(c.Activity)) || c.Activity == Source || c.Activity == Sink || seen[c.Activity] && (inner != c.Activity || v.t.Format < BundleFormat) {
			return fmt.Errorf("path: %q cannot name a composite around it, or occurs twice", c.Activity)
		}
		seen[c.Activity], inner = true, c.Activity
		if c.Iterations == 0 && !c.Elements {
			return fmt.Errorf("path: %s has neither iterations nor elements: then nothing is inside of it", c.Activity)
		}
		if v.t.flat() {
			continue
		}
		var around ActivityID
		if i > 0 {
			around = a.Path[i-1].Activity
		}
		place, known := v.index.places[c.Activity]
		if around == c.Activity { // each element of a bundle is a composite
			known, around = known && a.Path[i-1].Elements && !c.Elements, place.Inside
		}
		if !known || place.Inside != around {
			return fmt.Errorf("path: the roster does not have %s inside of %q", c.Activity, around)
		}
		block := v.t.Activity(RowAt(c.Activity, a.Path[:i]))
		if block == nil && v.t.HasPlace(place) || block != nil && c != block.Inner() {
			return fmt.Errorf("path: %s has other numbers there than it has itself", c.Activity)
		}
	}
	return nil
}

// kind checks what depends on the kind of activity.
func (v *validator) kind(a *Activity) error {
	added := a.Added()
	switch {
	case a.Kind < KindProgram || a.Kind > KindManual:
		return fmt.Errorf("kind %d is unknown", a.Kind)
	case a.Kind == KindBlock != v.composites[a.Name] && a.Kind != KindBundle:
		return fmt.Errorf("kind %d does not fit the roster, which says what is inside of a block", a.Kind)
	case (a.Kind == KindSource) != (a.Name == Source), (a.Kind == KindSink) != (a.Name == Sink):
		return fmt.Errorf("kind %d does not fit the name", a.Kind)
	case a.Kind == KindProgram && !ValidProgram(string(a.Program)):
		return fmt.Errorf("program %q is not a name", a.Program)
	case a.Kind != KindProgram && a.Program != "":
		return fmt.Errorf("program %s: an activity of this kind has no program", a.Program)
	case a.Kind == KindSource && a.Output != v.inputAround(a):
		return errors.New("its output is not the input of what it is the source of")
	case a.Kind == KindSink && a.Input != v.outputAround(a):
		return errors.New("its input is not the output of what it is the sink of")
	case (a.Kind == KindWait) != (a.Wait != nil), a.Kind == KindWait && (a.Exit != nil || a.Deadline != nil):
		return errors.New("a wait, and nothing else, has a time at which it goes on; it has neither exit condition nor deadline")
	case (a.Kind == KindProcess) != (a.Child != nil), a.Independent && a.Child == nil:
		return errors.New("a subprocess, and nothing else, names a process; that alone may be independent")
	case a.Child != nil && !ValidProcess(a.Child.Name):
		return fmt.Errorf("process %q is not a name", a.Child.Name)
	case a.Continues && a.Kind != KindProgram && a.Kind != KindBlock && a.Kind != KindProcess && a.Kind != KindCall, a.Deadline != nil && (added && !v.limits(a) || a.Kind == KindEmpty):
		return fmt.Errorf("kind %d has no such deadline, and no errors to go on after", a.Kind)
	case added && len(a.Cancels)+len(a.CancelledBy) > 0:
		return errors.New("source and sink cancel nothing, and are not cancelled")
	case added && (a.Exit != nil || a.MaxIterations != 0 || a.Again != Backoff{} || a.Retry != Retry{} || a.RCIsData || a.RCContinue || a.FirstMatch):
		return errors.New("it runs no program and has no exit condition, repetition, retry or choice")
	case added:
		return nil
	}
	if err := v.begins(a); err != nil || a.Kind == KindBundle || a.Kind == KindCall {
		return err
	}
	switch {
	case a.MaxIterations < 1:
		return errors.New("max_iterations is below 1")
	case a.Retry.Attempts < 1:
		return errors.New("retry: attempts is below 1")
	case !a.Again.valid():
		return errors.New("again: want 0 <= after <= max")
	case !a.Retry.Backoff.valid():
		return errors.New("retry: want 0 <= backoff <= max_backoff")
	case a.RCContinue && !a.RCIsData:
		return errors.New("on_rc is continue, but the return code is not data")
	case len(a.Feedback) > 0 && a.Exit == nil:
		return errors.New("it has feedback, but no exit condition")
	}
	return nil
}

// inputAround is the input of what a source belongs to: its block, which is hosted here as well, or
// the process.
func (v *validator) inputAround(a *Activity) *container.Type {
	if len(a.Path) == 0 {
		return v.t.Input
	}
	return v.around(a).Input
}

// outputAround is inputAround of a sink.
func (v *validator) outputAround(a *Activity) *container.Type {
	if len(a.Path) == 0 {
		return v.t.Output
	}
	return v.around(a).Output
}

func (v *validator) around(a *Activity) *Activity {
	return v.t.Activity(RowAt(a.Inside(), a.Path[:len(a.Path)-1]))
}

func (b Backoff) valid() bool { return 0 <= b.After && b.After <= b.Max }
