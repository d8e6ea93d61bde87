package schedules

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"fmqm/api"
	"fmqm/internal/task"
	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue"
	"fmqm/queue/record"
)

// Schedules starts what is due. Its methods are safe for concurrent use.
type Schedules struct {
	options Options
	wake    *task.Bell
	off     atomic.Bool
	turn    *task.Places // one: who has it owns known, and writes it
	known   map[string]record.Schedule

	mu    sync.Mutex
	plans map[string]*plan // by name of the process, of the current version that was seen
}

// Options make Schedules. All are to be set.
type Options struct {
	Self      processtable.NodeID
	Site      Site
	Queue     Queue
	Scheduler task.Scheduler
	Log       zerolog.Logger
	Off       bool // nothing is started
}

// Queue is the store, as far as this room reads it.
type Queue interface {
	// Schedules says how far the node has come with the schedules of each process, by name.
	Schedules() (map[string]record.Schedule, error)
}

// Site is the node whose schedules they are.
type Site interface {
	// Tables are those of the versions that are current here, by name and version.
	Tables() []*processtable.Table
	// Held says why the node starts no instance of a process now; nil: it does.
	Held(*processtable.Table) error
	// Begin starts an instance, once (N2).
	Begin(context.Context, api.StartRequest) error
	// Standing says whether an instance was started here, and whether it has ended.
	Standing(message.InstanceID) (started, ended bool, err error)
	// Commit submits a transaction, and waits for it, or for ctx.
	Commit(context.Context, *record.Tx) error
}

const (
	// look is how often the clock is looked at, at least: a machine that has slept, or a clock that
	// was set, is noticed within it. What is due for longer counts as missed.
	look = time.Minute
	// again is the pause before what could not be started is tried again.
	again = 5 * time.Second
)

// New makes Schedules, as the store knows them. Nothing is started until Run.
func New(o Options) (*Schedules, error) {
	known, err := o.Queue.Schedules()
	if err != nil {
		return nil, err
	}
	s := &Schedules{options: o, wake: o.Scheduler.Bell(), turn: task.NewPlaces(o.Scheduler, 1), known: known, plans: map[string]*plan{}}
	s.off.Store(o.Off)
	return s, nil
}

// Set says whether nothing is started from now on.
func (s *Schedules) Set(off bool) {
	if s.off.Swap(off) != off {
		s.wake.Ring()
	}
}

// Changed: a table has come, or a version has become current.
func (s *Schedules) Changed() { s.wake.Ring() }

// Run starts what is due until ctx ends, or the store. An error is one after which nothing here can
// be trusted (invariant 8).
func (s *Schedules) Run(ctx context.Context) error {
	for {
		next, err := s.round(ctx)
		switch {
		case ctx.Err() != nil, errors.Is(err, queue.ErrStopped):
			return nil
		case err != nil:
			return err
		}
		if !s.wait(ctx, next) {
			return nil
		}
	}
}

// wait waits until a time, but not for long, or until there is news; zero: for news alone. It gives
// false when ctx has ended.
func (s *Schedules) wait(ctx context.Context, next time.Time) bool {
	due := s.options.Scheduler.Gate()
	if !next.IsZero() {
		d := min(max(next.Sub(s.options.Scheduler.Now()), time.Millisecond), look)
		defer s.options.Scheduler.AfterFunc(d, due.Open)()
	}
	_, err := s.options.Scheduler.Wait(ctx, due, s.wake)
	return err == nil && ctx.Err() == nil
}

// round looks at each process once, and says when it is worth while to look again.
func (s *Schedules) round(ctx context.Context) (next time.Time, err error) {
	if s.off.Load() {
		return time.Time{}, nil
	}
	for _, p := range s.processes() {
		at, err := s.process(ctx, p)
		if err != nil {
			return time.Time{}, err
		}
		if next.IsZero() || !at.IsZero() && at.Before(next) {
			next = at
		}
	}
	return next, nil
}

// processes are those that have schedules here, by name, each in its current version: the highest that is.
func (s *Schedules) processes() []*plan {
	newest := map[string]*processtable.Table{}
	for _, t := range s.options.Site.Tables() {
		if n := newest[t.Process.Name]; n == nil || n.Process.Version < t.Process.Version {
			newest[t.Process.Name] = t
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []*plan
	for _, name := range slices.Sorted(maps.Keys(newest)) {
		t := newest[name]
		if len(t.Schedules) == 0 {
			continue
		}
		if p := s.plans[name]; p == nil || p.table != t {
			s.plans[name] = planOf(t)
		}
		all = append(all, s.plans[name])
	}
	return all
}

// process starts what is due of a process.
func (s *Schedules) process(ctx context.Context, p *plan) (next time.Time, err error) {
	if err := s.turn.Acquire(ctx); err != nil {
		return time.Time{}, err
	}
	defer s.turn.Release()
	now := s.options.Scheduler.Now()
	state, err := s.state(ctx, p, now)
	if err != nil || state.Suspended {
		return time.Time{}, err
	}
	due, passed := p.due(state.Until, now)
	if passed > 0 {
		state.Missed += passed
		state.Reason = ""
	}
	for _, d := range due {
		held, err := s.start(ctx, p, d, &state)
		if err != nil {
			return time.Time{}, err
		}
		if held {
			return now.Add(again), nil
		}
		state.Until = d.at
		if err := s.put(ctx, state); err != nil {
			return time.Time{}, err
		}
	}
	if passed > 0 && len(due) == 0 {
		state.Until = now
		if err := s.put(ctx, state); err != nil {
			return time.Time{}, err
		}
	}
	return p.next(now), nil
}

// state is how far a process has come; a new one, and one with other rules, begins now. Where the clock
// was set back, it goes on from there: what was started before is known by its identifier.
func (s *Schedules) state(ctx context.Context, p *plan, now time.Time) (record.Schedule, error) {
	state, known := s.known[p.table.Process.Name]
	state.Process = p.table.Process.Name
	if known && state.Rules == p.rules && !now.Before(state.Until) {
		return state, nil
	}
	state.Until, state.Rules = now, p.rules
	return state, s.put(ctx, state)
}

// put has the store keep how far a process has come.
func (s *Schedules) put(ctx context.Context, state record.Schedule) error {
	if err := s.options.Site.Commit(ctx, &record.Tx{Schedule: &state}); err != nil {
		return err
	}
	s.known[state.Process] = state
	return nil
}

// start starts the instance of a time; held: that is to be tried again later.
func (s *Schedules) start(ctx context.Context, p *plan, d due, state *record.Schedule) (held bool, err error) {
	if d.schedule.SkipOverlap && !state.Due.IsZero() {
		started, ended, err := s.options.Site.Standing(state.Instance)
		if err != nil {
			return false, err
		}
		if started && !ended {
			s.passOver(p, d, state, "instance "+state.Instance.String()+", which was started before, has not ended")
			return false, nil
		}
	}
	request, err := p.request(s.options.Self, d)
	if err != nil {
		return false, err
	}
	started, _, err := s.options.Site.Standing(request.Instance)
	switch {
	case err != nil:
		return false, err
	case started: // before a kill, or by another version
		state.Due, state.Instance = d.at, request.Instance
		return false, nil
	case s.options.Site.Held(p.table) != nil:
		return true, nil
	}
	err = s.options.Site.Begin(ctx, request)
	switch {
	case ctx.Err() != nil || errors.Is(err, queue.ErrStopped):
		return false, queue.ErrStopped
	case api.CodeOf(err) == api.CodeUnreachable:
		return true, nil
	case err != nil:
		s.passOver(p, d, state, err.Error())
		return false, nil
	}
	state.Due, state.Instance = d.at, request.Instance
	s.options.Log.Info().Stringer("process", p.table.Process).Time("due", d.at).Stringer("instance", request.Instance).Msg("instance started by its schedule")
	return false, nil
}

func (s *Schedules) passOver(p *plan, d due, state *record.Schedule, reason string) {
	state.Missed++
	state.Reason = reason
	s.options.Log.Warn().Stringer("process", p.table.Process).Time("due", d.at).Str("reason", reason).Msg("no instance started by its schedule")
}
