package node_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"fmqm/api"
	"fmqm/link"
	"fmqm/node"
	"fmqm/processtable"
	"fmqm/program"
)

// gated is a program that ends when its gate opens, or when it is ended.
type gated struct{ begun, gate chan struct{} }

func (g gated) Run(ctx context.Context, _ *program.Call) program.Result {
	close(g.begun)
	select {
	case <-g.gate:
		return program.Result{Err: errors.New("the gate is open")}
	case <-ctx.Done():
		return program.Result{Err: ctx.Err()}
	}
}

// stopping is a node whose program runs, of an instance, and which one is stopping.
func stopping(t *testing.T) (n *node.Node, id uuid.UUID, open func(), stopped chan error) {
	g := gated{make(chan struct{}), make(chan struct{})}
	n = nodeOf(t, g)
	upload(t, n, retried)
	id = begin(t, n, "retried")
	<-g.begun
	stopped = make(chan error, 2)
	go func() { stopped <- n.Stop(context.Background()) }()
	synctest.Wait()
	return n, id, func() { close(g.gate) }, stopped
}

// A Stop of a node that is being stopped returns when it has ended, and not before.
func TestStopWaitsForTheOneUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, _, open, stopped := stopping(t)
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
		n, _, _, stopped := stopping(t)
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

// asked is everything that somebody may ask of an instance.
func asked(n *node.Node, id uuid.UUID) map[string]func() error {
	ctx := context.Background()
	return map[string]func() error{
		"status":    func() error { _, err := n.Status(ctx, id); return err },
		"wait":      func() error { _, err := n.Wait(ctx, id); return err },
		"history":   func() error { _, err := n.History(ctx, id); return err },
		"why":       func() error { _, err := n.Why(ctx, id, ""); return err },
		"watch":     func() error { return n.Watch(ctx, id, func(api.HistoryEvent) error { return nil }) },
		"retry":     func() error { _, err := n.Retry(ctx, id, api.RetryRequest{Activity: "a"}); return err },
		"terminate": func() error { return n.Terminate(ctx, id, "") },
	}
}

// While a node stops its links have ended, and what it does not find a peer may have: it does not say
// that there is none.
func TestANodeThatStopsFindsNothingMissing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, _, open, stopped := stopping(t)
		all := asked(n, uuid.Must(uuid.NewV7()))
		all["start"] = func() error {
			return n.Begin(context.Background(), api.StartRequest{Instance: uuid.Must(uuid.NewV7()), Process: "elsewhere"})
		}
		all["rebuild"] = func() error {
			_, err := n.Rebuild(context.Background(), api.RebuildRequest{Peer: "B"})
			return err
		}
		all["links retry"] = func() error { _, err := n.RetryLink(context.Background(), "B"); return err }
		for name, ask := range all {
			if err := ask(); api.CodeOf(err) != api.CodeUnreachable {
				t.Errorf("%s: %s: %v", name, api.CodeOf(err), err)
			}
		}
		open()
		if err := <-stopped; err != nil {
			t.Error(err)
		}
	})
}

// atPeers has an activity for a peer with an address, and one for a peer that calls; its program here runs on.
const atPeers = `
process: peers
version: 1
activities:
  a: {node: A, program: echo}
  b: {node: B, program: echo}
  c: {node: C, program: echo}
`

// nowhere is an address at which nobody ever answers.
type nowhere struct{}

func (nowhere) Dial(ctx context.Context) (link.Conn, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// While a node stops it knows its peers, and says that it stops: that nobody has configured them, or that they
// are to be dialed, would have somebody look for what is not wrong.
func TestANodeThatStopsKnowsItsPeers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := gated{make(chan struct{}), make(chan struct{})}
		n := nodeAmong(t, g, map[processtable.NodeID]node.Peer{
			"B": {Routes: []link.Route{{Name: link.RouteDirect, Dialer: nowhere{}, Address: "http://b"}}}, "C": {},
		})
		if _, err := n.Upload(t.Context(), compiled(t, atPeers)); err != nil {
			t.Fatal(err)
		}
		begin(t, n, "peers")
		<-g.begun
		stopped := make(chan error, 1)
		go func() { stopped <- n.Stop(context.Background()) }()
		synctest.Wait()

		const reason = "this site is stopping"
		nodes, err := n.Nodes(t.Context())
		if err != nil || len(nodes.Nodes) != 3 {
			t.Fatalf("%+v %v", nodes, err)
		}
		stats, err := n.Stats()
		if err != nil || len(stats.Peers) != 2 {
			t.Fatalf("%+v %v", stats.Peers, err)
		}
		ready := n.Ready(t.Context())
		for i, want := range []link.State{link.StateConnecting, link.StateWaiting} {
			if got := nodes.Nodes[1+i]; got.State != string(want) || got.Reason != reason || got.Waiting == 0 || got.Link == nil {
				t.Errorf("%+v, want %s", got, want)
			}
			if got := stats.Peers[i]; got.State != want || got.Waiting.Count == 0 {
				t.Errorf("%+v, want %s", got, want)
			}
			if got := reasonOf(ready, "link "+nodes.Nodes[1+i].Node); !strings.HasPrefix(got, string(want)+": "+reason) {
				t.Errorf("ready: %q, want %s", got, want)
			}
		}
		if why := reasonOf(ready, "node"); why != "it is stopping" {
			t.Errorf("ready: %q", why)
		}
		close(g.gate)
		if err := <-stopped; err != nil {
			t.Error(err)
		}
	})
}

// Who waits for an instance, or asks for one, when its node has stopped is told so, and may ask again.
func TestWhoWaitsIsToldThatTheNodeStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, id, open, stopped := stopping(t)
		all := asked(n, id)
		told := map[string]chan error{}
		for _, name := range []string{"wait", "watch"} {
			ask, answer := all[name], make(chan error, 1)
			told[name] = answer
			go func() { answer <- ask() }()
		}
		synctest.Wait()
		open()
		if err := <-stopped; err != nil {
			t.Error(err)
		}
		for name, ask := range all {
			if told[name] == nil {
				told[name] = make(chan error, 1)
				told[name] <- ask()
			}
			err := <-told[name]
			var e *api.Error
			if !errors.As(err, &e) || e.Code != api.CodeUnreachable {
				t.Errorf("%s: %s: %v", name, api.CodeOf(err), err)
			}
		}
	})
}
