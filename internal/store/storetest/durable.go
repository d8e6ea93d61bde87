package storetest

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"

	"fmqm/internal/store"
)

func testReopen(t *testing.T, open Open) {
	dir := t.TempDir()
	e := openIn(t, open, dir)
	must(t, e, "a", "1", "b", "2")
	must(t, e, "a", "-", "b", "3", "large", strings.Repeat("x", 500_000))
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		e = openIn(t, open, dir)
		if e.Last() != 2 {
			t.Errorf("last commit is %d, want 2", e.Last())
		}
		want(t, e, "a", "-")
		want(t, e, "b", "3")
		want(t, e, "large", strings.Repeat("x", 500_000))
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
	}
	e = openIn(t, open, dir)
	must(t, e, "a", "4")
	want(t, e, "a", "4")
}

func testLastAfterRemovals(t *testing.T, open Open) {
	dir := t.TempDir()
	e := openIn(t, open, dir)
	must(t, e, "a", "1")
	must(t, e, "a", "-")
	must(t, e, "never there", "-")
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	e = openIn(t, open, dir)
	if e.Last() != 3 {
		t.Errorf("last commit is %d, want 3", e.Last())
	}
}

// testCrash opens what is on disk while the engine still runs: after every commit
// that returned, all of it has to be there.
func testCrash(t *testing.T, open Open) {
	dir := t.TempDir()
	e := openIn(t, open, dir)
	for i := range 4 {
		must(t, e, fmt.Sprint("key ", i), fmt.Sprint(i), "last", fmt.Sprint(i), fmt.Sprint("key ", i-1), "-")
		after := openIn(t, open, CopyDir(t, dir))
		if after.Last() != e.Last() {
			t.Errorf("last commit is %d, want %d", after.Last(), e.Last())
		}
		want(t, after, "last", fmt.Sprint(i))
		want(t, after, fmt.Sprint("key ", i), fmt.Sprint(i))
		want(t, after, fmt.Sprint("key ", i-1), "-")
		must(t, after, "goes on", "yes")
		want(t, after, "goes on", "yes")
		if err := after.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func testLocked(t *testing.T, open Open) {
	dir := t.TempDir() + "/store"
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	e := openIn(t, open, dir)
	second, err := open(dir)
	if err == nil {
		t.Errorf("the directory was opened twice: close: %v", second.Close())
	} else if !strings.Contains(err.Error(), dir) {
		t.Errorf("the error does not name the directory: %v", err)
	}
	must(t, e, "a", "1")
	want(t, e, "a", "1")
}

// testConcurrent reads while commits are under way: never a part of one, and never
// something older than what had returned before the read began.
func testConcurrent(t *testing.T, open Open) {
	e := fresh(t, open)
	must(t, e, "pair a", "0", "pair b", "0")
	var stop atomic.Bool
	var running sync.WaitGroup
	for range 3 {
		running.Go(func() {
			for !stop.Load() {
				before := e.Last()
				var values []string
				err := e.Scan(store.ScanOptions{Prefix: []byte("pair ")}, func(_, value []byte) bool {
					values = append(values, string(value))
					return true
				})
				var version uint64
				if len(values) == 2 {
					_, _ = fmt.Sscan(values[0], &version)
				}
				if err != nil || len(values) != 2 || values[0] != values[1] || version+1 < before {
					t.Errorf("read %v, %v after commit %d", values, err, before)
					return
				}
			}
		})
	}
	large := strings.Repeat("x", 100_000)
	for i := range 150 { // 15 MB: memory tables are flushed meanwhile
		value := fmt.Sprint(i + 1)
		must(t, e, "pair a", value, fmt.Sprint("other ", i), large, "pair b", value)
	}
	stop.Store(true)
	running.Wait()
}

// testView: a view is of one moment, whatever is committed, and flushed, meanwhile.
func testView(t *testing.T, open Open) {
	e := fresh(t, open)
	must(t, e, "a", "old", "gone", "there")
	large := strings.Repeat("x", 100_000)
	err := e.View(func(r store.Reader) error {
		must(t, e, "a", "new", "gone", "-", "come", "there")
		for i := range 150 {
			must(t, e, "a", fmt.Sprint(i), "other", large)
		}
		for key, value := range map[string]string{"a": "old", "gone": "there", "come": "-", "": "-"} {
			got, err := r.Get([]byte(key))
			if value == "-" && !errors.Is(err, store.ErrNotFound) || value != "-" && (err != nil || string(got) != value) {
				t.Errorf("get %q in a view: %q, %v, want %q", key, got, err, value)
			}
		}
		var seen []string
		err := r.Scan(store.ScanOptions{}, func(key, value []byte) bool {
			seen = append(seen, string(key)+"="+string(value))
			return true
		})
		if got := strings.Join(seen, " "); got != "a=old gone=there" || err != nil {
			t.Errorf("scan in a view: %s, %v", got, err)
		}
		return errors.New("passed on")
	})
	if err == nil || err.Error() != "passed on" {
		t.Errorf("the error of who reads came back as %v", err)
	}
	want(t, e, "a", "149")
	want(t, e, "gone", "-")
}

// testModel compares with a map over random commits, reads and, where the engine keeps
// its data, reopenings by closing and by a crash.
func testModel(t *testing.T, open Open, reopens bool) {
	rapid.Check(t, func(rt *rapid.T) {
		dir := t.TempDir()
		e, err := open(dir)
		if err != nil {
			rt.Fatal(err)
		}
		defer func() { _ = e.Close() }()
		model := map[string]string{}
		key := rapid.Custom(func(t *rapid.T) string {
			return rapid.StringMatching(`[ab\x01\xff]{1,3}`).Draw(t, "key")
		})
		actions := map[string]func(*rapid.T){
			"commit": func(rt *rapid.T) {
				var b store.Batch
				for range rapid.IntRange(0, 5).Draw(rt, "ops") {
					k := key.Draw(rt, "key")
					if rapid.Bool().Draw(rt, "delete") {
						b.Delete([]byte(k))
						delete(model, k)
					} else {
						v := rapid.SliceOfN(rapid.Byte(), 0, 8).Draw(rt, "value")
						b.Put([]byte(k), append([]byte{}, v...))
						model[k] = string(v)
					}
				}
				if err := e.Commit(e.Last()+1, &b); err != nil {
					rt.Fatal(err)
				}
			},
			"scan": func(rt *rapid.T) {
				o := store.ScanOptions{Prefix: []byte(rapid.StringMatching(`[ab\xff]{0,2}`).Draw(rt, "prefix")), Reverse: rapid.Bool().Draw(rt, "reverse"), Few: rapid.Bool().Draw(rt, "few")}
				if rapid.Bool().Draw(rt, "from") {
					o.From = []byte(key.Draw(rt, "key"))
				}
				compare(rt, e, model, o)
			},
			"": func(rt *rapid.T) {
				k := key.Draw(rt, "key")
				got, err := e.Get([]byte(k))
				if v, ok := model[k]; ok != (err == nil) || v != string(got) {
					rt.Fatalf("get %q: %q, %v, want %q, %v", k, got, err, v, ok)
				}
			},
		}
		if reopens {
			actions["reopen"] = func(rt *rapid.T) {
				last := e.Last()
				if rapid.Bool().Draw(rt, "crash") {
					dir = CopyDir(t, dir)
				}
				if err := e.Close(); err != nil {
					rt.Fatal(err)
				}
				if e, err = open(dir); err != nil {
					rt.Fatal(err)
				}
				if e.Last() != last {
					rt.Fatalf("last commit is %d, want %d", e.Last(), last)
				}
				compare(rt, e, model, store.ScanOptions{})
			}
		}
		rt.Repeat(actions)
	})
}

func compare(rt *rapid.T, e store.Engine, model map[string]string, o store.ScanOptions) {
	keys := slices.Sorted(maps.Keys(model))
	if o.Reverse {
		slices.Reverse(keys)
	}
	var want, got []string
	for _, k := range keys {
		before := o.From != nil && (bytes.Compare([]byte(k), o.From) < 0)
		behind := o.From != nil && (bytes.Compare([]byte(k), o.From) > 0)
		if strings.HasPrefix(k, string(o.Prefix)) && (o.Reverse && !behind || !o.Reverse && !before) {
			want = append(want, fmt.Sprintf("%q=%q", k, model[k]))
		}
	}
	err := e.Scan(o, func(key, value []byte) bool {
		got = append(got, fmt.Sprintf("%q=%q", key, value))
		return true
	})
	if err != nil || !slices.Equal(got, want) {
		rt.Fatalf("scan %+v: %v, %v\nwant %v", o, got, err, want)
	}
}
