package answer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"fmqm/api"
	"fmqm/link"
	"fmqm/message"
	"fmqm/node/logs"
	"fmqm/node/report"
	"fmqm/processtable"
)

// linked is a site with links to B and C.
type linked struct{ *world }

func (linked) Peers() []processtable.NodeID { return []processtable.NodeID{"B", "C"} }

// logsOf are what A keeps of an instance of orders, and B tells of it.
func logsOf(t *testing.T) (w *world, id message.InstanceID, line func(activity processtable.ActivityID, n int) logs.Attempt) {
	w = newWorld(t)
	w.takeUp(orders)
	w.Site = linked{w}
	id = uuid.Must(uuid.NewV7())
	begun := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	line = func(activity processtable.ActivityID, n int) logs.Attempt {
		at := begun.Add(time.Duration(n) * time.Minute)
		return logs.Attempt{Instance: id, Process: "orders@1", Activity: activity, Program: "p", Iteration: 1, Attempt: n, Started: at, Ended: at.Add(time.Second), Text: fmt.Sprintf("%s %d", activity, n)}
	}
	w.Options.Logs = func(q logs.Query) (found []logs.Attempt, more bool) {
		for n := 1; n <= 3; n++ {
			if a := line("pack", n); q.Match(&a) {
				found = append(found, a)
			}
		}
		return found, false
	}
	return w, id, line
}

// Who has no part in a process is told nothing of what its programs wrote.
func TestLogsAreForThoseWithAPart(t *testing.T) {
	w, id, _ := logsOf(t)
	q := LogsQuestion{Instance: id, Process: "orders@1", Limit: 10}
	if got := w.LogsTo("B", q); len(got.Attempts) != 3 {
		t.Errorf("B is told %+v", got)
	}
	for _, c := range []struct {
		peer    processtable.NodeID
		process string
	}{{"M", "orders@1"}, {"B", "orders@2"}, {"B", "other@1"}, {"B", "no process"}} {
		q.Process = c.process
		if got := w.LogsTo(c.peer, q); len(got.Attempts) != 0 || got.More {
			t.Errorf("%s is told of %s: %+v", c.peer, c.process, got)
		}
	}
}

// Attempts of all sites come in the order in which they ended; of what it does not host, or was not asked,
// a site is not believed; one that is too old, or not connected, is named.
func TestLogsOfAllSites(t *testing.T) {
	w, id, line := logsOf(t)
	var failed error
	w.query = func(_ context.Context, peer processtable.NodeID, kind string, body []byte) ([]byte, error) {
		switch {
		case kind == AskInstance && (peer == "C" || peer == "B"):
			r := report.Report{Known: true, Process: "orders@1", Origin: "C", State: api.InstanceRunning, Roster: []api.Place{{Activity: "pack", Node: "A"}, {Activity: "check", Node: "B"}}}
			return json.Marshal(r)
		case kind == AskLogs && peer == "B" && failed == nil:
			stranger, forged, other := line("check", 9), line("pack", 8), line("check", 7)
			stranger.Instance, other.Process = uuid.UUID{1}, "trust@1"
			return json.Marshal(LogsReport{Attempts: []logs.Attempt{stranger, forged, other, line("check", 2), line("check", 4)}})
		case kind == AskLogs && peer == "B":
			return nil, failed
		}
		return nil, link.ErrNotConnected
	}
	ask := func(r api.LogsRequest) string {
		t.Helper()
		a, err := w.Logs(t.Context(), id, r)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, l := range a.Logs {
			got = append(got, l.Node+" "+l.Text)
		}
		for _, u := range a.Unreachable {
			got = append(got, strings.TrimSpace(u.Node+" unreachable "+u.Reason))
		}
		if a.More {
			got = append(got, "more")
		}
		return strings.Join(got, ", ")
	}
	for _, c := range []struct {
		r    api.LogsRequest
		want string
	}{
		{api.LogsRequest{Limit: 10}, "A pack 1, A pack 2, B check 2, A pack 3, B check 4"},
		{api.LogsRequest{Limit: 2}, "A pack 3, B check 4, more"},
		{api.LogsRequest{Activity: "pack", Limit: 10}, "A pack 1, A pack 2, A pack 3"},
		{api.LogsRequest{Activity: "check", Limit: 10}, "B check 2, B check 4"},
		{api.LogsRequest{Activity: "pack", Attempt: 2, Limit: 10}, "A pack 2"},
	} {
		if got := ask(c.r); got != c.want {
			t.Errorf("%+v: %s, want %s", c.r, got, c.want)
		}
	}
	for _, c := range []struct {
		err  error
		want string
	}{
		{errors.New(`unknown kind of question "logs": upgrade this node`), "B unreachable it is too old to tell what programs have written: upgrade it"},
		{link.ErrNotConnected, "B unreachable"},
	} {
		failed = c.err
		if got := ask(api.LogsRequest{Activity: "check", Limit: 10}); got != c.want {
			t.Errorf("%v: %s, want %s", c.err, got, c.want)
		}
	}
	_, err := w.Logs(t.Context(), id, api.LogsRequest{Activity: "pak", Limit: 10})
	if api.CodeOf(err) != api.CodeNotFound || !strings.Contains(err.Error(), "orders@1 has no activity pak") {
		t.Errorf("of what is not there: %v", err)
	}
}

// An answer has as much of the newest as people are told at once, and at least one attempt.
func TestLogsFit(t *testing.T) {
	var out api.LogsAnswer
	for n := range 5 {
		out.Logs = append(out.Logs, api.AttemptLog{Attempt: n, Ended: time.Unix(int64(n), 0), Text: strings.Repeat("x", logsInAnswer/2)})
	}
	out.Logs = append(out.Logs, api.AttemptLog{Attempt: 9, Text: "runs"})
	slices.Reverse(out.Logs)
	fitLogs(&out, 100)
	if len(out.Logs) != 2 || !out.More || out.Logs[0].Attempt != 4 || out.Logs[1].Attempt != 9 {
		t.Errorf("%d attempts, more %v", len(out.Logs), out.More)
	}
}
