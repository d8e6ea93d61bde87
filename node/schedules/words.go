package schedules

import (
	"context"
	"errors"
	"slices"
	"time"

	"fmqm/api"
	"fmqm/processtable"
	"fmqm/queue/record"
)

// List gives the schedules of this node, by process.
func (s *Schedules) List(ctx context.Context) (api.SchedulesAnswer, error) {
	if err := s.turn.Acquire(ctx); err != nil {
		return api.SchedulesAnswer{}, err
	}
	defer s.turn.Release()
	var a api.SchedulesAnswer
	for _, p := range s.processes() {
		a.Schedules = append(a.Schedules, s.shown(p)...)
	}
	return a, nil
}

// Say does what an operator wants of the schedules of a process; by is who he is.
func (s *Schedules) Say(ctx context.Context, process string, w api.ScheduleWord, by string) (api.SchedulesAnswer, error) {
	id, err := processtable.ParseProcessID(process)
	if err != nil || id.Version != 0 {
		return api.SchedulesAnswer{}, api.Errorf(api.CodeUsage, "write NAME alone: the current version counts", "%q is not the name of a process", process)
	}
	all := s.processes()
	i := slices.IndexFunc(all, func(p *plan) bool { return p.table.Process.Name == id.Name })
	if i < 0 {
		return api.SchedulesAnswer{}, api.Errorf(api.CodeNotFound, "see fmqm schedule list, at the node that the schedule names", "no schedule of %s at %s", id.Name, s.options.Self)
	}
	if err := s.turn.Acquire(ctx); err != nil {
		return api.SchedulesAnswer{}, err
	}
	defer s.turn.Release()
	state, err := s.state(ctx, all[i], s.options.Scheduler.Now())
	if err != nil {
		return api.SchedulesAnswer{}, err
	}
	switch w {
	case api.ScheduleSuspend:
		err = s.suspend(ctx, state, by)
	case api.ScheduleResume:
		err = s.resume(ctx, state, by)
	case api.ScheduleRun:
		err = s.run(ctx, all[i], state)
	default:
		err = api.Errorf(api.CodeUsage, "say suspend, resume or run", "a schedule has no word %q", w)
	}
	return api.SchedulesAnswer{Schedules: s.shown(all[i])}, err
}

func (s *Schedules) suspend(ctx context.Context, state record.Schedule, by string) error {
	if state.Suspended {
		return nil // twice is done once
	}
	state.Suspended, state.By = true, by
	s.options.Log.Info().Str("process", state.Process).Str("by", by).Msg("schedules suspended")
	return s.put(ctx, state)
}

// resume goes on; what was due meanwhile is what was missed.
func (s *Schedules) resume(ctx context.Context, state record.Schedule, by string) error {
	if !state.Suspended {
		return nil
	}
	state.Suspended, state.By = false, ""
	s.options.Log.Info().Str("process", state.Process).Str("by", by).Msg("schedules resumed")
	defer s.wake.Ring()
	return s.put(ctx, state)
}

// run starts an instance as the first schedule would now.
func (s *Schedules) run(ctx context.Context, p *plan, state record.Schedule) error {
	if held := s.options.Site.Held(p.table); held != nil {
		return held
	}
	now := s.options.Scheduler.Now().Truncate(time.Second)
	missed := state.Missed
	_, err := s.start(ctx, p, due{now, &p.table.Schedules[0]}, &state)
	switch {
	case err != nil:
		return err
	case state.Missed > missed:
		return api.Errorf(api.CodeRefused, "start it with fmqm start, or wait", "%s", state.Reason)
	case state.Due != now:
		return errors.New("the node does not start it now: try again")
	}
	return s.put(ctx, state)
}

// shown are the schedules of a process, as the API has them.
func (s *Schedules) shown(p *plan) []api.Schedule {
	now, state := s.options.Scheduler.Now(), s.known[p.table.Process.Name]
	var all []api.Schedule
	for i := range p.table.Schedules {
		t := &p.table.Schedules[i]
		e := api.Schedule{
			Process: p.table.Process.String(), Node: string(s.options.Self), Cron: t.Cron, Zone: t.Zone,
			State: api.ScheduleActive, Next: p.nextOf(i, now), Last: state.Due, Missed: state.Missed, Reason: state.Reason,
			Overlap: "allow", OnMissed: t.Missed.String(),
		}
		if t.Every > 0 {
			e.Every = t.Every.String()
		}
		if t.SkipOverlap {
			e.Overlap = "skip"
		}
		switch {
		case state.Suspended:
			e.State, e.By = api.ScheduleSuspended, state.By
		case s.off.Load():
			e.State = api.ScheduleOff
		}
		if !state.Due.IsZero() {
			e.Instance = &state.Instance
		}
		all = append(all, e)
	}
	return all
}
