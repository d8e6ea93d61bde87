package queue

import (
	"fmt"
	"maps"
	"slices"

	"fmqm/internal/store"
	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue/commit"
	"fmqm/queue/read"
	"fmqm/queue/record"
)

// What stays of a version that is retired, until its table is gone and after (N31).

// Finals gives the final words about a version that are known here, each with the store that gave it.
func (m *Manager) Finals(id processtable.ProcessID) map[processtable.NodeID]record.Incarnation {
	m.durable.Lock()
	defer m.durable.Unlock()
	return maps.Clone(m.durable.finals[id])
}

// Without gives the nodes that are written off of a version here.
func (m *Manager) Without(id processtable.ProcessID) map[processtable.NodeID]record.WriteOff {
	m.durable.Lock()
	defer m.durable.Unlock()
	return maps.Clone(m.durable.without[id])
}

// Tombstone gives what stays of the table of a version; false: none was removed here.
func (m *Manager) Tombstone(id processtable.ProcessID) (t record.Tombstone, gone bool) {
	m.durable.Lock()
	defer m.durable.Unlock()
	t, gone = m.durable.gone[id]
	return t, gone
}

// Tombstones gives those of all versions, by name and version.
func (m *Manager) Tombstones() []record.Tombstone {
	m.durable.Lock()
	defer m.durable.Unlock()
	return slices.SortedFunc(maps.Values(m.durable.gone), func(a, b record.Tombstone) int { return a.Process.Compare(b.Process) })
}

// AtRest says whether nothing lies in the queue of a process and nothing waits for its table. What is decided on that is
// submitted with the Quiet that it gives: so it is refused if anything was put meanwhile.
func (m *Manager) AtRest(id processtable.ProcessID) (q record.Quiet, rest bool, err error) {
	m.durable.Lock()
	q = record.Quiet{Process: id, Since: m.durable.shown} // before it looks: what is shown then, it sees
	m.durable.Unlock()
	if m.ParkedCount(id) > 0 {
		return q, false, nil
	}
	for _, class := range []byte{record.ClassMessage, record.ClassRecord} {
		found := false
		err := m.read.Each(store.ScanOptions{Prefix: record.AppendProcess(nil, class, id), KeysOnly: true}, func(_, _ []byte) error {
			found = true
			return read.ErrEnough
		})
		if found {
			return q, false, nil
		}
		if err != nil {
			return q, false, fmt.Errorf("look into the queue of %s: %w", id, m.read.Judge(err))
		}
	}
	return q, true, nil
}

// maxAbsorbed is how many messages one transaction of Absorb takes out.
const maxAbsorbed = 256

// Absorb gives a transaction that takes out what lies in the queue of a version whose table was removed, or waits for that
// table, some of it at a time; nil: nothing does. Nobody else may read that queue any more. Markers stay, as ever.
func (m *Manager) Absorb(id processtable.ProcessID) (tx *record.Tx, messages int, err error) {
	for reader := m.Mailbox(id); len(reader.Take(maxAbsorbed)) > 0; { // they lie in the store, and are looked at there
	}
	parked, err := m.ParkedFor(id, maxAbsorbed)
	if err != nil {
		return nil, 0, err
	}
	tx, messages = &record.Tx{Unpark: parked}, len(parked)
	for _, class := range []byte{record.ClassMessage, record.ClassRecord} {
		_, err = m.read.Messages(store.ScanOptions{Prefix: record.AppendProcess(nil, class, id)}, func(_ []byte, msg message.Message) bool {
			tx.Consume = append(tx.Consume, record.Consume{Process: id, Entry: msg.Entry(), Keys: []message.Key{msg.Key()}})
			messages++
			return messages < maxAbsorbed
		})
		if err != nil {
			return nil, 0, fmt.Errorf("read what came late for %s: %w", id, err)
		}
	}
	if messages == 0 {
		return nil, 0, nil
	}
	return tx, messages, nil
}

// publishVersions makes visible what is said of versions; m.durable is held.
func (m *Manager) publishVersions(r *commit.Facts) {
	for i := range r.Final {
		m.noteFinal(&r.Final[i])
	}
	for i := range r.Without {
		m.noteWithout(&r.Without[i])
	}
	for i := range r.Removed {
		t := r.Removed[i]
		m.durable.gone[t.Process] = t
		delete(m.durable.tables, t.Process)
		delete(m.durable.pending, t.Process)
	}
}

func (m *Manager) noteFinal(f *record.Final) {
	if m.durable.finals[f.Process] == nil {
		m.durable.finals[f.Process] = map[processtable.NodeID]record.Incarnation{}
	}
	m.durable.finals[f.Process][f.Node] = f.Store
}

func (m *Manager) noteWithout(o *record.WriteOff) {
	of := m.durable.without[o.Process]
	switch {
	case o.Undo:
		delete(of, o.Node)
		return
	case of == nil:
		of = map[processtable.NodeID]record.WriteOff{}
		m.durable.without[o.Process] = of
	}
	of[o.Node] = *o
}

// loadWithout finds the nodes that are written off.
func (m *Manager) loadWithout() error {
	return m.read.Each(store.ScanOptions{Prefix: record.WriteOffKeys()}, func(key, value []byte) error {
		o, err := record.ReadWriteOff(key, value)
		if err == nil {
			m.noteWithout(&o)
		}
		return err
	})
}

// loadFinals finds the final words that are known.
func (m *Manager) loadFinals() error {
	return m.read.Each(store.ScanOptions{Prefix: record.FinalKeys()}, func(key, value []byte) error {
		f, err := record.ReadFinal(key, value)
		if err == nil {
			m.noteFinal(&f)
			m.state.Closed[f.Process] = m.state.Closed[f.Process] || f.Node == m.node
		}
		return err
	})
}

// loadTombstones finds what stays of tables that were removed.
func (m *Manager) loadTombstones() error {
	return m.read.Each(store.ScanOptions{Prefix: record.TombstoneKeys()}, func(key, value []byte) error {
		t, err := record.ReadTombstone(key, value)
		if err == nil {
			m.durable.gone[t.Process], m.state.Gone[t.Process] = t, true
		}
		return err
	})
}
