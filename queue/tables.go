package queue

import (
	"errors"
	"fmt"

	"fmqm/internal/store"
	"fmqm/processtable"
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

// Table gives the encoded table of a process, and the definition that it is bound to.
func (m *Manager) Table(id processtable.ProcessID) (encoded []byte, definition processtable.DefinitionHash, found bool, err error) {
	key := record.AppendProcess(nil, record.ClassTable, id)
	value, err := m.engine.Get(key)
	if errors.Is(err, store.ErrNotFound) {
		return nil, definition, false, nil
	}
	if err == nil {
		encoded, definition, err = m.readTable(key, value)
	}
	if err != nil {
		return nil, definition, false, fmt.Errorf("table of %s: %w", id, m.judge(err))
	}
	return encoded, definition, true, nil
}

// Bound gives the definition that a process is bound to here (N3); false: to none.
func (m *Manager) Bound(id processtable.ProcessID) (definition processtable.DefinitionHash, bound bool) {
	m.durable.Lock()
	defer m.durable.Unlock()
	definition, bound = m.durable.tables[id]
	return definition, bound
}

func (m *Manager) readTable(key, value []byte) ([]byte, processtable.DefinitionHash, error) {
	var hash processtable.DefinitionHash
	content, err := record.Open(key, value)
	if err != nil {
		return nil, hash, err
	}
	if copy(hash[:], content) != record.TableFixed {
		return nil, hash, record.Damaged(key, "it is too short")
	}
	p, _, err := record.ReadPlace(key, content[record.TableFixed:])
	if err != nil {
		return nil, hash, err
	}
	encoded, err := m.body(p)
	return encoded, hash, err
}
