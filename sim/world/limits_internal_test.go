package world

import (
	"testing"
	"time"

	"fmqm/api"
	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue/record"
)

// N23: once the deadline of a process has come, an instance of it does not go on to its end, and does not stay in error.
func TestN23WhatOutlivesTheDeadlineOfItsProcessIsSeen(t *testing.T) {
	for what, c := range map[string]struct {
		came        time.Duration // before now; 0: it has not
		up          time.Duration // since when the site is; 0: it is down
		lost        bool
		ends, error bool // that is seen of an end, and of an error
	}{
		"none has come":                    {0, 0, false, false, false},
		"it comes as the instance ends":    {time.Second, time.Hour, false, false, true},
		"it has come long ago":             {time.Hour, 2 * time.Hour, false, true, true},
		"the site was down when it came":   {time.Hour, time.Second, false, false, true},
		"the site has been up since":       {time.Hour, 10 * time.Minute, false, true, true},
		"it has lost its store since then": {time.Hour, 2 * time.Hour, true, false, false},
	} {
		w := newWorld(given(1, deadB[0]), Options{})
		of := &client{world: w, instance: &w.plan.Instances[0], of: w.cases[0]}
		id, s := of.instance.ID, w.site("A")
		s.slowest = -24 * time.Hour
		if c.came > 0 {
			w.watch.limits[id] = -c.came
		}
		if c.up > 0 {
			s.life = &life{by: w.tasks.NewSite(0), since: -c.up}
		}
		w.watch.lost["A"], w.weaker[id] = c.lost, c.lost
		if got := of.outlives(api.Status{State: api.InstanceInError}); (got != "") != c.error {
			t.Errorf("%s: of an error %q", what, got)
		}
		if got := of.outlives(api.Status{State: api.InstanceTerminated}); got != "" {
			t.Errorf("%s: of what has ended %q", what, got)
		}
		w.watch.overdue(s, &record.AuditRecord{Instance: id, Activity: processtable.Sink, Event: record.EventEnded})
		if (w.broken != nil) != c.ends {
			t.Errorf("%s: of an end %v", what, w.broken)
		}
	}
}

// N12: what came back of another run is no reason for a block to be in error over its exit condition.
func TestN12ABlockThatIsJudgedHasReturned(t *testing.T) {
	r := record.AuditRecord{Activity: "b", Iteration: 2, Run: 1, Event: record.EventInError}
	for reason, breaks := range map[string]bool{`exit condition "i0 == 2" still FALSE after 2 iterations (max_iterations)`: true, "the input is too large": false} {
		for _, returned := range []bool{true, false} {
			w := newWorld(given(1, looping), Options{})
			w.clients = []*client{{world: w, instance: &w.plan.Instances[0], of: w.cases[0]}}
			d := w.watch.shadows["B"]
			r.Instance, r.Reason = w.plan.Instances[0].ID, reason
			before := message.Frame{Composite: "b", Iteration: 2, Element: -1} // the run before has returned
			for run := range 2 {
				if before.Run = run; run < 1 || returned {
					d.ended[message.Entry{Instance: r.Instance, Scope: message.Scope("").Enter(before), Activity: processtable.Sink}] = true
				}
			}
			w.watch.returned(w.site("B"), d, &r)
			if (w.broken != nil) != (breaks && !returned) {
				t.Errorf("%s, and it has returned: %t: %v", reason, returned, w.broken)
			}
		}
	}
}
