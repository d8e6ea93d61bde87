package rabbittest

import (
	"bytes"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"
)

// process is a child in a process group of its own that dies with this process.
type process struct {
	cmd   *exec.Cmd
	ready chan struct{} // closed when the output had the text that was waited for
	ended chan struct{} // closed when it was waited for
	out   *tail
}

// launch starts cmd and gives it back at once; its ready is closed when a line of its
// output contains text.
func launch(cmd *exec.Cmd, out *tail, text string) (*process, error) {
	p := &process{cmd: cmd, ready: make(chan struct{}), ended: make(chan struct{}), out: out}
	out.expect(text, p.ready)
	cmd.Stdout, cmd.Stderr = out, out
	cmd.WaitDelay = 5 * time.Second // a grandchild may hold the output open
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	started := make(chan error)
	go func() {
		// Pdeathsig is sent when the thread ends that began the child: this one stays.
		runtime.LockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait() // how it ended is in its ProcessState
			close(p.ended)
		}
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start %s: %w", cmd.Path, err)
	}
	return p, nil
}

// await waits until the process is ready.
func (p *process) await(limit time.Duration) error {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-p.ready:
		return nil
	case <-p.ended:
		return fmt.Errorf("%s ended (%s); its output ends with:\n%s", p.cmd.Path, p.cmd.ProcessState, p.out)
	case <-timer.C:
		return fmt.Errorf("%s is not ready after %s; its output ends with:\n%s", p.cmd.Path, limit, p.out)
	}
}

func (p *process) running() bool {
	if p == nil {
		return false
	}
	select {
	case <-p.ended:
		return false
	default:
		return true
	}
}

// signal sends to the process group.
func (p *process) signal(s syscall.Signal) error {
	if !p.running() {
		return errors.New("it does not run")
	}
	return syscall.Kill(-p.cmd.Process.Pid, s)
}

// kill ends the process group and waits.
func (p *process) kill() {
	if p == nil {
		return
	}
	if p.running() {
		_ = p.signal(syscall.SIGKILL)
	}
	<-p.ended
}

// terminate asks the process to end, and kills it if it does not within limit.
func (p *process) terminate(limit time.Duration) {
	if !p.running() {
		return
	}
	_ = syscall.Kill(p.cmd.Process.Pid, syscall.SIGTERM)
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-p.ended:
	case <-timer.C:
	}
	p.kill()
}

// tailLines is how much of an output is kept.
const tailLines = 60

var colours = regexp.MustCompile("\x1b\\[[0-9;]*m")

// tail keeps the last lines of an output and waits for a text in it.
type tail struct {
	mu    sync.Mutex
	part  []byte
	lines []string
	text  string
	found chan struct{}
}

func (t *tail) expect(text string, found chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.part, t.text, t.found = nil, text, found
}

func (t *tail) Write(data []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.part = append(t.part, data...)
	for {
		i := bytes.IndexByte(t.part, '\n')
		if i < 0 {
			return len(data), nil
		}
		t.line(string(t.part[:i]))
		t.part = t.part[i+1:]
	}
}

func (t *tail) line(s string) {
	if t.lines = append(t.lines, colours.ReplaceAllString(s, "")); len(t.lines) > tailLines {
		t.lines = t.lines[1:]
	}
	if t.found != nil && strings.Contains(s, t.text) {
		close(t.found)
		t.found = nil
	}
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.Join(t.lines, "\n")
}
