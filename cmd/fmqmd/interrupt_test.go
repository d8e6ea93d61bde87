package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"fmqm/api"
	"fmqm/test/fleet"
)

// answering is a node that answers each request for a backup as it is told.
func answering(t *testing.T, answer http.HandlerFunc) (to string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "fmqm")
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", filepath.Join(dir, "s"))
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc(api.BackupPath, answer)
	s := &http.Server{Handler: mux}
	done := make(chan error, 1)
	go func() { done <- s.Serve(l) }()
	t.Cleanup(func() {
		_ = s.Close()
		if err := <-done; !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
		_ = os.RemoveAll(dir)
	})
	return "unix:" + filepath.Join(dir, "s")
}

// mute begins a backup, says so, and then nothing more until its reader has gone.
func mute(begun chan<- struct{}) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "FMQMBK1\n")
		_ = http.NewResponseController(w).Flush()
		begun <- struct{}{}
		<-r.Context().Done()
	}
}

func files(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// A daemon that begins a backup and says nothing more is given up after --timeout, and what
// came of it does not stay.
func TestABackupIsNotWaitedForForEver(t *testing.T) {
	for name, answer := range map[string]http.HandlerFunc{
		"in the middle": mute(make(chan struct{}, 1)),
		"no answer":     func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			to := answering(t, answer)
			exit, out, talk := fmqmd("backup", dir, "--to", to, "--timeout", "100ms")
			if exit != 5 || !strings.Contains(talk, "no answer from "+to+" within 100ms") {
				t.Errorf("exit %d: %s%s", exit, out, talk)
			}
			if left := files(t, dir); len(left) != 0 {
				t.Errorf("left: %q", left)
			}
		})
	}
}

// What a node says it is called becomes the name of a file: it leads nowhere else.
func TestABackupStaysInItsDirectory(t *testing.T) {
	whole, err := os.ReadFile(named(t, "../B"))
	if err != nil {
		t.Fatal(err)
	}
	above := t.TempDir()
	dir := filepath.Join(above, "backups")
	exit, out, talk := fmqmd("backup", dir, "--to", answering(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(whole) }))
	if exit != 1 || !strings.Contains(talk, `the node calls itself "../B", which cannot name a node`) {
		t.Errorf("exit %d: %s%s", exit, out, talk)
	}
	if left := append(files(t, above), files(t, dir)...); len(left) != 1 {
		t.Errorf("left: %q", left)
	}
}

// process runs a command of fmqmd as a process of its own, whose temporary directory is dir.
func process(t *testing.T, dir string, args ...string) (cmd *exec.Cmd, out io.Reader, talk *bytes.Buffer) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), fleet.Patience)
	t.Cleanup(cancel)
	cmd, talk = exec.CommandContext(ctx, os.Args[0], args...), &bytes.Buffer{}
	cmd.Env = append(os.Environ(), "FMQMD_TEST_RUN=1", "TMPDIR="+dir)
	cmd.Stderr = talk
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd, out, talk
}

// interrupted ends a process, and checks that it says so and leaves nothing in a directory.
func interrupted(t *testing.T, cmd *exec.Cmd, by os.Signal, out io.Reader, talk *bytes.Buffer, dir string) {
	t.Helper()
	if err := cmd.Process.Signal(by); err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, out)
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != 1 || talk.String() != "fmqmd: interrupted\n" {
		t.Errorf("%v: %v, %q", by, cmd.ProcessState, talk)
	}
	if left := files(t, dir); len(left) != 0 {
		t.Errorf("%v: left: %q", by, left)
	}
}

// A command that is interrupted puts away what it has begun.
func TestABackupThatIsInterruptedLeavesNothing(t *testing.T) {
	for _, by := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
		begun := make(chan struct{})
		dir := t.TempDir()
		cmd, out, talk := process(t, dir, "backup", dir, "--to", answering(t, mute(begun)))
		select {
		case <-begun:
		case <-time.After(fleet.Patience):
			t.Fatal("no backup is asked for")
		}
		interrupted(t, cmd, by, out, talk, dir)
	}
}

// A backup that is killed leaves its part; the next one to the directory removes that, and nothing else:
// neither what another backup is writing nor what only looks like a part.
func TestTheNextBackupRemovesWhatAKilledOneHasLeft(t *testing.T) {
	whole, err := os.ReadFile(named(t, "A"))
	if err != nil {
		t.Fatal(err)
	}
	dir, begun := t.TempDir(), make(chan struct{}, 1)
	start := func() (*exec.Cmd, string) {
		t.Helper()
		before := files(t, dir)
		cmd, _, _ := process(t, dir, "backup", dir, "--to", answering(t, mute(begun)))
		select {
		case <-begun:
		case <-time.After(fleet.Patience):
			t.Fatal("no backup is asked for")
		}
		made := slices.DeleteFunc(files(t, dir), func(name string) bool { return slices.Contains(before, name) })
		if len(made) != 1 {
			t.Fatalf("it writes %q", made)
		}
		return cmd, made[0]
	}
	end := func(cmd *exec.Cmd) {
		t.Helper()
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
	}
	killed, left := start()
	end(killed)
	writes, stays := start()
	defer end(writes)
	if !slices.Contains(files(t, dir), stays) || slices.Contains(files(t, dir), left) {
		t.Errorf("there are %q, expected %s without %s", files(t, dir), stays, left)
	}

	keep := []string{stays, ".fmqm-1.part", ".fmqm-2.part", ".fmqm-3.part", ".fmqm-x.part", ".fmqm-6.part.old", "7.part"}
	for _, name := range keep[2:] {
		if err := os.WriteFile(filepath.Join(dir, name), whole, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, err := range []error{
		os.WriteFile(filepath.Join(dir, keep[1]), []byte("a letter"), 0o600),
		os.Remove(filepath.Join(dir, keep[2])), os.Symlink(keep[6], filepath.Join(dir, keep[2])),
		os.Remove(filepath.Join(dir, keep[3])), syscall.Mkfifo(filepath.Join(dir, keep[3]), 0o600),
		os.Mkdir(filepath.Join(dir, ".fmqm-4.part"), 0o700), os.WriteFile(filepath.Join(dir, ".fmqm-5.part"), whole[:len(whole)/2], 0o600),
		os.WriteFile(filepath.Join(dir, ".fmqm-8.part"), nil, 0o600), // it was killed before anything came
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	keep = append(keep, ".fmqm-4.part")
	to := answering(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(whole) })
	exit, out, talk := fmqmd("backup", dir, "--to", to)
	if exit != 0 || strings.Count(talk, ": a backup that was killed had left it\n") != 2 || !strings.Contains(talk, "removed "+filepath.Join(dir, ".fmqm-5.part")+": ") {
		t.Errorf("exit %d: %s%s", exit, out, talk)
	}
	got := slices.DeleteFunc(files(t, dir), func(name string) bool { return strings.HasSuffix(name, ".fmqmbackup") })
	slices.Sort(keep)
	if !slices.Equal(got, keep) {
		t.Errorf("left: %q, want %q", got, keep)
	}
}

func TestADemoThatIsInterruptedLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	cmd, out, talk := process(t, dir, "demo")
	lines := bufio.NewScanner(out)
	for lines.Scan() && !strings.Contains(lines.Text(), "the order is started") {
	}
	interrupted(t, cmd, os.Interrupt, out, talk, dir)
}

// What reads a whole store or backup ends when it is told to.
func TestWhatReadsAStoreEndsWithItsContext(t *testing.T) {
	dir := t.TempDir()
	file := named(t, "A")
	ctx, cancel := context.WithCancel(t.Context())
	if _, err := restore(ctx, file, filepath.Join(dir, "store")); err != nil {
		t.Fatal(err)
	}
	cancel()
	if _, err := verifyBackupFile(ctx, file); err == nil {
		t.Error("verified")
	}
	if _, err := restore(ctx, file, filepath.Join(dir, "other")); err == nil {
		t.Error("restored")
	}
	if left := files(t, dir); len(left) != 1 {
		t.Errorf("left: %q", left)
	}
	if err := verifyStore(ctx, nil, filepath.Join(dir, "store")); err == nil || !strings.Contains(err.Error(), context.Canceled.Error()) {
		t.Error(err)
	}
}
