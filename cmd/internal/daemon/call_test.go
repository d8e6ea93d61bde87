package daemon_test

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"fmqm/api"
	"fmqm/api/apitest"
	"fmqm/cmd/internal/daemon/daemontest"
	"fmqm/test/fleet"
)

// night is a process of a bundle whose executions run at the sites that they name, and of a call at one of two.
const night = `
process: night
version: 1
structures:
  Visit: {shop: string, day: string}
  Plan: {shops: [string], day: string, office: string}
  Report: {visits: [Visit], failed: int, office: Visit}
input: Plan
output: Report
starts: [A]
activities:
  count: {node: A, program: ship, input: Visit, output: Visit, for_each: shop, at: {node: shop, of: [B, C, D]}}
  write: {node: A, program: ship, input: Visit, output: Visit, at: {node: shop, of: [A, B]}}
control:
  - count -> write
data:
  - source -> count: {shop: shops, day: day}
  - source -> write: {shop: office, day: day}
  - count -> sink: {visits: _RESULTS, failed: _FAILED}
  - write -> sink: {office: _STRUCT}
`

// R33: each execution runs at the site that its input names, also where that comes up later than it was begun,
// or is killed in between; a site that is none of the list is an error at home.
func TestCallsOverFourSites(t *testing.T) {
	n := newNetwork(t)
	for _, s := range []string{"A", "B", "C"} {
		n.start(s)
	}
	a := n.daemons["A"].Node
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	if _, err := a.Upload(ctx, apitest.Upload(t, night)); err != nil {
		t.Fatal(err)
	}
	id := uuid.Must(uuid.NewV7())
	if _, err := a.Start(ctx, api.StartRequest{
		Instance: id, Process: "night", Input: json.RawMessage(`{"shops":["B","D","C","B"],"day":"monday","office":"B"}`),
	}); err != nil {
		t.Fatal(err)
	}
	daemontest.Stop(t, n.daemons["A"])
	n.start("A")
	a = n.daemons["A"].Node
	until(t, "why names D, which is not heard", func() bool {
		why, err := a.Why(ctx, id, "")
		if err != nil {
			t.Fatal(err)
		}
		return slices.ContainsFunc(why.Waits, func(w api.Wait) bool { return w.State == api.ActivityRunning && w.At == "D" && !w.Heard })
	})
	n.start("D")
	s, err := a.Wait(ctx, id)
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"visits":[{"shop":"B","day":"monday"},{"shop":"D","day":"monday"},{"shop":"C","day":"monday"},{"shop":"B","day":"monday"}],"failed":0,"office":{"shop":"B","day":"monday"}}`
	if s.State != api.InstanceFinished || string(s.Output) != want {
		t.Fatalf("it is %s with %s, want %s\n%+v", s.State, s.Output, want, s.Activities)
	}
	for _, site := range []string{"B", "C", "D"} { // where it was done is known at home
		daemontest.Stop(t, n.daemons[site])
	}
	for scope, want := range map[string]string{"": "count: , write: B", "count": "count[0]: B, count[1]: D, count[2]: C, count[3]: B"} {
		s, err := a.StatusOf(ctx, id, api.StatusRequest{Scope: scope})
		var at []string
		for i := range s.Activities {
			at = append(at, api.Shown(s.Activities[i].Scope, s.Activities[i].Activity)+": "+s.Activities[i].At)
		}
		if got := strings.Join(at, ", "); err != nil || got != want {
			t.Errorf("in %q it was done at %s, %v; want %s", scope, got, err, want)
		}
	}
}

// nightIn is a process of a bundle of calls of which one may err.
const nightIn = `
process: night-in
version: 1
structures:
  Visit: {shop: string, day: string}
  Plan: {shops: [string], day: string}
  Report: {visits: [Visit], done: int, failed: int, count: int}
input: Plan
output: Report
starts: [A]
activities:
  count: {node: A, program: PROGRAM, input: Visit, output: Visit, for_each: shop, at: {node: shop, of: [B, C]}}
data:
  - source -> count: {shop: shops, day: day}
  - count -> sink: {visits: _RESULTS, failed: _FAILED, done: _DONE, count: _COUNT}
`

// R32, R33: an element in error waits for an operator, wherever it is done, and the others go on; the origin is told
// once, and a retry that is asked at home reaches it by its path.
func TestAnElementInError(t *testing.T) {
	n := newNetwork(t)
	for _, s := range []string{"A", "B", "C"} {
		n.start(s)
	}
	a := n.daemons["A"].Node
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	if _, err := a.Upload(ctx, apitest.Upload(t, strings.ReplaceAll(nightIn, "PROGRAM", "refuse"))); err != nil {
		t.Fatal(err)
	}
	id := uuid.Must(uuid.NewV7())
	if _, err := a.Start(ctx, api.StartRequest{
		Instance: id, Process: "night-in", Input: json.RawMessage(`{"shops":["B","C","X"],"day":"monday"}`),
	}); err != nil {
		t.Fatal(err)
	}
	var s api.Status
	soon, stop := context.WithTimeout(ctx, 10*time.Second)
	defer stop()
	err := fleet.Until(soon, func() (ok bool, err error) {
		if s, err = a.Status(ctx, id); err != nil {
			return false, err
		}
		e := s.Activities[0].Elements
		return e != nil && e.InError == 3, nil
	})
	if want := (api.Elements{Count: 3, InError: 3}); err != nil || *s.Activities[0].Elements != want || s.Activities[0].Kind != api.KindBundle {
		t.Fatalf("the bundle is %+v, %v", s.Activities, err)
	}
	for _, r := range []api.StatusRequest{{Scope: "count"}, {Tree: true}} {
		s, err := a.StatusOf(ctx, id, r)
		var got []string
		for _, x := range s.Activities {
			got = append(got, x.Scope+" "+x.Activity+" at "+x.At+" is "+string(x.State))
		}
		want := "count[0] count at B is in-error, count[1] count at C is in-error, count[2] count at  is in-error"
		if r.Tree {
			want = " count at  is running, " + want
		}
		if strings.Join(got, ", ") != want || err != nil {
			t.Errorf("%+v: %s, %v, want %s", r, strings.Join(got, ", "), err, want)
		}
	}
	w, err := a.WhyOf(ctx, id, api.WhyRequest{})
	if err != nil || len(w.Waits) != 3 || w.Waits[0].Scope != "count[0]" || !strings.Contains(w.Waits[0].For, "waiting for an operator to retry") {
		t.Errorf("why: %+v, %v", w, err)
	}
	for i, at := range []string{"B", "C", "A"} {
		word, err := n.daemons[at].Node.Retry(ctx, id, api.RetryRequest{Activity: "count[" + strconv.Itoa(i) + "]", Output: json.RawMessage(`{"shop":"` + at + `","day":"by hand"}`)})
		if err != nil || word.Result != api.WordDone {
			t.Errorf("retry of count[%d]: %+v, %v", i, word, err)
		}
	}
	if s, err = a.Wait(ctx, id); err != nil {
		t.Fatal(err)
	}
	const want = `{"visits":[{"shop":"B","day":"by hand"},{"shop":"C","day":"by hand"},{"shop":"A","day":"by hand"}],"done":3,"failed":0,"count":3}`
	if s.State != api.InstanceFinished || string(s.Output) != want || s.InError != 0 {
		t.Errorf("it is %s with %s, want %s", s.State, s.Output, want)
	}
}
