package report

import (
	"testing"

	"fmqm/api"
	"fmqm/processtable"
)

// N29: the origin decides the suspend of an activity, and is believed what it tells of that; what happens to it
// otherwise its host tells, and nobody else.
func TestOfASuspendedActivityItsOriginTells(t *testing.T) {
	roster := []api.Place{{Activity: "pay", Node: "B"}, {Activity: "ship", Node: "C"}}
	for _, c := range []struct {
		node  string
		event api.Event
		want  bool
	}{
		{"A", api.EventSuspended, true},
		{"A", api.EventResumed, true},
		{"A", api.EventTerminated, false},
		{"B", api.EventTerminated, true},
		{"C", api.EventSuspended, false},
	} {
		r := Report{Known: true, Process: "order@1", Origin: "A", Roster: roster, Events: []api.HistoryEvent{{Activity: "pay", Event: c.event}}}
		got, known := r.Believed(processtable.NodeID(c.node), nil)
		if !known || len(got.Events) == 1 != c.want {
			t.Errorf("%s tells that pay is %s: it is believed %v", c.node, c.event, got.Events)
		}
	}
}

// Another site that says of itself that it is the origin suspends nothing in a history.
func TestWhoIsNotTheOriginTellsOfNoSuspend(t *testing.T) {
	table := &processtable.Table{
		Process: processtable.ProcessID{Name: "order", Version: 1}, Node: "A", Starts: []processtable.NodeID{"A", "C"},
		Roster: []processtable.Place{{Activity: "pay", Node: "B"}, {Activity: "ship", Node: "C"}},
	}
	suspended := api.HistoryEvent{Activity: "pay", Event: api.EventSuspended}
	g := &Gathered{Self: "A", Reports: map[string]Report{}}
	for _, node := range []string{"A", "C"} {
		r, _ := (Report{Known: true, Process: "order@1", Origin: node, Events: []api.HistoryEvent{suspended}}).Believed(processtable.NodeID(node), table)
		g.Add(node, r)
	}
	if told := g.History().Events; len(told) != 1 || told[0].Node != "A" {
		t.Errorf("a history of A and C, which A has started: %v", told)
	}
}
