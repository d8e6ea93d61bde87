package queue

import (
	"bytes"
	"errors"
	"fmt"
	"time"

	"fmqm/internal/store"
	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue/record"
)

// Removed says what is left of an instance whose audit was removed here; false: none was.
// Where nothing ever was, that is known from memory.
func (m *Manager) Removed(i message.InstanceID) (Removed, bool, error) {
	if !m.thinned.Load() {
		return Removed{}, false, nil
	}
	key := record.RemovedKey(i)
	value, err := m.engine.Get(key)
	if errors.Is(err, store.ErrNotFound) {
		return Removed{}, false, nil
	}
	if err != nil {
		return Removed{}, false, fmt.Errorf("read what is left of instance %s: %w", i, err)
	}
	r, err := record.ReadRemoved(key, value)
	return r, err == nil, err
}

// loadRemoved finds, at open, whether anything was ever removed.
func (m *Manager) loadRemoved() error {
	err := m.scan(store.ScanOptions{Prefix: []byte{record.ClassRemoved}, KeysOnly: true}, func([]byte, []byte) error {
		m.thinned.Store(true)
		return errEnough
	})
	if errors.Is(err, errEnough) {
		return nil
	}
	return err
}

// CountRemoved counts the instances whose audit was removed. It costs time with their
// number.
func (m *Manager) CountRemoved() (n uint64, err error) {
	err = m.scan(store.ScanOptions{Prefix: []byte{record.ClassRemoved}, KeysOnly: true}, func([]byte, []byte) error {
		n++
		return nil
	})
	return n, err
}

// removedEnd stands for the record that an entry was ended with: of an instance whose
// audit was removed, every entry has ended.
func (m *Manager) removedEnd(e message.Entry) (AuditRecord, bool, error) {
	r, removed, err := m.Removed(e.Instance)
	if err != nil || !removed {
		return AuditRecord{}, false, err
	}
	if e.Scope == "" && (e.Activity == processtable.Source || e.Activity == processtable.Sink) {
		if r.Start == nil {
			return AuditRecord{}, false, nil
		}
		if e.Activity == processtable.Source {
			return r.Started(), true, nil
		}
		return r.Ended(), true, nil
	}
	end := r.Record(e.Activity, EventTerminated, r.Time)
	end.Scope = e.Scope
	return end, true, nil
}

// AuditSize is what the audit queue has of one instance.
type AuditSize struct {
	Instance message.InstanceID
	Process  processtable.ProcessID
	Origin   processtable.NodeID // empty where instances of two origins have this identifier
	Bytes    int64               // of records and what they have staged, before the engine's own
	Last     time.Time           // of the newest record
	Over     bool                // it was started here, and has ended
	Ended    []processtable.ActivityID
	Removed  *Removed // not nil: it is being removed, and the rest is to go
}

// AuditSizes gives what the audit queue has of up to limit instances, by their
// identifiers, from behind after on.
func (m *Manager) AuditSizes(after message.InstanceID, limit int) ([]AuditSize, error) {
	ids, err := m.instancesOf([]byte{record.ClassInstance, record.ClassEnd, record.ClassHistory}, after, limit)
	if err != nil || len(ids) == 0 {
		return nil, err
	}
	sizes := make(map[message.InstanceID]*AuditSize, len(ids))
	for _, id := range ids {
		sizes[id] = &AuditSize{Instance: id}
	}
	for _, class := range []byte{record.ClassInstance, record.ClassEnd, record.ClassHistory, record.ClassRemoved} {
		o := store.ScanOptions{Prefix: []byte{class}, From: append([]byte{class}, ids[0][:]...)}
		err := m.scan(o, func(key, value []byte) error {
			id, err := instanceOf(key)
			switch {
			case err != nil:
				return err
			case bytes.Compare(id[:], ids[len(ids)-1][:]) > 0:
				return errEnough
			case sizes[id] == nil: // it came since
				return nil
			}
			return sizes[id].add(key, value)
		})
		if err != nil && !errors.Is(err, errEnough) {
			return nil, fmt.Errorf("read the size of the audit queue: %w", err)
		}
	}
	all := make([]AuditSize, len(ids))
	for i, id := range ids {
		all[i] = *sizes[id]
	}
	return all, nil
}

// AuditSizeOf gives what the audit queue has of one instance; false: nothing.
func (m *Manager) AuditSizeOf(i message.InstanceID) (s AuditSize, found bool, err error) {
	s.Instance = i
	for _, class := range []byte{record.ClassInstance, record.ClassEnd, record.ClassHistory, record.ClassRemoved} {
		err := m.scan(store.ScanOptions{Prefix: append([]byte{class}, i[:]...)}, func(key, value []byte) error {
			found = found || class != record.ClassRemoved
			return s.add(key, value)
		})
		if err != nil {
			return s, false, fmt.Errorf("read the size of the audit of instance %s: %w", i, err)
		}
	}
	return s, found, nil
}

func instanceOf(key []byte) (id message.InstanceID, err error) {
	if len(key) < 1+len(id) {
		return id, record.Damaged(key, record.ErrKey.Error())
	}
	return message.InstanceID(key[1 : 1+len(id)]), nil
}

// add counts one record of the instance.
func (s *AuditSize) add(key, value []byte) error {
	if key[0] == record.ClassRemoved {
		r, err := record.ReadRemoved(key, value)
		s.Removed = &r
		return err
	}
	a, ref, err := record.ReadAuditHead(key, value)
	if err != nil {
		return err
	}
	if s.Bytes == 0 {
		s.Process, s.Origin = a.Process, a.Origin
	}
	if s.Origin != a.Origin {
		s.Origin = ""
	}
	s.Bytes += int64(len(key) + len(value) + ref.Size)
	if a.Time.After(s.Last) {
		s.Last = a.Time
	}
	switch which, ends := record.EndOf(&a); {
	case which == record.InstanceEnded:
		s.Over = true
	case ends && a.Scope == "":
		s.Ended = append(s.Ended, a.Activity)
	}
	return nil
}

// Forget says whose audit is to go.
type Forget struct {
	Instance message.InstanceID
	Stopped  bool      // an operator ended it
	Time     time.Time // now, for people
	Limit    int       // audit records of one transaction, at least 1
}

// Forget gives a transaction that removes audit records of an instance and leaves in
// their place what [Removed] tells, with the first of them; more says that others are
// left. Who is killed before the others are gone finds the instance again, as being
// removed. The caller knows that the instance has ended, and that nothing of it is or can
// be under way here. Records of another instance of the same identifier stay.
//
// It is refused if there is nothing to remove.
func (m *Manager) Forget(f Forget) (tx *Tx, more bool, err error) {
	s, found, err := m.AuditSizeOf(f.Instance)
	if err == nil && !found {
		err = fmt.Errorf("forget instance %s: it has no audit here", f.Instance)
	}
	if err != nil {
		return nil, false, err
	}
	r := s.Removed
	if r == nil {
		r = &Removed{Instance: f.Instance, Process: s.Process, Origin: s.Origin, Time: f.Time, Stopped: f.Stopped}
		if r.Start, err = m.startOf(f.Instance); err != nil {
			return nil, false, err
		}
	}
	tx = &Tx{forget: []store.Op{{Key: record.RemovedKey(f.Instance), Value: record.EncodeRemoved(r)}}}
	records := 0
	for _, class := range []byte{record.ClassInstance, record.ClassEnd, record.ClassHistory} {
		err := m.scan(store.ScanOptions{Prefix: append([]byte{class}, f.Instance[:]...)}, func(key, value []byte) error {
			a, ref, err := record.ReadAuditHead(key, value)
			if err != nil || a.Origin != r.Origin {
				return err
			}
			if records == f.Limit {
				more = true
				return errEnough
			}
			records++
			tx.forget = appendForgotten(tx.forget, bytes.Clone(key), &a, ref)
			return nil
		})
		if err != nil && !errors.Is(err, errEnough) {
			return nil, false, fmt.Errorf("forget instance %s: %w", f.Instance, err)
		}
	}
	m.thinned.Store(true) // before a record is missing
	return tx, more, nil
}

// startOf gives what stays of the start and the end of an instance that was started here.
func (m *Manager) startOf(i message.InstanceID) (*RemovedStart, error) {
	started, ended, found, err := m.Instance(i)
	switch {
	case err != nil || !found:
		return nil, err
	case ended == nil:
		return nil, fmt.Errorf("forget instance %s: it has not ended", i)
	}
	return &RemovedStart{
		Definition: started.Definition, Input: SumInput(started.Output), Key: started.Reason,
		Started: started.Time, Ended: ended.Time,
	}, nil
}

// appendForgotten adds the removal of an audit record, of what it has staged, and of its
// place in the list of instances.
func appendForgotten(ops []store.Op, key []byte, a *AuditRecord, ref record.BodyRef) []store.Op {
	ops = append(ops, store.Op{Key: key})
	if a.Event == EventStarted {
		ops = append(ops, store.Op{Key: record.AppendStartKey(nil, a.Time, a.Instance)})
	}
	for i := range ref.Count {
		ops = append(ops, store.Op{Key: record.AppendChunkKey(nil, ref.ID, i)})
	}
	return ops
}
