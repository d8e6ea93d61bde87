// Package cgrouptest delegates control groups to tests, as systemd does to services.
package cgrouptest

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"fmqm/internal/skip"
)

// Delegate makes a control group that is delegated to a user, for the time of the test.
func Delegate(t *testing.T, uid int) (dir string) {
	t.Helper()
	root := mounted(t)
	dir, err := os.MkdirTemp(root, "fmqm-test-")
	if err != nil {
		skip.Untested(t, "control groups: none can be made: %v (run as root, on a machine where cgroup v2 can be written)", err)
	}
	t.Cleanup(func() { end(t, dir) })
	if err := unix.Setxattr(dir, "user.delegate", []byte("1"), 0); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{".", "cgroup.procs", "cgroup.subtree_control", "cgroup.threads"} {
		if err := os.Chown(filepath.Join(dir, name), uid, uid); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// mounted gives where cgroup v2 is.
func mounted(t *testing.T) string {
	t.Helper()
	mounts, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(mounts)) {
		if f := strings.Fields(line); f[2] == "cgroup2" {
			return f[1]
		}
	}
	skip.Untested(t, "control groups: cgroup v2 is not mounted here")
	return ""
}

// end kills what is left and removes the group, with those below it.
func end(t *testing.T, dir string) {
	for late := time.Now().Add(time.Minute); ; {
		_ = os.WriteFile(filepath.Join(dir, "cgroup.kill"), []byte("1"), 0)
		err := remove(dir)
		if err == nil || errors.Is(err, os.ErrNotExist) {
			return
		}
		if time.Now().After(late) {
			t.Errorf("the control group stays: %v", err)
			return
		}
	}
}

func remove(dir string) error {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if e.IsDir() {
			_ = remove(filepath.Join(dir, e.Name()))
		}
	}
	return os.Remove(dir)
}

// Start starts a command in a control group.
func Start(t *testing.T, cmd *exec.Cmd, dir string) error {
	t.Helper()
	d, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.UseCgroupFD, cmd.SysProcAttr.CgroupFD = true, int(d.Fd())
	return cmd.Start()
}
