package sim

import (
	"context"
	"fmt"
	"sync"

	"fmqm/internal/task"
	"fmqm/link"
	"fmqm/node"
	"fmqm/processtable"
	"fmqm/queue"
)

// Site is one site of a network: a store that stays, and a node on it that may not.
type Site struct {
	Name    processtable.NodeID
	network *Network
	disk    disk

	mu    sync.Mutex
	life  *life // nil: the site is down
	Lives int   // how often a node was opened on the store
}

// life is a node from its opening to its end.
type life struct {
	node    *node.Node
	view    *view
	answers context.Context // of calls from peers
	end     context.CancelFunc
	calls   sync.WaitGroup
}

// Open opens a node on the site's store and launches it. With after > 0 it crashes at
// that commit, counted from 1, which is on disk if applied is set.
func (s *Site) Open(after int, applied bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := &life{view: s.disk.open(after, applied)}
	l.answers, l.end = context.WithCancel(context.Background())
	n, err := node.Open(node.Options{
		Name: s.Name, Engine: l.view, Registry: s.network.options.Registry(string(s.Name)), Peers: s.peers(link.RouteDirect, link.RouteAMQP),
		Log: s.network.options.Log, Scheduler: task.Goroutines{Clock: s.network.clock},
		CacheEntries: s.network.options.CacheEntries, Remote: []node.RemoteOperator{{Site: "*"}},
		Observe: func(r queue.AuditRecord) { s.network.Play.record(string(s.Name), r) },
	})
	if err != nil {
		l.end()
		return fmt.Errorf("open site %s: %w", s.Name, err)
	}
	l.node = n
	s.life = l
	s.Lives++
	acceptor := n.Acceptor()
	s.network.wires.listen(s.Name, func(c link.Conn) {
		l.calls.Add(1)
		go func() {
			defer l.calls.Done()
			acceptor.Accept(l.answers, c)
		}()
	})
	n.Launch()
	return nil
}

// peers gives the ways to all other sites, over routes of these names as far as the
// network has them.
func (s *Site) peers(names ...string) map[processtable.NodeID]node.Peer {
	peers := map[processtable.NodeID]node.Peer{}
	for _, other := range s.network.Sites {
		if other == s {
			continue
		}
		p := node.Peer{}
		for _, name := range names {
			switch {
			case name == link.RouteDirect && (s.network.options.BothCall || s.Name < other.Name):
				p.Routes = append(p.Routes, link.Route{Name: name, Address: string(other.Name), Dialer: dialer{wires: s.network.wires, from: s.Name, to: other.Name}})
			case name == link.RouteAMQP && s.network.options.Brokered:
				p.Routes = append(p.Routes, link.Route{Name: name, Address: "broker", Dialer: brokered{broker: s.network.broker, from: s.Name, to: other.Name}})
			}
		}
		peers[other.Name] = p
	}
	return peers
}

// Reach lets the site's node dial all others over these routes from now on, as a
// configuration that is read again does. What runs goes on.
func (s *Site) Reach(names ...string) {
	if n := s.Node(); n != nil {
		n.Configure(s.network.options.Registry(string(s.Name)), node.Ways{Peers: s.peers(names...)}, node.Limits{})
	}
}

// Node is the node that is open on the site, or nil.
func (s *Site) Node() *node.Node {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.life == nil {
		return nil
	}
	return s.life.node
}

// Crashed is closed when the node that is open has crashed by itself.
func (s *Site) Crashed() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.life.view.crashed
}

// Crash ends the node where it stands: what it has not committed is lost.
func (s *Site) Crash() error {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return s.close(ctx, true)
}

// Stop ends the node in order.
func (s *Site) Stop() error { return s.close(context.Background(), false) }

func (s *Site) close(ctx context.Context, crash bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.life
	if l == nil {
		return nil
	}
	s.life = nil
	if crash {
		l.view.kill()
	}
	s.network.wires.listen(s.Name, nil)
	l.end()
	l.calls.Wait()
	err := l.node.Stop(ctx)
	if err != nil && !crash {
		return fmt.Errorf("stop site %s: %w", s.Name, err)
	}
	return nil
}
