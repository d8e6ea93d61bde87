package queuetest

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"fmqm/internal/store/storetest"
	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue/audit"
	"fmqm/queue/record"
)

// testAudit: what was done is found again as it was, by its activity and in order.
func testAudit(t *testing.T, open storetest.Open) {
	s := newSite(t, open)
	clock := uint64(0)
	auditOf := func(activity processtable.ActivityID, event record.Event) record.AuditRecord {
		clock++
		return record.AuditRecord{
			Time: noon.Add(time.Duration(clock)), Clock: clock, Process: procP, Definition: defP.Short(),
			Instance: instance(1), Origin: "A", Activity: activity, Event: event,
		}
	}
	full := auditOf("c", record.EventTerminated)
	full.Scope, full.Iteration, full.Attempt, full.Run, full.RC = "block/1", 3, 2, 1, -7
	full.Started, full.Reason, full.Output = noon, "why", []byte{1, 2, 3}
	full.Consumed = []record.Consumed{
		{Key: message.Key{Kind: message.KindConnector, Source: "b", Scope: "block/1"}, Control: message.True, Data: message.DataPresent, Clock: 8},
		{Key: message.Key{Kind: message.KindSnapshot, Scope: "block/1"}},
		{Key: message.Key{Kind: message.KindConnector, Source: processtable.Sink, Scope: "c#3", Number: 7}, Clock: 9},
	}
	full.Sent = []record.Sent{
		{Target: "d", Scope: "block/1", Node: "A", Control: message.False, Data: message.DataAbsent},
		{Kind: message.KindNotice, Nth: 4, Target: "d", Scope: "block/10", Node: "A"},
	}
	records := []record.AuditRecord{
		full,
		auditOf(processtable.Source, record.EventStarted),
		auditOf("a", record.EventFailed), auditOf("a", record.EventInError), auditOf("a", record.EventRetried),
		auditOf("a", record.EventIterated), auditOf("a", record.EventTerminated),
		auditOf("b", record.EventSkipped), auditOf("c", record.EventStopped),
		auditOf(processtable.Sink, record.EventEnded),
	}
	same := auditOf("e", record.EventFailed) // two at one moment of the clock
	same.Stderr = "first\nlast"
	same.Clock, same.Time = 3, noon.Add(time.Hour)
	records = append(records, same)
	other := auditOf("a", record.EventTerminated)
	other.Instance = instance(2)
	for i := len(records) - 1; i >= 0; i-- { // written in another order than the clock's
		s.must(&record.Tx{Audit: []record.AuditRecord{records[i]}})
	}
	s.must(&record.Tx{Audit: []record.AuditRecord{other}})

	inOrder := append([]record.AuditRecord{}, records[:3]...)
	inOrder = append(append(inOrder, same), records[3:10]...)
	for range 2 {
		history, err := s.History(instance(1))
		if diff := cmp.Diff(inOrder, history, cmpopts.EquateEmpty()); err != nil || diff != "" {
			t.Errorf("history, %v: %s", err, diff)
		}
		for i, e := range []struct {
			entry message.Entry
			want  int // of records, -1 if it has not ended
		}{
			{message.Entry{Instance: instance(1), Scope: "block/1", Activity: "c"}, 0},
			{entry(1, processtable.Source), 1},
			{entry(1, "a"), 6},
			{entry(1, "b"), 7},
			{entry(1, "c"), 8},
			{entry(1, processtable.Sink), 9},
			{entry(1, "e"), -1},
			{entry(2, processtable.Source), -1},
			{entry(3, "a"), -1},
		} {
			got, found, err := s.Ended(e.entry)
			if err != nil || found != (e.want >= 0) {
				t.Errorf("entry %d: found %v, %v", i, found, err)
			} else if found {
				if diff := cmp.Diff(records[e.want], got, cmpopts.EquateEmpty()); diff != "" {
					t.Errorf("entry %d: %s", i, diff)
				}
			}
		}
		s.crash()
	}
	if history, err := s.History(instance(9)); len(history) != 0 || err != nil {
		t.Errorf("history of an unknown instance: %v, %v", history, err)
	}
}

// testInstances: instances are listed by their start, the newest first, without what
// their activities did.
func testInstances(t *testing.T, open storetest.Open) {
	s := newSite(t, open)
	const count = 12
	started := func(n int) time.Time { return noon.Add(time.Duration(n*7%count) * time.Minute) } // not in their identifiers' order
	for n := range count {
		rec := kind(msg("A", n, processtable.Source, processtable.Sink), message.KindRecord)
		rec.Body = message.EncodeRecord(message.Record{Process: procP, Started: started(n)})
		s.must(&record.Tx{
			Put:   []message.Message{rec},
			Audit: []record.AuditRecord{{Time: started(n), Instance: instance(n), Process: procP, Activity: processtable.Source, Event: record.EventStarted}},
		})
		if n%3 == 0 {
			tx := take(rec)
			event := record.EventEnded
			if n == 3 {
				event = record.EventStopped
			}
			tx.Audit = []record.AuditRecord{
				{Time: noon, Clock: 1, Instance: instance(n), Activity: "a", Event: record.EventTerminated},
				{Time: noon, Clock: 2, Instance: instance(n), Activity: processtable.Sink, Event: event},
			}
			s.must(tx)
		}
	}
	states := map[bool]audit.States{true: audit.AllStates}
	for _, all := range []bool{false, true} {
		for _, limit := range []int{1, 3, 5, 0} {
			t.Run(fmt.Sprintf("all %v, %d at a time", all, limit), func(t *testing.T) {
				seen := 0
				var before message.InstanceID
				last := noon.Add(time.Hour)
				for {
					list, err := s.Instances(audit.ListOptions{States: states[all], Limit: limit, Before: before})
					if err != nil {
						t.Fatal(err)
					}
					for _, i := range list {
						n := int(i.Started.Instance[15])
						if (i.Ended != nil) != (n%3 == 0) || !i.Started.Time.Equal(started(n)) || !i.Started.Time.Before(last) {
							t.Errorf("instance %d started %v after %v, ended %v", n, i.Started.Time, last, i.Ended)
						}
						if i.Ended != nil && (i.Ended.Event == record.EventStopped) != (n == 3) {
							t.Errorf("instance %d ended with event %d", n, i.Ended.Event)
						}
						last, before = i.Started.Time, i.Started.Instance
						seen++
					}
					if len(list) == 0 || limit == 0 {
						break
					}
				}
				if want := map[bool]int{false: 8, true: 12}[all]; seen != want {
					t.Errorf("%d instances, want %d", seen, want)
				}
			})
		}
	}
	s.must(&record.Tx{Put: []message.Message{ // of 1 and 5 something is in error, of 5 not at sink
		kind(msg("A", 1, "a", processtable.Sink), message.KindNotice), msg("A", 1, "b", processtable.Sink), msg("A", 5, "b", processtable.Sink),
		kind(msg("A", 7, "a", processtable.Sink), message.KindNotice),
	}})
	for name, c := range map[string]struct {
		o    audit.ListOptions
		want string
	}{
		"running, since the seventh minute": {audit.ListOptions{Since: noon.Add(7 * time.Minute)}, "[5 10 8 1]"},
		"all, since the seventh minute":     {audit.ListOptions{States: audit.AllStates, Since: noon.Add(7 * time.Minute)}, "[5 10 3 8 1]"},
		"below another node's":              {audit.ListOptions{Below: audit.Place{Started: started(8).Add(1)}}, "[8 1 11 4 2 7]"},
		"all, below another node's":         {audit.ListOptions{States: audit.AllStates, Below: audit.Place{Started: started(8).Add(1)}, Limit: 3}, "[8 1 6]"},
		"of a process":                      {audit.ListOptions{Process: processtable.ProcessID{Name: procP.Name}, Limit: 2}, "[5 10]"},
		"of a version":                      {audit.ListOptions{Process: procP, Limit: 1}, "[5]"},
		"of another version":                {audit.ListOptions{Process: processtable.ProcessID{Name: procP.Name, Version: procP.Version + 1}}, "[]"},
		"of another process":                {audit.ListOptions{Process: processtable.ProcessID{Name: procP.Name + "x"}}, "[]"},
		"in error":                          {audit.ListOptions{InError: true}, "[1 7]"},
		"in error, since":                   {audit.ListOptions{InError: true, Since: noon.Add(2 * time.Minute), Process: procP}, "[1]"},
		"in error, of another version":      {audit.ListOptions{InError: true, Process: processtable.ProcessID{Name: procP.Name, Version: 9}}, "[]"},
	} {
		places, err := s.Places(c.o)
		got := []int{}
		for i, p := range places {
			n := int(p.Instance[15])
			if got = append(got, n); !p.Started.Equal(started(n)) || i > 0 && places[i-1].Compare(p) >= 0 {
				t.Errorf("%s: %d stands at %v, after %v", name, n, p, places[max(0, i-1)])
			}
		}
		if fmt.Sprint(got) != c.want || err != nil {
			t.Errorf("%s: %v, want %s; %v", name, got, c.want, err)
		}
	}
	if _, err := s.Instances(audit.ListOptions{Before: instance(99)}); err == nil {
		t.Error("a list that continues from an unknown instance")
	}
	begin, end, found, err := s.Instance(instance(1))
	if err != nil || !found || end != nil || begin.Process != procP {
		t.Errorf("instance 1: %+v, %v, %v, %v", begin, end, found, err)
	}
	if _, end, found, err = s.Instance(instance(3)); err != nil || !found || end == nil || end.Event != record.EventStopped {
		t.Errorf("instance 3: %v, %v, %v", end, found, err)
	}
	if _, _, found, err = s.Instance(instance(99)); found || err != nil {
		t.Errorf("unknown instance: %v, %v", found, err)
	}
}
