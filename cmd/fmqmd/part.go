package main

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"

	"golang.org/x/sys/unix"

	"fmqm/queue/backup"
)

// A backup is written to a part file, which becomes the backup once it is whole. Who writes it holds
// it locked; the kernel lets go of the lock of one that was killed.

// partName is what such a file is called; * is a number.
const partName = ".fmqm-*.part"

var isPartName = regexp.MustCompile(`^\.fmqm-[0-9]+\.part$`)

// newPart makes a part file in a directory, locked until it is closed. A file system that knows no
// locks has none, and nothing of it is ever taken for abandoned.
func newPart(dir string) (*os.File, error) {
	for {
		f, err := os.CreateTemp(dir, partName)
		if err != nil {
			return nil, err
		}
		for errors.Is(unix.Flock(int(f.Fd()), unix.LOCK_EX), unix.EINTR) { // whoever just looks at it is waited for
		}
		if isAt(f, f.Name()) {
			return f, nil
		}
		_ = f.Close() // it was taken for abandoned before it was locked
	}
}

// isAt says whether a path leads to an open file, and not through a link.
func isAt(f *os.File, path string) bool {
	own, err := f.Stat()
	there, lerr := os.Lstat(path)
	return err == nil && lerr == nil && os.SameFile(own, there)
}

// removeAbandoned removes the part files in a directory whose writers were killed, and names them. What
// somebody writes, or is not surely the beginning of a backup of this user's, stays.
func removeAbandoned(dir string) (removed []string, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if !e.Type().IsRegular() || !isPartName.MatchString(e.Name()) {
			continue
		}
		gone, failed := removeIfAbandoned(path)
		if gone {
			removed = append(removed, path)
		}
		err = errors.Join(err, failed)
	}
	return removed, err
}

func removeIfAbandoned(path string) (bool, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return false, nil //nolint:nilerr // it is somebody else's, or gone
	}
	defer f.Close()
	var stat unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &stat); err != nil || stat.Mode&unix.S_IFMT != unix.S_IFREG || int(stat.Uid) != os.Geteuid() || stat.Nlink != 1 {
		return false, nil //nolint:nilerr // as before
	}
	if unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) != nil || !backup.Begins(f) || !isAt(f, path) {
		return false, nil
	}
	if err := os.Remove(path); err != nil {
		return false, err
	}
	return true, nil
}
