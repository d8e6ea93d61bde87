package main

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"runtime/debug"
	"sync/atomic"
	"time"
)

const (
	parkedInstances = 100_000
	besideInstances = 1000
)

// parked: instances that wait for a site that is not there, and what they cost those
// that run.
func parked(ctx context.Context, d time.Duration) ([]figure, error) {
	return inDirectory(func(dir string) ([]figure, error) {
		s, err := openSite(dir, "A", nil)
		if err != nil {
			return nil, err
		}
		if err := s.upload(ctx, parkedJoin()); err != nil {
			return nil, err
		}
		if err := s.upload(ctx, renamed(chain("A"), "beside")); err != nil {
			return nil, err
		}
		fresh, err := s.beside(ctx)
		if err != nil {
			return nil, err
		}
		anon, file, goroutines := memory()
		begun := time.Now()
		if err := s.park(ctx); err != nil {
			return nil, err
		}
		parking := time.Since(begun)
		anonAtOnce, _, _ := memory()
		anonAfter, fileAfter, goroutinesAfter := memoryAtRest()
		full, err := s.beside(ctx)
		if err != nil {
			return nil, err
		}
		if err := s.stop(ctx); err != nil {
			return nil, err
		}
		begun = time.Now()
		if s, err = openSite(dir, "A", nil); err != nil {
			return nil, err
		}
		if err := s.named(ctx, "beside"); err != nil {
			return nil, err
		}
		first := time.Since(begun)
		return []figure{
			{Name: "100,000 parked on a join: started", Value: parkedInstances / parking.Seconds(), Unit: "instances/s"},
			{Name: "  growth of RssAnon, right then", Value: mib(anonAtOnce - anon), Unit: "MiB"},
			{Name: "  growth of RssAnon, at rest", Value: mib(anonAfter - anon), Unit: "MiB", Goal: "at most 100"},
			{Name: "  growth of RssFile", Value: mib(fileAfter - file), Unit: "MiB"},
			{Name: "  growth of goroutines", Value: float64(goroutinesAfter - goroutines), Unit: "", Goal: "as at rest"},
			{Name: "  restart to the first new instance's end", Value: first.Seconds(), Unit: "s", Goal: "at most 3"},
			(figure{Name: "  1,000 instances beside them", Value: full.Seconds(), Unit: "s", Goal: "at most 1.1"}).against("s on the fresh node", fresh.Seconds()),
		}, s.stop(ctx)
	})
}

// park starts the instances and waits until each waits.
func (s *site) park(ctx context.Context) error {
	reached := s.reached(parkedInstances)
	var left atomic.Int64
	left.Store(parkedInstances)
	err := parallel(64, func() error {
		for left.Add(-1) >= 0 {
			if _, err := s.begin(ctx, "bench"); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil {
		<-reached
	}
	s.mu.Lock()
	clear(s.ends)
	s.mu.Unlock()
	return err
}

// beside runs a thousand instances of another process, 64 at once, ten times, and
// gives the quickest: what is compared is the node, not the machine's mood.
func (s *site) beside(ctx context.Context) (time.Duration, error) {
	best := time.Duration(0)
	for range 10 {
		var left atomic.Int64
		left.Store(besideInstances)
		begun := time.Now()
		err := parallel(64, func() error {
			for left.Add(-1) >= 0 {
				if err := s.named(ctx, "beside"); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return 0, err
		}
		if took := time.Since(begun); best == 0 || took < best {
			best = took
		}
	}
	return best, nil
}

// memory is the resident memory of this process in bytes, of its own and of mapped
// files, and the number of goroutines, after what is garbage is gone.
func memory() (anon, file int64, goroutines int) {
	debug.FreeOSMemory()
	return procValue("/proc/self/status", "RssAnon") << 10, procValue("/proc/self/status", "RssFile") << 10, runtime.NumGoroutine()
}

// memoryAtRest is memory once it has not fallen for five seconds, or after 40: Badger
// keeps what it built tables in, up to 28 MiB for each compactor, and gives one back
// in two seconds without work.
func memoryAtRest() (anon, file int64, goroutines int) {
	least, quiet := int64(math.MaxInt64), 0
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for range 40 {
		anon, file, goroutines = memory()
		if quiet++; anon < least-1<<20 {
			least, quiet = anon, 0
		}
		if quiet == 5 {
			break
		}
		<-tick.C
	}
	return anon, file, goroutines
}

func mib(bytes int64) float64 { return float64(bytes) / (1 << 20) }

const catchUpMessages = 100_000

// catchUp: a site that was away gets what has waited for it.
func catchUp(ctx context.Context, d time.Duration) ([]figure, error) {
	bare, err := bareRate(ctx, 512, d)
	if err != nil {
		return nil, err
	}
	figures, err := caughtUp(ctx)
	if err != nil {
		return nil, err
	}
	figures[0] = figures[0].against("transactions/s of the bare store, 512 in flight", bare)
	return figures, nil
}

func caughtUp(ctx context.Context) ([]figure, error) {
	return onLateSite(ctx, parkedJoin(), func(a *site, join func() (*site, error)) ([]figure, error) {
		if err := a.park(ctx); err != nil {
			return nil, err
		}
		anon, _, _ := memoryAtRest()
		begun := time.Now()
		b, err := join()
		if err != nil {
			return nil, err
		}
		select {
		case <-b.hit:
		case <-time.After(5 * time.Minute):
			return nil, fmt.Errorf("caught up with %d of %d in %v", b.count.Load(), catchUpMessages, time.Since(begun))
		}
		took := time.Since(begun)
		after, _, _ := memoryAtRest()
		return []figure{
			{Name: "catch-up of 100,000 messages, each run at once", Value: catchUpMessages / took.Seconds(), Unit: "messages/s"},
			{Name: "  growth of RssAnon, the other site with it", Value: mib(after - anon), Unit: "MiB"},
		}, b.stop(ctx)
	})
}
