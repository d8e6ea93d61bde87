package programs

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"
	"go.uber.org/goleak"

	"fmqm/api"
	"fmqm/definition"
)

// patience bounds what a test waits for: a busy machine is slow.
const patience = 60 * time.Second

var fmqmd string

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(built{m})
}

// built runs the tests with a daemon that was just built.
type built struct{ m *testing.M }

func (b built) Run() int {
	dir, err := os.MkdirTemp("", "fmqm-programs-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	fmqmd = filepath.Join(dir, "fmqmd")
	if out, err := exec.Command("go", "build", "-o", fmqmd, "fmqm/cmd/fmqmd").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build fmqmd: %v\n%s", err, out)
		return 1
	}
	return b.m.Run()
}

// site is one node, as a sysadmin has it: a configuration, programs, a daemon.
type site struct {
	t      *testing.T
	dir    string
	client *api.Client
	cmd    *exec.Cmd
	read   chan struct{} // closed when the daemon's log has ended
	told   *os.File      // what programs write to the fifo `told`
	lines  *bufio.Reader

	mu   sync.Mutex
	log  []string      // since it was started
	more chan struct{} // signalled when the log has grown
}

// newSite writes a configuration with programs, as lines of YAML. Nothing runs yet.
func newSite(t *testing.T, programs ...string) *site {
	t.Helper()
	s := &site{t: t, dir: t.TempDir(), more: make(chan struct{}, 1)}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	s.write("fmqmd.yaml", 0o600, "node: A\ndata: store\nlisten: "+address+"\ninsecure: true\nsocket: s\nprograms:\n  "+strings.Join(programs, "\n  ")+"\n")
	if err := syscall.Mkfifo(filepath.Join(s.dir, "told"), 0o600); err != nil {
		t.Fatal(err)
	}
	if s.told, err = os.OpenFile(filepath.Join(s.dir, "told"), os.O_RDWR|syscall.O_NONBLOCK, 0); err != nil {
		t.Fatal(err)
	}
	s.lines = bufio.NewReader(s.told)
	if s.client, err = api.NewClient("http://"+address, patience); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.kill()
		s.client.Close()
		_ = s.told.Close()
	})
	return s
}

func (s *site) write(name string, mode os.FileMode, text string) {
	s.t.Helper()
	if err := os.WriteFile(filepath.Join(s.dir, name), []byte(text), mode); err != nil {
		s.t.Fatal(err)
	}
}

// script writes a program of the site.
func (s *site) script(name, text string) {
	s.t.Helper()
	s.write(name, 0o700, "#!/bin/sh\n"+text+"\n")
}

// start starts the daemon and returns when it is ready.
func (s *site) start() {
	s.t.Helper()
	s.cmd = exec.Command(fmqmd, "run", "--config", filepath.Join(s.dir, "fmqmd.yaml"), "--log-format", "json")
	stderr, err := s.cmd.StderrPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.log, s.read = nil, make(chan struct{})
	go s.follow(bufio.NewScanner(stderr), s.read)
	s.awaitLog(`"message":"ready"`)
}

func (s *site) follow(in *bufio.Scanner, ended chan struct{}) {
	defer close(ended)
	for in.Scan() {
		s.mu.Lock()
		s.log = append(s.log, in.Text())
		s.mu.Unlock()
		select {
		case s.more <- struct{}{}:
		default:
		}
	}
}

// awaitLog waits until the daemon has logged a text, since it was started.
func (s *site) awaitLog(text string) {
	s.t.Helper()
	late := time.After(patience)
	for len(s.logged(text)) == 0 {
		select {
		case <-s.more:
		case <-s.read:
			if len(s.logged(text)) == 0 {
				s.t.Fatalf("the daemon ended:\n%s", strings.Join(s.logged(""), "\n"))
			}
		case <-late:
			s.t.Fatalf("not in the log: %s\n%s", text, strings.Join(s.logged(""), "\n"))
		}
	}
}

// logged gives the lines of the daemon's log that hold a text.
func (s *site) logged(text string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []string
	for _, line := range s.log {
		if strings.Contains(line, text) {
			found = append(found, line)
		}
	}
	return found
}

// kill is kill -9 of the daemon, and nothing but the daemon.
func (s *site) kill() { s.end(syscall.SIGKILL) }

// end sends signals and waits for the daemon's end.
func (s *site) end(signals ...syscall.Signal) {
	if s.cmd == nil {
		return
	}
	for _, signal := range signals {
		_ = s.cmd.Process.Signal(signal)
	}
	<-s.read
	_ = s.cmd.Wait()
	s.cmd = nil
}

// tells gives the next line that a program wrote to the fifo `told`, in fields.
func (s *site) tells() []string {
	s.t.Helper()
	if err := s.told.SetReadDeadline(time.Now().Add(patience)); err != nil {
		s.t.Fatal(err)
	}
	line, err := s.lines.ReadString('\n')
	if err != nil {
		s.t.Fatalf("no program said anything: %v\n%s", err, strings.Join(s.logged(""), "\n"))
	}
	return strings.Fields(line)
}

// silent reports whether no program has said anything more.
func (s *site) silent() bool {
	_ = s.told.SetReadDeadline(time.Now())
	_, err := s.lines.ReadByte()
	return err != nil
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

func (s *site) upload(text string) {
	s.t.Helper()
	processes, problems := definition.Load("test.yaml", []byte(text))
	for _, p := range problems {
		if p.Severity == definition.Error {
			s.t.Fatal(p.Text([]byte(text)))
		}
	}
	var r api.UploadRequest
	for _, p := range processes {
		compiled, err := definition.Compile(p)
		if err != nil {
			s.t.Fatal(err)
		}
		for i, table := range compiled.Tables {
			r.Tables = append(r.Tables, api.Table{
				Node: string(table.Node), Process: table.Process.String(), Definition: table.Definition.String(),
				SHA256: fmt.Sprintf("%x", sha256.Sum256(compiled.Encoded[i])), Table: compiled.Encoded[i],
			})
		}
	}
	answer, err := s.client.Upload(s.t.Context(), r)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, line := range answer.Nodes {
		if line.Result != api.ResultStored {
			s.t.Fatalf("upload: %+v", line)
		}
	}
}

// begin starts an instance.
func (s *site) begin(process, input string) api.InstanceID {
	s.t.Helper()
	id := uuid.Must(uuid.NewV7())
	if _, err := s.client.Start(s.t.Context(), api.StartRequest{Instance: id, Process: process, Input: json.RawMessage(input)}); err != nil {
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
		status, err := s.client.Wait(ctx, id, 10*time.Second)
		if err != nil {
			s.t.Fatalf("%v\n%s", err, strings.Join(s.logged(""), "\n"))
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
