package node_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"fmqm/api"
	"fmqm/internal/childtest"
	"fmqm/node"
)

// uploadFamily stores definitions of which some begin instances of others.
func uploadFamily(t *testing.T, n *node.Node, texts ...string) {
	t.Helper()
	for _, text := range texts {
		r := compiled(t, text)
		for i := range r.Tables {
			var err error
			if _, r.Tables[i].Table, err = childtest.Table(r.Tables[i].Table); err != nil {
				t.Fatal(err)
			}
		}
		answer, err := n.Upload(context.Background(), r)
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range answer.Nodes {
			if line.Result != api.ResultStored {
				t.Fatalf("upload: %+v", line)
			}
		}
	}
}

const order = `
process: order
version: 1
structures:
  Order: {amount: int, note: string}
input: Order
output: Order
activities:
  check: {node: A, program: echo, input: Order, output: Order}
  pack: {node: A, program: process-pack-line, input: Order, output: Order}
  bill: {node: A, program: echo, input: Order, output: Order}
control:
  - check -> pack
  - pack -> bill
data:
  - source -> check
  - check -> pack
  - pack -> bill
  - bill -> sink
`

const packLine = `
process: pack-line
version: 1
structures:
  Line: {amount: int, note: string}
input: Line
output: Line
activities:
  take: {node: A, program: echo, input: Line, output: Line}
  wrap: {node: A, program: PROGRAM, input: Line, output: Line}
control:
  - take -> wrap
data:
  - source -> take
  - take -> wrap
  - wrap -> sink
`

func packing(program string) string { return strings.ReplaceAll(packLine, "PROGRAM", program) }

// events are those of an activity, in their order.
func events(t *testing.T, n *node.Node, id api.InstanceID, activity string) (all []string) {
	t.Helper()
	h, err := n.History(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range h.Events {
		if e.Activity == activity {
			all = append(all, string(e.Event))
		}
	}
	return all
}

// N19: an activity's work is done by an instance of another process, which returns its output.
func TestASubprocess(t *testing.T) {
	n := openNode(t, "A", "")
	uploadFamily(t, n, order, packing("echo"))
	s := run(t, n, "order", `{"amount": 3, "note": "fragile"}`)
	if s.State != api.InstanceFinished || string(s.Output) != `{"amount":3,"note":"fragile"}` {
		t.Errorf("it is %s with %s", s.State, s.Output)
	}
	list, err := n.List(t.Context(), api.ListRequest{All: true, Parent: s.Instance, Limit: 10})
	if err != nil || len(list.Instances) != 1 || list.Instances[0].Instance != *activity(s, "pack").Child || list.Instances[0].Parent.Activity != "pack" {
		t.Fatalf("listed are %+v, %v", list, err)
	}
	child, err := n.Status(t.Context(), list.Instances[0].Instance)
	want := api.Parent{Instance: s.Instance, Process: "order@1", Activity: "pack"}
	if err != nil || child.Parent == nil || *child.Parent != want || child.State != api.InstanceFinished {
		t.Errorf("the child is %+v, %v", child, err)
	}
	if got := strings.Join(events(t, n, s.Instance, "pack"), " "); got != "begun returned terminated" {
		t.Errorf("history of pack: %s", got)
	}
}

// A child in error waits for its own operator; what ends it is an error of the activity, and its retry
// begins another one.
func TestASubprocessIsTerminated(t *testing.T) {
	n := openNode(t, "A", "")
	uploadFamily(t, n, order, packing("fail"))
	id := uuid.Must(uuid.NewV7())
	if _, err := n.Start(t.Context(), api.StartRequest{Instance: id, Process: "order", Input: json.RawMessage(`{"amount": 3}`)}); err != nil {
		t.Fatal(err)
	}
	child := begun(t, n, id, "pack")
	if s, err := n.Wait(t.Context(), child); err != nil || s.State != api.InstanceInError {
		t.Fatalf("the child is %s, %v", s.State, err)
	}
	if err := n.Terminate(t.Context(), child, ""); err != nil {
		t.Fatal(err)
	}
	s, err := n.Wait(t.Context(), id)
	if err != nil || s.State != api.InstanceInError || !strings.Contains(activity(s, "pack").Reason, "instance terminated by") {
		t.Fatalf("the parent is %s, %v: %+v", s.State, err, activity(s, "pack"))
	}
	if _, err := n.Retry(t.Context(), id, api.RetryRequest{Activity: "pack"}); err != nil {
		t.Fatal(err)
	}
	for { // the next one
		if next := begun(t, n, id, "pack"); next != child {
			child = next
			break
		}
		time.Sleep(time.Millisecond)
	}
	if _, err := n.Wait(t.Context(), child); err != nil {
		t.Fatal(err)
	}
	// The parent's end ends it.
	if err := n.Terminate(t.Context(), id, ""); err != nil {
		t.Fatal(err)
	}
	until(t, func() bool {
		s, err := n.Status(t.Context(), child)
		return err == nil && s.State == api.InstanceTerminated
	})
}

// activity is one of a status.
func activity(s api.Status, name string) api.Activity {
	for _, a := range s.Activities {
		if a.Activity == name {
			return a
		}
	}
	return api.Activity{}
}

// begun waits until an activity has begun an instance, and gives the newest.
func begun(t *testing.T, n *node.Node, id api.InstanceID, name string) (child api.InstanceID) {
	t.Helper()
	until(t, func() bool {
		s, err := n.Status(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		if of := activity(s, name).Child; of != nil {
			child = *of
		}
		return child != uuid.Nil
	})
	return child
}

func until(t *testing.T, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it does not come to that")
		}
	}
}
