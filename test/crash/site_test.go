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
	"syscall"
	"testing"
	"time"

	"fmqm/api"
	"fmqm/sim"
)

// patience bounds everything that a test waits for.
const patience = 60 * time.Second

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

// site is one daemon, as a process.
type site struct {
	t      *testing.T
	name   string
	dir    string
	client *api.Client
	cmd    *exec.Cmd
	dead   chan error // gets how the process ended
}

// newSite writes a site's configuration and programs. Nothing runs yet.
func newSite(t *testing.T, dir, name, address, peer, peerAddress string) *site {
	t.Helper()
	s := &site{t: t, name: name, dir: filepath.Join(dir, name)}
	config := fmt.Sprintf("node: %s\ndata: store\nlisten: %s\nsocket: sock\nlinks:\n  peers:\n    %s: http://%s\nprograms:\n", name, address, peer, peerAddress)
	if err := os.MkdirAll(s.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for program, text := range programs {
		s.write(program, "#!/bin/sh\necho \"$FMQM_ACTIVITY $FMQM_ITERATION $FMQM_IDEMPOTENCY_KEY\" >>"+filepath.Join(s.dir, "runs")+"\n"+text+"\n", 0o755)
		config += fmt.Sprintf("  %s: {exec: [%s]}\n", program, filepath.Join(s.dir, program))
	}
	s.write("fmqmd.yaml", config, 0o644)
	client, err := api.NewClient("http://"+address, patience)
	if err != nil {
		t.Fatal(err)
	}
	s.client = client
	t.Cleanup(func() {
		client.Close()
		s.kill()
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

// start runs the daemon; it may kill itself at a point.
func (s *site) start(point string) error {
	log, err := os.OpenFile(filepath.Join(s.dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer log.Close()
	s.cmd = exec.Command(fmqmd, "run", "--config", filepath.Join(s.dir, "fmqmd.yaml"), "--log-format", "json")
	s.cmd.Stdout, s.cmd.Stderr = log, log
	s.cmd.Env = append(os.Environ(), "FMQM_FAILPOINT="+point)
	if err := s.cmd.Start(); err != nil {
		s.cmd = nil
		return err
	}
	s.dead = make(chan error, 1)
	cmd, dead := s.cmd, s.dead
	go func() { dead <- cmd.Wait() }()
	return nil
}

// died waits until the daemon was killed by its failpoint.
func (s *site) died(ctx context.Context) error {
	select {
	case err := <-s.dead:
		s.cmd = nil
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
			return fmt.Errorf("%s ended with %w, not by its failpoint", s.name, err)
		}
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%s: the point was not hit", s.name)
	}
}

func (s *site) kill() {
	if s.cmd == nil {
		return
	}
	_ = s.cmd.Process.Kill()
	<-s.dead
	s.cmd = nil
}

// stop ends the daemon gracefully.
func (s *site) stop(ctx context.Context) {
	s.t.Helper()
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		s.t.Fatal(err)
	}
	select {
	case err := <-s.dead:
		s.cmd = nil
		if err != nil {
			s.t.Errorf("%s ended with %v", s.name, err)
		}
	case <-ctx.Done():
		s.t.Errorf("%s does not stop", s.name)
	}
}

func (s *site) showLog() {
	log, err := os.ReadFile(filepath.Join(s.dir, "log"))
	s.t.Logf("log of %s (%v):\n%s", s.name, err, bytes.TrimSpace(log))
}

// runs are the executions that programs noted here: activity, iteration and key.
func (s *site) runs() []string {
	text, err := os.ReadFile(filepath.Join(s.dir, "runs"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
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
