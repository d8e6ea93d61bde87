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

// Browse gives the messages of an entry, in the order of their keys: kind, then
// source (BROWSE, paper §2.5). It takes nothing away. Markers are not among them.
func (q *Queues) Browse(id processtable.ProcessID, e message.Entry) ([]message.Message, error) {
	found, err := q.browse(record.AppendEntry(record.AppendProcess(nil, record.ClassMessage, id), &e))
	if err == nil && e.Activity == processtable.Sink {
		found, err = q.addRecord(id, e, found)
	}
	if err != nil {
		return nil, fmt.Errorf("browse %s of instance %s: %w", e.Activity, e.Instance, q.records.Judge(err))
	}
	return found, nil
}

// Message gives the message of an entry that lies under a key, nil if there is none.
func (q *Queues) Message(id processtable.ProcessID, e message.Entry, k message.Key) (*message.Message, error) {
	_, err := q.records.Get(record.AppendMessageKey(nil, id, &e, k))
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("message from %s for %s of instance %s: %w", k.Source, e.Activity, e.Instance, q.records.Judge(err))
	}
	found, err := q.Browse(id, e)
	if at := slices.IndexFunc(found, func(f message.Message) bool { return f.Key() == k }); at >= 0 {
		return &found[at], err
	}
	return nil, err // it has gone meanwhile
}

// BrowseInstance gives all messages of an instance: those of its entries in the order
// of their keys, then its record. Markers are not among them.
func (q *Queues) BrowseInstance(id processtable.ProcessID, i message.InstanceID) ([]message.Message, error) {
	found, err := q.browse(append(record.AppendProcess(nil, record.ClassMessage, id), i[:]...))
	if err == nil {
		var records []message.Message
		records, err = q.browse(append(record.AppendProcess(nil, record.ClassRecord, id), i[:]...))
		found = append(found, records...)
	}
	if err != nil {
		return nil, fmt.Errorf("browse instance %s: %w", i, q.records.Judge(err))
	}
	return found, nil
}

// addRecord puts the instance's record where its kind belongs among sink's messages.
func (q *Queues) addRecord(id processtable.ProcessID, e message.Entry, found []message.Message) ([]message.Message, error) {
	records, err := q.recordOf(id, &e)
	if err != nil || len(records) == 0 {
		return found, err
	}
	at := 0
	for at < len(found) && found[at].Kind < message.KindRecord {
		at++
	}
	return append(found[:at:at], append(records, found[at:]...)...), nil
}

// recordOf gives the instance's record. A start puts it from source (N1), so that it is read under
// that key; only where there is none is it looked for.
func (q *Queues) recordOf(id processtable.ProcessID, e *message.Entry) (found []message.Message, err error) {
	key := record.AppendMessageKey(nil, id, e, message.Key{Kind: message.KindRecord, Source: processtable.Source, Scope: e.Scope})
	err = read.Again(func() error {
		m, err := q.records.Message(key)
		found = []message.Message{m}
		return err
	})
	if errors.Is(err, store.ErrNotFound) {
		return q.browse(record.AppendEntry(record.AppendProcess(nil, record.ClassRecord, id), e))
	}
	return found, err
}

// childLooks is how many keys BegunBy looks at.
const childLooks = 1000

// BegunBy gives the instance that an activity of some rows has begun for an instance (N19): of the first, in the order of
// keys, that is under way; the zero one: it has begun none now, or there is none among the first keys of the instance.
func (q *Queues) BegunBy(id processtable.ProcessID, i message.InstanceID, rows func(processtable.RowID) bool) (c message.Child, err error) {
	prefix := append(record.AppendProcess(nil, record.ClassMessage, id), i[:]...)
	var at []byte
	looks := 0
	err = q.records.Each(store.ScanOptions{Prefix: prefix, KeysOnly: true}, func(key, _ []byte) error {
		k := record.KeyReader{Rest: key[len(prefix)-len(i):]}
		e := k.Entry()
		m := k.MessageKey(&e)
		if err := k.End(); err != nil {
			return record.Damaged(key, err.Error())
		}
		if m.Kind == message.KindSnapshot && rows(e.Row()) {
			at = bytes.Clone(key)
		}
		if looks++; at != nil || looks == childLooks {
			return read.ErrEnough
		}
		return nil
	})
	if err == nil || errors.Is(err, read.ErrEnough) {
		c, err = q.childIn(at)
	}
	if err != nil {
		return c, fmt.Errorf("look for what instance %s has begun: %w", i, q.records.Judge(err))
	}
	return c, nil
}

// childIn is the instance that a snapshot says was begun; the zero one: none was, or the snapshot is gone.
func (q *Queues) childIn(key []byte) (c message.Child, err error) {
	if key == nil {
		return c, nil
	}
	err = read.Again(func() error {
		m, err := q.records.Message(key)
		if err != nil {
			return err
		}
		s, err := message.DecodeSnapshot(m.Body)
		if err == nil && s.Begun {
			c = s.Child
		}
		return err
	})
	if errors.Is(err, store.ErrNotFound) {
		return message.Child{}, nil
	}
	return c, err
}

// browse gives the messages under a prefix.
func (q *Queues) browse(prefix []byte) ([]message.Message, error) {
	var found []message.Message
	err := read.Again(func() error {
		found = found[:0]
		_, err := q.records.Messages(store.ScanOptions{Prefix: prefix}, func(_ []byte, msg message.Message) bool {
			found = append(found, msg)
			return true
		})
		return err
	})
	return found, err
}

// browseBytes is how much of message bodies BrowseFrom gives at once, beyond the last
// entry.
const browseBytes = 4 << 20

// BrowseFrom gives up to limit whole entries of a process queue that come after an
// entry in the order of the keys, and says whether there are more; the zero Entry is
// before all. It gives fewer where their bodies have 4 MiB together, but at least one. Entries of sink have the instance's record, but a sink with nothing but
// its record is not among them: see Records.
func (q *Queues) BrowseFrom(id processtable.ProcessID, after message.Entry, limit int) (found []record.EntryMessages, more bool, err error) {
	err = read.Again(func() (err error) {
		found, more, err = q.browseFrom(id, after, limit)
		return err
	})
	if err != nil {
		return nil, false, fmt.Errorf("browse queue of %s: %w", id, q.records.Judge(err))
	}
	return found, more, nil
}

func (q *Queues) browseFrom(id processtable.ProcessID, after message.Entry, limit int) ([]record.EntryMessages, bool, error) {
	o := store.ScanOptions{Prefix: record.AppendProcess(nil, record.ClassMessage, id)}
	if after != (message.Entry{}) {
		o.From = store.After(record.AppendEntry(bytes.Clone(o.Prefix), &after))
	}
	var found []record.EntryMessages
	size := 0
	more, err := q.records.Messages(o, func(_ []byte, msg message.Message) bool {
		e := msg.Entry()
		if n := len(found); n == 0 || found[n-1].Entry != e {
			if n == limit || size >= browseBytes {
				return false
			}
			found = append(found, record.EntryMessages{Entry: e})
		}
		last := &found[len(found)-1]
		last.Messages = append(last.Messages, msg)
		size += len(msg.Body)
		return true
	})
	for i := range found {
		if err == nil && found[i].Entry.Activity == processtable.Sink {
			found[i].Messages, err = q.addRecord(id, found[i].Entry, found[i].Messages)
		}
	}
	return found, more, err
}

// Records gives up to limit records of running instances of a process, by instance,
// that come after one, and says whether there are more; the zero instance is before all.
func (q *Queues) Records(id processtable.ProcessID, after message.InstanceID, limit int) (found []message.Message, more bool, err error) {
	o := store.ScanOptions{Prefix: record.AppendProcess(nil, record.ClassRecord, id)}
	if after != (message.InstanceID{}) {
		o.From = store.After(append(bytes.Clone(o.Prefix), after[:]...))
	}
	err = read.Again(func() (err error) {
		found = found[:0]
		more, err = q.records.Messages(o, func(_ []byte, msg message.Message) bool {
			if len(found) == limit {
				return false
			}
			found = append(found, msg)
			return true
		})
		return err
	})
	if err != nil {
		return nil, false, fmt.Errorf("read records of %s: %w", id, q.records.Judge(err))
	}
	return found, more, nil
}

// HasActivity says whether anything of an instance lies at an activity here, in any scope. It reads keys only.
func (q *Queues) HasActivity(id processtable.ProcessID, i message.InstanceID, activity processtable.ActivityID) (has bool, err error) {
	prefix := record.AppendProcess(nil, record.ClassMessage, id)
	o := store.ScanOptions{Prefix: append(bytes.Clone(prefix), i[:]...), KeysOnly: true}
	err = q.records.Each(o, func(key, _ []byte) error {
		k := record.KeyReader{Rest: key[len(prefix):]}
		e := k.Entry()
		if k.Bad {
			return record.Damaged(key, record.ErrKey.Error())
		}
		if has = e.Activity == activity; has {
			return read.ErrEnough
		}
		return nil
	})
	if err != nil && !errors.Is(err, read.ErrEnough) {
		return false, fmt.Errorf("look for %s of instance %s: %w", activity, i, q.records.Judge(err))
	}
	return has, nil
}

// Count gives how many messages of a kind a process queue has. It reads their keys only.
func (q *Queues) Count(id processtable.ProcessID, kind message.Kind) (n int, err error) {
	o := store.ScanOptions{Prefix: record.AppendProcess(nil, record.ClassMessage, id), KeysOnly: true}
	err = q.records.Each(o, func(key, _ []byte) error {
		k := record.KeyReader{Rest: key[len(o.Prefix):]}
		e := k.Entry()
		m := k.MessageKey(&e)
		if err := k.End(); err != nil {
			return record.Damaged(key, err.Error())
		}
		if m.Kind == kind {
			n++
		}
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("count messages of the queue of %s: %w", id, q.records.Judge(err))
	}
	return n, nil
}
