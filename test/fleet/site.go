package fleet

import (
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

// Site is one daemon.
type Site struct {
	Name   string
	Dir    string
	Listen string
	Client *api.Client // over the local socket

	// Release is the directory with the binaries of another release, which the daemon is
	// started of from now on; empty: Bin. See [Before].
	Release string

	t       *testing.T
	fleet   *Fleet
	apart   bool // it sees no process of others, as on a machine of its own
	mu      sync.Mutex
	command *exec.Cmd // nil: it is down
	ended   chan error
}

func (s *Site) connect() {
	s.t.Helper()
	client, err := api.NewClient(s.To(), Patience)
	if err != nil {
		s.t.Fatal(err)
	}
	s.Client = client
	s.t.Cleanup(client.Close)
}

// To is how fmqm and fmqm-define address the site.
func (s *Site) To() string { return "unix:" + filepath.Join(s.Dir, "sock") }

// File is a path in the site's directory.
func (s *Site) File(name string) string { return filepath.Join(s.Dir, name) }

// Binary is the file of one of the site's binaries, such as fmqmd, in its release.
func (s *Site) Binary(name string) string {
	if s.Release == "" {
		return filepath.Join(Bin, name)
	}
	return filepath.Join(s.Release, name)
}

// Configure writes the site's configuration, from what the fleet's options say now.
func (s *Site) Configure() {
	s.t.Helper()
	o := s.fleet.o
	var text strings.Builder
	fmt.Fprintf(&text, "node: %s\ndata: data\nlisten: %s\nsocket: sock\n", s.Name, s.Listen)
	links := ""
	if o.Links != nil {
		links = o.Links(s.fleet, s.Name)
	}
	if !strings.Contains(links, "identity:") {
		text.WriteString("insecure: true\n") // plain HTTP
	}
	text.WriteString(links)
	if o.Programs != nil {
		for i, p := range o.Programs(s.Name) {
			if i == 0 {
				text.WriteString("programs:\n")
			}
			fmt.Fprintf(&text, "  %s\n", p)
		}
	}
	if err := os.MkdirAll(s.Dir, 0o700); err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(s.File("fmqmd.yaml"), []byte(text.String()), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

// Start runs the daemon; it may not listen yet when Start returns.
func (s *Site) Start() {
	s.t.Helper()
	s.start()
}

// StartToDie is Start of a daemon that kills itself, as kill -9 does, at a failpoint, NAME
// or NAME:N for the N-th time that it is passed; [Site.Died] waits for that.
func (s *Site) StartToDie(point string) {
	s.t.Helper()
	s.start("FMQM_FAILPOINT=" + point)
}

// StartHeld is Start of a daemon that can be held at a failpoint.
func (s *Site) StartHeld(point string) *Hold {
	s.t.Helper()
	h := &Hold{site: s, point: point, file: s.File("hold")}
	s.start("FMQM_HOLD=" + point + "=" + h.file)
	return h
}

// start runs the daemon, with this in its environment besides what all have.
func (s *Site) start(env ...string) {
	s.t.Helper()
	log, err := os.OpenFile(s.File("log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		s.t.Fatal(err)
	}
	defer log.Close()
	var argv []string
	if s.fleet.o.Within != nil {
		argv = s.fleet.o.Within(s.Name)
	}
	argv = append(argv, s.Binary("fmqmd"), "run", "--config", s.File("fmqmd.yaml"), "--log-format", "json")
	if s.apart {
		argv = append([]string{"/bin/sh", "-c", `mount --make-rprivate / && mount -t proc proc /proc && exec "$@"`, "sh"}, argv...)
	}
	c := exec.Command(argv[0], argv[1:]...)
	if s.apart {
		c.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID | syscall.CLONE_NEWNS}
	}
	c.Stdout, c.Stderr = log, log
	c.Env = append(append(os.Environ(), s.fleet.o.Env...), env...)
	if err := c.Start(); err != nil {
		s.t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- c.Wait() }()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.command, s.ended = c, ended
}

// Answers waits until the daemon does.
func (s *Site) Answers() {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	defer cancel()
	err := sim.Until(ctx, func() (bool, error) {
		_, err := s.Client.Nodes(ctx)
		return err == nil, nil
	})
	if err != nil {
		s.t.Fatalf("%s does not answer: %v", s.Name, err)
	}
}

// Up says whether the daemon was started and not ended by the test.
func (s *Site) Up() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.command != nil
}

// Process is the running daemon's process identifier; 0: it is down.
func (s *Site) Process() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.command == nil {
		return 0
	}
	return s.command.Process.Pid
}

// Signal sends a signal and does not wait for what it does.
func (s *Site) Signal(which os.Signal) {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.command == nil {
		s.t.Fatalf("%s is down", s.Name)
	}
	if err := s.command.Process.Signal(which); err != nil {
		s.t.Fatal(err)
	}
}

// end sends a signal and waits for the daemon's end.
func (s *Site) end(which os.Signal) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.command == nil {
		return nil
	}
	if err := s.command.Process.Signal(which); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	err := <-s.ended
	s.command = nil
	return err
}

// Died waits until the daemon was killed at the failpoint that it was started with.
func (s *Site) Died(ctx context.Context) {
	s.t.Helper()
	s.mu.Lock()
	ended := s.ended
	s.mu.Unlock()
	select {
	case err := <-ended:
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
			s.t.Fatalf("%s ended with %v, and not at its failpoint\n%s", s.Name, err, s.LastLog(15))
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.command = nil
	case <-ctx.Done():
		s.t.Fatalf("%s does not come to its failpoint: %v\n%s", s.Name, ctx.Err(), s.LastLog(15))
	}
}

// Ends waits for the daemon's end, which something else brings about, and gives its exit
// code.
func (s *Site) Ends() int {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.ended:
	case <-time.After(Patience):
		s.t.Fatalf("%s does not end", s.Name)
	}
	code := s.command.ProcessState.ExitCode()
	s.command = nil
	return code
}

// HasEnded says whether the daemon has ended by itself, since it was started.
func (s *Site) HasEnded() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.command != nil && len(s.ended) > 0
}

// Kill is kill -9.
func (s *Site) Kill() { _ = s.end(syscall.SIGKILL) }

// Stop ends the daemon in order.
func (s *Site) Stop() {
	s.t.Helper()
	if err := s.end(syscall.SIGTERM); err != nil {
		s.t.Errorf("%s: stop: %v\n%s", s.Name, err, s.LastLog(15))
	}
}

// Says waits until the daemon's log has something.
func (s *Site) Says(what string) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	defer cancel()
	err := sim.Until(ctx, func() (bool, error) {
		text, err := os.ReadFile(s.File("log"))
		return strings.Contains(string(text), what), err
	})
	if err != nil {
		s.t.Fatalf("%s does not say %q: %v\n%s", s.Name, what, err, s.LastLog(15))
	}
}

// Log is all that the daemon has said.
func (s *Site) Log() string {
	text, err := os.ReadFile(s.File("log"))
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// LastLog is the last lines of it.
func (s *Site) LastLog(lines int) string {
	all := strings.Split(strings.TrimSpace(s.Log()), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}
