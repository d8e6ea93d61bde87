package badger

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/dgraph-io/badger/v4/table"

	"fmqm/internal/store"
)

// sizeOfTables is what the tables of a store take on the disk, in bytes.
func sizeOfTables(t *testing.T, dir string) (size int64) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*"+tableSuffix))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		if info, err := os.Stat(path); err == nil { // one may have been removed meanwhile
			size += info.Size()
		}
	}
	return size
}

// history is a store from which most was removed: 100 MB of records, of which 5 MB stay.
type history struct {
	t    *testing.T
	e    *Engine
	want contents
}

const (
	inHistory = 4_000
	ofHistory = 25_000 // bytes of each
)

// A past is a store at rest that has all records of a history: it takes seconds to write, so
// tests write it once and copy it.
type past struct {
	dir  string
	want contents // what stays
}

func newPast(t *testing.T) *past {
	t.Helper()
	p := &past{dir: t.TempDir(), want: contents{}}
	h := p.open(t, p.dir)
	random := rand.NewChaCha8([32]byte{7})
	h.each(func(b *store.Batch, n int) {
		value := make([]byte, ofHistory)
		_, _ = random.Read(value)
		b.Put(historyKey(n), value)
		if n%20 == 0 {
			p.want[string(historyKey(n))] = string(value)
		}
	})
	h.settle()
	mustClose(t, h.e)
	return p
}

func (p *past) open(t *testing.T, dir string) *history {
	t.Helper()
	h := &history{t: t, e: mustOpen(t, Options{Dir: dir}), want: maps.Clone(p.want)}
	h.e.compactPause = 0
	return h
}

// history makes one in dir: of a copy of the past, most is removed.
func (p *past) history(t *testing.T, dir string) *history {
	t.Helper()
	if err := os.CopyFS(dir, os.DirFS(p.dir)); err != nil {
		t.Fatal(err)
	}
	h := p.open(t, dir)
	h.each(func(b *store.Batch, n int) {
		if n%20 != 0 {
			b.Delete(historyKey(n))
		}
	})
	return h
}

// settle takes what was put to the lowest level: else the engine's own compaction of it, which a
// busy machine delays, meets the removals and leaves nothing to do. While all lies in the uppermost
// level, and is too little for the engine's own to begin, Badger's Flatten takes it for flat.
func (h *history) settle() {
	h.t.Helper()
	for end := time.Now().Add(2 * time.Minute); ; {
		if err := h.e.Compact(context.Background()); err != nil {
			h.t.Fatal(err)
		}
		logs, _, _, err := logFiles(h.e.db.Opts().Dir)
		if err != nil {
			h.t.Fatal(err)
		}
		above, levels := 0, h.e.db.Levels()
		for _, level := range levels[:len(levels)-1] {
			above += level.NumTables
		}
		if above > 0 && above == levels[0].NumTables && levels[len(levels)-1].NumTables == 0 {
			h.pad()
		}
		switch {
		case len(logs) <= 1 && above <= 2 && len(compacting(h.e.db)) == 0:
			return
		case time.Now().After(end):
			h.t.Fatalf("%d logs, and %d tables above the lowest level, after two minutes", len(logs), above)
		}
	}
}

func historyKey(n int) []byte { return fmt.Appendf(nil, "E%08d", n) }

func (h *history) each(change func(b *store.Batch, n int)) {
	h.t.Helper()
	for from := 0; from < inHistory; from += 50 {
		b := &store.Batch{}
		for n := from; n < from+50; n++ {
			change(b, n)
		}
		h.commit(b)
	}
}

func (h *history) commit(b *store.Batch) {
	h.t.Helper()
	if err := h.e.Commit(h.e.Last()+1, b); err != nil {
		h.t.Fatal(err)
	}
}

// pad commits as much as the engine keeps back.
func (h *history) pad() {
	h.t.Helper()
	size, err := h.e.Buffered()
	if err != nil {
		h.t.Fatal(err)
	}
	for padded := int64(0); padded <= size; padded += valueLimit / 2 {
		b := &store.Batch{}
		b.Put([]byte("padding"), make([]byte, valueLimit/2))
		h.commit(b)
	}
	b := &store.Batch{}
	b.Delete([]byte("padding"))
	h.commit(b)
}

func (h *history) holds() {
	h.t.Helper()
	if err := h.want.holds(h.e); err != nil {
		h.t.Error(err)
	}
}

// TestCompact has a history for each of its parts.
func TestCompact(t *testing.T) {
	p := newPast(t)
	t.Run("gives room back", func(t *testing.T) { testCompactGivesRoomBack(t, p) })
	t.Run("ends", func(t *testing.T) { testCompactEnds(t, p) })
	t.Run("of a rotten table", func(t *testing.T) { testCompactOfARottenTable(t, p) })
}

// testCompactGivesRoomBack: what was removed takes room until it is called, and none
// behind it: while commits go on, and where the store was opened anew and nothing was
// committed since.
func testCompactGivesRoomBack(t *testing.T, p *past) {
	const all = inHistory * ofHistory
	for _, reopened := range []bool{false, true} {
		t.Run(fmt.Sprintf("reopened %v", reopened), func(t *testing.T) {
			dir := t.TempDir()
			h := p.history(t, dir)
			if reopened {
				mustClose(t, h.e)
				h.e = mustOpen(t, Options{Dir: dir})
				h.e.compactPause = 0
			} else {
				h.pad()
			}
			before := sizeOfTables(t, dir)
			if before < all*3/4 {
				t.Fatalf("the tables have only %d bytes of %d before anything is compacted", before, all)
			}
			done := make(chan error)
			go func() { done <- h.e.Compact(context.Background()) }()
			commit := make(chan struct{})
			if !reopened {
				close(commit)
			}
			for err, ended := error(nil), false; !ended; {
				select {
				case err = <-done:
					ended = true
					if err != nil {
						t.Error(err)
					}
				case <-commit:
					h.commit(one("meanwhile"))
					h.want["meanwhile"] = "value"
				}
			}
			h.holds()
			if size := sizeOfTables(t, dir); size > all*3/10 {
				t.Errorf("the tables have %d bytes, before that %d, for %d bytes of records", size, before, all/20)
			}
			mustClose(t, h.e)
			if examine(t, dir, h.want, "compacted") != harmless {
				t.Error("refused")
			}
		})
	}
}

// testCompactEnds with its context, with Close, and where there is no room; what it had
// done until then does no harm.
func testCompactEnds(t *testing.T, p *past) {
	dir := t.TempDir()
	h := p.history(t, dir)
	h.pad()
	steps := 0
	h.e.flattened = func() { steps++ }
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	if err := h.e.Compact(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("with a context that has ended: %v", err)
	}
	free, err := h.e.guard.free()
	if err != nil {
		t.Fatal(err)
	}
	h.e.guard.Stop = free
	if err := h.e.Compact(context.Background()); !errors.Is(err, store.ErrNoSpace) {
		t.Errorf("without room: %v", err)
	}
	if _, err := h.e.Buffered(); !errors.Is(err, store.ErrNoSpace) {
		t.Errorf("without room for what is written first: %v", err)
	}
	h.e.guard.Stop = 0
	if steps > 0 {
		t.Errorf("%d steps were made", steps)
	}

	ctx, cancel := context.WithCancel(context.Background())
	h.e.flattened = cancel // behind the first step
	if err := h.e.Compact(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("ended behind its first step: %v", err)
	}
	h.holds()
	mustClose(t, h.e)

	dir = t.TempDir()
	h = p.history(t, dir)
	h.pad()
	done := make(chan error)
	begun := make(chan struct{}, 1)
	h.e.flattened = func() { signal(begun) }
	go func() { done <- h.e.Compact(context.Background()) }()
	<-begun
	mustClose(t, h.e)
	if err := <-done; err != nil {
		t.Errorf("ended by Close: %v", err)
	}
	if err := h.e.Compact(context.Background()); !errors.Is(err, store.ErrClosed) {
		t.Errorf("of a store that is closed: %v", err)
	}
	if examine(t, dir, h.want, "left in the middle") != harmless {
		t.Error("refused")
	}
}

// testCompactOfARottenTable ends the store's work, and the table stays.
func testCompactOfARottenTable(t *testing.T, p *past) {
	dir := t.TempDir()
	h := p.history(t, dir)
	h.pad()
	tables := h.e.db.Tables()
	path := table.NewFilename(tables[0].ID, dir)
	flip(t, path, 10_000, 3)
	if err := h.e.Compact(context.Background()); !errors.Is(err, ErrDamaged) || !bytes.Contains([]byte(err.Error()), []byte(path)) {
		t.Errorf("it says %v", err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Error(err)
	}
	abandon(t, h.e)
}
