package record

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"slices"

	"fmqm/internal/store/change"
	"fmqm/message"
	"fmqm/processtable"
)

// Lanes is how many lanes a link has (L2).
const Lanes = 2

// Hash is the running hash of a lane of a link (L1).
type Hash [16]byte

// String gives the hash in hexadecimal.
func (h Hash) String() string { return hex.EncodeToString(h[:]) }

// HashNext continues the running hash h of a lane with one more payload. Both ends of a
// link compute it, so it is part of the format (L1).
func HashNext(h Hash, payload []byte) Hash {
	var small [1024]byte
	buf := append(append(small[:0], h[:]...), payload...)
	sum := sha256.Sum256(buf)
	return Hash(sum[:16])
}

// Incarnation is the random number that a store gets when it is made (L1).
type Incarnation [16]byte

// String gives the number in hexadecimal.
func (i Incarnation) String() string { return hex.EncodeToString(i[:]) }

// Position is a place in a link's lane: a number and the running hash over everything
// up to it (L1). The zero Position is the beginning.
type Position struct {
	Number uint64
	Hash   Hash
}

// Item is one numbered entry of a transmission queue: a whole message or a part of
// one, opaque to the link. [Unpack] reads its Payload.
type Item struct {
	Number  uint64
	Hash    Hash // after this item
	Payload []byte
}

// ItemAt is a place in a lane, with the bytes of all payloads up to it.
type ItemAt struct {
	Position
	Total uint64
}

// LaneKey names a lane of what a peer sends.
type LaneKey struct {
	Peer processtable.NodeID
	Lane message.Lane
}

// AcceptedAt is what was accepted of one incarnation of a peer, in one lane.
type AcceptedAt struct {
	Incarnation Incarnation
	Position
}

const acceptedSize = 16 + 8 + 16

// Accepted gives the record of what was accepted in a lane.
func Accepted(of LaneKey, at AcceptedAt) change.Op {
	key := AppendLane(nil, ClassAccepted, of.Peer, of.Lane)
	content := binary.BigEndian.AppendUint64(slices.Clone(at.Incarnation[:]), at.Number)
	return change.Op{Key: key, Value: New(key, append(content, at.Hash[:]...)...)}
}

// ReadAccepted reads it.
func ReadAccepted(key, value []byte) (LaneKey, AcceptedAt, error) {
	var at AcceptedAt
	content, err := Open(key, value)
	if err != nil {
		return LaneKey{}, at, err
	}
	k := KeyReader{Rest: key[1:]}
	lane := LaneKey{processtable.NodeID(k.Name()), message.Lane(k.Bytes(1)[0])}
	if k.End() != nil || len(content) != acceptedSize {
		return lane, at, Damaged(key, "this program does not know the form of its content")
	}
	copy(at.Incarnation[:], content)
	at.Number = binary.BigEndian.Uint64(content[16:])
	copy(at.Hash[:], content[24:])
	return lane, at, nil
}
