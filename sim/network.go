package sim

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/rs/zerolog"

	"fmqm/api"
	"fmqm/definition"
	"fmqm/internal/store/badger"
	"fmqm/link"
	"fmqm/processtable"
	"fmqm/program"
)

// Options make a network.
type Options struct {
	Names        []string // of the sites
	Dir          string   // where the stores are; empty: in memory
	Speed        float64  // of the clock; default 1
	BothCall     bool     // each site dials all others; default: of a pair the first by name
	CacheEntries int      // of every node; see node.Options
	Brokered     bool     // there is a broker too, which loses and repeats: a second route between all sites
	// LaneDelay is by how much the messages of a lane come later, by the network's clock;
	// no rule relies on order between lanes (L2).
	LaneDelay [link.Lanes]time.Duration
	Log       zerolog.Logger
	// Registry gives the programs of a site; nil: those of the network's Play.
	Registry func(site string) *program.Registry
}

// Network is a network of sites. Its methods are safe for concurrent use, but for
// Close.
type Network struct {
	Sites   []*Site
	Play    *Play
	options Options
	wires   *wires
	clock   *Clock
	broker  *broker
}

// Open makes a network and opens a node on every site.
func Open(o Options) (*Network, error) {
	if o.Speed == 0 {
		o.Speed = 1
	}
	n := &Network{options: o, wires: newWires(), clock: NewClock(o.Speed), Play: newPlay(), broker: newBroker()}
	n.wires.delay, n.wires.clock = o.LaneDelay, n.clock
	if o.Registry == nil {
		n.options.Registry = n.Play.registry
	}
	for _, name := range o.Names {
		options := badger.Options{InMemory: o.Dir == ""}
		if o.Dir != "" {
			options.Dir = filepath.Join(o.Dir, name)
		}
		engine, err := badger.Open(options)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("store of site %s: %w", name, err), n.Close())
		}
		n.Sites = append(n.Sites, &Site{Name: processtable.NodeID(name), network: n, disk: disk{engine}})
	}
	for _, s := range n.Sites {
		if err := s.Open(0, false); err != nil {
			return nil, errors.Join(err, n.Close())
		}
	}
	return n, nil
}

// Close stops all nodes and closes the stores.
func (n *Network) Close() error {
	var errs []error
	for _, s := range n.Sites {
		errs = append(errs, s.Stop())
	}
	for _, s := range n.Sites {
		errs = append(errs, s.disk.Close())
	}
	return errors.Join(errs...)
}

// Site gives the site of that name, or nil.
func (n *Network) Site(name string) *Site {
	for _, s := range n.Sites {
		if string(s.Name) == name {
			return s
		}
	}
	return nil
}

// Cut cuts the wire between two sites, or mends it.
func (n *Network) Cut(a, b string, cut bool) {
	n.wires.set(pairOf(processtable.NodeID(a), processtable.NodeID(b)), cut)
}

// Upload compiles a process and uploads it through one of the sites. When it returns
// every table is at its node, or on its way to one that was not heard.
func (n *Network) Upload(ctx context.Context, p *definition.Process, through string) error {
	compiled, err := definition.Compile(p)
	if err != nil {
		return err
	}
	var r api.UploadRequest
	for i, t := range compiled.Tables {
		r.Tables = append(r.Tables, api.Table{
			Node: string(t.Node), Process: t.Process.String(), Definition: compiled.Hash.String(),
			SHA256: compiled.Manifest.Tables[i].SHA256, Table: compiled.Encoded[i],
		})
	}
	answer, err := n.Site(through).Node().Upload(ctx, r)
	if err != nil {
		return fmt.Errorf("upload through %s: %w", through, err)
	}
	for _, line := range answer.Nodes {
		if line.Result != api.ResultStored && line.Result != api.ResultQueued {
			return fmt.Errorf("upload through %s: %+v", through, line)
		}
	}
	return nil
}

// Until asks again and again, until ok is true, err is not nil or ctx ends.
func Until(ctx context.Context, question func() (ok bool, err error)) error {
	pause := time.Millisecond
	for {
		ok, err := question()
		if err != nil || ok {
			return err
		}
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		case <-timer.C:
		}
		pause = min(2*pause, 100*time.Millisecond)
	}
}

// Quiet waits until no message is anywhere in the network: see Left. It says what is
// left if ctx ends before.
func (n *Network) Quiet(ctx context.Context) error {
	left := ""
	err := Until(ctx, func() (bool, error) {
		for _, s := range n.Sites {
			what, err := Left(s.disk)
			if err != nil {
				return false, err
			}
			if what != "" {
				left = fmt.Sprintf("at site %s: %s", s.Name, what)
				return false, nil
			}
		}
		return true, nil
	})
	if err != nil {
		return fmt.Errorf("%w: %s", err, left)
	}
	return nil
}
