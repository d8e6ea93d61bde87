package sites

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/google/uuid"

	"fmqm/api"
	"fmqm/processtable"
	"fmqm/test/fleet"
)

// rounds is a process of a bundle at A, each element of which is looked at by the site that it names.
const rounds = `process: rounds
version: 1
structures:
  Visit: {n: int, shop: string}
  Visits: {visits: [Visit]}
  Report: {visits: [Visit], rcs: [int], count: int, done: int, failed: int}
input: Visits
output: Report
starts: [A]
activities:
  look: {node: A, program: pass, input: Visit, output: Visit, for_each: _STRUCT, parallel: 1000, at: {node: shop, of: [A, B, C, D]}}
data:
  - source -> look: {_STRUCT: visits}
  - look -> sink: {visits: _RESULTS, rcs: _RCS, count: _COUNT, done: _DONE, failed: _FAILED}
`

// visit is an element of rounds, and what its execution gives back.
type visit struct {
	N    int    `json:"n"`
	Shop string `json:"shop"`
}

// R31, R33, N20, N21: a bundle of as many elements as there may be, done by four sites of which one is killed in the
// middle, and then its home, ends with all results in the list's order, and nothing is left in any queue.
func TestTheLargestBundleOverFourSites(t *testing.T) {
	programs := map[string][]string{}
	for _, name := range fleet.Names {
		programs[name] = []string{"pass: {builtin: echo, concurrency: 1000}"}
	}
	n := newNetwork(t, programs)
	home := n.sites["A"]
	home.Upload(rounds)
	ctx, cancel := context.WithTimeout(context.Background(), 2*fleet.Patience)
	defer cancel()

	visits := make([]visit, processtable.MaxElements)
	for i := range visits {
		visits[i] = visit{N: i, Shop: fleet.Names[i*7/3%len(fleet.Names)]}
	}
	input, err := json.Marshal(map[string]any{"visits": visits})
	if err != nil {
		t.Fatal(err)
	}
	id, begun := uuid.Must(uuid.NewV7()), time.Now()
	if _, err := home.Client.Start(ctx, api.StartRequest{Instance: id, Process: "rounds", Input: input}); err != nil {
		t.Fatal(err)
	}
	for i, name := range []string{"B", "A"} {
		n.Until(ctx, "a part of the elements is done", func() bool { return done(ctx, home, id) > (i+1)*len(visits)/3 })
		n.sites[name].Kill()
		n.sites[name].Start()
	}

	var status api.Status
	n.Until(ctx, "the instance ends", func() bool {
		status, err = home.Client.Wait(ctx, id, api.MaxWait)
		return err == nil && status.State != api.InstanceRunning
	})
	t.Logf("%d elements over four sites in %v", len(visits), time.Since(begun))
	if status.State != api.InstanceFinished {
		t.Fatalf("it is %s: %+v", status.State, status.Activities)
	}
	report(t, status.Output, visits)
	n.Empty(ctx)
	n.Whole()
}

// done is how many elements have come back to their bundle; 0: that is not known now.
func done(ctx context.Context, home *site, id api.InstanceID) int {
	status, err := home.Client.StatusOf(ctx, id, api.StatusRequest{})
	if err != nil {
		return 0
	}
	for _, a := range status.Activities {
		if a.Activity == "look" && a.Elements != nil {
			return a.Elements.Done
		}
	}
	return 0
}

// report compares the output with what each of the visits gives.
func report(t *testing.T, output json.RawMessage, visits []visit) {
	t.Helper()
	var out struct {
		Visits              []visit
		RCs                 []int
		Count, Done, Failed int
	}
	if err := json.Unmarshal(output, &out); err != nil {
		t.Fatal(err)
	}
	all := len(visits)
	if out.Count != all || out.Done != all || out.Failed != 0 || len(out.Visits) != all || len(out.RCs) != all {
		t.Fatalf("of %d elements %d are done, %d have failed, and there are %d results and %d return codes", out.Count, out.Done, out.Failed, len(out.Visits), len(out.RCs))
	}
	for i := range visits {
		if out.Visits[i] != visits[i] || out.RCs[i] != 0 {
			t.Fatalf("result %d is %+v with return code %d, want %+v", i, out.Visits[i], out.RCs[i], visits[i])
		}
	}
}
