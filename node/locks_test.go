package node

import (
	"context"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"fmqm/api"
	"fmqm/definition"
	"fmqm/definition/definitiontest"
	"fmqm/internal/store"
	"fmqm/internal/store/memory"
	"fmqm/internal/task"
	"fmqm/message"
	"fmqm/processtable"
	"fmqm/program"
)

// lockWatch is the disk of a node in a world of one task at a time, where whoever waits holds no
// lock: a lock that is held while something is read is held by who reads.
type lockWatch struct {
	t     *testing.T
	n     *Node
	reads int
}

func (w *lockWatch) Commit(uint64, *store.Batch) memory.Fate { return memory.Fate{} }

func (w *lockWatch) Committed(uint64, *store.Batch) {}

func (w *lockWatch) Read([]byte) error {
	if w.n == nil {
		return nil
	}
	w.reads++
	n := w.n
	locks := map[string]*sync.Mutex{
		"node":     &n.mu,
		"pressure": &n.pressure.mu,
	}
	for name, mu := range locks {
		if !mu.TryLock() {
			stack := make([]byte, 1<<14)
			w.t.Errorf("the lock of %s is held while the store is read:\n%s", name, stack[:runtime.Stack(stack, false)])
			continue
		}
		mu.Unlock()
	}
	return nil
}

// The committer takes a table up, and tells who waits; it never waits for a disk that somebody reads
// (invariant 8: nothing is acknowledged late because of a question). So no lock of the node is held
// across a read: at a start, when a table is taken up beside timers and questions, at the stop.
func TestNoLockIsHeldWhileTheStoreIsRead(t *testing.T) {
	world := task.NewWorld(1, time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC))
	by, disk := world.NewSite(0), memory.NewDisk("A")
	registry, err := program.NewRegistry(map[processtable.ProgramID]program.Spec{"p": {Kind: program.KindBuiltin, Builtin: "noop"}}, program.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer registry.Close()
	compiled := definitiontest.Compile(t, `
process: p
version: 1
activities:
  a: {node: A, program: p}
  b: {node: B, program: p}
  c: {node: A, program: none, retry: {attempts: 3, backoff: 1s}}
control: [a -> b]
`, definition.CompileOptions{})
	var upload api.UploadRequest
	for i, table := range compiled.Tables {
		upload.Tables = append(upload.Tables, api.Table{
			Node: string(table.Node), Process: table.Process.String(), Definition: table.Definition.String(), Table: compiled.Encoded[i],
		})
	}
	upload.AllowNewNode = true
	instance := message.InstanceID{1}
	for start := range 2 {
		watch, ended := &lockWatch{t: t}, false
		by.Go(func() {
			defer func() { ended = true }()
			engine, err := disk.Open(memory.Options{By: by, Faults: watch})
			if err != nil {
				t.Error(err)
				return
			}
			n, err := Open(Options{Name: "A", Engine: engine, Registry: registry, Scheduler: by, Log: zerolog.Nop()})
			if err != nil {
				t.Error(err)
				return
			}
			watch.n = n
			n.Launch()
			ctx := context.Background()
			if start == 0 {
				if _, err := n.Upload(ctx, upload); err != nil {
					t.Error(err)
				}
				if _, err := n.Start(ctx, api.StartRequest{Process: "p@1", Instance: instance}); err != nil {
					t.Error(err)
				}
			}
			_ = task.Sleep(ctx, by, 10*time.Second)
			if _, err := n.Status(ctx, instance); err != nil {
				t.Error(err)
			}
			if _, err := n.Definitions(ctx); err != nil {
				t.Error(err)
			}
			if _, err := n.Stats(); err != nil {
				t.Error(err)
			}
			if err := n.Stop(ctx); err != nil {
				t.Error(err)
			}
		})
		for !ended && world.Step() {
		}
		if !ended || watch.reads == 0 {
			t.Fatalf("start %d: ended %t, after %d reads; %v", start, ended, watch.reads, world.Failure())
		}
	}
}
