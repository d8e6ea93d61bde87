package main

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
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

// spread is a bundle at A whose elements are done by four sites, and whose results are read.
const spread = `process: bench
version: 1
structures:
  List: {n: [int]}
  One: {n: int}
  All: {all: [One]}
input: List
output: All
starts: [A]
activities:
  each: {node: A, for_each: n, parallel: 1000, program: noop, input: One, output: One, at: {node: '["A", "B", "C", "D"][n % 4]', of: [A, B, C, D]}}
data:
  - source -> each
  - each -> sink: {all: _RESULTS}
`

// Sizes of the bundles that are run.
const (
	manyElements = 10_000
	mostElements = 100_000
)

// bundle: a bundle of ten thousand elements beside a fan of activities, and what one of a hundred thousand takes in
// memory.
func bundle(ctx context.Context, d time.Duration) ([]figure, error) {
	runtime.MemProfileRate = heldRate
	fan, err := onOneSite(ctx, fanOut(fanWidth), func(s *site) ([]figure, error) {
		took, err := s.times(ctx, "bench", d)
		return []figure{{Value: (fanWidth + 2) / took.Seconds()}}, err
	})
	if err != nil {
		return nil, err
	}
	one, err := onOneSite(ctx, elements, func(s *site) ([]figure, error) {
		var all []time.Duration
		for begun := time.Now(); time.Since(begun) < d; {
			took, err := s.list(ctx, manyElements)
			if err != nil {
				return nil, err
			}
			all = append(all, took)
		}
		most, err := s.most(ctx, "bundle of 100,000 noop")
		return append([]figure{
			(figure{Name: "bundle of 10,000 noop", Value: manyElements / median(all).Seconds(), Unit: "elements/s", Goal: "at least 0.7"}).against("terminations/s of a fan of 100", fan[0].Value),
		}, most...), err
	})
	if err != nil {
		return nil, err
	}
	four := []string{"A", "B", "C", "D"}
	err = onFleet(ctx, four, nil, func(fl *fleet) error {
		home := fl.sites[0]
		if err := home.upload(ctx, spread); err != nil {
			return err
		}
		most, err := home.most(ctx, "bundle of 100,000 over four sites, which are one process")
		one = append(one, most...)
		return err
	})
	return one, err
}

// most runs a bundle of as many elements as there may be.
func (s *site) most(ctx context.Context, name string) ([]figure, error) {
	anon, _, _ := memoryAtRest()
	before := held()
	resident, stopped := highest(func() int64 { return procValue("/proc/self/status", "RssAnon") << 10 })
	alive, over := highest(held)
	took, err := s.list(ctx, mostElements)
	close(stopped)
	close(over)
	return []figure{
		{Name: name, Value: mostElements / took.Seconds(), Unit: "elements/s"},
		{Name: "  growth of the live heap, at most meanwhile, without the storage engine's", Value: mib(<-alive - before), Unit: "MiB", Goal: "at most 32 beyond results"},
		{Name: "  growth of RssAnon, at most meanwhile", Value: mib(<-resident - anon), Unit: "MiB"},
	}, err
}

// list runs an instance of the bundle with so many elements.
func (s *site) list(ctx context.Context, n int) (time.Duration, error) {
	numbers := make([]int, n)
	for i := range numbers {
		numbers[i] = i
	}
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
