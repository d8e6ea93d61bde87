package sites

import (
	"context"
	"slices"
	"strings"
	"testing"

	"fmqm/api"
	"fmqm/test/fleet"
)

// A path that dies passes B twice, and joins one that lives at D.
const deadPathProcess = `
process: detour
version: 1
structures:
  Note: {text: string}
input: Note
output: Note
activities:
  a:  {node: A, program: pass, input: Note, output: Note}
  b1: {node: B, program: pass, input: Note, output: Note}
  c:  {node: C, program: pass, input: Note, output: Note}
  b2: {node: B, program: pass, input: Note, output: Note}
  d:  {node: D, program: pass, input: Note, output: Note, start: any}
control:
  - a -> b1: text == "by B"
  - b1 -> c
  - c -> b2
  - b2 -> d
  - a -> d
data:
  - source -> a
  - a -> b1
  - b1 -> c
  - c -> b2
  - b2 -> d
  - a -> d
  - b1 -> sink
  - d -> sink
`

const deadPathInstances = 20

// N6, invariant 6: a daemon is stopped for the whole of the run. Every instance ends at
// once with what the living path gives, the dead one passes around; two records of each
// wait for the site that is down. When it is back it absorbs them and says `skipped`, and
// nothing is left anywhere. About 5 s.
func TestDeadPathsPassAroundAStoppedDaemon(t *testing.T) {
	pass := []string{"pass: {builtin: echo}"}
	n := newNetwork(t, map[string][]string{"A": pass, "B": pass, "C": pass, "D": pass})
	a, b := n.sites["A"], n.sites["B"]
	file := a.Upload(deadPathProcess)
	if shown := fleet.Must(t, "fmqm-define", "show", file, "--node", "A"); !strings.Contains(shown, "if b1 is dead, A sends for B: FALSE to c, Q_C,0; no data to c, Q_C,0; sink, Q_origin,0\n") {
		t.Errorf("show does not say what A does for B:\n%s", shown)
	}
	ctx, cancel := context.WithTimeout(context.Background(), fleet.Patience)
	defer cancel()
	b.Kill()

	ids := a.begin(ctx, "detour", `{"text": "without B"}`, deadPathInstances)
	a.finish(ctx, ids)
	for _, id := range ids {
		s := a.status(ctx, id, "B")
		if string(s.Output) != `{"text":"without B"}` || of(s, "d").State != api.ActivityTerminated || of(s, "b1").State != api.ActivityUnknown {
			t.Fatalf("status %+v", s)
		}
	}
	a.holds(ctx, map[string]int{"B": 2 * deadPathInstances, "C": 0, "D": 0})
	n.sites["C"].holds(ctx, map[string]int{"B": 0})
	n.sites["D"].holds(ctx, map[string]int{"B": 0})

	b.Start()
	n.Until(ctx, "B absorbs what waits for it", func() bool {
		for _, id := range ids {
			s, err := a.Client.Status(ctx, id)
			if err != nil || of(s, "b1").State != api.ActivitySkipped || of(s, "b2").State != api.ActivitySkipped || of(s, "c").State != api.ActivitySkipped {
				return false
			}
		}
		return true
	})
	a.holds(ctx, map[string]int{"B": 0})
	for _, want := range []string{"b1", "b2", "c", "passed", "skipped"} {
		n.Until(ctx, "the history tells of "+want, func() bool {
			return strings.Contains(fleet.Must(t, "fmqm", "history", ids[0].String(), "--to", a.To()), want)
		})
	}
	// The same process, now that B is there: nothing of it is taken for dead.
	again := a.begin(ctx, "detour", `{"text": "by B"}`, 3)
	a.finish(ctx, again)
	for _, id := range again {
		if s := a.status(ctx, id); of(s, "b1").State != api.ActivityTerminated || of(s, "b2").State != api.ActivityTerminated {
			t.Errorf("status %+v", s)
		}
	}
	n.Empty(ctx)
}

// status is an instance's, once all sites answer but those that are down.
func (s *site) status(ctx context.Context, id api.InstanceID, down ...string) (st api.Status) {
	s.t.Helper()
	err := fleet.Until(ctx, func() (_ bool, err error) {
		st, err = s.Client.Status(ctx, id)
		return len(st.Unreachable) == len(down) && !slices.ContainsFunc(st.Unreachable, func(u api.Unreachable) bool { return !slices.Contains(down, u.Node) }), err
	})
	if err != nil {
		s.t.Fatalf("status %+v, %v", st, err)
	}
	return st
}
