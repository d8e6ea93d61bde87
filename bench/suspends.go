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
	suspendsAtOnce = 64
	// besideSuspends are in flight beside them, over all four sites: more would have all of the processors to themselves, and
	// whatever else is done would be taken from them.
	besideSuspends = 8
	// comesEach is how often one comes to each site, of those that wait for nobody: on two cores about two thirds of what eight
	// in flight do.
	comesEach = 20 * time.Millisecond
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
		figures, err = (&sleepers{fl, home, ids}).figures(ctx, d)
		return err
	})
	return figures, err
}

// sleepers are instances that wait at all sites of a fleet.
type sleepers struct {
	*fleet
	home *site
	ids  []uuid.UUID
}

func (r *sleepers) suspend(ctx context.Context) (spent, error) {
	return r.measured(func() error {
		return r.home.sayToAll(ctx, r.ids, 1, func(id uuid.UUID) error {
			_, err := r.home.node.Suspend(ctx, id, api.SuspendRequest{Quick: true})
			return err
		})
	})
}

func (r *sleepers) resume(ctx context.Context) (spent, error) {
	return r.measured(func() error {
		return r.home.sayToAll(ctx, r.ids, 0, func(id uuid.UUID) error {
			_, err := r.home.node.Resume(ctx, id, api.ResumeRequest{Quick: true})
			return err
		})
	})
}

func (r *sleepers) figures(ctx context.Context, d time.Duration) (figures []figure, err error) {
	alone, err := r.others(ctx, d)
	if err != nil {
		return nil, err
	}
	termination := micros(alone.cpu) / float64(alone.done)
	for _, w := range []struct {
		name string
		say  func(context.Context) (spent, error)
	}{{"suspend", r.suspend}, {"resume", r.resume}} {
		said, err := w.say(ctx)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", w.name, err)
		}
		figures = append(figures,
			figure{Name: w.name + " of 10,000 instances of four sites", Value: said.took.Seconds(), Unit: "s", Goal: "under 5"},
			(figure{Name: "  CPU of one, at all sites", Value: micros(said.cpu) / suspended, Unit: "µs"}).against("µs for a termination of chains over them, 8 in flight", termination),
			figure{Name: "  durable writes of one, at all sites", Value: float64(said.writes) / suspended, Unit: ""})
	}
	end := r.keepRunning(ctx, besideSuspends)
	said, err := r.suspend(ctx)
	if err = errors.Join(err, end()); err != nil {
		return nil, err
	}
	figures = append(figures,
		figure{Name: "suspend of 10,000 while others run", Value: said.took.Seconds(), Unit: "s", Goal: "under 5"},
		(figure{Name: "  others meanwhile, 8 in flight over the four sites", Value: said.rate(), Unit: "terminations/s", Goal: "at least 0.9"}).against("terminations/s alone", alone.rate()))
	if _, err = r.resume(ctx); err != nil {
		return nil, err
	}
	end = r.keepComing(ctx)
	coming, err := r.measured(func() error {
		<-time.After(d)
		return nil
	})
	if err != nil {
		return nil, errors.Join(err, end())
	}
	said, err = r.suspend(ctx) // they come on
	figures = append(figures,
		figure{Name: "suspend of 10,000 while others come, 50 a second to each site", Value: said.took.Seconds(), Unit: "s", Goal: "under 5"},
		(figure{Name: "  of these meanwhile", Value: said.rate(), Unit: "terminations/s", Goal: "at least 0.9"}).against("terminations/s alone", coming.rate()))
	return figures, errors.Join(err, end())
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

// keepComing starts instances at every site, each after the time of the one before and whatever has become of that, until end is
// called, which waits for all of them.
func (fl *fleet) keepComing(ctx context.Context) (end func() error) {
	var over atomic.Bool
	ended := make(chan error, len(fl.sites))
	for i, s := range fl.sites {
		go func() {
			var ends []<-chan struct{}
			var err error
			for at := time.Now(); err == nil && !over.Load(); at = at.Add(comesEach) {
				<-time.After(time.Until(at))
				var end <-chan struct{}
				end, err = s.begin(ctx, chainOf(i))
				ends = append(ends, end)
			}
			if err == nil {
				for _, end := range ends {
					<-end
				}
			}
			ended <- err
		}()
	}
	return fl.allOf(&over, ended)
}

// allOf has them end and waits until they have.
func (fl *fleet) allOf(over *atomic.Bool, ended <-chan error) func() error {
	return func() (err error) {
		over.Store(true)
		for range fl.sites {
			err = errors.Join(err, <-ended)
		}
		return err
	}
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
	return fl.allOf(&over, ended)
}
