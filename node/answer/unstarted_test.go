package answer

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"fmqm/api"
	"fmqm/message"
	"fmqm/node/report"
	"fmqm/processtable"
	"fmqm/queue/record"
)

// Invariant 11: B makes up instances that A has started, as it says: also two under one identifier, and one
// under that of another process's instance. Each is listed, over all pages, and told of with who says so; the
// status of the one that was started is as it was. What an operator has ended is listed no more.
func TestWhatWaitsForAStartIsListed(t *testing.T) {
	w := newWorld(t)
	for _, name := range []string{"p", "q"} {
		w.takeUp("process: " + name + "\nversion: 1\nstarts: [A, B]\nactivities:\n  far: {node: B, program: x}\n  near: {node: A, program: x}\n  last: {node: A, program: x}\ncontrol: [far -> near, far -> last, near -> last]\n")
	}
	names := map[message.InstanceID]int{}
	id := func(n int) message.InstanceID {
		i := uuid.UUID{0: 1, 6: 0x70, 8: 0x80, 15: byte(n)}
		names[i] = n
		return i
	}
	made := func(process string, n int, origin processtable.NodeID, target processtable.ActivityID, kind message.Kind) message.Message {
		p := processtable.ProcessID{Name: process, Version: 1}
		m := message.Message{Header: message.Header{
			Queue: message.Queue{Process: p, Node: "A"}, Definition: w.up[p].Definition(), Instance: id(n), Origin: origin, Kind: kind,
		}}
		if kind == message.KindConnector {
			m.Source, m.Activity, m.Control = "far", target, message.True
		}
		return m
	}
	w.commit(&record.Tx{
		Put: []message.Message{
			made("p", 1, "A", "near", message.KindConnector),
			made("p", 2, "B", "near", message.KindConnector), // B's own
			made("p", 3, "A", "last", message.KindConnector), made("q", 3, "A", "near", message.KindConnector),
			made("q", 4, "A", "near", message.KindConnector), made("p", 4, "A", "near", message.KindConnector), // p's was started
			made("p", 5, "A", "near", message.KindConnector),
		},
		Audit: []record.AuditRecord{{
			Process: processtable.ProcessID{Name: "p", Version: 1}, Instance: id(4), Activity: processtable.Source, Origin: "A",
			Event: record.EventStarted, Time: time.Unix(1, 0),
		}},
	})
	listed := func(q ListQuestion) string {
		t.Helper()
		var pages []string
		for more := true; more; {
			q.State = api.InstanceUnknown
			r, err := w.listHere(t.Context(), q, func(processtable.ProcessID) bool { return true })
			if err != nil {
				t.Fatal(err)
			}
			var page []string
			for _, i := range r.Instances {
				if i.State != api.InstanceUnknown || i.Origin != "A" || !i.Started.IsZero() {
					t.Errorf("listed: %+v", i)
				}
				page = append(page, fmt.Sprint(i.Process, " ", names[i.Instance]))
			}
			pages = append(pages, strings.Join(page, ", "))
			more, q.Below = r.More, r.Next
		}
		return strings.Join(pages, "; ")
	}
	for _, c := range []struct {
		q    ListQuestion
		want string
	}{
		{ListQuestion{Limit: 10}, "p@1 5, q@1 4, p@1 3, q@1 3, p@1 1"},
		{ListQuestion{Limit: 1}, "p@1 5; q@1 4; p@1 3, q@1 3; p@1 1"},
		{ListQuestion{Limit: 2}, "p@1 5, q@1 4; p@1 3, q@1 3; p@1 1"},
		{ListQuestion{Limit: 10, Process: "q"}, "q@1 4, q@1 3"},
		{ListQuestion{Limit: 10, Process: "p@1"}, "p@1 5, p@1 3, p@1 1"},
	} {
		if got := listed(c.q); got != c.want {
			t.Errorf("%+v: %s, want %s", c.q, got, c.want)
		}
	}

	ours, err := w.Report(reportOf(id(4), ""))
	if err != nil || ours.Process != "p@1" || ours.State != api.InstanceRunning {
		t.Errorf("of the one that was started: %+v, %v", ours, err)
	}
	theirs, err := w.Report(reportOf(id(4), "q@1"))
	if err != nil || theirs.Process != "q@1" || theirs.Origin != "A" || theirs.State != "" || len(theirs.Waits) == 0 ||
		!strings.HasPrefix(theirs.Waits[0].Held, "waiting for its instance to be started: B (far) says that it was started at A, which does not know it as one of q@1.") {
		t.Errorf("of the one that B has made up: %+v, %v", theirs, err)
	}
	waits, err := w.Report(reportOf(id(3), "p@1")) // for other connectors too
	if err != nil || len(waits.Waits) != 2 || waits.Waits[1].Held == "" {
		t.Errorf("of one that would not run yet: %+v, %v", waits, err)
	}

	// An end that B says, as of an instance of its own, hides nothing.
	w.commit(&record.Tx{Put: []message.Message{made("p", 5, "B", "", message.KindMarker)}})
	if got, want := listed(ListQuestion{Limit: 10}), "p@1 5, q@1 4, p@1 3, q@1 3, p@1 1"; got != want {
		t.Errorf("after B has ended one: %s, want %s", got, want)
	}
	// B says that p's 4 waits for a start at B; it was started here.
	theirsListed := w.believedList("B", ListQuestion{State: api.InstanceUnknown, Limit: 10}, ListReport{Instances: []api.Instance{
		{Instance: id(4), Process: "p@1", State: api.InstanceUnknown}, {Instance: id(6), Process: "p@1", State: api.InstanceUnknown},
	}})
	if len(theirsListed.Instances) != 1 || theirsListed.Instances[0].Instance != id(6) {
		t.Errorf("of what B lists: %+v", theirsListed.Instances)
	}
	for _, r := range []api.ListRequest{
		{State: api.InstanceUnknown, Since: time.Unix(1, 0)}, {State: api.InstanceUnknown, InError: true}, {State: api.InstanceUnknown, After: id(3)},
	} {
		if _, err := questionOf(r); api.CodeOf(err) != api.CodeUsage {
			t.Errorf("%+v: %v", r, err)
		}
	}

	w.commit(&record.Tx{Put: []message.Message{made("q", 4, "A", "", message.KindMarker)}})
	if got, want := listed(ListQuestion{Limit: 10}), "p@1 5, p@1 3, q@1 3, p@1 1"; got != want {
		t.Errorf("after one was ended: %s, want %s", got, want)
	}
	if ended, err := w.Report(reportOf(id(4), "q@1")); err != nil || ended.State != api.InstanceTerminated {
		t.Errorf("of the one that was ended: %+v, %v", ended, err)
	}
	if ours, err := w.Report(reportOf(id(4), "")); err != nil || ours.State != api.InstanceRunning {
		t.Errorf("of the one that was started, then: %+v, %v", ours, err)
	}
}

func reportOf(i message.InstanceID, process string) report.Question {
	return report.Question{Instance: i, Process: process}
}
