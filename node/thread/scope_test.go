package thread

import (
	"strings"
	"testing"

	"fmqm/behaviour"
	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue/record"
)

// N10: only the source and the sink of the empty scope begin and end the instance. N16: a record
// names, of what a transaction puts for other entries, all that is to be built again.
func TestN10WhatEndsInsideOfAComposite(t *testing.T) {
	_, s := one(t, "activities:\n  x: {node: A, program: x}\n")
	m := s.machine
	put := func(to message.Scope, activity processtable.ActivityID, kind message.Kind, number uint64) message.Message {
		return message.Message{Header: message.Header{
			Queue: message.Queue{Process: m.id(), Node: "B"}, Scope: to, Activity: activity, SourceScope: "b#1", Source: processtable.Sink, Kind: kind, Number: number,
		}}
	}
	effects := behaviour.Effects{Ends: true, Outcome: behaviour.Outcome{What: behaviour.Terminated}, Put: []message.Message{
		put("b#1", processtable.Sink, message.KindSnapshot, 0), // its own
		put("", "b", message.KindConnector, 2),
		put("", processtable.Sink, message.KindNotice, 0),
		put("b#1", "c", message.KindConnector, 0),
	}}
	inner := m.audit(message.Entry{Scope: "b#1", Activity: processtable.Sink}, &behaviour.Basis{}, &effects)
	if inner.Event != record.EventTerminated {
		t.Errorf("the sink of a block ends as event %d", inner.Event)
	}
	if which, ends := record.EndOf(&inner); which != 0 || !ends {
		t.Errorf("it is recorded as the end of the instance (%d, %t)", which, ends)
	}
	want := []record.Sent{{Target: "b", Node: "B", Nth: 2}, {Target: "c", Node: "B", Scope: "b#1"}}
	if len(inner.Sent) != len(want) || inner.Sent[0] != want[0] || inner.Sent[1] != want[1] {
		t.Errorf("sent %+v, want %+v", inner.Sent, want)
	}
	for activity, event := range map[processtable.ActivityID]record.Event{processtable.Source: record.EventStarted, processtable.Sink: record.EventEnded} {
		if r := m.audit(message.Entry{Activity: activity}, &behaviour.Basis{}, &effects); r.Event != event {
			t.Errorf("%s of the process ends as event %d", activity, r.Event)
		}
	}
	if err := record.ValidateAudit(&record.AuditRecord{Instance: message.InstanceID{1}, Scope: "b#1", Activity: processtable.Sink, Event: record.EventEnded}); err == nil {
		t.Error("a block ends the instance")
	}
}

// in gives a message another scope.
func in(scope message.Scope, m message.Message) message.Message {
	m.Scope, m.SourceScope = scope, scope
	return m
}

// N10: what is set aside for its scope makes no entry later either: it is not delivered again, and
// an operator who drops it is rid of it.
func TestN10WhatFitsNoEntryIsDropped(t *testing.T) {
	w, s := one(t, fromAfar)
	w.put(in("b#1", w.far()))
	s.pump()
	again := s.judges(1, false)
	s.pump()
	again.expect(t, Pointless, "0 are around it")
	dropped := s.judges(1, true)
	s.pump()
	dropped.expect(t, Removed, "0 are around it")
	if len(s.store.aside) != 0 {
		t.Errorf("set aside is %v", s.store.aside)
	}
	s.atRest()
}

// N10: a cascade makes no entry that the queue would not make.
func TestN10ACascadeMakesNoEntryForAnotherScope(t *testing.T) {
	w, s := one(t, "activities:\n  x: {node: A, program: x}\n  y: {node: A, empty: true}\ncontrol: [x -> y]\n")
	s.process.Table().Activity(processtable.RowID{Name: "x"}).Path = []processtable.Composite{{Activity: "b", Iterations: 3}}
	begins := in("b#1", w.to("x", message.KindConnector, processtable.Source))
	begins.Control, begins.Clock = message.True, 5
	w.put(begins)
	s.pump()
	s.finish(1)
	s.pump()
	for _, a := range s.store.audits {
		if a.Scope != "" && a.Activity != "x" {
			t.Errorf("%s in %s has ended: it is inside of nothing", a.Activity, a.Scope)
		}
	}
	if len(s.store.aside) != 1 || !strings.Contains(s.store.aside[0].Reason, "1 composites, and 0 are around it") {
		t.Errorf("set aside is %v", s.store.aside)
	}
}

// N4, N10: that an activity inside of a composite is in error is told to the instance's sink, and
// whether it still is, for each scope by itself.
func TestN10AnErrorInsideOfACompositeIsTold(t *testing.T) {
	w, s := one(t, "activities:\n  x: {node: A, program: x}\n")
	w.result = func(*invocation) behaviour.Result { return behaviour.Result{Err: "broken"} }
	s.process.Table().Activity(processtable.RowID{Name: "x"}).Path = []processtable.Composite{{Activity: "b", Iterations: 3}}
	for _, scope := range []message.Scope{"b#1", "b#2"} {
		begins := in(scope, w.to("x", message.KindConnector, processtable.Source))
		begins.Control, begins.Clock = message.True, 5
		w.put(begins)
	}
	s.pump()
	for len(s.running) > 0 {
		s.finish(0)
		s.pump()
	}
	for _, scope := range []message.Scope{"", "b#1", "b#2"} {
		told := message.Key{Kind: message.KindNotice, Source: "x", Scope: scope}
		m, found := s.store.entries[w.entry(processtable.Sink)][told]
		if n, err := message.DecodeNotice(m.Body); !found || err != nil || n.Error != "broken" {
			t.Errorf("of x in scope %q sink has %+v, %v", scope, n, err)
		}
	}
}
