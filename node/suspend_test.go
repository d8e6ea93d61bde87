package node_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"fmqm/api"
	"fmqm/node"
)

// suspends waits until that many are in force here, and no node is still to hear of any word.
func suspends(t *testing.T, n *node.Node, id api.InstanceID, want int) api.Status {
	t.Helper()
	var s api.Status
	until(t, func() bool {
		var err error
		s, err = n.Status(t.Context(), id)
		return err == nil && len(s.Suspends) == want && len(s.Pending) == 0
	})
	return s
}

// N29: what is suspended stays as it is, over a restart too, and so does what it has begun; whoever resumes
// it lets all of it go on, to the end that it would have had.
func TestAnInstanceIsSuspended(t *testing.T) {
	dir := t.TempDir()
	n := openNode(t, "A", dir)
	uploadFamily(t, n, order, strings.NewReplacer("control:\n", "  rest: {node: A, wait: {for: 1s}}\ncontrol:\n  - take -> rest\n").Replace(packing("echo")))
	id := uuid.Must(uuid.NewV7())
	if _, err := n.Start(t.Context(), api.StartRequest{Instance: id, Process: "order", Input: json.RawMessage(`{"amount": 3}`)}); err != nil {
		t.Fatal(err)
	}
	child := begun(t, n, id, "pack")
	w, err := n.Suspend(t.Context(), id, api.SuspendRequest{Reason: "stock-taking"})
	if err != nil || w.Result != api.WordDone || w.Word != "suspend" {
		t.Fatalf("%+v, %v", w, err)
	}
	if again, err := n.Suspend(t.Context(), id, api.SuspendRequest{Reason: "stock-taking"}); err != nil || again.ID != w.ID {
		t.Errorf("once more: %+v, %v", again, err)
	}
	for _, of := range []api.InstanceID{id, child} {
		s := suspends(t, n, of, 1)
		if in := s.Suspends[0]; in.ID != w.ID || in.Reason != "stock-taking" || in.By == "" || s.State != api.InstanceRunning {
			t.Errorf("%s: %+v", s.State, in)
		}
	}
	rest := api.ListRequest{State: api.InstanceSuspended, Limit: 10}
	if l, err := n.List(t.Context(), rest); err != nil || len(l.Instances) != 2 || !l.Instances[0].Suspended || l.Instances[0].State != api.InstanceRunning {
		t.Errorf("suspended are, with the child: %+v, %v", l.Instances, err)
	}
	if err := n.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	n = openNode(t, "A", dir)
	until(t, func() bool { // its time has come, and it does not go on
		why, err := n.Why(t.Context(), child, "")
		return err == nil && slices.ContainsFunc(why.Waits, func(w api.Wait) bool {
			return w.Activity == "rest" && strings.Contains(w.For, "suspended by") && strings.Contains(w.For, "stock-taking")
		})
	})
	if h := events(t, n, id, "source"); !slices.Equal(h, []string{"started", "suspended"}) {
		t.Errorf("history of the instance: %s", h)
	}
	if w, err := n.Resume(t.Context(), id, api.ResumeRequest{}); err != nil || w.Result != api.WordDone {
		t.Fatalf("%+v, %v", w, err)
	}
	if l, err := n.List(t.Context(), rest); err != nil || slices.ContainsFunc(l.Instances, func(i api.Instance) bool { return i.Instance == id }) {
		t.Errorf("suspended is, after the resume: %+v, %v", l.Instances, err)
	}
	s, err := n.Wait(t.Context(), id)
	if err != nil || s.State != api.InstanceFinished || len(s.Suspends)+len(s.Pending) > 0 {
		t.Fatalf("%+v, %v", s, err)
	}
	if h := events(t, n, child, "source"); !slices.Equal(h, []string{"started", "suspended", "resumed"}) {
		t.Errorf("history of the child: %s", h)
	}
	if _, err := n.Suspend(t.Context(), id, api.SuspendRequest{}); api.CodeOf(err) != api.CodeRefused {
		t.Errorf("what has ended is suspended: %v", err)
	}
}

// N29: an activity alone is suspended, until a time: the others go on, and so does it then by itself.
func TestAnActivityIsSuspendedUntil(t *testing.T) {
	n := openNode(t, "A", "")
	upload(t, n, `
process: three
version: 1
activities:
  before: {node: A, wait: {for: 300ms}}
  held: {node: A, empty: true}
  beside: {node: A, empty: true}
control:
  - before -> held
  - before -> beside
`)
	id := start(t, n, "three", `{}`)
	to := time.Now().Add(3 * time.Second)
	if _, err := n.Suspend(t.Context(), id, api.SuspendRequest{Activity: "held", Until: to}); err != nil {
		t.Fatal(err)
	}
	if _, err := n.Suspend(t.Context(), id, api.SuspendRequest{Activity: "hold"}); api.CodeOf(err) != api.CodeNotFound {
		t.Errorf("an activity that is none: %v", err)
	}
	until(t, func() bool {
		s, err := n.Status(t.Context(), id)
		return err == nil && activity(s, "beside").State == api.ActivityTerminated
	})
	s := suspends(t, n, id, 1)
	if a := activity(s, "held"); a.State.Ended() || time.Now().After(to) {
		t.Errorf("held is %s at %s, until %s", a.State, time.Now(), to)
	}
	if s = wait(t, n, id); s.State != api.InstanceFinished || s.Ended.Before(to) {
		t.Errorf("%s at %s, until %s", s.State, s.Ended, to)
	}
	if h := events(t, n, id, "held"); !slices.Equal(h, []string{"suspended", "resumed", "terminated"}) {
		t.Errorf("history of held: %s", h)
	}
}

// N29: whoever terminates what is suspended ends it; a resume of nothing, of another one, or of what is unknown is refused.
func TestWhatIsSuspendedIsTerminated(t *testing.T) {
	n := openNode(t, "A", "")
	upload(t, n, "\nprocess: slow\nversion: 1\nactivities:\n  rest: {node: A, wait: {for: 720h}}\n")
	id := start(t, n, "slow", `{}`)
	if _, err := n.Resume(t.Context(), id, api.ResumeRequest{}); api.CodeOf(err) != api.CodeRefused {
		t.Errorf("nothing is suspended: %v", err)
	}
	first, err := n.Suspend(t.Context(), id, api.SuspendRequest{})
	if err != nil {
		t.Fatal(err)
	}
	second, err := n.Suspend(t.Context(), id, api.SuspendRequest{Reason: "once more"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := n.Resume(t.Context(), id, api.ResumeRequest{Only: uuid.Must(uuid.NewV7())}); api.CodeOf(err) != api.CodeNotFound {
		t.Errorf("an unknown one: %v", err)
	}
	if _, err := n.Resume(t.Context(), id, api.ResumeRequest{Only: first.ID}); err != nil {
		t.Fatal(err)
	}
	if s := suspends(t, n, id, 1); s.Suspends[0].ID != second.ID {
		t.Errorf("in force is %+v", s.Suspends)
	}
	if err := n.Terminate(t.Context(), id, ""); err != nil {
		t.Fatal(err)
	}
	if s := wait(t, n, id); s.State != api.InstanceTerminated {
		t.Errorf("it is %s", s.State)
	}
}

// N25, N29: what is cancelled ends although it is suspended. The block around it has ended by an operator's hand, and with
// that the instance, so that nobody could resume it any more.
func TestWhatIsCancelledIsNotSuspended(t *testing.T) {
	n := openNode(t, "A", "")
	upload(t, n, `
process: nested
version: 1
activities:
  line:
    node: A
    activities:
      inner: {node: A, wait: {for: 720h}}
`)
	id := start(t, n, "nested", `{}`)
	until(t, func() bool { return len(events(t, n, id, "line")) > 0 })
	if _, err := n.Suspend(t.Context(), id, api.SuspendRequest{Scope: "line#1", Activity: "inner"}); err != nil {
		t.Fatal(err)
	}
	if _, err := n.Skip(t.Context(), id, api.HandRequest{Activity: "line", Reason: "not needed"}); err != nil {
		t.Fatal(err)
	}
	if s := wait(t, n, id); s.State != api.InstanceFinished {
		t.Errorf("%+v", s)
	}
	until(t, func() bool {
		h, err := n.History(t.Context(), id)
		return err == nil && slices.ContainsFunc(h.Events, func(e api.HistoryEvent) bool {
			return e.Scope == "line#1" && e.Activity == "inner" && e.Event == api.EventCancelled
		})
	})
}
