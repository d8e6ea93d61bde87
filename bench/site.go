package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"fmqm/api"
	"fmqm/api/apitest"
	"fmqm/definition"
	"fmqm/internal/store/badger"
	"fmqm/link"
	"fmqm/link/https"
	"fmqm/node"
	"fmqm/processtable"
	"fmqm/program"
	"fmqm/queue/record"
)

// inDirectory calls f with a directory that is there for that long.
func inDirectory[T any](f func(dir string) (T, error)) (out T, err error) {
	dir, err := os.MkdirTemp("", "fmqm-bench-")
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	return f(dir)
}

// site is a node on disk that tells of each instance's end.
type site struct {
	node    *node.Node
	server  *http.Server
	done    tally // activities terminated or skipped here
	ended   tally // instances that were started here
	offered tally // items, to the people of this site
	mu      sync.Mutex
	ends    map[uuid.UUID]chan struct{}
}

// tally counts, and says when it has come to a number.
type tally struct {
	count atomic.Int64
	goal  atomic.Int64
	hit   chan struct{} // closed at goal
}

func (t *tally) add() {
	if t.count.Add(1) == t.goal.Load() {
		close(t.hit)
	}
}

// reached gives what is closed when n more are counted. None is counted meanwhile.
func (t *tally) reached(n int64) <-chan struct{} {
	t.hit = make(chan struct{})
	t.goal.Store(t.count.Load() + n)
	return t.hit
}

// peers are the other sites, and how each is reached.
type peers = map[processtable.NodeID]node.Peer

// direct is a site that is reached at an address.
func direct(address string) (node.Peer, error) {
	dialer, err := https.NewDialer("http://" + address)
	return node.Peer{Routes: []link.Route{{Name: link.RouteDirect, Dialer: dialer, Address: address}}}, err
}

// openSite opens the store and starts the node.
func openSite(dir, name string, peers peers) (*site, error) {
	store, err := badger.Open(badger.Options{Dir: filepath.Join(dir, name)})
	if err != nil {
		return nil, err
	}
	registry, err := program.NewRegistry(map[processtable.ProgramID]program.Spec{
		"noop": {Kind: program.KindBuiltin, Builtin: "noop", Concurrency: 1024},
	}, program.Options{})
	if err != nil {
		return nil, err
	}
	s := &site{ends: map[uuid.UUID]chan struct{}{}}
	s.node, err = node.Open(node.Options{
		Name: processtable.NodeID(name), Engine: store, Registry: registry, Peers: peers, Observe: s.observe,
	})
	if err != nil {
		return nil, err
	}
	s.node.Launch()
	return s, nil
}

// serve takes the links of peers.
func (s *site) serve(l net.Listener) {
	acceptor := s.node.Acceptor()
	s.server = &http.Server{
		Handler:           https.Handler(func(c link.Conn, _ string) { acceptor.Accept(context.Background(), c) }),
		ReadHeaderTimeout: time.Minute,
	}
	go func() { _ = s.server.Serve(l) }() // it ends with Close
}

func (s *site) stop(ctx context.Context) error {
	if s.server != nil {
		_ = s.server.Close()
	}
	return s.node.Stop(ctx)
}

func (s *site) observe(r record.AuditRecord) {
	switch r.Event {
	case record.EventTerminated, record.EventSkipped:
		s.done.add()
	case record.EventEnded:
		s.ended.add()
		s.mu.Lock()
		end := s.ends[r.Instance]
		delete(s.ends, r.Instance)
		s.mu.Unlock()
		if end != nil {
			close(end)
		}
	case record.EventOffered:
		s.offered.add()
	default:
	}
}

// compiled is the tables of a definition.
func compiled(text string) ([]api.Table, error) {
	processes, problems := definition.Load("bench.yaml", []byte(text))
	for _, p := range problems {
		if p.Severity == definition.Error {
			return nil, errors.New(p.Text([]byte(text)))
		}
	}
	return apitest.Tables(processes...)
}

// upload compiles a definition and stores its tables.
func (s *site) upload(ctx context.Context, text string) error {
	tables, err := compiled(text)
	if err != nil {
		return err
	}
	answer, err := s.node.Upload(ctx, api.UploadRequest{Tables: tables, AllowNewNode: true})
	if err != nil {
		return err
	}
	for _, line := range answer.Nodes {
		if line.Result == api.ResultRefused {
			return fmt.Errorf("table for %s: %s", line.Node, line.Reason)
		}
	}
	return nil
}

// begin starts an instance and gives what is closed at its end.
func (s *site) begin(ctx context.Context, process string) (<-chan struct{}, error) {
	id := uuid.Must(uuid.NewV7())
	end := make(chan struct{})
	s.mu.Lock()
	s.ends[id] = end
	s.mu.Unlock()
	return end, s.node.Begin(ctx, api.StartRequest{Instance: id, Process: process})
}

// named runs one instance to its end.
func (s *site) named(ctx context.Context, process string) error {
	end, err := s.begin(ctx, process)
	if err == nil {
		<-end
	}
	return err
}

// instances runs instances, n at once, for d, and gives the activities that ended a
// second.
func (s *site) instances(ctx context.Context, process string, n int, d time.Duration) (float64, error) {
	before, begun := s.done.count.Load(), time.Now()
	err := parallel(n, func() error {
		for time.Since(begun) < d {
			if err := s.named(ctx, process); err != nil {
				return err
			}
		}
		return nil
	})
	return float64(s.done.count.Load()-before) / time.Since(begun).Seconds(), err
}

// times runs instances one after the other for d, and gives the median time of one.
func (s *site) times(ctx context.Context, process string, d time.Duration) (time.Duration, error) {
	var took []time.Duration
	for begun := time.Now(); time.Since(begun) < d; {
		at := time.Now()
		if err := s.named(ctx, process); err != nil {
			return 0, err
		}
		took = append(took, time.Since(at))
	}
	return median(took), nil
}
