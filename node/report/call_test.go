package report

import (
	"testing"
	"time"

	"fmqm/api"
)

// N20: a call whose work was begun elsewhere waits for that site, and it is said whether that is heard.
func TestN20ACallWaitsForTheSiteThatDoesItsWork(t *testing.T) {
	heard := time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC)
	call := api.Activity{Scope: "count[1]", Activity: "count", Kind: api.KindProgram, Node: "A", At: "C", State: api.ActivityRunning}
	w, waits := (&Gathered{}).whyOf(func(node string) (bool, time.Time) { return node == "A", heard }, call, Waiting{}, nil)
	if !waits || w.For != "its work was begun at C" || w.Node != "A" || w.At != "C" || w.Heard || w.LastHeard != heard {
		t.Errorf("waits %v: %+v; want for C, which is not heard", waits, w)
	}
}
