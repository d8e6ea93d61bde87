package record

import (
	"encoding/binary"
	"time"

	"fmqm/internal/store/change"
	"fmqm/message"
	"fmqm/processtable"
)

// StoredItem is an item's record.
type StoredItem struct {
	At    ItemAt
	Put   time.Time
	Place Place
}

// ReadItem reads an item's record; its place is a part of value.
func ReadItem(key, value []byte) (s StoredItem, err error) {
	content, err := Open(key, value)
	if err != nil {
		return s, err
	}
	if len(content) < ItemFixed || len(key) < 8 {
		return s, Damaged(key, "it is too short")
	}
	s.At.Number = binary.BigEndian.Uint64(key[len(key)-8:])
	copy(s.At.Hash[:], content)
	s.At.Total = binary.BigEndian.Uint64(content[16:])
	s.Put = time.Unix(0, int64(binary.BigEndian.Uint64(content[24:]))).UTC()
	s.Place, _, err = ReadPlace(key, content[ItemFixed:])
	return s, err
}

// lowSize: number, hash and total.
const lowSize = 8 + 16 + 8

// LowRecord gives the record of how far a lane was trimmed.
func LowRecord(peer processtable.NodeID, lane message.Lane, low ItemAt) change.Op {
	key := AppendLane(nil, ClassLow, peer, lane)
	content := binary.BigEndian.AppendUint64(nil, low.Number)
	content = binary.BigEndian.AppendUint64(append(content, low.Hash[:]...), low.Total)
	return change.Op{Key: key, Value: New(key, content...)}
}

// ReadLow reads it.
func ReadLow(key, value []byte) (peer processtable.NodeID, lane message.Lane, low ItemAt, err error) {
	content, err := Open(key, value)
	if err != nil {
		return "", 0, low, err
	}
	k := KeyReader{Rest: key[1:]}
	peer, lane = processtable.NodeID(k.Name()), message.Lane(k.Bytes(1)[0])
	if k.End() != nil || len(content) != lowSize || lane >= Lanes {
		return "", 0, low, Damaged(key, "this program does not know the form of its content")
	}
	low.Number = binary.BigEndian.Uint64(content)
	copy(low.Hash[:], content[8:])
	low.Total = binary.BigEndian.Uint64(content[24:])
	return peer, lane, low, nil
}
