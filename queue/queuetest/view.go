package queuetest

import (
	"fmt"
	"strings"
	"testing"

	"fmqm/internal/store/storetest"
	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue/audit"
	"fmqm/queue/record"
)

// testInstanceView: what is read of an instance is of one moment, whatever is committed
// meanwhile: what has ended and what is under way fit together.
func testInstanceView(t *testing.T, open storetest.Open) {
	s := newSite(t, open)
	const steps = 200
	name := func(n int) processtable.ActivityID { return processtable.ActivityID(fmt.Sprintf("a%03d", n)) }
	body := noise(100_000, 1) // staged: some of its chunks go while it is read
	s.must(put(msg("A", 1, processtable.Source, name(0), body...)))
	over := make(chan struct{})
	go func() {
		defer close(over)
		for n := range steps {
			m := msg("A", 1, name(n-1), name(n))
			if n == 0 {
				m = msg("A", 1, processtable.Source, name(0))
			}
			event := record.AuditRecord{Process: procP, Instance: instance(1), Activity: name(n), Clock: uint64(n), Event: record.EventFailed}
			end := event
			end.Event = record.EventTerminated
			err := s.try(&record.Tx{
				Consume: []record.Consume{consume(m)},
				Put:     []message.Message{msg("A", 1, name(n), name(n+1), body...)}, Audit: []record.AuditRecord{event, end},
			})
			if err != nil {
				t.Errorf("step %d: %v", n, err)
				return
			}
		}
	}()
	for looking := true; looking; {
		select {
		case <-over:
			looking = false
		default:
		}
		v, err := s.ViewInstance(instance(1), processtable.ProcessID{}, audit.AllEvents)
		switch {
		case err != nil:
			t.Error(err)
		case v.Process != procP || len(v.Messages) != 1 || len(v.Messages[0].Body) != len(body):
			t.Errorf("of %s: %d messages, want one of %s", v.Process, len(v.Messages), procP)
		case v.Messages[0].Activity != name(len(v.Ends)) || len(v.Events) != len(v.Ends):
			t.Errorf("%s is under way, %d have ended, after %d events", v.Messages[0].Activity, len(v.Ends), len(v.Events))
		default:
			continue
		}
		<-over
		return
	}
	v, err := s.ViewInstance(instance(1), procP, 3)
	var newest []string
	for _, e := range v.Events {
		newest = append(newest, string(e.Activity))
	}
	if got := strings.Join(newest, " "); got != "a197 a198 a199" || err != nil {
		t.Errorf("the newest events are of %s, %v", got, err)
	}
	marker := kind(msg("A", 2, "", ""), message.KindMarker)
	s.must(put(marker))
	if v, err := s.ViewInstance(instance(2), processtable.ProcessID{}, 0); v.Marker == nil || v.Process != procP || err != nil {
		t.Errorf("of an instance that has a marker: %+v, %v", v, err)
	}
	if v, err := s.ViewInstance(instance(3), processtable.ProcessID{}, audit.AllEvents); v.Process != (processtable.ProcessID{}) || err != nil {
		t.Errorf("of an instance that nobody knows: %+v, %v", v, err)
	}
}

// testInstancePart: of what has ended only what is asked for is read; and whose the instance is is known whatever
// that is.
func testInstancePart(t *testing.T, open storetest.Open) {
	s := newSite(t, open)
	for clock, at := range []string{"a#1/b", "a#2/b", "a#2/c", "a#10/b", "/d"} {
		scope, name, _ := strings.Cut(at, "/")
		s.must(&record.Tx{Audit: []record.AuditRecord{{
			Process: procP, Instance: instance(1), Origin: "A", Scope: message.Scope(scope), Activity: processtable.ActivityID(name), Clock: uint64(clock), Event: record.EventTerminated,
		}}})
	}
	var all []message.Entry
	pick := func(ended []message.Entry, end func(message.Entry) (record.AuditRecord, error)) ([]record.AuditRecord, error) {
		all = ended
		a, err := end(ended[2])
		return []record.AuditRecord{a}, err
	}
	for _, c := range []struct {
		part  audit.Part
		want  string
		other bool
	}{
		{audit.Part{}, "/d a#1/b a#10/b a#2/b a#2/c", false},
		{audit.Part{Scopes: []message.Scope{""}}, "/d", false},
		{audit.Part{Scopes: []message.Scope{"a#1", "a#2"}}, "a#1/b a#2/b a#2/c", false},
		{audit.Part{Scopes: []message.Scope{"a#3"}}, "", true},
		{audit.Part{Pick: pick}, "a#10/b", false},
	} {
		v, err := s.ViewPart(instance(1), processtable.ProcessID{}, c.part)
		var got []string
		for i := range v.Ends {
			got = append(got, string(v.Ends[i].Scope)+"/"+string(v.Ends[i].Activity))
		}
		if strings.Join(got, " ") != c.want || v.Process != procP || (v.Other != nil) != c.other || err != nil {
			t.Errorf("%+v: %s of %s, %+v, %v; want %s", c.part, got, v.Process, v.Other, err, c.want)
		}
	}
	if len(all) != 5 || all[2] != (message.Entry{Instance: instance(1), Scope: "a#10", Activity: "b"}) {
		t.Errorf("picked of %+v", all)
	}
	if v, err := s.ViewPart(instance(1), processtable.ProcessID{Name: "another", Version: 1}, audit.Part{Scopes: []message.Scope{""}}); v.Process == procP || v.Other != nil || err != nil {
		t.Errorf("of another process: %+v, %v", v, err)
	}
}
