package node

import (
	"fmt"
	"runtime"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/rs/zerolog"

	"fmqm/api"
	"fmqm/api/apitest"
	"fmqm/definition"
	"fmqm/internal/store/badger"
	"fmqm/message"
	"fmqm/processtable"
	"fmqm/program"
	"fmqm/queue/record"
)

// A block counts its iterations, each of which has a race that somebody loses.
const counting = `
process: counting
version: 1
structures: {Turn: {n: int}}
%s
activities:
  rounds:
    node: A
    input: Turn
    output: Turn
    exit: n >= %d
    activities:
      ask:   {node: A, program: echo, input: Turn, output: Turn}
      other: {node: A, empty: true}
      next:  {node: A, empty: true, input: Turn, output: Turn, start: first}
    control:
      - ask -> next
      - other -> next
    data:
      - source -> ask
      - source -> next: {n: (n + 1)}
      - next -> sink
data:
  - rounds -> rounds
  - rounds -> sink
output: Turn
`

// looped is what a node has kept of an instance with many iterations, as these went on.
type looped struct {
	records, messages []int // of the audit, and of the queue, at every thousandth iteration or so
	left              int   // records of the audit in the end
	heap              uint64
	status            api.Status
}

func loop(t *testing.T, iterations int, history string) looped {
	engine, err := badger.Open(badger.Options{InMemory: true})
	if err != nil {
		t.Fatal(err)
	}
	registry, err := program.NewRegistry(map[processtable.ProgramID]program.Spec{
		"echo": {Kind: program.KindBuiltin, Builtin: "echo", Concurrency: 1},
	}, program.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer registry.Close()
	var n *Node
	var out looped
	var mu sync.Mutex
	look := func(id message.InstanceID) {
		h, err := n.queue.History(id)
		open, wrong := n.queue.BrowseInstance(processtable.ProcessID{Name: "counting", Version: 1}, id)
		if err != nil || wrong != nil {
			t.Error(err, wrong)
		}
		out.records, out.messages = append(out.records, len(h)), append(out.messages, len(open))
	}
	n, err = Open(Options{
		Name: "A", Engine: engine, Registry: registry, Log: zerolog.New(zerolog.NewTestWriter(t)).Level(zerolog.WarnLevel),
		Observe: func(r record.AuditRecord) {
			if r.Event == record.EventIterated && r.Iteration%(iterations/8) == 0 {
				mu.Lock()
				look(r.Instance)
				mu.Unlock()
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	n.Launch()
	defer func() {
		if err := n.Stop(t.Context()); err != nil {
			t.Error(err)
		}
	}()
	p, diagnostics := definition.Load("counting.yaml", fmt.Appendf(nil, counting, history, iterations))
	if len(p) != 1 {
		t.Fatal(diagnostics)
	}
	tables, err := apitest.Tables(p[0])
	if err != nil {
		t.Fatal(err)
	}
	if _, err := n.Upload(t.Context(), api.UploadRequest{Tables: tables}); err != nil {
		t.Fatal(err)
	}
	id := uuid.Must(uuid.NewV7())
	if _, err := n.Start(t.Context(), api.StartRequest{Instance: id, Process: "counting"}); err != nil {
		t.Fatal(err)
	}
	if out.status, err = n.Wait(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	if err := n.retain.Thin(t.Context(), processtable.ProcessID{Name: "counting", Version: 1}, id); err != nil {
		t.Fatal(err)
	}
	h, err := n.queue.History(id)
	if err != nil {
		t.Fatal(err)
	}
	out.left = len(h)
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	out.heap = m.HeapAlloc
	// What is late for an iteration of which nothing is left makes no entry (N7).
	late := message.Entry{Instance: id, Scope: "rounds#1", Activity: "next"}
	if end, ended, err := n.queue.Ended(late); err != nil || !ended || history != "" && end.Event != record.EventThinned {
		t.Errorf("what is known of the first iteration is %+v, %t, %v", end, ended, err)
	}
	return out
}

// N16: with history: {iterations: n} a block of thousands of iterations takes as much room as one of a few: its
// queue is as short, and of its audit no more than the last n iterations, and those that have come since the last
// look, are kept while it goes on. The test says what that comes to.
func TestN16IterationsThatAreOverAreRemoved(t *testing.T) {
	const iterations, kept = 2000, 20
	all, some := loop(t, iterations/10, ""), loop(t, iterations, fmt.Sprintf("history: {iterations: %d}", kept))
	t.Logf("all is kept: %d iterations, records %v, messages %v, %d in the end, heap %d KiB", iterations/10, all.records, all.messages, all.left, all.heap>>10)
	t.Logf("%d are kept: %d iterations, records %v, messages %v, %d in the end, heap %d KiB", kept, iterations, some.records, some.messages, some.left, some.heap>>10)
	if s := some.status; s.State != api.InstanceFinished || string(s.Output) != fmt.Sprintf(`{"n":%d}`, iterations) {
		t.Fatalf("it is %s with %s", s.State, s.Output)
	}
	perIteration := all.left/(iterations/10) + 1
	if want := (kept + 2) * perIteration; some.left > want {
		t.Errorf("%d records are left, more than of %d iterations", some.left, kept+2)
	}
	for i, records := range some.records {
		if records > 12*kept*perIteration { // a few looks may be late on a busy machine
			t.Errorf("look %d: %d records are kept, of %d for an iteration", i, records, perIteration)
		}
		if some.messages[i] > 12 {
			t.Errorf("look %d: %d messages are in the queue", i, some.messages[i])
		}
	}
}
