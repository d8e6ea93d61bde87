package browse

import (
	"bytes"
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
	marker, _, err := q.Marked(id, i)
	return marker, err
}

// Marks gives what suspends and resumes an instance lie here (N29), in the order of their keys.
func (q *Queues) Marks(id processtable.ProcessID, i message.InstanceID) ([]message.Message, error) {
	_, marks, err := q.Marked(id, i)
	return marks, err
}

// Marked is Marker and Marks, of one moment.
func (q *Queues) Marked(id processtable.ProcessID, i message.InstanceID) (marker *message.Message, marks []message.Message, err error) {
	marks, err = q.browse(append(record.AppendProcess(nil, record.ClassMarker, id), i[:]...))
	if err != nil {
		return nil, nil, fmt.Errorf("marker of instance %s: %w", i, q.records.Judge(err))
	}
	if at := slices.IndexFunc(marks, func(m message.Message) bool { return m.Kind == message.KindMarker }); at >= 0 {
		found := marks[at]
		marker, marks = &found, slices.Delete(marks, at, at+1)
	}
	return marker, marks, nil
}

// Entries gives the entries of an instance for which anything lies here, in the order of their keys: also that of the instance
// as a whole, but for its markers. It reads keys only.
func (q *Queues) Entries(id processtable.ProcessID, i message.InstanceID) (found []message.Entry, err error) {
	for _, class := range []byte{record.ClassMessage, record.ClassRecord} {
		prefix := record.AppendProcess(nil, class, id)
		err := q.records.Each(store.ScanOptions{Prefix: append(bytes.Clone(prefix), i[:]...), KeysOnly: true}, func(key, _ []byte) error {
			k := record.KeyReader{Rest: key[len(prefix):]}
			e := k.Entry()
			if k.Bad {
				return record.Damaged(key, record.ErrKey.Error())
			}
			before := found[max(0, len(found)-1):] // messages of an entry lie together, but for the record of a sink
			if class == record.ClassRecord {
				before = found
			}
			if !slices.Contains(before, e) {
				found = append(found, e)
			}
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("browse instance %s: %w", i, q.records.Judge(err))
		}
	}
	return found, nil
}
