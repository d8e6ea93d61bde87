package sites

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"fmqm/api"
	"fmqm/test/fleet"
)

// N2: a daemon that is frozen answers nobody. A start that gives up, and one whose
// client is killed, have perhaps happened: with the same key they are repeated, and
// there is one instance.
func TestAStartThatTimesOutIsRepeatedAndStartsOne(t *testing.T) {
	n := smallNetwork(t)
	a := n.sites["A"]
	line := []string{"start", "small", "--to", a.To(), "--key", "nightly", "--input", `{"text": "once"}`, "-o", "json"}

	a.Signal(syscall.SIGSTOP)
	_, talk, code := fleet.Run(t, "fmqm", append(line, "--timeout", "1s")...)
	if code != 5 || !strings.Contains(talk, "may have started: see fmqm status") {
		t.Errorf("exit code %d, want 5; it said %s", code, talk)
	}
	killed := client(t, line...)
	killed.waits()
	if err := killed.Process.Kill(); err != nil {
		t.Error(err)
	}
	waiting := client(t, line...) // as long as it has asked or will, it is answered once the daemon goes on
	a.Signal(syscall.SIGCONT)
	if err := waiting.Wait(); err != nil {
		t.Errorf("the client that was waiting: %v", err)
	}

	again := fleet.Must(t, "fmqm", append(line, "--wait")...)
	if all := instances(t, a); len(all) != 1 || all[0] != started(t, again) {
		t.Errorf("instances %v, want only %s", all, started(t, again))
	}
}

// N2, without a key: the client itself repeats with its identifier.
func TestAClientRepeatsWhatAFrozenDaemonMayHaveDone(t *testing.T) {
	n := smallNetwork(t)
	a := n.sites["A"]
	a.Signal(syscall.SIGSTOP)
	c := client(t, "start", "small", "--to", a.To(), "-o", "json")
	c.waits()
	a.Signal(syscall.SIGCONT)
	if err := c.Wait(); err != nil {
		t.Errorf("the client: %v", err)
	}
	if all := instances(t, a); len(all) != 1 || all[0] != started(t, c.out.String()) {
		t.Errorf("instances %v, the client says %s", all, c.out.String())
	}
}

// askFor is how long a client that runs beside a test waits for one answer. It gives up after
// three times that: what is left of it when a daemon goes on is more than a busy machine
// stalls for.
const askFor = "10s"

// asking is a client that runs beside the test.
type asking struct {
	*exec.Cmd
	t    *testing.T
	out  strings.Builder
	talk *bufio.Reader
}

func client(t *testing.T, args ...string) *asking {
	t.Helper()
	c := &asking{t: t, Cmd: exec.Command(filepath.Join(fleet.Bin, "fmqm"), append(args, "--timeout", askFor)...)}
	c.Stdout = &c.out
	talk, err := c.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	c.talk = bufio.NewReader(talk)
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.Process.Kill()
		_ = c.Wait()
	})
	return c
}

// waits waits until a request of the client has timed out.
func (c *asking) waits() {
	c.t.Helper()
	line, err := c.talk.ReadString('\n')
	if err != nil || !strings.Contains(line, "asking again for the same instance") {
		c.t.Fatalf("the client said %q: %v", line, err)
	}
}

// gated is the small process at one site, with a program that waits.
var gated = strings.NewReplacer("process: small", "process: gated", "{node: A, program: pass", "{node: A, program: gate", "node: B", "node: A").Replace(smallProcess)

// gate is a program that says under which key it runs, and goes on when it is told.
type gate struct {
	t           *testing.T
	said, opens *os.File
}

func newGate(t *testing.T) (g *gate, program string) {
	t.Helper()
	dir := t.TempDir()
	pipe := func(name string) *os.File {
		path := filepath.Join(dir, name)
		if err := syscall.Mkfifo(path, 0o600); err != nil {
			t.Fatal(err)
		}
		f, err := os.OpenFile(path, os.O_RDWR, 0) // both ends: opening does not wait
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = f.Close() })
		return f
	}
	g = &gate{t: t, said: pipe("said"), opens: pipe("opens")}
	return g, fmt.Sprintf(`gate: {exec: [/bin/sh, -c, 'echo "$FMQM_IDEMPOTENCY_KEY" > %s/said; read go < %s/opens; cat'], timeout: 5m}`, dir, dir)
}

// runs waits until the program runs, and gives its key.
func (g *gate) runs() string {
	g.t.Helper()
	if err := g.said.SetReadDeadline(time.Now().Add(fleet.Patience)); err != nil {
		g.t.Fatal(err)
	}
	buf := make([]byte, 200)
	n, err := g.said.Read(buf)
	if err != nil {
		g.t.Fatalf("the program does not run: %v", err)
	}
	return string(buf[:n])
}

// silent says whether no program has run since.
func (g *gate) silent() bool {
	g.t.Helper()
	return fleet.Unread(g.t, g.said) == 0
}

func (g *gate) open() {
	g.t.Helper()
	if _, err := g.opens.WriteString("go\n"); err != nil {
		g.t.Fatal(err)
	}
}

// gatedSite starts an instance at a site and gives it when its program runs.
func gatedSite(t *testing.T) (a *site, g *gate, id, key string) {
	t.Helper()
	g, program := newGate(t)
	n := newNetwork(t, map[string][]string{"A": {program, "pass: {builtin: echo}"}})
	a = n.sites["A"]
	a.Upload(gated)
	id = started(t, fleet.Must(t, "fmqm", "start", "gated", "--to", a.To(), "--input", `{"text": "kept"}`, "-o", "json"))
	return a, g, id, g.runs()
}

// finishes waits for the instance's end, with the output that it was given.
func finishes(t *testing.T, a *site, id string) {
	t.Helper()
	fleet.Must(t, "fmqm", "watch", id, "--to", a.To())
	var s api.Status
	if err := json.Unmarshal([]byte(fleet.Must(t, "fmqm", "status", id, "--to", a.To(), "-o", "json")), &s); err != nil {
		t.Fatal(err)
	}
	var output struct{ Text string }
	if err := json.Unmarshal(s.Output, &output); s.State != api.InstanceFinished || err != nil || output.Text != "kept" {
		t.Errorf("%s with %s", s.State, s.Output)
	}
}

// SIGTERM: a program that runs may finish, and what it gave is kept: it does not run
// again.
func TestSIGTERMLetsRunningProgramsFinish(t *testing.T) {
	a, g, id, _ := gatedSite(t)
	a.Signal(syscall.SIGTERM)
	a.Says("stopping: programs that run may finish")
	g.open()
	if code := a.Ends(); code != 0 {
		t.Errorf("exit code %d, want 0", code)
	}
	a.Start()
	a.Answers()
	finishes(t, a, id)
	if !g.silent() {
		t.Error("the program ran again")
	}
}

// A second signal stops at once, though a program runs; that is killed at the next
// start and runs again, under the same key (P1, P2).
func TestASecondSignalStopsAtOnce(t *testing.T) {
	a, g, id, key := gatedSite(t)
	a.Signal(syscall.SIGTERM)
	a.Says("stopping: programs that run may finish")
	a.Signal(syscall.SIGINT)
	if code := a.Ends(); code != 1 {
		t.Errorf("exit code %d, want 1", code)
	}
	a.Says("stopped at once")
	a.Start()
	a.Answers()
	if again := g.runs(); again != key {
		t.Errorf("it ran under the key %s, and then under %s", key, again)
	}
	g.open() // the only reader is the second: the first would take this away
	finishes(t, a, id)
}
