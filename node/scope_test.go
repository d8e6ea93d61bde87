package node

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"fmqm/api"
	"fmqm/definition"
	"fmqm/definition/definitiontest"
	"fmqm/message"
	"fmqm/node/rebuild"
	"fmqm/node/report"
	"fmqm/node/retention"
	"fmqm/processtable"
	"fmqm/queue/record"
)

// pages is a process of which A hosts three counters: one at the top, and two that become the
// insides of a block, which another site would host.
const pages = `
process: pages
version: 1
structures: {N: {n: int}}
starts: [B]
activities:
  x: {node: B, program: p, output: N}
  count: {node: A, program: p, input: N, output: N}
  read: {node: A, program: p, input: N, output: N}
  check: {node: A, program: p, input: N, output: N}
  after: {node: B, program: p, input: N}
control: [x -> count, x -> read, x -> check, count -> after, read -> after, check -> after]
data: [x -> count, x -> read, x -> check, count -> after]
`

// pagesTable is A's table of pages: read and check are inside of the block documents.
func pagesTable(t *testing.T, most int64) (*processtable.Table, []byte) {
	t.Helper()
	compiled := definitiontest.Compile(t, pages, definition.CompileOptions{})
	table := compiled.Tables[slices.IndexFunc(compiled.Tables, func(t *processtable.Table) bool { return t.Node == "A" })]
	documents := processtable.Composite{Activity: "documents", Iterations: 3}
	asCounter(table, "count", counterSpec(0, most))
	asCounter(table, "read", counterSpec(0, most), documents)
	asCounter(table, "check", counterSpec(0, most), documents)
	encoded, read, err := processtable.EncodeAsRead(table)
	if err != nil {
		t.Fatal(err)
	}
	return read, encoded
}

func newPagesWorld(t *testing.T, most int64) *inboxWorld {
	t.Helper()
	table, encoded := pagesTable(t, most)
	w, _ := newCounterWorldOf(t, table, encoded, nil)
	return w
}

// brings is what x brings to a counter in a scope.
func (w *inboxWorld) brings(i message.InstanceID, scope message.Scope, to processtable.ActivityID, n int64) message.Message {
	w.t.Helper()
	m := w.number(i, "x", n)
	m.Scope, m.SourceScope, m.Activity = scope, scope, to
	return m
}

// haveEnded waits until A has recorded the end of so many entries.
func (w *inboxWorld) haveEnded(i message.InstanceID, n int) {
	w.t.Helper()
	ends := 0
	if !w.until(func() bool {
		history, err := w.a.queue.History(i)
		if err != nil {
			w.t.Fatal(err)
		}
		ends = 0
		for at := range history {
			if history[at].Event == record.EventTerminated {
				ends++
			}
		}
		return ends == n
	}) {
		w.t.Fatalf("%d of %d have ended", ends, n)
	}
	w.nothingOf(i)
}

// N10, S4: an instance is over at a site once what began there has ended in each of its scopes,
// however many there were; then its audit may go, and what comes for any of them is late.
func TestN10RetentionWaitsForEachScope(t *testing.T) {
	w := newPagesWorld(t, 100)
	w.a.rebuilds.Standings = func(_ context.Context, _ processtable.NodeID, q []rebuild.Instance) ([]rebuild.Standing, error) {
		return slices.Repeat([]rebuild.Standing{{Started: true, Ended: true}}, len(q)), nil
	}
	removed := func(i message.InstanceID) bool {
		t.Helper()
		if err := w.a.retain.Round(context.Background(), retention.Policy{Age: time.Nanosecond}); err != nil {
			t.Fatal(err)
		}
		_, gone, err := w.a.queue.Removed(i)
		if err != nil {
			t.Fatal(err)
		}
		return gone
	}
	never, i, crossed := uuid.Must(uuid.NewV7()), uuid.Must(uuid.NewV7()), uuid.Must(uuid.NewV7())
	w.accept(w.brings(never, "", "count", 1))
	w.haveEnded(never, 1)
	if !removed(never) {
		t.Error("a block that never began keeps its instance")
	}
	w.accept(w.brings(crossed, "", "count", 1), w.brings(crossed, "documents#1", "read", 1), w.brings(crossed, "documents#2", "check", 1))
	w.haveEnded(crossed, 3)
	if removed(crossed) {
		t.Error("it is removed although each has ended in one iteration only, and not in the same")
	}
	w.accept(w.brings(i, "", "count", 1), w.brings(i, "documents#1", "read", 1), w.brings(i, "documents#1", "check", 1), w.brings(i, "documents#2", "read", 1))
	w.haveEnded(i, 4)
	if removed(i) {
		t.Error("it is removed although check has not ended in the second iteration")
	}
	w.accept(w.brings(i, "documents#2", "check", 1))
	w.haveEnded(i, 5)
	if !removed(i) {
		t.Error("it is over, and stays")
	}
	w.accept(w.brings(i, "documents#2", "check", 1))
	w.nothingOf(i)
}

// scoped waits until a status of what A has shows this of its activities.
func (w *inboxWorld) scoped(i message.InstanceID, want ...string) []report.Waiting {
	w.t.Helper()
	var r report.Report
	var got []string
	if !w.until(func() bool {
		r, got = w.reported(i), nil
		for _, a := range r.Activities {
			got = append(got, api.InScope(a.Scope, a.Activity)+" "+string(a.State))
		}
		return slices.Equal(got, want)
	}) {
		w.t.Fatalf("status: %q\nwant    %q", got, want)
	}
	return r.Waits
}

// N10: an activity inside of a composite has a line for each of its scopes; what was set aside
// for one is shown there and nowhere else.
func TestN10StatusOfEachScope(t *testing.T) {
	w := newPagesWorld(t, 5)
	i := uuid.Must(uuid.NewV7())
	w.accept(w.brings(i, "", "count", 1))
	w.scoped(i, "count terminated", "read inactive", "check inactive")
	wrong := w.number(i, "x", "two")
	wrong.Scope, wrong.SourceScope, wrong.Activity = "documents#3", "documents#3", "read"
	w.accept(w.brings(i, "documents#1", "read", 3), w.brings(i, "documents#2", "read", 9), wrong, w.brings(i, "documents#2", "check", 1))
	waits := w.scoped(i, "count terminated", "documents#1/read terminated", "documents#2/read in-error", "documents#3/read in-error", "documents#2/check terminated")
	for _, at := range waits {
		if (at.Aside > 0) != (at.Scope == "documents#3") {
			t.Errorf("%s of scope %q waits for refused message %d", at.Activity, at.Scope, at.Aside)
		}
	}
}

// N10, N15: an operator's word is about one scope.
func TestN10RetryOfOneScope(t *testing.T) {
	w := newPagesWorld(t, 5)
	i := uuid.Must(uuid.NewV7())
	w.accept(w.brings(i, "documents#1", "read", 8), w.brings(i, "documents#2", "read", 9))
	w.scoped(i, "count inactive", "documents#1/read in-error", "documents#2/read in-error", "check inactive")
	retry := func(scope string) error {
		_, err := w.a.Retry(context.Background(), i, api.RetryRequest{Scope: scope, Activity: "read", Output: json.RawMessage(`{"n": 2}`)})
		return err
	}
	for scope, want := range map[string]string{"": "has 0 composites, and 1 are around it", "documents#4": "iteration 4 of documents", "documents#": "want a number"} {
		if err := retry(scope); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("scope %q: %v, want %q", scope, err, want)
		}
	}
	if err := retry("documents#2"); err != nil {
		t.Fatal(err)
	}
	w.scoped(i, "count inactive", "documents#1/read in-error", "documents#2/read terminated", "check inactive")
}
