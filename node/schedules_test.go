package node_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"fmqm/api"
	"fmqm/internal/store/badger"
	"fmqm/message"
	"fmqm/node"
	"fmqm/queue/record"
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

// tickingNode opens a node on a store; each instance that ends there is told.
func tickingNode(t *testing.T, dir string) (*node.Node, <-chan message.InstanceID) {
	t.Helper()
	engine, err := badger.Open(badger.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	registry, ended := builtins(t), make(chan message.InstanceID, 1000)
	n, err := node.Open(node.Options{
		Name: "A", Engine: engine, Registry: registry, Log: zerolog.Nop(),
		Observe: func(r record.AuditRecord) {
			if r.Event == record.EventEnded {
				ended <- r.Instance
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	n.Launch()
	t.Cleanup(func() {
		if err := n.Stop(context.Background()); err != nil {
			t.Error(err)
		}
		registry.Close()
	})
	return n, ended
}

// N23: a node starts what is due, with the time for which it is, also after a restart; what is
// suspended starts nothing until it is resumed, whatever happens to the daemon.
func TestANodeStartsWhatIsDue(t *testing.T) {
	dir := t.TempDir()
	n, ended := tickingNode(t, dir)
	upload(t, n, ticking)
	s, err := n.Status(t.Context(), <-ended)
	if err != nil {
		t.Fatal(err)
	}
	due, named := strings.CutPrefix(s.Key, "schedule A ")
	if want := `{"due":"` + due + `","kind":"full"}`; !named || s.State != api.InstanceFinished || string(s.Output) != want {
		t.Errorf("%s %s %s, want %s", s.State, s.Output, s.Key, want)
	}
	a, err := n.SaySchedule(t.Context(), "tick", api.ScheduleSuspend)
	if err != nil || a.Schedules[1].State != api.ScheduleSuspended || !strings.HasSuffix(a.Schedules[1].By, "at A") {
		t.Fatal(a, err)
	}
	last := a.Schedules[0].Last
	if err := n.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}

	n, ended = tickingNode(t, dir)
	a, err = n.Schedules(t.Context())
	if err != nil || a.Schedules[0].State != api.ScheduleSuspended || !a.Schedules[0].Last.Equal(last) {
		t.Fatal(a, err)
	}
	if _, err := n.SaySchedule(t.Context(), "tick", api.ScheduleResume); err != nil {
		t.Fatal(err)
	}
	for after := last.Format(time.RFC3339); ; {
		s, err := n.Status(t.Context(), <-ended)
		if err != nil || s.State != api.InstanceFinished {
			t.Fatal(s, err)
		}
		if strings.TrimPrefix(s.Key, "schedule A ") > after {
			return
		}
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
