package daemon_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/google/uuid"

	"fmqm/api"
	"fmqm/api/apitest"
)

const (
	// calling begins hidden at B or C, as its input says.
	calling = `
process: calling
version: 1
structures:
  Visit: {shop: string}
input: Visit
starts: [A]
activities:
  visit: {node: A, process: hidden, input: Visit, at: {node: shop, of: [B, C]}}
data:
  - source -> visit
`
	// hidden is no process of A.
	hidden = `
process: hidden
version: 1
structures:
  Visit: {shop: string}
input: Visit
starts: [B, C]
activities:
  look: {node: C, program: refuse, input: Visit}
data:
  - source -> look
`
)

// N19, N20: the node that is asked has no part in the child's process. It learns that the child stands in error from the
// node where that was started, and no more: which activity is, nodes with a part say.
func TestAnInstanceStandsInErrorWithAChildElsewhere(t *testing.T) {
	n := newNetwork(t)
	for _, s := range []string{"A", "B", "C"} {
		n.start(s)
	}
	a := n.daemons["A"].Node
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	for _, text := range []string{hidden, calling} {
		if _, err := a.Upload(ctx, apitest.Upload(t, text)); err != nil {
			t.Fatal(err)
		}
	}
	id := uuid.Must(uuid.NewV7())
	if _, err := a.Start(ctx, api.StartRequest{Instance: id, Process: "calling", Input: json.RawMessage(`{"shop": "B"}`)}); err != nil {
		t.Fatal(err)
	}
	s, err := a.Wait(ctx, id)
	if err != nil || s.State != api.InstanceInError || s.InError != 1 || len(s.Activities) != 1 || s.Activities[0].Child == nil {
		t.Fatalf("it is %s, %v: %+v", s.State, err, s)
	}
	child := *s.Activities[0].Child
	if want := (api.Parent{Instance: child, Process: "hidden@1"}); s.ErrorIn == nil || *s.ErrorIn != want || s.Reason != "instance "+child.String()+" of hidden@1, which visit has begun at B, is in error" {
		t.Errorf("A is told: %+v, %s", s.ErrorIn, s.Reason)
	}
	want := api.Parent{Instance: child, Process: "hidden@1", Activity: "look"}
	if s, err := n.daemons["B"].Node.Status(ctx, id); err != nil || s.ErrorIn == nil || *s.ErrorIn != want {
		t.Errorf("B says: %+v, %v", s.ErrorIn, err)
	}
}
