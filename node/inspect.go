package node

import (
	"slices"
	"time"

	"fmqm/api"
	"fmqm/instancetable"
	"fmqm/message"
	"fmqm/navigator"
	"fmqm/processtable"
)

// live is what a process thread knows of one activity of an instance that has not
// ended.
type live struct {
	Activity   processtable.ActivityID
	State      api.ActivityState
	Iterations int
	Attempts   int
	Reason     string
	RC         *int64 // in error, where the program had ended; likewise Output
	Output     []byte // CBOR
	Started    time.Time
	Due        time.Time // of a pause
	Held       string    // why its program cannot be started now
	Waits      []processtable.ActivityID
	Origin     processtable.NodeID
	Notices    []processtable.ActivityID // sink: activities that told of an error
}

// inspect folds what the queue has of an instance and says how far each activity is.
// What is in memory only (what runs, what is being committed) is added from there.
func (c *core) inspect(instance message.InstanceID, now time.Time) ([]live, error) {
	stored, err := c.store.BrowseInstance(c.id(), instance)
	if err != nil {
		return nil, err
	}
	states := map[message.Entry]*navigator.State{}
	notices := map[message.Entry][]processtable.ActivityID{}
	var order []message.Entry
	for _, m := range stored {
		key := m.Entry()
		a := c.process.Activity(key.Activity)
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
	var out []live
	for _, key := range order {
		l := c.liveOf(c.process.Activity(key.Activity), states[key], now)
		l.Notices = notices[key]
		out = append(out, l)
	}
	slices.SortFunc(out, func(a, b live) int { return c.place(a.Activity) - c.place(b.Activity) })
	return out, nil
}

// place is an activity's position in the table.
func (c *core) place(name processtable.ActivityID) int {
	return slices.IndexFunc(c.process.Table.Activities, func(a *processtable.Activity) bool { return a.Name == name })
}

func (c *core) liveOf(a *navigator.Activity, s *navigator.State, now time.Time) live {
	l := live{Activity: a.Name, State: api.ActivityWaiting, Waits: s.Unresolved(a), Origin: s.Origin}
	if s.Snapshot != nil {
		l.Iterations, l.Due, l.Started = s.Snapshot.Iteration, s.Snapshot.Due, s.Snapshot.Started
		l.Attempts = s.Snapshot.Attempt
		l.Reason = s.Snapshot.LastFailure
	}
	if s.InError() {
		l.inError(s.Snapshot)
		return l
	}
	if s.Passed() { // it only absorbs what still comes (N6)
		l.State, l.Waits = api.ActivitySkipped, nil
		return l
	}
	if len(l.Waits) > 0 || a.Kind == processtable.KindSink {
		return l
	}
	l.State = api.ActivityReady
	if run := c.running[s.Entry]; run != nil {
		l.State, l.Started = api.ActivityRunning, run.started
		l.Iterations = run.call.Iteration
		if lacks := run.lacks.Load(); lacks != nil {
			l.State, l.Held = api.ActivityReady, *lacks
		}
	} else if e := c.table.Get(s.Entry); e != nil && (e.Result != nil || e.Phase == instancetable.Settling) {
		l.State = api.ActivityExecuted
	}
	return l
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
