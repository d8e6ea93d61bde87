package navigator

import (
	"fmt"
	"math"
	"time"

	"fmqm/behaviour"
	"fmqm/condition"
	"fmqm/container"
	"fmqm/message"
	"fmqm/processtable"
)

// Names of the timers that an activity may have beside that of a pause.
const (
	timerDeadline = "deadline"
	timerWait     = "wait"
)

// times are the timers of a snapshot.
func times(at *message.Snapshot) (all []behaviour.Timer) {
	for _, t := range []behaviour.Timer{{Due: at.Due}, {Name: timerDeadline, Due: at.Deadline}, {Name: timerWait, Due: at.Until}} {
		if !t.Due.IsZero() {
			all = append(all, t)
		}
	}
	return all
}

// expired reports that the deadline of the activity has come, and has not ended it (R21).
func (s *State) expired() bool {
	at := s.Snapshot
	return at != nil && !at.Deadline.IsZero() && !at.TimedOut && s.Came(behaviour.Timer{Name: timerDeadline, Due: at.Deadline})
}

// Interrupted reports that what runs is to be ended: by an operator, another activity or a deadline.
func (s *State) Interrupted() bool {
	return s.Stopped || s.cancel != nil || s.reached().Hand != nil || s.expired()
}

// wait is a KindWait's: the time at which it goes on is set once, and then it behaves as an empty
// activity (R21).
func (a *Activity) wait(s *State, input *container.Struct, now time.Time) behaviour.Effects {
	at := s.progress()
	if !at.Until.IsZero() {
		if !s.Came(behaviour.Timer{Name: timerWait, Due: at.Until}) {
			return behaviour.Effects{}
		}
		return a.echoes(s, input, now)
	}
	due, pause, err := a.over.of(s, input, now)
	if err != nil {
		return a.fail(s, at, message.CauseInput, fmt.Sprintf("wait: %v", err), now)
	}
	at.Until = due
	return a.set(a.keep(s, at, behaviour.Outcome{}), timerWait, pause)
}

// decided sets the deadline of an activity that was decided TRUE, in at; with how long it is away, or
// 0 where it is a time of the calendar (R21).
func (a *Activity) decided(s *State, at *message.Snapshot, input *container.Struct, now time.Time) (pause time.Duration, err error) {
	if a.Deadline == nil || !at.Deadline.IsZero() {
		return 0, nil
	}
	if at.Deadline, pause, err = a.due.of(s, input, now); err != nil {
		return 0, fmt.Errorf("deadline: %w", err)
	}
	return pause, nil
}

// set gives a timer how long it is away.
func (a *Activity) set(e behaviour.Effects, name string, pause time.Duration) behaviour.Effects {
	for i := range e.Timers {
		if e.Timers[i].Name == name {
			e.Timers[i].Pause = pause
		}
	}
	return e
}

// moment is a prepared processtable.Moment.
type moment struct {
	*processtable.Moment
	expr *condition.Expr // nil: it is fixed
}

func prepareMoment(m *processtable.Moment, input *container.Type) (moment, error) {
	if m == nil || m.Expr == nil {
		return moment{Moment: m}, nil
	}
	want := container.Duration
	if m.At {
		want = container.Timestamp
	}
	e, err := condition.LoadExpr(*m.Expr, inputScope(input), container.Scalar(want))
	if err != nil {
		return moment{}, fmt.Errorf("expression %q: %w", m.Expr.Text, err)
	}
	return moment{Moment: m, expr: e}, nil
}

// inputScope is what expressions over an activity's input see.
func inputScope(input *container.Type) condition.Scope {
	return condition.Scope{Members: input, Words: condition.WordInstance}
}

// farthest is the last time that a timer can have.
var farthest = time.Unix(0, math.MaxInt64)

// of gives the time, and how long it is away where it is counted from now on.
func (m *moment) of(s *State, input *container.Struct, now time.Time) (due time.Time, pause time.Duration, err error) {
	fixed := m.Fixed
	if m.expr != nil {
		v, err := m.expr.Eval(&condition.Spent{}, input, &condition.Values{Instance: s.Entry.Instance.String()})
		if err != nil {
			return time.Time{}, 0, err
		}
		switch v := v.(type) {
		case time.Duration:
			fixed = int64(v)
		case time.Time:
			return within(v), 0, nil
		}
	}
	if m.At {
		return within(time.Unix(0, fixed).UTC()), 0, nil
	}
	pause = min(time.Duration(max(0, fixed)), farthest.Sub(now))
	return now.Add(pause), pause, nil
}

// within is a time of the calendar as a timer can have it: what lies before is over at once.
func within(t time.Time) time.Time {
	first := time.Unix(0, 1).UTC() // 0 would be none
	switch {
	case t.Before(first):
		return first
	case t.After(farthest):
		return farthest.UTC()
	}
	return t
}
