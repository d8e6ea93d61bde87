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
	"time"

	"github.com/google/go-cmp/cmp"

	"fmqm/api"
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
	Gone  []string        `json:"gone,omitempty"` // nodes that come up only after its end
	Input json.RawMessage `json:"input"`
	// Events are sent from outside when it has been started, Results say the same, and which deadlines
	// come, where there are no nodes: as the file of `fmqm-define run --results`.
	Events  []Event         `json:"events,omitempty"`
	Work    []Word          `json:"work,omitempty"` // what people say then, one after the other
	Results json.RawMessage `json:"results,omitempty"`
	State   string          `json:"state"`
	// States are those of the activities, with the iterations of those that ran more
	// than once, such as "terminated 3".
	States map[string]string `json:"states"`
	Output json.RawMessage   `json:"output,omitempty"` // of a finished instance
	// Files are patterns of what its programs leave, at nodes: of each there is at least one.
	Files []string `json:"files,omitempty"`
}

// Word is of a person, who does an item as soon as there is one for him.
type Word struct {
	Activity string          `json:"activity"`
	At       string          `json:"at"` // the node that he asks, of whose staff he is
	As       string          `json:"as"`
	Output   json.RawMessage `json:"output,omitempty"`
	Refused  string          `json:"refused,omitempty"` // he may not have it: what he is told has this; the item is on no worklist of his
}

// Event is one that somebody sends, or that another process does.
type Event struct {
	Event string          `json:"event"`
	At    string          `json:"at"` // the node whose event queue it is for
	Key   string          `json:"key"`
	Data  json.RawMessage `json:"data,omitempty"`
	// Process is that of an instance which sends it: it is started at From, with Data as its input.
	Process string `json:"process,omitempty"`
	From    string `json:"from,omitempty"`
}

// Example is one example, loaded.
type Example struct {
	Dir       string                    // the copy
	Process   *definition.Process       // the one with the example's name
	Processes []*definition.Process     // all of its file
	Configs   map[string]*config.Config // by node
	Cases     []Case

	alone map[string]*config.Config // those of another copy: for runs without nodes
}

// waits are those between attempts and iterations, which a test has no time for.
var (
	waits     = regexp.MustCompile(`\b(?:retry|again): \{[^}]*\}`)
	durations = regexp.MustCompile(`\b(backoff|max_backoff|after|max): [0-9]+[smh]\b`)
)

// Load copies the example in dir and loads it. Its definition is DIR.yaml in DIR, and
// must check without a warning; every other YAML file is a node's configuration.
func Load(t *testing.T, dir string) *Example {
	t.Helper()
	dir, err := filepath.Abs(dir)
	if err != nil {
		t.Fatal(err)
	}
	e := &Example{Dir: filepath.Join(t.TempDir(), filepath.Base(dir))}
	e.Configs, e.alone = copied(t, dir, e.Dir), copied(t, dir, filepath.Join(t.TempDir(), filepath.Base(dir)))
	e.Processes = processes(t, filepath.Join(e.Dir, filepath.Base(dir)+".yaml"))
	for _, p := range e.Processes {
		if p.Name == filepath.Base(dir) {
			e.Process = p
		}
	}
	if e.Process == nil {
		t.Fatalf("no process %s", filepath.Base(dir))
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

// copied copies an example, and gives the configurations of its nodes there.
func copied(t *testing.T, from, to string) map[string]*config.Config {
	t.Helper()
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(to, "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	configs := map[string]*config.Config{}
	for _, file := range files {
		if filepath.Base(file) == filepath.Base(to)+".yaml" {
			continue
		}
		c, err := config.Load(file, func(string) string { return "" }, config.Overrides{})
		if err != nil {
			t.Fatal(err)
		}
		configs[string(c.Node)] = c
	}
	return configs
}

// processes are those of a file, without the waits.
func processes(t *testing.T, file string) []*definition.Process {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	_, diagnostics := definition.Load(filepath.Base(file), text)
	for _, d := range diagnostics {
		t.Error(d.Text(text))
	}
	quick := waits.ReplaceAllFunc(text, func(wait []byte) []byte { return durations.ReplaceAll(wait, []byte("$1: 10ms")) })
	all, _ := definition.Load(filepath.Base(file), quick)
	return all
}

// Run is the whole test of an example in one place, without nodes: its parts fit, and
// each case ends as it should under the interpreter, with the example's real programs.
func Run(t *testing.T, dir string) {
	e := Load(t, dir)
	t.Run("parts fit", e.checkParts)
	t.Run("results run", e.checkResults)
	for _, c := range e.Cases {
		t.Run(c.Name, func(t *testing.T) {
			e.Check(t, c, StatusOf(t, e.Interpret(t, c)))
		})
	}
}

// checkParts: every program is registered where it is needed and nowhere else, nodes
// find one another, and the README is short.
func (e *Example) checkParts(t *testing.T) {
	needed := e.needed()
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
			if other == nil && slices.Contains(e.called(), string(peer)) {
				continue
			}
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
	called := e.called()
	for node := range needed {
		if e.Configs[node] == nil && !slices.Contains(called, node) {
			t.Errorf("node %s has no configuration", node)
		}
	}
	text, err := os.ReadFile(filepath.Join(e.Dir, "README.md"))
	if lines := strings.Count(strings.TrimSpace(string(text)), "\n") + 1; err != nil || lines > 25 {
		t.Errorf("README.md has %d lines: %v", lines, err)
	}
}

// checkResults: each file of results finishes a run of what its line `# input:` says, without any program.
func (e *Example) checkResults(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(e.Dir, "results", "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		_, after, _ := strings.Cut(string(text), "\n# input: ")
		line, _, _ := strings.Cut(after, "\n")
		input, err := container.DecodeJSON(e.Process.Input, []byte(line))
		if err != nil {
			t.Fatalf("%s: input: %v", filepath.Base(file), err)
		}
		programs, err := interpret.ParseResults(e.Process, text, e.Processes...)
		if err != nil {
			t.Fatalf("%s: %v", filepath.Base(file), err)
		}
		r, err := interpret.Run(e.Process, input, programs, interpret.Options{Processes: e.Processes})
		if err != nil || r.State != interpret.Finished {
			t.Errorf("%s: %+v, %v", filepath.Base(file), r, err)
		}
	}
}

// called are the nodes to which only `at` leads: of many that are alike only some have a configuration.
func (e *Example) called() (nodes []string) {
	hosts := []string{}
	for _, p := range e.Processes {
		hosts = append(hosts, p.Starts...)
		for _, a := range p.All() {
			if hosts = append(hosts, a.Node); a.Call != nil {
				nodes = append(nodes, a.Call.Of...)
			}
		}
	}
	return slices.DeleteFunc(nodes, func(node string) bool { return slices.Contains(hosts, node) })
}

// needed are the programs that the activities of each node name, and the nodes that only start, or route.
func (e *Example) needed() map[string][]string {
	needed := map[string][]string{}
	need := func(program string, nodes ...string) {
		for _, node := range nodes {
			if all := needed[node]; program == "" || slices.Contains(all, program) {
				needed[node] = all
				continue
			}
			needed[node] = append(needed[node], program)
		}
	}
	for _, p := range e.Processes {
		need("", p.Starts...)
		for _, n := range p.Notify {
			need(n.Program, p.Starts...)
		}
		for _, a := range p.All() {
			need("", a.Node)
			need("", a.OfferedAt...)
			for _, n := range a.Notify {
				need(n.Program, a.Node)
			}
			if a.Call == nil {
				need(a.Program, a.Node)
			} else {
				need(a.Program, a.Call.Of...)
			}
		}
	}
	return needed
}

// Interpret runs a case in one place with the real programs.
func (e *Example) Interpret(t *testing.T, c Case) *interpret.Result {
	t.Helper()
	input, err := container.DecodeJSON(e.Process.Input, c.Input)
	if err != nil {
		t.Fatal(err)
	}
	programs := Programs(t, e.alone, e.Process, func(path string, iteration int) string { return e.key(t, path, iteration) })
	if len(c.Results) > 0 {
		if programs, err = interpret.ParseResultsOver(e.Process, c.Results, programs, e.Processes...); err != nil {
			t.Fatal(err)
		}
	}
	result, err := interpret.Run(e.Process, input, programs, interpret.Options{Processes: e.Processes})
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// Programs are what the configurations of a process's nodes register, run as the nodes
// would, under the idempotency keys that key gives to paths and iterations.
func Programs(t *testing.T, configs map[string]*config.Config, p *definition.Process, key func(path string, iteration int) string) interpret.Programs {
	t.Helper()
	r := &realPrograms{t: t, sites: map[string]*program.Registry{}, process: p, key: key}
	for node, c := range configs {
		registry, err := program.NewRegistry(c.Programs, program.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(registry.Close)
		r.sites[node] = registry
	}
	return r
}

// realPrograms are those of an instance, or of one that a subprocess has begun.
type realPrograms struct {
	t       *testing.T
	sites   map[string]*program.Registry
	process *definition.Process
	around  string // the paths of the subprocesses around it
	key     func(path string, iteration int) string
}

// Child gives those of an instance that a subprocess begins: its keys are of its own.
func (r *realPrograms) Child(a *definition.Activity, call interpret.Call, p *definition.Process) interpret.Programs {
	inner := *r
	inner.process, inner.around = p, fmt.Sprintf("%s%s#%d.%d/", r.around, call.Scope.Path(a.Name), call.Iteration, call.Attempt)
	return &inner
}

// Run runs a program where the activity is done.
func (r *realPrograms) Run(a *definition.Activity, call interpret.Call) interpret.Outcome {
	site := r.sites[call.Node]
	if site == nil {
		return interpret.Outcome{Err: "node " + call.Node + " has no configuration"}
	}
	entry, ok := site.Lookup(processtable.ProgramID(a.Program))
	if !ok {
		return interpret.Outcome{Err: "program " + a.Program + " is not registered at " + call.Node}
	}
	path := call.Scope.Path(a.Name)
	got := entry.Program.Run(r.t.Context(), &program.Call{
		Process: fmt.Sprintf("%s@%d", r.process.Name, r.process.Version), Instance: "instance", Activity: a.Name, Node: call.Node,
		Element: call.Scope.Element(), Iteration: call.Iteration, Attempt: call.Attempt, Key: r.key(r.around+path, call.Iteration),
		Input: call.Input, OutputType: a.Output, NoOutput: a.NoOutput, RCIsData: a.RCIsData, RCContinue: a.OnRC == definition.OnRCContinue,
		Log: func(line string) { r.t.Logf("%s: %s", path, line) },
	})
	if got.Err != nil {
		r.t.Logf("%s: %v", path, got.Err)
		return interpret.Outcome{Err: got.Err.Error()}
	}
	return interpret.Outcome{RC: got.RC, Output: got.Output}
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
		Kind       string          `json:"kind"`
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
		if a := &s.Activities[i]; a.Kind == api.KindBundle {
			a.Output = nil // the interpreter tells what it collects of whoever reads it
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

// fileWait is how long a program that nobody waits for, such as that of a notice, may take.
const fileWait = time.Minute

// CheckFiles looks for what the programs of a case leave behind, also those that nobody waits for.
func (e *Example) CheckFiles(t *testing.T, c Case) {
	t.Helper()
	late := time.After(fileWait)
	again := time.NewTicker(50 * time.Millisecond)
	defer again.Stop()
	for _, pattern := range c.Files {
		for {
			found, err := filepath.Glob(filepath.Join(e.Dir, pattern))
			if err == nil && len(found) > 0 {
				break
			}
			select {
			case <-late:
				t.Fatalf("there is no file %s: %v", pattern, err)
			case <-again.C:
			}
		}
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
