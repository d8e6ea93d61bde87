package node_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"fmqm/api"
	"fmqm/message"
	"fmqm/node"
	"fmqm/processtable"
)

// uploadFamily stores definitions of which some begin instances of others.
func uploadFamily(t *testing.T, n *node.Node, texts ...string) {
	t.Helper()
	for _, text := range texts {
		r := compiled(t, text)
		r.Tables = slices.DeleteFunc(r.Tables, func(table api.Table) bool { return table.Node != "A" })
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
  pack: {node: A, process: pack-line, input: Order, output: Order}
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
	first := child
	until(t, func() bool { // the next one
		child = begun(t, n, id, "pack")
		s, err := n.Status(t.Context(), child)
		return child != first && err == nil && s.State == api.InstanceInError
	})
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
		if err != nil && api.CodeOf(err) != api.CodeNotFound { // it may be about to start
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
	look, end := time.NewTicker(time.Millisecond), time.After(time.Minute)
	defer look.Stop()
	for !holds() {
		select {
		case <-look.C:
		case <-end:
			t.Fatal("it does not come to that")
		}
	}
}

// What a subprocess cannot begin is a failed attempt, which says what to do; nothing has begun.
func TestWhatASubprocessCannotBegin(t *testing.T) {
	n := openNode(t, "A", "")
	uploadFamily(t, n, packing("echo"), strings.NewReplacer("pack-line", "elsewhere", "input: Line\noutput", "input: Line\nstarts: [B]\noutput").Replace(packing("echo")),
		strings.NewReplacer("pack-line", "other-shape", "amount: int", "sum: int").Replace(packing("echo")),
		strings.NewReplacer("pack-line", "choosy", "control:\n", "control:\n  - source -> take: 100 / amount > 1\n").Replace(packing("echo")))
	for i, tc := range []struct{ process, want string }{
		{"missing", "no table of missing at A: upload it with fmqm-define upload, and retry"},
		{"pack-line@2", "no table of pack-line@2 at A: A has pack-line@1"},
		{"elsewhere", "elsewhere@1 may not be started at A, only at B: add A to the `starts` of a new version of elsewhere, and retry"},
		{"other-shape", "the input of pack has not the shape of that of other-shape@1: Order has no member sum: give both the same members"},
		{"choosy", `start choosy@1: transition condition "100 / amount > 1" to take: `},
	} {
		name := "order" + string(rune('a'+i))
		uploadFamily(t, n, strings.NewReplacer("process: order", "process: "+name, "process: pack-line", "process: "+tc.process).Replace(order))
		s := run(t, n, name, `{"amount": 0}`)
		if pack := activity(s, "pack"); s.State != api.InstanceInError || pack.State != api.ActivityInError || !strings.HasPrefix(pack.Reason, tc.want) || pack.Child != nil {
			t.Errorf("%s: %s, %+v", tc.process, s.State, pack)
		}
	}
	if list, err := n.List(t.Context(), api.ListRequest{All: true, Limit: 100}); err != nil || len(list.Instances) != 5 {
		t.Errorf("listed are %+v, %v", list, err)
	}
}

// N19: a name alone is the highest version that is there when it begins.
func TestASubprocessIsOfTheHighestVersion(t *testing.T) {
	n := openNode(t, "A", "")
	uploadFamily(t, n, order, packing("echo"))
	if of := activity(run(t, n, "order", `{}`), "pack").Of; of != "pack-line@1" {
		t.Errorf("first it is %s", of)
	}
	uploadFamily(t, n, strings.Replace(packing("echo"), "version: 1", "version: 3", 1))
	if of := activity(run(t, n, "order", `{}`), "pack").Of; of != "pack-line@3" {
		t.Errorf("then it is %s", of)
	}
}

// A process that begins itself comes to an end at the limit; and whoever ends the first ends all.
func TestSubprocessesInsideOfOneAnother(t *testing.T) {
	n := openNode(t, "A", "")
	uploadFamily(t, n, "process: again\nversion: 1\nactivities:\n  more: {node: A, process: again}\n")
	root := uuid.Must(uuid.NewV7())
	if _, err := n.Start(t.Context(), api.StartRequest{Instance: root, Process: "again"}); err != nil {
		t.Fatal(err)
	}
	chain := []api.InstanceID{root}
	for len(chain) <= message.MaxDepth {
		chain = append(chain, begun(t, n, chain[len(chain)-1], "more"))
	}
	s, err := n.Wait(t.Context(), chain[message.MaxDepth])
	if err != nil || s.State != api.InstanceInError || !strings.Contains(activity(s, "more").Reason, "too deep inside of others: does a process begin itself, with no condition that ends this? 32 are the limit") {
		t.Fatalf("the innermost is %s, %v: %+v", s.State, err, s.Activities)
	}
	if err := n.Terminate(t.Context(), root, ""); err != nil {
		t.Fatal(err)
	}
	for _, id := range chain {
		until(t, func() bool {
			s, err := n.Status(t.Context(), id)
			return err == nil && s.State == api.InstanceTerminated
		})
	}
}

// An identifier that somebody else has taken is no child's: the attempt fails, and another run has another.
func TestAForeignInstanceUnderTheIdentifierOfAChild(t *testing.T) {
	n := openNode(t, "A", "")
	uploadFamily(t, n, order, packing("echo"))
	id := uuid.Must(uuid.NewV7())
	parent := message.Parent{Process: processtable.ProcessID{Name: "order", Version: 1}, Node: "A", Instance: id, Activity: "pack", Iteration: 1, Attempt: 1}
	taken := parent.Child(processtable.ProcessID{Name: "pack-line", Version: 1}, 1)
	for _, r := range []api.StartRequest{{Instance: taken, Process: "pack-line"}, {Instance: id, Process: "order"}} {
		if _, err := n.Start(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	s, err := n.Wait(t.Context(), id)
	if err != nil || s.State != api.InstanceInError || !strings.Contains(activity(s, "pack").Reason, taken.String()+" of pack-line@1 is here already") {
		t.Fatalf("it is %s, %v: %+v", s.State, err, activity(s, "pack"))
	}
	if _, err := n.Retry(t.Context(), id, api.RetryRequest{Activity: "pack"}); err != nil {
		t.Fatal(err)
	}
	if s, err := n.Wait(t.Context(), id); err != nil || s.State != api.InstanceFinished || *activity(s, "pack").Child == taken {
		t.Errorf("after a retry it is %s, %v: %+v", s.State, err, activity(s, "pack"))
	}
}
