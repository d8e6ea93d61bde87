package node

import (
	"crypto/rand"
	"encoding/binary"
	"io"
)

// newSession numbers one run of a daemon, so that two daemons with one name are seen (L1).
func newSession(random io.Reader) uint64 {
	if random == nil {
		random = rand.Reader
	}
	var b [8]byte
	if _, err := io.ReadFull(random, b[:]); err != nil {
		panic("node: no randomness: " + err.Error()) // crypto/rand never fails
	}
	return binary.BigEndian.Uint64(b[:])
}
