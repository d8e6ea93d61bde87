package queue_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"fmqm/internal/store"
	"fmqm/internal/store/badger"
	"fmqm/queue"
)

// backlog is an engine that keeps its newest commits back from its compactions.
type backlog struct {
	store.Engine
	written  int64
	compacts int
	failed   error
	full     error
	compact  func()
}

func (e *backlog) Commit(version uint64, b *store.Batch) error {
	for _, op := range b.Ops {
		e.written += int64(len(op.Value))
	}
	return e.Engine.Commit(version, b)
}

const backlogSize = 3 << 20

func (e *backlog) Buffered() (int64, error) { return backlogSize, e.full }

func (e *backlog) Compact(context.Context) error {
	e.compacts++
	e.compact()
	return e.failed
}

// TestReclaim: the engine compacts once it has no removal any more that it keeps back,
// and what was written for that is gone.
func TestReclaim(t *testing.T) {
	bare, err := badger.Open(badger.Options{InMemory: true})
	if err != nil {
		t.Fatal(err)
	}
	e := &backlog{Engine: bare}
	m, err := queue.Open(e, queue.Options{Node: "A"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := m.Close(context.Background()); err != nil {
			t.Error(err)
		}
	}()
	before := keysOf(t, e)
	e.compact = func() {
		if e.written < backlogSize || e.written > 2*backlogSize {
			t.Errorf("%d bytes were written before, want %d", e.written, backlogSize)
		}
		if after := keysOf(t, e); after != before {
			t.Errorf("the store has %d records, %d before", after, before)
		}
	}
	if can, err := m.Reclaim(context.Background()); !can || err != nil || e.compacts != 1 {
		t.Errorf("%v, and %d compactions", err, e.compacts)
	}
	e.compact, e.failed = func() {}, errors.New("no disk")
	if _, err := m.Reclaim(context.Background()); !errors.Is(err, e.failed) {
		t.Errorf("an engine that fails: %v", err)
	}
	e.failed = fmt.Errorf("compact: %w", store.ErrNoSpace)
	if _, err := m.Reclaim(context.Background()); !errors.Is(err, queue.ErrNoRoom) {
		t.Errorf("an engine without room: %v", err)
	}
	e.full, e.written = store.ErrNoSpace, 0 // S3: what is to give room back takes none where there is too little
	if _, err := m.Reclaim(context.Background()); !errors.Is(err, queue.ErrNoRoom) || e.written > 0 || e.compacts != 3 {
		t.Errorf("a disk without room: %v, %d bytes written, and %d compactions", err, e.written, e.compacts)
	}
	e.full = nil
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := m.Reclaim(ctx); !errors.Is(err, context.Canceled) || e.compacts != 3 {
		t.Errorf("with a context that has ended: %v, and %d compactions", err, e.compacts)
	}
}

func keysOf(t *testing.T, e store.Engine) (n int) {
	t.Helper()
	if err := e.Scan(store.ScanOptions{KeysOnly: true}, func(_, _ []byte) bool { n++; return true }); err != nil {
		t.Fatal(err)
	}
	return n
}

// scrubbed is an engine that meets all with the so-manieth call.
type scrubbed struct {
	backlog
	calls, needs int
}

func (e *scrubbed) Unmet() (int64, error) { return backlogSize, e.full }

func (e *scrubbed) Scrub(context.Context) (bool, error) {
	e.calls++
	return e.calls >= e.needs, e.failed
}

// A scrub goes on until the engine has met all, and says so where it has not; an engine that keeps no files is done.
func TestScrub(t *testing.T) {
	for _, tc := range []struct {
		name         string
		needs, calls int
		full, failed error
		done         bool
		want         error
	}{
		{"at once", 1, 1, nil, nil, true, nil},
		{"with the third", 3, 3, nil, nil, true, nil},
		{"never", 100, 4, nil, nil, false, nil},
		{"without room for what is committed first", 1, 0, store.ErrNoSpace, nil, false, queue.ErrNoRoom},
		{"without room for new files", 100, 1, nil, fmt.Errorf("compact: %w", store.ErrNoSpace), false, queue.ErrNoRoom},
	} {
		t.Run(tc.name, func(t *testing.T) {
			bare, err := badger.Open(badger.Options{InMemory: true})
			if err != nil {
				t.Fatal(err)
			}
			e := &scrubbed{backlog: backlog{Engine: bare, full: tc.full, failed: tc.failed}, needs: tc.needs}
			m, err := queue.Open(e, queue.Options{Node: "A"})
			if err != nil {
				t.Fatal(err)
			}
			done, err := m.Scrub(t.Context())
			if done != tc.done || !errors.Is(err, tc.want) || e.calls != tc.calls || e.written < int64(tc.calls)*backlogSize {
				t.Errorf("done %t, %v, with %d calls and %d bytes; want %t, %v, %d", done, err, e.calls, e.written, tc.done, tc.want, tc.calls)
			}
			if err := m.Close(context.Background()); err != nil {
				t.Error(err)
			}
		})
	}
}
