package interpret

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// exchanged is what an activity does with events: it sends one, with a number, or receives one of some.
type exchanged struct {
	sends    string // empty: it receives
	number   int
	receives []string
}

// meets is the model: whoever waits first gets the first event that it takes, in the order of the steps. It gives, of each
// step that receives, the number of the event that it gets; -1: it waits.
func meets(steps []exchanged) []int {
	got, given := make([]int, len(steps)), map[int]bool{}
	for i := range got {
		got[i] = -1
	}
	take := func(receive, send int) bool {
		if steps[send].sends == "" || given[send] || !slices.Contains(steps[receive].receives, steps[send].sends) {
			return false
		}
		got[receive], given[send] = steps[send].number, true
		return true
	}
	for now, s := range steps {
		for other := range now {
			if s.sends == "" && take(now, other) {
				break
			}
			if s.sends != "" && steps[other].sends == "" && got[other] < 0 && take(other, now) {
				break
			}
		}
	}
	return got
}

// N24: whatever sends and receives come in whatever order, each event goes to one receive, and who gets which is as the
// model has it. What nothing is left for waits.
func TestN24EventsMeetAsInAModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		names := []string{"x", "y", "z"}
		var steps []exchanged
		var activities, control, data strings.Builder
		for i := range rapid.IntRange(1, 12).Draw(rt, "steps") {
			s := exchanged{number: 100 + i}
			name := fmt.Sprintf("o%d", i)
			if rapid.Bool().Draw(rt, "sends") {
				s.sends = rapid.SampledFrom(names).Draw(rt, "event")
				fmt.Fprintf(&activities, "  %s: {node: A, input: D, send: {event: %s}}\n", name, s.sends)
				fmt.Fprintf(&data, "\n  - source -> %s: {n: '(%d)'}", name, s.number)
			} else {
				s.receives = rapid.Permutation(names).Draw(rt, "receives")[:rapid.IntRange(1, len(names)).Draw(rt, "of")]
				fmt.Fprintf(&activities, "  %s: {node: A, output: D, receive: {one_of: [%s]}}\n", name, strings.Join(s.receives, ", "))
			}
			steps = append(steps, s)
			// Each comes behind a step of a path that waits for none of them, so they come in this order.
			fmt.Fprintf(&activities, "  e%d: {node: A, empty: true}\n", i)
			fmt.Fprintf(&control, "  - e%d -> %s\n", i, name)
			if i > 0 {
				fmt.Fprintf(&control, "  - e%d -> e%d\n", i-1, i)
			}
		}
		p := loadDrawn(rt, "process: p\nversion: 1\nstructures: {D: {n: int}}\nevents: {x: D, y: D, z: D}\nactivities:\n"+
			activities.String()+"control:\n"+control.String()+"data:"+cmp.Or(data.String(), " []\n"))
		r := mustRun(rt, p, nil, drawn(0))
		want, waits := meets(steps), false
		for _, a := range r.Activities {
			var i int
			if n, _ := fmt.Sscanf(a.Activity, "o%d", &i); n == 0 || steps[i].sends != "" {
				continue
			}
			got := -1
			if a.State == Terminated {
				got = int(a.Output.Fields[0].(int64))
			}
			if waits = waits || want[i] < 0; got != want[i] {
				rt.Errorf("%s gets %d, the model says %d of %+v", a.Activity, got, want[i], steps)
			}
		}
		if (r.State == Running) != waits {
			rt.Errorf("it is %s, of %+v", r.State, steps)
		}
	})
}
