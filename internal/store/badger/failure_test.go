package badger

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"fmqm/internal/skip"
	"fmqm/internal/store"
)

func one(key string) *store.Batch {
	b := &store.Batch{}
	b.Put([]byte(key), []byte("value"))
	return b
}

// TestSideFileCannotBeSynced: a sync that fails ends the store's work, also behind a
// commit (invariant 8).
func TestSideFileCannotBeSynced(t *testing.T) {
	dir := t.TempDir()
	e := mustOpen(t, Options{Dir: dir})
	if err := e.side.f.Close(); err != nil {
		t.Fatal(err)
	}
	if err := e.Commit(1, one("a")); err != nil {
		t.Fatal(err)
	}
	if err := <-e.Failed(); err == nil || !strings.Contains(err.Error(), sideName) {
		t.Errorf("failed with %v", err)
	}
	if err := e.Commit(2, one("b")); err == nil || !strings.Contains(err.Error(), "an earlier commit failed") {
		t.Errorf("a commit after that: %v", err)
	}
	if err := e.Close(); err == nil {
		t.Error("closed as if nothing had happened")
	}
	if err := e.db.Close(); err != nil { // for the test's end only
		t.Error(err)
	}
}

// TestErrorsThatBadgerOnlyLogs end the store's work: it repeats for ever, or forgets.
func TestErrorsThatBadgerOnlyLogs(t *testing.T) {
	for _, tc := range []struct {
		name string
		log  func(l listener)
		want string
	}{
		{"flush", func(l listener) { l.Errorf("error flushing memtable to disk: %v, retrying", unix.EIO) }, "error flushing memtable to disk: input/output error"},
		{"value log sync", func(l listener) { l.Errorf("Error while curlf sync: %v\n", unix.EIO) }, "curlf sync"},
		{"compaction", func(l listener) { l.Warningf("While running doCompact: %v\n", unix.ENOSPC) }, "no space left on device"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			e := mustOpen(t, Options{Dir: t.TempDir()})
			listener{e}.Warningf("While forcing compaction on level 0: %v", unix.EIO)
			listener{e}.Infof("All %d tables opened", 0)
			if err := e.Commit(1, one("a")); err != nil {
				t.Fatal(err)
			}
			tc.log(listener{e})
			if err := <-e.Failed(); !strings.Contains(err.Error(), tc.want) {
				t.Errorf("failed with %v", err)
			}
			if err := e.Commit(2, one("b")); err == nil {
				t.Error("a commit after that is accepted")
			}
			if err := e.Close(); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("close: %v", err)
			}
			if err := e.db.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestCloseWaitsForNothingOnAFailedDisk: a commit or a read that never ends does not
// keep the process alive.
func TestCloseWaitsForNothingOnAFailedDisk(t *testing.T) {
	e := mustOpen(t, Options{Dir: t.TempDir()})
	if err := e.enter(); err != nil { // something that never ends
		t.Fatal(err)
	}
	closed := make(chan error, 1)
	go func() { closed <- e.Close() }()
	listener{e}.Errorf("error flushing memtable to disk: %v, retrying", unix.EIO)
	if err := <-closed; err == nil || !strings.Contains(err.Error(), "error flushing memtable") {
		t.Errorf("close: %v", err)
	}
	if err := e.db.Close(); err != nil {
		t.Error(err)
	}
}

// TestTheEngineListens: what Badger logs does arrive.
func TestTheEngineListens(t *testing.T) {
	e := mustOpen(t, Options{Dir: t.TempDir()})
	e.db.Opts().Logger.Errorf("heard")
	if err := <-e.Failed(); !strings.Contains(err.Error(), "heard") {
		t.Error(err)
	}
	_ = e.Close() // it fails, as it should: see above
	if err := e.db.Close(); err != nil {
		t.Error(err)
	}
}

func TestSecondDaemonOnTheDirectory(t *testing.T) {
	dir := t.TempDir()
	e := mustOpen(t, Options{Dir: dir})
	if err := e.Commit(1, one("a")); err != nil {
		t.Fatal(err)
	}
	before := digest(t, dir)
	_, err := Open(Options{Dir: dir})
	if err == nil || !strings.Contains(err.Error(), "another process has it open: stop that daemon, or give this one a data directory of its own") {
		t.Errorf("open: %v", err)
	}
	delete(before, sideName) // it is being written
	after := digest(t, dir)
	for name, content := range before {
		if after[name] != content {
			t.Errorf("%s was changed under the first daemon", name)
		}
	}
	if err := e.Commit(2, one("b")); err != nil {
		t.Error(err)
	}
	mustClose(t, e)
}

// TestDirectoryWithoutPermission acts as another user, which takes root.
func TestDirectoryWithoutPermission(t *testing.T) {
	if os.Getuid() != 0 {
		skip.Untested(t, "a directory without permission: run as root")
	}
	dir, w := image(t)
	before := digest(t, dir)
	for _, tc := range []struct {
		name string
		path string
		mode os.FileMode
	}{
		{"the directory", dir, 0o700},
		{"its parent", filepath.Join(dir, "new"), 0o700},
		{"the files", dir, 0o777},
	} {
		if err := os.Chmod(dir, tc.mode); err != nil {
			t.Fatal(err)
		}
		var err error
		asNobody(t, func() { _, err = Open(Options{Dir: tc.path}) })
		if err == nil || !strings.Contains(err.Error(), "permission denied") || !strings.Contains(err.Error(), "let the user that runs the daemon own that directory and all files in it") {
			t.Errorf("%s: %v", tc.name, err)
		}
	}
	for name, content := range digest(t, dir) {
		if before[name] != content {
			t.Errorf("%s was changed", name)
		}
	}
	if examine(t, dir, w.at[inNewer], "as before") != harmless {
		t.Error("cannot be opened any more")
	}
}

// nobody is a user without rights to files.
const nobody = 65534

// asNobody runs f without root's rights to files.
func asNobody(t *testing.T, f func()) {
	t.Helper()
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine
		err := unix.Setfsuid(nobody)
		f()
		done <- err
	}()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

func TestStoreOfANewerVersion(t *testing.T) {
	t.Run("ours", func(t *testing.T) {
		dir, _ := image(t)
		path := filepath.Join(dir, sideName)
		side, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for slot := range sideSlots {
			b := side[slot*slotDistance:]
			if len(b) < slotSize || string(b[:8]) != sideMagic {
				continue
			}
			binary.BigEndian.PutUint32(b[8:], storeFormat+1)
			binary.BigEndian.PutUint32(b[slotSize-4:], crc32.Checksum(b[:slotSize-4], castagnoli))
		}
		if err := os.WriteFile(path, side, 0o600); err != nil {
			t.Fatal(err)
		}
		refusedUnchanged(t, dir, "the store has format 3, and this program knows up to 2: use the version of fmqmd that made the store")
	})
	t.Run("the engine's", func(t *testing.T) {
		dir, _ := image(t)
		flip(t, filepath.Join(dir, "MANIFEST"), 7, 0) // 8 becomes 9
		refusedUnchanged(t, dir, "manifest has unsupported version: 9 (we support 8).), or another version of the engine wrote it")
	})
}

func refusedUnchanged(t *testing.T, dir, want string) {
	t.Helper()
	before := digest(t, dir)
	_, err := Open(Options{Dir: dir})
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("open: %v\nwant %s", err, want)
	}
	for name, content := range digest(t, dir) {
		if before[name] != content {
			t.Errorf("%s was changed", name)
		}
	}
}

// TestDamageIsNoPermission: the kinds of refusal can be told apart.
func TestDamageIsNoPermission(t *testing.T) {
	dir, _ := image(t)
	if err := os.Remove(filepath.Join(dir, "MANIFEST")); err != nil {
		t.Fatal(err)
	}
	_, err := Open(Options{Dir: dir})
	if !errors.Is(err, ErrDamaged) || errors.Is(err, store.ErrNoSpace) || errors.Is(err, os.ErrPermission) {
		t.Errorf("open: %v", err)
	}
}
