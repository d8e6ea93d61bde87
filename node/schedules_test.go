package node_test

import (
	"strings"
	"testing"
	"time"

	"fmqm/api"
	"fmqm/node"
)

const ticking = `
process: tick
version: 1
structures: {Tick: {due: timestamp, kind: string}}
input: Tick
output: Tick
schedule:
  - {node: A, every: 1s, input: {kind: full}, due: due}
  - {node: A, cron: "@daily", zone: Europe/Berlin}
activities:
  show: {node: A, program: echo, input: Tick, output: Tick}
data:
  - source -> show
  - show -> sink
`

// started waits until a schedule has started something, and gives how it ended.
func started(t *testing.T, n *node.Node) (api.Schedule, api.Status) {
	t.Helper()
	for {
		a, err := n.Schedules(t.Context())
		if err != nil || len(a.Schedules) != 2 {
			t.Fatal(a, err)
		}
		if a.Schedules[0].Instance == nil {
			time.Sleep(10 * time.Millisecond)
			continue
		}
		s, err := n.Wait(t.Context(), *a.Schedules[0].Instance)
		if err != nil {
			t.Fatal(err)
		}
		return a.Schedules[0], s
	}
}

// N23: a node starts what is due, with the time for which it is, also after a restart; what is
// suspended starts nothing until it is resumed, whatever happens to the daemon.
func TestANodeStartsWhatIsDue(t *testing.T) {
	dir := t.TempDir()
	n := openNode(t, "A", dir)
	upload(t, n, ticking)
	entry, s := started(t, n)
	want := `{"due":"` + entry.Last.Format(time.RFC3339) + `","kind":"full"}`
	if s.State != api.InstanceFinished || string(s.Output) != want || s.Key != "schedule A "+entry.Last.Format(time.RFC3339) {
		t.Errorf("%s %s %s, want %s", s.State, s.Output, s.Key, want)
	}
	a, err := n.SaySchedule(t.Context(), "tick", api.ScheduleSuspend)
	if err != nil || a.Schedules[1].State != api.ScheduleSuspended || !strings.HasSuffix(a.Schedules[1].By, "at A") {
		t.Fatal(a, err)
	}
	if err := n.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}

	n = openNode(t, "A", dir)
	a, err = n.Schedules(t.Context())
	if err != nil || a.Schedules[0].State != api.ScheduleSuspended || a.Schedules[0].Last.Before(entry.Last) {
		t.Fatal(a, err)
	}
	before := a.Schedules[0].Last
	if _, err := n.SaySchedule(t.Context(), "tick", api.ScheduleResume); err != nil {
		t.Fatal(err)
	}
	for {
		entry, s := started(t, n)
		if !entry.Last.After(before) {
			time.Sleep(10 * time.Millisecond)
			continue
		}
		if s.State != api.InstanceFinished {
			t.Errorf("after the restart: %+v", s)
		}
		return
	}
}

// What is run by hand is an instance of its own; what is not there is not found.
func TestASchedulesWords(t *testing.T) {
	n := openNode(t, "A", "")
	upload(t, n, strings.Replace(ticking, "every: 1s", "every: 24h, overlap: skip", 1))
	a, err := n.SaySchedule(t.Context(), "tick", api.ScheduleRun)
	if err != nil || a.Schedules[0].Instance == nil {
		t.Fatal(a, err)
	}
	if s, err := n.Wait(t.Context(), *a.Schedules[0].Instance); err != nil || s.State != api.InstanceFinished {
		t.Error(s, err)
	}
	for process, code := range map[string]api.Code{"tock": api.CodeNotFound, "tick@1": api.CodeUsage, "": api.CodeUsage} {
		if _, err := n.SaySchedule(t.Context(), process, api.ScheduleSuspend); api.CodeOf(err) != code {
			t.Errorf("%q: %v", process, err)
		}
	}
}
