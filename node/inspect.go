package node

import (
	"time"

	"fmqm/api"
	"fmqm/behaviour"
	"fmqm/message"
	"fmqm/processtable"
)

// live is what is known of one activity of an instance that has not ended.
type live struct {
	behaviour.View
	Activity  processtable.ActivityID
	State     api.ActivityState
	Said      *saidLast // of what runs
	Held      string    // why its program cannot be started now
	Origin    processtable.NodeID
	Clock     uint64                    // the highest of its messages
	unstarted bool                      // its instance was not started where its messages say: here
	Notices   []processtable.ActivityID // sink: activities that told of an error
}

// inspect folds what the store has of an instance and says how far each activity is. What
// only memory knows, which programs run, is in executing.
func inspect(p behaviour.Process, messages []message.Message, executing map[message.Entry]attempt, now time.Time) []live {
	states := map[message.Entry]behaviour.State{}
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
			s = a.Empty(key)
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
		l := liveOf(key.Activity, p.Activity(key.Activity), states[key], now)
		if run, under := executing[key]; under && l.State == api.ActivityReady {
			l.runs(run)
		}
		l.Notices = notices[key]
		out = append(out, l)
	}
	return out
}

// stateOf says in the API's words how far an entry has come.
var stateOf = map[behaviour.Progress]api.ActivityState{
	behaviour.Waiting:   api.ActivityWaiting,
	behaviour.Ready:     api.ActivityReady,
	behaviour.Deciding:  api.ActivityExecuted,
	behaviour.Erring:    api.ActivityInError,
	behaviour.Absorbing: api.ActivitySkipped,
}

func liveOf(name processtable.ActivityID, b behaviour.Behaviour, s behaviour.State, now time.Time) live {
	v := b.View(s, now)
	return live{View: v, Activity: name, State: stateOf[v.Progress], Origin: s.Known().Origin, Clock: s.Known().Clock}
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
