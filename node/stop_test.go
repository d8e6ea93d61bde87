package node_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"fmqm/node"
	"fmqm/program"
)

// gated is a program that ends when its gate opens, or when it is ended.
type gated struct{ begun, gate chan struct{} }

func (g gated) Run(ctx context.Context, _ program.Call) program.Result {
	close(g.begun)
	select {
	case <-g.gate:
		return program.Result{Err: errors.New("the gate is open")}
	case <-ctx.Done():
		return program.Result{Err: ctx.Err()}
	}
}

// stopping is a node whose program runs, and which one is stopping.
func stopping(t *testing.T) (n *node.Node, open func(), stopped chan error) {
	g := gated{make(chan struct{}), make(chan struct{})}
	n = nodeOf(t, g)
	upload(t, n, retried)
	begin(t, n, "retried")
	<-g.begun
	stopped = make(chan error, 2)
	go func() { stopped <- n.Stop(context.Background()) }()
	synctest.Wait()
	return n, func() { close(g.gate) }, stopped
}

// A Stop of a node that is being stopped returns when it has ended, and not before.
func TestStopWaitsForTheOneUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, open, stopped := stopping(t)
		go func() { stopped <- n.Stop(context.Background()) }()
		synctest.Wait()
		if len(stopped) > 0 {
			t.Errorf("%d have returned while the program runs", len(stopped))
		}
		open()
		for range 2 {
			if err := <-stopped; err != nil {
				t.Error(err)
			}
		}
	})
}

// Who cannot wait ends the grace that another one has given.
func TestStopHurriesTheOneUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, _, stopped := stopping(t)
		began := time.Now()
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_ = n.Stop(ctx)
		<-stopped
		if waited := time.Since(began); waited > 0 {
			t.Errorf("it took %v", waited)
		}
	})
}
