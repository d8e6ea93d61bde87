package report

import (
	"testing"
	"time"

	"fmqm/api"
)

// N29: whoever shows a wait writes its time behind the text, so the text ends with what comes at that time, also where it is suspended.
func TestTheTimeOfASuspendedWaitStandsWithWhatComesThen(t *testing.T) {
	since := time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC)
	g := &Gathered{Reports: map[string]Report{"HQ": {Marks: []Suspending{{ID: [16]byte{1}, By: "alice at HQ", Reason: "x y", Time: since}}}}}
	const suspended = "suspended by alice at HQ since 2026-11-30T00:00:00Z: x y"
	for _, c := range []struct {
		is   api.Wait
		want string
	}{
		{api.Wait{State: api.ActivityRunning, For: "waits; it goes on", Due: since.Add(time.Minute)}, suspended + "; waits; it goes on"},
		{api.Wait{State: api.ActivityRunning, For: "program mail is running"}, "program mail is running; " + suspended},
		{api.Wait{State: api.ActivityReady, For: "next attempt", Due: since.Add(time.Minute)}, suspended},
	} {
		w := c.is
		if g.whySuspended(&w); w.For != c.want {
			t.Errorf("%s: %q, want %q", c.is.For, w.For, c.want)
		}
	}
}
