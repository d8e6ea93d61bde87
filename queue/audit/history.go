package audit

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"

	"fmqm/internal/store"
	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue/read"
	"fmqm/queue/record"
)

// Ended gives the record that ended an activity, if it has ended: terminated, skipped
// or stopped. For source it is the instance's start, for sink the instance's end. Where
// retention has removed it, it has nothing but Removed, activity and event.
func (q *Queue) Ended(e message.Entry) (record.AuditRecord, bool, error) {
	if q.ends.none(e) {
		return record.AuditRecord{}, false, nil
	}
	key := record.AppendEndKey(nil, &e)
	switch {
	case e.Scope == "" && e.Activity == processtable.Source:
		key = record.AppendInstanceKey(nil, e.Instance, record.InstanceStarted)
	case e.Scope == "" && e.Activity == processtable.Sink:
		key = record.AppendInstanceKey(nil, e.Instance, record.InstanceEnded)
	}
	a, found, err := q.auditAt(key)
	if err != nil || found {
		return a, found, err
	}
	if e.Scope != "" {
		if a, found, err = q.thinnedEnd(e); err != nil || found {
			return a, found, err
		}
	}
	return q.removedEnd(e) // read after it: where that record is gone, this one is there
}

// Instance gives the record of an instance's start, and of its end if it has ended; what
// is left of them where retention has removed them. Found is false at a node where it was
// not started.
func (q *Queue) Instance(i message.InstanceID) (started record.AuditRecord, ended *record.AuditRecord, found bool, err error) {
	started, found, err = q.Ended(message.Entry{Instance: i, Activity: processtable.Source})
	if err != nil || !found {
		return started, nil, false, err
	}
	end, has, err := q.Ended(message.Entry{Instance: i, Activity: processtable.Sink})
	if err != nil {
		return started, nil, false, err
	}
	if has {
		ended = &end
	}
	return started, ended, true, nil
}

// auditAt reads an audit record. Retention may remove it meanwhile, and its body with it.
func (q *Queue) auditAt(key []byte) (a record.AuditRecord, found bool, err error) {
	err = read.Again(func() error {
		value, err := q.records.Get(key)
		if err == nil {
			a, err = q.records.Audit(key, value)
		}
		return err
	})
	switch {
	case errors.Is(err, store.ErrNotFound):
		return record.AuditRecord{}, false, nil
	case err != nil:
		return record.AuditRecord{}, false, fmt.Errorf("audit record %q: %w", record.Readable(key), q.records.Judge(err))
	}
	return a, true, nil
}

// Word gives, of an operator's word about an entry of home, the records that say that it was asked
// here, and how it was answered; nil: there is none. Without home it is one that was carried out,
// or refused, here. It reads the newest first, no further than it must, and no output of what else
// has happened to the instance.
func (q *Queue) Word(e message.Entry, home processtable.NodeID, id message.WordID) (asked, answered *record.AuditRecord, err error) {
	if _, notice := e.Scope.OfNotice(); notice { // it is a line of the activity's history
		e.Scope = e.Scope.Leave()
	}
	o := store.ScanOptions{Prefix: append([]byte{record.ClassHistory}, e.Instance[:]...), Reverse: true, Few: true}
	err = q.records.Each(o, func(key, value []byte) error {
		if content, err := record.Open(key, value); err != nil || !bytes.Contains(content, id[:]) {
			return err
		}
		a, err := q.records.Audit(key, value)
		switch {
		case err != nil || a.Word == nil || a.Word.ID != id || a.Word.Home != home || a.Activity != e.Activity || a.Scope != e.Scope:
			return err
		case a.Word.Result == 0:
			asked = &a
		default:
			answered = &a
		}
		if asked != nil || home == "" { // its answer comes after it
			return read.ErrEnough
		}
		return nil
	})
	if (err == nil || errors.Is(err, read.ErrEnough)) && home == "" && answered == nil { // that of a skip is in the activity's end
		end, ended, e := q.Ended(e)
		if err = e; ended && end.Word != nil && end.Word.ID == id {
			answered = &end
		}
	}
	if err != nil && !errors.Is(err, read.ErrEnough) {
		return nil, nil, fmt.Errorf("word %s about instance %s: %w", id, e.Instance, q.records.Judge(err))
	}
	return asked, answered, nil
}

// History gives what the audit queue has of an instance, in the order of the logical
// clock, and of time where that is the same.
func (q *Queue) History(i message.InstanceID) ([]record.AuditRecord, error) {
	var found []record.AuditRecord
	for _, class := range []byte{record.ClassInstance, record.ClassEnd, record.ClassHistory} {
		before := len(found)
		err := read.Again(func() error {
			found = found[:before]
			return q.records.Each(store.ScanOptions{Prefix: append([]byte{class}, i[:]...)}, func(key, value []byte) error {
				a, err := q.records.Audit(key, value)
				if a.Event != record.EventThinned { // nothing has happened then
					found = append(found, a)
				}
				return err
			})
		})
		if err != nil {
			return nil, fmt.Errorf("history of instance %s: %w", i, q.records.Judge(err))
		}
	}
	slices.SortStableFunc(found, func(a, b record.AuditRecord) int {
		return cmp.Or(cmp.Compare(a.Clock, b.Clock), a.Time.Compare(b.Time))
	})
	return found, nil
}
