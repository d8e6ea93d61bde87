package badger

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"go.uber.org/goleak"

	"fmqm/internal/store"
	"fmqm/internal/store/storetest"
)

// diskDir is where benchmarks write: their syncs are to reach a disk.
var diskDir string

func TestMain(m *testing.M) {
	if dir := os.Getenv(childVariable); dir != "" {
		fmt.Fprintln(os.Stderr, commitForEver(dir))
		os.Exit(1)
	}
	if what := os.Getenv(syncVariable); what != "" {
		syncChild(what)
		os.Exit(0)
	}
	flag.Parse()
	if f := flag.Lookup("rapid.checks"); f.Value.String() == f.DefValue {
		_ = f.Value.Set("10") // each opens a store, and again and again
	}
	diskDir = os.TempDir()
	if _, err := os.Stat("/dev/shm"); err == nil {
		_ = os.Setenv("TMPDIR", "/dev/shm") // a thousand opens, each with several syncs
	}
	goleak.VerifyTestMain(m)
}

func onDisk(dir string) (store.Engine, error) {
	e, err := Open(Options{Dir: dir})
	if err != nil {
		return nil, err
	}
	return e, nil
}

func inMemory(string) (store.Engine, error) {
	e, err := Open(Options{InMemory: true})
	if err != nil {
		return nil, err
	}
	return e, nil
}

func TestOnDisk(t *testing.T) { storetest.Run(t, onDisk) }

func TestInMemory(t *testing.T) { storetest.RunVolatile(t, inMemory) }

// Every Close returns when all is closed: not before the reads that are under way ended.
func TestEveryCloseWaitsForTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, err := Open(Options{InMemory: true})
		if err != nil {
			t.Fatal(err)
		}
		var b store.Batch
		b.Put([]byte("k"), []byte("v"))
		if err := e.Commit(1, &b); err != nil {
			t.Fatal(err)
		}
		read, closed := make(chan struct{}), make(chan error, 2)
		go func() {
			_ = e.Scan(store.ScanOptions{}, func([]byte, []byte) bool {
				<-read
				return false
			})
		}()
		for range 2 {
			synctest.Wait()
			go func() { closed <- e.Close() }()
		}
		synctest.Wait()
		if len(closed) > 0 {
			t.Errorf("%d have returned while somebody reads", len(closed))
		}
		close(read)
		for range 2 {
			if err := <-closed; err != nil {
				t.Error(err)
			}
		}
	})
}

func TestDirectoryIsPrivate(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "store")
	e, err := onDisk(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = e.Close() }()
	info, err := os.Stat(dir)
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("directory has mode %v, %v, want 0700", info.Mode(), err)
	}
}

func TestOpenNeedsADirectory(t *testing.T) {
	if _, err := Open(Options{}); err == nil || !strings.Contains(err.Error(), "no directory given") {
		t.Errorf("open: %v", err)
	}
}

// TestNothingAfterAFailedCommit: what a failed sync left behind is unknown, so that
// nothing may be acknowledged on top of it (invariant 8).
func TestNothingAfterAFailedCommit(t *testing.T) {
	e, err := Open(Options{InMemory: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Commit(1, &store.Batch{Ops: []store.Op{{Key: []byte("a"), Value: []byte("1")}}}); err != nil {
		t.Fatal(err)
	}
	if err := e.db.Close(); err != nil { // so that the next write fails
		t.Fatal(err)
	}
	first := e.Commit(2, &store.Batch{Ops: []store.Op{{Key: []byte("a"), Value: []byte("2")}}})
	if first == nil {
		t.Fatal("the write did not fail")
	}
	second := e.Commit(2, &store.Batch{Ops: []store.Op{{Key: []byte("a"), Value: []byte("3")}}})
	if second == nil || !strings.Contains(second.Error(), "an earlier commit failed") {
		t.Errorf("after a failed commit: %v", second)
	}
	if e.Last() != 1 {
		t.Errorf("last commit is %d, want 1", e.Last())
	}
}

// TestVersionsAreKeptForReaders: a scan that began before a key was replaced, and
// before a compaction, still sees what it began with.
func TestVersionsAreKeptForReaders(t *testing.T) {
	e, err := Open(Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = e.Close() }()
	put := func(value string) {
		t.Helper()
		b := store.Batch{Ops: []store.Op{{Key: []byte("a"), Value: []byte(value)}, {Key: []byte("b"), Value: []byte(value)}}}
		if err := e.Commit(e.Last()+1, &b); err != nil {
			t.Fatal(err)
		}
	}
	put("old")
	var seen []string
	err = e.Scan(store.ScanOptions{}, func(key, value []byte) bool {
		seen = append(seen, string(key)+string(value))
		put("new")
		put("newer")
		if oldest := e.oldestRead(); oldest != 1 {
			t.Errorf("versions up to %d may be discarded, but 1 is being read", oldest)
		}
		return true
	})
	if err != nil || strings.Join(seen, " ") != "aold bold" {
		t.Errorf("scan: %v, %v", seen, err)
	}
	if oldest := e.oldestRead(); oldest != e.Last() {
		t.Errorf("nobody reads, but versions are kept from %d on", oldest)
	}
}

func TestErrorsDoNotShowValues(t *testing.T) {
	inner := errors.New("Value with size 5 exceeded 1 limit. Value:\n00000000  73 65 63 72 65 74  |secret|")
	err := fmt.Errorf("commit: %w", hide(inner))
	if strings.Contains(err.Error(), "secret") || !strings.Contains(err.Error(), "exceeded 1 limit") {
		t.Errorf("error shows %q", err)
	}
	if !errors.Is(err, inner) {
		t.Error("the cause is lost")
	}
	if long := hide(errors.New(strings.Repeat("x", 1000))).Error(); len(long) != maxErrorText {
		t.Errorf("text of %d bytes", len(long))
	}
	if hide(nil) != nil {
		t.Error("nil becomes an error")
	}
}
