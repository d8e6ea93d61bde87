package world

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"

	"fmqm/api"
	"fmqm/definition"
	"fmqm/node"
	"fmqm/processtable"
	"fmqm/schedule"
)

// Instances that a schedule starts (N23) are clients of their own: each is what any instance of its process is. Which times
// are due is worked out here, from the rule alone. When the weather clears an operator suspends the schedules.

// timetable is what may be started by the schedule of a process.
type timetable struct {
	of        *prepared
	rule      *definition.Schedule
	due       map[uuid.UUID]time.Time
	started   map[int64]bool // by the second in which it was due
	suspended bool
}

// window is for how long, before a world begins and after, times are worked out: clocks are stepped by less.
const window = 12 * time.Hour

// timetables works out what the schedules of all processes may start.
func (w *World) timetables() {
	for _, p := range w.cases {
		for _, s := range p.process.Schedules {
			t := &timetable{of: p, rule: s, due: map[uuid.UUID]time.Time{}, started: map[int64]bool{}}
			times, err := schedule.Parse(s.Rule)
			if err != nil {
				panic(fmt.Errorf("process %s: %w", p.id, err))
			}
			for at := times.Next(begun.Add(-window)); at.Before(begun.Add(window)); at = times.Next(at) {
				id := api.KeyedInstance(p.process.Name, fmt.Sprintf("schedule %s %s", s.Node, at.UTC().Format(time.RFC3339)))
				t.due[uuid.UUID(id)] = at
				w.watch.starts[uuid.UUID(id)] = true
			}
			w.schedules = append(w.schedules, t)
		}
	}
}

// scheduled is told that an instance starts at a site: one that a schedule starts is looked at from now on as others are.
func (x *watch) scheduled(s *site, id uuid.UUID) {
	for _, t := range x.world.schedules {
		at, due := t.due[id]
		if !due || t.started[at.Unix()] {
			continue
		}
		x.world.journal.met("scheduled")
		t.started[at.Unix()] = true
		x.world.clients = append(x.world.clients, &client{world: x.world, instance: &Instance{ID: id}, of: t.of, started: true})
		for lost := range x.lost {
			x.resent[id] = x.resent[id] || t.of.hasPart(lost)
		}
		switch now := begun.Add(x.world.tasks.Elapsed()); {
		case t.of.origin != s.name:
			x.world.breaks("schedules", "%s starts the instance of %v of %s, and not %s", s.name, at, t.of.id, t.of.origin)
		case t.suspended:
			x.world.breaks("schedules", "%s starts the instance of %v of %s, whose schedules are suspended", s.name, at, t.of.id)
		case at.After(now) && !x.world.stepped(s.name):
			x.world.breaks("schedules", "%s starts the instance of %v of %s at %v", s.name, at, t.of.id, now)
		}
	}
}

// stepped: the clock of the site is not what it was.
func (w *World) stepped(n name) bool {
	return slices.ContainsFunc(w.plan.Events, func(e Event) bool { return e.Do == Clock && e.Site == n })
}

// allSuspended has operators suspend all schedules, and says which are not yet.
func (w *World) allSuspended() string {
	for _, t := range w.schedules {
		if t.suspended {
			continue
		}
		err := w.ask(t.of.origin, "suspend the schedules of "+t.of.id, func(ctx context.Context, n *node.Node) error {
			_, err := n.SaySchedule(ctx, t.of.process.Name, api.ScheduleSuspend)
			return err
		})
		if t.suspended = err == nil; err != nil {
			return fmt.Sprintf("%s: %v", t.of.id, err)
		}
	}
	return ""
}

// noneMissed: where what was missed is made up for, no time is left out between the first and the last.
func (w *World) noneMissed() {
	for _, t := range w.schedules {
		if t.rule.Missed != processtable.MissedAll || t.rule.SkipOverlap || w.stepped(t.of.origin) || w.watch.lost[t.of.origin] || w.watch.cloned[t.of.origin] || len(t.started) == 0 {
			continue
		}
		all := slices.Sorted(maps.Keys(t.started))
		step := int64(t.rule.Rule.Every / time.Second)
		for i := range all[1:] {
			if all[i+1]-all[i] != step {
				w.breaks("schedules", "%s started instances of %s for %v, and the next ones for %v", t.of.origin, t.of.id, time.Unix(all[i], 0).UTC(), time.Unix(all[i+1], 0).UTC())
			}
		}
	}
}
