package world

import (
	"slices"

	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue/record"
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
		}
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
	if most := x.world.parallelOf(bundle); most > 0 && under > most {
		x.world.breaks("4", "%d elements of %s are under way at %s, and %d may be", under, shown(bundle), s.name, most)
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

// parallelOf is how many elements of a bundle may be under way; 0: nobody knows.
func (w *World) parallelOf(bundle message.Entry) int {
	for _, c := range w.clients {
		if c.instance.ID == bundle.Instance && c.of.places[string(bundle.Activity)].Bundle != nil {
			return c.of.places[string(bundle.Activity)].Bundle.Parallel
		}
	}
	return 0
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
