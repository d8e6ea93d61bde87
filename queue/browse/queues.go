package browse

import (
	"errors"
	"fmt"
	"slices"

	"fmqm/internal/store"
	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue/read"
	"fmqm/queue/record"
)

// Queues are the process queues of a store, to be read. Its methods are safe for concurrent use.
type Queues struct{ records read.Records }

// New gives the process queues that records has.
func New(records read.Records) *Queues { return &Queues{records} }

// Table gives the encoded table of a process, and the definition that it is bound to.
func (q *Queues) Table(id processtable.ProcessID) (encoded []byte, definition processtable.DefinitionHash, found bool, err error) {
	key := record.AppendProcess(nil, record.ClassTable, id)
	value, err := q.records.Get(key)
	if errors.Is(err, store.ErrNotFound) {
		return nil, definition, false, nil
	}
	if err == nil {
		encoded, definition, err = q.records.Table(key, value)
	}
	if err != nil {
		return nil, definition, false, fmt.Errorf("table of %s: %w", id, q.records.Judge(err))
	}
	return encoded, definition, true, nil
}

// Marker gives the marker of an instance that an operator ended, nil if there is none.
func (q *Queues) Marker(id processtable.ProcessID, i message.InstanceID) (*message.Message, error) {
	found, err := q.marks(id, i, message.KindMarker)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return &found[0], nil
}

// Marks gives what suspends and resumes an instance lie here (N29), in the order of their keys.
func (q *Queues) Marks(id processtable.ProcessID, i message.InstanceID) ([]message.Message, error) {
	return q.marks(id, i, message.KindMark)
}

func (q *Queues) marks(id processtable.ProcessID, i message.InstanceID, kind message.Kind) ([]message.Message, error) {
	found, err := q.browse(append(record.AppendProcess(nil, record.ClassMarker, id), i[:]...))
	if err != nil {
		return nil, fmt.Errorf("marker of instance %s: %w", i, q.records.Judge(err))
	}
	return slices.DeleteFunc(found, func(m message.Message) bool { return m.Kind != kind }), nil
}
