package badger

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"fmqm/internal/store"
)

// contents is what a store has to hold.
type contents map[string]string

// writer commits random changes and keeps account of them.
type writer struct {
	t      *testing.T
	random *rand.Rand
	now    contents
	at     map[uint64]contents // after each commit
}

func newWriter(t *testing.T, seed uint64) *writer {
	return &writer{t: t, random: rand.New(rand.NewPCG(seed, 1)), now: contents{}, at: map[uint64]contents{0: {}}}
}

// commit makes n commits.
func (w *writer) commit(e *Engine, n int) {
	w.t.Helper()
	for range n {
		number := e.Last() + 1
		var b store.Batch
		for range 1 + w.random.IntN(4) {
			key := fmt.Sprintf("key %d", w.random.IntN(60))
			if w.random.IntN(3) == 0 {
				b.Delete([]byte(key))
				delete(w.now, key)
				continue
			}
			value := fmt.Sprintf("%d %x", number, bytes.Repeat([]byte{byte(number)}, w.random.IntN(60)))
			b.Put([]byte(key), []byte(value))
			w.now[key] = value
		}
		if err := e.Commit(number, &b); err != nil {
			w.t.Fatal(err)
		}
		w.at[number] = maps.Clone(w.now)
	}
}

// holds checks by Get and by Scan that a store holds just this.
func (c contents) holds(e *Engine) error {
	found := contents{}
	err := e.Scan(store.ScanOptions{}, func(key, value []byte) bool {
		found[string(key)] = string(value)
		return true
	})
	if err != nil {
		return err
	}
	if !maps.Equal(found, c) {
		return fmt.Errorf("a scan gives %d records, %d were acknowledged, and they are not the same", len(found), len(c))
	}
	for key, want := range c {
		if got, err := e.Get([]byte(key)); err != nil || string(got) != want {
			return fmt.Errorf("%s is %q, %w, want %q", key, got, err, want)
		}
	}
	return nil
}

func mustOpen(t *testing.T, o Options) *Engine {
	t.Helper()
	e, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func mustClose(t *testing.T, e *Engine) {
	t.Helper()
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
}

// settled waits until the side file has the last commit.
func settled(t *testing.T, e *Engine) {
	t.Helper()
	if err := e.follower.write(); err != nil {
		t.Fatal(err)
	}
}

// Numbers of the image of a store that was killed.
const (
	inTables = 50
	inOlder  = 150
	inNewer  = 200
)

// image makes the files of a store that was killed with everything on disk: a table,
// and two logs with commits that are not in it.
func image(t *testing.T) (dir string, w *writer) {
	t.Helper()
	w = newWriter(t, 7)
	live, dir := t.TempDir(), t.TempDir()
	e := mustOpen(t, Options{Dir: live})
	w.commit(e, inTables)
	mustClose(t, e)
	e = mustOpen(t, Options{Dir: live})
	w.commit(e, inOlder-inTables)
	copyStore(t, live, dir)
	mustClose(t, e)
	e = mustOpen(t, Options{Dir: live})
	w.commit(e, inNewer-inOlder)
	settled(t, e)
	copySparse(t, filepath.Join(live, "00001.mem"), filepath.Join(dir, "00002.mem"))
	copySparse(t, filepath.Join(live, sideName), filepath.Join(dir, sideName))
	mustClose(t, e)
	return dir, w
}

func copyStore(t *testing.T, from, to string) {
	t.Helper()
	if err := os.RemoveAll(to); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(to, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range names(t, from) {
		copySparse(t, filepath.Join(from, name), filepath.Join(to, name))
	}
}

func copySparse(t *testing.T, from, to string) {
	t.Helper()
	data, size, err := readSparse(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, bytes.TrimRight(data, "\x00"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(to, size); err != nil {
		t.Fatal(err)
	}
}

func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}

// digest is what a directory has in its files, but for what a lock needs.
func digest(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, name := range names(t, dir) {
		data, size, err := readSparse(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if name == sideName && size == 0 {
			continue // a missing one was made, for the lock
		}
		out[name] = fmt.Sprint(size, string(bytes.TrimRight(data, "\x00")))
	}
	return out
}

// sides writes a side file that says number.
func sides(t *testing.T, dir string, number uint64) {
	t.Helper()
	if err := os.Remove(filepath.Join(dir, sideName)); err != nil {
		t.Fatal(err)
	}
	s, err := openSide(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.write(sideNumber{number: number, format: storeFormat}); err != nil {
		t.Fatal(err)
	}
	if err := s.close(); err != nil {
		t.Fatal(err)
	}
}

func mustWalk(t *testing.T, path string) walked {
	t.Helper()
	w, err := walkLog(path)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// commitsOf gives where each commit of a log begins, and where the last one ends.
func commitsOf(t *testing.T, path string) []int64 {
	t.Helper()
	data, _, err := readSparse(path)
	if err != nil {
		t.Fatal(err)
	}
	begins := []int64{logHeader}
	for at := logHeader; ; {
		_, size, ok := readCommit(data[at:])
		if !ok {
			return begins
		}
		at += size
		begins = append(begins, int64(at))
	}
}

func TestTheImageIsWhole(t *testing.T) {
	dir, w := image(t)
	older, newer := mustWalk(t, filepath.Join(dir, "00001.mem")), mustWalk(t, filepath.Join(dir, "00002.mem"))
	if older.first != inTables+1 || older.last != inOlder || newer.first != inOlder+1 || newer.last != inNewer {
		t.Fatalf("the logs have commits %d to %d and %d to %d", older.first, older.last, newer.first, newer.last)
	}
	e := mustOpen(t, Options{Dir: dir})
	defer mustClose(t, e)
	if err := w.at[inNewer].holds(e); err != nil || e.Last() != inNewer {
		t.Errorf("last commit %d: %v", e.Last(), err)
	}
	w.commit(e, 10)
	if err := w.now.holds(e); err != nil {
		t.Error(err)
	}
}

// TestSideFileFollows: the number comes behind the commits by itself, and no slot is
// written twice in a row.
func TestSideFileFollows(t *testing.T) {
	dir := t.TempDir()
	w := newWriter(t, 1)
	e := mustOpen(t, Options{Dir: dir})
	w.commit(e, 30)
	var slots []int
	for {
		<-e.follower.synced
		e.follower.mu.Lock()
		written := e.follower.written
		e.follower.mu.Unlock()
		slots = append(slots, written.slot)
		if written.number == 30 {
			break
		}
	}
	w.commit(e, 1)
	mustClose(t, e)
	side, err := openSide(dir)
	if err != nil {
		t.Fatal(err)
	}
	n, err := side.read()
	if err != nil || n.number != 31 || n.slot == slots[len(slots)-1] {
		t.Errorf("after a stop the side file says %+v, %v, before that it was slot %v", n, err, slots)
	}
	data, err := os.ReadFile(filepath.Join(dir, sideName))
	if err != nil {
		t.Fatal(err)
	}
	if other := binary.BigEndian.Uint64(data[slots[len(slots)-1]*slotDistance+12:]); other != 30 {
		t.Errorf("the other slot says %d", other)
	}
	if err := side.close(); err != nil {
		t.Fatal(err)
	}
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
