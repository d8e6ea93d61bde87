package world

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"fmqm/api"
)

// weave is a process whose every activity follows on some of other nodes, a part of it
// dead: a layer's activities follow on two of the layer before each.
func weave(layers, wide int) string {
	var activities, control strings.Builder
	name := func(layer, i int) string { return fmt.Sprintf("a%d_%d", layer, i%wide) }
	for l := range layers {
		for i := range wide {
			fmt.Fprintf(&activities, "  %s: {node: %c, program: many", name(l, i), "ABCD"[(l+i)%4])
			if l > 0 {
				activities.WriteString(", start: any")
				condition := "_RC == 0"
				if i%3 == 2 {
					condition = "_RC == 1"
				}
				fmt.Fprintf(&control, "  - %s -> %s: %s\n", name(l-1, i), name(l, i), condition)
				fmt.Fprintf(&control, "  - %s -> %s: _RC == 1\n", name(l-1, i+1), name(l, i))
			}
			activities.WriteString("}\n")
		}
	}
	return "starts: [A]\nactivities:\n" + activities.String() + "control:\n" + control.String()
}

// An answer fits together (that is watched for every answer): no effect without its cause,
// nothing that waits beside `finished`; and where a site is behind, it says so (N1, N6). Once an
// instance has finished, and everybody answers, nothing is unknown.
func TestAnswersFitTogether(t *testing.T) {
	t.Parallel()
	w := newWorld(given(8, weave(16, 12)), Options{Lines: true})
	whole, unknown := 0, 0
	w.control.AfterFunc(5*time.Second, func() {
		for _, c := range w.clients {
			for _, s := range w.sites {
				w.control.Go(func() {
					x, y := askedOverAndOver(c, s.name)
					whole, unknown = whole+x, unknown+y
				})
			}
		}
	})
	w.control.AfterFunc(50*time.Second, func() {
		for _, c := range w.clients {
			for _, s := range w.sites {
				status, err := c.statusAt(s.name, api.StatusRequest{Tree: true})
				if err != nil || status.State != api.InstanceFinished || len(status.Clocks)+len(status.Unreachable) > 0 {
					t.Errorf("at the end %s says %s, clocks %v, unreachable %v, %v", s.name, status.State, status.Clocks, status.Unreachable, err)
				}
			}
		}
	})
	if r := w.run(); r.Broken != nil {
		t.Fatal(Story(r))
	}
	t.Logf("%d answers were whole, %d had something unknown", whole, unknown)
	if whole < 200 || whole < unknown {
		t.Errorf("%d answers were whole, and %d had something unknown: who asks again gets it whole", whole, unknown)
	}
}

// askedOverAndOver asks a site for an instance as fast as it answers, until it has finished,
// and counts the answers that were whole, and those that told of something unknown.
func askedOverAndOver(c *client, at name) (whole, unknown int) {
	for last := api.InstanceRunning; last != api.InstanceFinished && c.world.broken == nil; {
		s, err := c.statusAt(at, api.StatusRequest{Tree: true})
		if err != nil { // not started yet
			c.world.sleep(10 * time.Millisecond)
			continue
		}
		last = s.State
		if slices.ContainsFunc(s.Activities, func(a api.Activity) bool { return a.State == api.ActivityUnknown }) {
			unknown++
		} else {
			whole++
		}
	}
	return whole, unknown
}
