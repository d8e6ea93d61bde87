package badger

import (
	"bytes"
	"errors"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// flip changes one bit of a file.
func flip(t *testing.T, path string, at int64, bit uint) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	var b [1]byte
	if _, err := f.ReadAt(b[:], at); err != nil {
		t.Fatal(err)
	}
	b[0] ^= 1 << bit
	if _, err := f.WriteAt(b[:], at); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// outcome is what became of a store whose files were changed.
type outcome int

const (
	harmless outcome = iota
	refused
)

// examine opens a store that somebody changed: it is refused with an explanation and
// left as it is, or it holds everything.
func examine(t *testing.T, dir string, want contents, what string) outcome {
	t.Helper()
	before := digest(t, dir)
	e, err := Open(Options{Dir: dir})
	if err != nil {
		if !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), "put back the data directory from a backup") {
			t.Errorf("%s: refused without an explanation: %v", what, err)
		}
		if after := digest(t, dir); !maps.Equal(before, after) {
			t.Errorf("%s: refused, but the files were changed: %v, before %v", what, sortedKeys(after), sortedKeys(before))
		}
		return refused
	}
	if err := want.holds(e); err != nil {
		t.Errorf("%s: not noticed: %v", what, err)
	}
	mustClose(t, e)
	return harmless
}

// TestFlippedBits: wherever a bit is flipped, nothing is lost or wrong without a word.
func TestFlippedBits(t *testing.T) {
	master, w := image(t)
	random := rand.New(rand.NewPCG(4, 4))
	dir := filepath.Join(t.TempDir(), "store")
	copyStore(t, master, dir)
	files := names(t, master)
	count := map[string][2]int{}
	for range 500 {
		name := files[random.IntN(len(files))]
		if random.IntN(4) > 0 { // those with content more often
			name = []string{"00001.mem", "00002.mem", "000001.sst", "MANIFEST"}[random.IntN(4)]
		}
		path := filepath.Join(dir, name)
		data, size, err := readSparse(path)
		if err != nil {
			t.Fatal(err)
		}
		used := len(bytes.TrimRight(data, "\x00")) + 40
		anywhere := random.IntN(20) == 0
		if anywhere {
			used = int(size)
		}
		at, bit := random.Int64N(min(int64(used), size)), uint(random.IntN(8))
		flip(t, path, at, bit)
		got := examine(t, dir, w.at[inNewer], name)
		c := count[name]
		c[got]++
		count[name] = c
		if got == harmless || anywhere { // a bit far behind a file's end leaves megabytes of zeros to be read each time
			copyStore(t, master, dir)
		} else {
			flip(t, path, at, bit)
		}
		if t.Failed() {
			t.Fatalf("bit %d of byte %d of %s (%d of %d used)", bit, at, name, used, size)
		}
	}
	for name, c := range count {
		t.Logf("%-14s %3d harmless, %3d refused", name, c[harmless], c[refused])
	}
	for _, name := range []string{"00001.mem", "00002.mem", "000001.sst", "MANIFEST"} {
		if count[name][refused] == 0 {
			t.Errorf("no damage of %s was noticed", name)
		}
	}
}

// TestOlderOfTwoLogsDamaged: opened as it is, Badger cuts the older log off at the
// damage, and the newest commit number is still right.
func TestOlderOfTwoLogsDamaged(t *testing.T) {
	dir, w := image(t)
	path := filepath.Join(dir, "00001.mem")
	begins := commitsOf(t, path)
	for _, place := range []struct {
		what string
		at   int64
	}{
		{"its first record", begins[0] + 3},
		{"its middle", begins[len(begins)/2] + 12},
		{"its last commit", begins[len(begins)-2] + 12},
		{"its last byte", begins[len(begins)-1] - 1},
		{"behind its end", begins[len(begins)-1] + 100},
	} {
		flip(t, path, place.at, 2)
		if examine(t, dir, w.at[inNewer], place.what) != refused {
			t.Fatalf("%s: opened", place.what)
		}
		flip(t, path, place.at, 2)
	}
	if examine(t, dir, w.at[inNewer], "mended") != harmless {
		t.Error("the store is refused although all is as it was")
	}
}

// TestDamageWithoutSideFile: what the logs themselves show.
func TestDamageWithoutSideFile(t *testing.T) {
	master, w := image(t)
	dir := filepath.Join(t.TempDir(), "store")
	begins := commitsOf(t, filepath.Join(master, "00002.mem"))
	for _, tc := range []struct {
		what string
		do   func(log []byte) []byte
	}{
		{"the header", func(b []byte) []byte { b[3]++; return b }},
		{"the first commit", func(b []byte) []byte { b[begins[0]+4]++; return b }},
		{"the middle", func(b []byte) []byte { clear(b[begins[20]:begins[22]]); return b }},
		{"the last but one", func(b []byte) []byte { b[begins[len(begins)-2]-1]++; return b }},
		{"the first of two", func(b []byte) []byte { clear(b[begins[0]:begins[1]]); return b[:begins[2]] }},
		{"a commit is there twice", func(b []byte) []byte {
			return append(b[:begins[5]:begins[5]], b[begins[4]:]...)
		}},
	} {
		copyStore(t, master, dir)
		path := filepath.Join(dir, "00002.mem")
		log, _, err := readSparse(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, tc.do(log), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(filepath.Join(dir, sideName)); err != nil {
			t.Fatal(err)
		}
		if examine(t, dir, w.at[inNewer], tc.what) != refused {
			t.Errorf("%s: opened", tc.what)
		}
	}
}

// TestManifestAndSideFileMissing: Badger takes this for a new store, and removes the tables.
func TestManifestAndSideFileMissing(t *testing.T) {
	dir, w := t.TempDir(), newWriter(t, 2)
	e := mustOpen(t, Options{Dir: dir})
	w.commit(e, 10)
	mustClose(t, e) // only tables are left
	for _, name := range []string{"MANIFEST", sideName} {
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if examine(t, dir, w.now, "without manifest and side file") != refused {
		t.Error("opened")
	}
}

// TestTornEnd: a log that a crash cut off in the middle of its last commit is no
// damage, unless the side file says that this commit was on disk.
func TestTornEnd(t *testing.T) {
	master, w := image(t)
	dir := filepath.Join(t.TempDir(), "store")
	begins := commitsOf(t, filepath.Join(master, "00002.mem"))
	begin, end := begins[len(begins)-2], begins[len(begins)-1]
	for _, tear := range []struct {
		what string
		do   func(log []byte) []byte
	}{
		{"zeros from the last commit on", func(b []byte) []byte { clear(b[begin:]); return b }},
		{"zeros from its middle on", func(b []byte) []byte { clear(b[(begin+end)/2:]); return b }},
		{"its first page is missing", func(b []byte) []byte { clear(b[begin : begin+10]); return b }},
		{"the file ends in its middle", func(b []byte) []byte { return b[:(begin+end)/2] }},
		{"its last byte is wrong", func(b []byte) []byte { b[end-1]++; return b }},
	} {
		for _, acknowledged := range []bool{false, true} {
			copyStore(t, master, dir)
			path := filepath.Join(dir, "00002.mem")
			log, _, err := readSparse(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, tear.do(log), 0o600); err != nil {
				t.Fatal(err)
			}
			last := uint64(inNewer - 1)
			if acknowledged {
				last = inNewer
			}
			sides(t, dir, last)
			got := examine(t, dir, w.at[inNewer-1], tear.what)
			if (got == refused) != acknowledged {
				t.Errorf("%s, acknowledged %v: refused %v", tear.what, acknowledged, got == refused)
			}
		}
	}
}

// TestMissingEmptyTruncated: what each file of a store can suffer beside single bits.
func TestMissingEmptyTruncated(t *testing.T) {
	master, w := image(t)
	dir := filepath.Join(t.TempDir(), "store")
	derived := map[string]bool{sideName: true, "LOCK": true, "DISCARD": true, "KEYREGISTRY": true, reserveName: true}
	for _, name := range names(t, master) {
		path := filepath.Join(dir, name)
		for what, do := range map[string]func() error{
			"missing": func() error { return os.Remove(path) },
			"empty":   func() error { return os.Truncate(path, 0) },
			"halved": func() error {
				data, _, err := readSparse(path)
				if err != nil {
					return err
				}
				return os.Truncate(path, int64(len(bytes.TrimRight(data, "\x00"))/2))
			},
			"shortened by 3 bytes": func() error {
				data, _, err := readSparse(path)
				if err != nil {
					return err
				}
				return os.Truncate(path, max(0, int64(len(bytes.TrimRight(data, "\x00"))-3)))
			},
		} {
			copyStore(t, master, dir)
			if err := do(); err != nil {
				t.Fatal(err)
			}
			got := examine(t, dir, w.at[inNewer], name+" "+what)
			if may := derived[name] || filepath.Ext(name) == valueSuffix; may != (got == harmless) {
				t.Errorf("%s %s: refused %v", name, what, got == refused)
			}
		}
	}
}

// TestMissingBeginning: of the first log everything up to some commit is gone.
func TestMissingBeginning(t *testing.T) {
	dir, w := image(t)
	path := filepath.Join(dir, "00001.mem")
	begins := commitsOf(t, path)
	log, _, err := readSparse(path)
	if err != nil {
		t.Fatal(err)
	}
	cut := append(log[:logHeader:logHeader], log[begins[5]:]...)
	if err := os.WriteFile(path, cut, 0o600); err != nil {
		t.Fatal(err)
	}
	if examine(t, dir, w.at[inNewer], "commits 51 to 55 are gone") != refused {
		t.Error("opened")
	}
}
