package fleet

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// life is one run of a site's daemon.
type life struct {
	command *exec.Cmd
	asked   os.Signal     // with which the test ends it; nil: it does not
	over    chan struct{} // closed when it has ended
	err     error         // how, then
}

func (l *life) isOver() bool {
	select {
	case <-l.over:
		return true
	default:
		return false
	}
}

// killed says whether a process was ended by kill -9.
func killed(err error) bool {
	var exit *exec.ExitError
	return errors.As(err, &exit) && exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL
}

// Start runs the daemon, unless it runs; it may not listen yet when Start returns.
func (s *Site) Start() {
	s.t.Helper()
	if s.Up() && !s.HasEnded() {
		return
	}
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
	return s.StartHeldToDie(point, "")
}

// StartHeldToDie is Start of a daemon that can be held at one failpoint, and dies at another.
func (s *Site) StartHeldToDie(point, death string) *Hold {
	s.t.Helper()
	h := &Hold{site: s, point: point, file: s.File("hold")}
	s.start("FMQM_HOLD="+point+"="+h.file, "FMQM_FAILPOINT="+death)
	return h
}

// DiesAt has a daemon that is started from now on kill itself at failpoints, at one in each of
// its lives, and come back each time, also while the test stops it. The channel is closed when it
// has died at the last; without points it is closed.
func (s *Site) DiesAt(points ...string) (died <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.points, s.died = points, make(chan struct{})
	if len(points) == 0 {
		close(s.died)
	}
	return s.died
}

func (s *Site) start(env ...string) {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.run(env...); err != nil {
		s.t.Fatal(err)
	}
}

// run runs the daemon, with this in its environment besides what all have; s.mu is held.
func (s *Site) run(env ...string) error {
	log, err := os.OpenFile(s.File("log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	before, err := log.Stat()
	if err != nil {
		return err
	}
	s.begun = int(before.Size())
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
	if len(s.points) > 0 {
		c.Env = append(c.Env, "FMQM_FAILPOINT="+s.points[0])
	}
	if err := c.Start(); err != nil {
		return err
	}
	s.life = &life{command: c, over: make(chan struct{})}
	go s.watch(s.life)
	return nil
}

// watch waits for the end of a life. One that ends where DiesAt says is followed by another.
func (s *Site) watch(l *life) {
	l.err = l.command.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	defer close(l.over)
	if len(s.points) == 0 || l.asked == syscall.SIGKILL || !killed(l.err) {
		return
	}
	l.err = nil // it has done as it was told
	if s.points = s.points[1:]; len(s.points) == 0 {
		close(s.died)
	}
	if err := s.run(); err != nil {
		s.t.Error(err)
	}
}

// Up says whether the daemon was started and not ended by the test.
func (s *Site) Up() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.life != nil
}

// Process is the running daemon's process identifier; 0: it is down.
func (s *Site) Process() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.life == nil {
		return 0
	}
	return s.life.command.Process.Pid
}

// Signal sends a signal and does not wait for what it does.
func (s *Site) Signal(which os.Signal) {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.life == nil {
		s.t.Fatalf("%s is down", s.Name)
	}
	if err := s.life.command.Process.Signal(which); err != nil {
		s.t.Fatal(err)
	}
}

// end sends a signal and waits for the daemon's end.
func (s *Site) end(which os.Signal) error {
	s.mu.Lock()
	l := s.life
	if l == nil {
		s.mu.Unlock()
		return nil
	}
	l.asked = which
	err := l.command.Process.Signal(which)
	s.mu.Unlock()
	if err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	<-l.over
	s.forget(l)
	return l.err
}

// forget: the site is down once a life is over, unless another has followed.
func (s *Site) forget(l *life) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.life == l {
		s.life = nil
	}
}

// now is the life of a daemon that was started.
func (s *Site) now() *life {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.life == nil {
		s.t.Fatalf("%s is down", s.Name)
	}
	return s.life
}

// Died waits until the daemon was killed at the failpoint that it was started with.
func (s *Site) Died(ctx context.Context) {
	s.t.Helper()
	l := s.now()
	select {
	case <-l.over:
		if !killed(l.err) {
			s.t.Fatalf("%s ended with %v, and not at its failpoint\n%s", s.Name, l.err, s.LastLog(15))
		}
		s.forget(l)
	case <-ctx.Done():
		s.t.Fatalf("%s does not come to its failpoint: %v\n%s", s.Name, ctx.Err(), s.LastLog(15))
	}
}

// Ends waits for the daemon's end, which something else brings about, and gives its exit
// code.
func (s *Site) Ends() int {
	s.t.Helper()
	l := s.now()
	select {
	case <-l.over:
	case <-time.After(Patience):
		s.t.Fatalf("%s does not end", s.Name)
	}
	s.forget(l)
	return l.command.ProcessState.ExitCode()
}

// HasEnded says whether the daemon has ended by itself, since it was started.
func (s *Site) HasEnded() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.life != nil && s.life.isOver()
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
