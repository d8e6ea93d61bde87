// Package exampletest tries an example: its definition, the configurations of its
// nodes and its programs, over the cases in its testdata/cases.json. It works on a copy
// of the example's directory, so programs may write beside it.
package exampletest

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fmqm/container"
	"fmqm/definition"
	"fmqm/interpret"
	"fmqm/node/config"
	"fmqm/processtable"
	"fmqm/program"
)

// Case is one instance of an example's process and what becomes of it.
type Case struct {
	Name  string          `json:"name"`
	At    string          `json:"at"`             // the node where it is started
	Key   string          `json:"key,omitempty"`  // its start key
	Away  []string        `json:"away,omitempty"` // nodes that come up only after the start
	Input json.RawMessage `json:"input"`
	State string          `json:"state"`
	// States are those of the activities, with the iterations of those that ran more
	// than once, such as "terminated 3".
	States map[string]string `json:"states"`
	Output json.RawMessage   `json:"output,omitempty"` // of a finished instance
}

// Example is one example, loaded.
type Example struct {
	Dir     string // the copy
	Process *definition.Process
	Configs map[string]*config.Config // by node
	Cases   []Case
}

// waits are those between attempts and iterations, which a test has no time for.
var waits = regexp.MustCompile(`\b(backoff|max_backoff|after|max): [0-9]+[smh]\b`)

// Load copies the example in dir and loads it. Its definition is DIR.yaml in DIR, and
// must check without a warning; every other YAML file is a node's configuration.
func Load(t *testing.T, dir string) *Example {
	t.Helper()
	dir, err := filepath.Abs(dir)
	if err != nil {
		t.Fatal(err)
	}
	e := &Example{Dir: filepath.Join(t.TempDir(), filepath.Base(dir)), Configs: map[string]*config.Config{}}
	if err := os.CopyFS(e.Dir, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(e.Dir, "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if filepath.Base(file) == filepath.Base(dir)+".yaml" {
			e.Process = process(t, file)
			continue
		}
		c, err := config.Load(file, func(string) string { return "" }, config.Overrides{})
		if err != nil {
			t.Fatal(err)
		}
		e.Configs[string(c.Node)] = c
	}
	text, err := os.ReadFile(filepath.Join(e.Dir, "testdata", "cases.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &e.Cases); err != nil {
		t.Fatalf("cases.json: %v", err)
	}
	return e
}

func process(t *testing.T, file string) *definition.Process {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	_, diagnostics := definition.Load(filepath.Base(file), text)
	for _, d := range diagnostics {
		t.Error(d.Text(text))
	}
	processes, _ := definition.Load(filepath.Base(file), waits.ReplaceAll(text, []byte("$1: 10ms")))
	if len(processes) != 1 {
		t.Fatalf("%d processes in %s, want 1", len(processes), file)
	}
	return processes[0]
}

// Run is the whole test of an example in one place, without nodes: its parts fit, and
// each case ends as it should under the interpreter, with the example's real programs.
func Run(t *testing.T, dir string) {
	e := Load(t, dir)
	t.Run("parts fit", e.checkParts)
	for _, c := range e.Cases {
		t.Run(c.Name, func(t *testing.T) {
			e.Check(t, c, StatusOf(t, e.Interpret(t, c)))
		})
	}
}

// checkParts: every program is registered where it is needed and nowhere else, nodes
// find one another, and the README is short.
func (e *Example) checkParts(t *testing.T) {
	needed := map[string][]string{}
	for _, a := range e.Process.Activities {
		if !a.Empty && !slices.Contains(needed[a.Node], a.Program) {
			needed[a.Node] = append(needed[a.Node], a.Program)
		}
	}
	for node, c := range e.Configs {
		var registered []string
		for name, p := range c.Programs {
			registered = append(registered, string(name))
			if info, err := os.Stat(p.Exec[0]); err != nil || info.Mode()&0o111 == 0 {
				t.Errorf("%s: program %s: %s is not there or not executable", node, name, p.Exec[0])
			}
		}
		slices.Sort(registered)
		slices.Sort(needed[node])
		if diff := cmp.Diff(needed[node], registered); diff != "" {
			t.Errorf("programs of %s (-needed +registered):\n%s", node, diff)
		}
		for peer, p := range c.Peers {
			other := e.Configs[string(peer)]
			if other == nil {
				t.Fatalf("%s has a peer %s, which has no configuration", node, peer)
			}
			if back, ok := other.Peers[c.Node]; !ok || p.Address == "" && back.Address == "" {
				t.Errorf("%s and %s: one has to call and both have to know it", node, peer)
			}
			if p.Address != "" && p.Address != "http://"+other.Listen {
				t.Errorf("%s calls %s at %s, which listens on %s", node, peer, p.Address, other.Listen)
			}
		}
	}
	for node := range needed {
		if e.Configs[node] == nil {
			t.Errorf("node %s has no configuration", node)
		}
	}
	text, err := os.ReadFile(filepath.Join(e.Dir, "README.md"))
	if lines := strings.Count(strings.TrimSpace(string(text)), "\n") + 1; err != nil || lines > 25 {
		t.Errorf("README.md has %d lines: %v", lines, err)
	}
}

// Interpret runs a case in one place with the real programs.
func (e *Example) Interpret(t *testing.T, c Case) *interpret.Result {
	t.Helper()
	input, err := container.DecodeJSON(e.Process.Input, c.Input)
	if err != nil {
		t.Fatal(err)
	}
	result, err := interpret.Run(e.Process, input, e.programs(t), interpret.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return result
}

func (e *Example) programs(t *testing.T) interpret.Programs {
	t.Helper()
	return Programs(t, e.Configs, e.Process, func(activity string, iteration int) string { return e.key(t, activity, iteration) })
}

// Programs are what the configurations of a process's nodes register, run as the nodes
// would, under the idempotency keys that key gives.
func Programs(t *testing.T, configs map[string]*config.Config, p *definition.Process, key func(activity string, iteration int) string) interpret.Programs {
	t.Helper()
	sites := map[string]*program.Registry{}
	for node, c := range configs {
		r, err := program.NewRegistry(c.Programs, program.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(r.Close)
		sites[node] = r
	}
	return interpret.ProgramFunc(func(a *definition.Activity, call interpret.Call) interpret.Outcome {
		entry, ok := sites[a.Node].Lookup(processtable.ProgramID(a.Program))
		if !ok {
			return interpret.Outcome{Err: "program " + a.Program + " is not registered at " + a.Node}
		}
		r := entry.Program.Run(t.Context(), program.Call{
			Process: fmt.Sprintf("%s@%d", p.Name, p.Version), Instance: "instance", Activity: a.Name, Node: a.Node,
			Iteration: call.Iteration, Attempt: call.Attempt, Key: key(a.Name, call.Iteration),
			Input: call.Input, OutputType: a.Output, NoOutput: a.NoOutput, RCIsData: a.RCIsData, RCContinue: a.OnRC == definition.OnRCContinue,
			Log: func(line string) { t.Logf("%s: %s", a.Name, line) },
		})
		if r.Err != nil {
			t.Logf("%s: %v", a.Name, r.Err)
			return interpret.Outcome{Err: r.Err.Error()}
		}
		return interpret.Outcome{RC: r.RC, Output: r.Output}
	})
}

// key is an idempotency key that no other run has, in any test: what carries the key of
// an attempt that has ended is killed.
func (e *Example) key(t *testing.T, activity string, iteration int) string {
	sum := sha256.Sum256([]byte(strings.Join([]string{e.Dir, t.Name(), activity, strconv.Itoa(iteration)}, "\x00")))
	return hex.EncodeToString(sum[:16])
}

// Status is what of an instance's status is the same wherever it ran.
type Status struct {
	State      string          `json:"state"`
	Output     json.RawMessage `json:"output"`
	Activities []struct {
		Activity   string          `json:"activity"`
		Node       string          `json:"node"`
		State      string          `json:"state"`
		Iterations int             `json:"iterations"`
		Attempts   int             `json:"attempts"`
		RC         *int64          `json:"rc"`
		Output     json.RawMessage `json:"output"`
	} `json:"activities"`
}

// StatusOf gives what both runs have in common of an interpreter's result.
func StatusOf(t *testing.T, r *interpret.Result) Status {
	t.Helper()
	text, err := interpret.StatusJSON(r)
	if err != nil {
		t.Fatal(err)
	}
	return ParseStatus(t, text)
}

// ParseStatus reads a status as fmqm and fmqm-define print it.
func ParseStatus(t *testing.T, text []byte) (s Status) {
	t.Helper()
	if err := json.Unmarshal(text, &s); err != nil {
		t.Fatal(err)
	}
	for i := range s.Activities {
		if a := &s.Activities[i]; a.State != string(interpret.Terminated) {
			a.RC, a.Output = nil, nil // the interpreter tells them of what has terminated
		}
	}
	return s
}

// Check compares a status with what the case says.
func (e *Example) Check(t *testing.T, c Case, s Status) {
	t.Helper()
	if s.State != c.State {
		t.Errorf("the instance is %s, want %s", s.State, c.State)
	}
	states := map[string]string{}
	for _, a := range s.Activities {
		states[a.Activity] = a.State
		if a.Iterations > 1 {
			states[a.Activity] += " " + strconv.Itoa(a.Iterations)
		}
	}
	if diff := cmp.Diff(c.States, states); diff != "" {
		t.Errorf("states (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(anything(t, c.Output), anything(t, s.Output)); diff != "" {
		t.Errorf("output (-want +got):\n%s", diff)
	}
}

func anything(t *testing.T, text json.RawMessage) (v any) {
	t.Helper()
	if len(text) > 0 {
		if err := json.Unmarshal(text, &v); err != nil {
			t.Fatal(err)
		}
	}
	return v
}
