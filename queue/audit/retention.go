package audit

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"fmqm/internal/store"
	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue/read"
	"fmqm/queue/record"
)

// Removed says what is left of an instance whose audit was removed here; false: none was.
// Where nothing ever was, that is known from memory.
func (q *Queue) Removed(i message.InstanceID) (record.Removed, bool, error) {
	if !q.thinned.Load() {
		return record.Removed{}, false, nil
	}
	key := record.RemovedKey(i)
	value, err := q.records.Get(key)
	if errors.Is(err, store.ErrNotFound) {
		return record.Removed{}, false, nil
	}
	var r record.Removed
	if err == nil {
		r, err = record.ReadRemoved(key, value)
	}
	if err != nil {
		return record.Removed{}, false, fmt.Errorf("read what is left of instance %s: %w", i, q.records.Judge(err))
	}
	return r, true, nil
}

// loadRemoved finds, at open, whether anything was ever removed.
func (q *Queue) loadRemoved() error {
	err := q.records.Each(store.ScanOptions{Prefix: []byte{record.ClassRemoved}, KeysOnly: true}, func([]byte, []byte) error {
		q.thinned.Store(true)
		return read.ErrEnough
	})
	if errors.Is(err, read.ErrEnough) {
		return nil
	}
	return err
}

// CountRemoved counts the instances whose audit was removed. It costs time with their
// number.
func (q *Queue) CountRemoved() (n uint64, err error) {
	err = q.records.Each(store.ScanOptions{Prefix: []byte{record.ClassRemoved}, KeysOnly: true}, func([]byte, []byte) error {
		n++
		return nil
	})
	return n, err
}

// removedEnd stands for the record that an entry was ended with: of an instance whose
// audit was removed, every entry has ended.
func (q *Queue) removedEnd(e message.Entry) (record.AuditRecord, bool, error) {
	r, removed, err := q.Removed(e.Instance)
	if err != nil || !removed {
		return record.AuditRecord{}, false, err
	}
	if e.Scope == "" && (e.Activity == processtable.Source || e.Activity == processtable.Sink) {
		if r.Start == nil {
			return record.AuditRecord{}, false, nil
		}
		if e.Activity == processtable.Source {
			return r.Started(), true, nil
		}
		return r.Ended(), true, nil
	}
	end := r.Record(e.Activity, record.EventTerminated, r.Time)
	end.Scope = e.Scope
	return end, true, nil
}

// Size is what the audit queue has of one instance.
type Size struct {
	Instance message.InstanceID
	Process  processtable.ProcessID
	Origin   processtable.NodeID                // empty where instances of two origins have this identifier
	Bytes    int64                              // of records and what they have staged, before the engine's own
	Last     time.Time                          // of the newest record
	Over     bool                               // it was started here, and has ended
	Ended    []processtable.ActivityID          // at the top of the process
	Inside   map[processtable.ActivityID]Scopes // of composites: in which scopes each has ended; nil: none has
	Removed  *record.Removed                    // not nil: it is being removed, and the rest is to go

	sure bool // Process and Origin are what the instance itself says
}

// Scopes is a set of scopes, in little room however many there are: equal sets are equal, and others
// are not, but by a chance of one in 2^64.
type Scopes struct {
	count int
	sum   uint64 // of the scopes' hashes
}

// with is the set with one more scope: each has one end of an activity.
func (s Scopes) with(scope message.Scope) Scopes {
	sum := sha256.Sum256([]byte(scope))
	return Scopes{s.count + 1, s.sum + binary.BigEndian.Uint64(sum[:])}
}

// AuditSizes gives what the audit queue has of up to limit instances, by their
// identifiers, from behind after on.
func (q *Queue) AuditSizes(after message.InstanceID, limit int) ([]Size, error) {
	ids, err := q.instancesOf([]byte{record.ClassInstance, record.ClassEnd, record.ClassHistory}, after, limit)
	if err != nil || len(ids) == 0 {
		return nil, err
	}
	sizes := make(map[message.InstanceID]*Size, len(ids))
	for _, id := range ids {
		sizes[id] = &Size{Instance: id}
	}
	for _, class := range []byte{record.ClassInstance, record.ClassEnd, record.ClassHistory, record.ClassRemoved} {
		o := store.ScanOptions{Prefix: []byte{class}, From: append([]byte{class}, ids[0][:]...)}
		err := q.records.Each(o, func(key, value []byte) error {
			id, err := instanceOf(key)
			switch {
			case err != nil:
				return err
			case bytes.Compare(id[:], ids[len(ids)-1][:]) > 0:
				return read.ErrEnough
			case sizes[id] == nil: // it came since
				return nil
			}
			return sizes[id].add(key, value)
		})
		if err != nil && !errors.Is(err, read.ErrEnough) {
			return nil, fmt.Errorf("read the size of the audit queue: %w", q.records.Judge(err))
		}
	}
	all := make([]Size, len(ids))
	for i, id := range ids {
		all[i] = *sizes[id]
	}
	return all, nil
}

// AuditSizeOf gives what the audit queue has of one instance; false: nothing.
func (q *Queue) AuditSizeOf(i message.InstanceID) (s Size, found bool, err error) {
	s.Instance = i
	for _, class := range []byte{record.ClassInstance, record.ClassEnd, record.ClassHistory, record.ClassRemoved} {
		err := q.records.Each(store.ScanOptions{Prefix: append([]byte{class}, i[:]...)}, func(key, value []byte) error {
			found = found || class != record.ClassRemoved
			return s.add(key, value)
		})
		if err != nil {
			return s, false, fmt.Errorf("read the size of the audit of instance %s: %w", i, q.records.Judge(err))
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
func (s *Size) add(key, value []byte) error {
	if key[0] == record.ClassRemoved {
		r, err := record.ReadRemoved(key, value)
		s.Removed = &r
		return err
	}
	a, ref, err := record.ReadAuditHead(key, value)
	if err != nil {
		return err
	}
	switch {
	case a.Hearsay():
		if !s.sure && s.Origin == "" {
			s.Process, s.Origin = a.Process, a.Origin
		}
	case a.Origin == "": // what an instance that was begun has come back with: where that ended, nobody knew where this one was started
	case !s.sure:
		s.Process, s.Origin, s.sure = a.Process, a.Origin, true
	case s.Origin != a.Origin:
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
	case ends:
		if s.Inside == nil {
			s.Inside = map[processtable.ActivityID]Scopes{}
		}
		s.Inside[a.Activity] = s.Inside[a.Activity].with(a.Scope)
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
// Of an event that was passed on (N24) nothing is left. It is refused if there is nothing to remove.
func (q *Queue) Forget(f Forget) (tx *record.Tx, more bool, err error) {
	s, found, err := q.AuditSizeOf(f.Instance)
	if err == nil && !found {
		err = fmt.Errorf("forget instance %s: it has no audit here", f.Instance)
	}
	if err != nil {
		return nil, false, err
	}
	r := s.Removed
	if r == nil {
		r = &record.Removed{Instance: f.Instance, Process: s.Process, Origin: s.Origin, Time: f.Time, Stopped: f.Stopped}
		if r.Start, err = q.startOf(f.Instance); err != nil {
			return nil, false, err
		}
	}
	tx = &record.Tx{}
	if r.Process != processtable.EventQueue { // what was passed on comes from nobody again (N24)
		tx.Forget = append(tx.Forget, store.Op{Key: record.RemovedKey(f.Instance), Value: record.EncodeRemoved(r)})
	}
	records := 0
	for _, class := range []byte{record.ClassInstance, record.ClassEnd, record.ClassHistory} {
		err := q.records.Each(store.ScanOptions{Prefix: append([]byte{class}, f.Instance[:]...)}, func(key, value []byte) error {
			a, ref, err := record.ReadAuditHead(key, value)
			if err != nil || a.Origin != r.Origin && a.Origin != "" && !a.Hearsay() {
				return err
			}
			if records == f.Limit {
				more = true
				return read.ErrEnough
			}
			records++
			tx.Forget = appendForgotten(tx.Forget, bytes.Clone(key), &a, ref)
			if a.Event != record.EventStarted {
				return nil
			}
			tx.Forget, err = q.appendUnlisted(tx.Forget, &a)
			return err
		})
		if err != nil && !errors.Is(err, read.ErrEnough) {
			return nil, false, fmt.Errorf("forget instance %s: %w", f.Instance, q.records.Judge(err))
		}
	}
	q.thinned.Store(true) // both before a record is missing
	q.ends.add(message.Entry{Instance: f.Instance})
	return tx, more, nil
}

// startOf gives what stays of the start and the end of an instance that was started here.
func (q *Queue) startOf(i message.InstanceID) (*record.RemovedStart, error) {
	started, ended, found, err := q.Instance(i)
	switch {
	case err != nil || !found:
		return nil, err
	case ended == nil:
		return nil, fmt.Errorf("forget instance %s: it has not ended", i)
	}
	return &record.RemovedStart{
		Definition: started.Definition, Input: record.SumInput(started.Output), Key: started.Reason,
		Started: started.Time, Ended: ended.Time,
	}, nil
}

// appendUnlisted adds the removal of what the index has of an instance that has ended. What it has begun may run on,
// and be in error.
func (q *Queue) appendUnlisted(ops []store.Op, a *record.AuditRecord) ([]store.Op, error) {
	at := record.StandingOf(a)
	for _, l := range []record.Listed{record.ListedFinished, record.ListedStopped} {
		ops = append(ops, store.Op{Key: record.AppendListedKey(nil, l, at, a.Instance)})
	}
	err := q.records.Each(store.ScanOptions{Prefix: record.AppendListedKey(nil, record.ListedInError, at, a.Instance), KeysOnly: true}, func(key, _ []byte) error {
		ops = append(ops, store.Op{Key: bytes.Clone(key)})
		return nil
	})
	return ops, err
}

// appendForgotten adds the removal of an audit record, of what it has staged, and of its
// place in the list of instances.
func appendForgotten(ops []store.Op, key []byte, a *record.AuditRecord, ref record.BodyRef) []store.Op {
	ops = append(ops, store.Op{Key: key})
	if a.Event == record.EventStarted {
		ops = append(ops, store.Op{Key: record.AppendStartKey(nil, a.Time, a.Instance)})
	}
	for i := range ref.Count {
		ops = append(ops, store.Op{Key: record.AppendChunkKey(nil, ref.ID, i)})
	}
	return ops
}
