package world

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue/record"
	"fmqm/sim/oracle"
)

// isWork: a block and its inside have it for each other (N12).
func isWork(k message.Key) bool { return k.Kind == message.KindBegin || k.Kind == message.KindReturn }

// begins holds a transaction that begins iterations of blocks, or elements of bundles, to N12 and N18: in it the
// composite says that it has; a block takes what came back of the iteration before, which has come to its end. What a
// call begins may be at another site.
func (x *watch) begins(s *site, d *shadow, t *transaction) {
	if x.lost[s.name] || d.filled {
		return
	}
	for i := range t.records {
		if r := &t.records[i]; ends(r) && isElement(r.Scope) && r.Activity == r.Scope.Inside() {
			delete(d.elements[bundleOf(entryOf(r))], r.Scope)
			d.returned[inRun{bundleOf(entryOf(r)), runOf(r.Scope)}]++
		}
	}
	for i := range t.records {
		x.returned(s, d, &t.records[i])
	}
	for _, inside := range t.begun() {
		named := inside.Activity == inside.Scope.Inside() // what begins it has its name
		if named && !isElement(inside.Scope) {
			continue
		}
		block := message.Entry{Instance: inside.Instance, Scope: inside.Scope.Leave(), Activity: inside.Scope.Inside()}
		if !slices.ContainsFunc(t.put[block], func(k message.Key) bool { return k.Kind == message.KindSnapshot }) && !t.recorded(block) {
			x.world.breaks("3", "%s begins at %s, and not in one transaction with what %s says of it", inside.Scope, s.name, shown(block))
		}
		if named {
			x.parallel(s, d, inside)
		}
		if sink, any := sinkBefore(inside); any && !d.ended[sink] && !x.touched(block) { // else it may be of another run
			x.world.breaks("4", "%s begins at %s, and %s has not ended", inside.Scope, s.name, shown(sink))
		}
		for k := range d.messages[block] {
			if k.Kind == message.KindReturn && k.Scope != inside.Scope && !named {
				x.world.breaks("3", "%s begins at %s, and what came back of %s stays", inside.Scope, s.name, k.Scope)
			}
		}
	}
}

// bundleOf is the bundle that an element is of, in the run of that.
func bundleOf(element message.Entry) message.Entry {
	return message.Entry{Instance: element.Instance, Scope: element.Scope.Leave(), Activity: element.Activity}
}

// returned: what has come to its end by itself has had all come back that it had begun in that run (N12), whatever
// operators have done before: of a block sink has ended in that iteration, of a bundle without until each element.
func (x *watch) returned(s *site, d *shadow, r *record.AuditRecord) {
	if after, of := untilAfter(r); of && after > d.returned[inRun{entryOf(r), r.Run}] {
		x.world.breaks("4", "%s is in error at %s, after %d elements as it says, of which %d are of its run", shown(entryOf(r)), s.name, after, d.returned[inRun{entryOf(r), r.Run}])
	}
	if r.Event == record.EventForced {
		d.hand[entryOf(r)] = true
	}
	if r.Event == record.EventTerminated || r.Event == record.EventCancelled {
		x.abandoned(s, d, r)
	}
	if r.Event == record.EventTerminated && d.hand[entryOf(r)] {
		return
	}
	judged := r.Event == record.EventInError && strings.HasPrefix(r.Reason, "exit condition ") // what has come back is
	if r.Event != record.EventTerminated && r.Event != record.EventIterated && !judged || r.Ending != (message.Ending{}) {
		return
	}
	place, known := x.world.placeOf(entryOf(r))
	switch {
	case !known || oracle.IsWork(r.Scope, r.Activity):
	case place.Bundle != nil && !isElement(r.Scope):
		for scope := range d.elements[entryOf(r)] {
			if place.Bundle.Until == nil && runOf(scope) == r.Run {
				x.world.breaks("4", "%s ends at %s, and %s of its run is under way", shown(entryOf(r)), s.name, scope)
			}
		}
	case place.Block != nil:
		inside := r.Scope.Enter(message.Frame{Composite: r.Activity, Iteration: r.Iteration, Run: r.Run, Element: -1})
		if sink := (message.Entry{Instance: r.Instance, Scope: inside, Activity: processtable.Sink}); !d.ended[sink] {
			x.world.breaks("4", "%s has come to the end of iteration %d at %s, and %s has not ended", shown(entryOf(r)), r.Iteration, s.name, shown(sink))
		}
	}
}

// abandoned: whatever of a bundle is still under way when it ends is cancelled with that (N21, N25).
func (x *watch) abandoned(s *site, d *shadow, r *record.AuditRecord) {
	if isElement(r.Scope) && r.Activity == r.Scope.Inside() {
		return
	}
	for scope := range d.elements[entryOf(r)] {
		element := message.Entry{Instance: r.Instance, Scope: scope, Activity: r.Activity}
		if cancelled := func(k message.Key) bool { return k.Kind == message.KindCancel }; !slices.ContainsFunc(slices.Collect(maps.Keys(d.messages[element])), cancelled) {
			x.world.breaks("3", "%s ends at %s, and does not cancel %s, which is under way", shown(entryOf(r)), s.name, scope)
		}
	}
}

// inRun is a bundle in one of its runs.
type inRun struct {
	bundle message.Entry
	run    int
}

// untilAfter: until could not be evaluated after so many elements had come back.
func untilAfter(r *record.AuditRecord) (elements int, of bool) {
	if r.Event != record.EventInError || !strings.HasPrefix(r.Reason, "until ") {
		return 0, false
	}
	_, after, found := strings.Cut(r.Reason, ", after ")
	_, err := fmt.Sscanf(after, "%d elements", &elements)
	return elements, found && err == nil
}

// parallel: of an element that begins no more are under way than there may be (N21). Of a run before there is nothing
// in the way: what is open of that is cancelled.
func (x *watch) parallel(s *site, d *shadow, element message.Entry) {
	bundle := bundleOf(element)
	if d.ended[element] {
		return
	}
	if d.elements[bundle] == nil {
		d.elements[bundle] = map[message.Scope]bool{}
	}
	d.elements[bundle][element.Scope] = true
	under := 0
	for scope := range d.elements[bundle] {
		if runOf(scope) == runOf(element.Scope) {
			under++
		}
	}
	if place, known := x.world.placeOf(bundle); known && place.Bundle != nil && under > place.Bundle.Parallel {
		x.world.breaks("4", "%d elements of %s are under way at %s, and %d may be", under, shown(bundle), s.name, place.Bundle.Parallel)
	}
}

// runOf is the run in which the innermost frame of a scope is.
func runOf(s message.Scope) int {
	frames, err := s.Frames()
	if err != nil || len(frames) == 0 {
		return 0
	}
	return frames[len(frames)-1].Run
}

// placeOf is where the process of an instance that a client has started has an activity.
func (w *World) placeOf(e message.Entry) (place oracle.Place, known bool) {
	for _, c := range w.clients {
		if c.instance.ID == e.Instance {
			place, known = c.of.places[string(e.Activity)]
		}
	}
	return place, known
}

// gathers: a bundle takes returns of its elements into what it says of itself (N21).
func (t *transaction) gathers(e message.Entry, k message.Key) bool {
	return k.Kind == message.KindReturn && k.Source == e.Activity && isElement(k.Scope) &&
		slices.ContainsFunc(t.put[e], func(k message.Key) bool { return k.Kind == message.KindSnapshot })
}

// isElement: the innermost frame of a scope is of an element.
func isElement(s message.Scope) bool {
	frames, err := s.Frames()
	return err == nil && len(frames) > 0 && frames[len(frames)-1].Element >= 0
}

// begun gives the sources of the iterations that begin in the transaction: what begins one is put, or
// its source ends with it at once.
func (t *transaction) begun() (all []message.Entry) {
	begins := func(k message.Key) bool { return k.Kind == message.KindBegin }
	for e, keys := range t.put {
		if slices.ContainsFunc(keys, begins) {
			all = append(all, e)
		}
	}
	for i := range t.records {
		e := entryOf(&t.records[i])
		if e.Scope != "" && e.Activity == processtable.Source && t.records[i].Event == record.EventTerminated && !slices.ContainsFunc(t.removed[e], begins) {
			all = append(all, e)
		}
	}
	return all
}

// sinkBefore gives the sink of the iteration before, if there is one.
func sinkBefore(e message.Entry) (sink message.Entry, any bool) {
	frames, err := e.Scope.Frames()
	if err != nil || frames[len(frames)-1].Iteration < 2 {
		return e, false
	}
	f := frames[len(frames)-1]
	f.Iteration--
	return message.Entry{Instance: e.Instance, Scope: e.Scope.Leave().Enter(f), Activity: processtable.Sink}, true
}

// recorded: something is recorded of the entry.
func (t *transaction) recorded(e message.Entry) bool {
	for i := range t.records {
		if entryOf(&t.records[i]) == e {
			return true
		}
	}
	return false
}
