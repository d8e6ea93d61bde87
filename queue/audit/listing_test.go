package audit_test

import (
	"context"
	"testing"
	"time"

	"fmqm/internal/store/memory"
	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue"
	"fmqm/queue/audit"
	"fmqm/queue/record"
)

// What is listed does not depend on how it is found: by reading the starts of few, or by
// looking for many among all starts.
func TestFewAndManyAreListedAlike(t *testing.T) {
	engine, err := memory.NewDisk("A").Open(memory.Options{})
	if err != nil {
		t.Fatal(err)
	}
	m, err := queue.Open(engine, queue.Options{Node: "A"})
	if err != nil {
		t.Fatal(err)
	}
	defer audit.SetFewPlaces(audit.SetFewPlaces(0))
	process := processtable.ProcessID{Name: "p", Version: 1}
	noon := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	place := func(n int) audit.Place {
		return audit.Place{Started: noon.Add(time.Duration(n*7%10) * time.Second), Instance: message.InstanceID{15: byte(n)}}
	}
	for n := 1; n <= 10; n++ {
		p := place(n)
		tx := &record.Tx{Audit: []record.AuditRecord{{Time: p.Started, Instance: p.Instance, Process: process, Activity: processtable.Source, Event: record.EventStarted}}}
		if n%3 != 0 { // the others have ended
			tx.Put = []message.Message{{
				Header: message.Header{
					Queue: message.Queue{Process: process, Node: "A"}, Instance: p.Instance, Origin: "A",
					Activity: processtable.Sink, Source: processtable.Source, Kind: message.KindRecord,
				},
				Body: message.EncodeRecord(message.Record{Process: process, Started: p.Started}),
			}}
		}
		done := make(chan error, 1)
		tx.Done = func(err error) { done <- err }
		m.Submit(tx)
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}
	for _, few := range []int{0, 1000} {
		audit.SetFewPlaces(few)
		var got []int
		for o := (audit.ListOptions{Limit: 3, Process: process, Since: noon.Add(time.Second)}); ; {
			places, err := m.Places(o)
			if err != nil {
				t.Fatal(err)
			}
			if len(places) == 0 {
				break
			}
			for _, p := range places {
				got = append(got, int(p.Instance[15]))
				o.Below = p
			}
		}
		want := []int{7, 4, 1, 8, 5, 2} // 9, 8, 7, 6, 5, 4 seconds past noon; 10 was started at noon
		if len(got) != len(want) {
			t.Fatalf("few is %d: %v, want %v", few, got, want)
		}
		for i := range want {
			if got[i] != want[i] {
				t.Errorf("few is %d: %v, want %v", few, got, want)
			}
		}
	}
	if err := m.Close(context.Background()); err != nil {
		t.Error(err)
	}
}
