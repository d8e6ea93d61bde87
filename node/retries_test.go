package node_test

import (
	"context"
	"encoding/json"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/rs/zerolog"

	"fmqm/api"
	"fmqm/internal/store/badger"
	"fmqm/node"
	"fmqm/queue/record"
)

// R11: of many attempts that fail at once, each is repeated until none is left. Their
// timers fire while the process thread is in the middle of its turns, so that whatever
// depends on the order in which clocks are read goes wrong for some of them.
func TestR11NoRetryIsForgotten(t *testing.T) {
	const instances, attempts = 300, 10
	var failed, inError atomic.Int64
	all := make(chan struct{})
	engine, err := badger.Open(badger.Options{InMemory: true})
	if err != nil {
		t.Fatal(err)
	}
	registry := builtins(t)
	defer registry.Close()
	n, err := node.Open(node.Options{
		Name: "A", Engine: engine, Registry: registry, Log: zerolog.Nop(),
		Observe: func(r record.AuditRecord) {
			if r.Event == record.EventFailed {
				failed.Add(1)
			}
			if r.Event == record.EventInError && inError.Add(1) == instances {
				close(all)
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	n.Launch()
	defer func() {
		if err := n.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	}()
	upload(t, n, "process: failing\nversion: 1\nactivities:\n  x: {node: A, program: fail, retry: {attempts: 10, backoff: 20ms, max_backoff: 20ms}}\n")
	var starts sync.WaitGroup
	for range instances {
		starts.Go(func() {
			if _, err := n.Start(t.Context(), api.StartRequest{
				Instance: uuid.Must(uuid.NewV7()), Process: "failing", Input: json.RawMessage("{}"),
			}); err != nil {
				t.Error(err)
			}
		})
	}
	starts.Wait()
	select {
	case <-all:
	case <-time.After(5 * time.Minute):
	}
	if e, f := inError.Load(), failed.Load(); e != instances || f != instances*(attempts-1) {
		t.Errorf("%d of %d instances have come to their last attempt, after %d failed ones of %d", e, instances, f, instances*(attempts-1))
	}
}
