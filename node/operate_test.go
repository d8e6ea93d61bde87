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
	"fmqm/node"
)

const failing = `
process: failing
version: 1
structures:
  In: {rc: int}
  Out: {rc: int, divisor: int}
input: In
output: Out
activities:
  one: {node: A, program: fail, input: In, output: Out}
  two: {node: A, program: echo, input: Out, output: Out}
  beside: {node: A, program: echo, input: In}
control:
  - one -> two: 10 / divisor > 1
data:
  - source -> one
  - source -> beside
  - one -> two
  - two -> sink
`

// start starts an instance and gives its identifier.
func start(t *testing.T, n *node.Node, process, input string) uuid.UUID {
	t.Helper()
	id := uuid.Must(uuid.NewV7())
	if _, err := n.Start(context.Background(), api.StartRequest{Instance: id, Process: process, Input: json.RawMessage(input)}); err != nil {
		t.Fatal(err)
	}
	return id
}

func wait(t *testing.T, n *node.Node, id uuid.UUID) api.Status {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	s, err := n.Wait(ctx, id)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// A return code that nothing reads puts the activity in error, durably (R10, N4): a
// restart leaves it so. The operator's output lets it go on (R17); a condition that
// fails then puts it in error again, and a second retry with a fitting output ends it.
func TestErrorSurvivesRestartAndIsRetried(t *testing.T) {
	dir := t.TempDir()
	ctx := context.Background()
	n := openNode(t, "A", dir)
	upload(t, n, failing)
	id := start(t, n, "failing", `{"rc": 3}`)
	s := wait(t, n, id)
	if s.State != api.InstanceInError || s.InError != 1 || !strings.Contains(s.Reason, "return code 3") {
		t.Fatalf("state %s, %d in error: %s", s.State, s.InError, s.Reason)
	}
	list, err := n.List(ctx, api.ListRequest{Limit: 10})
	if err != nil || len(list.Instances) != 1 || list.Instances[0].State != s.State || list.Instances[0].InError != 1 {
		t.Errorf("status says %s, the list %+v, %v", s.State, list.Instances, err)
	}
	why, err := n.Why(ctx, id, "")
	if err != nil || len(why.Waits) == 0 || slices.ContainsFunc(why.Waits, func(w api.Wait) bool { return w.Since.IsZero() }) {
		t.Errorf("why: %+v, %v: since when, on every line", why.Waits, err)
	}
	if err := n.Stop(ctx); err != nil {
		t.Fatal(err)
	}

	n = openNode(t, "A", dir)
	if s = wait(t, n, id); s.State != api.InstanceInError {
		t.Fatalf("after a restart: %s", s.State)
	}
	retry := func(output string) error {
		_, err := n.Retry(ctx, id, api.RetryRequest{Activity: "one", Output: json.RawMessage(output)})
		return err
	}
	if err := retry(`{"divisor": "x"}`); api.CodeOf(err) != api.CodeRefused {
		t.Fatalf("retry with an output that is not its container: %v", err)
	}
	if err := retry(`{"divisor": 0}`); err != nil {
		t.Fatal(err)
	}
	if s = wait(t, n, id); s.State != api.InstanceInError || !strings.Contains(s.Reason, "division by zero") {
		t.Fatalf("after a condition failed: %s: %s", s.State, s.Reason)
	}
	if err := retry(`{"divisor": 2}`); err != nil {
		t.Fatal(err)
	}
	s = wait(t, n, id)
	if s.State != api.InstanceFinished || string(s.Output) != `{"rc":0,"divisor":2}` {
		t.Fatalf("%s: %s", s.State, s.Output)
	}
	if err := retry(`{"divisor": 2}`); api.CodeOf(err) != api.CodeRefused {
		t.Fatalf("retry of what has ended: %v", err)
	}
	quiet(t, n)
}

// Terminate ends every entry of the instance and sends nothing on (R16, N7).
func TestTerminate(t *testing.T) {
	n := openNode(t, "A", "")
	upload(t, n, failing)
	id := start(t, n, "failing", `{"rc": 3}`)
	wait(t, n, id)
	if err := n.Terminate(context.Background(), id, ""); err != nil {
		t.Fatal(err)
	}
	s := wait(t, n, id)
	if s.State != api.InstanceTerminated {
		t.Fatalf("%s", s.State)
	}
	if err := n.Terminate(context.Background(), id, ""); api.CodeOf(err) != api.CodeRefused {
		t.Fatalf("terminate twice: %v", err)
	}
	quiet(t, n)
}

// A repeated start is the same instance; with another input it is refused (N2).
func TestStartIsIdempotent(t *testing.T) {
	n := openNode(t, "A", "")
	upload(t, n, chain)
	id := start(t, n, "chain", `{"amount": 7}`)
	wait(t, n, id)
	again := func(process, input string) error {
		return n.Begin(context.Background(), api.StartRequest{Instance: id, Process: process, Input: json.RawMessage(input)})
	}
	if err := again("chain@1", `{"amount": 7}`); err != nil {
		t.Fatal(err)
	}
	if err := again("chain@1", `{"amount": 8}`); api.CodeOf(err) != api.CodeRefused {
		t.Fatalf("another input: %v", err)
	}
	if err := again("chain@2", `{"amount": 7}`); api.CodeOf(err) != api.CodeNotFound {
		t.Fatalf("a version that is not here: %v", err)
	}
	list, err := n.List(context.Background(), api.ListRequest{All: true, Limit: 10})
	if err != nil || len(list.Instances) != 1 {
		t.Fatalf("%d instances, %v", len(list.Instances), err)
	}
}

// What an instance was started with as its key is told while it runs and afterwards; a
// repeat may leave it out, and must not have another.
func TestTheStartKeyIsTold(t *testing.T) {
	n := openNode(t, "A", "")
	upload(t, n, chain)
	r := api.StartRequest{Instance: api.KeyedInstance("chain", "monday"), Process: "chain", Input: json.RawMessage(`{"amount": 7}`), Key: "monday"}
	s, err := n.Start(context.Background(), r)
	if err != nil || s.Key != "monday" {
		t.Fatalf("key %q, %v", s.Key, err)
	}
	if s := wait(t, n, r.Instance); s.Key != "monday" || s.State != api.InstanceFinished {
		t.Errorf("%s with key %q", s.State, s.Key)
	}
	list, err := n.List(context.Background(), api.ListRequest{All: true, Limit: 10})
	if err != nil || len(list.Instances) != 1 || list.Instances[0].Key != "monday" {
		t.Errorf("%+v, %v", list.Instances, err)
	}
	history, err := n.History(context.Background(), r.Instance)
	if err != nil || history.Events[0].Reason != "key monday" {
		t.Errorf("%+v, %v", history.Events, err)
	}
	for key, want := range map[string]string{"monday": "", "": "", "tuesday": `started with the key "monday"`} {
		r.Key = key
		if err := n.Begin(context.Background(), r); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("again with the key %q: %v", key, err)
		}
	}
}

// name@version is bound to one definition for ever (N3).
func TestOtherDefinitionUnderOneVersionIsRefused(t *testing.T) {
	n := openNode(t, "A", "")
	upload(t, n, chain)
	upload(t, n, strings.ReplaceAll(chain, "process: chain", "description: the same again\nprocess: chain")) // not its meaning
	r := compiled(t, strings.ReplaceAll(chain, "amount > 5", "amount > 6"))
	answer, err := n.Upload(context.Background(), r)
	if err != nil {
		t.Fatal(err)
	}
	if got := answer.Nodes[0]; got.Result != api.ResultRefused || !strings.Contains(got.Reason, "raise the version") {
		t.Fatalf("%+v", got)
	}
}

// quiet waits until no queue of the node holds anything. Between two looks the committer and each
// process thread have answered, so they have gone on.
func quiet(t *testing.T, n *node.Node) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	for {
		empty, what := n.Quiet()
		if empty {
			return
		}
		if h := n.Live(ctx); h.State != api.HealthOK {
			t.Fatalf("not empty: %s; %+v", what, h)
		}
	}
}

// A start whose caller gives up before the thread has taken it up is carried out all
// the same, and hurts nobody (N2: the caller repeats it).
func TestStartOfACallerWhoGivesUp(t *testing.T) {
	n := openNode(t, "A", "")
	upload(t, n, chain)
	gone, cancel := context.WithCancel(context.Background())
	cancel()
	for range 200 {
		id := uuid.Must(uuid.NewV7())
		r := api.StartRequest{Instance: id, Process: "chain", Input: json.RawMessage(`{"amount": 7}`)}
		if err := n.Begin(gone, r); err != nil && api.CodeOf(err) != api.CodeUnreachable {
			t.Fatal(err)
		}
		if err := n.Begin(context.Background(), r); err != nil {
			t.Fatal(err)
		}
		if s := wait(t, n, id); s.State != api.InstanceFinished {
			t.Fatalf("%s", s.State)
		}
	}
	quiet(t, n)
}
