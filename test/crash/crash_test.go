package crash

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/rs/zerolog"
	"go.uber.org/goleak"

	"fmqm/api"
	"fmqm/container"
	"fmqm/definition"
	"fmqm/internal/store/badger"
	"fmqm/interpret"
	"fmqm/node"
	"fmqm/processtable"
	"fmqm/program"
)

// fmqmd is built with the tag that gives it failpoints.
var fmqmd string

func TestMain(m *testing.M) { goleak.VerifyTestMain(built{m}) }

// built runs the tests with a daemon that was just built.
type built struct{ m *testing.M }

func (b built) Run() int {
	dir, err := os.MkdirTemp("", "fmqm-crash-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	fmqmd = filepath.Join(dir, "fmqmd")
	if out, err := exec.Command("go", "build", "-tags", "failpoint", "-o", fmqmd, "fmqm/cmd/fmqmd").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build fmqmd: %v\n%s", err, out)
		return 1
	}
	flag.Parse()
	if f := flag.Lookup("test.parallel"); f.Value.String() == f.DefValue {
		_ = f.Value.Set("8") // tests mostly wait for daemons
	}
	return b.m.Run()
}

// The process over both sites: a loop, an attempt that fails, an activity that goes in
// error, a dead path, a join that waits for both.
const process = `
process: crash
version: 1
structures:
  Order: {n: int, text: string}
input: Order
output: Order
starts: [A]
activities:
  here:  {node: A, program: pass, input: Order, output: Order}
  twice: {node: B, program: count, input: Order, output: Order, exit: n > 1}
  flaky: {node: B, program: flaky, input: Order, output: Order, retry: {attempts: 3, backoff: 10ms}}
  check: {node: B, program: broken, input: Order, output: Order}
  never: {node: B, program: pass}
  join:  {node: A, program: pass, input: Order, output: Order, start: any}
control:
  - here -> twice
  - here -> flaky
  - here -> never: n > 100
  - twice -> check
  - flaky -> check
  - check -> join
  - never -> join
data:
  - source -> here
  - source -> flaky
  - source -> check: {text: text}
  - flaky -> join: {text: text}
  - check -> join: {n: n}
  - join -> sink
`

// decided is what the operator gives as check's output.
const decided = `{"n":7,"text":""}`

// world is two sites and one instance.
type world struct {
	*testing.T
	row    row
	a, b   *site
	victim *site
	def    *definition.Process
	upload api.UploadRequest
	id     api.InstanceID
	input  string
}

func TestEveryPoint(t *testing.T) {
	for i, r := range rows() {
		t.Run(r.name(), func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			defer cancel()
			newWorld(t, r, i).run(ctx)
		})
	}
}

func newWorld(t *testing.T, r row, i int) *world {
	w := &world{T: t, row: r, id: uuid.Must(uuid.NewV7()), input: `{"n":5,"text":"as it was"}`}
	if r.scenario == large {
		w.input = fmt.Sprintf(`{"n":5,"text":%q}`, strings.Repeat("x", 900_000))
	}
	dir := t.TempDir()
	// Each row has loopback addresses of its own, so that no other process has them.
	a, b := fmt.Sprintf("127.%d.%d.1:7411", 10+os.Getpid()%200, i), fmt.Sprintf("127.%d.%d.2:7411", 10+os.Getpid()%200, i)
	w.a, w.b = newSite(t, dir, "A", a, "B", b), newSite(t, dir, "B", b, "A", a)
	w.victim = map[string]*site{"A": w.a, "B": w.b}[r.victim]
	processes, problems := definition.Load("crash.yaml", []byte(process))
	if definition.HasErrors(problems) {
		t.Fatal(problems)
	}
	w.def = processes[0]
	compiled, err := definition.Compile(w.def)
	if err != nil {
		t.Fatal(err)
	}
	for j, table := range compiled.Tables {
		sum := sha256.Sum256(compiled.Encoded[j])
		w.upload.Tables = append(w.upload.Tables, api.Table{
			Node: string(table.Node), Process: table.Process.String(), Definition: table.Definition.String(),
			Table: compiled.Encoded[j], SHA256: hex.EncodeToString(sum[:]),
		})
	}
	return w
}

// run plays the operator at A while the victim dies and comes back, and compares.
func (w *world) run(ctx context.Context) {
	for _, s := range []*site{w.a, w.b} {
		point := ""
		if s == w.victim {
			point = w.row.point
		}
		if err := s.start(point); err != nil {
			w.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	revived := make(chan struct{})
	defer func() { // also where the test has failed
		cancel()
		<-revived
	}()
	go func() {
		defer close(revived)
		w.revive(ctx)
	}()
	w.operate(ctx)
	<-revived
	w.settle(ctx)
	w.compare(ctx)
	for _, s := range []*site{w.a, w.b} {
		s.stop(ctx)
		w.empty(s)
	}
}

// revive lets the victim die at its point, or points, and starts it again.
func (w *world) revive(ctx context.Context) {
	starts := []string{""}
	if w.row.then != "" {
		starts = []string{w.row.then, ""}
	}
	for _, next := range starts {
		if err := w.victim.died(ctx); err != nil {
			w.Error(err)
			return
		}
		if err := w.victim.start(next); err != nil {
			w.Error(err)
			return
		}
	}
}

// operate uploads, starts, and decides on the activity in error.
func (w *world) operate(ctx context.Context) {
	until(ctx, w.T, "upload", func() error {
		answer, err := w.a.client.Upload(ctx, w.upload)
		if err != nil {
			return err
		}
		for _, n := range answer.Nodes {
			if n.Result != api.ResultStored && n.Result != api.ResultUnchanged {
				return api.Errorf(api.CodeUnreachable, "", "%+v", n) // on its way
			}
		}
		return nil
	}, api.CodeFailed)
	until(ctx, w.T, "start", func() error {
		_, err := w.a.client.Start(ctx, api.StartRequest{Instance: w.id, Process: "crash", Input: json.RawMessage(w.input)})
		return err
	}, api.CodeFailed)
	until(ctx, w.T, "decide", func() error { return w.decide(ctx) }, api.CodeFailed, api.CodeNotFound, api.CodeRefused)
}

// decide acts once the activity is in error; what was answered to nobody is seen in the
// status, or done again.
func (w *world) decide(ctx context.Context) error {
	s, err := w.a.client.Status(ctx, w.id)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(s.Activities, func(a api.Activity) bool { return a.Activity == "check" })
	check := api.ActivityUnknown
	if i >= 0 {
		check = s.Activities[i].State
	}
	switch {
	case check == api.ActivityTerminated || s.State == api.InstanceTerminated:
		return nil
	case check != api.ActivityInError:
		return api.Errorf(api.CodeUnreachable, "", "check is %s", check)
	case w.row.scenario == terminated:
		return w.a.client.Terminate(ctx, w.id)
	}
	return w.a.client.Retry(ctx, w.id, api.RetryRequest{Activity: "check", Output: json.RawMessage(decided)})
}

// settle waits until the instance has ended and no message is on its way.
func (w *world) settle(ctx context.Context) {
	until(ctx, w.T, "end", func() error {
		s, err := w.a.client.Status(ctx, w.id)
		if err != nil {
			return err
		}
		ended := s.State == api.InstanceFinished || s.State == api.InstanceTerminated
		if !ended || len(s.Unreachable) > 0 {
			return api.Errorf(api.CodeUnreachable, "", "the instance is %s: %s", s.State, s.Reason)
		}
		for _, site := range []*site{w.a, w.b} {
			nodes, err := site.client.Nodes(ctx)
			if err != nil {
				return err
			}
			for _, n := range nodes.Nodes {
				if n.Waiting > 0 || n.State != api.NodeSelf && n.State != "connected" {
					return api.Errorf(api.CodeUnreachable, "", "%s: %+v", site.name, n)
				}
			}
		}
		return nil
	})
}

// compare holds the instance to the interpreter, its history to once, and its programs
// to one key for each iteration.
func (w *world) compare(ctx context.Context) {
	s, err := w.a.client.Status(ctx, w.id)
	if err != nil {
		w.Fatal(err)
	}
	history, err := w.a.client.History(ctx, w.id)
	if err != nil {
		w.Fatal(err)
	}
	w.once(history)
	w.oneKey()
	if w.row.scenario == terminated {
		if s.State != api.InstanceTerminated {
			w.Errorf("the instance is %s", s.State)
		}
		return
	}
	got, err := json.Marshal(s)
	if err != nil {
		w.Fatal(err)
	}
	if diff := cmp.Diff(w.expected(), shapeOf(w.T, got)); diff != "" {
		w.Errorf("the interpreter and the instance differ (-want +got):\n%s", diff)
	}
}

// shape is what of a status does not depend on where and when an instance ran.
type shape struct {
	State      string `json:"state"`
	Output     raw    `json:"output"`
	Activities []struct {
		Activity   string `json:"activity"`
		Node       string `json:"node"`
		State      string `json:"state"`
		Iterations int    `json:"iterations"`
		RC         *int64 `json:"rc"`
		Output     raw    `json:"output"`
	} `json:"activities"`
}

// raw is JSON as it stands.
type raw string

func (r *raw) UnmarshalJSON(text []byte) error {
	*r = raw(text)
	return nil
}

func shapeOf(t *testing.T, text []byte) (s shape) {
	t.Helper()
	if err := json.Unmarshal(text, &s); err != nil {
		t.Fatal(err)
	}
	return s
}

// expected runs the process in one place, with what the programs and the operator give.
func (w *world) expected() shape {
	input, err := container.DecodeJSON(w.def.Input, []byte(w.input))
	if err != nil {
		w.Fatal(err)
	}
	of := func(a *definition.Activity, text string) interpret.Outcome {
		output, err := container.DecodeJSON(a.Output, []byte(text))
		if err != nil {
			w.Error(err)
		}
		return interpret.Outcome{Output: output}
	}
	r, err := interpret.Run(w.def, input, interpret.ProgramFunc(func(a *definition.Activity, c interpret.Call) interpret.Outcome {
		switch {
		case a.Program == "count":
			return of(a, fmt.Sprintf(`{"n": %d}`, c.Iteration))
		case a.Program == "broken":
			return of(a, decided)
		case a.Program == "flaky" && c.Attempt == 1:
			return interpret.Outcome{RC: 3}
		}
		return interpret.Echo(c.Input, a.Output)
	}), interpret.Options{})
	if err != nil {
		w.Fatal(err)
	}
	text, err := interpret.StatusJSON(r)
	if err != nil {
		w.Fatal(err)
	}
	return shapeOf(w.T, text)
}

// once: nothing is recorded twice, and of what the process has nothing is missing.
func (w *world) once(history api.HistoryAnswer) {
	seen := map[string]int{}
	for _, e := range history.Events {
		seen[fmt.Sprintf("%s %s %d", e.Activity, e.Event, e.Iteration)]++
	}
	want := map[string]int{"source started 1": 1, "twice iterated 1": 1, "flaky failed 1": 1, "check in-error 1": 1}
	if w.row.scenario != terminated {
		for _, what := range []string{"here terminated 1", "twice terminated 2", "flaky terminated 1", "check retried 1", "check terminated 1", "never skipped 0", "join terminated 1", "sink ended 1"} {
			want[what] = 1
		}
	}
	for what, n := range seen {
		if n != 1 {
			w.Errorf("%s is there %d times", what, n)
		}
	}
	for what := range want {
		if seen[what] == 0 {
			w.Errorf("%s is missing in %v", what, seen)
		}
	}
}

// oneKey: however often a program ran, each execution had one key, of no other's.
func (w *world) oneKey() {
	keys, users := map[string]string{}, map[string]string{}
	for _, run := range append(w.a.runs(), w.b.runs()...) {
		f := strings.Fields(run)
		if len(f) != 3 {
			w.Fatalf("a run is noted as %q", run)
		}
		execution, key := f[0]+" "+f[1], f[2]
		if keys[execution] != "" && keys[execution] != key {
			w.Errorf("%s ran under two keys", execution)
		}
		if users[key] != "" && users[key] != execution {
			w.Errorf("%s and %s ran under one key", execution, users[key])
		}
		keys[execution], users[key] = key, execution
	}
}

// empty opens a stopped site's store: all of its queues are empty.
func (w *world) empty(s *site) {
	w.Helper()
	engine, err := badger.Open(badger.Options{Dir: filepath.Join(s.dir, "store")})
	if err != nil {
		w.Fatal(err)
	}
	registry, err := program.NewRegistry(nil, program.Options{})
	if err != nil {
		w.Fatal(err)
	}
	defer registry.Close()
	n, err := node.Open(node.Options{Name: processtable.NodeID(s.name), Engine: engine, Registry: registry, Log: zerolog.Nop()})
	if err != nil {
		w.Fatal(err)
	}
	if empty, what := n.Quiet(); !empty {
		w.Errorf("%s is not empty: %s", s.name, what)
	}
	dead, err := n.Dead(context.Background(), api.DeadRequest{Limit: 10})
	if err != nil || len(dead.Messages) > 0 {
		w.Errorf("%s has set aside %+v, %v", s.name, dead.Messages, err)
	}
	if err := n.Stop(context.Background()); err != nil {
		w.Error(err)
	}
}

// A daemon that is built without the tag has no failpoints.
func TestOrdinaryBuildsHaveNoFailpoints(t *testing.T) {
	ordinary := filepath.Join(t.TempDir(), "fmqmd")
	if out, err := exec.Command("go", "build", "-o", ordinary, "fmqm/cmd/fmqmd").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for binary, want := range map[string]bool{fmqmd: true, ordinary: false} {
		text, err := os.ReadFile(binary)
		if err != nil {
			t.Fatal(err)
		}
		if has := strings.Contains(string(text), "FMQM_FAILPOINT="); has != want {
			t.Errorf("%s has failpoints: %t", filepath.Base(binary), has)
		}
	}
}

// A point that cannot be is refused, so that no test waits for it in vain.
func TestMalformedPoint(t *testing.T) {
	for _, point := range []string{"link.sent:0", "link.sent:x"} {
		cmd := exec.Command(fmqmd, "--help")
		cmd.Env = append(os.Environ(), "FMQM_FAILPOINT="+point)
		out, err := cmd.CombinedOutput()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != 2 || !strings.Contains(string(out), "write NAME or NAME:N") {
			t.Errorf("%s: %v\n%s", point, err, out)
		}
	}
}
