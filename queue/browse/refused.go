package browse

import (
	"errors"
	"fmt"
	"math"

	"fmqm/internal/store"
	"fmqm/queue/read"
	"fmqm/queue/record"
)

// RefusedList gives the heads of up to limit refused messages, the newest first (L5). It
// reads no bodies, but of what an older version wrote.
func (q *Queues) RefusedList(limit int) ([]record.RefusedHead, error) {
	return q.RefusedBefore(math.MaxUint64, limit)
}

// RefusedBefore is RefusedList of those with a number below before.
func (q *Queues) RefusedBefore(before uint64, limit int) ([]record.RefusedHead, error) {
	if before == 0 {
		return nil, nil
	}
	return q.refusedHeads(store.ScanOptions{From: record.AppendRefusedKey(nil, before-1), Reverse: true}, limit)
}

// RefusedAfter is RefusedList of those with a number above after, the oldest first.
func (q *Queues) RefusedAfter(after uint64, limit int) ([]record.RefusedHead, error) {
	if after == math.MaxUint64 {
		return nil, nil
	}
	return q.refusedHeads(store.ScanOptions{From: record.AppendRefusedKey(nil, after+1)}, limit)
}

func (q *Queues) refusedHeads(o store.ScanOptions, limit int) (found []record.RefusedHead, err error) {
	o.Prefix = []byte{record.ClassRefused}
	err = read.Again(func() error {
		found = found[:0]
		return q.records.Each(o, func(key, value []byte) error {
			if len(found) == limit {
				return read.ErrEnough
			}
			head, _, err := q.records.RefusedHead(key, value)
			found = append(found, head)
			return err
		})
	})
	if err != nil && !errors.Is(err, read.ErrEnough) {
		return nil, fmt.Errorf("read refused messages: %w", q.records.Judge(err))
	}
	return found, nil
}

// RefusedAt gives the refused message with a number; found is false where there is none
// (any more).
func (q *Queues) RefusedAt(number uint64) (s record.Refused, found bool, err error) {
	key := record.AppendRefusedKey(nil, number)
	err = read.Again(func() error {
		value, err := q.records.Get(key)
		if err == nil {
			s, err = q.records.Refused(key, value)
		}
		return err
	})
	if errors.Is(err, store.ErrNotFound) {
		return record.Refused{}, false, nil
	}
	if err != nil {
		return record.Refused{}, false, fmt.Errorf("read refused message %d: %w", number, q.records.Judge(err))
	}
	return s, true, nil
}
