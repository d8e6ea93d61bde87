package queue_test

import (
	"context"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"

	"fmqm/internal/store"
	"fmqm/internal/store/memory"
	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue"
	"fmqm/queue/record"
)

// readCounter counts what the committer reads of an engine.
type readCounter struct {
	store.Engine
	reads atomic.Int64
}

func (e *readCounter) Get(key []byte) ([]byte, error) {
	e.count()
	return e.Engine.Get(key)
}

func (e *readCounter) Scan(o store.ScanOptions, visit func(key, value []byte) bool) error {
	e.count()
	return e.Engine.Scan(o, visit)
}

func (e *readCounter) View(read func(store.Reader) error) error {
	e.count()
	return e.Engine.View(read)
}

func (e *readCounter) count() {
	callers := make([]uintptr, 64)
	frames := runtime.CallersFrames(callers[:runtime.Callers(2, callers)])
	for more := true; more; {
		var frame runtime.Frame
		if frame, more = frames.Next(); strings.HasSuffix(frame.Function, ".commitLoop") {
			e.reads.Add(1)
		}
	}
}

// TestCommitsReadNothing: no gauge makes the committer read the store, also after a store
// was lost, here or at a peer, when any message may come again.
func TestCommitsReadNothing(t *testing.T) {
	for name, lose := range map[string]func(t *testing.T, m *queue.Manager) error{
		"nothing was lost": func(*testing.T, *queue.Manager) error { return nil },
		"a restore":        func(_ *testing.T, m *queue.Manager) error { return m.NoteRecreated() },
		"a rebuilt peer": func(t *testing.T, m *queue.Manager) error {
			if err := m.BindIncarnation("B", record.Incarnation{1}); err != nil {
				t.Fatal(err)
			}
			return m.ReplaceIncarnation("B", record.Incarnation{2})
		},
	} {
		t.Run(name, func(t *testing.T) {
			bare, err := memory.NewDisk("A").Open(memory.Options{})
			if err != nil {
				t.Fatal(err)
			}
			engine := &readCounter{Engine: bare}
			m, err := queue.Open(engine, queue.Options{Node: "A"})
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := m.Close(context.Background()); err != nil {
					t.Error(err)
				}
			}()
			if err := lose(t, m); err != nil {
				t.Fatal(err)
			}
			for counted := false; !counted; {
				_, counted = m.Depth(procP)
			}
			mailbox := m.Mailbox(procP)
			before := engine.reads.Load()
			results := make(chan error)
			submit := func(tx *record.Tx) {
				t.Helper()
				tx.Done = func(err error) { results <- err }
				m.Submit(tx)
				if err := <-results; err != nil {
					t.Fatal(err)
				}
			}
			for n := range byte(20) {
				to := func(kind message.Kind, source, target processtable.ActivityID) message.Message {
					return message.Message{Header: message.Header{
						Queue: message.Queue{Process: procP, Node: "A"}, Instance: uuid.UUID{n + 1}, Origin: "A",
						Activity: target, Source: source, Kind: kind, Control: message.True,
					}}
				}
				first, snapshot := to(message.KindConnector, "a", "b"), to(message.KindSnapshot, "", "b")
				notice := to(message.KindNotice, "b", processtable.Sink)
				submit(&record.Tx{Put: []message.Message{first, to(message.KindRecord, "", processtable.Sink)}})
				mailbox.Take(10)
				entry := record.Consume{Process: procP, Entry: first.Entry()}
				submit(&record.Tx{Consume: []record.Consume{entry}, Put: []message.Message{snapshot, notice}})
				mailbox.Take(10)
				submit(&record.Tx{Put: []message.Message{first, notice}}) // again
				mailbox.Take(10)
				entry.Keys = []message.Key{first.Key(), snapshot.Key()}
				submit(&record.Tx{Consume: []record.Consume{entry}})
			}
			if reads := engine.reads.Load() - before; reads != 0 {
				t.Errorf("80 commits have read the store %d times", reads)
			}
		})
	}
}
