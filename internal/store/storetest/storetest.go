// Package storetest is the suite that every storage engine has to pass: one test for
// each guarantee of package store.
package storetest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"fmqm/internal/store"
)

// Open opens the engine on a directory, which exists.
type Open func(dir string) (store.Engine, error)

// Run tests an engine that keeps its data in the directory.
func Run(t *testing.T, open Open) {
	RunVolatile(t, open)
	t.Run("reopen", func(t *testing.T) { testReopen(t, open) })
	t.Run("last after removals only", func(t *testing.T) { testLastAfterRemovals(t, open) })
	t.Run("crash", func(t *testing.T) { testCrash(t, open) })
	t.Run("locked", func(t *testing.T) { testLocked(t, open) })
	t.Run("model with reopening", func(t *testing.T) { testModel(t, open, true) })
}

// RunVolatile tests what an engine guarantees between open and close.
func RunVolatile(t *testing.T, open Open) {
	t.Run("get", func(t *testing.T) { testGet(t, open) })
	t.Run("scan", func(t *testing.T) { testScan(t, open) })
	t.Run("scan to the end of the keys", func(t *testing.T) { testScanEnd(t, open) })
	t.Run("numbers", func(t *testing.T) { testNumbers(t, open) })
	t.Run("limits", func(t *testing.T) { testLimits(t, open) })
	t.Run("full batches", func(t *testing.T) { testFullBatches(t, open) })
	t.Run("closed", func(t *testing.T) { testClosed(t, open) })
	t.Run("reads beside commits", func(t *testing.T) { testConcurrent(t, open) })
	t.Run("views", func(t *testing.T) { testView(t, open) })
	t.Run("reused memory", func(t *testing.T) { testReused(t, open) })
	t.Run("model", func(t *testing.T) { testModel(t, open, false) })
}

// fresh opens an engine on a new directory and closes it at the end.
func fresh(t testing.TB, open Open) store.Engine {
	t.Helper()
	return openIn(t, open, t.TempDir())
}

func openIn(t testing.TB, open Open, dir string) store.Engine {
	t.Helper()
	e, err := open(dir)
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return e
}

// batch makes a batch of key, value pairs; a value "-" removes.
func batch(pairs ...string) *store.Batch {
	var b store.Batch
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] == "-" {
			b.Delete([]byte(pairs[i]))
		} else {
			b.Put([]byte(pairs[i]), []byte(pairs[i+1]))
		}
	}
	return &b
}

// must commits the next number.
func must(t testing.TB, e store.Engine, pairs ...string) {
	t.Helper()
	if err := e.Commit(e.Last()+1, batch(pairs...)); err != nil {
		t.Fatalf("commit: %v", err)
	}
}

// want checks one key; "-" says that it is not there.
func want(t testing.TB, e store.Engine, key, value string) {
	t.Helper()
	got, err := e.Get([]byte(key))
	switch {
	case value == "-":
		if !errors.Is(err, store.ErrNotFound) {
			t.Errorf("get %q: %q, %v, want ErrNotFound", key, got, err)
		}
	case err != nil || string(got) != value:
		t.Errorf("get %q: %q, %v, want %q", key, got, err, value)
	}
}

func testGet(t *testing.T, open Open) {
	e := fresh(t, open)
	want(t, e, "a", "-")
	want(t, e, "", "-")
	must(t, e, "a", "1", "b", "2", "empty", "")
	want(t, e, "a", "1")
	want(t, e, "b", "2")
	want(t, e, "empty", "")
	want(t, e, "c", "-")
	must(t, e, "a", "-", "b", "3", "never there", "-")
	want(t, e, "a", "-")
	want(t, e, "b", "3")
	must(t, e, "c", "first", "c", "second", "d", "1", "d", "-", "e", "-", "e", "1")
	want(t, e, "c", "second")
	want(t, e, "d", "-")
	want(t, e, "e", "1")

	got, err := e.Get([]byte("b"))
	if err != nil {
		t.Fatal(err)
	}
	got[0] = 'x' // a copy: the store keeps its own
	want(t, e, "b", "3")
}

func testScan(t *testing.T, open Open) {
	e := fresh(t, open)
	must(t, e, "a", "0", "b", "1", "b1", "2", "b2", "3", "b3", "4", "c", "5", "gone", "6")
	must(t, e, "gone", "-", "b2", "3'")
	for _, tc := range []struct {
		name string
		o    store.ScanOptions
		max  int
		want string
	}{
		{"prefix", opt("b", "-", false), 9, "b=1 b1=2 b2=3' b3=4 "},
		{"everything", opt("", "-", false), 9, "a=0 b=1 b1=2 b2=3' b3=4 c=5 "},
		{"from inside", opt("b", "b2", false), 9, "b2=3' b3=4 "},
		{"from between", opt("b", "b11", false), 9, "b2=3' b3=4 "},
		{"from before the prefix", opt("b", "a", false), 9, "b=1 b1=2 b2=3' b3=4 "},
		{"from behind the prefix", opt("b", "c", false), 9, ""},
		{"until told to stop", opt("b", "-", false), 2, "b=1 b1=2 "},
		{"no such prefix", opt("x", "-", false), 9, ""},
		{"removed", opt("gone", "-", false), 9, ""},
		{"backwards", opt("b", "-", true), 9, "b3=4 b2=3' b1=2 b=1 "},
		{"backwards over everything", opt("", "-", true), 9, "c=5 b3=4 b2=3' b1=2 b=1 a=0 "},
		{"backwards from inside", opt("b", "b2", true), 9, "b2=3' b1=2 b=1 "},
		{"backwards from between", opt("b", "b21", true), 9, "b2=3' b1=2 b=1 "},
		{"backwards from behind the prefix", opt("b", "c", true), 9, "b3=4 b2=3' b1=2 b=1 "},
		{"backwards from before the prefix", opt("b", "a", true), 9, ""},
		{"backwards until told to stop", opt("b", "-", true), 1, "b3=4 "},
		{"backwards, no such prefix", opt("x", "-", true), 9, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for _, few := range []bool{false, true} { // which changes nothing of what is shown
				tc.o.Few = few
				if got := scan(t, e, tc.o, tc.max); got != tc.want {
					t.Errorf("got  %s\nwant %s, with few %t", got, tc.want, few)
				}
			}
		})
	}
	t.Run("keys only", func(t *testing.T) {
		o := opt("b", "-", false)
		o.KeysOnly = true
		if got := scan(t, e, o, 9); got != "b b1 b2 b3 " {
			t.Errorf("got %s", got)
		}
		o.Reverse, o.Few = true, true
		if got := scan(t, e, o, 9); got != "b3 b2 b1 b " {
			t.Errorf("backwards: got %s", got)
		}
	})
	t.Run("more than few", func(t *testing.T) {
		const many = 2500
		var b store.Batch
		for i := range many {
			b.Put(fmt.Appendf(nil, "m%04d", i), []byte("v"))
		}
		if err := e.Commit(e.Last()+1, &b); err != nil {
			t.Fatal(err)
		}
		for _, from := range []int{many - 1, 1500, 999, 10} { // how many there are up to here
			o := opt("m", fmt.Sprintf("m%04d", from), true)
			o.Few = true
			at := from
			if err := e.Scan(o, func(key, value []byte) bool {
				if want := fmt.Sprintf("m%04d", at); string(key) != want || string(value) != "v" {
					t.Errorf("from %d: %s=%s, want %s", from, key, value, want)
				}
				at--
				return !t.Failed()
			}); err != nil || at != -1 {
				t.Errorf("from %d: it ended at %d: %v", from, at, err)
			}
		}
	})
}

func opt(prefix, from string, reverse bool) store.ScanOptions {
	o := store.ScanOptions{Prefix: []byte(prefix), Reverse: reverse}
	if from != "-" {
		o.From = []byte(from)
	}
	return o
}

func scan(t testing.TB, e store.Engine, o store.ScanOptions, limit int) string {
	t.Helper()
	var got bytes.Buffer
	n := 0
	err := e.Scan(o, func(key, value []byte) bool {
		if o.KeysOnly {
			if value != nil {
				t.Errorf("key %q has a value although only keys were asked for", key)
			}
			fmt.Fprintf(&got, "%s ", key)
		} else {
			fmt.Fprintf(&got, "%s=%s ", key, value)
		}
		n++
		return n < limit
	})
	if err != nil {
		t.Fatalf("scan: %v", err)
	}
	return got.String()
}

func testScanEnd(t *testing.T, open Open) {
	e := fresh(t, open)
	must(t, e, "a", "0", "z\xff", "1", "z\xff\xff", "2", "\xff", "3", "\xff\xff", "4")
	for prefix, want := range map[string]string{
		"z\xff":    "z\xff\xff=2 z\xff=1 ",
		"\xff":     "\xff\xff=4 \xff=3 ",
		"\xff\xff": "\xff\xff=4 ",
		"":         "\xff\xff=4 \xff=3 z\xff\xff=2 z\xff=1 a=0 ",
	} {
		if got := scan(t, e, opt(prefix, "-", true), 9); got != want {
			t.Errorf("prefix %q: %q, want %q", prefix, got, want)
		}
	}
}

func testNumbers(t *testing.T, open Open) {
	e := fresh(t, open)
	if e.Last() != 0 {
		t.Fatalf("a new store has commit %d", e.Last())
	}
	must(t, e, "a", "1")
	for _, wrong := range []uint64{0, 1, 3, 100} {
		if err := e.Commit(wrong, batch("a", "wrong")); err == nil {
			t.Errorf("commit %d after %d was not refused", wrong, e.Last())
		}
	}
	if e.Last() != 1 {
		t.Errorf("last commit is %d, want 1", e.Last())
	}
	want(t, e, "a", "1")
	must(t, e, "a", "2")
	if e.Last() != 2 {
		t.Errorf("last commit is %d, want 2", e.Last())
	}
	want(t, e, "a", "2")
}

func testLimits(t *testing.T, open Open) {
	e := fresh(t, open)
	must(t, e, "a", "1")
	tooLarge := overfull(e, func(b *store.Batch, i int) { b.Put(fmt.Appendf(nil, "k%d", i), make([]byte, 100<<10)) })
	tooMany := overfull(e, func(b *store.Batch, i int) { b.Delete(fmt.Appendf(nil, "k%d", i)) })
	bounds := e.Bounds()
	if bounds.Batch != e.MaxBatch() {
		t.Errorf("the bounds say %d bytes at once, and MaxBatch %d", bounds.Batch, e.MaxBatch())
	}
	must(t, e, strings.Repeat("k", bounds.Key), "v")
	must(t, e, "k", strings.Repeat("v", bounds.Value))
	longKey := batch("a", "wrong")
	longKey.Put(bytes.Repeat([]byte{'k'}, bounds.Key+1), []byte("v"))
	longValue := batch("a", "wrong")
	longValue.Put([]byte("k"), make([]byte, bounds.Value+1))
	for _, tc := range []struct {
		name  string
		batch *store.Batch
		large bool
	}{
		{"bytes", tooLarge, true},
		{"changes", tooMany, true},
		{"key", longKey, true},
		{"value", longValue, true},
		{"empty key", batch("a", "wrong", "", "v"), false},
		{"key of the engine's", batch("a", "wrong", "\x00x", "v"), false},
		{"key of the engine's", batch("a", "wrong", "!x", "v"), false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			err := e.Commit(e.Last()+1, tc.batch)
			if err == nil || errors.Is(err, store.ErrTooLarge) != tc.large {
				t.Errorf("commit: %v", err)
			}
			want(t, e, "a", "1")
		})
	}
	must(t, e, "a", "2")
	want(t, e, "a", "2")
}

// overfull makes a batch that is too large by its last change. An engine reckons change by change
// (testFullBatches), so each is measured once and not again with all before it.
func overfull(e store.Engine, add func(b *store.Batch, i int)) *store.Batch {
	b := batch("a", "wrong")
	for i, sum := 0, e.Size(b); sum <= e.MaxBatch(); i++ {
		add(b, i)
		sum += e.Size(&store.Batch{Ops: b.Ops[len(b.Ops)-1:]})
	}
	return b
}

// testFullBatches holds an engine to its own reckoning: what fits is committed.
func testFullBatches(t *testing.T, open Open) {
	e := fresh(t, open)
	for _, size := range []int{0, 1, 200, 32 << 10, 900 << 10} {
		var b store.Batch
		var sum int64
		for i := 0; ; i++ {
			one := store.Batch{Ops: []store.Op{{Key: fmt.Appendf(nil, "key %d", i), Value: make([]byte, size)}}}
			if sum+e.Size(&one) > e.MaxBatch() {
				break
			}
			sum += e.Size(&one)
			b.Ops = append(b.Ops, one.Ops...)
		}
		if got := e.Size(&b); got != sum {
			t.Errorf("size of %d changes is %d, but of one by one %d", len(b.Ops), got, sum)
		}
		if err := e.Commit(e.Last()+1, &b); err != nil {
			t.Errorf("full batch of values of %d bytes: %v", size, err)
		}
		n := 0
		err := e.Scan(store.ScanOptions{Prefix: []byte("key ")}, func(_, value []byte) bool {
			if len(value) == size {
				n++
			}
			return true
		})
		if err != nil || n != len(b.Ops) {
			t.Errorf("%d values of %d bytes are there, %v, want %d", n, size, err, len(b.Ops))
		}
	}
}

func testClosed(t *testing.T, open Open) {
	e := fresh(t, open)
	must(t, e, "a", "1")
	for range 2 {
		if err := e.Close(); err != nil {
			t.Fatalf("close: %v", err)
		}
	}
	if _, err := e.Get([]byte("a")); !errors.Is(err, store.ErrClosed) {
		t.Errorf("get: %v", err)
	}
	if err := e.Scan(store.ScanOptions{}, func(_, _ []byte) bool { return true }); !errors.Is(err, store.ErrClosed) {
		t.Errorf("scan: %v", err)
	}
	if err := e.Commit(e.Last()+1, batch("a", "2")); !errors.Is(err, store.ErrClosed) {
		t.Errorf("commit: %v", err)
	}
}

// testReused: a committer uses its buffers again once a commit returned.
func testReused(t *testing.T, open Open) {
	e := fresh(t, open)
	key, value := []byte("key 0"), []byte("value 0")
	for i := range byte(10) {
		key[4], value[6] = '0'+i, '0'+i
		var b store.Batch
		b.Put(key, value)
		if err := e.Commit(e.Last()+1, &b); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 10 {
		want(t, e, fmt.Sprint("key ", i), fmt.Sprint("value ", i))
	}
}

// CopyDir copies what a crash would leave of a directory at this moment. It begins
// anew where an engine changed files meanwhile, in the background.
func CopyDir(t testing.TB, from string) string {
	t.Helper()
	for range 100 {
		to := t.TempDir()
		before, err := listing(from)
		if err == nil {
			err = copyFiles(from, to)
		}
		after, errAfter := listing(from)
		switch {
		case err == nil && errAfter == nil && before == after:
			return to
		case err != nil && !errors.Is(err, fs.ErrNotExist), errAfter != nil && !errors.Is(errAfter, fs.ErrNotExist):
			t.Fatalf("copy directory: %v", errors.Join(err, errAfter))
		}
	}
	t.Fatal("copy directory: its files never rest")
	return ""
}

// listing says which files there are and when they were changed.
func listing(dir string) (string, error) {
	var b strings.Builder
	entries, err := os.ReadDir(dir)
	for _, entry := range entries {
		info, err := entry.Info()
		if err != nil {
			return "", err
		}
		fmt.Fprintln(&b, entry.Name(), info.Size(), info.ModTime())
	}
	return b.String(), err
}

func copyFiles(from, to string) error {
	entries, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if err := copyFile(filepath.Join(from, entry.Name()), filepath.Join(to, entry.Name())); err != nil {
			return err
		}
	}
	return nil
}

// copyFile copies what is in a file, without its holes: engines make files that are
// much larger than what is in them.
func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	info, err := in.Stat()
	if err != nil {
		return err
	}
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = out.Close() }()
	for at := int64(0); at < info.Size(); {
		data, err := unix.Seek(int(in.Fd()), at, unix.SEEK_DATA)
		if errors.Is(err, unix.ENXIO) {
			break // nothing but a hole up to the end
		}
		if err != nil {
			return err
		}
		hole, err := unix.Seek(int(in.Fd()), data, unix.SEEK_HOLE)
		if err != nil {
			return err
		}
		part := io.NewSectionReader(in, data, hole-data)
		if _, err := io.Copy(io.NewOffsetWriter(out, data), part); err != nil {
			return err
		}
		at = hole
	}
	return out.Truncate(info.Size())
}
