package oracle_test

import (
	"cmp"
	"strings"
	"testing"

	"fmqm/api"
	"fmqm/definition"
	"fmqm/sim/oracle"
)

// N6: a dead path may have gone on past an activity whose host has not skipped it yet, where
// another site passed it around; nothing else goes past an activity that has not ended.
func TestN6WhatGoesPastAnActivityThatHasNotEnded(t *testing.T) {
	for _, tc := range []struct {
		name          string
		node          string // of the activity that finds the path dead
		start         string // of the one behind it
		then          string // of the last; empty: all
		first, behind api.ActivityState
		last          api.ActivityState
		can           bool
	}{
		{"passed around", "B", "all", "", api.ActivitySkipped, api.ActivityInactive, api.ActivitySkipped, true},
		{"passed around, with data", "B", "any", "", api.ActivityTerminated, api.ActivityWaiting, api.ActivitySkipped, true},
		{"who found it dead does not answer", "B", "all", "", api.ActivityUnknown, api.ActivityInactive, api.ActivitySkipped, true},
		{"its own host does not know", "A", "all", "", api.ActivityUnknown, api.ActivityInactive, api.ActivitySkipped, false},
		{"by its own host", "A", "all", "", api.ActivitySkipped, api.ActivityInactive, api.ActivitySkipped, false},
		{"it starts on FALSE", "B", "'!one'", "", api.ActivitySkipped, api.ActivityInactive, api.ActivitySkipped, false},
		{"it runs", "B", "all", "", api.ActivityTerminated, api.ActivityRunning, api.ActivitySkipped, false},
		{"what is behind ran", "B", "all", "", api.ActivityTerminated, api.ActivityInactive, api.ActivityTerminated, false},
		{"what is behind ran on FALSE", "B", "all", "'!two'", api.ActivityTerminated, api.ActivityInactive, api.ActivityTerminated, true},
		{"what is behind ran on FALSE, by its own host", "A", "all", "'!two'", api.ActivityTerminated, api.ActivityInactive, api.ActivityTerminated, false},
		{"nobody found it dead", "B", "all", "", api.ActivityRunning, api.ActivityInactive, api.ActivitySkipped, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			processes, wrong := definition.Load("p.yaml", []byte(`
process: p
version: 1
activities:
  one: {node: `+tc.node+`, program: x}
  two: {node: A, program: x, start: `+tc.start+`}
  three: {node: A, program: x, start: `+cmp.Or(tc.then, "all")+`}
control: [{one -> two: _RC > 5}, two -> three]
`))
			if len(processes) != 1 {
				t.Fatal(wrong)
			}
			status := api.Status{Activities: []api.Activity{
				{Activity: "one", State: tc.first, Reason: "its site says so"}, {Activity: "two", State: tc.behind}, {Activity: "three", State: tc.last},
			}}
			got := oracle.Misfits(status, processes[0])
			if tc.can != (len(got) == 0) || !tc.can && !strings.HasPrefix(got[0], "three is ") {
				t.Errorf("%q", got)
			}
		})
	}
}

// N18: what is inside of a block ends before the block does, and before its next iteration begins.
func TestN18WhatGoesOnInsideOfWhatHasEnded(t *testing.T) {
	processes, wrong := definition.Load("p.yaml", []byte(`
process: p
version: 1
structures: {S: {n: int}}
activities:
  b:
    node: A
    output: S
    exit: n > 0
    activities:
      b1: {node: A, program: x, output: S}
      b2: {node: B, program: x}
    control: [{b1 -> b2: n > 0}]
    data: [b1 -> sink]
`))
	if len(processes) != 1 {
		t.Fatal(wrong)
	}
	line := func(scope, activity string, s api.ActivityState) api.Activity {
		return api.Activity{Scope: scope, Activity: activity, State: s, Reason: "its site says so"}
	}
	for _, tc := range []struct {
		name  string
		lines []api.Activity
		want  string
	}{
		{"it runs", []api.Activity{line("", "b", api.ActivityRunning), line("b#1", "b1", api.ActivityTerminated), line("b#1", "b2", api.ActivityRunning)}, ""},
		{"nothing is known of it", []api.Activity{line("", "b", api.ActivityTerminated), line("", "b1", api.ActivityInactive), line("b#1", "b2", api.ActivityUnknown)}, ""},
		{"the block has ended", []api.Activity{line("", "b", api.ActivityTerminated), line("b#1", "b1", api.ActivityRunning)}, "b#1/b1 is running, and b around it terminated"},
		{"the next iteration has begun", []api.Activity{line("", "b", api.ActivityRunning), line("b#1", "b1", api.ActivityReady), line("b#2", "b1", api.ActivityReady)}, "b#1/b1 is ready, and b#2 has begun"},
		{"iterations follow each other as numbers do", []api.Activity{line("", "b", api.ActivityRunning), line("b#1", "b1", api.ActivityReady), line("b#10", "b1", api.ActivityReady)}, ""},
		{"what is before it goes on", []api.Activity{line("", "b", api.ActivityRunning), line("b#2", "b1", api.ActivityRunning), line("b#2", "b2", api.ActivityTerminated)}, "b#2/b2 is terminated, and b1 before it running"},
		{"each iteration by itself", []api.Activity{line("", "b", api.ActivityRunning), line("b#1", "b2", api.ActivityTerminated), line("b#2", "b1", api.ActivityRunning)}, ""},
		{"a dead path was passed around", []api.Activity{line("", "b", api.ActivityTerminated), line("b#1", "b1", api.ActivityTerminated), line("b#1", "b2", api.ActivityInactive)}, ""},
	} {
		got := strings.Join(oracle.Misfits(api.Status{Activities: tc.lines}, processes[0]), "; ")
		if got != tc.want {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
	}
}

// N10: an activity is in the iterations of the blocks around it, and in no others.
func TestN10WhereAnActivityCanBe(t *testing.T) {
	processes, wrong := definition.Load("p.yaml", []byte(`
process: p
version: 1
activities:
  a:
    node: A
    exit: _RC == 0
    max_iterations: 12
    activities:
      b:
        node: A
        activities:
          c: {node: A, program: x}
`))
	if len(processes) != 1 {
		t.Fatal(wrong)
	}
	c := oracle.Places(processes[0])["c"]
	if s := c.Scope(3); s != "a#3/b#3" || c.Node != "A" || len(c.In.Activities) != 1 {
		t.Errorf("%q, %+v", s, c)
	}
	for scope, can := range map[string]bool{
		"a#12/b#1": true, "a~1#2/b#1": true, "a/b": true, "a#2/b": true,
		"": false, "a#1": false, "b#1": false, "b#1/a#1": false, "a#13/b#1": false, "a#1/b#1/c#1": false, "a[1]#1/b#1": false, "a#": false,
	} {
		if err := c.Fits(scope); can != (err == nil) {
			t.Errorf("%q: %v", scope, err)
		}
	}
}
