package daemon_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/sys/unix"

	"fmqm/cmd/internal/daemon"
	"fmqm/cmd/internal/daemon/daemontest"
	"fmqm/internal/skip"
)

// occupy leaves so many bytes free on a file system.
func occupy(t *testing.T, disk string, leave int64) {
	t.Helper()
	f, err := os.Create(filepath.Join(disk, "filler"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var s unix.Statfs_t
	if err := unix.Statfs(disk, &s); err != nil {
		t.Fatal(err)
	}
	if err := unix.Fallocate(int(f.Fd()), 0, 0, int64(s.Bavail)*s.Bsize-leave); err != nil {
		t.Fatal(err)
	}
}

// A daemon whose disk somebody fills says that it must stop, stops cleanly, does not
// start again without room, and starts with it (S3).
func TestDiskIsFilledUnderADaemon(t *testing.T) {
	disk := t.TempDir()
	if err := unix.Mount("tmpfs", disk, "tmpfs", 0, "size=400m"); err != nil {
		skip.Untested(t, "a full disk: no small file system could be mounted (%v): run as root", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(disk, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	c := daemontest.Config(t, t.TempDir(), "a", fmt.Sprintf("node: A\ndata: %s\nlisten: 127.0.0.1:0\ninsecure: true\nsocket: a.sock\nlimits: {free: 128MiB, stop: 96MiB, reserve: 32MiB}\n", filepath.Join(disk, "store")))
	start := func() (*daemon.Daemon, error) {
		return daemon.Start(daemon.Options{Config: c, Log: zerolog.New(zerolog.NewTestWriter(t)), Version: "a test's"})
	}
	const room = "and at least 96 MiB (limits.stop) must stay free: make room there, then start again; nothing is lost"

	d, err := start()
	if err != nil {
		t.Fatal(err)
	}
	occupy(t, disk, 40<<20)
	select {
	case err := <-d.Failed():
		if !strings.Contains(err.Error(), room) {
			t.Errorf("it stops for another reason: %v", err)
		}
	case <-time.After(5 * time.Minute):
		t.Error("it goes on without room")
	}
	daemontest.Stop(t, d)
	occupy(t, disk, 90<<20)
	if d, err := start(); err == nil || !strings.Contains(err.Error(), room) {
		t.Errorf("started on a full disk: %v", err)
		if d != nil {
			daemontest.Stop(t, d)
		}
	}
	if err := os.Remove(filepath.Join(disk, "filler")); err != nil {
		t.Fatal(err)
	}
	if d, err = start(); err != nil {
		t.Fatal(err)
	}
	daemontest.Stop(t, d)
}
