package queue

import (
	"crypto/sha256"
	"encoding/hex"
)

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

// HashNext continues the running hash h of a lane with one more payload. Both ends of a
// link compute it, so it is part of the format (L1).
func HashNext(h Hash, payload []byte) Hash {
	var small [1024]byte
	buf := append(append(small[:0], h[:]...), payload...)
	sum := sha256.Sum256(buf)
	return Hash(sum[:16])
}

// String gives the hash in hexadecimal.
func (h Hash) String() string { return hex.EncodeToString(h[:]) }

// String gives the number in hexadecimal.
func (i Incarnation) String() string { return hex.EncodeToString(i[:]) }
