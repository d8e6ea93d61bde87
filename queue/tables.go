package queue

import (
	"maps"
	"slices"

	"fmqm/internal/store"
	"fmqm/processtable"
	"fmqm/queue/commit"
	"fmqm/queue/record"
)

// Tables gives the processes whose table is here, with the definition each is bound to.
func (m *Manager) Tables() map[processtable.ProcessID]processtable.DefinitionHash {
	m.durable.Lock()
	defer m.durable.Unlock()
	tables := make(map[processtable.ProcessID]processtable.DefinitionHash, len(m.durable.tables))
	for id, hash := range m.durable.tables {
		tables[id] = hash
	}
	return tables
}

// Bound gives the definition that a process is bound to here (N3); false: to none.
func (m *Manager) Bound(id processtable.ProcessID) (definition processtable.DefinitionHash, bound bool) {
	m.durable.Lock()
	defer m.durable.Unlock()
	definition, bound = m.durable.tables[id]
	return definition, bound
}

// IsPending says whether the table of a version is here, and it is not known that all its sites have theirs (N19).
func (m *Manager) IsPending(id processtable.ProcessID) bool {
	m.durable.Lock()
	defer m.durable.Unlock()
	return m.durable.pending[id]
}

// IsCurrent says whether a version that is here is current: it is not pending, or it is the first one that there
// is, and all of its name are pending, so that there is none to go on with before it.
func (m *Manager) IsCurrent(id processtable.ProcessID) bool {
	m.durable.Lock()
	defer m.durable.Unlock()
	if !m.durable.pending[id] {
		return true
	}
	for other := range m.durable.tables {
		if other.Name == id.Name && (other.Version < id.Version || !m.durable.pending[other]) {
			return false
		}
	}
	return true
}

// Pending gives the versions that are pending, by name and version.
func (m *Manager) Pending() []processtable.ProcessID {
	m.durable.Lock()
	defer m.durable.Unlock()
	return slices.SortedFunc(maps.Keys(m.durable.pending), processtable.ProcessID.Compare)
}

// loadPending finds which versions are pending.
func (m *Manager) loadPending() error {
	return m.read.Each(store.ScanOptions{Prefix: record.PendingKeys()}, func(key, value []byte) error {
		id, err := record.ReadPending(key, value)
		if err == nil {
			m.durable.pending[id] = true
		}
		return err
	})
}

func (m *Manager) publishTables(tables []commit.Table, current []processtable.ProcessID) {
	if len(tables)+len(current) == 0 {
		return
	}
	m.durable.Lock()
	defer m.durable.Unlock()
	for _, t := range tables {
		m.durable.tables[t.Process] = t.Definition
		if t.Pending {
			m.durable.pending[t.Process] = true
		}
	}
	for _, id := range current {
		delete(m.durable.pending, id)
	}
}
