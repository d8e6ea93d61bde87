package rabbittest_test

import (
	"testing"

	"golang.org/x/sys/unix"
)

// waitGone waits until a process that is not a child of this one has ended.
func waitGone(t *testing.T, pid int) {
	t.Helper()
	fd, err := unix.PidfdOpen(pid, 0)
	if err == unix.ESRCH {
		return
	}
	must(t, err)
	defer unix.Close(fd)
	n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 30_000)
	if err != nil || n != 1 {
		t.Fatalf("process %d lives: %d, %v", pid, n, err)
	}
}
