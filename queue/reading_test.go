package queue

import (
	"errors"
	"sync/atomic"
	"testing"

	"fmqm/internal/store"
	"fmqm/internal/store/memory"
	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue/audit"
	"fmqm/queue/record"
)

// unread is an engine that cannot be read once fails is set.
type unread struct {
	store.Engine
	fails atomic.Bool
}

var errUnread = errors.New("input/output error")

func (u *unread) Get(key []byte) ([]byte, error) {
	if u.fails.Load() {
		return nil, errUnread
	}
	return u.Engine.Get(key)
}

func (u *unread) Scan(o store.ScanOptions, visit func(key, value []byte) bool) error {
	if u.fails.Load() {
		return errUnread
	}
	return u.Engine.Scan(o, visit)
}

func (u *unread) View(read func(store.Reader) error) error { return read(u) }

// Invariant 8: whoever asks, and whatever comes of it, a read that fails stops the node. What
// cannot be read counts for nothing, so nothing that was decided without it is committed.
func TestEveryReadThatFailsStopsTheNode(t *testing.T) {
	process := processtable.ProcessID{Name: "p", Version: 1}
	instance := message.InstanceID{15: 1}
	entry := message.Entry{Instance: instance, Activity: "a"}
	for name, read := range map[string]func(m *Manager) error{
		"table":                func(m *Manager) error { _, _, _, err := m.Table(process); return err },
		"entry":                func(m *Manager) error { _, err := m.Browse(process, entry); return err },
		"end":                  func(m *Manager) error { _, _, err := m.Ended(entry); return err },
		"instance":             func(m *Manager) error { _, _, _, err := m.Instance(instance); return err },
		"view":                 func(m *Manager) error { _, err := m.ViewInstance(instance, process, 1); return err },
		"history":              func(m *Manager) error { _, err := m.History(instance); return err },
		"places":               func(m *Manager) error { _, err := m.Places(audit.ListOptions{States: audit.AllStates}); return err },
		"instances":            func(m *Manager) error { _, err := m.Instances(audit.ListOptions{States: audit.AllStates}); return err },
		"refused message":      func(m *Manager) error { _, _, err := m.RefusedAt(1); return err },
		"refused messages":     func(m *Manager) error { _, err := m.RefusedList(10); return err },
		"sizes":                func(m *Manager) error { _, err := m.AuditSizes(message.InstanceID{}, 10); return err },
		"rebuilding":           func(m *Manager) error { _, _, err := m.Rebuilding("B"); return err },
		"schedules":            func(m *Manager) error { _, err := m.Schedules(); return err },
		"began":                func(m *Manager) error { _, err := m.Began("B"); return err },
		"parts":                func(m *Manager) error { _, err := m.Parts("B", 0, 1); return err },
		"waiting for a table":  func(m *Manager) error { _, err := m.ParkedFor(process, 10); return err },
		"instances with audit": func(m *Manager) error { _, err := m.AuditInstances(message.InstanceID{}, 10); return err },
	} {
		t.Run(name, func(t *testing.T) {
			engine, err := memory.NewDisk("A").Open(memory.Options{})
			if err != nil {
				t.Fatal(err)
			}
			u := &unread{Engine: engine}
			m, err := Open(u, Options{Node: "A"})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = m.Close(t.Context()) }()
			if err := m.background.Wait(t.Context()); err != nil { // counting reads the store beside
				t.Fatal(err)
			}
			u.fails.Store(true)
			if err := read(m); !errors.Is(err, errUnread) {
				t.Fatalf("got %v", err)
			}
			failure, _, err := m.Failed().Wait(t.Context())
			if err != nil || !errors.Is(failure, errUnread) {
				t.Fatalf("the manager goes on: %v, %v", failure, err)
			}
			u.fails.Store(false)
			done := make(chan error, 1)
			m.Submit(&record.Tx{Refuse: []record.Refused{{Reason: "decided without what could not be read"}}, Done: func(err error) { done <- err }})
			if err := <-done; !errors.Is(err, ErrStopped) {
				t.Errorf("after it: %v", err)
			}
		})
	}
}
