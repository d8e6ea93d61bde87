package badger

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/dgraph-io/badger/v4/table"

	"fmqm/internal/store"
)

// inTable makes a store whose records all lie in one table, and gives that table's path
// and where its blocks end and its index begins.
func inTable(t *testing.T) (dir, path string, w *writer, blocks int64) {
	t.Helper()
	dir, w = t.TempDir(), newWriter(t, 11)
	e := mustOpen(t, Options{Dir: dir})
	for range 20 {
		number := e.Last() + 1
		var b store.Batch
		for i := range 30 {
			key, value := fmt.Sprintf("key %d.%d", number, i), strings.Repeat(string(rune('a'+i%26)), 200)
			b.Put([]byte(key), []byte(value))
			w.now[key] = value
		}
		if err := e.Commit(number, &b); err != nil {
			t.Fatal(err)
		}
	}
	mustClose(t, e)
	paths, err := filepath.Glob(filepath.Join(dir, "*"+tableSuffix))
	if err != nil || len(paths) != 1 {
		t.Fatalf("tables: %v, %v", paths, err)
	}
	return dir, paths[0], w, endOfBlocks(t, paths[0])
}

// endOfBlocks reads a table's footer: index, its length, checksum, its length.
func endOfBlocks(t *testing.T, path string) int64 {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	at := len(data) - 4
	at -= int(binary.BigEndian.Uint32(data[at:])) + 4
	return int64(at) - int64(binary.BigEndian.Uint32(data[at:]))
}

// abandon closes an engine that failed, and what it leaves to the end of the process.
func abandon(t *testing.T, e *Engine) {
	t.Helper()
	if err := e.Close(); !errors.Is(err, ErrDamaged) {
		t.Errorf("closed with %v", err)
	}
	close(e.released)
	if f := e.flattening.Load(); f != nil { // it starts the engine's own compactions again, as it ends
		<-f.ended
	}
	if err := e.db.Close(); err != nil {
		t.Error(err)
	}
}

// failedWith gives the error with which the store's work ends.
func failedWith(t *testing.T, e *Engine) error {
	t.Helper()
	select {
	case err := <-e.Failed():
		return err
	case <-time.After(5 * time.Minute):
		t.Fatal("nobody notices the damage")
		return nil
	}
}

// TestBlockRotsUnderAScan: Badger ends the scan there without an error.
func TestBlockRotsUnderAScan(t *testing.T) {
	dir, path, w, blocks := inTable(t)
	random := rand.New(rand.NewPCG(1, 1))
	for range 30 {
		e := mustOpen(t, Options{Dir: dir})
		if err := w.now.holds(e); err != nil {
			t.Fatal(err)
		}
		at, bit := random.Int64N(blocks), uint(random.IntN(8))
		flip(t, path, at, bit)
		n := 0
		err := e.Scan(store.ScanOptions{}, func(_, _ []byte) bool { n++; return true })
		if !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "put back the data directory from a backup") {
			t.Errorf("byte %d of %d: a scan gives %d of %d records and %v", at, blocks, n, len(w.now), err)
			e.announce(err)
		}
		if err := failedWith(t, e); !errors.Is(err, ErrDamaged) {
			t.Errorf("the work ends with %v", err)
		}
		if err := e.Commit(e.Last()+1, one("a")); !errors.Is(err, ErrDamaged) {
			t.Errorf("a commit after that: %v", err)
		}
		abandon(t, e)
		if _, err := Open(Options{Dir: dir}); !errors.Is(err, ErrDamaged) {
			t.Errorf("opened again: %v", err)
		}
		flip(t, path, at, bit)
		if t.Failed() {
			return
		}
	}
}

// TestBlockRotsUnderAGet: Badger finds nothing.
func TestBlockRotsUnderAGet(t *testing.T) {
	dir, path, w, blocks := inTable(t)
	e := mustOpen(t, Options{Dir: dir})
	flip(t, path, blocks/2, 3)
	var failed error
	for key := range w.now {
		if _, err := e.Get([]byte(key)); err != nil {
			failed = err
			break
		}
	}
	if !errors.Is(failed, ErrDamaged) || errors.Is(failed, store.ErrNotFound) || !strings.Contains(failed.Error(), path) {
		t.Errorf("get: %v", failed)
	}
	abandon(t, e)
}

// TestIndexRots: index and filter have no checksum that Badger looks at again. Who does
// not find what must be there asks, and the scrubber sees it without being asked.
func TestIndexRots(t *testing.T) {
	dir, path, _, blocks := inTable(t)
	for _, tc := range []struct {
		name  string
		pause time.Duration
		ask   func(e *Engine) error
	}{
		{"somebody is in doubt", 0, (*Engine).Doubt},
		{"the scrubber", time.Millisecond, func(e *Engine) error { return failedWith(t, e) }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			e := mustOpen(t, Options{Dir: dir, ScrubPause: tc.pause})
			if err := e.Doubt(); err != nil {
				t.Fatal(err)
			}
			flip(t, path, blocks+10, 0)
			if err := tc.ask(e); !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), path) {
				t.Errorf("it says %v", err)
			}
			abandon(t, e)
			flip(t, path, blocks+10, 0)
		})
	}
}

// TestRottenTableIsNotCompacted: Badger would write what it can read of it, and remove it.
func TestRottenTableIsNotCompacted(t *testing.T) {
	dir := t.TempDir()
	const tables = 4 // Badger compacts five
	for range tables {
		e := mustOpen(t, Options{Dir: dir})
		for n := range uint64(20) {
			if err := e.Commit(e.Last()+1, childBatch(n)); err != nil {
				t.Fatal(err)
			}
		}
		mustClose(t, e)
	}
	e := mustOpen(t, Options{Dir: dir})
	before := e.db.Tables()
	if len(before) != tables {
		t.Fatalf("%d tables", len(before))
	}
	flip(t, table.NewFilename(before[1].ID, dir), 100_000, 4)
	for n := range uint64(memTableSize/(8*childValue) + 10) { // so that there is a fifth table
		if err := e.Commit(e.Last()+1, childBatch(n)); err != nil && !errors.Is(err, ErrDamaged) {
			t.Fatal(err)
		}
	}
	if err := failedWith(t, e); !errors.Is(err, ErrDamaged) {
		t.Errorf("the work ends with %v", err)
	}
	if err := e.Commit(e.Last()+1, one("a")); !errors.Is(err, ErrDamaged) {
		t.Errorf("a commit after that: %v", err)
	}
	for _, was := range before {
		if info, err := os.Stat(table.NewFilename(was.ID, dir)); err != nil || info.Size() == 0 {
			t.Errorf("table %d was removed: %v", was.ID, err)
		}
	}
	if err := (&inspection{dir: dir}).readManifest(nil, nil); !errors.Is(err, ErrDamaged) {
		t.Errorf("the next open would go on with %v", err)
	}
	abandon(t, e)
}

// TestCompactingIsKnown: which tables are in a compaction is read from where this
// version of Badger keeps it.
func TestCompactingIsKnown(t *testing.T) {
	dir, _, _, _ := inTable(t)
	e := mustOpen(t, Options{Dir: dir})
	defer mustClose(t, e)
	if all := e.db.Tables(); len(all) != 1 {
		t.Fatalf("%d tables", len(all))
	}
	if ids := compacting(e.db); len(ids) != 0 {
		t.Errorf("nothing is being compacted, and yet %v", ids)
	}
}
