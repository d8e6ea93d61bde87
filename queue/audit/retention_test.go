package audit_test

import (
	"bytes"
	"context"
	"sync"
	"testing"
	"time"

	"fmqm/internal/store"
	"fmqm/internal/store/memory"
	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue"
	"fmqm/queue/audit"
	"fmqm/queue/record"
)

// thinned is an engine in which retention commits once a record was read, and before its body is.
type thinned struct {
	store.Engine
	retention func()
}

func (e *thinned) Get(key []byte) ([]byte, error) {
	if key[0] == record.ClassChunk && e.retention != nil {
		e.retention()
	}
	return e.Engine.Get(key)
}

func submit(t *testing.T, m *queue.Manager, tx *record.Tx) {
	t.Helper()
	done := make(chan error, 1)
	tx.Done = func(err error) { done <- err }
	m.Submit(tx)
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// S4, N7: retention may remove an activity's end, with its output, in the middle of its being read: for
// a message that came late, or for a history. That is no damage, and the activity has ended.
func TestReadingBesideRetention(t *testing.T) {
	entry := message.Entry{Instance: message.InstanceID{7}, Activity: "a"}
	for name, read := range map[string]func(*queue.Manager){
		"end": func(m *queue.Manager) {
			if end, has, err := m.Ended(entry); !has || err != nil || end.Removed == nil {
				t.Errorf("it has ended: %t, %v: %+v", has, err, end)
			}
		},
		"history": func(m *queue.Manager) {
			if history, err := m.History(entry.Instance); err != nil || len(history) != 0 {
				t.Errorf("it has a history: %+v, %v", history, err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			disk, err := memory.NewDisk("A").Open(memory.Options{})
			if err != nil {
				t.Fatal(err)
			}
			engine := &thinned{Engine: disk}
			m, err := queue.Open(engine, queue.Options{Node: "A"})
			if err != nil {
				t.Fatal(err)
			}
			submit(t, m, &record.Tx{Audit: []record.AuditRecord{{
				Process: processtable.ProcessID{Name: "p", Version: 1}, Instance: entry.Instance, Origin: "B", Activity: entry.Activity,
				Event: record.EventTerminated, Time: time.Unix(1, 0), Output: bytes.Repeat([]byte{1}, 100_000),
			}}})
			engine.retention = sync.OnceFunc(func() {
				tx, _, err := m.Forget(audit.Forget{Instance: entry.Instance, Time: time.Unix(2, 0), Limit: 10})
				if err != nil {
					t.Error(err)
					return
				}
				submit(t, m, tx)
			})
			read(m)
			if err := m.Close(context.Background()); err != nil {
				t.Error(err)
			}
		})
	}
}

// N19: what an instance that was begun has come back with is recorded where that ends, without the origin of the one that has begun it.
// It is removed with that one, whose origin is known by its other records.
func TestRetentionRemovesWhatHasComeBack(t *testing.T) {
	disk, err := memory.NewDisk("A").Open(memory.Options{})
	if err != nil {
		t.Fatal(err)
	}
	m, err := queue.Open(disk, queue.Options{Node: "A"})
	if err != nil {
		t.Fatal(err)
	}
	id, of := message.InstanceID{7}, processtable.ProcessID{Name: "p", Version: 1}
	child := &message.Child{Instance: message.InstanceID{8}, Process: processtable.ProcessID{Name: "q", Version: 1}}
	submit(t, m, &record.Tx{Audit: []record.AuditRecord{
		{Process: of, Instance: id, Activity: "a", Event: record.EventReturned, Time: time.Unix(1, 0), Clock: 1, Child: child},
		{Process: of, Instance: id, Origin: "A", Activity: processtable.Source, Event: record.EventStarted, Time: time.Unix(1, 0), Clock: 2},
		{Process: of, Instance: id, Activity: "b", Event: record.EventReturned, Time: time.Unix(1, 0), Clock: 3, Child: child},
		{Process: of, Instance: id, Origin: "A", Activity: processtable.Sink, Event: record.EventEnded, Time: time.Unix(1, 0), Clock: 4},
	}})
	if s, found, err := m.AuditSizeOf(id); err != nil || !found || s.Origin != "A" || s.Process != of {
		t.Errorf("it is %+v, %t, %v", s, found, err)
	}
	tx, _, err := m.Forget(audit.Forget{Instance: id, Time: time.Unix(2, 0), Limit: 10})
	if err != nil {
		t.Fatal(err)
	}
	submit(t, m, tx)
	if history, err := m.History(id); err != nil || len(history) != 0 {
		t.Errorf("left is %+v, %v", history, err)
	}
	if err := m.Close(context.Background()); err != nil {
		t.Error(err)
	}
}
