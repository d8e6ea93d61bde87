package node

import (
	"context"
	"slices"

	"fmqm/api"
	"fmqm/message"
	"fmqm/node/schedules"
	"fmqm/processtable"
)

var _ api.Timetable = (*Node)(nil)

// timetable is the node as its schedules see it.
type timetable struct{ site }

// loadSchedules finds how far the store is with them.
func (n *Node) loadSchedules() (err error) {
	n.schedules, err = schedules.New(schedules.Options{
		Self: n.name, Site: timetable{site{n}}, Queue: n.queue, Scheduler: n.sched, Log: n.log, Off: n.limits.Load().NoSchedules,
	})
	return err
}

// Tables are those of the versions that are current here, by name and version.
func (t timetable) Tables() []*processtable.Table {
	return slices.DeleteFunc(t.allTables(), func(table *processtable.Table) bool { return !t.queue.IsCurrent(table.Process) })
}

// allTables are those of the processes that are here, by name and version.
func (n *Node) allTables() []*processtable.Table {
	threads := n.threads()
	all := make([]*processtable.Table, len(threads))
	for i := range threads {
		all[i] = threads[i].Process().Table()
	}
	return all
}

// TurnedCurrent: a version is current that was not. Schedules go by it from now on.
func (s site) TurnedCurrent(id processtable.ProcessID) {
	s.log.Info().Stringer("process", id).Msg("process is current")
	s.schedules.Changed()
}

// Held says why the node starts no instance of a process now.
func (t timetable) Held(table *processtable.Table) error {
	if refusal := t.pressure.refuse(table); refusal != nil {
		return refusal
	}
	return nil
}

// Standing says whether an instance was started here, and whether it has ended.
func (t timetable) Standing(i message.InstanceID) (started, ended bool, err error) {
	_, end, started, err := t.queue.Instance(i)
	return started, end != nil, err
}

// Schedules says by which schedules this node starts instances.
func (n *Node) Schedules(ctx context.Context) (api.SchedulesAnswer, error) {
	a, err := n.schedules.List(ctx)
	caller := api.CallerOf(ctx)
	a.Schedules = slices.DeleteFunc(a.Schedules, func(s api.Schedule) bool { return !caller.Sees(s.Process) })
	return told(a, err)
}

// SaySchedule does what an operator wants of the schedules of a process.
func (n *Node) SaySchedule(ctx context.Context, process string, w api.ScheduleWord) (api.SchedulesAnswer, error) {
	return told(n.schedules.Say(ctx, process, w, n.commands.By(ctx)))
}
