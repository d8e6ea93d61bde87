package cgroup_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"fmqm/internal/cgroup"
	"fmqm/internal/cgroup/cgrouptest"
)

// nobody is a user without anything.
const nobody = 65534

// patience bounds what a test waits for.
const patience = time.Minute

// inside runs the rest of a test as nobody, in a control group that is delegated to him,
// as a service has it. It says false in the process that only watches that.
func inside(t *testing.T) bool {
	t.Helper()
	if os.Getenv("FMQM_INSIDE") != "" {
		return true
	}
	group := cgrouptest.Delegate(t, nobody)
	dir, err := os.MkdirTemp("/var/tmp", "fmqm-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	binary, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	self := filepath.Join(dir, "self")
	if err := os.WriteFile(self, binary, 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, "-test.run=^"+t.Name()+"$", "-test.count=1")
	cmd.Env = append(os.Environ(), "FMQM_INSIDE=1", "TMPDIR=/tmp")
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cgrouptest.Start(t, cmd, group); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("inside: %v\n%s", err, out.String())
	}
	return false
}

func open(t *testing.T) *cgroup.Tree {
	t.Helper()
	tree, err := cgroup.Open()
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

// shell starts a script in a group; what it writes is read line by line. It begins once
// it is in its group.
func shell(t *testing.T, g *cgroup.Group, tasks int, script string) (*exec.Cmd, *bufio.Reader) {
	t.Helper()
	cmd := exec.Command("/bin/sh", "-c", "read begin; "+script)
	begin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout = in
	t.Cleanup(func() { _ = out.Close() })
	err = g.Start(tasks, func(fd int) (int, error) {
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, UseCgroupFD: fd >= 0, CgroupFD: fd}
		if err := cmd.Start(); err != nil {
			return 0, err
		}
		return cmd.Process.Pid, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(in.Close(), begin.Close()); err != nil {
		t.Fatal(err)
	}
	return cmd, bufio.NewReader(out)
}

func line(t *testing.T, r *bufio.Reader) string {
	t.Helper()
	s, err := r.ReadString('\n')
	if err != nil {
		t.Fatalf("%q, %v", s, err)
	}
	return strings.TrimSpace(s)
}

// runaway leaves its session, parent and environment, and says its number.
const runaway = `setsid env -i /bin/sh -c '/bin/sh -c "echo \$\$; exec sleep 3600" & exit' & wait; `

// Whatever a program does to get away is ended with its group, whether the program was
// started in it or moved there.
func TestNothingLeavesItsGroup(t *testing.T) {
	if !inside(t) {
		return
	}
	for _, way := range []string{"started", "moved"} {
		tree := open(t)
		if way == "moved" {
			cgroup.ByMoving(tree)
		}
		g := tree.Group("run.A." + way)
		cmd, out := shell(t, g, 0, runaway+"sleep 3600")
		fled, err := strconv.Atoi(line(t, out))
		if err != nil {
			t.Fatal(err)
		}
		for _, pid := range []int{fled, cmd.Process.Pid} {
			if got := tree.Of(pid); got != "run.A."+way {
				t.Errorf("%s: process %d is in %q", way, pid, got)
			}
		}
		if names, err := tree.Names(); err != nil || fmt.Sprint(names) != "[run.A."+way+"]" || !g.Populated() {
			t.Errorf("%s: groups %v, %v", way, names, err)
		}
		if g.Remove() == nil {
			t.Errorf("%s: removed with something in it", way)
		}
		killed, err := g.End(patience)
		if err != nil || killed < 2 {
			t.Errorf("%s: %d killed, %v", way, killed, err)
		}
		if rest, err := io.ReadAll(out); err != nil || len(rest) > 0 { // nobody holds it open
			t.Errorf("%s: %q, %v", way, rest, err)
		}
		_ = cmd.Wait()
		if names, err := tree.Names(); err != nil || len(names) > 0 || g.Populated() {
			t.Errorf("%s: left %v, %v", way, names, err)
		}
		if killed, err := g.End(patience); killed != 0 || err != nil {
			t.Errorf("%s, again: %d, %v", way, killed, err)
		}
	}
}

// What forks without end is bounded where the machine lets groups be, and ended at once
// in any case. Here the bomb has an end, at 120.
func TestAForkBomb(t *testing.T) {
	if !inside(t) {
		return
	}
	tree := open(t)
	g := tree.Group("run.A.bomb")
	const tasks = 50
	cmd, out := shell(t, g, tasks, `i=0; while [ $i -lt 120 ]; do setsid sleep 3600 </dev/null >/dev/null 2>&1 & i=$((i+1)); done; echo all; sleep 3600`)
	if tree.Limits() == nil {
		if rest, err := io.ReadAll(out); err != nil || len(rest) > 0 { // the shell gives up: it cannot fork
			t.Errorf("it went on: %q, %v", rest, err)
		}
	} else if got := line(t, out); got != "all" {
		t.Errorf("without a limit (%v): %q", tree.Limits(), got)
	}
	killed, err := g.End(patience)
	if err != nil || killed == 0 || tree.Limits() == nil && killed > tasks {
		t.Errorf("%d killed, %v", killed, err)
	}
	_ = cmd.Wait()
}

// A program may make groups below its own: they are ended and removed with it.
func TestGroupsOfPrograms(t *testing.T) {
	if !inside(t) {
		return
	}
	tree := open(t)
	g := tree.Group("run.A.nested")
	below := filepath.Join(tree.Dir(), "programs", "run.A.nested", "own", "more")
	cmd, out := shell(t, g, 0, "mkdir -p "+below+" && sleep 3600 & echo $!; wait")
	pid, err := strconv.Atoi(line(t, out))
	if err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(patience); ; {
		if os.WriteFile(filepath.Join(below, "cgroup.procs"), []byte(strconv.Itoa(pid)), 0) == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("no group was made")
		}
	}
	if got := tree.Of(pid); got != "run.A.nested" {
		t.Errorf("in %q", got)
	}
	if _, err := g.End(patience); err != nil {
		t.Error(err)
	}
	_ = cmd.Wait()
	if _, err := os.Stat(below); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

// A program that cannot be started leaves no group; a second opening is the first.
func TestStartsThatFail(t *testing.T) {
	if !inside(t) {
		return
	}
	tree := open(t)
	if again := open(t); again.Dir() != tree.Dir() {
		t.Errorf("%s, then %s", tree.Dir(), again.Dir())
	}
	if tree.Of(os.Getpid()) != "" || tree.Of(1<<30) != "" {
		t.Error("this process is in a group, or nobody is")
	}
	err := tree.Group("run.A.none").Start(10, func(int) (int, error) { return 0, unix.EAGAIN })
	if names, _ := tree.Names(); !errors.Is(err, unix.EAGAIN) || len(names) > 0 {
		t.Errorf("%v, left %v", err, names)
	}
}

// Where nothing is delegated, nothing is touched.
func TestWithoutDelegation(t *testing.T) {
	if _, err := cgroup.Open(); err == nil || !errors.Is(err, cgroup.ErrNotDelegated) {
		t.Errorf("%v", err)
	}
	var tree *cgroup.Tree
	g := tree.Group("run.A.x")
	started := 0
	if err := g.Start(1, func(fd int) (int, error) { started = fd; return 7, nil }); err != nil || started != -1 {
		t.Errorf("%d, %v", started, err)
	}
	killed, err := g.End(0)
	names, _ := tree.Names()
	if killed != 0 || err != nil || g.Populated() || g.Kill() != nil || g.Remove() != nil || len(names) > 0 || tree.Of(1) != "" {
		t.Error("no tree has something in it")
	}
}
