package badger

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"fmqm/internal/skip"
	"fmqm/internal/store"
	"fmqm/internal/task"
)

// smallDisk mounts a file system of size bytes, which takes root.
func smallDisk(t *testing.T, size int64) string {
	t.Helper()
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%d", size)); err != nil {
		skip.Untested(t, "a full disk: no small file system could be mounted (%v): run as root", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Errorf("unmount: %v", err)
		}
	})
	return dir
}

// fill makes a file that leaves so much free.
func fill(t *testing.T, disk string, leave int64) {
	t.Helper()
	var s unix.Statfs_t
	if err := unix.Statfs(disk, &s); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(disk, "filler")
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Fallocate(int(f.Fd()), 0, 0, int64(s.Bavail)*s.Bsize-leave); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

func unfill(t *testing.T, disk string) {
	t.Helper()
	if err := os.Remove(filepath.Join(disk, "filler")); err != nil {
		t.Fatal(err)
	}
}

func refill(t *testing.T, disk string, leave int64) {
	t.Helper()
	unfill(t, disk)
	fill(t, disk, leave)
}

// until waits for something that the guard's watch brings about.
func until(t *testing.T, what string, g *guard, is func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	for !is() {
		if _, err := (task.Goroutines{}).Wait(ctx, g.changed, g.moved); err != nil {
			t.Fatalf("waited in vain for %s", what)
		}
	}
}

var smallMarks = Space{Free: 76 << 20, Stop: 40 << 20, Reserve: 20 << 20}

// TestFullDisk: a disk is filled and freed 20 times, at rest and under commits. The
// store says that room is low, goes on, gives up its reserve, stops before anything is
// written that would not fit, refuses to open, and goes on with everything there.
func TestFullDisk(t *testing.T) {
	disk := smallDisk(t, 150<<20)
	dir := filepath.Join(disk, "store")
	w := newWriter(t, 3)
	large := strings.Repeat("x", 16<<10)
	for round := range 20 {
		e := mustOpen(t, Options{Dir: dir, Space: smallMarks})
		if err := w.now.holds(e); err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		w.commit(e, 5)
		if e.SpaceLow() {
			t.Fatalf("round %d: room is low at once", round)
		}
		fill(t, disk, (smallMarks.Free+smallMarks.Stop)/2)
		_, _ = task.Goroutines{}.Wait(t.Context(), e.SpaceChanged())
		if !e.SpaceLow() {
			t.Fatalf("round %d: below the first mark room is not low", round)
		}
		w.commit(e, 20) // what was begun goes on
		refill(t, disk, smallMarks.Stop-smallMarks.Reserve/2)
		w.commit(e, 1) // out of the reserve
		if _, err := os.Stat(e.guard.path); !errors.Is(err, os.ErrNotExist) {
			t.Fatalf("round %d: the reserve is still there: %v", round, err)
		}
		refill(t, disk, smallMarks.Stop+256<<10)
		err := grow(e, w, large)
		if !errors.Is(err, store.ErrNoSpace) || !strings.Contains(err.Error(), "make room there, then start again; nothing is lost") {
			t.Fatalf("round %d: the disk is full, and the commit says %v", round, err)
		}
		mustClose(t, e)
		if round%2 == 0 {
			refill(t, disk, smallMarks.Stop-1<<20) // closing had made some room
			if _, err := Open(Options{Dir: dir, Space: smallMarks}); !errors.Is(err, store.ErrNoSpace) {
				t.Fatalf("round %d: opened on a full disk: %v", round, err)
			}
		}
		unfill(t, disk)
	}
	e := mustOpen(t, Options{Dir: dir, Space: smallMarks})
	defer mustClose(t, e)
	if err := w.now.holds(e); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(e.guard.path); err != nil || info.Size() != smallMarks.Reserve {
		t.Errorf("the reserve was not made again: %v", err)
	}
}

// grow commits large records, always the same one, until it is refused.
func grow(e *Engine, w *writer, large string) error {
	for range 1000 {
		number := e.Last() + 1
		value := fmt.Sprint(number) + large
		b := store.Batch{}
		b.Put([]byte("large"), []byte(value))
		if err := e.Commit(number, &b); err != nil {
			return err
		}
		w.now["large"] = value
	}
	return errors.New("no end")
}

// TestSpaceAtRest: nobody commits, and somebody else fills the disk beyond the second
// mark: the store says that it must be closed.
func TestSpaceAtRest(t *testing.T) {
	disk := smallDisk(t, 150<<20)
	e := mustOpen(t, Options{Dir: filepath.Join(disk, "store"), Space: smallMarks})
	fill(t, disk, smallMarks.Stop-smallMarks.Reserve-4<<20)
	if err := <-e.Failed(); !errors.Is(err, store.ErrNoSpace) {
		t.Errorf("failed with %v", err)
	}
	mustClose(t, e)
}

// TestRelief: the first mark comes and goes, and the reserve comes back with room for it.
func TestRelief(t *testing.T) {
	disk := smallDisk(t, 150<<20)
	e := mustOpen(t, Options{Dir: filepath.Join(disk, "store"), Space: smallMarks})
	defer mustClose(t, e)
	fill(t, disk, smallMarks.Stop-smallMarks.Reserve/2)
	reserved := func() bool {
		_, err := os.Stat(e.guard.path)
		return err == nil
	}
	until(t, "the reserve to go", e.guard, func() bool { return e.SpaceLow() && !reserved() })
	unfill(t, disk)
	until(t, "the reserve to come back", e.guard, func() bool { return !e.SpaceLow() && reserved() })
}

// TestRoomToOpen: without marks too nothing is opened where it would end in a SIGBUS.
func TestRoomToOpen(t *testing.T) {
	disk := smallDisk(t, 150<<20)
	fill(t, disk, openRoom-1<<20)
	_, err := Open(Options{Dir: filepath.Join(disk, "store")})
	if !errors.Is(err, store.ErrNoSpace) || !strings.Contains(err.Error(), "opening the store takes 36 MiB: make room there") {
		t.Errorf("open: %v", err)
	}
}

func TestMarksThatCannotWork(t *testing.T) {
	for _, s := range []Space{{Free: 1, Stop: 2}, {Free: -1}, {Free: 1, Stop: 1, Reserve: -1}} {
		if _, err := Open(Options{Dir: t.TempDir(), Space: s}); err == nil || !strings.Contains(err.Error(), "space marks") {
			t.Errorf("%+v: %v", s, err)
		}
	}
}
