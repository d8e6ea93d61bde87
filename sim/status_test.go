package sim_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/google/uuid"
	"github.com/rs/zerolog"

	"fmqm/api"
	"fmqm/definition"
	"fmqm/node"
	"fmqm/processtable"
	"fmqm/program"
	"fmqm/sim"
)

// What nodes tell of instances, story by story: who knows what when, and what an answer
// may claim. The commands of the scripts are the methods of stage.
func TestWhatNodesTell(t *testing.T) {
	datadriven.Walk(t, "testdata/status", func(t *testing.T, path string) {
		s := &stage{held: map[string]chan struct{}{}, instances: map[string]uuid.UUID{}}
		t.Cleanup(func() { s.close(t) })
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string { return s.run(t, d) })
	})
}

// stage is a network of sites whose programs end when the script says so.
type stage struct {
	network   *sim.Network
	instances map[string]uuid.UUID

	mu   sync.Mutex
	held map[string]chan struct{} // by activity: closed when it may end
}

func (s *stage) close(t *testing.T) {
	s.mu.Lock()
	for activity := range s.held {
		s.let(activity)
	}
	s.mu.Unlock()
	if s.network == nil {
		return
	}
	if err := s.network.Close(); err != nil {
		t.Error(err)
	}
}

// let lets the program of an activity end; s.mu is held.
func (s *stage) let(activity string) {
	if c := s.held[activity]; c != nil {
		close(c)
		delete(s.held, activity)
	}
}

// gate is a builtin program that ends once the script lets its activity.
type gate struct {
	program.Program
	stage *stage
}

func (g gate) Run(ctx context.Context, call program.Call) program.Result {
	g.stage.mu.Lock()
	held := g.stage.held[call.Activity]
	g.stage.mu.Unlock()
	if held != nil {
		select {
		case <-held:
		case <-ctx.Done():
		}
	}
	return g.Program.Run(ctx, call)
}

// run carries out one command of a script.
func (s *stage) run(t *testing.T, d *datadriven.TestData) string {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	commands := map[string]func(context.Context, *testing.T, *datadriven.TestData) string{
		"sites": s.sites, "define": s.define, "hold": s.hold, "release": s.release, "start": s.start,
		"await": s.await, "status": s.status, "terminate": s.terminate, "cut": s.cut, "mend": s.mend,
		"quiet": s.quiet,
	}
	f := commands[d.Cmd]
	if f == nil {
		d.Fatalf(t, "unknown command %s", d.Cmd)
	}
	return f(ctx, t, d)
}

// sites opens a network of sites with these names, and waits until all are linked.
func (s *stage) sites(ctx context.Context, t *testing.T, d *datadriven.TestData) string {
	builtins, err := program.NewRegistry(map[processtable.ProgramID]program.Spec{
		"echo": {Kind: program.KindBuiltin, Builtin: "echo"}, "fail": {Kind: program.KindBuiltin, Builtin: "fail"},
	}, program.Options{})
	if err != nil {
		t.Fatal(err)
	}
	registry := func(string) *program.Registry {
		entries := map[processtable.ProgramID]program.Entry{}
		for _, name := range builtins.Names() {
			e, _ := builtins.Lookup(name)
			e.Program, e.Concurrency = gate{e.Program, s}, 100
			entries[name] = e
		}
		return program.RegistryOf(entries)
	}
	var names []string
	for _, a := range d.CmdArgs {
		names = append(names, a.Key)
	}
	if s.network, err = sim.Open(sim.Options{Names: names, Speed: 10, Log: zerolog.Nop(), Registry: registry}); err != nil {
		t.Fatal(err)
	}
	err = sim.Until(ctx, func() (bool, error) {
		for _, site := range s.network.Sites {
			a, err := site.Node().Nodes(ctx)
			apart := func(n api.Node) bool { return n.State != api.NodeSelf && n.State != "connected" }
			if err != nil || slices.ContainsFunc(a.Nodes, apart) {
				return false, err
			}
		}
		return true, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return ""
}

// define uploads the process through a site.
func (s *stage) define(ctx context.Context, t *testing.T, d *datadriven.TestData) string {
	loaded, problems := definition.Load("test.yaml", []byte(d.Input))
	if definition.HasErrors(problems) {
		t.Fatal(problems)
	}
	if err := s.network.Upload(ctx, loaded[0], arg(t, d, "at")); err != nil {
		return err.Error()
	}
	return ""
}

// hold lets no program of these activities end.
func (s *stage) hold(_ context.Context, _ *testing.T, d *datadriven.TestData) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, a := range d.CmdArgs {
		s.held[a.Key] = make(chan struct{})
	}
	return ""
}

func (s *stage) release(_ context.Context, _ *testing.T, d *datadriven.TestData) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, a := range d.CmdArgs {
		s.let(a.Key)
	}
	return ""
}

func (s *stage) start(ctx context.Context, t *testing.T, d *datadriven.TestData) string {
	id := uuid.Must(uuid.NewV7())
	s.instances[arg(t, d, "as")] = id
	_, err := s.at(t, d).Start(ctx, api.StartRequest{Instance: id, Process: arg(t, d, "process"), Input: json.RawMessage(d.Input)})
	return s.said(err)
}

// await asks a site until it tells that the instance, or an activity, has a state.
func (s *stage) await(ctx context.Context, t *testing.T, d *datadriven.TestData) string {
	var last string
	err := sim.Until(ctx, func() (bool, error) {
		st, err := s.at(t, d).Status(ctx, s.instance(t, d))
		if err != nil {
			last = s.said(err)
			return false, nil
		}
		last = shown(st)
		for _, a := range d.CmdArgs {
			i := slices.IndexFunc(st.Activities, func(x api.Activity) bool { return x.Activity == a.Key })
			if i >= 0 && string(st.Activities[i].State) != a.Vals[0] || a.Key == "state" && string(st.State) != a.Vals[0] {
				return false, nil
			}
		}
		return true, nil
	})
	if err != nil {
		return err.Error() + "\n" + last
	}
	return ""
}

func (s *stage) status(ctx context.Context, t *testing.T, d *datadriven.TestData) string {
	st, err := s.at(t, d).Status(ctx, s.instance(t, d))
	if err != nil {
		return s.said(err)
	}
	return shown(st)
}

func (s *stage) terminate(ctx context.Context, t *testing.T, d *datadriven.TestData) string {
	return s.said(s.at(t, d).Terminate(ctx, s.instance(t, d)))
}

// cut cuts the wire between two sites.
func (s *stage) cut(_ context.Context, _ *testing.T, d *datadriven.TestData) string {
	s.network.Cut(d.CmdArgs[0].Key, d.CmdArgs[1].Key, true)
	return ""
}

func (s *stage) mend(_ context.Context, _ *testing.T, d *datadriven.TestData) string {
	s.network.Cut(d.CmdArgs[0].Key, d.CmdArgs[1].Key, false)
	return ""
}

// quiet waits until nothing is left anywhere.
func (s *stage) quiet(ctx context.Context, _ *testing.T, _ *datadriven.TestData) string {
	if err := s.network.Quiet(ctx); err != nil {
		return err.Error()
	}
	return ""
}

// at is the node that a command asks.
func (s *stage) at(t *testing.T, d *datadriven.TestData) *node.Node {
	site := s.network.Site(arg(t, d, "at"))
	if site == nil {
		d.Fatalf(t, "no such site")
	}
	return site.Node()
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

// shown is what of a status does not depend on time.
func shown(st api.Status) string {
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
