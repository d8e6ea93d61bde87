package schedules

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"fmqm/api"
	"fmqm/container"
	"fmqm/processtable"
	"fmqm/schedule"
)

// plan is what the schedules of a process at this node say.
type plan struct {
	table *processtable.Table
	times []*schedule.Times // of each of its schedules; nil: this program cannot read its rule
	rules [8]byte           // their sum
}

// maxMade is how many missed starts are made up for, at most.
const maxMade = 100

func planOf(t *processtable.Table) *plan {
	p := &plan{table: t}
	sum := sha256.New()
	for i := range t.Schedules {
		times, err := schedule.Parse(t.Schedules[i].Rule)
		if err != nil { // which was refused with the table, by a program with other rules of time zones
			times = nil
		}
		p.times = append(p.times, times)
		fmt.Fprintf(sum, "%q %q %d\n", t.Schedules[i].Cron, t.Schedules[i].Zone, t.Schedules[i].Every)
	}
	copy(p.rules[:], sum.Sum(nil))
	return p
}

// due is a time for which an instance is to be started, and by which schedule.
type due struct {
	at       time.Time
	schedule *processtable.Schedule
}

// due gives what is to be started of what was due after a time, and up to now, the earliest first; and
// how many times are passed over, of those that it counts. Of several schedules that are due at one
// time the first starts the instance.
func (p *plan) due(after, now time.Time) (all []due, passed uint64) {
	for i := range p.table.Schedules {
		s := &p.table.Schedules[i]
		if p.times[i] == nil {
			continue
		}
		times, more := p.times[i].Latest(after, now, maxMade)
		kept := made(s.Missed, times, now)
		passed += uint64(len(times) - len(kept))
		if more {
			passed++ // at least
		}
		for _, at := range kept {
			all = append(all, due{at, s})
		}
	}
	slices.SortStableFunc(all, func(a, b due) int { return a.at.Compare(b.at) })
	all = slices.CompactFunc(all, func(a, b due) bool { return a.at.Equal(b.at) })
	return all, passed
}

// made are those times of several for which instances are started.
func made(m processtable.Missed, times []time.Time, now time.Time) []time.Time {
	switch {
	case len(times) == 0 || m == processtable.MissedAll:
		return times
	case m == processtable.MissedSkip:
		return slices.DeleteFunc(slices.Clone(times), func(at time.Time) bool { return now.Sub(at) > look })
	}
	return times[len(times)-1:]
}

// next is the first time after another at which one of the schedules is due; zero: none is.
func (p *plan) next(after time.Time) (next time.Time) {
	for i := range p.times {
		if at := p.nextOf(i, after); next.IsZero() || !at.IsZero() && at.Before(next) {
			next = at
		}
	}
	return next
}

// request is how the instance of a time is started. The key says of what it is: the identifier is
// derived from it and the process's name.
func (p *plan) request(self processtable.NodeID, d due) (api.StartRequest, error) {
	input := container.New(p.table.Input)
	if d.schedule.Input != nil {
		input = d.schedule.Input.Clone()
	}
	if at, ok := p.table.Input.MemberIndex(d.schedule.Due); ok {
		input.Assign(container.Path{at}, d.at.UTC())
	}
	encoded, err := json.Marshal(input)
	if err != nil {
		return api.StartRequest{}, fmt.Errorf("input of the schedule: %w", err)
	}
	key := fmt.Sprintf("schedule %s %s", self, d.at.UTC().Format(time.RFC3339))
	return api.StartRequest{
		Instance: api.KeyedInstance(p.table.Process.Name, key), Process: p.table.Process.String(), Input: encoded, Key: key,
	}, nil
}

// nextOf is the first time after another at which one schedule is due; zero: never.
func (p *plan) nextOf(i int, after time.Time) time.Time {
	if p.times[i] == nil {
		return time.Time{}
	}
	return p.times[i].Next(after)
}
