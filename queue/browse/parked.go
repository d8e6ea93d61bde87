package browse

import (
	"errors"
	"fmt"

	"fmqm/internal/store"
	"fmqm/processtable"
	"fmqm/queue/read"
	"fmqm/queue/record"
)

// parkedBytes is how much ParkedFor gives at once, beyond the last message.
const parkedBytes = 4 << 20

// ParkedFor gives up to limit messages that wait for the table of a process; fewer where
// they have 4 MiB together, but at least one.
func (q *Queues) ParkedFor(id processtable.ProcessID, limit int) (found []record.Parked, err error) {
	err = read.Again(func() error {
		size := 0
		found = found[:0]
		return q.records.Each(store.ScanOptions{Prefix: record.AppendProcess(nil, record.ClassParked, id)}, func(key, value []byte) error {
			if len(found) == limit || size >= parkedBytes {
				return read.ErrEnough
			}
			p, err := q.records.Parked(key, value)
			found = append(found, p)
			size += len(p.Message)
			return err
		})
	})
	if err != nil && !errors.Is(err, read.ErrEnough) {
		return nil, fmt.Errorf("read messages that wait for the table of %s: %w", id, q.records.Judge(err))
	}
	return found, nil
}
