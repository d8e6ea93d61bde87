package sites

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
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

// patience is how long anything may take on a busy machine.
const patience = 2 * time.Minute

// network is four daemons, each with its directory, and wires between them.
type network struct {
	t     *testing.T
	sites map[string]*site
	wires map[[2]string]*wire // from one that dials to one that listens
}

// site is one daemon.
type site struct {
	t       *testing.T
	name    string
	dir     string
	listen  string
	disk    *disk // nil: that of the test's directory
	client  *api.Client
	mu      sync.Mutex
	command *exec.Cmd // nil: it is down
	ended   chan error
}

var names = []string{"A", "B", "C", "D"}

// newNetwork starts four daemons with the given programs (a line of YAML for each).
func newNetwork(t *testing.T, programs map[string][]string) *network {
	t.Helper()
	return newNetworkWith(t, programs, "")
}

// newNetworkWith is newNetwork; the data of one site is on a small disk of its own, if
// one can be mounted.
func newNetworkWith(t *testing.T, programs map[string][]string, small string) *network {
	t.Helper()
	n := &network{t: t, sites: map[string]*site{}, wires: map[[2]string]*wire{}}
	for _, name := range names {
		s := &site{t: t, name: name, dir: filepath.Join(t.TempDir(), name), listen: freePort(t)}
		n.sites[name] = s
	}
	for _, from := range names {
		for _, to := range names {
			if from != to {
				n.wires[[2]string{from, to}] = newWire(t, n.sites[to].listen)
			}
		}
	}
	for _, name := range names {
		s := n.sites[name]
		if name == small {
			s.disk = mountDisk(t, filepath.Join(s.dir, "data"))
		}
		s.configure(n, programs[name])
		s.start()
	}
	t.Cleanup(func() {
		for _, s := range n.sites {
			s.kill()
		}
		if t.Failed() {
			for _, s := range n.sites {
				t.Logf("%s: the last of its log:\n%s", s.name, s.lastLog())
			}
		}
	})
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	n.connected(ctx)
	return n
}

// freePort gives an address below the ports that the kernel hands out by itself, so
// that a daemon that is down finds it free when it comes back.
func freePort(t *testing.T) string {
	t.Helper()
	for range 1000 {
		address := fmt.Sprintf("127.0.0.1:%d", 15_000+rand.IntN(17_000))
		l, err := net.Listen("tcp", address)
		if err == nil {
			_ = l.Close()
			return address
		}
	}
	t.Fatal("no free port")
	return ""
}

func (s *site) configure(n *network, programs []string) {
	var text strings.Builder
	fmt.Fprintf(&text, "node: %s\ndata: data\nlisten: %s\nsocket: sock\nlinks:\n  peers:\n", s.name, s.listen)
	for _, peer := range names {
		if peer != s.name {
			fmt.Fprintf(&text, "    %s: http://%s\n", peer, n.wires[[2]string{s.name, peer}].address())
		}
	}
	if s.disk.mounted() {
		text.WriteString(diskLimits)
	}
	if len(programs) > 0 {
		text.WriteString("programs:\n")
	}
	for _, p := range programs {
		fmt.Fprintf(&text, "  %s\n", p)
	}
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(s.dir, "fmqmd.yaml"), []byte(text.String()), 0o600); err != nil {
		s.t.Fatal(err)
	}
	client, err := api.NewClient(s.to(), patience)
	if err != nil {
		s.t.Fatal(err)
	}
	s.client = client
	s.t.Cleanup(client.Close)
}

// to is how fmqm and fmqm-define address the site.
func (s *site) to() string { return "unix:" + filepath.Join(s.dir, "sock") }

// start runs the daemon; it may not listen yet when start returns.
func (s *site) start() {
	s.t.Helper()
	log, err := os.OpenFile(filepath.Join(s.dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		s.t.Fatal(err)
	}
	defer log.Close()
	c := exec.Command(filepath.Join(bin, "fmqmd"), "run", "--config", filepath.Join(s.dir, "fmqmd.yaml"), "--log-format", "json")
	c.Stdout, c.Stderr = log, log
	if err := c.Start(); err != nil {
		s.t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- c.Wait() }()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.command, s.ended = c, ended
}

// answers waits until the daemon does.
func (s *site) answers() {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	err := sim.Until(ctx, func() (bool, error) {
		_, err := s.client.Nodes(ctx)
		return err == nil, nil
	})
	if err != nil {
		s.t.Fatalf("%s does not answer: %v", s.name, err)
	}
}

func (s *site) up() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.command != nil
}

// signal sends a signal and waits for the daemon's end.
func (s *site) signal(which os.Signal) error {
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

// send sends a signal, and does not wait for what it does.
func (s *site) send(which os.Signal) {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.command.Process.Signal(which); err != nil {
		s.t.Fatal(err)
	}
}

// ends waits for the daemon's end, and gives its exit code.
func (s *site) ends() int {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.ended:
	case <-time.After(patience):
		s.t.Fatalf("%s does not end", s.name)
	}
	code := s.command.ProcessState.ExitCode()
	s.command = nil
	return code
}

// says waits until the daemon's log has something.
func (s *site) says(what string) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	err := sim.Until(ctx, func() (bool, error) {
		text, err := os.ReadFile(filepath.Join(s.dir, "log"))
		return strings.Contains(string(text), what), err
	})
	if err != nil {
		s.t.Fatalf("%s does not say %q: %v\n%s", s.name, what, err, s.lastLog())
	}
}

// kill is kill -9.
func (s *site) kill() { _ = s.signal(syscall.SIGKILL) }

// stop ends the daemon in order.
func (s *site) stop() {
	s.t.Helper()
	if err := s.signal(syscall.SIGTERM); err != nil {
		s.t.Errorf("%s: stop: %v", s.name, err)
	}
}

func (s *site) lastLog() string {
	text, err := os.ReadFile(filepath.Join(s.dir, "log"))
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return strings.Join(lines[max(0, len(lines)-15):], "\n")
}

// connected waits until every site is up and linked with all others.
func (n *network) connected(ctx context.Context) {
	n.t.Helper()
	n.until(ctx, "all sites linked", func() bool {
		for _, s := range n.sites {
			a, err := s.client.Nodes(ctx)
			if err != nil {
				return false
			}
			for _, node := range a.Nodes {
				if node.State != api.NodeSelf && node.State != "connected" {
					return false
				}
			}
		}
		return true
	})
}

// until polls a condition.
func (n *network) until(ctx context.Context, what string, holds func() bool) {
	n.t.Helper()
	if err := sim.Until(ctx, func() (bool, error) { return holds(), nil }); err != nil {
		n.t.Fatalf("%s: %v", what, err)
	}
}

// run runs a command and gives its standard output, what it says beside that, and its
// exit code.
func run(t *testing.T, name string, args ...string) (out, talk string, code int) {
	t.Helper()
	return feed(t, "", name, args...)
}

// feed is run, of a command that reads its standard input.
func feed(t *testing.T, stdin, name string, args ...string) (out, talk string, code int) {
	t.Helper()
	c := exec.Command(filepath.Join(bin, name), args...)
	var stdout, stderr bytes.Buffer
	c.Stdin, c.Stdout, c.Stderr = strings.NewReader(stdin), &stdout, &stderr
	err := c.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("%s %v: %v", name, args, err)
	}
	return stdout.String(), strings.TrimSpace(stderr.String()), c.ProcessState.ExitCode()
}

// must is run, of a command that must end with 0.
func must(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, talk, code := run(t, name, args...)
	if code != 0 {
		t.Fatalf("%s %v ended with %d:\n%s%s", name, args, code, out, talk)
	}
	return out
}

// timeless is a status as JSON without the instance and times, indented: to compare
// line by line what a network and the interpreter print.
func timeless(t *testing.T, status string) string {
	t.Helper()
	var object map[string]any
	if err := json.Unmarshal([]byte(status), &object); err != nil {
		t.Fatalf("%v:\n%s", err, status)
	}
	delete(object, "instance")
	activities, _ := object["activities"].([]any)
	for _, part := range append(activities, object) {
		if part, ok := part.(map[string]any); ok {
			delete(part, "started")
			delete(part, "ended")
		}
	}
	text, err := json.MarshalIndent(object, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
