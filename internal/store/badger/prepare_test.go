package badger

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// TestCreatedJustBeforeAKill: files that were made and not yet written to. Badger
// refuses to open beside them.
func TestCreatedJustBeforeAKill(t *testing.T) {
	master, w := image(t)
	dir := filepath.Join(t.TempDir(), "store")
	for _, tc := range []struct {
		name string
		size int64
	}{
		{"00003.mem", 0},
		{"00003.mem", 2 * memTableSize},
		{"000002.vlog", 0},
		{"000002.vlog", 4 << 20},
		{"000009.sst", 0},
		{"DISCARD", 0},
		{"MANIFEST-REWRITE", 0},
		{"REWRITE-KEYREGISTRY", 0},
		{"00001.mem" + copySuffix, 100},
		{reserveName, 5},
	} {
		copyStore(t, master, dir)
		path := filepath.Join(dir, tc.name)
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(path, tc.size); err != nil {
			t.Fatal(err)
		}
		if examine(t, dir, w.at[inNewer], tc.name) != harmless {
			t.Errorf("%s of %d bytes blocks the open", tc.name, tc.size)
		}
		if left, _ := filepath.Glob(filepath.Join(dir, "*"+copySuffix)); len(left) > 0 {
			t.Errorf("left: %v", left)
		}
	}
}

// TestReplayedFromSyncedCopies: after an unclean stop the engine reads no log that was
// not written anew, and a torn end is gone from it.
func TestReplayedFromSyncedCopies(t *testing.T) {
	dir, all := image(t)
	sides(t, dir, inNewer-1)
	newer := filepath.Join(dir, "00002.mem")
	begins := commitsOf(t, newer)
	flip(t, newer, begins[len(begins)-1]-1, 0)
	was := map[string]uint64{}
	for _, name := range []string{"00001.mem", "00002.mem", "MANIFEST"} {
		was[name] = inode(t, filepath.Join(dir, name))
	}
	side, err := openSide(dir)
	if err != nil {
		t.Fatal(err)
	}
	n, err := side.read()
	if err != nil {
		t.Fatal(err)
	}
	found, err := inspect(dir, n)
	if err != nil {
		t.Fatal(err)
	}
	if err := found.prepare(); err != nil {
		t.Fatal(err)
	}
	for name, before := range was {
		if inode(t, filepath.Join(dir, name)) == before {
			t.Errorf("%s is the file that was there after the crash", name)
		}
	}
	if w := mustWalk(t, newer); w.last != inNewer-1 || w.torn || w.size != begins[len(begins)-2] {
		t.Errorf("the newest log is %+v, want it to end with commit %d", w, inNewer-1)
	}
	if err := side.close(); err != nil {
		t.Fatal(err)
	}
	if examine(t, dir, all.at[inNewer-1], "killed again before the engine was open") != harmless {
		t.Error("refused")
	}
}

func inode(t *testing.T, path string) uint64 {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Sys().(*syscall.Stat_t).Ino
}

// TestLogThatIsInTheTables: Badger was killed after it had written a log's table and
// before it had removed the log. Read again, it could bring deleted keys back.
func TestLogThatIsInTheTables(t *testing.T) {
	dir, w := image(t)
	log := filepath.Join(t.TempDir(), "log")
	copySparse(t, filepath.Join(dir, "00001.mem"), log)
	e := mustOpen(t, Options{Dir: dir})
	mustClose(t, e) // everything is in tables
	copySparse(t, log, filepath.Join(dir, "00001.mem"))
	side, err := openSide(dir)
	if err != nil {
		t.Fatal(err)
	}
	n, err := side.read()
	if err != nil {
		t.Fatal(err)
	}
	found, err := inspect(dir, n)
	if err != nil {
		t.Fatal(err)
	}
	if err := found.prepare(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "00001.mem")); !os.IsNotExist(err) {
		t.Errorf("the log is still there: %v", err)
	}
	if err := side.close(); err != nil {
		t.Fatal(err)
	}
	if examine(t, dir, w.at[inNewer], "a log that is in the tables") != harmless {
		t.Error("refused")
	}
}

// TestEmptyDirectoryIsNoLostStore: where the side file knows commits, or logs are there,
// a store without a manifest is not a new one.
func TestEmptyDirectoryIsNoLostStore(t *testing.T) {
	dir, _ := image(t)
	for _, name := range names(t, dir) {
		if name == sideName {
			continue
		}
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(Options{Dir: dir}); err == nil || !strings.Contains(err.Error(), "put back the data directory from a backup") {
			t.Errorf("without %s: %v", name, err)
		}
	}
}

// stepChild opens a store, and is killed between two changes that this makes on disk.
func stepChild(step, dir string) {
	at, err := strconv.Atoi(step)
	say("step", err)
	_, err = Open(Options{Dir: dir, step: func() {
		if at--; at == 0 {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
	}})
	say("open", err)
}

// TestKilledWhileItOpens: after an unclean stop the files are made ready in many steps.
// Killed between any two of them, and again at the same one, the store opens with
// everything there.
func TestKilledWhileItOpens(t *testing.T) {
	master, w := image(t)
	for _, name := range []string{"00003.mem", "DISCARD", "00001.mem" + copySuffix} {
		if err := os.WriteFile(filepath.Join(master, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	flip(t, filepath.Join(master, "KEYREGISTRY"), 20, 0)
	dir := filepath.Join(t.TempDir(), "store")
	for step := 1; ; step++ {
		copyStore(t, master, dir)
		said := inChild(t, fmt.Sprintf("%d %s", step, dir))
		opened := said["open"] != ""
		if !opened {
			inChild(t, fmt.Sprintf("%d %s", step, dir))
		}
		if what := fmt.Sprintf("killed at step %d", step); examine(t, dir, w.at[inNewer], what) != harmless {
			t.Errorf("%s: refused", what)
		}
		if opened {
			t.Logf("%d steps", step-1)
			if want := 20; step <= want {
				t.Errorf("only %d steps were passed, want at least %d", step-1, want)
			}
			return
		}
	}
}

// TestLogFormat: the files in testdata were written by Badger 4.9.6, that of format 1
// with values as they are, that of format 2 with masked ones. With another version this
// reader has to be looked at first.
func TestLogFormat(t *testing.T) {
	mod, err := os.ReadFile(filepath.Join("..", "..", "..", "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(mod), "github.com/dgraph-io/badger/v4 v4.9.6\n") {
		t.Fatal("this is not Badger 4.9.6: compare memtable.go, value.go and structs.go with wal.go, then write the golden files anew")
	}
	dir := t.TempDir()
	e := mustOpen(t, Options{Dir: dir})
	for number, key := range []string{"a", "b", "c"} {
		if err := e.Commit(uint64(number)+1, one(key)); err != nil {
			t.Fatal(err)
		}
	}
	written, _, err := readSparse(filepath.Join(dir, "00001.mem"))
	if err != nil {
		t.Fatal(err)
	}
	mustClose(t, e)
	for format, of := range map[int]struct{ own, header, mask string }{
		1: {"@\x00\n\b\x00\x00n", "@\x00\t\x05\x00", ""},
		2: {"@\x00\n\x10\x00\x00n", "@\x01\t\x05\x00", "the mask"},
	} {
		golden := filepath.Join("testdata", fmt.Sprintf("format%d.mem", format))
		data, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if w := mustWalk(t, golden); w.first != 1 || w.last != 3 || w.torn || w.end != int64(len(data)) {
			t.Errorf("%s is %+v", golden, w)
		}
		var want []string
		for number, key := range []string{"a", "b", "c"} {
			suffix := string(binary.BigEndian.AppendUint64(nil, math.MaxUint64-uint64(number+1)))
			want = append(want,
				of.own+suffix+string(binary.BigEndian.AppendUint64(nil, uint64(number+1)))+of.mask,
				of.header+key+suffix+"value",
				"\x80\x00\x13\x01\x00!badger!txn"+suffix+fmt.Sprint(number+1))
			slices.Sort(want[len(want)-3 : len(want)-1])
		}
		if got := records(t, data); !slices.Equal(got, want) {
			t.Errorf("%s has (got, then want):\n%q\n%q", golden, got, want)
		}
		if got := records(t, written); format == storeFormat && !slices.Equal(got, want) {
			t.Errorf("written is (got, then want):\n%q\n%q", got, want)
		}
	}
}

// records gives the records of a log without their checksums, and with values as they
// are; those of one commit in order: Badger writes them in any.
func records(t *testing.T, log []byte) []string {
	t.Helper()
	if key := binary.BigEndian.Uint64(log); key != 0 {
		t.Fatalf("encryption key %d", key)
	}
	var out, commit []string
	m := maskIn(log)
	for at := logHeader; ; {
		r, ok := readRecord(log[at:])
		if !ok {
			return append(out, commit...)
		}
		value := r.value
		if len(value) == 16 && log[at+1] == 0 { // the engine's own
			value = append(bytes.Clone(value[:8]), "the mask"...)
		}
		shown, err := m.unmasked(bytes.Clone(log[at:at+r.size-4-len(r.value)]), log[at+1], value)
		if err != nil {
			t.Fatal(err)
		}
		commit = append(commit, string(shown))
		at += r.size
		if r.meta == metaCommitEnd {
			last := len(commit) - 1
			slices.Sort(commit[:last])
			out, commit = append(out, commit...), nil
		}
	}
}

// maskIn gives the mask that a log's first commit has; 0: none.
func maskIn(log []byte) mask {
	for at := logHeader; ; {
		r, ok := readRecord(log[at:])
		if !ok {
			return 0
		}
		if len(r.value) == 16 && log[at+1] == 0 {
			return mask(binary.LittleEndian.Uint64(r.value[8:]))
		}
		at += r.size
	}
}
