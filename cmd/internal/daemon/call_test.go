package daemon_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/google/uuid"

	"fmqm/api"
	"fmqm/api/apitest"
	"fmqm/cmd/internal/daemon/daemontest"
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
	n.start("D")
	s, err := a.Wait(ctx, id)
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"visits":[{"shop":"B","day":"monday"},{"shop":"D","day":"monday"},{"shop":"C","day":"monday"},{"shop":"B","day":"monday"}],"failed":0,"office":{"shop":"B","day":"monday"}}`
	if s.State != api.InstanceFinished || string(s.Output) != want {
		t.Fatalf("it is %s with %s, want %s\n%+v", s.State, s.Output, want, s.Activities)
	}
}
