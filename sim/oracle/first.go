package oracle

import (
	"slices"

	"fmqm/definition"
	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue/record"
)

// first holds an activity that begins with the first connectors to what had come of them: those that counted
// are the first that were TRUE, in the order in which they came; it ends as it was decided; and it is skipped
// only where so many were FALSE that it could not begin.
func (j *judge) first(path string, place Place, r *record.AuditRecord) {
	k, n, falses := place.Start.N, 0, 0 // what ends with its activity in one transaction does not come to a queue
	var trues []processtable.ActivityID
	for _, c := range place.In.Control {
		if c.Target == place.Name {
			n++
		}
	}
	for _, a := range j.arrived[path] {
		if a.Control.IsTrue() {
			trues = append(trues, a.Source)
		}
	}
	for i := range r.Consumed {
		if c := &r.Consumed[i]; c.Control != message.Unresolved && !c.Control.IsTrue() {
			falses++
		}
	}
	before := j.find(path, func(o *record.AuditRecord) bool { return o.Event == record.EventDecided })
	switch {
	case r.Event == record.EventDecided:
		counted := controlOf(place, r.Counted)
		switch {
		case before != nil:
			j.add("%s is decided twice, with %v and with %v", path, before.Counted, r.Counted)
		case len(trues) < k || !slices.Equal(counted, trues[:k]):
			j.add("%s begins with %v, and TRUE came %v", path, r.Counted, trues)
		}
	case r.Event == record.EventSkipped && r.By == "" && falses <= n-k:
		j.add("%s is skipped, and of %d connectors %d were FALSE, where it begins with %d", path, n, falses, k)
	case r.Event == record.EventTerminated && (before == nil || !slices.Equal(before.Counted, r.Counted)):
		j.add("%s ends with %v, which it was not decided with", path, r.Counted)
	case r.Event == record.EventRaced && j.find(path, isEnd) == nil:
		j.add("%s has a connector that came too late, and has not ended", path)
	}
}

// controlOf are those that lead to an activity with control.
func controlOf(place Place, all []processtable.ActivityID) (control []processtable.ActivityID) {
	for _, a := range all {
		if slices.ContainsFunc(place.In.Control, func(c *definition.Control) bool { return c.Target == place.Name && c.Source == string(a) }) {
			control = append(control, a)
		}
	}
	return control
}

// decided holds an activity that waits for all connectors to that: who runs, or is cancelled and says so, ends with each of
// them, so that sink still ends last (N14).
func (j *judge) decided(path string, place Place, r *record.AuditRecord) {
	if r.Event != record.EventTerminated && (r.Event != record.EventCancelled || !tells(r)) {
		return
	}
	for _, source := range sourcesOf(place.In, place.Name) {
		if !slices.ContainsFunc(r.Consumed, func(c record.Consumed) bool {
			return c.Key.Source == processtable.ActivityID(source) && c.Control != message.Unresolved
		}) {
			j.add("%s has ended, and what leads into it from %s was not resolved", path, source)
		}
	}
}
