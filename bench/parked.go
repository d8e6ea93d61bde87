package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
)

const parkedInstances = 100_000

// parked: instances that wait for a site that is not there, and what they cost those
// that run.
func parked(ctx context.Context, _ time.Duration) ([]figure, error) {
	return inDirectory(func(dir string) ([]figure, error) {
		fresh, err := startFresh(ctx)
		if err != nil {
			return nil, err
		}
		figures, err := parkedBeside(ctx, dir, fresh)
		return figures, errors.Join(err, fresh.stop())
	})
}

func parkedBeside(ctx context.Context, dir string, fresh *freshNode) ([]figure, error) {
	s, err := openBeside(ctx, dir)
	if err != nil {
		return nil, err
	}
	if err := s.upload(ctx, parkedJoin()); err != nil {
		return nil, err
	}
	empty, err := s.turns(ctx, fresh, emptyTurns)
	if err != nil {
		return nil, err
	}
	figures, err := s.parking(ctx)
	if err != nil {
		return nil, err
	}
	full, err := s.turns(ctx, fresh, parkedTurns)
	if err != nil {
		return nil, err
	}
	restart, err := s.again(ctx, dir)
	return append(
		append(figures, restart...),
		compareTurns("  1,000 instances beside them", "at most 1.1", full),
		compareCPU("    CPU of them", full),
		compareTurns("  1,000 instances before they were parked", "", empty),
		compareCPU("    CPU of them", empty),
	), err
}

// parking is the figures of the instances being started, and of the memory that they take.
func (s *site) parking(ctx context.Context) ([]figure, error) {
	anon, file, goroutines := memory()
	begun := time.Now()
	if err := s.park(ctx); err != nil {
		return nil, err
	}
	took := time.Since(begun)
	anonAtOnce, _, _ := memory()
	anonAfter, fileAfter, goroutinesAfter := memoryAtRest()
	return []figure{
		{Name: "100,000 parked on a join: started", Value: parkedInstances / took.Seconds(), Unit: "instances/s"},
		{Name: "  growth of RssAnon, right then", Value: mib(anonAtOnce - anon), Unit: "MiB"},
		{Name: "  growth of RssAnon, at rest", Value: mib(anonAfter - anon), Unit: "MiB", Goal: "at most 100"},
		{Name: "  growth of RssFile", Value: mib(fileAfter - file), Unit: "MiB"},
		{Name: "  growth of goroutines", Value: float64(goroutinesAfter - goroutines), Unit: "", Goal: "as at rest"},
	}, nil
}

// again stops the node, opens it once more, and gives how long it is until a new
// instance has ended, and the CPU time of that: a busy machine makes the first longer, and
// hardly the second.
func (s *site) again(ctx context.Context, dir string) ([]figure, error) {
	if err := s.stop(ctx); err != nil {
		return nil, err
	}
	begun, cpu := time.Now(), cpuTime()
	s, err := openSite(dir, "A", nil)
	if err != nil {
		return nil, err
	}
	err = s.named(ctx, besideProcess)
	took := time.Since(begun)
	cpu = cpuTime() - cpu
	return []figure{
		{Name: "  restart to the first new instance's end", Value: took.Seconds(), Unit: "s", Goal: "at most 3"},
		{Name: "    CPU until then", Value: cpu.Seconds(), Unit: "s"},
	}, errors.Join(err, s.stop(ctx))
}

// park starts the instances and waits until each waits.
func (s *site) park(ctx context.Context) error {
	reached := s.done.reached(parkedInstances)
	err := s.start(ctx, parkedInstances)
	if err == nil {
		<-reached
	}
	return err
}

// start starts n instances, and awaits the end of none.
func (s *site) start(ctx context.Context, n int64) error {
	var left atomic.Int64
	left.Store(n)
	err := parallel(64, func() error {
		for left.Add(-1) >= 0 {
			if _, err := s.begin(ctx, "bench"); err != nil {
				return err
			}
		}
		return nil
	})
	s.mu.Lock()
	s.ends = map[uuid.UUID]chan struct{}{} // cleared, it would keep its room
	s.mu.Unlock()
	return err
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

// caughtUp measures until the site that was away has run everything, and on until every instance has
// ended at the other. Only then the same work is done, and the engine's compactions with it: whether a
// large one falls before or after the first moment goes with a few bytes of each record.
func caughtUp(ctx context.Context) ([]figure, error) {
	return onLateSite(ctx, parkedJoin(), func(a *site, join func() (*site, error)) ([]figure, error) {
		if err := a.park(ctx); err != nil {
			return nil, err
		}
		anon, _, _ := memoryAtRest()
		ended := a.ended.reached(catchUpMessages)
		begun, cpu, written := time.Now(), cpuTime(), bytesWritten()
		b, err := join()
		if err != nil {
			return nil, err
		}
		wait := func(what <-chan struct{}) (time.Duration, error) {
			select {
			case <-what:
				return time.Since(begun), nil
			case <-time.After(5 * time.Minute):
				return 0, fmt.Errorf("%d of %d run and %d ended in %v", b.done.count.Load(), catchUpMessages, a.ended.count.Load(), time.Since(begun))
			}
		}
		run, err := wait(b.done.hit)
		if err != nil {
			return nil, err
		}
		whole, err := wait(ended)
		if err != nil {
			return nil, err
		}
		cpu, written = cpuTime()-cpu, bytesWritten()-written
		after, _, _ := memoryAtRest()
		return []figure{
			{Name: "catch-up of 100,000 messages, each run at once", Value: catchUpMessages / run.Seconds(), Unit: "messages/s"},
			{Name: "  until every instance has ended", Value: catchUpMessages / whole.Seconds(), Unit: "instances/s"},
			{Name: "    CPU of one", Value: micros(cpu) / catchUpMessages, Unit: "µs"},
			{Name: "    written for one", Value: float64(written) / catchUpMessages, Unit: "bytes"},
			{Name: "  growth of RssAnon, the other site with it", Value: mib(after - anon), Unit: "MiB"},
		}, b.stop(ctx)
	})
}
