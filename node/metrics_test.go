package node_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"fmqm/api"
	"fmqm/internal/store"
	"fmqm/internal/store/badger"
	"fmqm/node"
	"fmqm/processtable"
	"fmqm/program"
	"fmqm/queue/record"
)

// Everything that happened to instances is counted once, by process and by program.
func TestStatsCountWhatHappened(t *testing.T) {
	n := openNode(t, "A", "")
	upload(t, n, `
process: counted
version: 2
structures: {In: {rc: int}}
input: In
activities:
  go:    {node: A, program: echo, input: In}
  yes:   {node: A, program: noop}
  no:    {node: A, program: noop}
  fails: {node: A, program: fail, input: In, on_rc: continue}
control:
  - go -> yes
  - go -> no: _RC > 0
  - go -> fails
data:
  - source -> go
  - source -> fails
`)
	for range 3 {
		if s := run(t, n, "counted", `{"rc": 4}`); s.State != api.InstanceFinished {
			t.Fatalf("%+v", s)
		}
	}
	s, err := n.Stats()
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Processes) != 1 || s.Processes[0].Process.String() != "counted@2" {
		t.Fatalf("%+v", s.Processes)
	}
	p := s.Processes[0]
	want := map[record.Event]uint64{record.EventStarted: 3, record.EventEnded: 3, record.EventTerminated: 9, record.EventSkipped: 3}
	for event, count := range p.Events {
		if count != want[event] {
			t.Errorf("event %d: %d, want %d", event, count, want[event])
		}
	}
	if p.Attempts != 9 || p.Running != 0 || p.Ready != 0 || p.Terminated != 0 {
		t.Errorf("%+v", p)
	}
	programs := map[processtable.ProgramID][4]uint64{}
	for _, p := range s.Programs {
		programs[p.Program] = [4]uint64{p.Succeeded, p.Nonzero, p.Failed, p.Buckets[math.Inf(1)]}
	}
	for program, want := range map[processtable.ProgramID][4]uint64{"echo": {3, 0, 0, 3}, "noop": {3, 0, 0, 3}, "fail": {0, 3, 0, 3}} {
		if programs[program] != want {
			t.Errorf("%s: %v, want %v", program, programs[program], want)
		}
	}
	if s.Queue.Commits == 0 || s.Congested || s.SetAside != 0 {
		t.Errorf("%+v", s)
	}
}

// An error, and an instance that an operator terminates because of it, are counted as
// what they are.
func TestStatsCountErrorsAndTerminations(t *testing.T) {
	n := openNode(t, "A", "")
	upload(t, n, "process: stuck\nversion: 1\nactivities:\n  a: {node: A, program: absent}\n  b: {node: A, program: noop}\ncontrol: [a -> b]\n")
	s := run(t, n, "stuck", "")
	if s.State != api.InstanceInError {
		t.Fatalf("%+v", s)
	}
	if err := n.Terminate(context.Background(), s.Instance, ""); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	for {
		if err := n.Watch(ctx, s.Instance, func(api.HistoryEvent) error { return nil }); err != nil {
			t.Fatal(err)
		}
		stats, err := n.Stats()
		if err != nil {
			t.Fatal(err)
		}
		p := stats.Processes[0]
		if p.Terminated == 1 && p.Events[record.EventInError] == 1 && p.Events[record.EventStarted] == 1 && p.Events[record.EventEnded] == 0 {
			if got := stats.Programs[0]; got.Program != "absent" || got.Failed != 1 {
				t.Errorf("%+v", got)
			}
			return
		}
		if ctx.Err() != nil {
			t.Fatalf("%+v", p)
		}
	}
}

// stuckEngine is a store whose disk stops answering when it is told to.
type stuckEngine struct {
	store.Engine
	mu    sync.Mutex
	stuck chan struct{} // nil: it answers
}

func (s *stuckEngine) Commit(version uint64, b *store.Batch) error {
	s.mu.Lock()
	stuck := s.stuck
	s.mu.Unlock()
	if stuck != nil {
		<-stuck
	}
	return s.Engine.Commit(version, b)
}

func (s *stuckEngine) set(stuck chan struct{}) {
	s.mu.Lock()
	s.stuck = stuck
	s.mu.Unlock()
}

// A node lives while its committer answers. A disk that hangs is seen, and so is its
// return. A peer that is away makes it degraded, and still ready.
func TestHealthOfANode(t *testing.T) {
	inner, err := badger.Open(badger.Options{InMemory: true})
	if err != nil {
		t.Fatal(err)
	}
	engine := &stuckEngine{Engine: inner}
	registry, err := program.NewRegistry(map[processtable.ProgramID]program.Spec{"noop": {Kind: program.KindBuiltin, Builtin: "noop"}}, program.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer registry.Close()
	n, err := node.Open(node.Options{
		Name: "A", Engine: engine, Registry: registry, Log: zerolog.Nop(),
		Peers: map[processtable.NodeID]node.Peer{"B": {}},
	})
	if err != nil {
		t.Fatal(err)
	}
	n.Launch()
	upload(t, n, "process: p\nversion: 1\nactivities:\n  a: {node: A, program: noop}\n")

	if h := n.Live(t.Context()); h.State != api.HealthOK {
		t.Errorf("%+v", h)
	}
	h := n.Ready(t.Context())
	if reason := reasonOf(h, "link B"); h.State != api.HealthDegraded || !strings.HasPrefix(reason, "waiting") {
		t.Errorf("%+v", h)
	}

	stuck := make(chan struct{})
	engine.set(stuck)
	started := make(chan error, 1)
	go func() {
		id, err := api.NewInstance()
		if err == nil {
			_, err = n.Start(context.Background(), api.StartRequest{Instance: id, Process: "p"})
		}
		started <- err
	}()
	for dead := false; !dead; {
		ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
		h := n.Live(ctx)
		cancel()
		dead = h.State == api.HealthFailed && reasonOf(h, "committer") == "it did not answer in time"
	}
	engine.set(nil)
	close(stuck)
	if err := <-started; err != nil {
		t.Error(err)
	}
	if h := n.Live(t.Context()); h.State != api.HealthOK {
		t.Errorf("%+v", h)
	}
	if err := n.Stop(context.Background()); err != nil && !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if h := n.Ready(t.Context()); h.State != api.HealthFailed {
		t.Errorf("a stopped node: %+v", h)
	}
}

func reasonOf(h api.Health, name string) string {
	for _, c := range h.Checks {
		if c.Name == name {
			return c.Reason
		}
	}
	return ""
}
