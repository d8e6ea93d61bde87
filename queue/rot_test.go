package queue

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"fmqm/internal/store"
	"fmqm/message"
	"fmqm/queue/record"
)

// stopped makes sure that a manager that could not read acknowledges nothing more.
func stopped(t *testing.T, m *Manager, want error) {
	t.Helper()
	if err, _, _ := m.Failed().Wait(context.Background()); !errors.Is(err, want) {
		t.Errorf("the node stops with %v", err)
	}
	done := make(chan error, 1)
	tx := &record.Tx{Done: func(err error) { done <- err }}
	tx.Put = append(tx.Put, drivenMessage(1000, "A", 1))
	m.Submit(tx)
	if err := <-done; !errors.Is(err, ErrStopped) {
		t.Errorf("after that a transaction ends with %v", err)
	}
}

// rotten is an engine that cannot read a record, or does not find it any more.
type rotten struct {
	*crashing
	key   []byte
	found error // by a reading of all files
}

var errRotten = errors.New("000001.sst: a checksum is wrong")

func (e *rotten) Get(key []byte) ([]byte, error) {
	if e.key != nil && bytes.Equal(key, e.key) {
		if e.found == nil {
			return nil, errRotten
		}
		return nil, store.ErrNotFound
	}
	return e.crashing.Get(key)
}

func (e *rotten) Doubt() error { return e.found }

// TestBodyRots: the engine cannot read a message's body, or finds nothing, and says why
// only when it is asked.
func TestBodyRots(t *testing.T) {
	for name, found := range map[string]error{"an error": nil, "nothing": errRotten} {
		t.Run(name, func(t *testing.T) {
			e := &rotten{crashing: newCrashing(t, 0)}
			m, err := Open(e, Options{Node: "A"})
			if err != nil {
				t.Fatal(err)
			}
			msg := drivenMessage(7, "A", 100_000)
			if err := committed(t, m, &record.Tx{Put: []message.Message{msg}}); err != nil {
				t.Fatal(err)
			}
			if m, err = Open(e, Options{Node: "A"}); err != nil {
				t.Fatal(err)
			}
			e.key, e.found = record.AppendChunkKey(nil, 1, 0), found
			if found, err := m.Browse(drivenProcess, msg.Entry()); !errors.Is(err, errRotten) {
				t.Errorf("%d messages, %v", len(found), err)
			}
			stopped(t, m, errRotten)
			if err := m.Close(context.Background()); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestWhatMustBeThereIsNot: an engine finds nothing where the memory knows of a record.
func TestWhatMustBeThereIsNot(t *testing.T) {
	const items = 10
	for name, tc := range map[string]struct {
		key  []byte
		read func(m *Manager) error
	}{
		"the last item of a lane": {record.AppendItemKey(nil, "B", 0, items), func(m *Manager) error {
			_, err := m.Transmission("B").Read(0, 1, 1<<20)
			return err
		}},
		"one in the middle": {record.AppendItemKey(nil, "B", 0, 5), func(m *Manager) error {
			_, err := m.Transmission("B").Read(0, 1, 1<<20)
			return err
		}},
		"the oldest item": {record.AppendItemKey(nil, "B", 0, 1), func(m *Manager) error {
			_, err := m.Transmission("B").Stats()
			return err
		}},
		"a chunk of a body": {record.AppendChunkKey(nil, 1, 0), func(m *Manager) error {
			msg := drivenMessage(7, "A", 0)
			_, err := m.Browse(drivenProcess, msg.Entry())
			return err
		}},
	} {
		t.Run(name, func(t *testing.T) {
			e := newCrashing(t, 0)
			tx := &record.Tx{Put: []message.Message{drivenMessage(7, "A", 100_000)}}
			for n := range items {
				tx.Put = append(tx.Put, drivenMessage(n, "B", 10))
			}
			if err := committed(t, openCrashing(t, e), tx); err != nil {
				t.Fatal(err)
			}
			m := openCrashing(t, e)
			if err := tc.read(m); err != nil {
				t.Fatal(err)
			}
			if _, err := e.Get(tc.key); err != nil {
				t.Fatal(err)
			}
			if err := e.Engine.Commit(e.Last()+1, &store.Batch{Ops: []store.Op{{Key: tc.key}}}); err != nil {
				t.Fatal(err)
			}
			if err := tc.read(m); !errors.Is(err, record.ErrDamaged) {
				t.Errorf("read: %v", err)
			}
			stopped(t, m, record.ErrDamaged)
			if err := m.Close(context.Background()); err != nil {
				t.Error(err)
			}
		})
	}
}
