package node

import (
	"crypto/rand"
	"encoding/binary"
	"io"
	"time"
)

// systemClock is the machine's. No decision of correctness rests on it (invariant 14).
type systemClock struct{}

func (systemClock) Now() time.Time { return time.Now() }

func (systemClock) AfterFunc(d time.Duration, f func()) func() bool { return time.AfterFunc(d, f).Stop }

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
