package queue

import (
	"errors"
	"fmt"
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

// IsCurrent says whether a version that is here is current: it is not retired (N31), and it is not pending, or it is the
// first one that there is, and all of its name are pending, so that there is none to go on with before it. What is
// retired does not count among them.
func (m *Manager) IsCurrent(id processtable.ProcessID) bool {
	m.durable.Lock()
	defer m.durable.Unlock()
	if m.isRetired(id) {
		return false
	}
	if !m.durable.pending[id] {
		return true
	}
	for other := range m.durable.tables {
		if other.Name == id.Name && !m.isRetired(other) && (other.Version < id.Version || !m.durable.pending[other]) {
			return false
		}
	}
	return true
}

// isRetired says whether nothing new may begin of a version: somebody has said so last, or this node has given its final
// word, which nobody takes back. m.durable is held.
func (m *Manager) isRetired(id processtable.ProcessID) bool {
	if _, closed := m.durable.finals[id][m.node]; closed {
		return true
	}
	r, said := m.durable.retired[id]
	return said && !r.Undo
}

// IsRetired says whether nothing new may begin of a version (N31).
func (m *Manager) IsRetired(id processtable.ProcessID) bool {
	m.durable.Lock()
	defer m.durable.Unlock()
	return m.isRetired(id)
}

// Retirement gives the last that was said of retiring a version; false: nothing was.
func (m *Manager) Retirement(id processtable.ProcessID) (r record.Retirement, said bool) {
	m.durable.Lock()
	defer m.durable.Unlock()
	r, said = m.durable.retired[id]
	return r, said
}

// Retirements gives the versions of which something was said, by name and version.
func (m *Manager) Retirements() []processtable.ProcessID {
	m.durable.Lock()
	defer m.durable.Unlock()
	return slices.SortedFunc(maps.Keys(m.durable.retired), processtable.ProcessID.Compare)
}

// loadRetired finds what was said of retiring versions.
func (m *Manager) loadRetired() error {
	return m.read.Each(store.ScanOptions{Prefix: record.RetirementKeys()}, func(key, value []byte) error {
		r, err := record.ReadRetirement(key, value)
		if err == nil {
			m.durable.retired[r.Process] = r
		}
		return err
	})
}

// Definition gives the text of a definition that is kept here; nil: none is.
func (m *Manager) Definition(id processtable.ProcessID) (*record.Definition, error) {
	value, err := m.read.Get(record.DefinitionKey(id))
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	var d record.Definition
	if err == nil {
		d, err = record.ReadDefinition(id, value)
	}
	if err != nil {
		return nil, fmt.Errorf("text of the definition of %s: %w", id, m.read.Judge(err))
	}
	return &d, nil
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

func (m *Manager) publishTables(r *commit.Report) {
	m.durable.Lock()
	defer m.durable.Unlock()
	m.durable.shown = max(m.durable.shown, r.Upto)
	for _, t := range r.Tables {
		m.durable.tables[t.Process] = t.Definition
		if t.Pending {
			m.durable.pending[t.Process] = true
		}
	}
	for _, id := range r.Current {
		delete(m.durable.pending, id)
	}
	for i := range r.Retired {
		m.durable.retired[r.Retired[i].Process] = r.Retired[i]
	}
	m.publishVersions(&r.Facts)
}
