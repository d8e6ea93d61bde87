package memory_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"fmqm/internal/store"
	"fmqm/internal/store/memory"
	"fmqm/internal/store/storetest"
	"fmqm/internal/task"
)

// shelf has disks by directory: a file in each says which, so that a copy of the directory
// has a clone of what the disk then had.
type shelf struct {
	mu    sync.Mutex
	disks map[string]*memory.Disk
}

func (s *shelf) open(dir string) (store.Engine, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	label := filepath.Join(dir, "disk")
	from, err := os.ReadFile(label)
	switch {
	case s.disks[dir] != nil:
	case err != nil:
		s.disks[dir] = memory.NewDisk(dir)
	default:
		s.disks[dir] = s.disks[string(from)].Clone(dir)
	}
	if err := os.WriteFile(label, []byte(dir), 0o600); err != nil {
		return nil, err
	}
	return s.disks[dir].Open(memory.Options{})
}

func TestEngine(t *testing.T) {
	storetest.Run(t, (&shelf{disks: map[string]*memory.Disk{}}).open)
}

// put is a batch of one change.
func put(key, value string) *store.Batch {
	return &store.Batch{Ops: []store.Op{{Key: []byte(key), Value: []byte(value)}}}
}

// plan is what becomes of commits and reads, by what a test says.
type plan struct {
	fate      memory.Fate
	committed []uint64
	unread    string // the key that cannot be read
}

func (p *plan) Commit(uint64, *store.Batch) memory.Fate { return p.fate }

func (p *plan) Committed(version uint64, _ *store.Batch) { p.committed = append(p.committed, version) }

func (p *plan) Read(key []byte) error {
	if p.unread != "" && string(key) == p.unread {
		return errors.New("a sector cannot be read")
	}
	return nil
}

// has says what is on a disk under "a", and the last commit's number.
func has(t *testing.T, d *memory.Disk) string {
	t.Helper()
	e, err := d.Peek()
	if err != nil {
		t.Fatal(err)
	}
	value, err := e.Get([]byte("a"))
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		t.Fatal(err)
	}
	return fmt.Sprintf("%s@%d", value, e.Last())
}

// Invariant 8: what a commit that failed said is on disk or not; nobody reads it, and
// nothing more is committed until the store is opened again.
func TestACommitThatFails(t *testing.T) {
	for _, kept := range []bool{false, true} {
		p := &plan{}
		d := memory.NewDisk("disk")
		e, err := d.Open(memory.Options{Faults: p})
		if err != nil {
			t.Fatal(err)
		}
		if err := e.Commit(1, put("a", "old")); err != nil {
			t.Fatal(err)
		}
		broken := errors.New("input/output error")
		p.fate = memory.Fate{Err: broken, Kept: kept}
		if err := e.Commit(2, put("a", "new")); !errors.Is(err, broken) {
			t.Errorf("commit: %v", err)
		}
		p.fate = memory.Fate{}
		if err := e.Commit(2, put("a", "newer")); !errors.Is(err, memory.ErrFailed) {
			t.Errorf("the commit after it: %v", err)
		}
		if value, err := e.Get([]byte("a")); string(value) != "old" || e.Last() != 1 {
			t.Errorf("get: %s, %v, last %d", value, err, e.Last())
		}
		want := map[bool]string{false: "old@1", true: "new@2"}[kept]
		if got := has(t, d); got != want {
			t.Errorf("kept %t: on disk is %s, want %s", kept, got, want)
		}
		if len(p.committed) != 1 {
			t.Errorf("committed were %v", p.committed)
		}
	}
}

// A crash at any moment of a commit leaves it whole or not at all; what has returned stays.
// Who went on after the crash writes nothing.
func TestACrashInACommit(t *testing.T) {
	for _, kept := range []bool{false, true} {
		w := task.NewWorld(1, time.Unix(0, 0))
		s, other := w.NewSite(0), w.NewSite(0)
		p := &plan{fate: memory.Fate{Takes: 10 * time.Millisecond}}
		d := memory.NewDisk("disk")
		e, err := d.Open(memory.Options{By: s, Faults: p})
		if err != nil {
			t.Fatal(err)
		}
		var watched []uint64
		d.Watch(func(version uint64, _ *store.Batch) { watched = append(watched, version) })
		s.Go(func() {
			for i := range uint64(3) {
				if err := e.Commit(i+1, put("a", fmt.Sprint("v", i+1))); err != nil {
					t.Error(err)
				}
			}
			t.Error("goes on after the crash")
		})
		other.AfterFunc(25*time.Millisecond, func() {
			s.Kill()
			d.Crash(kept)
			if err := e.Commit(3, put("a", "ghost")); !errors.Is(err, store.ErrClosed) {
				t.Errorf("a commit after the crash: %v", err)
			}
		})
		for w.Step() {
		}
		if err := w.Failure(); err != nil {
			t.Fatal(err)
		}
		want := map[bool]string{false: "v2@2", true: "v3@3"}[kept]
		if got := has(t, d); got != want {
			t.Errorf("kept %t: on disk is %s, want %s", kept, got, want)
		}
		if len(watched) != 2 && !kept || len(watched) != 3 && kept {
			t.Errorf("kept %t: who watches was told of %v", kept, watched)
		}
		if _, err := d.Open(memory.Options{}); err != nil {
			t.Errorf("open after the crash: %v", err)
		}
	}
}

// A commit takes its time, and others read meanwhile what was there before.
func TestReadsBesideACommit(t *testing.T) {
	w := task.NewWorld(1, time.Unix(0, 0))
	s := w.NewSite(0)
	d := memory.NewDisk("disk")
	e, err := d.Open(memory.Options{By: s, Faults: &plan{fate: memory.Fate{Takes: time.Second}}})
	if err != nil {
		t.Fatal(err)
	}
	read := func() string {
		value, _ := e.Get([]byte("a"))
		return string(value)
	}
	s.Go(func() {
		if err := e.Commit(1, put("a", "new")); err != nil || read() != "new" || w.Elapsed() != time.Second {
			t.Errorf("%v, read %q after %v", err, read(), w.Elapsed())
		}
	})
	s.Go(func() {
		for range 9 {
			if err := task.Sleep(context.Background(), s, 100*time.Millisecond); err != nil || read() != "" {
				t.Errorf("%v, read %q after %v", err, read(), w.Elapsed())
			}
		}
	})
	for w.Step() {
	}
	if err := w.Failure(); err != nil {
		t.Fatal(err)
	}
}

func TestAFullDisk(t *testing.T) {
	d := memory.NewDisk("disk")
	e, err := d.Open(memory.Options{})
	if err != nil {
		t.Fatal(err)
	}
	d.SetFull(true)
	if err := e.Commit(1, put("a", "1")); !errors.Is(err, store.ErrNoSpace) {
		t.Errorf("commit: %v", err)
	}
	d.SetFull(false)
	if err := e.Commit(1, put("a", "1")); err != nil {
		t.Errorf("commit once there is room: %v", err)
	}
	d.SetFull(true)
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Open(memory.Options{}); !errors.Is(err, store.ErrNoSpace) {
		t.Errorf("open: %v", err)
	}
}

func TestReadsThatFail(t *testing.T) {
	d := memory.NewDisk("disk")
	p := &plan{unread: "a"}
	e, err := d.Open(memory.Options{Faults: p})
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Commit(1, put("a", "1")); err != nil {
		t.Fatal(err)
	}
	visit := func(_, _ []byte) bool { return true }
	_, get := e.Get([]byte("a"))
	scan := e.Scan(store.ScanOptions{Prefix: []byte("a")}, visit)
	view := e.View(func(r store.Reader) error { return r.Scan(store.ScanOptions{Prefix: []byte("a")}, visit) })
	for _, err := range []error{get, scan, view} {
		if err == nil || errors.Is(err, store.ErrNotFound) || !strings.Contains(err.Error(), "sector") {
			t.Errorf("read: %v", err)
		}
	}
	if err := e.Scan(store.ScanOptions{}, visit); err != nil {
		t.Errorf("another read: %v", err)
	}
	if err := e.Commit(2, put("b", "1")); !errors.Is(err, memory.ErrFailed) {
		t.Errorf("a commit after a read that failed: %v", err)
	}
}

func BenchmarkCommit(b *testing.B) {
	d := memory.NewDisk("disk")
	e, err := d.Open(memory.Options{})
	if err != nil {
		b.Fatal(err)
	}
	for i := 0; b.Loop(); i++ {
		var batch store.Batch
		for j := range 5 {
			batch.Put(fmt.Appendf(nil, "key %d", (i*7+j*131)%3000), make([]byte, 200))
		}
		if err := e.Commit(e.Last()+1, &batch); err != nil {
			b.Fatal(err)
		}
	}
}
