package node_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"fmqm/api"
	"fmqm/node"
)

// shipment begins pack-line through order@2, for each order.
const shipment = `
process: shipment
version: 1
structures:
  Orders: {amount: [int]}
  Order: {amount: int, note: string}
input: Orders
activities:
  each:
    node: A
    for_each: amount
    parallel: 5
    input: Order
    activities:
      fill: {node: A, process: PROCESS, input: Order}
    data:
      - source -> fill
data:
  - source -> each: {amount: amount}
`

// slow waits for a thousand hours where its order is above 100, and is in error otherwise.
const slow = `
process: slow
version: 1
structures:
  Order: {amount: int, note: string}
input: Order
activities:
  wait: {node: A, wait: {for: 1000h}}
  fail: {node: A, program: fail}
control:
  - source -> wait: amount > 100
  - source -> fail: otherwise
`

// passing begins another process, so that what is in error is two levels deep.
const passing = `
process: passing
version: 1
structures:
  Order: {amount: int, note: string}
input: Order
activities:
  pass: {node: A, process: slow, input: Order}
data:
  - source -> pass
`

// N19: an instance whose child stands in error stands in error itself, for whoever waits for it: it says which activity
// of which instance, and goes on once that is retried.
func TestAnInstanceStandsInErrorWithItsChild(t *testing.T) {
	n := openNode(t, "A", "")
	uploadFamily(t, n, order, packing("fail"))
	s := run(t, n, "order", `{"amount": 3}`)
	pack := activity(s, "pack")
	if s.State != api.InstanceInError || s.InError != 1 || pack.State != api.ActivityRunning {
		t.Fatalf("it is %s with %d in error, pack is %s", s.State, s.InError, pack.State)
	}
	want := api.Parent{Instance: *pack.Child, Process: "pack-line@1", Activity: "wrap"}
	if s.ErrorIn == nil || *s.ErrorIn != want || !strings.HasPrefix(s.Reason, "instance "+pack.Child.String()+" of pack-line@1, which pack has begun at A, is in error: activity wrap at A: ") {
		t.Errorf("it is in error in %+v: %s", s.ErrorIn, s.Reason)
	}
	if why, err := n.Why(t.Context(), s.Instance, ""); err != nil || why.State != api.InstanceInError || why.Reason != s.Reason {
		t.Errorf("why says %s, %s, %v", why.State, why.Reason, err)
	}
	lists(t, n, s)
	if _, err := n.Retry(t.Context(), *pack.Child, api.RetryRequest{Activity: "wrap", Output: json.RawMessage(`{"amount": 4}`)}); err != nil {
		t.Fatal(err)
	}
	if s, err := n.Wait(t.Context(), s.Instance); err != nil || s.State != api.InstanceFinished || s.ErrorIn != nil {
		t.Errorf("it is %s, %v: %+v", s.State, err, s.ErrorIn)
	}
}

// lists checks that lists say of an instance what its status does, whichever are asked for.
func lists(t *testing.T, n *node.Node, want api.Status) {
	t.Helper()
	name, _, _ := strings.Cut(want.Process, "@")
	for _, c := range []struct {
		request api.ListRequest
		has     bool
	}{
		{api.ListRequest{}, true},
		{api.ListRequest{All: true, Process: name}, true},
		{api.ListRequest{State: want.State}, true},
		{api.ListRequest{State: api.InstanceInError, Process: want.Process}, want.State == api.InstanceInError},
		{api.ListRequest{State: api.InstanceRunning}, want.State == api.InstanceRunning},
		{api.ListRequest{InError: true, Process: name}, want.InError > 0},
		{api.ListRequest{InError: true}, want.InError > 0},
		{api.ListRequest{InError: true, Process: "another"}, false},
	} {
		c.request.Limit = 100
		answer, err := n.List(t.Context(), c.request)
		if err != nil {
			t.Fatal(err)
		}
		at := slices.IndexFunc(answer.Instances, func(i api.Instance) bool { return i.Instance == want.Instance })
		if at >= 0 != c.has || c.has && (answer.Instances[at].State != want.State || answer.Instances[at].InError != want.InError) {
			t.Errorf("%+v: it stands at %d of %+v, want %t, %s with %d in error", c.request, at, answer.Instances, c.has, want.State, want.InError)
		}
	}
}

// So it is where the child is two levels deep and in the elements of a bundle: as long as any of these goes on, the
// instance does.
func TestAnInstanceStandsInErrorWithAllOfItsChildren(t *testing.T) {
	n := openNode(t, "A", "")
	uploadFamily(t, n, slow, passing, strings.ReplaceAll(shipment, "PROCESS", "passing"))
	for _, tc := range []struct {
		amounts string
		want    api.InstanceState
		inError int
	}{
		{"[1, 2, 3]", api.InstanceInError, 3},
		{"[1, 101, 3]", api.InstanceRunning, 0},
	} {
		id := uuid.Must(uuid.NewV7())
		if _, err := n.Start(t.Context(), api.StartRequest{Instance: id, Process: "shipment", Input: json.RawMessage(`{"amount": ` + tc.amounts + `}`)}); err != nil {
			t.Fatal(err)
		}
		var s api.Status
		until(t, func() bool { // all that fails has failed
			list, err := n.List(t.Context(), api.ListRequest{State: api.InstanceInError, Process: "slow", Limit: 100})
			if err != nil {
				t.Fatal(err)
			}
			return len(list.Instances) >= strings.Count(tc.amounts, ",")
		})
		until(t, func() bool {
			var err error
			if s, err = n.Status(t.Context(), id); err != nil {
				t.Fatal(err)
			}
			return s.State == tc.want
		})
		if s.InError != tc.inError || (s.ErrorIn != nil) != (tc.inError > 0) || s.ErrorIn != nil && (s.ErrorIn.Process != "slow@1" || s.ErrorIn.Activity != "fail") {
			t.Errorf("%s: it is %s with %d in error, in %+v: %s", tc.amounts, s.State, s.InError, s.ErrorIn, s.Reason)
		}
		lists(t, n, s)
	}
}
