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
