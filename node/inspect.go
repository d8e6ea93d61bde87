package node

import (
	"time"

	"fmqm/api"
	"fmqm/container"
	"fmqm/message"
	"fmqm/navigator"
	"fmqm/processtable"
)

// live is what is known of one activity of an instance that has not ended.
type live struct {
	Activity   processtable.ActivityID
	State      api.ActivityState
	Iterations int
	Attempts   int
	Reason     string
	RC         *int64 // in error, where the program had ended; likewise Output
	Output     []byte // CBOR
	Started    time.Time
	Input      *container.Struct // of what is ready, runs or is in error
	Said       *saidLast         // of what runs
	Due        time.Time         // of a pause
	Held       string            // why its program cannot be started now
	Waits      []processtable.ActivityID
	Has        []processtable.ActivityID // whose messages are here
	Origin     processtable.NodeID
	Clock      uint64                    // the highest of its messages
	Began      bool                      // it has a message of its own
	unstarted  bool                      // its instance was not started where its messages say: here
	Notices    []processtable.ActivityID // sink: activities that told of an error
}

// inspect folds what the store has of an instance and says how far each activity is. What
// only memory knows, which programs run, is in executing.
func inspect(p *navigator.Process, messages []message.Message, executing map[message.Entry]attempt, now time.Time) []live {
	states := map[message.Entry]*navigator.State{}
	notices := map[message.Entry][]processtable.ActivityID{}
	var order []message.Entry
	for _, m := range messages {
		key := m.Entry()
		a := p.Activity(key.Activity)
		if a == nil {
			continue
		}
		s := states[key]
		if s == nil {
			s = &navigator.State{Entry: key}
			states[key] = s
			order = append(order, key)
		}
		if err := a.Fold(s, m); err == nil && m.Kind == message.KindNotice {
			if n, err := message.DecodeNotice(m.Body); err == nil && !n.Cleared {
				notices[key] = append(notices[key], m.Source)
			}
		}
	}
	out := make([]live, 0, len(order))
	for _, key := range order {
		l := liveOf(p.Activity(key.Activity), states[key], now)
		if run, under := executing[key]; under && l.State == api.ActivityReady {
			l.runs(run)
		}
		l.Notices = notices[key]
		out = append(out, l)
	}
	return out
}

func liveOf(a *navigator.Activity, s *navigator.State, now time.Time) live {
	l := live{Activity: a.Name, State: api.ActivityWaiting, Waits: s.Unresolved(a), Origin: s.Origin, Clock: s.Clock, Began: s.Snapshot != nil}
	for _, c := range s.Consumed {
		l.Has = append(l.Has, c.Key.Source)
	}
	if s.Snapshot != nil {
		l.Iterations, l.Due, l.Started = s.Snapshot.Iteration, s.Snapshot.Due, s.Snapshot.Started
		l.Attempts = s.Snapshot.Attempt
		l.Reason = s.Snapshot.LastFailure
	}
	switch {
	case s.InError():
		l.inError(s.Snapshot)
	case s.Passed(): // it only absorbs what still comes (N6)
		l.State, l.Waits = api.ActivitySkipped, nil
	case len(l.Waits) > 0 || a.Kind == processtable.KindSink:
	default:
		l.State = api.ActivityReady
		if e := a.Decide(s, now); e.Ends { // without a program: what it comes to is being written
			l.State = api.ActivityExecuted
		}
	}
	if l.State == api.ActivityInError && len(l.Waits) == 0 || l.State == api.ActivityReady {
		l.Input, _ = a.InputOf(s) // where it cannot be made the reason says so
	}
	return l
}

// runs: of what is ready, the program runs, or has ended; unless that was an iteration before.
func (l *live) runs(run attempt) {
	if run.call.Iteration < l.Iterations {
		return
	}
	l.State, l.Started, l.Iterations = api.ActivityRunning, run.started, run.call.Iteration
	l.Input, l.Said = run.call.Input, &run.said
	if run.ended {
		l.State = api.ActivityExecuted
	} else if lacks := run.lacks.Load(); lacks != nil {
		l.State, l.Held = api.ActivityReady, *lacks
	}
}

// inError tells of the last attempt. Where the program had ended it is one more than
// those that failed.
func (l *live) inError(at *message.Snapshot) {
	l.State, l.Reason = api.ActivityInError, at.Error
	if at.HasOutput {
		l.Attempts++
		l.Output = at.Output
	}
	if at.HasOutput || at.RC != 0 {
		l.RC = &at.RC
	}
}
