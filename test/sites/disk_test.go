package sites

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// The marks of a daemon on a small disk (S3), and what the tests leave free: between the
// marks, below the second with the reserve given up, and nothing at all.
const (
	diskSize   = "size=512m,mode=0700"
	diskLimits = "limits: {free: 128MiB, stop: 96MiB, reserve: 32MiB}\n"

	leaveLow  = 112 << 20
	leaveFull = 40 << 20
)

// disk is a small file system that a test fills and frees.
type disk struct {
	t      *testing.T
	dir    string
	reason string // why there is none
}

// mountDisk mounts one, or says in the disk why it could not: that takes root.
func mountDisk(t *testing.T, dir string) *disk {
	t.Helper()
	d := &disk{t: t, dir: dir}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, diskSize); err != nil {
		d.reason = err.Error()
		return d
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return d
}

// mounted: d may be nil.
func (d *disk) mounted() bool { return d != nil && d.reason == "" }

func (d *disk) filler() string { return filepath.Join(d.dir, "filler") }

// fill leaves so many bytes free, at most.
func (d *disk) fill(leave int64) {
	d.t.Helper()
	f, err := os.OpenFile(d.filler(), os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		d.t.Fatal(err)
	}
	defer f.Close()
	var s unix.Statfs_t
	if err := unix.Statfs(d.dir, &s); err != nil {
		d.t.Fatal(err)
	}
	info, err := f.Stat()
	if err != nil {
		d.t.Fatal(err)
	}
	more := int64(s.Bavail)*s.Bsize - leave
	if more <= 0 {
		return
	}
	if err := unix.Fallocate(int(f.Fd()), 0, info.Size(), more); err != nil {
		d.t.Fatal(err)
	}
}

// free removes what fill has made.
func (d *disk) free() {
	d.t.Helper()
	if err := os.Remove(d.filler()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		d.t.Fatal(err)
	}
}
