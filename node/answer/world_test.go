package answer

import (
	"context"
	"errors"
	"maps"
	"slices"
	"testing"

	"fmqm/api"
	"fmqm/behaviour"
	"fmqm/definition"
	"fmqm/definition/definitiontest"
	"fmqm/internal/store"
	"fmqm/internal/store/memory"
	"fmqm/internal/task"
	"fmqm/link"
	"fmqm/message"
	"fmqm/navigator"
	"fmqm/node/report"
	"fmqm/processtable"
	"fmqm/queue"
	"fmqm/queue/record"
)

// world is the site A with a store, without programs, and without a network.
type world struct {
	*Answers
	t     testing.TB
	up    map[processtable.ProcessID]behaviour.Process
	query func(_ context.Context, peer processtable.NodeID, kind string, body []byte) ([]byte, error) // nil: nobody answers
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := worldOn(t, newEngine(t, memory.Options{}), task.Goroutines{})
	t.Cleanup(w.close)
	return w
}

func newEngine(t testing.TB, o memory.Options) store.Engine {
	t.Helper()
	engine, err := memory.NewDisk("A").Open(o)
	if err != nil {
		t.Fatal(err)
	}
	return engine
}

func worldOn(t *testing.T, engine store.Engine, by task.Scheduler) *world {
	t.Helper()
	return worldAt(t, "A", engine, by)
}

// worldAt is worldOn of another site.
func worldAt(t testing.TB, node processtable.NodeID, engine store.Engine, by task.Scheduler) *world {
	t.Helper()
	q, err := queue.Open(engine, queue.Options{Node: node, Scheduler: by})
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, up: map[processtable.ProcessID]behaviour.Process{}}
	w.Answers = New(Options{Self: node, Site: w, Queue: q, Scheduler: by})
	return w
}

func (w *world) close() {
	if err := w.Queue.Close(context.Background()); err != nil {
		w.t.Error(err)
	}
}

func (w *world) commit(tx *record.Tx) {
	w.t.Helper()
	done := task.NewAnswer[error](w.Scheduler)
	tx.Done = done.Give
	w.Queue.Submit(tx)
	if err, _, gone := done.Wait(w.t.Context()); err != nil || gone != nil {
		w.t.Fatal(err, gone)
	}
}

// takeUp takes up A's table of a process.
func (w *world) takeUp(text string) {
	w.t.Helper()
	p, err := navigator.Prepare(definitiontest.TablesOf(w.t, text, definition.CompileOptions{})["A"], nil)
	if err != nil {
		w.t.Fatal(err)
	}
	w.up[p.Table().Process] = p
}

func (w *world) Query(ctx context.Context, peer processtable.NodeID, kind string, body []byte) ([]byte, error) {
	if w.query == nil {
		return nil, errors.New("nobody answers")
	}
	return w.query(ctx, peer, kind, body)
}

func (w *world) Process(id processtable.ProcessID) behaviour.Process { return w.up[id] }

func (w *world) Processes() []behaviour.Process {
	return slices.SortedFunc(maps.Values(w.up), func(a, b behaviour.Process) int {
		return a.Table().Process.Compare(b.Table().Process)
	})
}

func (w *world) Running(message.InstanceID) map[message.Entry]report.Run { return nil }
func (w *world) Anew() bool                                              { return false }
func (w *world) DiskLow() string                                         { return "" }
func (w *world) WaitsFor(processtable.ProcessID, message.Entry) string   { return "" }

func (w *world) Held(*processtable.Activity, []processtable.NodeID) string {
	return ""
}
func (w *world) Broker() *api.Broker                            { return nil }
func (w *world) Stopping() bool                                 { return false }
func (w *world) Peers() []processtable.NodeID                   { return nil }
func (w *world) LinkTo(processtable.NodeID) (link.Status, bool) { return link.Status{}, false }
