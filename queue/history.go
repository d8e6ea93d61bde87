package queue

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"fmqm/internal/store"
	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue/record"
)

// Ended gives the record that ended an activity, if it has ended: terminated, skipped
// or stopped. For source it is the instance's start, for sink the instance's end. Where
// retention has removed it, it has nothing but Removed, activity and event.
func (m *Manager) Ended(e message.Entry) (AuditRecord, bool, error) {
	key := record.AppendEndKey(nil, &e)
	switch {
	case e.Scope == "" && e.Activity == processtable.Source:
		key = record.AppendInstanceKey(nil, e.Instance, record.InstanceStarted)
	case e.Scope == "" && e.Activity == processtable.Sink:
		key = record.AppendInstanceKey(nil, e.Instance, record.InstanceEnded)
	}
	a, found, err := m.auditAt(key)
	if err != nil || found {
		return a, found, err
	}
	return m.removedEnd(e) // read after it: where that record is gone, this one is there
}

// Instance gives the record of an instance's start, and of its end if it has ended; what
// is left of them where retention has removed them. Found is false at a node where it was
// not started.
func (m *Manager) Instance(i message.InstanceID) (started AuditRecord, ended *AuditRecord, found bool, err error) {
	started, found, err = m.Ended(message.Entry{Instance: i, Activity: processtable.Source})
	if err != nil || !found {
		return started, nil, false, err
	}
	end, has, err := m.Ended(message.Entry{Instance: i, Activity: processtable.Sink})
	if err != nil {
		return started, nil, false, err
	}
	if has {
		ended = &end
	}
	return started, ended, true, nil
}

func (m *Manager) auditAt(key []byte) (AuditRecord, bool, error) {
	value, err := m.engine.Get(key)
	if errors.Is(err, store.ErrNotFound) {
		return AuditRecord{}, false, nil
	}
	if err != nil {
		return AuditRecord{}, false, fmt.Errorf("audit record %q: %w", record.Readable(key), err)
	}
	a, err := m.readAudit(key, value)
	return a, err == nil, err
}

// History gives what the audit queue has of an instance, in the order of the logical
// clock, and of time where that is the same.
func (m *Manager) History(i message.InstanceID) ([]AuditRecord, error) {
	var found []AuditRecord
	for _, class := range []byte{record.ClassInstance, record.ClassEnd, record.ClassHistory} {
		err := m.scan(store.ScanOptions{Prefix: append([]byte{class}, i[:]...)}, func(key, value []byte) error {
			a, err := m.readAudit(key, value)
			found = append(found, a)
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("history of instance %s: %w", i, err)
		}
	}
	slices.SortStableFunc(found, func(a, b AuditRecord) int {
		return cmp.Or(cmp.Compare(a.Clock, b.Clock), a.Time.Compare(b.Time))
	})
	return found, nil
}
