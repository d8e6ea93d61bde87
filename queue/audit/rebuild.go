package audit

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

// A peer that lost its store, or got an older copy back, is sent again what the audit
// queue can build (S4). How far that has come is a record of its own, written in the
// transactions that put the messages: who is killed in the middle goes on behind the
// last message that is in the transmission queue, and not before it.

// Rebuilding says how far the rebuilding of peer has come; false: there was none.
func (q *Queue) Rebuilding(peer processtable.NodeID) (record.Rebuild, bool, error) {
	key := record.RebuildKey(peer)
	value, err := q.records.Get(key)
	if errors.Is(err, store.ErrNotFound) {
		return record.Rebuild{}, false, nil
	}
	var r record.Rebuild
	if err == nil {
		r, err = record.ReadRebuild(key, value)
	}
	if err != nil {
		return record.Rebuild{}, false, fmt.Errorf("read the rebuild of %s: %w", peer, q.records.Judge(err))
	}
	return r, true, nil
}

// Rebuilds gives the rebuilding of every peer, also what is done.
func (q *Queue) Rebuilds() ([]record.Rebuild, error) {
	var all []record.Rebuild
	prefix := record.AppendName([]byte{record.ClassMeta}, "rebuild")
	err := q.records.Each(store.ScanOptions{Prefix: prefix}, func(key, value []byte) error {
		r, err := record.ReadRebuild(key, value)
		all = append(all, r)
		return err
	})
	return all, q.records.Judge(err)
}

// AuditInstances gives up to limit instances of which the audit queue has something, or
// had until retention removed it, by their identifiers, from behind after on.
func (q *Queue) AuditInstances(after message.InstanceID, limit int) ([]message.InstanceID, error) {
	return q.instancesOf([]byte{record.ClassInstance, record.ClassEnd, record.ClassHistory, record.ClassRemoved}, after, limit)
}

func (q *Queue) instancesOf(classes []byte, after message.InstanceID, limit int) ([]message.InstanceID, error) {
	var found []message.InstanceID
	for _, class := range classes {
		o := store.ScanOptions{Prefix: []byte{class}, From: store.After(append([]byte{class}, after[:]...)), KeysOnly: true}
		if after == (message.InstanceID{}) {
			o.From = nil
		}
		own := 0
		var last message.InstanceID
		err := q.records.Each(o, func(key, _ []byte) error {
			id, err := instanceOf(key)
			if err != nil {
				return err
			}
			if own > 0 && id == last {
				return nil
			}
			if own == limit {
				return read.ErrEnough
			}
			own++
			last = id
			found = append(found, id)
			return nil
		})
		if err != nil && !errors.Is(err, read.ErrEnough) {
			return nil, fmt.Errorf("read the instances of the audit queue: %w", q.records.Judge(err))
		}
	}
	slices.SortFunc(found, func(a, b message.InstanceID) int { return bytes.Compare(a[:], b[:]) })
	found = slices.Compact(found)
	return found[:min(len(found), limit)], nil
}
