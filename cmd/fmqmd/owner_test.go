package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"fmqm/internal/skip"
)

const (
	someUser  = 54321
	someGroup = 54322
)

// wantOwner looks at everything in a data directory.
func wantOwner(t *testing.T, dir, after string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if s, ok := info.Sys().(*syscall.Stat_t); !ok || s.Uid != someUser || s.Gid != someGroup || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("after %s: %s belongs to %d:%d, mode %v", after, path, s.Uid, s.Gid, info.Mode())
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

func chownAll(t *testing.T, dir string) {
	t.Helper()
	if err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(path, someUser, someGroup)
	}); err != nil {
		t.Fatal(err)
	}
}

// What root does with the data directory of the daemon's user leaves it to that user.
func TestRootKeepsTheOwnerOfADataDirectory(t *testing.T) {
	if os.Geteuid() != 0 {
		skip.Untested(t, "what root does with another user's store: run the tests as root")
	}
	dir := t.TempDir()
	for _, open := range []string{filepath.Dir(dir), dir} { // another user has to come by here
		if err := os.Chmod(open, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	_, stop := startDaemon(t, dir)
	exit, out, talk := fmqmd("backup", filepath.Join(dir, "backups"), "--to", "unix:"+filepath.Join(dir, "a.sock"))
	must(t, exit, 0, out, talk)
	stop()
	backup, _, _ := strings.Cut(out, ": ")
	data, theirs := filepath.Join(dir, "data"), filepath.Join(dir, "theirs")
	chownAll(t, data)
	if err := os.Mkdir(theirs, 0o700); err != nil {
		t.Fatal(err)
	}
	chownAll(t, theirs)
	for _, c := range []struct {
		args []string
		dir  string
	}{
		{[]string{"verify", "--data", data}, data},
		{[]string{"dump", "--data", data}, data},
		{[]string{"restore", backup, "--data", theirs}, theirs},
		{[]string{"restore", backup, "--data", filepath.Join(theirs, "new", "one")}, filepath.Join(theirs, "new")},
	} {
		if c.args[0] == "restore" { // into an empty one; above, one that is made
			if err := os.RemoveAll(theirs); err != nil {
				t.Fatal(err)
			}
			if err := os.Mkdir(theirs, 0o700); err != nil {
				t.Fatal(err)
			}
			chownAll(t, theirs)
		}
		exit, out, talk = fmqmd(c.args...)
		must(t, exit, 0, out, talk)
		wantOwner(t, c.dir, strings.Join(c.args, " "))
	}
	if os.Geteuid() != 0 || os.Getegid() != 0 {
		t.Error("it is not root any more")
	}

	exit, out, talk = fmqmd("run", "--config", filepath.Join(dir, "a.yaml"), "--data", data)
	must(t, exit, 4, out, talk)
	if !strings.Contains(talk, "belongs to user 54321, who could not read what root writes there: start the daemon as that user") {
		t.Error(talk)
	}
	wantOwner(t, data, "run")
}
