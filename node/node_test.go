package node_test

import (
	"context"
	"encoding/json"
	"os"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/rs/zerolog"
	"go.uber.org/goleak"

	"fmqm/api"
	"fmqm/definition"
	"fmqm/internal/store/badger"
	"fmqm/node"
	"fmqm/processtable"
	"fmqm/program"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// openNode opens and launches a node on a store, and stops it with the test.
func openNode(t *testing.T, name, dir string) *node.Node {
	t.Helper()
	engine, err := badger.Open(badger.Options{Dir: dir, InMemory: dir == ""})
	if err != nil {
		t.Fatal(err)
	}
	registry := builtins(t)
	n, err := node.Open(node.Options{
		Name: processtable.NodeID(name), Engine: engine, Registry: registry,
		Log: zerolog.New(zerolog.NewTestWriter(t)).Level(zerolog.WarnLevel),
	})
	if err != nil {
		t.Fatal(err)
	}
	n.Launch()
	t.Cleanup(func() {
		if err := n.Stop(context.Background()); err != nil {
			t.Error(err)
		}
		registry.Close()
	})
	return n
}

// builtins registers the programs that are there without any.
func builtins(t *testing.T) *program.Registry {
	t.Helper()
	registry, err := program.NewRegistry(map[processtable.ProgramID]program.Spec{
		"noop": {Kind: program.KindBuiltin, Builtin: "noop"},
		"echo": {Kind: program.KindBuiltin, Builtin: "echo"},
		"fail": {Kind: program.KindBuiltin, Builtin: "fail"},
	}, program.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return registry
}

// compiled gives the upload of a definition.
func compiled(t *testing.T, text string) api.UploadRequest {
	t.Helper()
	processes, problems := definition.Load("test.yaml", []byte(text))
	for _, p := range problems {
		if p.Severity == definition.Error {
			t.Fatal(p.Text([]byte(text)))
		}
	}
	var r api.UploadRequest
	for _, p := range processes {
		compiled, err := definition.Compile(p)
		if err != nil {
			t.Fatal(err)
		}
		for i, table := range compiled.Tables {
			r.Tables = append(r.Tables, api.Table{
				Node: string(table.Node), Process: table.Process.String(), Definition: table.Definition.String(),
				Table: compiled.Encoded[i],
			})
		}
	}
	return r
}

// upload stores a definition at its nodes.
func upload(t *testing.T, n *node.Node, text string) {
	t.Helper()
	answer, err := n.Upload(context.Background(), compiled(t, text))
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range answer.Nodes {
		if line.Result != api.ResultStored && line.Result != api.ResultUnchanged {
			t.Fatalf("upload: %+v", line)
		}
	}
}

// run starts an instance and waits for its end.
func run(t *testing.T, n *node.Node, process, input string) api.Status {
	t.Helper()
	id := uuid.Must(uuid.NewV7())
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	if _, err := n.Start(ctx, api.StartRequest{Instance: id, Process: process, Input: json.RawMessage(input)}); err != nil {
		t.Fatal(err)
	}
	s, err := n.Wait(ctx, id)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

const chain = `
process: chain
version: 1
structures:
  Order: {amount: int, note: string}
input: Order
output: Order
activities:
  a: {node: A, program: echo, input: Order, output: Order}
  b: {node: A, program: echo, input: Order, output: Order}
  c: {node: A, program: echo, input: Order, output: Order}
  never: {node: A, program: echo, input: Order, output: Order}
control:
  - a -> b: amount > 5
  - a -> never: otherwise
  - b -> c
data:
  - source -> a
  - a -> b
  - b -> c
  - c -> sink
`

// A chain at one node runs to its end, its dead path is skipped, and its output is the
// process's.
func TestChainAtOneNode(t *testing.T) {
	n := openNode(t, "A", "")
	upload(t, n, chain)
	s := run(t, n, "chain", `{"amount": 7, "note": "hello"}`)
	if s.State != api.InstanceFinished || string(s.Output) != `{"amount":7,"note":"hello"}` {
		t.Fatalf("status: %s %s", s.State, s.Output)
	}
	want := map[string]api.ActivityState{
		"a": api.ActivityTerminated, "b": api.ActivityTerminated, "c": api.ActivityTerminated, "never": api.ActivitySkipped,
	}
	for _, a := range s.Activities {
		if a.State != want[a.Activity] {
			t.Errorf("%s is %s, want %s", a.Activity, a.State, want[a.Activity])
		}
	}
	if os.Getenv("SHOW") != "" {
		b, _ := json.MarshalIndent(s, "", " ")
		t.Log(string(b))
	}
}
