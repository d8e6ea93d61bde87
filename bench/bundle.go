package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"

	"fmqm/api"
)

// elements is a bundle of noop activities, one for each number of a list, of which only the counts are read.
const elements = `process: bench
version: 1
structures:
  List: {n: [int]}
  One: {n: int}
  Done: {done: int}
input: List
output: Done
activities:
  each: {node: A, for_each: n, parallel: 1000, program: noop, input: One, output: One}
data:
  - source -> each
  - each -> sink: {done: _DONE}
`

// Sizes of the bundles that are run.
const (
	manyElements = 10_000
	mostElements = 100_000
)

// bundle: a bundle of ten thousand elements beside a fan of activities, and what one of a hundred thousand takes in
// memory.
func bundle(ctx context.Context, d time.Duration) ([]figure, error) {
	fan, err := onOneSite(ctx, fanOut(fanWidth), func(s *site) ([]figure, error) {
		took, err := s.times(ctx, "bench", d)
		return []figure{{Value: (fanWidth + 2) / took.Seconds()}}, err
	})
	if err != nil {
		return nil, err
	}
	return onOneSite(ctx, elements, func(s *site) ([]figure, error) {
		var all []time.Duration
		for begun := time.Now(); time.Since(begun) < d; {
			took, err := s.list(ctx, manyElements)
			if err != nil {
				return nil, err
			}
			all = append(all, took)
		}
		anon, _, _ := memoryAtRest()
		most, stop := highest()
		took, err := s.list(ctx, mostElements)
		close(stop)
		return []figure{
			(figure{Name: "bundle of 10,000 noop", Value: manyElements / median(all).Seconds(), Unit: "elements/s", Goal: "at least 0.7"}).against("terminations/s of a fan of 100", fan[0].Value),
			{Name: "bundle of 100,000 noop", Value: mostElements / took.Seconds(), Unit: "elements/s"},
			{Name: "  growth of RssAnon, at most meanwhile", Value: mib(<-most - anon), Unit: "MiB", Goal: "at most 32 beyond results"},
		}, err
	})
}

// highest watches the process's own memory until stop is closed, and gives the most that it had.
func highest() (most <-chan int64, stop chan struct{}) {
	found, stop := make(chan int64, 1), make(chan struct{})
	go func() {
		tick := time.NewTicker(50 * time.Millisecond)
		defer tick.Stop()
		var high int64
		for {
			select {
			case <-tick.C:
				high = max(high, procValue("/proc/self/status", "RssAnon")<<10)
			case <-stop:
				found <- high
				return
			}
		}
	}()
	return found, stop
}

// list runs an instance of the bundle with so many elements.
func (s *site) list(ctx context.Context, n int) (time.Duration, error) {
	numbers := make([]int, n)
	input, err := json.Marshal(map[string]any{"n": numbers})
	if err != nil {
		return 0, err
	}
	id, end := uuid.Must(uuid.NewV7()), make(chan struct{})
	s.mu.Lock()
	s.ends[id] = end
	s.mu.Unlock()
	begun := time.Now()
	if err := s.node.Begin(ctx, api.StartRequest{Instance: id, Process: "bench", Input: input}); err != nil {
		return 0, fmt.Errorf("start a bundle of %d: %w", n, err)
	}
	<-end
	return time.Since(begun), nil
}
