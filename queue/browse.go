package queue

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"fmqm/internal/store"
	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue/record"
)

// EntryMessages is an entry with its messages, in the order of their keys.
type EntryMessages struct {
	Entry    message.Entry
	Messages []message.Message
}

// Browse gives the messages of an entry, in the order of their keys: kind, then
// source (BROWSE, paper §2.5). It takes nothing away. Markers are not among them.
func (m *Manager) Browse(id processtable.ProcessID, e message.Entry) ([]message.Message, error) {
	found, err := m.browse(record.AppendEntry(record.AppendProcess(nil, record.ClassMessage, id), &e))
	if err == nil && e.Activity == processtable.Sink {
		found, err = m.addRecord(id, e, found)
	}
	if err != nil {
		return nil, fmt.Errorf("browse %s of instance %s: %w", e.Activity, e.Instance, m.judge(err))
	}
	return found, nil
}

// Message gives the message of an entry that lies under a key, nil if there is none.
func (m *Manager) Message(id processtable.ProcessID, e message.Entry, k message.Key) (*message.Message, error) {
	_, err := m.engine.Get(record.AppendMessageKey(nil, id, &e, k))
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("message from %s for %s of instance %s: %w", k.Source, e.Activity, e.Instance, m.judge(err))
	}
	found, err := m.Browse(id, e)
	if at := slices.IndexFunc(found, func(f message.Message) bool { return f.Key() == k }); at >= 0 {
		return &found[at], err
	}
	return nil, err // it has gone meanwhile
}

// BrowseInstance gives all messages of an instance: those of its entries in the order
// of their keys, then its record. Markers are not among them.
func (m *Manager) BrowseInstance(id processtable.ProcessID, i message.InstanceID) ([]message.Message, error) {
	found, err := m.browse(append(record.AppendProcess(nil, record.ClassMessage, id), i[:]...))
	if err == nil {
		var records []message.Message
		records, err = m.browse(append(record.AppendProcess(nil, record.ClassRecord, id), i[:]...))
		found = append(found, records...)
	}
	if err != nil {
		return nil, fmt.Errorf("browse instance %s: %w", i, m.judge(err))
	}
	return found, nil
}

// addRecord puts the instance's record where its kind belongs among sink's messages.
func (m *Manager) addRecord(id processtable.ProcessID, e message.Entry, found []message.Message) ([]message.Message, error) {
	records, err := m.browse(record.AppendEntry(record.AppendProcess(nil, record.ClassRecord, id), &e))
	if err != nil || len(records) == 0 {
		return found, err
	}
	at := 0
	for at < len(found) && found[at].Kind < message.KindRecord {
		at++
	}
	return append(found[:at:at], append(records, found[at:]...)...), nil
}

// maxRereads is how often a read begins anew because a body went while it was read.
const maxRereads = 100

// browse gives the messages under a prefix.
func (m *Manager) browse(prefix []byte) ([]message.Message, error) {
	var found []message.Message
	for range maxRereads {
		found = found[:0]
		_, err := m.walk(store.ScanOptions{Prefix: prefix}, func(_ []byte, msg message.Message) bool {
			found = append(found, msg)
			return true
		})
		if !errors.Is(err, errGone) {
			return found, err
		}
	}
	return nil, errGone
}

// browseBytes is how much of message bodies BrowseFrom gives at once, beyond the last
// entry.
const browseBytes = 4 << 20

// BrowseFrom gives up to limit whole entries of a process queue that come after an
// entry in the order of the keys, and says whether there are more; the zero Entry is
// before all. It gives fewer where their bodies have 4 MiB together, but at least one. Entries of sink have the instance's record, but a sink with nothing but
// its record is not among them: see Records.
func (m *Manager) BrowseFrom(id processtable.ProcessID, after message.Entry, limit int) (found []EntryMessages, more bool, err error) {
	for range maxRereads {
		found, more, err = m.browseFrom(id, after, limit)
		if !errors.Is(err, errGone) {
			break
		}
	}
	if err != nil {
		return nil, false, fmt.Errorf("browse queue of %s: %w", id, m.judge(err))
	}
	return found, more, nil
}

func (m *Manager) browseFrom(id processtable.ProcessID, after message.Entry, limit int) ([]EntryMessages, bool, error) {
	o := store.ScanOptions{Prefix: record.AppendProcess(nil, record.ClassMessage, id)}
	if after != (message.Entry{}) {
		o.From = store.After(record.AppendEntry(bytes.Clone(o.Prefix), &after))
	}
	var found []EntryMessages
	size := 0
	more, err := m.walk(o, func(_ []byte, msg message.Message) bool {
		e := msg.Entry()
		if n := len(found); n == 0 || found[n-1].Entry != e {
			if n == limit || size >= browseBytes {
				return false
			}
			found = append(found, EntryMessages{Entry: e})
		}
		last := &found[len(found)-1]
		last.Messages = append(last.Messages, msg)
		size += len(msg.Body)
		return true
	})
	for i := range found {
		if err == nil && found[i].Entry.Activity == processtable.Sink {
			found[i].Messages, err = m.addRecord(id, found[i].Entry, found[i].Messages)
		}
	}
	return found, more, err
}

// Records gives up to limit records of running instances of a process, by instance,
// that come after one, and says whether there are more; the zero instance is before all.
func (m *Manager) Records(id processtable.ProcessID, after message.InstanceID, limit int) (found []message.Message, more bool, err error) {
	o := store.ScanOptions{Prefix: record.AppendProcess(nil, record.ClassRecord, id)}
	if after != (message.InstanceID{}) {
		o.From = store.After(append(bytes.Clone(o.Prefix), after[:]...))
	}
	for range maxRereads {
		found = found[:0]
		more, err = m.walk(o, func(_ []byte, msg message.Message) bool {
			if len(found) == limit {
				return false
			}
			found = append(found, msg)
			return true
		})
		if !errors.Is(err, errGone) {
			break
		}
	}
	if err != nil {
		return nil, false, fmt.Errorf("read records of %s: %w", id, m.judge(err))
	}
	return found, more, nil
}
