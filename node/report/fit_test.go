package report

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"fmqm/api"
)

// A report that is too large for an answer over a link loses what is long, and says so;
// what the instance and its activities are at stays.
func TestAReportThatIsTooLargeIsCut(t *testing.T) {
	text := func(size int) json.RawMessage { return json.RawMessage(`"` + strings.Repeat("x", size-2) + `"`) }
	const limit = 20_000
	for _, c := range []struct {
		name                     string
		outputs                  [3]int // the instance's, and those of two activities
		events, reason           int
		outputsLeft              string
		eventsLeft, reasonLength int
		more                     bool
	}{
		{"nothing is long", [3]int{10, 10, 10}, 10, 300, "10 10 10", 10, 300, false},
		{"one output", [3]int{10, limit, 2000}, 10, 300, "10 0 2000", 10, 300, true},
		{"the result", [3]int{limit, 1000, 2000}, 10, 300, "0 1000 2000", 10, 300, true},
		{"events: no output is left", [3]int{1000, 1000, 2000}, 1000, 300, "0 0 0", 217, 300, true},
		{"reasons", [3]int{1000, 1000, 2000}, 10, limit, "0 0 0", 0, shortReason + 3, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := Report{Known: true, Process: "p@1", State: api.InstanceRunning, Output: text(c.outputs[0])}
			for i, size := range c.outputs[1:] {
				r.Activities = append(r.Activities, api.Activity{Activity: fmt.Sprint("a", i), State: api.ActivityTerminated, Output: text(size), Reason: strings.Repeat("ä", c.reason/2)})
			}
			for i := range c.events {
				r.Events = append(r.Events, api.HistoryEvent{Clock: uint64(2000 - i), Activity: "a0", Event: api.EventFailed})
			}
			r.Fit(limit, false)
			if size := jsonSize(r); size > limit {
				t.Errorf("it still has %d bytes of %d", size, limit)
			}
			outputs := fmt.Sprint(len(r.Output), len(r.Activities[0].Output), len(r.Activities[1].Output))
			if r.More != c.more || outputs != c.outputsLeft || len(r.Events) != c.eventsLeft || len(r.Activities[0].Reason) != c.reasonLength {
				t.Errorf("more %v, outputs %s, %d events, reason of %d bytes", r.More, outputs, len(r.Events), len(r.Activities[0].Reason))
			}
			for i, a := range r.Activities {
				if a.State != api.ActivityTerminated || a.More != (len(a.Output) == 0) {
					t.Errorf("activity %d: %s, more %v, output of %d", i, a.State, a.More, len(a.Output))
				}
			}
			if n := len(r.Events); c.more && n > 0 && !slices.ContainsFunc(r.Events, func(e api.HistoryEvent) bool { return e.Clock == 2000 }) {
				t.Error("the newest event is left out")
			}
		})
	}
}
