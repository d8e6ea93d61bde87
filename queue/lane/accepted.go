package lane

import (
	"encoding/binary"
	"fmt"

	"fmqm/internal/store"
	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue/record"
)

func partPrefix(peer processtable.NodeID, lane message.Lane, first uint64) []byte {
	return binary.BigEndian.AppendUint64(record.AppendLane(nil, record.ClassPart, peer, lane), first)
}

// Accepted says what is on disk of what peer sent in lane.
func (l *Lanes) Accepted(peer processtable.NodeID, lane message.Lane) record.Position {
	l.durable.Lock()
	defer l.durable.Unlock()
	return l.durable.accepted[record.LaneKey{Peer: peer, Lane: lane}].Position
}

// Incoming gives what is stored of a message that has not come whole from peer in lane.
func (l *Lanes) Incoming(peer processtable.NodeID, lane message.Lane) record.Incoming {
	l.durable.Lock()
	defer l.durable.Unlock()
	return l.durable.incoming[record.LaneKey{Peer: peer, Lane: lane}]
}

// Parts gives the stored parts of the message from peer whose first part has the
// number first, in their order. The last part is never stored.
func (l *Lanes) Parts(peer processtable.NodeID, lane message.Lane, first uint64) (parts [][]byte, err error) {
	err = l.records.Each(store.ScanOptions{Prefix: partPrefix(peer, lane, first)}, func(key, value []byte) error {
		part, err := l.records.Whole(key, value)
		parts = append(parts, part)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("parts of message %d from %s: %w", first, peer, l.records.Judge(err))
	}
	return parts, nil
}
