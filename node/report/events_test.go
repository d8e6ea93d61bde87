package report

import (
	"slices"
	"strings"
	"testing"
	"time"

	"fmqm/api"
	"fmqm/processtable"
	"fmqm/queue/record"
)

// History is in the order of the logical clock; at one moment of it an operator's hand
// comes before what follows from it, whatever the clocks of nodes say.
func TestTheOrderOfHistory(t *testing.T) {
	at := func(seconds int64) time.Time { return time.Unix(seconds, 0) }
	events := []api.HistoryEvent{
		{Clock: 9, Event: api.EventEnded, Activity: "sink", Time: at(1)},
		{Clock: 4, Event: api.EventTerminated, Activity: "a", Time: at(2)},
		{Clock: 4, Event: api.EventRetried, Activity: "a", Time: at(3)},
		{Clock: 3, Event: api.EventInError, Activity: "a", Time: at(9)},
		{Clock: 1, Event: api.EventStarted, Activity: "source", Time: at(8)},
	}
	slices.SortStableFunc(events, compareEvents)
	var got []string
	for _, e := range events {
		got = append(got, string(e.Event))
	}
	if got := strings.Join(got, " "); got != "started in-error retried terminated ended" {
		t.Error(got)
	}
}

// At one moment elements, iterations and runs are in the order in which people count them.
func TestHistoryCountsAsPeopleDo(t *testing.T) {
	want := []string{
		"box#2/line[9]#10", "box#10/line[2]#1", "box#10/line[2]#9", "box#10/line[2]#10", "box#10/line[2]#10~2", "box#10/line[2]#10~10",
		"box#10/line[10]#1", "box10#1", "box2#1", "line[0]", "line[1]", "line[1]#2", "line[2]", "line[2]/step10", "line[2]/step2", "line[10]",
	}
	events := make([]api.HistoryEvent, len(want))
	for i, scope := range want {
		events[len(want)-1-i] = api.HistoryEvent{Clock: 4, Event: api.EventTerminated, Scope: scope, Activity: "pick"}
	}
	slices.SortStableFunc(events, compareEvents)
	for i, e := range events {
		if e.Scope != want[i] {
			t.Errorf("%d is in %s, want %s", i, e.Scope, want[i])
		}
	}
}

// An attempt that ended without a return code has none in history.
func TestHistoryHasNoReturnCodeOfWhatHadNone(t *testing.T) {
	for _, c := range []struct {
		event record.Event
		rc    int64
		shown bool
	}{
		{record.EventFailed, 0, false},
		{record.EventInError, 0, false},
		{record.EventFailed, 3, true},
		{record.EventInError, 3, true},
		{record.EventTerminated, 0, true},
		{record.EventIterated, 0, true},
		{record.EventRetried, 0, false},
		{record.EventSkipped, 0, false},
	} {
		e, _ := eventFrom(processtable.NodeID("A"), record.AuditRecord{Event: c.event, RC: c.rc})
		if (e.RC != nil) != c.shown || c.shown && *e.RC != c.rc {
			t.Errorf("event %d with %d: %v", c.event, c.rc, e.RC)
		}
	}
}

// N10: history says where inside an instance an activity is.
func TestN10HistoryNamesTheScope(t *testing.T) {
	e, _ := eventFrom("A", record.AuditRecord{Scope: "documents#2", Activity: "pick", Event: record.EventTerminated})
	if e.Scope != "documents#2" || e.Activity != "pick" {
		t.Errorf("%+v", e)
	}
}
