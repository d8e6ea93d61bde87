package queue

import (
	"bytes"
	"errors"
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

func (r records) readParked(key, value []byte) (Parked, error) {
	p, err := record.ReadParkedKey(key)
	if err != nil {
		return p, err
	}
	content, err := record.Open(key, value)
	if err != nil {
		return p, err
	}
	at, _, err := record.ReadPlace(key, bytes.Clone(content))
	if err != nil {
		return p, err
	}
	p.Message, err = r.body(at)
	return p, err
}

// park puts a message to wait.
func (b *builder) park(p *Parked) {
	if len(p.Message) > message.MaxEncoded || p.Peer != "" && !processtable.ValidNode(string(p.Peer)) {
		b.fail(fmt.Errorf("a message from %.80[2]q cannot wait: it is too large (%[1]d bytes), or this cannot be the name of a site", len(p.Message), p.Peer))
		return
	}
	p.Number, p.Size = b.m.nextParked.Add(1), len(p.Message)
	b.Parks = append(b.Parks, p.Process)
	b.large(p.Key(), record.Begin(nil), p.Message)
	b.leavings = append(b.leavings, leaving{peer: p.Peer, of: p.Process, size: p.Size, number: 1})
}

// unpark removes one that waited.
func (b *builder) unpark(p *Parked) {
	b.Replaces = append(b.Replaces, b.op(p.Key(), nil))
	b.leavings = append(b.leavings, leaving{peer: p.Peer, of: p.Process, size: p.Size, number: -1})
}

// parkedBytes is how much ParkedFor gives at once, beyond the last message.
const parkedBytes = 4 << 20

// ParkedFor gives up to limit messages that wait for the table of a process; fewer where
// they have 4 MiB together, but at least one.
func (m *Manager) ParkedFor(id processtable.ProcessID, limit int) (found []Parked, err error) {
	for range maxRereads {
		size := 0
		found = found[:0]
		err = m.scan(store.ScanOptions{Prefix: record.AppendProcess(nil, record.ClassParked, id)}, func(key, value []byte) error {
			if len(found) == limit || size >= parkedBytes {
				return errEnough
			}
			p, err := m.records().readParked(key, value)
			found = append(found, p)
			size += len(p.Message)
			return err
		})
		if !errors.Is(err, errGone) { // else it was being removed: read again
			break
		}
	}
	if err != nil && !errors.Is(err, errEnough) {
		return nil, fmt.Errorf("read messages that wait for the table of %s: %w", id, m.judge(err))
	}
	return found, nil
}

// readParkedOf adds what of an instance waits for the table of its process.
func (v *InstanceView) readParkedOf(in records, id processtable.ProcessID, i message.InstanceID) (found bool, err error) {
	o := store.ScanOptions{Prefix: append(record.AppendProcess(nil, record.ClassParked, id), i[:]...)}
	err = in.scan(o, func(key, value []byte) error {
		p, err := in.readParked(key, value)
		if err != nil {
			return err
		}
		if msg, err := message.Decode(p.Message); err == nil {
			v.Process, found = id, true
			v.Messages = append(v.Messages, msg)
		}
		return nil
	})
	return found, err
}

// Parked gives the processes for whose table messages wait, with their count.
func (m *Manager) Parked() map[processtable.ProcessID]int {
	m.left.mu.Lock()
	defer m.left.mu.Unlock()
	all := make(map[processtable.ProcessID]int, len(m.left.parked))
	for id, n := range m.left.parked {
		all[id] = n
	}
	return all
}

// ParkedCount says how many messages wait for the table of a process.
func (m *Manager) ParkedCount(id processtable.ProcessID) int {
	m.left.mu.Lock()
	defer m.left.mu.Unlock()
	return m.left.parked[id]
}

// maxOldParked is how many messages ParkOld moves in one transaction.
const maxOldParked = 100

// ParkOld lets wait, apart and as from nobody, what an older version of this program has put
// into the queues of processes without a table. It is called before anybody else puts anything,
// and blocks for a commit per hundred of them.
func (m *Manager) ParkOld() error {
	for _, class := range []byte{record.ClassMessage, record.ClassRecord, record.ClassMarker} {
		err := m.eachProcess(class, func(id processtable.ProcessID) error {
			if m.process(id).tabled.Load() {
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
	tx := &Tx{}
	var failed error
	_, err = m.walk(store.ScanOptions{Prefix: record.AppendProcess(nil, class, id)}, func(_ []byte, msg message.Message) bool {
		var encoded []byte
		if encoded, failed = message.Encode(msg); failed != nil {
			return false
		}
		tx.Park = append(tx.Park, Parked{Process: id, Instance: msg.Instance, Message: encoded})
		tx.Consume = append(tx.Consume, Consume{Process: id, Entry: msg.Entry(), Keys: []message.Key{msg.Key()}})
		return len(tx.Park) < maxOldParked
	})
	if err = first1(err, failed); err != nil || len(tx.Park) == 0 {
		return 0, err
	}
	return len(tx.Park), m.await(m.prepare(tx))
}
