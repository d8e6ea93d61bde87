package report

import (
	"testing"
	"time"

	"fmqm/api"
	"fmqm/processtable"
)

// Invariant 11: a site where the process may be started as well, and that says of an instance which
// was started at A that it was started and has ended there, ends no watching and adds nothing to its
// history; nor does anybody while it is not known which of two was the one.
func TestWhoDidNotStartAnInstanceDoesNotEndIt(t *testing.T) {
	table := &processtable.Table{
		Process: processtable.ProcessID{Name: "p", Version: 1}, Node: "A", Starts: []processtable.NodeID{"A", "B", "C"},
		Roster: []processtable.Place{{Activity: "a", Node: "A"}, {Activity: "b", Node: "B"}, {Activity: "c", Node: "C"}},
	}
	says := func(node, origin string, events ...api.HistoryEvent) Report {
		r := Report{Known: true, Process: "p@1", Origin: origin, State: api.InstanceFinished, Removed: time.Unix(9, 0), Notices: []string{"a"}, Events: events}
		if node == "A" {
			r.State, r.Removed, r.Notices = api.InstanceRunning, time.Time{}, nil
		}
		r, believed := r.Believed(processtable.NodeID(node), table)
		if !believed {
			t.Fatalf("%s is not believed", node)
		}
		return r
	}
	start := api.HistoryEvent{Clock: 1, Activity: "source", Event: api.EventStarted}
	end := api.HistoryEvent{Clock: 9, Activity: "sink", Event: api.EventEnded}
	for _, c := range []struct {
		name    string
		a, b, c Report
		events  int
	}{
		{"A knows that it has started it", says("A", "A", start), says("B", "B", start, end), says("C", "A"), 1},
		{"A knows nothing", Report{Process: "p@1", Roster: RosterOf(table, "A")}, says("B", "B", start, end), says("C", "C", start, end), 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := NewGathered("A", api.InstanceID{1})
			g.Add("A", c.a)
			g.Add("B", c.b)
			g.Add("C", c.c)
			w := NewWatching()
			if fresh := w.Take(g); len(fresh) != c.events || w.Over {
				t.Errorf("shown %+v, over: %t", fresh, w.Over)
			}
			if s := g.Status(); s.State == api.InstanceFinished || s.InError > 0 {
				t.Errorf("status: %+v", s)
			}
		})
	}
}
