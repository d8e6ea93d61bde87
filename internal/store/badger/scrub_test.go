package badger

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"fmqm/internal/store"
)

// held says in which files of a directory some bytes stand, as they are or as the store masks them at any
// place of a value.
func (h *history) held(secret string) (in []string) {
	h.t.Helper()
	var forms [][]byte
	for shift := range 8 {
		b := h.e.mask.apply(nil, append(make([]byte, shift), secret...))
		forms = append(forms, b[shift:])
	}
	dir := h.e.db.Opts().Dir
	entries, err := os.ReadDir(dir)
	if err != nil {
		h.t.Fatal(err)
	}
	for _, entry := range entries {
		text, err := os.ReadFile(filepath.Join(dir, entry.Name()))
		if err != nil && !os.IsNotExist(err) {
			h.t.Fatal(err)
		}
		for _, form := range append(forms, []byte(secret)) {
			if bytes.Contains(text, form) {
				in = append(in, entry.Name())
				break
			}
		}
	}
	return in
}

// scrub does as queue.Manager.Scrub.
func (h *history) scrub() {
	h.t.Helper()
	for range 4 {
		size, err := h.e.Unmet()
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
		done, err := h.e.Scrub(context.Background())
		if err != nil {
			h.t.Fatal(err)
		}
		if done {
			return
		}
	}
	h.t.Fatal("it has not met all after four rounds")
}

// What was replaced or removed is in no file after a scrub: where there is little in the store, and where there is
// much below it.
func TestScrub(t *testing.T) {
	const secret = "ann ames, born 1970-01-01"
	for _, tc := range []struct {
		name string
		open func() *history
	}{
		{"an empty store", func() *history {
			h := &history{t: t, e: mustOpen(t, Options{Dir: t.TempDir()}), want: contents{}}
			h.e.compactPause = 0
			return h
		}},
		{"a store with a past", func() *history { return newPast(t).history(t, filepath.Join(t.TempDir(), "store")) }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			h := tc.open()
			h.t = t
			b := &store.Batch{}
			b.Put([]byte("E-replaced"), []byte("before "+secret))
			b.Put([]byte("c-removed"), []byte(secret))
			h.commit(b)
			h.pad()
			if len(h.held(secret)) == 0 {
				t.Fatal("nothing is found that is there")
			}
			b = &store.Batch{}
			b.Put([]byte("E-replaced"), []byte("after"))
			b.Delete([]byte("c-removed"))
			h.commit(b)
			h.scrub()
			if in := h.held(secret); len(in) > 0 {
				t.Errorf("it still stands in %v", in)
			}
			if got, err := h.e.Get([]byte("E-replaced")); err != nil || string(got) != "after" {
				t.Errorf("%q, %v", got, err)
			}
			h.want["E-replaced"] = "after"
			h.holds()
			mustClose(t, h.e)
		})
	}
}

// Somebody who reads what was there before has it kept, so that a scrub is not done.
func TestScrubIsNotDoneWhileSomebodyReads(t *testing.T) {
	h := &history{t: t, e: mustOpen(t, Options{Dir: t.TempDir()}), want: contents{}}
	h.e.compactPause = 0
	b := &store.Batch{}
	b.Put([]byte("k"), []byte("v"))
	h.commit(b)
	if err := h.e.View(func(store.Reader) error {
		h.e.readPause = time.Millisecond
		for range 2 {
			h.pad()
			if done, err := h.e.Scrub(context.Background()); done || err != nil {
				t.Errorf("it is done: %t, %v", done, err)
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	h.e.readPause = compactFlush
	h.scrub()
	mustClose(t, h.e)
}
