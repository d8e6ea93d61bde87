package queue

import (
	"bytes"
	"cmp"
	"container/heap"
	"errors"
	"fmt"
	"math"
	"slices"

	"fmqm/internal/cbor"
	"fmqm/internal/store"
	"fmqm/message"
	"fmqm/processtable"
)

// endOf says where an audit record is found by its activity: as the start or end of
// its instance (which), or as the end of an activity.
func endOf(a *AuditRecord) (which byte, ends bool) {
	top := a.Scope == ""
	switch a.Event {
	case EventStarted:
		return instanceStarted, false
	case EventEnded:
		return instanceEnded, false
	case EventStopped:
		if top && a.Activity == processtable.Sink {
			return instanceEnded, false
		}
		return 0, true
	case EventTerminated, EventSkipped:
		return 0, true
	case EventIterated, EventFailed, EventInError, EventRetried, EventPassed, EventDropped:
		return 0, false
	}
	return 0, false
}

// Ended gives the record that ended an activity, if it has ended: terminated, skipped
// or stopped. For source it is the instance's start, for sink the instance's end. Where
// retention has removed it, it has nothing but Removed, activity and event.
func (m *Manager) Ended(e message.Entry) (AuditRecord, bool, error) {
	key := appendEndKey(nil, &e)
	switch {
	case e.Scope == "" && e.Activity == processtable.Source:
		key = appendInstanceKey(nil, e.Instance, instanceStarted)
	case e.Scope == "" && e.Activity == processtable.Sink:
		key = appendInstanceKey(nil, e.Instance, instanceEnded)
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
		return AuditRecord{}, false, fmt.Errorf("audit record %q: %w", readable(key), err)
	}
	a, err := m.readAudit(key, value)
	return a, err == nil, err
}

// History gives what the audit queue has of an instance, in the order of the logical
// clock, and of time where that is the same.
func (m *Manager) History(i message.InstanceID) ([]AuditRecord, error) {
	var found []AuditRecord
	for _, class := range []byte{classInstance, classEnd, classHistory} {
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

// ListOptions say which instances to list.
type ListOptions struct {
	// All lists also those that have ended.
	All bool
	// Limit is how many; 100 if 0.
	Limit int
	// Before continues a list: only what was started before this instance.
	Before message.InstanceID
}

const defaultListLimit = 100

// InstanceInfo is an instance that was started here.
type InstanceInfo struct {
	Started AuditRecord
	Ended   *AuditRecord // nil: it runs
}

// Instances lists instances that were started here, the newest first. Without All it
// costs time with the number of running instances, with All only with Limit.
func (m *Manager) Instances(o ListOptions) ([]InstanceInfo, error) {
	if o.Limit <= 0 {
		o.Limit = defaultListLimit
	}
	var before []byte
	if o.Before != (message.InstanceID{}) {
		started, _, found, err := m.Instance(o.Before)
		if err != nil {
			return nil, fmt.Errorf("list instances: %w", err)
		}
		if !found {
			return nil, fmt.Errorf("list instances: %s was not started here", o.Before)
		}
		before = appendStartKey(nil, started.Time, o.Before)
	}
	list := m.running
	if o.All {
		list = m.started
	}
	keys, err := list(before, o.Limit)
	if err != nil {
		return nil, fmt.Errorf("list instances: %w", err)
	}
	infos := make([]InstanceInfo, 0, len(keys))
	for _, key := range keys {
		started, ended, found, err := m.Instance(message.InstanceID(key[9:]))
		if err != nil {
			return nil, fmt.Errorf("list instances: %w", err)
		}
		if found && (o.All || ended == nil) {
			infos = append(infos, InstanceInfo{Started: started, Ended: ended})
		}
	}
	return infos, nil
}

// started gives the keys of the newest starts before a key.
func (m *Manager) started(before []byte, limit int) ([][]byte, error) {
	var keys [][]byte
	o := store.ScanOptions{Prefix: []byte{classStart}, From: before, Reverse: true, KeysOnly: true}
	err := m.scan(o, func(key, _ []byte) error {
		switch {
		case before != nil && bytes.Compare(key, before) >= 0:
			return nil
		case len(key) != 1+8+16:
			return damaged(key, errKey.Error())
		}
		keys = append(keys, bytes.Clone(key))
		if len(keys) == limit {
			return errEnough
		}
		return nil
	})
	if errors.Is(err, errEnough) {
		err = nil
	}
	return keys, err
}

// running gives what started gives, of running instances only: it reads their records
// and keeps the newest.
func (m *Manager) running(before []byte, limit int) ([][]byte, error) {
	var newest startHeap
	_, err := m.walk(store.ScanOptions{Prefix: []byte{classRecord}}, func(_ []byte, msg message.Message) bool {
		record, err := message.DecodeRecord(msg.Body)
		if err != nil {
			return true // whoever folds it says so
		}
		key := appendStartKey(nil, record.Started, msg.Instance)
		if before != nil && bytes.Compare(key, before) >= 0 {
			return true
		}
		heap.Push(&newest, key)
		if len(newest) > limit {
			heap.Pop(&newest)
		}
		return true
	})
	slices.SortFunc(newest, func(a, b []byte) int { return bytes.Compare(b, a) })
	return newest, err
}

// startHeap has the oldest start on top.
type startHeap [][]byte

func (h startHeap) Len() int           { return len(h) }
func (h startHeap) Less(i, j int) bool { return bytes.Compare(h[i], h[j]) < 0 }
func (h startHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *startHeap) Push(x any)        { *h = append(*h, x.([]byte)) }
func (h *startHeap) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}

// SetAsideList gives up to limit messages that were set aside, the newest first (L5).
func (m *Manager) SetAsideList(limit int) ([]SetAside, error) {
	return m.SetAsideBefore(math.MaxUint64, limit)
}

// SetAsideBefore is SetAsideList of those with a number below before.
func (m *Manager) SetAsideBefore(before uint64, limit int) ([]SetAside, error) {
	var found []SetAside
	if before == 0 {
		return nil, nil
	}
	o := store.ScanOptions{Prefix: []byte{classSetAside}, From: appendSetAsideKey(nil, before-1), Reverse: true}
	err := m.scan(o, func(key, value []byte) error {
		if len(found) == limit {
			return errEnough
		}
		s, err := m.readSetAside(key, value)
		found = append(found, s)
		return err
	})
	if err != nil && !errors.Is(err, errEnough) {
		return nil, fmt.Errorf("messages set aside: %w", err)
	}
	return found, nil
}

// SetAsideAfter gives up to limit messages that were set aside with a number above after, the
// oldest first.
func (m *Manager) SetAsideAfter(after uint64, limit int) ([]SetAside, error) {
	var found []SetAside
	if after == math.MaxUint64 {
		return nil, nil
	}
	o := store.ScanOptions{Prefix: []byte{classSetAside}, From: appendSetAsideKey(nil, after+1)}
	err := m.scan(o, func(key, value []byte) error {
		s, err := m.readSetAside(key, value)
		if found = append(found, s); err == nil && len(found) == limit {
			err = errEnough
		}
		return err
	})
	if err != nil && !errors.Is(err, errEnough) {
		return nil, fmt.Errorf("messages set aside: %w", err)
	}
	return found, nil
}

func (m *Manager) readSetAside(key, value []byte) (s SetAside, err error) {
	content, err := openRecord(key, value)
	if err != nil {
		return s, err
	}
	p, _, err := readPlace(key, bytes.Clone(content))
	if err != nil {
		return s, err
	}
	body, err := m.body(p)
	if err != nil {
		return s, err
	}
	k := keyReader{rest: key[1:]}
	if s.Number = k.uint64(); k.end() != nil {
		return s, damaged(key, errKey.Error())
	}
	r := cbor.NewReader(body)
	for f := r.Map(); f.Next(); {
		switch f.Key {
		case 0:
			s.Time = f.Time()
		case 1:
			s.Peer = processtable.NodeID(f.Text(processtable.MaxName))
		case 2:
			s.Reason = f.Text(maxReason)
		case 3:
			s.Message = f.Bytes(message.MaxEncoded)
		default:
			f.Unknown()
		}
	}
	if err := r.End(); err != nil {
		return s, fmt.Errorf("%w: %w", damaged(key, "it cannot be read"), err)
	}
	return s, nil
}
