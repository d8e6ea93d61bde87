package queue

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"fmqm/internal/store"
	"fmqm/message"
	"fmqm/processtable"
)

const (
	// partSize is how much of a message one item of a transmission queue carries, in
	// bytes: what is larger goes out in several (L4).
	partSize = 256 << 10
	// maxParts bounds what is read of a head.
	maxParts = 1 << 10
	partHead = 1 + 4 + 4

	// MaxParts is in how many parts the largest message travels: so many, of 256 KiB each, are
	// kept of a peer's lane until the last one comes.
	MaxParts = (message.MaxEncoded + partSize - 1) / partSize
)

const (
	payloadWhole = 0 // the encoded message
	payloadPart  = 1 // index, count, and a part of the encoded message
)

// Piece is what an item of a link carries: a whole encoded message, or one part of
// it. The number of a message's first part is the item's number less Index, and
// identifies the message within its peer and lane.
type Piece struct {
	Whole bool
	Index int    // counts from 0
	Of    int    // how many parts the message has; 1 if Whole
	Data  []byte // a part of the payload
}

// Incoming is what is stored of a message that has not come whole: its parts from the first
// one on, without a gap, which are the newest items that were accepted in their lane. Since
// parts follow one another, there is at most one such message in a lane.
type Incoming struct {
	First uint64 // number of its first part; 0: there is none
	Count int
}

// Incoming gives what is stored of a message that has not come whole from peer in lane.
func (m *Manager) Incoming(peer processtable.NodeID, lane message.Lane) Incoming {
	m.durable.Lock()
	defer m.durable.Unlock()
	return m.durable.incoming[laneKey{peer, lane}]
}

// Last says whether the message is complete with this piece.
func (p Piece) Last() bool { return p.Index == p.Of-1 }

// ErrPayload: an item of a link is not of a known form. Errors of Unpack wrap it.
var ErrPayload = errors.New("this program does not know the form of the item")

// Unpack reads the payload of an item.
func Unpack(payload []byte) (Piece, error) {
	if len(payload) == 0 {
		return Piece{}, fmt.Errorf("%w: it is empty", ErrPayload)
	}
	switch payload[0] {
	case payloadWhole:
		return Piece{Whole: true, Of: 1, Data: payload[1:]}, nil
	case payloadPart:
		if len(payload) < partHead {
			return Piece{}, fmt.Errorf("%w: it is a part with only %d bytes", ErrPayload, len(payload))
		}
		p := Piece{
			Index: int(binary.BigEndian.Uint32(payload[1:])),
			Of:    int(binary.BigEndian.Uint32(payload[5:])),
			Data:  payload[partHead:],
		}
		if p.Of < 2 || p.Of > maxParts || p.Index >= p.Of || len(p.Data) > partSize {
			return Piece{}, fmt.Errorf("%w: it says that it is part %d of %d, with %d bytes", ErrPayload, p.Index, p.Of, len(p.Data))
		}
		return p, nil
	}
	return Piece{}, fmt.Errorf("%w: it has form %d: upgrade this node", ErrPayload, payload[0])
}

// pieces is how many items a message of size encoded bytes takes.
func pieces(size int) int {
	if size <= partSize {
		return 1
	}
	return (size + partSize - 1) / partSize
}

func appendPartHead(b []byte, index, of int) []byte {
	b = binary.BigEndian.AppendUint32(append(b, payloadPart), uint32(index))
	return binary.BigEndian.AppendUint32(b, uint32(min(of, math.MaxUint32)))
}

// loadIncoming finds what is stored of messages that have not come whole, and removes parts
// of which nothing will come: they are not the newest items of their lane, so that the
// conversation that they were of is over.
func (m *Manager) loadIncoming() error {
	found := map[laneKey]map[uint64]int{}
	err := m.eachPart(func(at laneKey, first uint64, index int, _ []byte) error {
		if found[at] == nil {
			found[at] = map[uint64]int{}
		}
		if found[at][first] == index { // else there is a gap before it
			found[at][first]++
		}
		return nil
	})
	if err != nil {
		return err
	}
	for at, messages := range found {
		for first, count := range messages {
			if first+uint64(count) == m.durable.accepted[at].Number+1 {
				m.durable.incoming[at] = Incoming{First: first, Count: count}
			}
		}
	}
	var stuck [][]byte
	err = m.eachPart(func(at laneKey, first uint64, index int, key []byte) error {
		if in := m.durable.incoming[at]; first != in.First || index >= in.Count {
			stuck = append(stuck, bytes.Clone(key))
		}
		return nil
	})
	if err != nil {
		return err
	}
	return m.removeParts(stuck)
}

// eachPart visits the parts that are stored, in their order. The key is valid until visit
// returns.
func (m *Manager) eachPart(visit func(at laneKey, first uint64, index int, key []byte) error) error {
	return m.scan(store.ScanOptions{Prefix: []byte{classPart}, KeysOnly: true}, func(key, _ []byte) error {
		k := keyReader{rest: key[1:]}
		at := laneKey{processtable.NodeID(k.name()), message.Lane(k.bytes(1)[0])}
		first, index := k.uint64(), k.uint32()
		if k.end() != nil {
			return damaged(key, errKey.Error())
		}
		return visit(at, first, int(index), key)
	})
}

// removeParts removes records of parts, with their bodies, before anything else is done.
func (m *Manager) removeParts(keys [][]byte) error {
	for _, key := range keys {
		value, err := m.engine.Get(key)
		if err != nil {
			return err
		}
		ref, staged, err := refOf(key, value)
		if err != nil {
			return err
		}
		b := store.Batch{Ops: []store.Op{{Key: key}}}
		if staged {
			b.Ops = removeStaged(b.Ops, ref)
		}
		if err := m.engine.Commit(m.engine.Last()+1, &b); err != nil {
			return err
		}
	}
	return nil
}
