package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"fmqm/api"
)

// receives is an activity that waits for an event, of a key if it has one.
func receives(key string) string {
	return "process: bench\nversion: 1\nevents: {part: {}}\nactivities:\n  rest: {node: A, receive: {event: part" + key + "}}\n"
}

// receivedEvents is how many events are sent one after the other to what waits.
const receivedEvents = 200

// receiving: instances each of which waits for an event, under a key of its own, or all for the same.
func receiving(ctx context.Context, _ time.Duration) ([]figure, error) {
	alone, err := inDirectory(func(dir string) ([]figure, error) { return received(ctx, dir, "", 1) })
	if err != nil {
		return nil, err
	}
	apart, err := inDirectory(func(dir string) ([]figure, error) { return received(ctx, dir, ", key: _INSTANCE", parkedInstances) })
	if err != nil {
		return nil, err
	}
	together, err := inDirectory(func(dir string) ([]figure, error) { return received(ctx, dir, "", parkedInstances) })
	if err != nil {
		return nil, err
	}
	last := len(together) - 1
	together[last] = together[last].against("ms where one waits", alone[len(alone)-1].Value)
	return append(apart, together...), nil
}

// received has so many wait, and sends some of them events where they wait for the same.
func received(ctx context.Context, dir, key string, many int64) ([]figure, error) {
	s, err := openBeside(ctx, dir)
	if err != nil {
		return nil, err
	}
	if err := s.upload(ctx, receives(key)); err != nil {
		return nil, err
	}
	how := "for the same event"
	if key != "" {
		how = "for an event of its own key"
	}
	var all []figure
	if many > 1 {
		anon, _, _ := memory()
		empty, begun := resting(), time.Now()
		if err := s.start(ctx, many); err != nil {
			return nil, err
		}
		took := time.Since(begun)
		anonAfter, _, _ := memoryAtRest()
		all = append(all,
			figure{Name: "100,000 receives, each " + how + ": started", Value: float64(many) / took.Seconds(), Unit: "instances/s"},
			figure{Name: "  growth of RssAnon, at rest", Value: mib(anonAfter - anon), Unit: "MiB", Goal: "at most 100"},
			(figure{Name: "  CPU at rest", Value: resting(), Unit: "ms a second", Goal: "none"}).against("ms a second before they were started", empty),
		)
	}
	var events []figure
	if key == "" {
		if events, err = s.events(ctx, many == 1); err != nil {
			return nil, err
		}
	}
	restart, err := s.again(ctx, dir)
	return slices.Concat(all, restart, events), err
}

// events sends events one after the other, each when the one before was received. Of each there is a receive, which is
// started first where none waits.
func (s *site) events(ctx context.Context, start bool) ([]figure, error) {
	took, writes := time.Duration(0), uint64(0)
	for n := range receivedEvents {
		if start {
			if _, err := s.begin(ctx, "bench"); err != nil {
				return nil, err
			}
			waiting := func() bool {
				list, err := s.node.Events(ctx, api.EventsRequest{Waiting: true, Limit: 1})
				return err == nil && len(list.Events) == 1
			}
			for !waiting() {
			}
		}
		before, err := s.node.Stats()
		if err != nil {
			return nil, err
		}
		ended := s.ended.reached(1)
		begun := time.Now()
		if _, err := s.node.SendEvent(ctx, api.EventRequest{Event: "part", ID: fmt.Sprint(n)}); err != nil {
			return nil, err
		}
		<-ended
		took += time.Since(begun)
		after, err := s.node.Stats()
		if err != nil {
			return nil, err
		}
		writes += after.Queue.Commits - before.Queue.Commits
	}
	return []figure{
		{Name: "  an event, from its commit to the end of its instance", Value: float64(writes) / receivedEvents, Unit: "durable writes", Goal: "at most 4"},
		{Name: "  time of one", Value: micros(took) / receivedEvents / 1000, Unit: "ms"},
	}, nil
}
