package sites

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"fmqm/api"
	"fmqm/test/fleet"
)

// broken has an activity whose program gives the return code that it is told.
const broken = `process: broken
version: 1
structures:
  In:  {rc: int}
  Out: {rc: int}
input: In
output: Out
starts: [A]
activities:
  try:  {node: B, program: fail, input: In, output: Out}
  then: {node: A, program: pass, input: Out, output: Out}
control:
  - try -> then
data:
  - source -> try
  - try -> then
  - then -> sink
`

// shell is somebody who types commands for a site.
type shell struct {
	*testing.T
	n    *network
	site *site
	dir  string // with definitions
}

// ok types a command that must succeed, and gives what it prints.
func (s shell) ok(name string, args ...string) string {
	s.Helper()
	return fleet.Must(s.T, name, append(args, "--to", s.site.To())...)
}

// ends types a command that must end with a code and say something.
func (s shell) ends(code int, says, name string, args ...string) string {
	s.Helper()
	out, talk, got := fleet.Run(s.T, name, append(args, "--to", s.site.To())...)
	if got != code || !strings.Contains(talk, says) {
		s.Errorf("%s %s\nended with %d and said: %s\nwant %d and %q", name, strings.Join(args, " "), got, talk, code, says)
	}
	return out
}

// file writes a file that a command reads, and gives its name.
func (s shell) file(name, text string) string {
	s.Helper()
	path := filepath.Join(s.dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		s.Fatal(err)
	}
	return path
}

// rows reads what a command prints with -o jsonl.
func rows[T any](s shell, text string) (all []T) {
	s.Helper()
	for line := range strings.Lines(text) {
		var row T
		if err := json.Unmarshal([]byte(line), &row); err != nil {
			s.Fatalf("%v: %s", err, line)
		}
		all = append(all, row)
	}
	return all
}

func (s shell) status(id string) (st api.Status) {
	s.Helper()
	if err := json.Unmarshal([]byte(s.ok("fmqm", "status", id, "-o", "json")), &st); err != nil {
		s.Fatal(err)
	}
	return st
}

// becomes waits until an activity is in a state.
func (s shell) becomes(id, activity string, state api.ActivityState) {
	s.Helper()
	s.n.Until(s.Context(), activity+" is "+string(state), func() bool { return of(s.status(id), activity).State == state })
}

func of(st api.Status, activity string) api.Activity {
	i := slices.IndexFunc(st.Activities, func(a api.Activity) bool { return a.Activity == activity })
	if i < 0 {
		return api.Activity{}
	}
	return st.Activities[i]
}

const order = `{"customer": "ann", "item": "anchor", "quantity": 1, "amount": 10}`

// Every command, in the order of the help, as somebody types it for four daemons: what
// it prints, what it says beside that, and its exit code.
func TestEveryCommand(t *testing.T) {
	definition, programs := unpack(t)
	programs["A"] = append(programs["A"], "pass: {builtin: echo}")
	programs["B"] = append(programs["B"], "fail: {builtin: fail}")
	n := newNetwork(t, programs)
	s := shell{T: t, n: n, site: n.sites["A"], dir: filepath.Dir(definition)}
	for _, step := range []struct {
		name string
		do   func(shell, string)
	}{
		{"definitions at home", atHome},
		{"upload, also to a node that is down", uploads},
		{"start", starts},
		{"a site is away", away},
		{"in error", inError},
		{"nobody there, and lines that are wrong", nobody},
	} {
		// The steps build on one another.
		if !t.Run(step.name, func(t *testing.T) { step.do(shell{T: t, n: n, site: s.site, dir: s.dir}, definition) }) {
			return
		}
	}
}

// check FILE... · compile FILE -o DIR · show · draw · run · schema: without a daemon.
func atHome(s shell, definition string) {
	bad := s.file("bad.yaml", "process: bad\nversion: 1\nactivities:\n  one: {program: p}\n")
	fleet.Must(s.T, "fmqm-define", "check", definition)
	out, _, code := fleet.Run(s.T, "fmqm-define", "check", definition, bad)
	if code != 1 || !strings.Contains(out, "bad.yaml:4:") {
		s.Errorf("check: exit code %d: %s", code, out)
	}
	tables := filepath.Join(s.dir, "tables")
	fleet.Must(s.T, "fmqm-define", "compile", definition, "-o", tables)
	if files, err := os.ReadDir(tables); err != nil || len(files) != 5 {
		s.Errorf("compile made %v (%v), want four tables and a manifest", files, err)
	}
	for _, line := range []struct {
		args []string
		says string
	}{
		{[]string{"show", definition, "--node", "C"}, "ship"},
		{[]string{"draw", definition, "--format", "dot"}, "digraph"},
		{[]string{"draw", definition, "--format", "mermaid"}, "flowchart"},
		{[]string{"run", definition, "--input", order}, "finished"},
		{[]string{"schema"}, "json-schema.org"},
	} {
		if out := fleet.Must(s.T, "fmqm-define", line.args...); !strings.Contains(out, line.says) {
			s.Errorf("%v does not print %q:\n%s", line.args, line.says, out)
		}
	}
}

// upload FILE --to ADDR · list --to ADDR
func uploads(s shell, definition string) {
	d := s.n.sites["D"]
	d.Kill()
	s.n.Until(s.Context(), "A sees that D is away", func() bool {
		nodes := rows[api.Node](s, s.ok("fmqm", "nodes", "-o", "jsonl"))
		return slices.ContainsFunc(nodes, func(n api.Node) bool { return n.Node == "D" && n.State != "connected" })
	})
	got := map[string]api.Result{}
	for _, r := range rows[api.UploadNode](s, s.ok("fmqm-define", "upload", definition, "-o", "jsonl")) {
		got[r.Node] = r.Result
	}
	for node, want := range map[string]api.Result{"A": api.ResultStored, "B": api.ResultStored, "C": api.ResultStored, "D": api.ResultQueued} {
		if got[node] != want {
			s.Errorf("%s: %s, want %s", node, got[node], want)
		}
	}
	d.Start()
	d.Answers()
	atD := shell{T: s.T, n: s.n, site: d}
	s.n.Until(s.Context(), "D has its table", func() bool {
		return len(rows[api.Definition](s, atD.ok("fmqm-define", "list", "-o", "jsonl"))) == 1
	})
	s.n.Connected(s.Context())
	for _, r := range rows[api.UploadNode](s, s.ok("fmqm-define", "upload", definition, "-o", "jsonl")) {
		if r.Result != api.ResultUnchanged {
			s.Errorf("again: %+v", r)
		}
	}
	other := s.file("other.yaml", strings.Replace(broken, "process: broken", "process: purchase-order", 1))
	s.ends(4, "refused: ", "fmqm-define", "upload", other)
	far := s.file("far.yaml", strings.Replace(broken, "node: B", "node: Z", 1))
	s.ends(4, "refused: ", "fmqm-define", "upload", far)
	s.ends(1, "bad.yaml:4:", "fmqm-define", "upload", filepath.Join(s.dir, "bad.yaml"))
	s.ok("fmqm-define", "upload", s.file("broken.yaml", broken))
	if out := s.ok("fmqm-define", "list"); !strings.Contains(out, "purchase-order") || !strings.Contains(out, "broken") {
		s.Errorf("list:\n%s", out)
	}
}

// start PROCESS[@VERSION] [--input JSON|@FILE|-] [--key K] [-n COUNT] [--wait]
func starts(s shell, _ string) {
	file := s.file("order.json", order)
	s.ok("fmqm", "start", "purchase-order", "--input", order)
	s.ok("fmqm", "start", "purchase-order@1", "--input", "@"+file)
	if out, talk, code := fleet.Feed(s.T, order, "fmqm", "start", "--input", "-", "purchase-order", "--to", s.site.To()); code != 0 || out == "" {
		s.Errorf("from standard input: exit code %d: %s", code, talk)
	}
	one := started(s.T, s.ok("fmqm", "start", "purchase-order", "--input", order, "--key", "17", "-o", "json"))
	if again := started(s.T, s.ok("fmqm", "start", "purchase-order", "--key", "17", "--input", order, "-o", "json")); again != one {
		s.Errorf("the same key started %s and %s", one, again)
	}
	seen := map[string]bool{}
	for _, st := range rows[api.Status](s, s.ok("fmqm", "start", "purchase-order", "-n", "3", "--input", order, "--wait", "-o", "jsonl")) {
		seen[st.Instance.String()] = true
		if st.State != api.InstanceFinished {
			s.Errorf("%s is %s", st.Instance, st.State)
		}
	}
	if len(seen) != 3 {
		s.Errorf("-n 3 started %d", len(seen))
	}
	s.n.Until(s.Context(), "all have ended", func() bool { return s.ok("fmqm", "list", "-o", "jsonl") == "" })
	if all := instances(s.T, s.site); len(all) != 7 {
		s.Errorf("list --all has %d instances, want 7", len(all))
	}
	s.ends(3, "no table of nothing", "fmqm", "start", "nothing")
	s.ends(3, "no table of purchase-order@9", "fmqm", "start", "purchase-order@9")
	s.ends(4, "unknown member", "fmqm", "start", "purchase-order", "--input", `{"colour": "red"}`)
	s.ends(2, "not JSON", "fmqm", "start", "purchase-order", "--input", "{")
	shell{T: s.T, n: s.n, site: s.n.sites["D"]}.ends(4, "only at A", "fmqm", "start", "purchase-order")
}

// status · list · watch · history · nodes · why, while an order waits for a site.
func away(s shell, _ string) {
	c := s.n.sites["C"]
	c.Kill()
	id := started(s.T, s.ok("fmqm", "start", "purchase-order", "--input", order, "-o", "json"))
	s.becomes(id, "stock", api.ActivityTerminated)

	var st api.Status
	s.n.Until(s.Context(), "only C is unreachable", func() bool { // who is slow once may be too
		st = s.status(id)
		return len(st.Unreachable) == 1 && st.Unreachable[0].Node == "C" && !st.Unreachable[0].LastHeard.IsZero()
	})
	if ship := of(st, "ship"); ship.State != api.ActivityUnknown || st.State != api.InstanceRunning {
		s.Errorf("the order is %s, ship %s", st.State, ship.State)
	}
	if out := s.ok("fmqm", "status", id); !strings.Contains(out, "unreachable  C (last heard") {
		s.Errorf("status:\n%s", out)
	}
	if running := rows[api.Instance](s, s.ok("fmqm", "list", "-o", "jsonl")); len(running) != 1 || running[0].Instance.String() != id {
		s.Errorf("list: %+v", running)
	}
	waits := rows[api.Wait](s, s.ok("fmqm", "why", id, "-o", "jsonl"))
	if !slices.ContainsFunc(waits, func(w api.Wait) bool { return w.Activity == "ship" && w.At == "C" && !w.Heard }) {
		s.Errorf("why: %+v", waits)
	}
	s.n.Until(s.Context(), "only what is for C waits", func() bool { // what is for D may still be on its way
		nodes := rows[api.Node](s, s.ok("fmqm", "nodes", "-o", "jsonl"))
		if len(nodes) != 4 || nodes[0].Node != "A" || nodes[0].State != api.NodeSelf {
			s.Fatalf("nodes: %+v", nodes)
		}
		return !slices.ContainsFunc(nodes[1:], func(n api.Node) bool {
			down := n.Node == "C"
			return down == (n.Waiting == 0) || down == (n.State == "connected")
		})
	})
	s.ends(5, "C", "fmqm", "status", uuid.Must(uuid.NewV7()).String()) // C may know it

	watch := exec.Command(filepath.Join(fleet.Bin, "fmqm"), "watch", id, "--to", s.site.To(), "-o", "jsonl")
	var seen strings.Builder
	watch.Stdout = &seen
	if err := watch.Start(); err != nil {
		s.Fatal(err)
	}
	c.Start()
	if err := watch.Wait(); err != nil {
		s.Errorf("watch: %v", err)
	}
	s.n.Connected(s.Context())
	var history []api.HistoryEvent
	s.n.Until(s.Context(), "a history of all sites", func() bool {
		out, said, _ := fleet.Run(s.T, "fmqm", "history", id, "-o", "jsonl", "--to", s.site.To())
		history = rows[api.HistoryEvent](s, out)
		return !strings.Contains(said, "unreachable")
	})
	if !slices.IsSortedFunc(history, func(a, b api.HistoryEvent) int { return int(a.Clock) - int(b.Clock) }) {
		s.Errorf("history is not in the order of the clock: %+v", history)
	}
	for what, events := range map[string][]api.HistoryEvent{"watch": rows[api.HistoryEvent](s, seen.String()), "history": history} {
		for _, want := range []api.Event{api.EventStarted, api.EventTerminated, api.EventSkipped, api.EventEnded} {
			if !slices.ContainsFunc(events, func(e api.HistoryEvent) bool { return e.Event == want }) {
				s.Errorf("%s has no event %s: %+v", what, want, events)
			}
		}
	}
	s.n.Until(s.Context(), "everybody says that it is finished", func() bool {
		st := s.status(id)
		return st.State == api.InstanceFinished && len(st.Unreachable) == 0
	})
	s.n.Until(s.Context(), "everybody says that there is no such instance", func() bool {
		_, _, code := fleet.Run(s.T, "fmqm", "status", uuid.Must(uuid.NewV7()).String(), "--to", s.site.To())
		return code == 3
	})
}

// start --wait · retry INSTANCE ACTIVITY [--output JSON] · terminate INSTANCE · dead
func inError(s shell, _ string) {
	id := started(s.T, s.ends(1, "is in error", "fmqm", "start", "broken", "--input", `{"rc": 3}`, "--wait", "-o", "json"))
	s.ends(4, "it has not begun at", "fmqm", "retry", id, "then")
	s.ends(3, "no activity nobody", "fmqm", "retry", id, "nobody")
	s.ok("fmqm", "retry", id, "try") // it fails again
	s.n.Until(s.Context(), "the second error", func() bool { return strings.Count(s.ok("fmqm", "history", id), "in-error") == 2 })
	s.becomes(id, "try", api.ActivityInError)
	s.ok("fmqm", "retry", id, "try", "--output", `{"rc": 0}`)
	s.ok("fmqm", "watch", id)
	if st := s.status(id); st.State != api.InstanceFinished {
		s.Errorf("after the retry it is %s", st.State)
	}

	id = started(s.T, s.ok("fmqm", "start", "broken", "--input", `{"rc": 3}`, "-o", "json"))
	s.becomes(id, "try", api.ActivityInError)
	s.ok("fmqm", "terminate", id)
	s.n.Until(s.Context(), "the termination", func() bool { return s.status(id).State == api.InstanceTerminated })
	s.ends(4, "terminated", "fmqm", "terminate", id)
	s.ends(4, "", "fmqm", "retry", id, "try")
	if out := s.ok("fmqm", "dead", "list", "-o", "jsonl"); out != "" {
		s.Errorf("set aside: %s", out)
	}
}

func nobody(s shell, definition string) {
	s.site.Stop()
	for _, line := range [][]string{
		{"fmqm", "start", "purchase-order"},
		{"fmqm", "status", uuid.Nil.String()},
		{"fmqm", "list"},
		{"fmqm", "watch", uuid.Nil.String()},
		{"fmqm", "history", uuid.Nil.String()},
		{"fmqm", "nodes"},
		{"fmqm", "why", uuid.Nil.String()},
		{"fmqm", "retry", uuid.Nil.String(), "credit"},
		{"fmqm", "terminate", uuid.Nil.String()},
		{"fmqm", "dead", "list"},
		{"fmqm-define", "upload", definition},
		{"fmqm-define", "list"},
	} {
		if out := s.ends(5, "", line[0], line[1:]...); out != "" {
			s.Errorf("%v printed %s", line, out)
		}
		s.ends(2, "--nonsense", line[0], append(line[1:], "--nonsense")...)
	}
	s.ends(2, "", "fmqm", "status")
	s.ends(2, "", "fmqm", "status", "17")
	s.ends(2, "", "fmqm", "begin")
}
