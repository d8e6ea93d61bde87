package program

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// shows starts a script with an environment of its own, and gives its number once it runs.
func shows(t *testing.T, script string, env ...string) (pid int) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "script")
	if err := os.WriteFile(file, []byte("#!/bin/sh\n"+script), 0o700); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(file)
	cmd.Env = env
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil { // it returns after the first execve
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		_ = cmd.Wait()
	})
	return cmd.Process.Pid
}

// Every look at a process finds whose it is, also while it is replaced by another program
// (one look of a hundred meets that), and however large its environment is.
func TestEveryLookFindsWhoseAProcessIs(t *testing.T) {
	const key, again = "FMQM_IDEMPOTENCY_KEY=k", "exec \"$0\"\n"
	for _, tc := range []struct{ size, looks int }{{0, 10_000}, {3 << 10, 3000}, {100 << 10, 300}} {
		t.Run(strconv.Itoa(tc.size), func(t *testing.T) {
			pid := shows(t, again, "FMQM_NODE=B", "X="+strings.Repeat("x", tc.size), key)
			for look := range tc.looks {
				if node, key := carried(pid); node != "B" || key != "k" {
					t.Fatalf("look %d: node %q, key %q", look, node, key)
				}
			}
		})
	}
}

// Who has no environment is not looked at again and again: a look at every process of a
// machine is short.
func TestWhoHasNoEnvironmentIsBare(t *testing.T) {
	cmd := exec.Command("/bin/sleep", "3600")
	cmd.Env = []string{}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	p, err := readProcess(cmd.Process.Pid)
	for ; err == nil && !p.bare && t.Context().Err() == nil; p, err = readProcess(cmd.Process.Pid) {
	}
	if err != nil || len(environ(cmd.Process.Pid)) != 0 {
		t.Errorf("it has %q, %v", environ(cmd.Process.Pid), err)
	}
	if p, err := readProcess(os.Getpid()); err != nil || p.bare {
		t.Errorf("the test has no environment, %v", err)
	}
}
