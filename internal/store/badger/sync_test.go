package badger

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"fmqm/internal/skip"
)

// syncVariable makes this test binary a process whose syncs fail, or that is killed
// while it opens a store: see syncChild and stepChild.
const syncVariable = "FMQM_TEST_SYNC"

// acknowledgedBefore is how many commits the child makes before its disk fails.
const acknowledgedBefore = 20

// failCalls lets a system call give EIO in this process from now on, as it does when
// the disk fails.
func failCalls(number uint32) error {
	const nr = 0 // the offset of the call's number in what the filter sees
	filter := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: nr},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: number, Jf: 1},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(unix.EIO)},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	}
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&program)))
	if errno != 0 {
		return errno
	}
	return nil
}

// syncChild does what the test tells it, and says what became of it.
func syncChild(what string) {
	mode, dir, _ := strings.Cut(what, " ")
	switch mode {
	case "commit":
		commitUntilTheDiskFails(dir)
	case "open":
		say("filter", failCalls(unix.SYS_FSYNC))
		_, err := Open(Options{Dir: dir})
		say("open", err)
	default:
		stepChild(mode, dir)
	}
}

func say(what string, err error) { fmt.Printf("%s: %v\n", what, err) }

func commitUntilTheDiskFails(dir string) {
	e, err := Open(Options{Dir: dir})
	say("open", err)
	for range acknowledgedBefore {
		if err := e.Commit(e.Last()+1, childBatch(e.Last()+1)); err != nil {
			say("commit", err)
			return
		}
	}
	say("filter", failCalls(unix.SYS_MSYNC))
	say("commit", e.Commit(e.Last()+1, childBatch(e.Last()+1)))
	say("failed", <-e.Failed())
	say("later", e.Commit(e.Last()+1, childBatch(e.Last()+1)))
	say("last", fmt.Errorf("%d", e.Last()))
	say("close", e.Close())
}

// inChild runs the child and gives what it said, by the first word of each line.
func inChild(t *testing.T, what string) map[string]string {
	t.Helper()
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), syncVariable+"="+what)
	child.Stderr = os.Stderr
	out, err := child.Output()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	said := map[string]string{}
	for line := range strings.Lines(string(out)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		said[name] = value
	}
	if filter, tried := said["filter"]; tried && filter != "<nil>" {
		skip.Untested(t, "a sync that fails: no seccomp filter can be installed here (%s)", filter)
	}
	return said
}

// TestLogCannotBeSynced: the disk fails under a running store. The commit whose log
// could not be synced is refused, the store's work ends, nothing is acknowledged any
// more, and the next open does not go on before what it read is in files that are
// synced (invariant 8).
func TestLogCannotBeSynced(t *testing.T) {
	dir := t.TempDir()
	said := inChild(t, "commit "+dir)
	for name, want := range map[string]string{
		"open":   "<nil>",
		"commit": "input/output error",
		"failed": "input/output error",
		"later":  "an earlier commit failed",
		"last":   fmt.Sprint(acknowledgedBefore),
		"close":  "input/output error",
	} {
		if !strings.Contains(said[name], want) {
			t.Errorf("%s: %q, want %q", name, said[name], want)
		}
	}
	for range 2 {
		if said := inChild(t, "open "+dir); !strings.Contains(said["open"], "input/output error") {
			t.Errorf("opened although nothing can be synced: %q", said["open"])
		}
	}
	e := mustOpen(t, Options{Dir: dir})
	if last := e.Last(); last < acknowledgedBefore || last > acknowledgedBefore+1 {
		t.Errorf("%d commits were acknowledged, %d are there", acknowledgedBefore, last)
	}
	checkChild(t, e)
	mustClose(t, e)
}
