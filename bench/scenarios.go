package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// onOneSite runs f on a site A that has the definition.
func onOneSite(ctx context.Context, text string, f func(*site) ([]figure, error)) ([]figure, error) {
	return inDirectory(func(dir string) ([]figure, error) {
		s, err := openSite(dir, "A", nil)
		if err != nil {
			return nil, err
		}
		if err := s.upload(ctx, text); err != nil {
			return nil, err
		}
		figures, err := f(s)
		if stopping := s.stop(ctx); err == nil {
			err = stopping
		}
		return figures, err
	})
}

// throughput: terminations a second of chains at one node, beside the bare store.
func throughput(ctx context.Context, d time.Duration) ([]figure, error) {
	var all []figure
	for _, n := range []int{1, 64, 512} {
		bare, err := bareRate(ctx, n, d)
		if err != nil {
			return nil, err
		}
		figures, err := onOneSite(ctx, chain("A"), func(s *site) ([]figure, error) {
			cpu, written := cpuTime(), bytesWritten()
			rate, err := s.instances(ctx, "bench", n, d)
			count := float64(s.done.count.Load())
			goal := ""
			if n == 512 {
				goal = "at least 0.5"
			}
			name := fmt.Sprintf("chains of %d noop, %d in flight", chainLength, n)
			return []figure{
				(figure{Name: name, Value: rate, Unit: "terminations/s", Goal: goal}).against("transactions/s of the bare store", bare),
				{Name: "  CPU of one termination", Value: micros(cpuTime()-cpu) / count, Unit: "µs"},
				{Name: "  written for one termination", Value: float64(bytesWritten()-written) / count, Unit: "bytes"},
			}, err
		})
		if err != nil {
			return nil, err
		}
		all = append(all, figures...)
	}
	return all, nil
}

// idle: a chain on a node that does nothing else, in durable writes' time.
func idle(ctx context.Context, d time.Duration) ([]figure, error) {
	write, err := writeTime(ctx, d)
	if err != nil {
		return nil, err
	}
	return onOneSite(ctx, chain("A"), func(s *site) ([]figure, error) {
		took, err := s.times(ctx, "bench", d)
		return []figure{(figure{
			Name: "chain of 10 on an idle node", Value: micros(took), Unit: "µs", Goal: "at most 15",
		}).against("µs for a durable write", micros(write))}, err
	})
}

// pair: the chain over two nodes in turn, on loopback.
func pair(ctx context.Context, d time.Duration) ([]figure, error) {
	write, err := writeTime(ctx, d)
	if err != nil {
		return nil, err
	}
	return onTwoSites(ctx, chain("A", "B"), func(a, b *site) ([]figure, error) {
		took, err := a.times(ctx, "bench", d)
		if err != nil {
			return nil, err
		}
		cpu, before := cpuTime(), a.done.count.Load()+b.done.count.Load()
		rate, err := a.instances(ctx, "bench", 512, d)
		count := float64(a.done.count.Load() + b.done.count.Load() - before)
		return []figure{
			(figure{Name: "chain of 10 over two idle nodes in turn", Value: micros(took), Unit: "µs", Goal: "at most 40"}).against("µs for a durable write", micros(write)),
			{Name: "the same, 512 in flight", Value: 2 * rate, Unit: "terminations/s"},
			{Name: "  CPU of one termination", Value: micros(cpuTime()-cpu) / count, Unit: "µs"},
		}, err
	})
}

func onTwoSites(ctx context.Context, text string, f func(a, b *site) ([]figure, error)) ([]figure, error) {
	return onLateSite(ctx, text, func(a *site, join func() (*site, error)) ([]figure, error) {
		b, err := join()
		if err != nil {
			return nil, err
		}
		figures, err := f(a, b)
		if stopping := b.stop(ctx); err == nil {
			err = stopping
		}
		return figures, err
	})
}

// onLateSite runs f on a site A that has the definition and waits for B, which join
// starts.
func onLateSite(ctx context.Context, text string, f func(a *site, join func() (*site, error)) ([]figure, error)) ([]figure, error) {
	return inDirectory(func(dir string) ([]figure, error) {
		la, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		lb, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		atA, err := direct(la.Addr().String())
		if err != nil {
			return nil, err
		}
		atB, err := direct(lb.Addr().String())
		if err != nil {
			return nil, err
		}
		a, err := openSite(dir, "A", peers{"B": atB})
		if err != nil {
			return nil, err
		}
		a.serve(la)
		if err := a.upload(ctx, text); err != nil {
			return nil, err
		}
		figures, err := f(a, func() (*site, error) {
			b, err := openSite(dir, "B", peers{"A": atA})
			if err != nil {
				return nil, err
			}
			b.done.reached(catchUpMessages)
			b.serve(lb)
			return b, nil
		})
		if stopping := a.stop(ctx); err == nil {
			err = stopping
		}
		return figures, err
	})
}

const fanWidth = 100

// fan: one activity, a hundred behind it, and their join.
func fan(ctx context.Context, d time.Duration) ([]figure, error) {
	bare, err := bareRate(ctx, 64, d)
	if err != nil {
		return nil, err
	}
	return onOneSite(ctx, fanOut(fanWidth), func(s *site) ([]figure, error) {
		took, err := s.times(ctx, "bench", d)
		rate := (fanWidth + 2) / took.Seconds()
		return []figure{
			{Name: "fan of 100 and its join, idle node", Value: micros(took), Unit: "µs"},
			(figure{Name: "  the same", Value: rate, Unit: "terminations/s"}).against("transactions/s of the bare store, 64 in flight", bare),
		}, err
	})
}

const deadLength = 1000

// deadBranch: a thousand activities on a dead path at one node (N5: few writes).
func deadBranch(ctx context.Context, d time.Duration) ([]figure, error) {
	write, err := writeTime(ctx, d)
	if err != nil {
		return nil, err
	}
	return onOneSite(ctx, deadEnd(deadLength), func(s *site) ([]figure, error) {
		took, err := s.times(ctx, "bench", d)
		return []figure{(figure{
			Name: "dead branch of 1,000 local activities", Value: micros(took), Unit: "µs", Goal: "few writes",
		}).against("µs for a durable write", micros(write))}, err
	})
}

// cpuTime is the CPU time of this process.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// bytesWritten is what this process has given to the disk, as the kernel counts it.
func bytesWritten() int64 { return procValue("/proc/self/io", "write_bytes") }

// procValue reads one number of a file of name: value lines.
func procValue(file, name string) int64 {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, name+":"); ok {
			n, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			if err != nil {
				return 0
			}
			return n
		}
	}
	return 0
}
