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
	"fmqm/queue"
)

// testAudit: what was done is found again as it was, by its activity and in order.
func testAudit(t *testing.T, open storetest.Open) {
	s := newSite(t, open)
	clock := uint64(0)
	record := func(activity processtable.ActivityID, event queue.Event) queue.AuditRecord {
		clock++
		return queue.AuditRecord{
			Time: noon.Add(time.Duration(clock)), Clock: clock, Process: procP, Definition: defP.Short(),
			Instance: instance(1), Origin: "A", Activity: activity, Event: event,
		}
	}
	full := record("c", queue.EventTerminated)
	full.Scope, full.Iteration, full.Attempt, full.Run, full.RC = "block/1", 3, 2, 1, -7
	full.Started, full.Reason, full.Output = noon, "why", []byte{1, 2, 3}
	full.Consumed = []queue.Consumed{
		{Key: message.Key{Kind: message.KindConnector, Source: "b"}, Control: message.True, Data: message.DataPresent, Clock: 8},
		{Key: message.Key{Kind: message.KindSnapshot}},
	}
	full.Sent = []queue.Sent{{Target: "d", Node: "A", Control: message.False, Data: message.DataAbsent}}
	records := []queue.AuditRecord{
		full,
		record(processtable.Source, queue.EventStarted),
		record("a", queue.EventFailed), record("a", queue.EventInError), record("a", queue.EventRetried),
		record("a", queue.EventIterated), record("a", queue.EventTerminated),
		record("b", queue.EventSkipped), record("c", queue.EventStopped),
		record(processtable.Sink, queue.EventEnded),
	}
	same := record("e", queue.EventFailed) // two at one moment of the clock
	same.Stderr = "first\nlast"
	same.Clock, same.Time = 3, noon.Add(time.Hour)
	records = append(records, same)
	other := record("a", queue.EventTerminated)
	other.Instance = instance(2)
	for i := len(records) - 1; i >= 0; i-- { // written in another order than the clock's
		s.must(&queue.Tx{Audit: []queue.AuditRecord{records[i]}})
	}
	s.must(&queue.Tx{Audit: []queue.AuditRecord{other}})

	inOrder := append([]queue.AuditRecord{}, records[:3]...)
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
		record := kind(msg("A", n, processtable.Source, processtable.Sink), message.KindRecord)
		record.Body = message.EncodeRecord(message.Record{Process: procP, Started: started(n)})
		s.must(&queue.Tx{
			Put:   []message.Message{record},
			Audit: []queue.AuditRecord{{Time: started(n), Instance: instance(n), Process: procP, Activity: processtable.Source, Event: queue.EventStarted}},
		})
		if n%3 == 0 {
			tx := take(record)
			event := queue.EventEnded
			if n == 3 {
				event = queue.EventStopped
			}
			tx.Audit = []queue.AuditRecord{
				{Time: noon, Clock: 1, Instance: instance(n), Activity: "a", Event: queue.EventTerminated},
				{Time: noon, Clock: 2, Instance: instance(n), Activity: processtable.Sink, Event: event},
			}
			s.must(tx)
		}
	}
	for _, all := range []bool{false, true} {
		for _, limit := range []int{1, 3, 5, 0} {
			t.Run(fmt.Sprintf("all %v, %d at a time", all, limit), func(t *testing.T) {
				seen := 0
				var before message.InstanceID
				last := noon.Add(time.Hour)
				for {
					list, err := s.Instances(queue.ListOptions{All: all, Limit: limit, Before: before})
					if err != nil {
						t.Fatal(err)
					}
					for _, i := range list {
						n := int(i.Started.Instance[15])
						if (i.Ended != nil) != (n%3 == 0) || !i.Started.Time.Equal(started(n)) || !i.Started.Time.Before(last) {
							t.Errorf("instance %d started %v after %v, ended %v", n, i.Started.Time, last, i.Ended)
						}
						if i.Ended != nil && (i.Ended.Event == queue.EventStopped) != (n == 3) {
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
	s.must(&queue.Tx{Put: []message.Message{ // of 1 and 5 something is in error, of 5 not at sink
		kind(msg("A", 1, "a", processtable.Sink), message.KindNotice), msg("A", 1, "b", processtable.Sink), msg("A", 5, "b", processtable.Sink),
		kind(msg("A", 7, "a", processtable.Sink), message.KindNotice),
	}})
	for name, c := range map[string]struct {
		o    queue.ListOptions
		want string
	}{
		"running, since the seventh minute": {queue.ListOptions{Since: noon.Add(7 * time.Minute)}, "[5 10 8 1]"},
		"all, since the seventh minute":     {queue.ListOptions{All: true, Since: noon.Add(7 * time.Minute)}, "[5 10 3 8 1]"},
		"below another node's":              {queue.ListOptions{Below: queue.Place{Started: started(8).Add(1)}}, "[8 1 11 4 2 7]"},
		"all, below another node's":         {queue.ListOptions{All: true, Below: queue.Place{Started: started(8).Add(1)}, Limit: 3}, "[8 1 6]"},
		"of a process":                      {queue.ListOptions{Process: processtable.ProcessID{Name: procP.Name}, Limit: 2}, "[5 10]"},
		"of a version":                      {queue.ListOptions{Process: procP, Limit: 1}, "[5]"},
		"of another version":                {queue.ListOptions{Process: processtable.ProcessID{Name: procP.Name, Version: procP.Version + 1}}, "[]"},
		"of another process":                {queue.ListOptions{Process: processtable.ProcessID{Name: procP.Name + "x"}}, "[]"},
		"in error":                          {queue.ListOptions{InError: true}, "[1 7]"},
		"in error, since":                   {queue.ListOptions{InError: true, Since: noon.Add(2 * time.Minute), Process: procP}, "[1]"},
		"in error, of another version":      {queue.ListOptions{InError: true, Process: processtable.ProcessID{Name: procP.Name, Version: 9}}, "[]"},
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
	if _, err := s.Instances(queue.ListOptions{Before: instance(99)}); err == nil {
		t.Error("a list that continues from an unknown instance")
	}
	begin, end, found, err := s.Instance(instance(1))
	if err != nil || !found || end != nil || begin.Process != procP {
		t.Errorf("instance 1: %+v, %v, %v, %v", begin, end, found, err)
	}
	if _, end, found, err = s.Instance(instance(3)); err != nil || !found || end == nil || end.Event != queue.EventStopped {
		t.Errorf("instance 3: %v, %v, %v", end, found, err)
	}
	if _, _, found, err = s.Instance(instance(99)); found || err != nil {
		t.Errorf("unknown instance: %v, %v", found, err)
	}
}
