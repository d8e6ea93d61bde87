package world

import (
	"encoding/json"
	"slices"
	"strings"

	"fmqm/api"
	"fmqm/definition"
	"fmqm/internal/store"
	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue/record"
	"fmqm/sim/generate"
	"fmqm/sim/oracle"
)

// How races come out (N14) is for the run to say: the interpreter is given that, and what is recorded
// is judged by itself.

// hasRaces: something can end an activity otherwise than by itself and its programs.
func hasRaces(p *definition.Process) bool {
	for _, a := range p.All() {
		if a.Deadline != nil || a.Staff != nil || len(a.Cancels) > 0 || a.Block != nil && a.Continues || a.Start.Kind == definition.StartFirst || a.Bundle != nil && a.Bundle.Until != nil {
			return true
		}
	}
	return false
}

// beginsFirst says of the activities of a process which begin with the first connectors.
func (w *World) beginsFirst(id processtable.ProcessID) func(processtable.ActivityID) bool {
	i := slices.IndexFunc(w.cases, func(p *prepared) bool { return p.id == id.String() })
	return func(a processtable.ActivityID) bool {
		if i < 0 {
			return false
		}
		place, known := w.cases[i].places[string(a)]
		return known && place.Start.Kind == definition.StartFirst
	}
}

// timer notes what is set.
func (x *watch) timer(t *transaction, op *store.Op) error {
	if op.Value == nil {
		return nil
	}
	timer, err := record.ReadTimer(op.Key, op.Value)
	if err == nil {
		t.set = append(t.set, oracle.Due{Entry: timer.Entry, Key: message.DueKey(&timer.Entry, timer.Name, timer.Due)})
	}
	return err
}

// note keeps what races are judged by: of one transaction at a site what it was decided on first.
func (x *watch) note(at name, t *transaction) {
	for i := range t.came {
		x.limited(&t.came[i])
		x.facts[t.came[i].Entry.Instance] = append(x.facts[t.came[i].Entry.Instance], oracle.Fact{At: at, Came: &t.came[i]})
	}
	for i := range t.arrived {
		x.facts[t.arrived[i].Entry.Instance] = append(x.facts[t.arrived[i].Entry.Instance], oracle.Fact{At: at, Arrived: &t.arrived[i]})
	}
	for i := range t.set {
		x.facts[t.set[i].Entry.Instance] = append(x.facts[t.set[i].Entry.Instance], oracle.Fact{At: at, Set: &t.set[i]})
	}
	for i := range t.records {
		r := &t.records[i]
		x.stopped(r)
		switch {
		case r.TimedOut:
			x.world.journal.met("timed out")
		case r.Event == record.EventRaced:
			x.world.journal.met("too late")
		case r.Event == record.EventCancelled:
			x.world.journal.met("cancelled")
		case r.Failure != "" && r.Event == record.EventTerminated:
			x.world.journal.met("error passed")
		case r.Event == record.EventReceived:
			x.world.journal.met("event received")
		case r.Event == record.EventNotified && r.Told != nil:
			x.world.journal.met("told by a program")
		case r.Event == record.EventThinned:
			x.world.journal.met("thinned")
		case r.Event == record.EventPutBack:
			x.world.journal.met("event put back")
		}
		x.facts[r.Instance] = append(x.facts[r.Instance], oracle.Fact{At: at, Record: r})
	}
	for id, facts := range t.told { // begun with what they tell of; heard too late by what ends in this very commit
		x.facts[id] = append(x.facts[id], facts...)
	}
}

// limited: the deadline of a process has come (N23). What follows is as if an operator had ended the instance.
func (x *watch) limited(d *oracle.Due) {
	if d.Entry.Activity != processtable.Sink || d.Entry.Scope != "" || d.Key.Source != "deadline" {
		return
	}
	if _, before := x.limits[d.Entry.Instance]; !before {
		x.limits[d.Entry.Instance] = x.world.tasks.Elapsed()
	}
	x.world.touched[d.Entry.Instance]++
}

// overdue: an instance goes on to its end although the deadline of its process has come (N23). Both may come to one disk, and
// what has come is decided once the site is up and reads it.
func (x *watch) overdue(s *site, r *record.AuditRecord) {
	at, came := x.limits[r.Instance]
	if !came || r.Event != record.EventEnded || x.lost[s.name] || x.cloned[s.name] {
		return
	}
	if s.life != nil {
		at = max(at, s.life.since)
	}
	if x.world.tasks.Elapsed()-max(at, s.slowest) > underWay {
		x.world.breaks("ends", "%s goes on to its end at %s, and its deadline had come before", r.Instance, s.name)
	}
}

// outlives says that the deadline of an instance's process has come, and has not ended it.
func (c *client) outlives(got api.Status) string {
	w := c.world
	if _, came := w.watch.limits[c.instance.ID]; came && got.State == api.InstanceInError && !w.weaker[c.instance.ID] {
		return "the deadline of its process has come, and it is still in error"
	}
	return ""
}

// byDeadline is who has ended an instance at the deadline of its process.
const byDeadline = "its deadline"

// stopped: an instance has ended before its time. Where that was its deadline, that has come.
func (x *watch) stopped(r *record.AuditRecord) {
	if r.Event != record.EventStopped || r.Scope != "" || r.Activity != processtable.Sink {
		return
	}
	if r.By != byDeadline {
		return
	}
	x.world.journal.met("limited")
	if _, came := x.limits[r.Instance]; !came {
		x.world.breaks("races", "%s is ended by its deadline, which has not come", r.Instance)
	}
}

// expected is what the interpreter says of the instance, given how its races have come out so far.
func (c *client) expected() (*oracle.Expectation, error) {
	if !c.of.races {
		return c.of.expect, nil
	}
	var records []record.AuditRecord
	for _, f := range c.world.watch.facts[c.instance.ID] {
		if f.Record != nil {
			records = append(records, *f.Record)
		}
	}
	return oracle.ExpectOf(c.of.process, json.RawMessage(c.of.drawn.Input), generate.Interpreted(c.of.drawn), oracle.OutcomesOf(records))
}

// judgeRaces holds the histories of all instances with which nobody has dealt to what can be.
func (w *World) judgeRaces() {
	for _, c := range w.clients {
		id := c.instance.ID
		if !c.of.races || w.touched[id] > 0 || w.weaker[id] {
			continue
		}
		if wrong := oracle.Admissible(c.of.process, w.watch.facts[id], c.state == api.InstanceFinished); len(wrong) > 0 {
			w.breaks("races", "%s: %s", c.id(), strings.Join(wrong, "\n"))
		}
	}
}
