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

// priority waits until an instance has one as the node asked tells, and no node is still to hear of it.
func priority(t *testing.T, n *node.Node, id api.InstanceID, want int) api.Status {
	t.Helper()
	var s api.Status
	until(t, func() bool {
		var err error
		s, err = n.Status(t.Context(), id)
		got := api.DefaultPriority
		if s.Priority != nil {
			got = *s.Priority
		}
		return err == nil && got == want && len(s.Pending) == 0
	})
	return s
}

// N31: an expedite goes to the instance and to what it has begun, and to what it begins afterwards; it survives a restart,
// and the last word counts. What has ended is refused.
func TestAnInstanceIsExpedited(t *testing.T) {
	dir := t.TempDir()
	n := openNode(t, "A", dir)
	uploadFamily(t, n, order, strings.NewReplacer("control:\n", "  rest: {node: A, wait: {for: 720h}}\ncontrol:\n  - take -> rest\n").Replace(packing("echo")))
	id := uuid.Must(uuid.NewV7())
	three := 3
	if _, err := n.Start(t.Context(), api.StartRequest{Instance: id, Process: "order", Input: json.RawMessage(`{"amount": 3}`), Priority: &three}); err != nil {
		t.Fatal(err)
	}
	child := begun(t, n, id, "pack")
	priority(t, n, id, 3)
	until(t, func() bool {
		a := activity(priority(t, n, child, 3), "rest")
		return a.State == api.ActivityRunning && a.Priority != nil && *a.Priority == 3
	})
	w, err := n.Expedite(t.Context(), id, api.ExpediteRequest{Priority: 9, Reason: "the customer waits"})
	if err != nil || w.Result != api.WordDone || w.Word != "expedite" {
		t.Fatalf("%+v, %v", w, err)
	}
	if again, err := n.Expedite(t.Context(), id, api.ExpediteRequest{Priority: 9, Reason: "the customer waits"}); err != nil || again.ID != w.ID {
		t.Errorf("once more: %+v, %v", again, err)
	}
	priority(t, n, child, 9)
	if _, err := n.Expedite(t.Context(), id, api.ExpediteRequest{Priority: 0}); err != nil {
		t.Fatal(err)
	}
	priority(t, n, child, 0)
	if err := n.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	n = openNode(t, "A", dir)
	if s := priority(t, n, id, 0); len(s.Suspends) > 0 {
		t.Errorf("it is suspended: %+v", s.Suspends)
	}
	if a := activity(priority(t, n, child, 0), "rest"); a.Priority == nil || *a.Priority != 0 {
		t.Errorf("rest is %s with priority %v, want 0", a.State, a.Priority)
	}
	if h := events(t, n, id, "source"); !slices.Equal(h, []string{"started", "expedited", "expedited"}) {
		t.Errorf("history of the instance: %s", h)
	}
	all, err := n.List(t.Context(), api.ListRequest{Limit: 10})
	if err != nil || len(all.Instances) != 2 || slices.ContainsFunc(all.Instances, func(i api.Instance) bool { return i.Priority == nil || *i.Priority != 0 }) {
		t.Errorf("the list has %+v, %v", all.Instances, err)
	}
	if err := n.Terminate(t.Context(), id, ""); err != nil {
		t.Fatal(err)
	}
	wait(t, n, id)
	if _, err := n.Expedite(t.Context(), id, api.ExpediteRequest{Priority: 9}); api.CodeOf(err) != api.CodeRefused {
		t.Errorf("what has ended is expedited: %v", err)
	}
}

// N31: the priority of a process may be an expression over its input, which its activities have where they have none of their
// own: work items too.
func TestPriorityOfAProcess(t *testing.T) {
	n := openNode(t, "A", "")
	upload(t, n, `
process: urgent
version: 1
structures: {In: {urgent: bool, n: int}}
input: In
priority: "urgent ? 8 : 4"
activities:
  plain: {node: A, wait: {for: 720h}}
  own: {node: A, input: In, wait: {for: 720h}, priority: n}
data:
  - source -> own
`)
	for _, tc := range []struct {
		input      string
		plain, own int
	}{{`{"urgent": true, "n": 2}`, 8, 2}, {`{"urgent": false, "n": 77}`, 4, 9}, {`{"urgent": true, "n": -1}`, 8, 0}} {
		id := start(t, n, "urgent", tc.input)
		shown := func(p *int) int {
			if p == nil {
				return api.DefaultPriority
			}
			return *p
		}
		var s api.Status
		until(t, func() bool {
			s = priority(t, n, id, tc.plain)
			return activity(s, "plain").State == api.ActivityRunning && activity(s, "own").State == api.ActivityRunning
		})
		if plain, own := shown(activity(s, "plain").Priority), shown(activity(s, "own").Priority); plain != tc.plain || own != tc.own {
			t.Errorf("of %s: %d and %d, want %d and %d", tc.input, plain, own, tc.plain, tc.own)
		}
	}
}
