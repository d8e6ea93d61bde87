package report

import (
	"cmp"
	"encoding/json"
	"slices"

	"fmqm/internal/text"
)

// shortReason is what is left of a reason in a report that was too large, in bytes.
const shortReason = 200

// Fit leaves out of a report what makes it larger than limit, in bytes of JSON, and notes
// that it did: inputs and the largest outputs first, then the oldest events, then the ends of
// reasons and what programs have said. Every activity stays in it, with its state. A history
// goes without outputs anyway. Whoever watches is told the events that are left out, which are the
// newest, when he asks again.
func (r *Report) Fit(limit int, watch bool) {
	excess := jsonSize(r) - limit
	if excess <= 0 {
		return
	}
	r.More = true
	excess += len(`"more":true,`)
	excess = r.leaveOutputs(r.leaveInputs(excess))
	if watch {
		excess = r.leaveForLater(excess)
	}
	excess = r.leaveEvents(excess)
	if excess > 0 {
		r.cutReasons()
	}
}

// leaveInputs gives what is still too much.
func (r *Report) leaveInputs(excess int) int {
	for i := range r.Activities {
		if a := &r.Activities[i]; excess > 0 && a.Input != nil {
			excess -= len(a.Input) + len(`"input":,`)
			a.Input = nil
		}
	}
	return excess
}

// leaveOutputs gives what is still too much.
func (r *Report) leaveOutputs(excess int) int {
	type output struct{ size, of int } // of an activity, or -1: the instance's
	outputs := []output{{len(r.Output), -1}}
	for i := range r.Activities {
		outputs = append(outputs, output{len(r.Activities[i].Output), i})
	}
	slices.SortStableFunc(outputs, func(a, b output) int { return cmp.Compare(b.size, a.size) })
	for _, o := range outputs {
		switch {
		case excess <= 0 || o.size == 0:
			return excess
		case o.of < 0:
			r.Output = nil
		default:
			r.Activities[o.of].Output, r.Activities[o.of].More = nil, true
			excess += len(`"more":true,`)
		}
		excess -= o.size
	}
	return excess
}

// leaveForLater leaves out the newest events, and has the mark count what is told, if that is anything.
// It gives what is still too much.
func (r *Report) leaveForLater(excess int) int {
	if excess <= 0 {
		return excess
	}
	slices.SortStableFunc(r.Events, comparePlaces)
	left, tells := excess+len(`"at":-9223372036854775808,`), len(r.Events)
	together := func() bool { // a mark does not part them
		return tells > 0 && tells < len(r.Events) && comparePlaces(r.Events[tells-1], r.Events[tells]) == 0
	}
	for tells > 0 && left > 0 || together() {
		tells--
		left -= jsonSize(r.Events[tells]) + 1
	}
	if tells == 0 {
		return excess
	}
	last := r.Events[tells-1]
	r.Mark.Count -= len(r.Events) - tells
	r.Mark.Clock, r.Mark.At = last.Clock, last.Time.UnixNano()
	r.Events = r.Events[:tells]
	return left
}

// leaveEvents leaves out the oldest, and gives what is still too much.
func (r *Report) leaveEvents(excess int) int {
	if excess <= 0 || len(r.Events) == 0 {
		return excess
	}
	slices.SortStableFunc(r.Events, compareEvents)
	left := 0
	for ; left < len(r.Events) && excess > 0; left++ {
		excess -= jsonSize(r.Events[left]) + 1
	}
	r.Events = r.Events[left:]
	return excess
}

func (r *Report) cutReasons() {
	for i := range r.Activities {
		r.Activities[i].Reason, r.Activities[i].Stderr = shortened(r.Activities[i].Reason), ""
	}
	for i := range r.Waits {
		r.Waits[i].Held = shortened(r.Waits[i].Held)
	}
}

// shortened ends a reason that was cut with three dots.
func shortened(reason string) string {
	if len(reason) <= shortReason {
		return reason
	}
	return text.Cut(reason, shortReason) + "..."
}

// jsonSize is the size of a value in JSON; 0 where it has none, which sending it tells.
func jsonSize(v any) int {
	encoded, err := json.Marshal(v)
	if err != nil {
		return 0
	}
	return len(encoded)
}
