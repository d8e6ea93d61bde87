package world

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"fmqm/api"
	"fmqm/internal/store"
	"fmqm/internal/store/memory"
	"fmqm/interpret"
	"fmqm/node"
	"fmqm/sim/oracle"
)

// given is a world of the sites A to D that runs one process or more that are given, each so
// often, from the fifth second on.
func given(instances int, bodies ...string) Plan {
	p := Plan{Seed: 1, Sites: []name{"A", "B", "C", "D"}, BothCall: true, Cache: 1000, Brisk: true, Clear: time.Minute}
	d := &drawing{Rand: newWorld(p, Options{}).random}
	for i, body := range bodies {
		p.Processes = append(p.Processes, Process{Name: fmt.Sprintf("given-%d", i), Kind: Given, Body: body, At: time.Second, Through: "A", Sites: p.Sites})
		for range instances {
			p.Instances = append(p.Instances, Instance{ID: d.id(), Process: i, At: 5 * time.Second})
		}
	}
	return p
}

// deadB are processes of which all at B dies, whoever starts them at A: chains that pass
// there once and twice, a join behind it that runs, and one that ends there. The messages of
// one instance that then wait for B are written above each.
var deadB = []string{
	// a -> b
	`
starts: [A]
activities:
  a: {node: A, program: many}
  b: {node: B, program: many}
  c: {node: C, program: many}
control: [{a -> b: _RC > 5}, b -> c]
`, // a -> b1, b1 -> b2, c -> b3
	`
starts: [A]
activities:
  a: {node: A, program: many}
  b1: {node: B, program: many}
  b2: {node: B, empty: true}
  c: {node: C, program: many}
  b3: {node: B, program: many}
  d: {node: D, program: many}
control: [{a -> b1: _RC > 5}, b1 -> b2, b2 -> c, c -> b3, b3 -> d, a -> d]
`, // source -> b, a -> b, c -> end
	`
structures:
  S: {n: int}
input: S
output: S
starts: [A]
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
// When B is back it absorbs them, and all is as the interpreter says.
func TestN6InstancesEndThoughASiteIsDown(t *testing.T) {
	const instances, recordsOfB = 20, 1 + 3 + 3
	p := given(instances, deadB...)
	p.Clear = time.Hour
	p.Events = []Event{{At: 4 * time.Second, Do: Crash, Site: "B", For: 30 * time.Minute}}
	w := newWorld(p, Options{Lines: true})
	looked := 0
	w.control.AfterFunc(20*time.Minute, func() { // B is still down
		looked++
		for _, c := range w.clients {
			finishedWithoutB(t, c)
		}
		waiting := 0
		for _, s := range w.sites {
			if s.name != "B" {
				waiting += leftForB(t, s)
			}
		}
		if waiting != instances*recordsOfB {
			t.Errorf("%d messages wait for B, want %d", waiting, instances*recordsOfB)
		}
	})
	w.control.AfterFunc(50*time.Minute, func() { // B is back
		looked++
		tellsWhoPassedB(t, w.clients[0])
	})
	if r := w.run(); r.Broken != nil || looked != 2 {
		t.Fatalf("looked %d times: %v", looked, Story(r))
	}
}

// finishedWithoutB: the status says that the instance has finished, and that B did not
// answer; of the others it is the interpreter's.
func finishedWithoutB(t *testing.T, c *client) {
	s, err := c.status()
	if err != nil {
		t.Error(err)
		return
	}
	if s.State != api.InstanceFinished || len(s.Unreachable) != 1 || s.Unreachable[0].Node != "B" {
		t.Errorf("%s is %s, unreachable %v", c.of.id, s.State, s.Unreachable)
	}
	for _, a := range s.Activities {
		i := slices.IndexFunc(c.of.expect.Result.Activities, func(r interpret.ActivityResult) bool { return r.Activity == a.Activity })
		want := api.ActivityState(c.of.expect.Result.Activities[i].State)
		if a.Node == "B" {
			want = api.ActivityUnknown
		}
		if a.State != want {
			t.Errorf("%s: %s at %s is %s, want %s", c.of.id, a.Activity, a.Node, a.State, want)
		}
	}
}

// leftForB counts what waits for B at another site, where nothing else may be left.
func leftForB(t *testing.T, s *site) int {
	e, err := s.disk.Peek()
	if err != nil {
		t.Error(err)
		return 0
	}
	left, waiting, err := oracle.LeftFor(e, "B")
	if err != nil || left != "" {
		t.Errorf("at %s: %v, left %s", s.name, err, left)
	}
	return waiting
}

// tellsWhoPassedB: history tells who resolved what led out of b, and that b was skipped at its
// own site.
func tellsWhoPassedB(t *testing.T, c *client) {
	var lines []string
	err := c.world.ask("C", "history", func(ctx context.Context, n *node.Node) error {
		h, err := n.History(ctx, c.instance.ID)
		for _, e := range h.Events {
			lines = append(lines, fmt.Sprintf("%s %s at %s", e.Activity, e.Event, e.Node))
		}
		return err
	})
	want := []string{"source started at A", "a terminated at A", "b passed at A", "b skipped at B", "c passed at A", "c skipped at C", "sink ended at A"}
	slices.Sort(lines)
	slices.Sort(want)
	if err != nil || !slices.Equal(lines, want) {
		t.Errorf("%v: history %q, want %q", err, lines, want)
	}
}

// B is told to stop before the weather clears, for longer than a world has patience, and a commit
// under way holds the stop up until after it: then B stays down no longer than one that has failed.
func TestASiteThatStopsUntilAfterTheWeatherIsStartedAgain(t *testing.T) {
	p := given(1, `
starts: [A]
activities:
  a: {node: A, program: many}
  b: {node: B, program: many}
control: [a -> b]
`)
	p.Instances[0].At = p.Clear - 10*time.Second
	p.Events = []Event{{At: p.Clear - 5*time.Second, Do: Stop, Site: "B", For: 2 * patience}}
	w := newWorld(p, Options{Lines: true})
	w.fate = func(s *site, b *store.Batch) (memory.Fate, bool) {
		return memory.Fate{Takes: 20 * time.Second}, s.name == "B" && accepts(b, "A") && w.tasks.Elapsed() > p.Instances[0].At
	}
	stopping := false
	w.control.AfterFunc(p.Clear+time.Second, func() {
		b := w.site("B")
		stopping = b.life != nil && b.life.node == nil
	})
	if r := w.run(); r.Broken != nil || !stopping {
		t.Fatalf("B was stopping when the weather had cleared: %t\n%s", stopping, Story(r))
	}
}
