package world

import (
	"encoding/json"
	"strings"

	"fmqm/api"
	"fmqm/definition"
	"fmqm/internal/store"
	"fmqm/message"
	"fmqm/queue/record"
	"fmqm/sim/generate"
	"fmqm/sim/oracle"
)

// How races come out (N14) is for the run to say: the interpreter is given that, and what is recorded
// is judged by itself.

// hasRaces: something can end an activity otherwise than by itself and its programs.
func hasRaces(p *definition.Process) bool {
	for _, a := range p.All() {
		if a.Deadline != nil || len(a.Cancels) > 0 || a.Block != nil && a.Continues || a.Bundle != nil && a.Bundle.Until != nil {
			return true
		}
	}
	return false
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

// note keeps what races are judged by: of one transaction what it was decided on first.
func (x *watch) note(t *transaction) {
	for i := range t.came {
		x.facts[t.came[i].Entry.Instance] = append(x.facts[t.came[i].Entry.Instance], oracle.Fact{Came: &t.came[i]})
	}
	for i := range t.set {
		x.facts[t.set[i].Entry.Instance] = append(x.facts[t.set[i].Entry.Instance], oracle.Fact{Set: &t.set[i]})
	}
	for i := range t.records {
		r := &t.records[i]
		switch {
		case r.TimedOut:
			x.world.journal.met("timed out")
		case r.Event == record.EventCancelled:
			x.world.journal.met("cancelled")
		case r.Failure != "" && r.Event == record.EventTerminated:
			x.world.journal.met("error passed")
		}
		x.facts[r.Instance] = append(x.facts[r.Instance], oracle.Fact{Record: r})
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
