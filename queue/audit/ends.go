package audit

import (
	"bytes"
	"errors"
	"sync"

	"fmqm/internal/store"
	"fmqm/message"
	"fmqm/queue/read"
	"fmqm/queue/record"
)

const (
	// endsBits is the size of what ends remember: 1 MiB, once something has ended.
	endsBits = 1 << 23
	// endsCrowded is how many of these bits are set when they are made anew: up to then one look-up
	// in four, in the mean, reads the store for nothing, since each looks at two bits.
	endsCrowded = endsBits / 4
	// lastByte bounds the first byte of identifiers that are looked at: those of UUIDv7 are below it
	// until the year 2109. Most of UUIDv8, which say no time, are above.
	lastByte = 0x04
	// endsSought is how many keys of a class are read at open to find the highest identifier.
	endsSought = 10_000
)

// ends says, in memory of a fixed size, which entries may have ended. What has just begun has not,
// and is not to cost a read of the store: every message that a peer sends for a new entry asks for it.
//
// No instance above the horizon had an end in the store when the horizon was found, and all that
// was submitted since is remembered. This is a statement about a set of identifiers and no more: a
// clock that is wrong makes it useful less often, or never again where an end of an identifier from far
// ahead is found at open, and never wrong (invariant 14). It is safe for concurrent use.
type ends struct {
	mu      sync.Mutex
	horizon message.InstanceID
	newest  message.InstanceID // of those remembered
	bits    []uint64
	set     int
}

// timed: an identifier is of a kind that grows with time.
func timed(i message.InstanceID) bool { return i.Version() == 7 && i[0] < lastByte }

// slotOf has no seed: what is read must not depend on chance (invariant 13), and who chooses what falls
// together has the store read, and no more.
func slotOf(e message.Entry) (word, bit uint64) {
	n := e.Hash(0) % endsBits
	return n / 64, 1 << (n % 64)
}

// add: an end of the entry is submitted. Whether it comes to be does not matter.
func (x *ends) add(e message.Entry) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.remember(e)
}

// remember is add, for who holds the lock.
func (x *ends) remember(e message.Entry) {
	if !timed(e.Instance) {
		return
	}
	word, bit := slotOf(e)
	x.newest = later(x.newest, e.Instance)
	if x.set == endsCrowded { // all of them are at or below the newest
		x.horizon = later(x.horizon, x.newest)
		clear(x.bits)
		x.set = 0
		return
	}
	if x.bits == nil {
		x.bits = make([]uint64, endsBits/64)
	}
	if x.bits[word]&bit == 0 {
		x.bits[word] |= bit
		x.set++
	}
}

// none says yes only for an entry of which the store has no end, and no remains of its instance.
func (x *ends) none(e message.Entry) bool {
	if !timed(e.Instance) {
		return false
	}
	word, bit := slotOf(e)
	whole, all := slotOf(message.Entry{Instance: e.Instance})
	x.mu.Lock()
	defer x.mu.Unlock()
	switch {
	case bytes.Compare(e.Instance[:], x.horizon[:]) <= 0:
		return false
	case x.bits == nil:
		return true
	}
	return x.bits[word]&bit == 0 && x.bits[whole]&all == 0
}

func later(a, b message.InstanceID) message.InstanceID {
	if bytes.Compare(a[:], b[:]) >= 0 {
		return a
	}
	return b
}

// Ends is told of the audit records of a transaction before it is submitted.
func (q *Queue) Ends(records []record.AuditRecord) {
	q.ends.mu.Lock()
	defer q.ends.mu.Unlock()
	for i := range records {
		a := &records[i]
		if which, ends := record.EndOf(a); ends || which != 0 {
			q.ends.remember(message.Entry{Instance: a.Instance, Scope: a.Scope, Activity: a.Activity})
		}
	}
}

// loadEnds finds the horizon, at open.
func (q *Queue) loadEnds() error {
	for _, class := range []byte{record.ClassInstance, record.ClassEnd, record.ClassRemoved} {
		highest, err := q.highest(class)
		if err != nil {
			return err
		}
		q.ends.horizon = later(q.ends.horizon, highest)
	}
	return nil
}

// highest gives the highest identifier that grows with time in keys of a class, or, where too many
// others lie above it, one that is as high as any.
func (q *Queue) highest(class byte) (highest message.InstanceID, err error) {
	sought := 0
	o := store.ScanOptions{Prefix: []byte{class}, From: []byte{class, lastByte}, Reverse: true, KeysOnly: true}
	err = q.records.Each(o, func(key, _ []byte) error {
		id, err := instanceOf(key)
		switch sought++; {
		case err != nil:
			return err
		case timed(id):
			highest = id
			return read.ErrEnough
		case sought == endsSought:
			highest = message.InstanceID(bytes.Repeat([]byte{0xff}, len(highest)))
			return read.ErrEnough
		}
		return nil
	})
	if errors.Is(err, read.ErrEnough) {
		err = nil
	}
	return highest, err
}
