package thread

import (
	"fmt"
	"slices"
	"strings"

	"fmqm/behaviour"
	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue/record"
)

// raced are the lines of an activity's history about connectors that came too late for it, by the time it ends
// (N14).
func (m *Machine) raced(key message.Entry, known *behaviour.Basis, o *behaviour.Outcome) (all []record.AuditRecord) {
	for _, from := range o.Raced {
		all = append(all, m.race(key, known.Origin, o.Clock, from, o.Counted))
	}
	return all
}

// race is the line about one of them. Where nothing had won, the activity was skipped.
func (m *Machine) race(key message.Entry, origin processtable.NodeID, clock uint64, from processtable.ActivityID, won []processtable.ActivityID) record.AuditRecord {
	before := "it had been decided otherwise"
	if len(won) > 0 {
		names := make([]string, len(won))
		for i, name := range won {
			names[i] = string(name)
		}
		before = "it had begun with " + strings.Join(names, ", ")
	}
	return record.AuditRecord{
		Time: m.now, Clock: clock, Process: m.id(), Definition: m.process.Definition(), Instance: key.Instance, Origin: origin,
		Scope: key.Scope, Activity: key.Activity, Event: record.EventRaced, Counted: won,
		Reason: fmt.Sprintf("%s came too late: %s", from, before),
	}
}

// comesTooLate says whether a message lost a race: its activity is decided with the first connectors, and has
// ended without it. Then it is what was to be expected, and no cause for alarm.
func (m *Machine) comesTooLate(key message.Entry, msg *message.Message) bool {
	return m.beginsFirst(key) && msg.Kind == message.KindConnector && m.process.Table().Activity(key.Row()).Follows(msg.Source)
}

// beginsFirst says whether an entry's activity is decided with the first connectors.
func (m *Machine) beginsFirst(key message.Entry) bool {
	a := m.process.Table().Activity(key.Row())
	return a != nil && a.First > 0
}

// lost takes out what comes for an activity that has ended, and puts events back. Of connectors that lost a race
// against what had ended it its history says so, unless retention has removed that.
func (m *Machine) lost(key message.Entry, ended *record.AuditRecord, messages []message.Message, asides []record.Refused) {
	keys := make([]message.Key, len(messages))
	back, lines := m.putBack(key, messages)
	back = append(back, m.answers(messages, ended)...)
	tx := &record.Tx{Refuse: asides, Put: back, Audit: slices.Clone(lines)}
	for i := range messages {
		msg := &messages[i]
		keys[i] = msg.Key()
		counted := slices.ContainsFunc(ended.Consumed, func(c record.Consumed) bool { return c.Key == keys[i] })
		if ended.Removed == nil && !counted && m.comesTooLate(key, msg) {
			r := m.race(key, msg.Origin, message.Next(max(ended.Clock, msg.Clock)), msg.Source, ended.Counted)
			r.Consumed = []record.Consumed{{Key: keys[i], Control: msg.Control, Data: msg.Data, Clock: msg.Clock}}
			tx.Audit = append(tx.Audit, r)
		}
	}
	tx.Consume = []record.Consume{{Process: m.id(), Entry: key, Keys: keys}}
	m.takeOut(&dropped{key: key, keys: keys, asides: asides, back: back, lines: lines}, tx)
}
