package main

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"fmqm/api"
)

const (
	suspended = 10_000
	// suspendsAtOnce is how many fmqm asks for at once where it is told to suspend many.
	suspendsAtOnce = 8
	// besideSuspends are in flight beside them, over all four sites: more would have all of the processors to themselves, and
	// whatever else is done would be taken from them.
	besideSuspends = 8
)

// resting4 is a process of which something waits at each of four sites.
const resting4 = `process: resting
version: 1
activities:
  a: {node: A, wait: {for: 8760h}}
  b: {node: B, wait: {for: 8760h}}
  c: {node: C, wait: {for: 8760h}}
  d: {node: D, wait: {for: 8760h}}
`

// suspends: ten thousand instances of four sites are suspended, and let go on, while others run from site to site.
func suspends(ctx context.Context, d time.Duration) (figures []figure, err error) {
	err = onFleet(ctx, []string{"A", "B", "C", "D"}, nil, func(fl *fleet) error {
		home := fl.sites[0]
		if err := home.upload(ctx, resting4); err != nil {
			return err
		}
		ids, err := home.rest(ctx, suspended)
		if err != nil {
			return err
		}
		alone, err := fl.others(ctx, d)
		if err != nil {
			return err
		}
		termination := micros(alone.cpu) / float64(alone.done)
		suspend := func(id uuid.UUID) error {
			_, err := home.node.Suspend(ctx, id, api.SuspendRequest{Quick: true})
			return err
		}
		resume := func(id uuid.UUID) error { _, err := home.node.Resume(ctx, id, api.ResumeRequest{}); return err }
		for _, w := range []struct {
			name string
			say  func(uuid.UUID) error
			in   int // suspends that are in force then
		}{{"suspend", suspend, 1}, {"resume", resume, 0}} {
			said, err := fl.measured(func() error { return home.sayToAll(ctx, ids, w.in, w.say) })
			if err != nil {
				return fmt.Errorf("%s: %w", w.name, err)
			}
			figures = append(figures,
				figure{Name: w.name + " of 10,000 instances of four sites", Value: said.took.Seconds(), Unit: "s", Goal: "under 5"},
				(figure{Name: "  CPU of one, at all sites", Value: micros(said.cpu) / suspended, Unit: "µs"}).against("µs for a termination of chains over them, 8 in flight", termination),
				figure{Name: "  durable writes of one, at all sites", Value: float64(said.writes) / suspended, Unit: ""})
		}
		end := fl.keepRunning(ctx, besideSuspends)
		said, err := fl.measured(func() error { return home.sayToAll(ctx, ids, 1, suspend) })
		err = errors.Join(err, end())
		figures = append(figures,
			figure{Name: "suspend of 10,000 while others run", Value: said.took.Seconds(), Unit: "s", Goal: "under 5"},
			(figure{Name: "  others meanwhile, 8 in flight over the four sites", Value: said.rate(), Unit: "terminations/s", Goal: "at least 0.9"}).against("terminations/s alone", alone.rate()))
		return err
	})
	return figures, err
}

// rest starts instances that wait at all sites.
func (s *site) rest(ctx context.Context, n int) ([]uuid.UUID, error) {
	ids := make([]uuid.UUID, n)
	var next atomic.Int64
	err := parallel(64, func() error {
		for i := next.Add(1) - 1; i < int64(n); i = next.Add(1) - 1 {
			ids[i] = uuid.Must(uuid.NewV7())
			if err := s.node.Begin(ctx, api.StartRequest{Instance: ids[i], Process: "resting"}); err != nil {
				return err
			}
		}
		return nil
	})
	return ids, err
}

// sayToAll says something to each instance, as fmqm does, and waits until every site has heard of it.
func (s *site) sayToAll(ctx context.Context, ids []uuid.UUID, want int, say func(uuid.UUID) error) error {
	var next atomic.Int64
	err := parallel(suspendsAtOnce, func() error {
		for i := next.Add(1) - 1; i < int64(len(ids)); i = next.Add(1) - 1 {
			if err := say(ids[i]); err != nil {
				return err
			}
		}
		return nil
	})
	for _, id := range ids[len(ids)-suspendsAtOnce:] { // what is sent to a site comes in its order
		for heard := false; err == nil && !heard; {
			var now api.Status
			now, err = s.node.Status(ctx, id)
			heard = len(now.Suspends) == want && len(now.Pending) == 0
		}
	}
	return err
}

// spent is what something cost all sites of a fleet.
type spent struct {
	took, cpu time.Duration
	writes    uint64
	done      int64 // activities that ended meanwhile
}

func (s *spent) rate() float64 { return float64(s.done) / s.took.Seconds() }

// others is what instances cost that run for d and have the sites to themselves.
func (fl *fleet) others(ctx context.Context, d time.Duration) (spent, error) {
	return fl.measured(func() error {
		_, err := fl.instances(ctx, besideSuspends, d)
		return err
	})
}

func (fl *fleet) measured(f func() error) (spent, error) {
	done := func() (n int64) {
		for _, s := range fl.sites {
			n += s.done.count.Load()
		}
		return n
	}
	before := spent{cpu: cpuTime(), writes: commits(fl.sites), done: done()}
	begun := time.Now()
	err := f()
	return spent{took: time.Since(begun), cpu: cpuTime() - before.cpu, writes: commits(fl.sites) - before.writes, done: done() - before.done}, err
}

// keepRunning runs instances, n at once over all sites, until end is called.
func (fl *fleet) keepRunning(ctx context.Context, n int) (end func() error) {
	var over atomic.Bool
	ended := make(chan error, len(fl.sites))
	for i, s := range fl.sites {
		go func() {
			ended <- parallel(n/len(fl.sites), func() error {
				for !over.Load() {
					if err := s.named(ctx, chainOf(i)); err != nil {
						return err
					}
				}
				return nil
			})
		}()
	}
	return func() (err error) {
		over.Store(true)
		for range fl.sites {
			err = errors.Join(err, <-ended)
		}
		return err
	}
}
