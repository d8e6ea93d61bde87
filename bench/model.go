package main

import (
	"context"
	"fmt"
	"time"
)

// turns is a block of one noop activity that is done n times.
func turns(n int) string {
	return fmt.Sprintf(`process: turns%d
version: 1
structures:
  Count: {n: int}
input: Count
output: Count
activities:
  turns:
    node: A
    input: Count
    output: Count
    exit: n >= %d
    activities:
      work: {node: A, program: noop}
    data:
      - source -> sink: {n: (n + 1)}
data:
  - source -> turns
  - turns -> turns
  - turns -> sink
`, n, n)
}

// caller is one activity: a noop, or a subprocess of which that is the only activity.
func caller(name, work string) string {
	return renamed(fmt.Sprintf("%s  work: {node: A, %s, input: Order, output: Order}\ndata:\n  - source -> work\n  - work -> sink\n", head, work), name)
}

const (
	manyTurns = 200
	// called is how many instances are run one after the other to count their writes.
	called = 100
)

// model: what blocks and subprocesses cost in durable writes, on an idle node.
func model(ctx context.Context, d time.Duration) ([]figure, error) {
	write, err := writeTime(ctx, d)
	if err != nil {
		return nil, err
	}
	return onOneSite(ctx, turns(manyTurns), func(s *site) ([]figure, error) {
		for _, text := range []string{turns(1), caller("plain", "program: noop"), caller("calls", "process: plain")} {
			if err := s.upload(ctx, text); err != nil {
				return nil, err
			}
		}
		once, _, err := s.writes(ctx, "turns1", called)
		if err != nil {
			return nil, err
		}
		many, took, err := s.writes(ctx, fmt.Sprintf("turns%d", manyTurns), 5)
		if err != nil {
			return nil, err
		}
		plain, _, err := s.writes(ctx, "plain", called)
		if err != nil {
			return nil, err
		}
		calls, _, err := s.writes(ctx, "calls", called)
		return []figure{
			{Name: "block of one noop: one more iteration", Value: (many - once) / (manyTurns - 1), Unit: "durable writes", Goal: "at most 2"},
			(figure{Name: "  time of one", Value: micros(took) / manyTurns, Unit: "µs"}).against("µs for a durable write", micros(write)),
			(figure{Name: "subprocess of one noop", Value: calls, Unit: "durable writes", Goal: "at most 3 more"}).against("durable writes without it", plain),
		}, err
	})
}

// writes runs n instances one after the other, and gives the durable writes and the time of one.
func (s *site) writes(ctx context.Context, process string, n int) (each float64, took time.Duration, err error) {
	before, err := s.node.Stats()
	if err != nil {
		return 0, 0, err
	}
	begun := time.Now()
	for range n {
		if err := s.named(ctx, process); err != nil {
			return 0, 0, err
		}
	}
	took = time.Since(begun) / time.Duration(n)
	after, err := s.node.Stats()
	return float64(after.Queue.Commits-before.Queue.Commits) / float64(n), took, err
}

// waits is an activity that waits for an hour.
const waits = "process: bench\nversion: 1\nactivities:\n  rest: {node: A, wait: {for: 1h}}\n"

// atRest is how long a node is watched that has nothing to do.
const atRest = 10 * time.Second

// resting is the CPU time that a second costs in which nothing is to be done, in milliseconds.
func resting() float64 {
	cpu := cpuTime()
	<-time.After(atRest)
	return (cpuTime() - cpu).Seconds() * 1000 / atRest.Seconds()
}

// pending: instances each of which waits for a time.
func pending(ctx context.Context, _ time.Duration) ([]figure, error) {
	return inDirectory(func(dir string) ([]figure, error) {
		s, err := openBeside(ctx, dir)
		if err != nil {
			return nil, err
		}
		if err := s.upload(ctx, waits); err != nil {
			return nil, err
		}
		anon, _, _ := memory()
		empty := resting()
		begun := time.Now()
		if err := s.start(ctx, parkedInstances); err != nil {
			return nil, err
		}
		took := time.Since(begun)
		anonAfter, _, goroutines := memoryAtRest()
		full := resting()
		restart, err := s.again(ctx, dir)
		return append([]figure{
			{Name: "100,000 pending timers: started", Value: parkedInstances / took.Seconds(), Unit: "instances/s"},
			{Name: "  growth of RssAnon, at rest", Value: mib(anonAfter - anon), Unit: "MiB", Goal: "at most 100"},
			{Name: "  goroutines", Value: float64(goroutines), Unit: ""},
			(figure{Name: "  CPU at rest", Value: full, Unit: "ms a second", Goal: "none"}).against("ms a second before they were started", empty),
		}, restart...), err
	})
}
