package audit

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"fmqm/internal/store"
	"fmqm/message"
	"fmqm/queue/read"
	"fmqm/queue/record"
)

// Erase says in which audit records of an instance data are to be overwritten.
type Erase struct {
	Instance message.InstanceID
	From     []byte // the key that it begins with; nil: the first of them
	Limit    int    // records that one transaction rewrites, at least 1
	Bytes    int    // and about how many bytes they may have together
	// Rewrite changes what is to be overwritten in a record, and says whether there was anything.
	Rewrite func(*record.AuditRecord) bool
}

// mostErased is how many records one Erase reads at most: so that it lets others go first now and then, also where nothing
// is to be changed.
const mostErased = 1024

// Erase gives the records that change, in the order of their keys, and where to go on; nil: that was all. It changes nothing by
// itself. Keys, what messages are called that were consumed and sent, and the numbers that these got stay as they
// were: so what comes again is refused as before.
func (q *Queue) Erase(e Erase) (all []record.Rewrite, next []byte, err error) {
	size, seen := 0, 0
	for _, class := range []byte{record.ClassEnd, record.ClassHistory, record.ClassInstance} {
		prefix := append([]byte{class}, e.Instance[:]...)
		if e.From != nil && e.From[0] > class {
			continue
		}
		o := store.ScanOptions{Prefix: prefix}
		if e.From != nil && e.From[0] == class {
			o.From = e.From
		}
		first := len(all)
		err := read.Again(func() error { // what was rewritten meanwhile has lost its body
			all, next = all[:first], nil
			return q.records.Each(o, func(key, value []byte) error {
				if len(all) == e.Limit || size >= e.Bytes || seen == mostErased {
					next = bytes.Clone(key)
					return read.ErrEnough
				}
				seen++
				r, changes, err := q.rewrite(key, value, e.Rewrite)
				if changes {
					all = append(all, r)
					size += len(value) + len(r.Record.Output)
				}
				return err
			})
		})
		switch {
		case errors.Is(err, read.ErrEnough):
			return all, next, nil
		case err != nil:
			return nil, nil, fmt.Errorf("overwrite data of instance %s: %w", e.Instance, q.records.Judge(err))
		}
	}
	return all, nil, nil
}

// rewrite is one record as it is to be.
func (q *Queue) rewrite(key, value []byte, change func(*record.AuditRecord) bool) (r record.Rewrite, changes bool, err error) {
	_, ref, err := record.ReadAuditHead(key, value)
	if err != nil {
		return r, false, err
	}
	a, err := q.records.Audit(key, value)
	before := slices.Clone(a.Search)
	if err != nil || !change(&a) {
		return r, false, err
	}
	r = record.Rewrite{Key: bytes.Clone(key), Before: ref, Record: a}
	r.Unfound = slices.DeleteFunc(before, func(s record.Searched) bool {
		return slices.ContainsFunc(a.Search, func(stays record.Searched) bool { return stays.Member == s.Member && bytes.Equal(stays.Value, s.Value) })
	})
	return r, true, nil
}

// Erasing says how far the erasing of an instance has come here; false: none is under way.
func (q *Queue) Erasing(i message.InstanceID) (e record.Erasing, under bool, err error) {
	key := record.ErasingKey(i)
	value, err := q.records.Get(key)
	if errors.Is(err, store.ErrNotFound) {
		return e, false, nil
	}
	if err == nil {
		e, err = record.ReadErasing(key, value)
	}
	if err != nil {
		return e, false, fmt.Errorf("read how far the erasing of instance %s is: %w", i, q.records.Judge(err))
	}
	return e, true, nil
}

// Erasings gives every erasing that is under way here.
func (q *Queue) Erasings() (all []record.Erasing, err error) {
	err = q.records.Each(store.ScanOptions{Prefix: record.ErasingKeys()}, func(key, value []byte) error {
		e, err := record.ReadErasing(key, value)
		all = append(all, e)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read which instances are being erased: %w", q.records.Judge(err))
	}
	return all, nil
}

// Erased gives the newest line about data of an instance that were overwritten here, and the highest clock of its history; nil:
// there is none.
func (q *Queue) Erased(i message.InstanceID) (last *record.AuditRecord, clock uint64, err error) {
	err = q.records.Each(store.ScanOptions{Prefix: append([]byte{record.ClassHistory}, i[:]...)}, func(key, value []byte) error {
		a, _, err := record.ReadAuditHead(key, value)
		if a.Event == record.EventErased {
			last = &a
		}
		clock = max(clock, a.Clock)
		return err
	})
	if err != nil {
		return nil, 0, fmt.Errorf("read what was overwritten of instance %s: %w", i, q.records.Judge(err))
	}
	return last, clock, nil
}
