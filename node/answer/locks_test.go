package answer

import (
	"context"
	"sync"
	"testing"
	"time"

	"fmqm/api"
	"fmqm/internal/store"
	"fmqm/internal/store/memory"
	"fmqm/internal/task"
	"fmqm/message"
)

// lockWatch is the disk of a site in a world of one task at a time, where whoever waits holds no
// lock: a lock that is held while something is read is held by who reads.
type lockWatch struct {
	t     *testing.T
	a     *Answers
	reads int
}

func (w *lockWatch) Commit(uint64, *store.Batch) memory.Fate { return memory.Fate{} }

func (w *lockWatch) Committed(uint64, *store.Batch) {}

func (w *lockWatch) Read([]byte) error {
	if w.a == nil {
		return nil
	}
	w.reads++
	for name, mu := range map[string]*sync.Mutex{"who waits": &w.a.changes.mu, "refused messages": &w.a.refusals.mu} {
		if !mu.TryLock() {
			w.t.Errorf("the lock of %s is held while the store is read", name)
			continue
		}
		mu.Unlock()
	}
	return nil
}

// The committer tells who waits for an instance, and waits itself for nobody: nobody who asks
// reads under a lock that it takes for that.
func TestNoLockIsHeldWhileTheStoreIsRead(t *testing.T) {
	world := task.NewWorld(1, time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC))
	by, watch, ended := world.NewSite(0), &lockWatch{t: t}, false
	id := message.InstanceID{1}
	by.Go(func() {
		defer func() { ended = true }()
		w := worldOn(t, newEngine(t, memory.Options{By: by, Faults: watch}), by)
		watch.a = w.Answers
		w.takeUp(two)
		ctx := context.Background()
		for name, ask := range map[string]func() error{
			"status":  func() error { _, err := w.Status(ctx, id); return err },
			"history": func() error { _, err := w.History(ctx, id, api.HistoryRequest{}); return err },
			"why":     func() error { _, err := w.Why(ctx, id, api.WhyRequest{}); return err },
			"wait":    func() error { _, err := w.Wait(ctx, id); return err },
			"watch":   func() error { return w.Watch(ctx, id, func(api.HistoryEvent) error { return nil }) },
		} {
			before := watch.reads
			if err := ask(); err == nil || watch.reads == before {
				t.Errorf("%s: %v, after %d reads", name, err, watch.reads-before)
			}
		}
		w.close()
	})
	for !ended && world.Step() {
	}
	if !ended {
		t.Fatal(world.Failure())
	}
}
