package processtable

import (
	"strings"
	"testing"
	"time"

	"fmqm/container"
	"fmqm/schedule"
)

// withSchedules is a table of a process that is started each night, and every six hours.
func withSchedules() *Table {
	night := container.NewStructure("Night", []container.Member{
		{Name: "kind", Type: container.Scalar(container.String)}, {Name: "due", Type: container.Scalar(container.Timestamp)},
	})
	source := &Activity{Name: Source, Kind: KindSource, Input: container.Empty, Output: night, Start: and(), OutControl: []OutControl{{To: Sink, Node: Origin}}}
	sink := &Activity{Name: Sink, Kind: KindSink, Input: container.Empty, Output: container.Empty, Start: and(), InControl: []InControl{{"plan"}}}
	plan := &Activity{
		Name: "plan", Kind: KindEmpty, Input: container.Empty, Output: container.Empty, Start: and(), MaxIterations: 1, Retry: Retry{Attempts: 1},
		OutControl: []OutControl{{To: Sink, Node: Origin}},
	}
	source.OutControl, plan.InControl = []OutControl{{To: "plan", Node: "A"}}, []InControl{{Source}}
	input := container.New(night)
	input.Assign(container.Path{0}, "full")
	return &Table{
		Format: ModelFormat, Process: ProcessID{Name: "nightly", Version: 1}, Node: "A", Definition: DefinitionHash{7},
		Roster: []Place{{Activity: "plan", Node: "A"}}, Starts: []NodeID{"A"}, Input: night, Output: container.Empty,
		Activities: []*Activity{source, plan, sink},
		Schedules: []Schedule{
			{Rule: schedule.Rule{Cron: "30 22 * * 1-6", Zone: "Europe/Berlin"}, Input: input, Due: "due", Missed: MissedAll, SkipOverlap: true},
			{Rule: schedule.Rule{Every: 6 * time.Hour}},
		},
	}
}

// N23: schedules come back.
func TestSchedulesComeBack(t *testing.T) {
	got, err := Decode(mustEncode(t, withSchedules()))
	if err != nil {
		t.Fatal(err)
	}
	if d := diff(withSchedules(), got); d != "" {
		t.Errorf("the decoded table differs (-want +got):\n%s", d)
	}
}

func TestSchedulesThatAreRefused(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*Table)
		want   string
	}{
		{"a lower format", func(t *Table) { t.Format = BlockFormat }, "format 5 has no schedules"},
		{"nothing says when", func(t *Table) { t.Schedules[1].Every = 0 }, "schedule 2: want a cron expression or an interval"},
		{"both do", func(t *Table) { t.Schedules[0].Every = time.Hour }, "schedule 1: want a cron expression or an interval"},
		{"a zone of an interval", func(t *Table) { t.Schedules[1].Zone = "UTC" }, "schedule 2: want"},
		{"an interval below 0", func(t *Table) { t.Schedules[1].Every = -time.Hour }, "schedule 2: want"},
		{"no such member", func(t *Table) { t.Schedules[0].Due = "day" }, `schedule 1: the input has no member "day" of type timestamp`},
		{"another type", func(t *Table) { t.Schedules[0].Due = "kind" }, `schedule 1: the input has no member "kind" of type timestamp`},
		{"too long", func(t *Table) { t.Schedules[0].Cron = strings.Repeat("1", schedule.MaxText+1) }, "cron"},
		{"too many", func(t *Table) { t.Schedules = make([]Schedule, MaxSchedules+1) }, "schedules"},
		{"another input", func(t *Table) { t.Schedules[0].Input = container.New(container.Empty) }, "input of a schedule"},
	} {
		t.Run(c.name, func(t *testing.T) {
			table := withSchedules()
			c.change(table)
			if _, err := Encode(table); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}
