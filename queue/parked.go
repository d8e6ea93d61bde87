package queue

import (
	"cmp"
	"fmt"

	"fmqm/internal/store"
	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue/record"
)

// What comes for a process whose table is not here cannot be judged yet. It waits, as it
// came and with the peer that brought it, apart from all process queues, and is judged when
// the table comes (N3). So nobody's message takes the place of another's that has the same
// name, and what lies in a process queue was judged.

// Parked gives the processes for whose table messages wait, with their count.
func (m *Manager) Parked() map[processtable.ProcessID]int {
	m.usage.mu.Lock()
	defer m.usage.mu.Unlock()
	all := make(map[processtable.ProcessID]int, len(m.usage.parked))
	for id, n := range m.usage.parked {
		all[id] = n
	}
	return all
}

// ParkedCount says how many messages wait for the table of a process.
func (m *Manager) ParkedCount(id processtable.ProcessID) int {
	m.usage.mu.Lock()
	defer m.usage.mu.Unlock()
	return m.usage.parked[id]
}

// maxOldParked is how many messages ParkOld moves in one transaction.
const maxOldParked = 100

// ParkOld lets wait, apart and as from nobody, what an older version of this program has put
// into the queues of processes without a table. It is called before anybody else puts anything,
// and blocks for a commit per hundred of them.
func (m *Manager) ParkOld() error {
	for _, class := range []byte{record.ClassMessage, record.ClassRecord, record.ClassMarker} {
		err := m.read.EachProcess(class, func(id processtable.ProcessID) error {
			_, gone := m.Tombstone(id)                                                     // what is put there late is taken out as it lies there (N31)
			if _, tabled := m.Bound(id); tabled || gone || id == processtable.EventQueue { // which has no table (N24)
				return nil
			}
			for {
				moved, err := m.parkSome(class, id)
				if err != nil {
					return fmt.Errorf("read messages that wait for the table of %s: %w", id, err)
				}
				if moved < maxOldParked {
					return nil
				}
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (m *Manager) parkSome(class byte, id processtable.ProcessID) (moved int, err error) {
	tx := &record.Tx{}
	var failed error
	_, err = m.read.Messages(store.ScanOptions{Prefix: record.AppendProcess(nil, class, id)}, func(_ []byte, msg message.Message) bool {
		var encoded []byte
		if encoded, failed = message.Encode(msg); failed != nil {
			return false
		}
		tx.Park = append(tx.Park, record.Parked{Process: id, Instance: msg.Instance, Message: encoded})
		tx.Consume = append(tx.Consume, record.Consume{Process: id, Entry: msg.Entry(), Keys: []message.Key{msg.Key()}})
		return len(tx.Park) < maxOldParked
	})
	if err = cmp.Or(err, failed); err != nil || len(tx.Park) == 0 {
		return 0, err
	}
	return len(tx.Park), m.await(m.prepare(tx))
}
