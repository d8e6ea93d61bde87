package report

import (
	"context"
	"testing"

	"pgregory.net/rapid"

	"fmqm/internal/store/memory"
	"fmqm/internal/task"
	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue"
	"fmqm/queue/audit"
	"fmqm/queue/record"
)

// What the queue tells of an instance without reading all of it is what a view of all of it tells: where it was started, and up to
// which moment of the clock there is something. Another process has an instance of the same identifier.
func TestAGlanceTellsWhatTheWholeTells(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		engine, err := memory.NewDisk("A").Open(memory.Options{})
		if err != nil {
			rt.Fatal(err)
		}
		q, err := queue.Open(engine, queue.Options{Node: "A", Scheduler: task.Goroutines{}})
		if err != nil {
			rt.Fatal(err)
		}
		defer func() {
			if err := q.Close(context.Background()); err != nil {
				rt.Error(err)
			}
		}()
		id, p := message.InstanceID{6: 0x70, 8: 0x80, 15: 1}, processtable.ProcessID{Name: "p", Version: 1}
		if err := drawRecords(rt, q, id, p); err != nil {
			rt.Fatal(err)
		}
		v, err := q.ViewInstance(id, p, audit.AllEvents)
		if err != nil {
			rt.Fatal(err)
		}
		if origin, err := q.StartedAt(id, p); err != nil || string(origin) != startedAt(&v) {
			rt.Errorf("started at %q (%v), want %q", origin, err, startedAt(&v))
		}
		ends := v.Ends[:0]
		for _, e := range v.Ends { // what the record of the start, and of the end, say is known beside that
			if e.Activity != processtable.Source && e.Activity != processtable.Sink {
				ends = append(ends, e)
			}
		}
		v.Ends = ends
		if clock, err := q.Clock(id, p); err != nil || clock != clockOf(&v) {
			rt.Errorf("clock %d (%v), want %d", clock, err, clockOf(&v))
		}
	})
}

// drawRecords puts what may be there of the instances of both processes: one transaction of each, as nobody else is there.
func drawRecords(rt *rapid.T, q *queue.Manager, id message.InstanceID, p processtable.ProcessID) error {
	ends := map[message.Entry]bool{}
	for n := range rapid.IntRange(0, 8).Draw(rt, "records") {
		process := p
		process.Version = rapid.IntRange(1, 2).Draw(rt, "version")
		origin := processtable.NodeID(rapid.SampledFrom([]string{"", "A", "B"}).Draw(rt, "origin"))
		activity := processtable.ActivityID(rapid.SampledFrom([]string{"a", "b"}).Draw(rt, "activity"))
		clock := uint64(rapid.IntRange(1, 20).Draw(rt, "clock"))
		tx := &record.Tx{}
		if kind := rapid.SampledFrom([]string{"connector", "word", "end", "event"}).Draw(rt, "what"); kind == "connector" || kind == "word" {
			m := message.Message{Header: message.Header{
				Queue: message.Queue{Process: process, Node: "A"}, Instance: id, Origin: origin, Activity: activity, Clock: clock,
				Kind: message.KindConnector, Source: processtable.ActivityID([]byte{'s', byte('0' + n)}), Control: message.True,
			}}
			if kind == "word" {
				m.Kind, m.Source, m.Control, m.Number = message.KindWord, "", message.Unresolved, uint64(n+1)
			}
			tx.Put = []message.Message{m}
		} else {
			r := record.AuditRecord{Process: process, Instance: id, Origin: origin, Activity: activity, Clock: clock, Event: record.EventTerminated}
			if kind == "event" {
				r.Event = rapid.SampledFrom([]record.Event{record.EventInError, record.EventSaved, record.EventAsked, record.EventForced}).Draw(rt, "event")
			} else if e := (message.Entry{Instance: id, Activity: activity}); ends[e] {
				continue
			} else {
				ends[e] = true
				if rapid.Bool().Draw(rt, "started") && !ends[message.Entry{}] {
					ends[message.Entry{}], r.Activity, r.Event = true, processtable.Source, record.EventStarted
				}
			}
			tx.Audit = []record.AuditRecord{r}
		}
		done := make(chan error, 1)
		tx.Done = func(err error) { done <- err }
		q.Submit(tx)
		if err := <-done; err != nil {
			return err
		}
	}
	return nil
}
