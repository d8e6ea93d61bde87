package node_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/rs/zerolog"

	"fmqm/api"
	"fmqm/internal/store/badger"
	"fmqm/node"
	"fmqm/processtable"
	"fmqm/program"
)

// broken is a program that fails before it could be started.
type broken struct{ result program.Result }

func (b broken) Run(context.Context, *program.Call) program.Result { return b.result }

// nodeWith opens and launches a node whose only program, echo, ends with a result.
func nodeWith(t *testing.T, r program.Result) *node.Node {
	t.Helper()
	return nodeOf(t, broken{r})
}

// nodeOf opens and launches a node whose only program, echo, is p.
func nodeOf(t *testing.T, p program.Program) *node.Node {
	t.Helper()
	return nodeAmong(t, p, nil)
}

// nodeAmong is nodeOf with peers.
func nodeAmong(t *testing.T, p program.Program, peers map[processtable.NodeID]node.Peer) *node.Node {
	t.Helper()
	engine, err := badger.Open(badger.Options{InMemory: true})
	if err != nil {
		t.Fatal(err)
	}
	n, err := node.Open(node.Options{
		Name: "A", Engine: engine, Log: zerolog.Nop(), Peers: peers,
		Registry: program.RegistryOf(map[processtable.ProgramID]program.Entry{"echo": {Program: p, Kind: program.KindExec}}),
	})
	if err != nil {
		t.Fatal(err)
	}
	n.Launch()
	t.Cleanup(func() { _ = n.Stop(context.Background()) })
	return n
}

const retried = `
process: retried
version: 1
activities:
  a: {node: A, program: echo, retry: {attempts: 5, backoff: 1h}}
`

func begin(t *testing.T, n *node.Node, process string) uuid.UUID {
	t.Helper()
	id := uuid.Must(uuid.NewV7())
	if _, err := n.Start(context.Background(), api.StartRequest{Instance: id, Process: process, Input: json.RawMessage(`{}`)}); err != nil {
		t.Fatal(err)
	}
	return id
}

// P2: a program that cannot be noted would not be found after a crash: the node stops,
// and no attempt was made.
func TestANodeThatCannotNoteItsProgramsStops(t *testing.T) {
	n := nodeWith(t, program.Result{Err: fmt.Errorf("%w: no space left on device", program.ErrLedger)})
	upload(t, n, retried)
	id := begin(t, n, "retried")
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	if err, _, ended := n.Failed().Wait(ctx); ended != nil {
		t.Fatal("it goes on")
	} else if !errors.Is(err, program.ErrLedger) {
		t.Error(err)
	}
	s, err := n.Status(context.Background(), id)
	if err != nil || s.Activities[0].State != api.ActivityRunning || s.Activities[0].Attempts > 1 {
		t.Errorf("%+v, %v", s.Activities, err)
	}
}

// P2: after a final failure there is no other attempt, whatever retry says.
func TestAFinalFailureIsNotRepeated(t *testing.T) {
	n := nodeWith(t, program.Result{Err: program.ErrSuspect, Final: true})
	upload(t, n, retried)
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	if s, err := n.Wait(ctx, begin(t, n, "retried")); err != nil || s.State != api.InstanceInError || s.Activities[0].Reason != program.ErrSuspect.Error() {
		t.Errorf("%v %+v", err, s)
	}
}
