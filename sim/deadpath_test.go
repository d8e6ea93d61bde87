package sim_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/rs/zerolog"
	"pgregory.net/rapid"

	"fmqm/api"
	"fmqm/definition"
	"fmqm/interpret"
	"fmqm/sim"
	"fmqm/sim/generate"
)

// N6, invariant 7: processes in which most paths die run as in the interpreter, over
// real nodes and links; nothing is left. With the 100 runs that rapid
// makes: 600 processes, in about 5 s.
func TestN6DeadWoodIsTheInterpretersRun(t *testing.T) {
	n, err := sim.Open(sim.Options{
		Names: generate.Nodes, BothCall: true, CacheEntries: 5,
		Log: zerolog.New(zerolog.NewTestWriter(t)).Level(zerolog.WarnLevel),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer closeNetwork(t, n)
	rapid.Check(t, func(t *rapid.T) {
		together(t, n, rapid.SliceOfN(generate.DeadWood(), 6, 6).Draw(t, "processes"))
	})
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := n.Quiet(ctx); err != nil {
		t.Errorf("all instances have ended, and something is left: %v", err)
	}
}

func closeNetwork(t *testing.T, n *sim.Network) {
	t.Helper()
	if err := n.Close(); err != nil {
		t.Error(err)
	}
}

// instancesOfB is how many there are of each of deadB.
const instancesOfB = 20

// deadB are processes of which all at B dies, whoever starts them at A: chains that pass
// there once and twice, a join behind it that runs, and one that ends there.
var deadB = []string{
	`
activities:
  a: {node: A, program: many}
  b: {node: B, program: many}
  c: {node: C, program: many}
control: [{a -> b: _RC > 5}, b -> c]
`, `
activities:
  a: {node: A, program: many}
  b1: {node: B, program: many}
  b2: {node: B, empty: true}
  c: {node: C, program: many}
  b3: {node: B, program: many}
  d: {node: D, program: many}
control: [{a -> b1: _RC > 5}, b1 -> b2, b2 -> c, c -> b3, b3 -> d, a -> d]
`, `
structures:
  S: {n: int}
input: S
output: S
activities:
  a: {node: A, program: many, output: S}
  b: {node: B, program: many, input: S, output: S}
  c: {node: C, program: many, input: S, output: S, start: any}
  end: {node: B, program: many}
control: [{a -> b: _RC > 5}, b -> c, a -> c, {c -> end: _RC > 5}]
data: [source -> b, a -> b, b -> c, a -> c, b -> sink, c -> sink]
`,
}

// N6, invariant 6: site B is down for the whole of the run. Every instance ends all the
// same; what is left are B's own records, in the transmission queues of who made them.
// When B is back it absorbs them, and all queues are empty.
func TestN6InstancesEndThoughASiteIsDown(t *testing.T) {
	n, err := sim.Open(sim.Options{Names: generate.Nodes, BothCall: true, Log: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	defer closeNetwork(t, n)
	ctx, cancel := context.WithTimeout(context.Background(), 2*patience)
	defer cancel()

	var plays []*play
	for i, body := range deadB {
		p := fixed(t, n, fmt.Sprintf("dead-b-%d", i), body)
		if err := n.Upload(ctx, p.process, "A"); err != nil {
			t.Fatal(err)
		}
		for range instancesOfB {
			another := *p
			another.id = uuid.Must(uuid.NewV7())
			plays = append(plays, &another)
		}
	}
	b := n.Site("B")
	if err := b.Crash(); err != nil {
		t.Fatal(err)
	}
	for _, p := range plays {
		elsewhere := slices.DeleteFunc(p.expect.Ends(), func(name string) bool { return strings.HasPrefix(name, "b") || name == "end" })
		p.ended = n.Play.Watch(p.id, elsewhere)
		if _, err := n.Site("A").Node().Start(ctx, api.StartRequest{Instance: p.id, Process: p.process.Name + "@1"}); err != nil {
			t.Fatal(err)
		}
	}
	for _, p := range plays {
		select {
		case <-p.ended:
		case <-ctx.Done():
			t.Fatalf("%s waits for the site that is down", p.process.Name)
		}
	}
	finishedWithout(ctx, t, n, plays[len(plays)-1])
	records := 0
	for _, r := range recordsOfB {
		records += instancesOfB * len(strings.Split(r, ", "))
	}
	noneAt(ctx, t, n, b, records)

	if err := b.Open(0, false); err != nil {
		t.Fatal(err)
	}
	for _, p := range plays {
		p.backAgain(ctx, t)
	}
	if err := n.Quiet(ctx); err != nil {
		t.Errorf("B is back, and something is left: %v", err)
	}
	history(ctx, t, n, plays[0])
}

// fixed is a play of a process that was not drawn.
func fixed(t *testing.T, n *sim.Network, name, body string) *play {
	t.Helper()
	loaded, problems := definition.Load(name+".yaml", fmt.Appendf(nil, "process: %s\nversion: 1\n%s", name, body))
	if len(loaded) != 1 {
		t.Fatal(problems)
	}
	c := &generate.Case{Seed: 7}
	p := &play{network: n, drawn: c, process: loaded[0]}
	n.Play.Add(name+"@1", c)
	var err error
	if p.expect, err = sim.Expect(p.process, json.RawMessage(c.Input), generate.Interpreted(c)); err != nil {
		t.Fatal(err)
	}
	return p
}

// finishedWithout: the status says that the instance has finished, and that B did not
// answer.
func finishedWithout(ctx context.Context, t *testing.T, n *sim.Network, p *play) {
	t.Helper()
	s, err := n.Site("A").Node().Status(ctx, p.id)
	if err != nil {
		t.Fatal(err)
	}
	if s.State != api.InstanceFinished || len(s.Unreachable) != 1 || s.Unreachable[0].Node != "B" {
		t.Errorf("status %s, unreachable %v", s.State, s.Unreachable)
	}
	for _, a := range s.Activities {
		want := api.ActivityUnknown
		if a.Node != "B" {
			want = api.ActivityState(stateOf(p.expect.Result, a.Activity))
		}
		if a.State != want {
			t.Errorf("%s at %s is %s, want %s", a.Activity, a.Node, a.State, want)
		}
	}
}

func stateOf(r *interpret.Result, activity string) interpret.State {
	i := slices.IndexFunc(r.Activities, func(a interpret.ActivityResult) bool { return a.Activity == activity })
	return r.Activities[i].State
}

// recordsOfB are the messages of one instance of each of deadB that wait for B.
var recordsOfB = []string{
	"a -> b",
	"a -> b1, b1 -> b2, c -> b3",
	"source -> b, a -> b, c -> end",
}

// noneAt: nothing is left at the other sites but what waits for this one.
func noneAt(ctx context.Context, t *testing.T, n *sim.Network, down *sim.Site, want int) {
	t.Helper()
	var lefts []string
	waiting := 0
	err := sim.Until(ctx, func() (bool, error) { // acknowledged messages go with a later commit
		lefts, waiting = nil, 0
		for _, s := range n.Sites {
			if s == down {
				continue
			}
			left, records, err := sim.LeftFor(s, down.Name)
			if err != nil {
				return false, err
			}
			if left != "" {
				lefts = append(lefts, fmt.Sprintf("at %s: %s", s.Name, left))
			}
			waiting += records
		}
		return len(lefts) == 0 && waiting == want, nil
	})
	if err != nil {
		t.Errorf("%v: %d messages wait for %s, want %d; beside them %q", err, waiting, down.Name, want, lefts)
	}
}

// backAgain waits until the status is the interpreter's in everything.
func (p *play) backAgain(ctx context.Context, t *testing.T) {
	t.Helper()
	var found []string
	err := sim.Until(ctx, func() (bool, error) {
		s, err := p.network.Site("A").Node().Status(ctx, p.id)
		if err != nil {
			return false, err
		}
		found = sim.Differences(s, p.expect.Result)
		return len(found) == 0, nil
	})
	found = append(found, p.expect.AttemptDifferences(p.network.Play.Attempts(p.id), false)...)
	if err != nil || len(found) > 0 {
		t.Fatalf("%s: %v\n  - %s", p.process.Name, err, strings.Join(found, "\n  - "))
	}
}

// history tells who resolved what led out of b, and that b was skipped at its own site.
func history(ctx context.Context, t *testing.T, n *sim.Network, p *play) {
	t.Helper()
	h, err := n.Site("C").Node().History(ctx, p.id)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, e := range h.Events {
		lines = append(lines, fmt.Sprintf("%s %s at %s", e.Activity, e.Event, e.Node))
	}
	want := []string{"source started at A", "a terminated at A", "b passed at A", "b skipped at B", "c passed at A", "c skipped at C", "sink ended at A"}
	slices.Sort(lines)
	slices.Sort(want)
	if !slices.Equal(lines, want) {
		t.Errorf("history %q, want %q", lines, want)
	}
}
