package report

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"fmqm/api"
)

// inBlocks is an instance of which a and b, inside of a block, run at A and B: b after a. B has not
// told of c, which is inside of another.
func inBlocks(state api.InstanceState, a, b []api.Activity, b1 ...Waiting) *Gathered {
	roster := []api.Place{{Activity: "a", Node: "A"}, {Activity: "b", Node: "B"}, {Activity: "c", Node: "B"}}
	g := NewGathered("A", uuid.UUID{1})
	g.Add("A", Report{Known: true, Process: "p@1", Origin: "A", State: state, Roster: roster, Activities: a, Inside: []string{"a"}})
	c := api.Activity{Activity: "c", Node: "B", State: api.ActivityInactive}
	g.Add("B", Report{Known: true, Process: "p@1", Origin: "A", Roster: roster, Activities: append(b, c), Waits: b1, Inside: []string{"b", "c"}, Heard: []string{"d#1/a"}})
	return g
}

func line(scope, activity, node string, state api.ActivityState) api.Activity {
	return api.Activity{Scope: scope, Activity: activity, Node: node, State: state, Reason: "broken"}
}

func shown(all []api.Activity) string {
	var out []string
	for _, a := range all {
		out = append(out, api.InScope(a.Scope, a.Activity)+" "+string(a.State))
	}
	return strings.Join(out, ", ")
}

// N10: what one site tells of an activity in one scope says nothing of it in another; and where
// there is nothing of it, nobody is behind.
func TestN10EachScopeStandsByItself(t *testing.T) {
	for _, c := range []struct {
		name  string
		state api.InstanceState
		a, b  []api.Activity
		waits []Waiting
		want  string // of the activities
		is    api.InstanceState
		why   string
	}{
		{
			"a message has come of one iteration, and not of the next", api.InstanceRunning,
			[]api.Activity{line("d#1", "a", "A", api.ActivityRunning), line("d#2", "a", "A", api.ActivityRunning)},
			[]api.Activity{line("d#2", "b", "B", api.ActivityWaiting)},
			[]Waiting{{Scope: "d#2", Activity: "b", For: []string{"a"}}},
			"d#1/a unknown, d#2/a running, d#2/b waiting, c inactive", api.InstanceRunning,
			"d#1/a: B says that i, d#2/a: program  is r, d#2/b: waiting for c",
		},
		{
			"an error holds up its own scope only", api.InstanceRunning,
			[]api.Activity{line("d#1", "a", "A", api.ActivityTerminated), line("d#2", "a", "A", api.ActivityInError), line("d#3", "a", "A", api.ActivityTerminated)},
			[]api.Activity{line("d#2", "b", "B", api.ActivityWaiting), line("d#3", "b", "B", api.ActivityWaiting)},
			[]Waiting{{Scope: "d#2", Activity: "b", For: []string{"a"}}, {Scope: "d#3", Activity: "b", For: []string{"a"}}},
			"d#1/a terminated, d#2/a in-error, d#3/a terminated, d#2/b waiting, d#3/b waiting, c inactive", api.InstanceRunning,
			"d#2/a: broken; waiti, d#2/b: waiting for c, d#3/b: messages from",
		},
		{
			"nothing else can go on", api.InstanceRunning,
			[]api.Activity{line("d#1", "a", "A", api.ActivityTerminated), line("d#2", "a", "A", api.ActivityInError)},
			[]api.Activity{line("d#2", "b", "B", api.ActivityWaiting)},
			[]Waiting{{Scope: "d#2", Activity: "b", For: []string{"a"}}},
			"d#1/a terminated, d#2/a in-error, d#2/b waiting, c inactive", api.InstanceInError,
			"d#2/a: broken; waiti, d#2/b: waiting for c",
		},
		{
			"what never began is over with its instance", api.InstanceFinished,
			[]api.Activity{line("d#1", "a", "A", api.ActivityTerminated)},
			[]api.Activity{line("d#1", "b", "B", api.ActivityTerminated)},
			nil,
			"d#1/a terminated, d#1/b terminated, c inactive", api.InstanceFinished, "",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := inBlocks(c.state, c.a, c.b, c.waits...)
			s := g.Status()
			if got := shown(s.Activities); got != c.want || s.State != c.is {
				t.Errorf("%s: %s\nwant %s: %s", s.State, got, c.is, c.want)
			}
			if c.is == api.InstanceInError && s.Reason != "activity d#2/a at A: broken" {
				t.Errorf("because %s", s.Reason)
			}
			var why []string
			for _, w := range g.Why("", func(string) (bool, time.Time) { return true, time.Time{} }).Waits {
				why = append(why, fmt.Sprintf("%s: %.13s", api.InScope(w.Scope, w.Activity), w.For))
			}
			if got := strings.Join(why, ", "); !strings.HasPrefix(got, c.why) || c.why == "" && got != "" {
				t.Errorf("why: %s\nwant %s", got, c.why)
			}
		})
	}
}

// N10: the execution that an operator saw is that of the scope.
func TestN10SawIsOfTheScope(t *testing.T) {
	g := inBlocks(api.InstanceRunning, nil, nil, Waiting{Scope: "d#1", Activity: "b", At: &Execution{1, 0}}, Waiting{Scope: "d#2", Activity: "b", At: &Execution{4, 2}})
	if saw := g.Saw(g.Roster[1], "d#2"); saw == nil || saw.Iteration != 4 || saw.Run != 2 {
		t.Errorf("saw %+v", saw)
	}
	if saw := g.Saw(g.Roster[1], ""); saw != nil {
		t.Errorf("of no scope: %+v", saw)
	}
}

// N4, N10: of a site that does not answer its errors are known in their scopes.
func TestN10NoticesNameTheScope(t *testing.T) {
	g := inBlocks(api.InstanceRunning, nil, nil)
	r := g.Reports["A"]
	r.Notices = []string{"d#2/b", "d#3/b", "d#1/e"}
	g.Reports = map[string]Report{"A": r}
	if got := shown(g.Status().Activities); got != "a unknown, d#2/b in-error, d#3/b in-error, c unknown" {
		t.Error(got)
	}
}

// N10: a watcher is told what happens in each scope, and is done only when the instance has ended.
func TestN10AWatcherSeesEachScope(t *testing.T) {
	event := func(scope, activity string) api.HistoryEvent {
		return api.HistoryEvent{Clock: 7, Node: "A", Scope: scope, Activity: activity, Event: api.EventStopped}
	}
	g := inBlocks(api.InstanceRunning, nil, nil)
	r := g.Reports["A"]
	r.Events = []api.HistoryEvent{event("d#2", "a"), event("d#1", "a"), event("d#1", "sink")}
	g.Reports["A"] = r
	w := NewWatching()
	if fresh := w.Take(g); len(fresh) != 3 || w.Over {
		t.Errorf("told %+v, over: %t", fresh, w.Over)
	}
	r.Events = append(r.Events, event("", "sink"))
	g.Reports["A"] = r
	if fresh := w.Take(g); len(fresh) != 1 || !w.Over {
		t.Errorf("told %+v, over: %t", fresh, w.Over)
	}
	if at := slices.IndexFunc(g.History().Events, func(e api.HistoryEvent) bool { return e.Scope == "d#2" }); at < 2 {
		t.Errorf("d#2 stands at %d", at)
	}
}
