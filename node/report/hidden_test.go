package report

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"fmqm/api"
	"fmqm/message"
)

// Of what is inside of a block whose site does not answer why says that, and not that it waits for nothing: wherever what is
// inside has its home, and however deep it is; unless other sites tell of it.
func TestWhyInsideOfABlockThatIsUnknown(t *testing.T) {
	heard := time.Unix(1_900_000_000, 0).UTC()
	roster := []api.Place{
		{Activity: "draw", Node: "ward"},
		{Activity: "examine", Node: "lab"},
		{Activity: "confirm", Node: "lab", Inside: "examine"},
		{Activity: "sign", Node: "ward", Inside: "examine"},
		{Activity: "again", Node: "ward", Inside: "examine"},
		{Activity: "look", Node: "lab", Inside: "again"},
		{Activity: "count", Node: "lab", Each: true},
	}
	const lab = " unknown, at lab: lab is unreachable"
	sign := func(state api.ActivityState) []api.Activity {
		return []api.Activity{line("examine#1", "sign", "ward", state)}
	}
	for _, c := range []struct {
		name, path string
		told       []api.Activity // by ward, beside draw
		want       string
	}{
		{"the block", "examine", nil, "examine of lab" + lab},
		{"inside of it", "confirm", nil, "examine/confirm of lab" + lab},
		{"in an iteration", "examine#1/confirm", nil, "examine#1/confirm of lab" + lab},
		{"at a site that answers", "sign", nil, "examine/sign of ward" + lab},
		{"deeper", "look", nil, "examine/again/look of lab" + lab},
		{"an iteration", "examine#2", nil, "examine of lab" + lab},
		{"an element", "count[3]", nil, "count of lab" + lab},
		{"beside it", "draw", nil, ""},
		{"told by another site", "sign", sign(api.ActivityInError), "examine#1/sign of ward in-error, at ward: broken; waiting for an operator to retry"},
		{"ended, and there may be another iteration", "sign", sign(api.ActivityTerminated), "examine/sign of ward" + lab},
		{"ended in the iteration that is meant", "examine#1/sign", sign(api.ActivityTerminated), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := NewGathered("ward", message.InstanceID{1})
			told := append([]api.Activity{line("", "draw", "ward", api.ActivityTerminated)}, c.told...)
			g.Add("ward", Report{Known: true, Process: "sample@1", Origin: "ward", State: api.InstanceRunning, Roster: roster, Activities: told})
			g.Unreachable = []api.Unreachable{{Node: "lab", LastHeard: heard}}
			var waits []string
			for _, w := range g.Why(c.path, func(node string) (bool, time.Time) { return node == "ward", heard }).Waits {
				waits = append(waits, fmt.Sprintf("%s of %s %s, at %s: %s", api.InScope(w.Scope, w.Activity), w.Node, w.State, w.At, w.For))
				if w.At == "lab" && (w.Heard || !w.Since.Equal(heard)) {
					t.Errorf("%s since %s, heard: %t", w.Activity, w.Since, w.Heard)
				}
			}
			if got := strings.Join(waits, ", "); got != c.want {
				t.Errorf("%s: %s\nwant %s", c.path, got, c.want)
			}
		})
	}
}
