package node

import (
	"context"
	"net"
	"sync"
	"testing"

	"fmqm/link"
	"fmqm/link/frame"
	"fmqm/processtable"
	"fmqm/program"
)

// earshot is a dialer whose peer says nothing; it tells the session of each caller.
type earshot chan uint64

func (e earshot) Dial(context.Context) (link.Conn, error) {
	return &silentConn{heard: e, ended: make(chan struct{})}, nil
}

type silentConn struct {
	heard earshot
	said  sync.Once
	once  sync.Once
	ended chan struct{}
}

func (c *silentConn) Send(data []byte) error {
	f, err := frame.Decode(data)
	if err == nil {
		c.said.Do(func() { c.heard <- f.From })
	}
	return err
}

func (c *silentConn) Recv() ([]byte, error) {
	<-c.ended
	return nil, net.ErrClosed
}

func (c *silentConn) Close() error {
	c.once.Do(func() { close(c.ended) })
	return nil
}

// L1: a peer that is taken out of the configuration and put back has another link, which
// counts its frames from the beginning: under the session of the one before, the peer would
// take its acknowledgements for old ones.
func TestALinkThatIsMadeAgainHasASessionOfItsOwn(t *testing.T) {
	registry, err := program.NewRegistry(nil, program.Options{})
	if err != nil {
		t.Fatal(err)
	}
	heard := make(earshot, 10)
	ways := Ways{Peers: map[processtable.NodeID]Peer{"B": {Routes: []link.Route{{Name: link.RouteDirect, Dialer: heard, Address: "b"}}}}}
	n, err := Open(Options{Name: "A", Engine: memoryEngine(t), Registry: registry, Peers: ways.Peers})
	if err != nil {
		t.Fatal(err)
	}
	n.Launch()
	defer func() {
		if err := n.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	}()
	first := <-heard
	n.Configure(registry, Ways{}, Limits{})
	n.Configure(registry, ways, Limits{})
	if again := <-heard; again == first {
		t.Fatalf("both links have session %x", first)
	}
}
