package crash

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"fmqm/api"
	"fmqm/sim"
)

// patience bounds everything that a test waits for.
const patience = 3 * time.Minute

// programs of both sites. Each notes the execution that it is for.
var programs = map[string]string{
	"pass": `cat`,
	// count: its output's n is the iteration.
	"count": `cat >/dev/null; printf '{"n": %s}' "$FMQM_ITERATION"`,
	// flaky: its first attempt fails.
	"flaky": `[ "$FMQM_ATTEMPT" -gt 1 ] || exit 3; cat`,
	// broken: it always fails.
	"broken": `exit 4`,
}

// site is one daemon, as a process: it comes back whenever its failpoint has killed it.
type site struct {
	t      *testing.T
	name   string
	dir    string
	config string
	client *api.Client
	lives  sync.WaitGroup // processes that are not waited for yet

	mu     sync.Mutex
	points []string // at which it has still to die, one after the other
	cmd    *exec.Cmd
	ended  chan struct{}  // closed when cmd has ended
	asked  syscall.Signal // by which the test ends cmd; 0: not
	died   chan struct{}  // closed when no point is left
}

// newSite writes a site's configuration and programs. Nothing runs yet.
func newSite(t *testing.T, dir, name, address, peer, peerAddress string) *site {
	t.Helper()
	s := &site{t: t, name: name, dir: filepath.Join(dir, name), died: make(chan struct{})}
	s.config = fmt.Sprintf("node: %s\ndata: store\nlisten: %s\ninsecure: true\nremote_operators: [{site: \"*\"}]\nsocket: sock\nlinks:\n  peers:\n    %s: http://%s\nprograms:\n", name, address, peer, peerAddress)
	if err := os.MkdirAll(s.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for program, text := range programs {
		note := "#!/bin/sh\necho \"$FMQM_INSTANCE $FMQM_ACTIVITY $FMQM_ITERATION $FMQM_IDEMPOTENCY_KEY\" >>" + filepath.Join(s.dir, "runs")
		s.write(program, note+"\n"+text+"\n", 0o755)
		s.config += fmt.Sprintf("  %s: {exec: [%s]}\n", program, filepath.Join(s.dir, program))
	}
	s.write("fmqmd.yaml", s.config, 0o644)
	client, err := api.NewClient("http://"+address, patience)
	if err != nil {
		t.Fatal(err)
	}
	s.client = client
	t.Cleanup(func() {
		client.Close()
		s.end(syscall.SIGKILL)
		s.lives.Wait()
		if t.Failed() {
			s.showLog()
		}
	})
	return s
}

func (s *site) write(name, text string, mode os.FileMode) {
	if err := os.WriteFile(filepath.Join(s.dir, name), []byte(text), mode); err != nil {
		s.t.Fatal(err)
	}
}

// diesAt says where the site's daemon kills itself, one point in each life.
func (s *site) diesAt(points ...string) {
	s.points = points
	if len(points) == 0 {
		close(s.died)
	}
}

// start runs the daemon, unless it runs already.
func (s *site) start() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cmd == nil {
		s.run()
	}
}

// run runs the daemon; s.mu is held.
func (s *site) run() {
	log, err := os.OpenFile(filepath.Join(s.dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		s.t.Error(err)
		return
	}
	defer log.Close()
	cmd := exec.Command(fmqmd, "run", "--config", filepath.Join(s.dir, "fmqmd.yaml"), "--log-format", "json")
	cmd.Stdout, cmd.Stderr = log, log
	cmd.Env = append(os.Environ(), "FMQM_FAILPOINT="+strings.Join(s.points[:min(1, len(s.points))], ""))
	if err := cmd.Start(); err != nil {
		s.t.Error(err)
		return
	}
	ended := make(chan struct{})
	s.cmd, s.ended, s.asked = cmd, ended, 0
	s.lives.Go(func() { s.watch(cmd, ended) })
}

// watch waits for the daemon's end, and runs it again if that was at its point.
func (s *site) watch(cmd *exec.Cmd, ended chan struct{}) {
	err := cmd.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	defer close(ended)
	s.cmd = nil
	var exit *exec.ExitError
	killed := errors.As(err, &exit) && exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL
	switch {
	case s.asked == syscall.SIGKILL:
	case killed && len(s.points) > 0:
		if s.points = s.points[1:]; len(s.points) == 0 {
			close(s.died)
		}
		s.run()
	case s.asked == 0 || err != nil:
		s.t.Errorf("%s ended with %v, not by its failpoint", s.name, err)
	}
}

// end ends the daemon, if it runs.
func (s *site) end(by syscall.Signal) {
	s.mu.Lock()
	cmd, ended := s.cmd, s.ended
	if cmd == nil {
		s.mu.Unlock()
		return
	}
	s.asked = by
	err := cmd.Process.Signal(by)
	s.mu.Unlock()
	if err == nil || errors.Is(err, os.ErrProcessDone) {
		<-ended
	}
}

// stop ends the daemon in order. If it dies on the way, at its point, it is back.
func (s *site) stop() { s.end(syscall.SIGTERM) }

// reload lets the daemon read its configuration again, if it runs: else it will.
func (s *site) reload() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cmd != nil {
		_ = s.cmd.Process.Signal(syscall.SIGHUP)
	}
}

// loseStore removes the store of a site that is stopped.
func (s *site) loseStore() {
	s.t.Helper()
	if err := os.RemoveAll(filepath.Join(s.dir, "store")); err != nil {
		s.t.Fatal(err)
	}
}

// command runs fmqmd for something else than a daemon.
func (s *site) command(ctx context.Context, point string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, fmqmd, args...)
	cmd.Dir = s.dir
	cmd.Env = append(os.Environ(), "FMQM_FAILPOINT="+point)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func (s *site) showLog() {
	log, err := os.ReadFile(filepath.Join(s.dir, "log"))
	s.t.Logf("log of %s (%v):\n%s", s.name, err, bytes.TrimSpace(log))
}

// runs are the executions that programs noted here: instance, activity, iteration and key.
func (s *site) runs() []string {
	text, err := os.ReadFile(filepath.Join(s.dir, "runs"))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		s.t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(text)), "\n")
}

// until repeats a request until it succeeds: a node that is down, or dies meanwhile, is
// asked again. An answer of a node that is up is an error, unless it is one of bear.
func until(ctx context.Context, t *testing.T, what string, request func() error, bear ...api.Code) {
	t.Helper()
	var last error
	err := sim.Until(ctx, func() (bool, error) {
		last = request()
		code := api.CodeOf(last)
		switch {
		case last == nil:
			return true, nil
		case code == api.CodeUnreachable:
			return false, nil
		}
		for _, b := range bear {
			if code == b {
				return false, nil
			}
		}
		return false, last
	})
	if err != nil {
		t.Fatalf("%s: %v (last: %v)", what, err, last)
	}
}

// notYet is the error of a request that is to be repeated.
func notYet(format string, args ...any) error {
	return api.Errorf(api.CodeUnreachable, "", format, args...)
}
