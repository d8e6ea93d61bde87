package queue

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"testing"

	"fmqm/internal/store"
)

// compacting is a crashing engine that keeps its newest commits back from its compactions.
type compacting struct {
	*crashing
	committed func()
	compacts  int
}

func (e *compacting) Commit(version uint64, b *store.Batch) error {
	err := e.crashing.Commit(version, b)
	if e.committed != nil && bytes.Equal(b.Ops[0].Key, keyPadding) {
		e.committed()
	}
	return err
}

func (e *compacting) Buffered() (int64, error) { return 4 * paddingSize, nil }

func (e *compacting) Compact(context.Context) error {
	e.compacts++
	return nil
}

func openCompacting(t *testing.T, e *compacting) *Manager {
	t.Helper()
	m, err := Open(e, Options{Node: "A"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Close(context.Background()) })
	return m
}

// TestReclaimCutOff: whether its context ends or the node stops, nothing of what Reclaim has written
// stays in the store.
func TestReclaimCutOff(t *testing.T) {
	e := &compacting{crashing: newCrashing(t, 0)}
	m := openCompacting(t, e)
	before := e.records(t)
	ctx, cancel := context.WithCancel(context.Background())
	e.committed = cancel
	if _, err := m.Reclaim(ctx); !errors.Is(err, context.Canceled) || e.compacts > 0 {
		t.Errorf("%v, and %d compactions", err, e.compacts)
	}
	if now := e.records(t); !maps.Equal(before, now) {
		t.Errorf("its context has ended: %d records, %d before", len(now), len(before))
	}

	e.committed = func() { e.left = 0 }
	if _, err := m.Reclaim(context.Background()); !errors.Is(err, ErrStopped) {
		t.Errorf("the node stops: %v", err)
	}
	if now := e.records(t); len(now) != len(before)+1 {
		t.Errorf("%d records, %d before: this test shows nothing", len(now), len(before))
	}
	e.committed, e.left = nil, -1
	openCompacting(t, e)
	if now := e.records(t); !maps.Equal(before, now) {
		t.Errorf("after the next open: %d records, %d before", len(now), len(before))
	}
}
