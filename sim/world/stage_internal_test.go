package world

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/google/uuid"

	"fmqm/api"
	"fmqm/api/apitest"
	"fmqm/internal/task"
	"fmqm/node"
	"fmqm/processtable"
	"fmqm/program"
)

// What nodes tell of instances, story by story: who knows what when, and what an answer
// may claim (testdata/status); and what becomes of a site to which something happens at an
// awkward moment (testdata/seams). Every invariant is checked beside, as in every world. The
// commands of the scripts are the methods of stage.
func TestStories(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		s := &stage{held: map[string]*task.Gate{}, commits: map[name]*held{}, instances: map[string]uuid.UUID{}}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string { return s.run(t, d) })
		s.end()
	})
}

// stage is a world in which happens what a script says; the time of a command passes until it
// is carried out.
type stage struct {
	*World
	instances map[string]uuid.UUID
	held      map[string]*task.Gate // by activity: open when it may end
	commits   map[name]*held        // by site
}

// gated is a builtin program that ends once the script lets its activity.
type gated struct {
	program.Program
	stage *stage
	by    task.Scheduler
}

func (g gated) Run(ctx context.Context, call *program.Call) program.Result {
	if gate := g.stage.held[call.Activity]; gate != nil {
		_, _ = g.by.Wait(ctx, gate)
	}
	return g.Program.Run(ctx, call)
}

// run carries out one command of a script.
func (s *stage) run(t *testing.T, d *datadriven.TestData) (out string) {
	commands := map[string]func(*testing.T, *datadriven.TestData) string{
		"define": s.define, "hold": s.hold, "release": s.release, "start": s.start,
		"await": s.await, "status": s.status, "terminate": s.terminate, "cut": s.cut, "mend": s.cut,
		"quiet": s.quiet, "hold-disk": s.holdDisk, "await-disk": s.awaitDisk, "release-disk": s.releaseDisk,
		"crash": s.crash, "reload": s.reload, "link": s.link, "pass": s.pass,
	}
	if d.Cmd == "sites" {
		return s.open(t, d)
	}
	f := commands[d.Cmd]
	if f == nil {
		d.Fatalf(t, "unknown command %s", d.Cmd)
	}
	s.do(t, func() { out = f(t, d) })
	return out
}

// do has a task do something, and lets time pass until that is done.
func (s *stage) do(t *testing.T, f func()) {
	t.Helper()
	done := false
	s.control.Go(func() {
		f()
		done = true
	})
	for !done && s.broken == nil && s.tasks.Step() {
	}
	if err := s.tasks.Failure(); err != nil {
		t.Fatal(err)
	}
	if s.broken != nil {
		t.Fatal(s.broken)
	}
	if !done {
		t.Fatal("nothing will ever happen any more, and the command is not done")
	}
}

// patient is how long, of the world's time, a command waits for something.
const patient = 10 * time.Minute

// until lets time pass until something holds; what says what came instead.
func (s *stage) until(holds func() bool, what func() string) string {
	for end := s.tasks.Elapsed() + patient; !holds(); s.sleep(100 * time.Millisecond) {
		if s.tasks.Elapsed() > end {
			return fmt.Sprintf("not within %v\n%s", patient, what())
		}
	}
	return ""
}

// open makes a world of sites with these names, and waits until all are linked.
func (s *stage) open(t *testing.T, d *datadriven.TestData) string {
	builtins, err := program.NewRegistry(map[processtable.ProgramID]program.Spec{
		"echo": {Kind: program.KindBuiltin, Builtin: "echo"}, "fail": {Kind: program.KindBuiltin, Builtin: "fail"},
	}, program.Options{})
	if err != nil {
		t.Fatal(err)
	}
	plan := Plan{Seed: 1, Cache: 1000}
	for _, a := range d.CmdArgs {
		plan.Sites = append(plan.Sites, name(a.Key))
	}
	s.World = newWorld(plan, Options{})
	s.fate = s.holdCommit
	s.registry = func(_ name, by task.Scheduler) *program.Registry {
		entries := map[processtable.ProgramID]program.Entry{}
		for _, name := range builtins.Names() {
			e, _ := builtins.Lookup(name)
			e.Program, e.Concurrency = gated{e.Program, s, by}, 100
			entries[name] = e
		}
		return program.RegistryOf(entries)
	}
	var out string
	s.do(t, func() {
		for _, x := range s.sites {
			x.start()
		}
		out = s.until(s.linked, func() string { return "not all sites are linked" })
	})
	return out
}

func (s *stage) linked() bool {
	for _, a := range s.plan.Sites {
		for _, b := range s.plan.Sites {
			if a != b && !s.connected(a, b) {
				return false
			}
		}
	}
	return true
}

// define uploads the process through a site.
func (s *stage) define(t *testing.T, d *datadriven.TestData) string {
	request := apitest.Upload(t, d.Input)
	id, err := processtable.ParseProcessID(request.Tables[0].Process)
	if err != nil {
		t.Fatal(err)
	}
	s.watch.uploads[id] = true
	err = s.ask(s.at(t, d), "upload", func(ctx context.Context, n *node.Node) error {
		_, err := n.Upload(ctx, request)
		return err
	})
	if err != nil {
		return s.said(err)
	}
	return ""
}

// hold lets no program of these activities end.
func (s *stage) hold(_ *testing.T, d *datadriven.TestData) string {
	for _, a := range d.CmdArgs {
		s.held[a.Key] = s.control.Gate()
	}
	return ""
}

func (s *stage) release(_ *testing.T, d *datadriven.TestData) string {
	for _, a := range d.CmdArgs {
		s.held[a.Key].Open()
		delete(s.held, a.Key)
	}
	return ""
}

func (s *stage) start(t *testing.T, d *datadriven.TestData) string {
	id := s.newID()
	s.instances[arg(t, d, "as")], s.watch.starts[id] = id, true
	request := api.StartRequest{Instance: id, Process: arg(t, d, "process"), Input: json.RawMessage(d.Input)}
	return s.said(s.ask(s.at(t, d), "start", func(ctx context.Context, n *node.Node) error {
		_, err := n.Start(ctx, request)
		return err
	}))
}

// newID makes an instance's.
func (s *stage) newID() uuid.UUID { return (&drawing{Rand: s.random}).id() }

// await asks a site until it tells that the instance, or an activity, has a state.
func (s *stage) await(t *testing.T, d *datadriven.TestData) string {
	var last string
	return s.until(func() bool {
		st, err := s.statusAt(t, d)
		if err != nil {
			last = s.said(err)
			return false
		}
		last = shownStatus(st)
		for _, a := range d.CmdArgs {
			i := slices.IndexFunc(st.Activities, func(x api.Activity) bool { return x.Activity == a.Key })
			if i >= 0 && string(st.Activities[i].State) != a.Vals[0] || a.Key == "state" && string(st.State) != a.Vals[0] {
				return false
			}
		}
		return true
	}, func() string { return last })
}

func (s *stage) status(t *testing.T, d *datadriven.TestData) string {
	st, err := s.statusAt(t, d)
	if err != nil {
		return s.said(err)
	}
	return shownStatus(st)
}

func (s *stage) statusAt(t *testing.T, d *datadriven.TestData) (st api.Status, err error) {
	id := s.instance(t, d)
	err = s.ask(s.at(t, d), "status", func(ctx context.Context, n *node.Node) (err error) {
		st, err = n.Status(ctx, id)
		return err
	})
	return st, err
}

func (s *stage) terminate(t *testing.T, d *datadriven.TestData) string {
	id := s.instance(t, d)
	s.touched[id]++
	return s.said(s.ask(s.at(t, d), "terminate", func(ctx context.Context, n *node.Node) error { return n.Terminate(ctx, id, "") }))
}

// cut cuts the wire between two sites, or mends it.
func (s *stage) cut(_ *testing.T, d *datadriven.TestData) string {
	s.wires.cut(way{name(d.CmdArgs[0].Key), name(d.CmdArgs[1].Key)}, d.Cmd == "cut")
	return ""
}

// quiet waits until nothing is left anywhere.
func (s *stage) quiet(*testing.T, *datadriven.TestData) string {
	return s.until(func() bool { return s.left() == "" }, s.left)
}

// at is the site that a command asks.
func (s *stage) at(t *testing.T, d *datadriven.TestData) name {
	site := s.site(name(arg(t, d, "at")))
	if site == nil {
		d.Fatalf(t, "no such site")
	}
	return site.name
}

func (s *stage) instance(t *testing.T, d *datadriven.TestData) uuid.UUID {
	id, ok := s.instances[arg(t, d, "instance")]
	if !ok {
		d.Fatalf(t, "no such instance")
	}
	return id
}

func arg(t *testing.T, d *datadriven.TestData, key string) string {
	for _, a := range d.CmdArgs {
		if a.Key == key && len(a.Vals) == 1 {
			return a.Vals[0]
		}
	}
	d.Fatalf(t, "%s= is missing", key)
	return ""
}

// said is an error as a caller hears it, with instances by their names.
func (s *stage) said(err error) string {
	if err == nil {
		return "ok"
	}
	text := fmt.Sprintf("%s: %v", api.CodeOf(err), err)
	for name, id := range s.instances {
		text = strings.ReplaceAll(text, id.String(), "<"+name+">")
	}
	return text
}

// shownStatus is what of a status does not depend on time.
func shownStatus(st api.Status) string {
	lines := []string{string(st.State)}
	if st.Reason != "" {
		lines[0] += ": " + st.Reason
	}
	for _, a := range st.Activities {
		line := fmt.Sprintf("  %s at %s: %s", a.Activity, a.Node, a.State)
		if a.Reason != "" {
			line += ": " + a.Reason
		}
		lines = append(lines, line)
	}
	for _, u := range st.Unreachable {
		lines = append(lines, "  no answer from "+u.Node)
	}
	for _, c := range st.Clocks {
		lines = append(lines, fmt.Sprintf("  %s up to clock %d", c.Node, c.Clock))
		if c.Behind {
			lines[len(lines)-1] += ": behind"
		}
	}
	return strings.Join(lines, "\n")
}
