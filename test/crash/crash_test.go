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
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"go.uber.org/goleak"

	"fmqm/api"
	"fmqm/container"
	"fmqm/definition"
	"fmqm/internal/store"
	"fmqm/interpret"
	"fmqm/queue/inspect"
	"fmqm/sim/oracle"
	"fmqm/test/fleet"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(built{m}) }

// built runs the tests with binaries that have failpoints.
type built struct{ m *testing.M }

func (b built) Run() int {
	flag.Parse()
	if f := flag.Lookup("test.parallel"); f.Value.String() == f.DefValue {
		_ = f.Value.Set("4") // more would take the processors from each other
	}
	return fleet.Main(b.m, "failpoint")
}

// world is two sites, and the instances of one process.
type world struct {
	*testing.T
	row    row
	a, b   *fleet.Site
	victim *fleet.Site
	died   <-chan struct{} // closed when the victim has died at every point of the row
	def    *definition.Process
	tables []api.Table
	ids    []api.InstanceID

	alone    string              // the site that nobody elsewhere operates; empty: none is
	definers map[string][]string // whose tables a site takes; none: anybody's
}

func TestEveryPoint(t *testing.T) {
	for _, r := range rows() {
		t.Run(r.name(), func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			defer cancel()
			newWorld(t, r).run(ctx)
		})
	}
}

func newWorld(t *testing.T, r row) *world {
	t.Helper()
	w := &world{T: t, row: r, ids: []api.InstanceID{uuid.Must(uuid.NewV7())}, definers: map[string][]string{}}
	f := fleet.New(t, fleet.Options{Sites: []string{"A", "B"}, Links: w.configuration, Programs: programs, Prepare: w.prepare, Down: true})
	w.a, w.b, w.victim = f.Sites["A"], f.Sites["B"], f.Sites[r.victim]
	w.died = w.victim.DiesAt(r.points()...)
	w.def, w.tables = w.compile(r.scenario.process)
	return w
}

// compiled is what a definition comes to: the wide one is compiled once for all rows.
var compiled sync.Map // of func() (definitionAndTables, error), by the text

type definitionAndTables struct {
	def    *definition.Process
	tables []api.Table
}

// compile gives a process and its tables.
func (w *world) compile(text string) (*definition.Process, []api.Table) {
	w.Helper()
	once, _ := compiled.LoadOrStore(text, sync.OnceValues(func() (d definitionAndTables, err error) {
		processes, problems := definition.Load("crash.yaml", []byte(text))
		if definition.HasErrors(problems) {
			return d, fmt.Errorf("%v", problems)
		}
		d.def = processes[0]
		tables, err := definition.Compile(d.def)
		if err != nil {
			return d, err
		}
		for i, t := range tables.Tables {
			d.tables = append(d.tables, tableOf(api.Table{Node: string(t.Node), Process: t.Process.String(), Definition: t.Definition.String()}, tables.Encoded[i]))
		}
		return d, nil
	}))
	d, err := once.(func() (definitionAndTables, error))()
	if err != nil {
		w.Fatal(err)
	}
	return d.def, d.tables
}

func tableOf(t api.Table, encoded []byte) api.Table {
	sum := sha256.Sum256(encoded)
	t.Table, t.SHA256 = encoded, hex.EncodeToString(sum[:])
	return t
}

// run plays the scene while the victim dies and comes back, and compares.
func (w *world) run(ctx context.Context) {
	w.row.scenario.play(w, ctx)
	select {
	case <-w.died:
	case <-ctx.Done():
		w.Fatalf("%s: the point was not hit", w.victim.Name)
	}
	w.settle(ctx, true)
	for _, id := range w.ids {
		w.compare(ctx, id)
	}
	w.oneKey()
	for _, s := range []*fleet.Site{w.a, w.b} {
		s.Stop()
		w.empty(s)
	}
}

// settle waits until no message is on its way and, in the end, the instances have ended.
func (w *world) settle(ctx context.Context, end bool) {
	w.Helper()
	until(ctx, w.T, "end", func() error {
		for _, id := range w.ids {
			s, err := w.a.Client.Status(ctx, id)
			if err != nil {
				return err
			}
			if end && s.State != w.row.scenario.ending() || len(s.Unreachable) > 0 {
				return notYet("the instance is %s: %s", s.State, s.Reason)
			}
		}
		for _, site := range []*fleet.Site{w.a, w.b} {
			nodes, err := site.Client.Nodes(ctx)
			if err != nil {
				return err
			}
			for _, n := range nodes.Nodes {
				if n.Waiting > 0 || n.State != api.NodeSelf && n.State != "connected" {
					return notYet("%s: %+v", site.Name, n)
				}
			}
		}
		return nil
	}, api.CodeFailed)
}

// compare holds an instance to the interpreter, and its history to once.
func (w *world) compare(ctx context.Context, id api.InstanceID) {
	s := w.whole(ctx, id)
	history, err := w.a.Client.History(ctx, id)
	if err != nil {
		w.Fatal(err)
	}
	w.once(history)
	if w.row.scenario.ends == api.InstanceTerminated {
		return
	}
	got, err := json.Marshal(s)
	if err != nil {
		w.Fatal(err)
	}
	if diff := cmp.Diff(w.kept(w.expected()), w.kept(shapeOf(w.T, got))); diff != "" {
		w.Errorf("the interpreter and the instance differ (-want +got):\n%s", diff)
	}
}

// whole is the status of an instance, with what is inside of blocks.
func (w *world) whole(ctx context.Context, id api.InstanceID) (s api.Status) {
	w.Helper()
	for r := (api.StatusRequest{Tree: true}); ; r.After = s.Next {
		var page api.Status
		until(ctx, w.T, "status", func() (err error) {
			if page, err = w.a.Client.StatusOf(ctx, id, r); err == nil && len(page.Unreachable) > 0 {
				err = notYet("%+v", page.Unreachable)
			}
			return err
		})
		page.Activities = append(s.Activities, page.Activities...)
		if s = page; s.Next == "" {
			return s
		}
	}
}

// shape is what of a status does not depend on where and when an instance ran.
type shape struct {
	State      string          `json:"state"`
	Output     raw             `json:"output"`
	Activities []activityShape `json:"activities"`
}

type activityShape struct {
	Activity   string `json:"activity"`
	Scope      string `json:"scope"`
	Kind       string `json:"kind"`
	Node       string `json:"node"`
	At         string `json:"at"`
	State      string `json:"state"`
	Iterations int    `json:"iterations"`
	RC         *int64 `json:"rc"`
	Timeout    bool   `json:"timeout"`
	Error      string `json:"error"`
	Elements   raw    `json:"elements"`
	Output     raw    `json:"output"`
}

// kept is a shape without what retention may have removed.
func (w *world) kept(s shape) shape {
	if gone := w.row.scenario.gone; gone != nil {
		s.Activities = slices.Clone(s.Activities)
		s.Activities = slices.DeleteFunc(s.Activities, func(a activityShape) bool { return gone(a.Scope) })
	}
	if skipped := w.row.scenario.skipped; skipped != "" {
		s.Activities = slices.Clone(s.Activities)
		for i := range s.Activities {
			if a := &s.Activities[i]; a.Activity == skipped && a.State == string(api.ActivitySkipped) {
				a.Iterations = 0
			}
		}
	}
	return s
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
	for i := range s.Activities {
		a := &s.Activities[i]
		if a.State == string(api.ActivityCancelled) {
			a.Iterations = 0 // how far it had come by then differs from run to run
		}
		if a.Kind == api.KindBundle { // what else there is of it is its elements'
			a.Iterations, a.RC, a.Output = 0, nil, ""
		}
		a.Kind = "" // a node tells it of fewer processes
	}
	return s
}

var judged sync.Map // of func() shape, by the scenario

// expected is what has to come of the process in one place.
func (w *world) expected() shape {
	w.Helper()
	once, _ := judged.LoadOrStore(w.row.scenario, sync.OnceValue(w.interpreted))
	return once.(func() shape)()
}

// interpreted runs the process in one place, with what the programs and the operator give.
func (w *world) interpreted() shape {
	def := w.def
	if text := w.row.scenario.expected; text != "" {
		def, _ = w.compile(text)
	}
	input, err := container.DecodeJSON(def.Input, []byte(w.row.scenario.input))
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
	programs, err := interpret.ParseResultsOver(def, []byte(w.row.scenario.results), interpret.ProgramFunc(func(a *definition.Activity, c interpret.Call) interpret.Outcome {
		switch {
		case a.Program == "count":
			return of(a, fmt.Sprintf(`{"n": %d}`, c.Iteration))
		case a.Program == "broken":
			return of(a, decided)
		case a.Program == "flaky" && c.Attempt == 1:
			return interpret.Outcome{RC: 3}
		}
		return interpret.Echo(c.Input, a.Output)
	}))
	if err != nil {
		w.Fatal(err)
	}
	r, err := interpret.Run(def, input, programs, interpret.Options{})
	if err != nil {
		w.Fatal(err)
	}
	text, err := interpret.StatusJSONOf(r, slices.Collect(r.All()))
	if err != nil {
		w.Fatal(err)
	}
	return shapeOf(w.T, text)
}

// once: nothing is recorded twice, and of what the process has nothing is missing.
func (w *world) once(history api.HistoryAnswer) {
	w.Helper()
	seen := map[string]int{}
	for _, e := range history.Events {
		if e.Event == api.EventCancelled {
			e.Iteration = 0 // as in a shape
		}
		seen[fmt.Sprintf("%s %s %d", api.InScope(e.Scope, e.Activity), e.Event, e.Iteration)]++
	}
	for what, n := range seen {
		if n != max(1, w.row.scenario.events[what]) {
			w.Errorf("%s is there %d times", what, n)
		}
	}
	for _, what := range w.row.scenario.want {
		if seen[what] == 0 {
			w.Errorf("%s is missing in %v", what, seen)
		}
	}
}

// oneKey: however often a program ran, each execution had one key, of no other's.
func (w *world) oneKey() {
	keys, users := map[string]string{}, map[string]string{}
	for _, run := range append(w.runs(w.a), w.runs(w.b)...) {
		f := strings.Fields(run)
		if len(f) != 5 {
			w.Fatalf("a run is noted as %q", run)
		}
		execution, key := strings.Join(f[:4], " "), f[4]
		if keys[execution] != "" && keys[execution] != key {
			w.Errorf("%s ran under two keys", execution)
		}
		if users[key] != "" && users[key] != execution {
			w.Errorf("%s and %s ran under one key", execution, users[key])
		}
		keys[execution], users[key] = key, execution
	}
	if want := w.row.scenario.ran; want > 0 && len(keys) != want {
		w.Errorf("programs ran for %d executions, want %d", len(keys), want)
	}
}

// empty looks into a stopped site's store: nothing is wrong with it, all of its queues are
// empty, and nothing is left that was on its way.
func (w *world) empty(s *fleet.Site) {
	w.Helper()
	s.Look(func(engine store.Engine) error {
		report, err := inspect.Verify(engine)
		if len(report.Problems) > 0 {
			w.Errorf("%s: %v", s.Name, report.Problems)
		}
		if want := w.row.scenario.chunks; want != nil && report.Records["body chunk"] != want[s.Name] {
			w.Errorf("%s has bodies in %d chunks, want %d", s.Name, report.Records["body chunk"], want[s.Name])
		}
		left, leftErr := oracle.Left(engine)
		if left != "" {
			w.Errorf("%s is not empty: %s", s.Name, left)
		}
		return errors.Join(err, leftErr)
	})
}

// A daemon that is built without the tag has no failpoints.
func TestOrdinaryBuildsHaveNoFailpoints(t *testing.T) {
	ordinary := filepath.Join(t.TempDir(), "fmqmd")
	if out, err := exec.Command("go", "build", "-o", ordinary, "fmqm/cmd/fmqmd").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for binary, want := range map[string]bool{filepath.Join(fleet.Bin, "fmqmd"): true, ordinary: false} {
		text, err := os.ReadFile(binary)
		if err != nil {
			t.Fatal(err)
		}
		for _, variable := range []string{"FMQM_FAILPOINT=", "FMQM_HOLD="} {
			if has := strings.Contains(string(text), variable); has != want {
				t.Errorf("%s has failpoints (%s): %t", filepath.Base(binary), variable, has)
			}
		}
	}
}

// A point that cannot be is refused, so that no test waits for it in vain.
func TestMalformedPoint(t *testing.T) {
	for setting, want := range map[string]string{
		"FMQM_FAILPOINT=link.sent:0": "write NAME or NAME:N",
		"FMQM_FAILPOINT=link.sent:x": "write NAME or NAME:N",
		"FMQM_HOLD=link.sent":        "write NAME=FILE",
		"FMQM_HOLD=link.sent=":       "write NAME=FILE",
	} {
		cmd := exec.Command(filepath.Join(fleet.Bin, "fmqmd"), "--help")
		cmd.Env = append(os.Environ(), setting)
		out, err := cmd.CombinedOutput()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != 2 || !strings.Contains(string(out), want) {
			t.Errorf("%s: %v\n%s", setting, err, out)
		}
	}
}
