package report

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"fmqm/api"
	"fmqm/behaviour"
	"fmqm/message"
	"fmqm/processtable"
)

// live is what is known of one activity of an instance that has not ended.
type live struct {
	behaviour.View
	Scope     message.Scope
	Activity  processtable.ActivityID
	State     api.ActivityState
	entry     message.Entry
	runs      bool
	Said      string // what its program has said, if it runs
	Held      string // why its program cannot be started now
	Origin    processtable.NodeID
	Clock     uint64   // the highest of its messages
	unstarted bool     // its instance was not started where its messages say: here
	Notices   []string // sink: activities that told of an error, as by api.InScope
}

// Run is an attempt of a program, from its begin until what came of it is on disk.
type Run struct {
	Call    behaviour.Invoke
	Started time.Time
	Ended   bool   // the program has; what it gave is being written
	Lacks   string // why it cannot be started now
	Said    string // what the program has said last
}

// inspect folds what the store has of an instance and says how far each activity is. What
// only memory knows, which programs run, is in executing; expedited is the priority that an operator has given the instance.
func inspect(p behaviour.Process, messages []message.Message, executing map[message.Entry]Run, now time.Time, expedited message.Rank) []live {
	states := map[message.Entry]behaviour.State{}
	notices := map[message.Entry][]string{}
	var order []message.Entry
	for _, m := range messages {
		key := m.Entry()
		a := p.Activity(key.Row())
		if _, notice := key.Scope.OfNotice(); a == nil || notice || m.Kind == message.KindWord { // a word is no part of an entry, and a notice none of what the instance waits for
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
				notices[key] = append(notices[key], api.InScope(string(m.SourceScope), string(m.Source)))
			}
		}
	}
	out := make([]live, 0, len(order))
	for _, key := range order {
		states[key].Known().Expedited = expedited
		l := liveOf(key, p.Activity(key.Row()), states[key], now)
		if run, under := executing[key]; under && l.State == api.ActivityReady {
			l.run(run)
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
	behaviour.Begun:     api.ActivityRunning,
	behaviour.OnList:    api.ActivityReady,
}

func liveOf(key message.Entry, b behaviour.Behaviour, s behaviour.State, now time.Time) live {
	v := b.View(s, now)
	return live{View: v, entry: key, Scope: key.Scope, Activity: key.Activity, State: stateOf[v.Progress], Origin: s.Known().Origin, Clock: s.Known().Clock}
}

// run: of what is ready, the program runs, or has ended; unless that was an iteration before.
func (l *live) run(run Run) {
	if run.Call.Iteration < l.Iterations {
		return
	}
	l.State, l.Started, l.Iterations = api.ActivityRunning, run.Started, run.Call.Iteration
	l.Input, l.Said, l.runs = run.Call.Input, run.Said, true
	if run.Ended {
		l.State = api.ActivityExecuted
	} else if run.Lacks != "" {
		l.State, l.Held = api.ActivityReady, run.Lacks
	}
}

// item is how people name the work item.
func (l *live) item() string {
	return itemID(l.entry, message.Execution{Iteration: l.Iterations, Run: l.Run})
}

// itemID names the item of an entry: of one that offers it beside its home, that at home.
func itemID(e message.Entry, at message.Execution) string {
	if isWork(e.Scope, string(e.Activity)) {
		if frames, err := e.Scope.Frames(); err == nil {
			last := frames[len(frames)-1]
			e.Scope, at = e.Scope.Leave(), message.Execution{Iteration: last.Iteration, Run: last.Run}
		}
	}
	return message.ItemID(&e, at)
}

// row is that of the activity.
func (l *live) row() processtable.RowID {
	return l.Scope.Row(l.Activity)
}

// name is the activity where it is.
func (l *live) name() string { return api.InScope(string(l.Scope), string(l.Activity)) }

// awaitStart shows what the process thread says of an activity that would go on.
func (l *live) awaitStart(self processtable.NodeID, ended ends) {
	if _, started := ended[string(processtable.Source)]; started || l.Origin != self || l.Own {
		return
	}
	decided := l.State == api.ActivityReady || l.State == api.ActivityExecuted
	if l.unstarted = decided || l.State == api.ActivityWaiting; decided {
		l.State = api.ActivityReady
	}
}

// notStarted says who tells of an instance that was not started here, and what to do about it.
func notStarted(t *processtable.Table, l *live) string {
	var from []string
	for _, source := range l.Has {
		node, _ := t.HostOf(l.Scope.Row(source), l.Origin)
		from = append(from, fmt.Sprintf("%s (%s)", node, source))
	}
	return fmt.Sprintf("waiting for its instance to be started: %s says that it was started at %s, which does not know it as one of %s. "+
		"If %s has lost its store, repeat the start; else fmqm terminate INSTANCE --process %s", cmp.Or(strings.Join(from, ", "), "another site"), t.Node, t.Process, t.Node, t.Process)
}
