package main

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"strconv"
	"strings"
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

// spread is a bundle at A of structures, whose elements are done by the sites that they name, and whose results are read.
const spread = `process: bench
version: 1
structures:
  Visit: {n: int, shop: string}
  Visits: {visits: [Visit]}
input: Visits
output: Visits
starts: [A]
activities:
  each: {node: A, for_each: _STRUCT, parallel: 1000, program: noop, input: Visit, output: Visit, at: {node: shop, of: [A, B, C, D]}}
data:
  - source -> each: {_STRUCT: visits}
  - each -> sink: {visits: _RESULTS}
`

// numbers is an input of elements.
func numbers(n int) json.RawMessage {
	return listOf("n", n, func(i int) string { return strconv.Itoa(i) })
}

// visits is an input of spread.
func visits(n int, shops []string) json.RawMessage {
	return listOf("visits", n, func(i int) string { return fmt.Sprintf(`{"n":%d,"shop":%q}`, i, shops[i%len(shops)]) })
}

// listOf is an input of which one member is a list.
func listOf(member string, n int, element func(i int) string) json.RawMessage {
	all := make([]string, n)
	for i := range all {
		all[i] = element(i)
	}
	return json.RawMessage(fmt.Sprintf(`{%q:[%s]}`, member, strings.Join(all, ",")))
}

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
	return onOneSite(ctx, elements, func(s *site) ([]figure, error) {
		var all []time.Duration
		for begun := time.Now(); time.Since(begun) < d; {
			took, err := s.list(ctx, numbers(manyElements))
			if err != nil {
				return nil, err
			}
			all = append(all, took)
		}
		most, err := s.most(ctx, numbers(mostElements), "bundle of 100,000 noop")
		return append([]figure{
			(figure{Name: "bundle of 10,000 noop", Value: manyElements / median(all).Seconds(), Unit: "elements/s", Goal: "at least 0.7"}).against("terminations/s of a fan of 100", fan[0].Value),
		}, most...), err
	})
}

// overFour: a bundle whose elements are done by four sites, all of which are this process.
func overFour(ctx context.Context, _ time.Duration) (figures []figure, err error) {
	runtime.MemProfileRate = heldRate
	four := []string{"A", "B", "C", "D"}
	err = onFleet(ctx, four, nil, func(fl *fleet) (err error) {
		home := fl.sites[0]
		if err = home.upload(ctx, spread); err == nil {
			figures, err = home.most(ctx, visits(mostElements, four), "bundle of 100,000 over four sites, which are one process")
		}
		return err
	})
	return figures, err
}

// most runs a bundle of as many elements as there may be.
func (s *site) most(ctx context.Context, input json.RawMessage, name string) ([]figure, error) {
	anon, _, _ := memoryAtRest()
	before := held()
	resident, stopped := highest(func() int64 { return procValue("/proc/self/status", "RssAnon") << 10 })
	alive, over := highest(held)
	took, err := s.list(ctx, input)
	close(stopped)
	close(over)
	return []figure{
		{Name: name, Value: mostElements / took.Seconds(), Unit: "elements/s"},
		{Name: "  growth of the live heap, at most meanwhile, but for the engine's", Value: mib(<-alive - before), Unit: "MiB", Goal: "at most 32 beyond results"},
		{Name: "  growth of RssAnon, at most meanwhile", Value: mib(<-resident - anon), Unit: "MiB"},
	}, err
}

// list runs an instance of a bundle to its end.
func (s *site) list(ctx context.Context, input json.RawMessage) (time.Duration, error) {
	id, end := uuid.Must(uuid.NewV7()), make(chan struct{})
	s.mu.Lock()
	s.ends[id] = end
	s.mu.Unlock()
	begun := time.Now()
	if err := s.node.Begin(ctx, api.StartRequest{Instance: id, Process: "bench", Input: input}); err != nil {
		return 0, fmt.Errorf("start a bundle: %w", err)
	}
	<-end
	return time.Since(begun), nil
}
