package queue

import (
	"fmqm/processtable"
	"fmqm/queue/commit"
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

func (m *Manager) publishTables(tables []commit.Table) {
	if len(tables) == 0 {
		return
	}
	m.durable.Lock()
	defer m.durable.Unlock()
	for _, t := range tables {
		m.durable.tables[t.Process] = t.Definition
	}
}
