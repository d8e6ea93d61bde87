package attack

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"

	"fmqm/api"
	"fmqm/internal/cgroup/cgrouptest"
	"fmqm/internal/skip"
	"fmqm/test/fleet"
)

// Users of a house: the daemon's, who has no entry anywhere, and one that programs run as.
const (
	daemonUser = 64001
	worker     = "nobody"
	workerID   = 65534
)

// house is one site as a machine has it: directories that only root can write to, a
// daemon of a user of its own, its programs. What programs find out they write to files
// in work, where everybody may write.
type house struct {
	t     *testing.T
	dir   string
	group string   // the control group that is delegated to the daemon; empty: none
	under []string // a command that runs the daemon; nil: none
	caps  []uintptr

	cmd   *exec.Cmd
	ended chan struct{}

	mu   sync.Mutex
	log  bytes.Buffer
	more chan struct{} // closed and made anew with each line
}

// newHouse builds a site whose programs are lines of YAML; %s in them is its directory.
func newHouse(t *testing.T, programs ...string) *house {
	t.Helper()
	if os.Getuid() != 0 {
		skip.Untested(t, "what programs can do to a daemon that has a user of its own: it takes root to give it one")
	}
	dir, err := os.MkdirTemp("/var/lib", "fmqm-test-")
	if err != nil {
		t.Fatal(err)
	}
	h := &house{t: t, dir: dir, more: make(chan struct{})}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	h.group = cgrouptest.Delegate(t, daemonUser)
	h.must(os.Chmod(dir, 0o755))
	for name, own := range map[string]struct {
		mode os.FileMode
		uid  int
	}{"bin": {0o755, 0}, "etc": {0o755, 0}, "data": {0o700, daemonUser}, "run": {0o755, daemonUser}, "room": {0o777, 0}} {
		h.must(os.Mkdir(h.file(name), 0o755))
		h.must(os.Chmod(h.file(name), own.mode))
		h.must(os.Chown(h.file(name), own.uid, own.uid))
	}
	for _, name := range []string{"fmqmd", "fmqm"} {
		text, err := os.ReadFile(filepath.Join(fleet.Bin, name))
		h.must(err)
		h.must(os.WriteFile(h.file("bin", name), text, 0o755))
	}
	fleet.Must(t, "fmqmd", "pki", "init", "--dir", h.file("etc"))
	fleet.Must(t, "fmqmd", "pki", "issue", "A", "--dir", h.file("etc"))
	h.secret("etc/node-A.key", "")
	h.secret("etc/token", "t0ken-of-the-bureau")
	text := fmt.Sprintf("node: A\ndata: %[1]s/data\nsocket: %[1]s/run/sock\nidentity: {certificate: node-A.crt, key: node-A.key, ca: ca.crt}\ndefiners: [%[2]q]\nprograms:\n", dir, definerKey(t))
	for _, p := range programs {
		text += "  " + strings.ReplaceAll(p, "%s", dir) + "\n"
	}
	h.must(os.WriteFile(h.file("etc", "fmqmd.yaml"), []byte(text), 0o644))
	t.Cleanup(func() { h.end(syscall.SIGKILL) })
	return h
}

func (h *house) must(err error) {
	h.t.Helper()
	if err != nil {
		h.t.Fatal(err)
	}
}

func (h *house) file(name ...string) string {
	return filepath.Join(append([]string{h.dir}, name...)...)
}

// secret gives a file to the daemon's user, who alone reads it.
func (h *house) secret(name, text string) {
	h.t.Helper()
	if text != "" {
		h.must(os.WriteFile(h.file(name), []byte(text), 0o600))
	}
	h.must(os.Chmod(h.file(name), 0o600))
	h.must(os.Chown(h.file(name), daemonUser, daemonUser))
}

// script writes a program of the house.
func (h *house) script(name, text string) {
	h.t.Helper()
	h.must(os.WriteFile(h.file("bin", name), []byte("#!/bin/sh\n"+text+"\n"), 0o755))
}

// Write takes the daemon's log.
func (h *house) Write(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	close(h.more)
	h.more = make(chan struct{})
	return h.log.Write(p)
}

func (h *house) logged() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.log.String()
}

// start starts the daemon and waits until it answers.
func (h *house) start() {
	h.t.Helper()
	h.mu.Lock()
	h.log.Reset()
	h.mu.Unlock()
	argv := append(slices.Clone(h.under), h.file("bin", "fmqmd"), "run", "--config", h.file("etc", "fmqmd.yaml"), "--log-format", "json")
	h.cmd = exec.Command(argv[0], argv[1:]...)
	h.cmd.Env = []string{"SECRET_OF_THE_DAEMON=hunter2", "PATH=/usr/bin:/bin"}
	h.cmd.Stdout, h.cmd.Stderr = h, h
	h.cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: daemonUser, Gid: daemonUser}, AmbientCaps: h.caps}
	if h.group != "" {
		h.must(cgrouptest.Start(h.t, h.cmd, h.group))
	} else {
		h.must(h.cmd.Start())
	}
	cmd, ended := h.cmd, make(chan struct{})
	h.ended = ended
	go func() {
		_ = cmd.Wait()
		close(ended)
	}()
	h.ready()
}

func (h *house) end(with syscall.Signal) {
	if h.cmd != nil {
		_ = h.cmd.Process.Signal(with)
		<-h.ended
		h.cmd = nil
	}
}

// ready waits until the daemon says that it is.
func (h *house) ready() {
	h.t.Helper()
	for late := time.After(fleet.Patience); ; {
		h.mu.Lock()
		is, more := strings.Contains(h.log.String(), `"message":"ready"`), h.more
		h.mu.Unlock()
		if is {
			return
		}
		select {
		case <-more:
		case <-h.ended:
			h.t.Fatalf("the daemon ended:\n%s", h.logged())
		case <-late:
			h.t.Fatalf("not ready:\n%s", h.logged())
		}
	}
}

// until looks again and again: for what a program leaves in a file, for a process.
func (h *house) until(what string, is func() bool) {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), fleet.Patience)
	defer cancel()
	err := fleet.Until(ctx, func() (bool, error) {
		select {
		case <-h.ended:
			return false, errors.New("the daemon ended")
		default:
			return is(), nil
		}
	})
	if err != nil {
		h.t.Fatalf("not %s: %v\n%s", what, err, h.logged())
	}
}

func (h *house) to() string { return "unix:" + h.file("run", "sock") }

// define uploads a process of one activity, work, with a program.
func (h *house) define(name, program string) {
	h.t.Helper()
	file := filepath.Join(h.t.TempDir(), "process.yaml")
	h.must(os.WriteFile(file, fmt.Appendf(nil, "process: %s\nversion: 1\nactivities:\n  work: {node: A, program: %s}\ncontrol: []\n", name, program), 0o600))
	fleet.Must(h.t, "fmqm-define", "upload", file, "--to", h.to())
}

// run starts an instance and waits for its end: its exit code, and what was said.
func (h *house) run(process string) (out string, code int) {
	h.t.Helper()
	out, talk, code := fleet.Run(h.t, "fmqm", "start", process, "--wait", "-o", "json", "--to", h.to())
	return out + talk, code
}

// begin starts an instance and gives its identifier.
func (h *house) begin(process string) string {
	h.t.Helper()
	out := fleet.Must(h.t, "fmqm", "start", process, "-o", "json", "--to", h.to())
	_, after, _ := strings.Cut(out, `"instance":`)
	return strings.Split(after, `"`)[1]
}

// over waits until an instance is over, in a state, and gives what is said of it.
func (h *house) over(id string, state api.InstanceState) string {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), fleet.Patience)
	defer cancel()
	client, err := api.NewClient(h.to(), fleet.Patience)
	h.must(err)
	defer client.Close()
	status := api.Status{State: api.InstanceRunning}
	for status.State == api.InstanceRunning {
		status, err = client.Wait(ctx, uuid.MustParse(id), api.MaxWait)
		h.must(err)
	}
	text, err := json.Marshal(status)
	h.must(err)
	if status.State != state {
		h.t.Fatalf("not %s: %s\n%s", state, text, h.logged())
	}
	return string(text)
}

// said is what programs wrote to a file of work.
func (h *house) said(name string) string {
	text, _ := os.ReadFile(h.file("room", name))
	return string(text)
}

// attempts makes a script that says of each command whether it did what it says.
func attempts(commands ...string) string {
	var b strings.Builder
	for _, c := range commands {
		fmt.Fprintf(&b, "if (%s) >>$WORK/talk 2>&1; then echo 'did: %s'; else echo 'could not: %s'; fi >>$WORK/told\n", c, c, c)
	}
	return b.String()
}

// told checks what came of attempts.
func (h *house) told(verb string, commands ...string) {
	h.t.Helper()
	out := h.said("told")
	for _, c := range commands {
		if !strings.Contains(out, verb+": "+c+"\n") {
			h.t.Errorf("not %q: %s", verb, c)
		}
	}
}

// running says whether a process runs: zombies do not.
func running(pid string) bool {
	stat, err := os.ReadFile("/proc/" + strings.TrimSpace(pid) + "/stat")
	if err != nil {
		return false
	}
	_, after, _ := bytes.Cut(stat, []byte(") "))
	return len(after) > 0 && after[0] != 'Z' && after[0] != 'X'
}
