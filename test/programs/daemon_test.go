package programs

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"
	"go.uber.org/goleak"

	"fmqm/api"
	"fmqm/test/fleet"
)

// patience bounds what a test waits for: a busy machine is slow.
const patience = 3 * time.Minute

func TestMain(m *testing.M) { goleak.VerifyTestMain(built{m}) }

// built runs the tests with binaries that were just built.
type built struct{ m *testing.M }

func (b built) Run() int { return fleet.Main(b.m) }

// site is one node, as a sysadmin has it: a configuration, programs, a daemon.
type site struct {
	*fleet.Site
	t     *testing.T
	told  *os.File // what programs write to the fifo `told`
	lines *bufio.Reader
}

// newSite writes a configuration with programs, as lines of YAML. Nothing runs yet.
func newSite(t *testing.T, programs ...string) *site {
	t.Helper()
	f := fleet.New(t, fleet.Options{Sites: []string{"A"}, Down: true, Programs: func(string) []string { return programs }})
	s := &site{Site: f.Sites["A"], t: t}
	told := s.File("told")
	if err := syscall.Mkfifo(told, 0o600); err != nil {
		t.Fatal(err)
	}
	var err error
	if s.told, err = os.OpenFile(told, os.O_RDWR|syscall.O_NONBLOCK, 0); err != nil {
		t.Fatal(err)
	}
	s.lines = bufio.NewReader(s.told)
	t.Cleanup(func() {
		s.Kill()
		_ = s.told.Close()
	})
	return s
}

func (s *site) write(name string, mode os.FileMode, text string) {
	s.t.Helper()
	if err := os.WriteFile(s.File(name), []byte(text), mode); err != nil {
		s.t.Fatal(err)
	}
}

// script writes a program of the site.
func (s *site) script(name, text string) {
	s.t.Helper()
	s.write(name, 0o700, "#!/bin/sh\n"+text+"\n")
}

// start starts the daemon and returns when it answers.
func (s *site) start() {
	s.t.Helper()
	s.Start()
	s.Answers()
}

// tells gives the next line that a program wrote to the fifo `told`, in fields.
func (s *site) tells() []string {
	s.t.Helper()
	if err := s.told.SetReadDeadline(time.Now().Add(patience)); err != nil {
		s.t.Fatal(err)
	}
	line, err := s.lines.ReadString('\n')
	if err != nil {
		s.t.Fatalf("no program said anything: %v\n%s", err, s.Log())
	}
	return strings.Fields(line)
}

// silent reports whether no program has said anything more.
func (s *site) silent() bool {
	s.t.Helper()
	return s.lines.Buffered() == 0 && fleet.Unread(s.t, s.told) == 0
}

// process gives the definition of a process with one activity, work, that has the
// given keys beside node and containers.
func process(name, keys string) string {
	return fmt.Sprintf(`process: %s
version: 1
structures: {Box: {n: int, text: string}, Result: {n: int, text: string, rc: int}}
input: Box
output: Result
activities:
  work: {node: A, input: Box, output: Box, %s}
control: []
data:
  - source -> work
  - work -> sink
`, name, keys)
}

// reading is process with an _RC that is data.
func reading(name, keys string) string {
	return strings.Replace(process(name, keys), "- work -> sink", "- work -> sink: {n: n, text: text, rc: _RC}", 1)
}

// begin starts an instance.
func (s *site) begin(process, input string) api.InstanceID {
	s.t.Helper()
	id := uuid.Must(uuid.NewV7())
	if _, err := s.Client.Start(s.t.Context(), api.StartRequest{Instance: id, Process: process, Input: json.RawMessage(input)}); err != nil {
		s.t.Fatal(err)
	}
	return id
}

// await waits until the instance does not run any more, and gives it and its activity.
func (s *site) await(id api.InstanceID) (api.Status, api.Activity) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for {
		status, err := s.Client.Wait(ctx, id, 10*time.Second)
		if err != nil {
			s.t.Fatalf("%v\n%s", err, s.Log())
		}
		if status.State != api.InstanceRunning {
			return status, status.Activities[0]
		}
	}
}

// running says whether a process exists and is no zombie.
func running(pid string) bool {
	stat, err := os.ReadFile("/proc/" + pid + "/stat")
	if err != nil {
		return false
	}
	_, rest, ok := strings.Cut(string(stat), ") ")
	return ok && rest[0] != 'Z' && rest[0] != 'X'
}
