package navigator

import (
	"slices"
	"strings"
	"testing"
	"time"

	"fmqm/behaviour"
	"fmqm/message"
	"fmqm/processtable"
)

// limited is a process with a deadline of two hours, at here, with the entry of its sink after a start.
func limited(t *testing.T) (*Process, *Activity, *State) {
	t.Helper()
	m := newModel(t, "c", "y").control("source -> c", "c -> y", "y -> sink").data("source -> c: n = n", "c -> y: n = n")
	m.table.Format = processtable.ModelFormat
	for _, row := range m.table.Activities {
		if row.Name == processtable.Sink {
			row.Deadline = &processtable.Moment{Fixed: int64(2 * time.Hour)}
		}
	}
	p := m.prepare()
	sink := p.activities.Get(processtable.RowID{Name: processtable.Sink})
	started, err := p.Start(behaviour.Start{Instance: instance, Input: value(t, `{"n": 2}`), Now: noon})
	if err != nil {
		t.Fatal(err)
	}
	s := &State{Basis: behaviour.Basis{Entry: message.Entry{Instance: instance, Activity: processtable.Sink}}}
	for _, put := range started.Put {
		if put.Activity == processtable.Sink && put.Kind == message.KindRecord {
			fold(t, sink, s, put)
		}
	}
	return p, sink, s
}

// R30: the deadline is counted from the start, set once, and ends the instance by a marker that sink
// passes on.
func TestR30TheDeadlineOfAProcess(t *testing.T) {
	_, sink, s := limited(t)
	e := sink.Decide(s, noon.Add(time.Minute))
	if len(e.Timers) != 1 || e.Timers[0].Name != timerDeadline || !e.Timers[0].Due.Equal(noon.Add(2*time.Hour)) || e.Ends {
		t.Fatalf("it sets %+v", e.Timers)
	}
	kept(t, sink, s, e)
	if e := sink.Decide(s, noon.Add(3*time.Hour)); len(e.Put)+len(e.Timers) > 0 {
		t.Errorf("before it has come it does %+v", e)
	}
	comeTime(t, sink, s, timerDeadline, noon.Add(2*time.Hour))
	e = sink.Decide(s, noon.Add(2*time.Hour))
	var marker message.Marker
	for _, put := range e.Put {
		if put.Kind == message.KindMarker {
			var err error
			if marker, err = message.DecodeMarker(put.Body); err != nil || put.Queue.Node != here || put.Instance != instance {
				t.Fatalf("%+v %v", put, err)
			}
		}
	}
	if !marker.Relay || marker.By != "its deadline" || e.Ends {
		t.Fatalf("it puts %+v", e.Put)
	}
	kept(t, sink, s, e)
	if e := sink.Decide(s, noon.Add(2*time.Hour)); len(e.Put) > 0 {
		t.Errorf("and once more %+v", e.Put)
	}
	m := own(sink, message.KindMarker, message.EncodeMarker(marker))
	m.Origin = here
	fold(t, sink, s, m)
	if e := sink.Decide(s, noon); !e.Ends || e.Outcome.What != behaviour.Stopped || !strings.Contains(e.Outcome.Reason, "terminated by its deadline") {
		t.Errorf("then it is %+v", e)
	}
}

// R30: also where sink itself is in error.
func TestR30TheDeadlineOfASinkInError(t *testing.T) {
	_, sink, s := limited(t)
	kept(t, sink, s, sink.Decide(s, noon))
	kept(t, sink, s, sink.Refused(s, from(t, sink, sink.InControl[0].From, T, "{}"), "it was changed on its way", noon))
	if e := sink.Decide(s, noon.Add(time.Hour)); !s.InError() || len(e.Put)+len(e.Timers) > 0 {
		t.Errorf("before it has come it does %+v", e)
	}
	comeTime(t, sink, s, timerDeadline, noon.Add(2*time.Hour))
	e := sink.Decide(s, noon.Add(2*time.Hour))
	if !slices.ContainsFunc(e.Put, func(put message.Message) bool { return put.Kind == message.KindMarker }) {
		t.Fatalf("it puts %+v", e.Put)
	}
	kept(t, sink, s, e)
	if e := sink.Decide(s, noon.Add(3*time.Hour)); !s.InError() || len(e.Put) > 0 {
		t.Errorf("and once more %+v", e.Put)
	}
}

// R30: an instance that ends at the same moment has ended.
func TestR30WhatHasEndedHasNoDeadline(t *testing.T) {
	_, sink, s := limited(t)
	kept(t, sink, s, sink.Decide(s, noon))
	comeTime(t, sink, s, timerDeadline, noon.Add(2*time.Hour))
	for _, in := range sink.InControl {
		m := from(t, sink, in.From, T, "{}")
		m.Origin = here
		fold(t, sink, s, m)
	}
	if e := sink.Decide(s, noon.Add(3*time.Hour)); !e.Ends || e.Outcome.What != behaviour.Terminated {
		t.Errorf("it is %+v", e)
	}
}
