package queue

import (
	"bytes"
	"encoding/binary"
	"errors"
	"strings"
	"time"

	"fmqm/message"
	"fmqm/processtable"
)

// The layout of the store. A key begins with the class of its record; names end with
// a 0 byte, numbers are big-endian, so that keys sort by names and numbers.
//
//	m  meta             name
//	t  process table    process
//	q  process queue    process, instance, scope, activity, kind, source
//	r  instance record  process, instance, scope, activity, kind, source
//	k  marker           process, instance, scope, activity, kind, source
//	x  transmission     peer, lane, number
//	l  trimmed up to    peer, lane
//	a  accepted         peer, lane
//	p  peer             peer
//	i  incoming part    peer, lane, number of the first part, index
//	s  set aside        number
//	d  timer            due, process, instance, scope, activity
//	c  chunk of a body  body, index
//	b  staged body      body
//	j  large tx         nothing, or the index of a piece
//	w  parked           process, instance, peer, number, size
//	L  left by a peer   s, number, peer, size; or k, key of a marker, peer, size
//
// and, apart from what is scanned at open, the audit queue:
//
//	I  instances        instance, 1 for its start or 2 for its end
//	T  instances        time of the start, instance
//	E  ends             instance, scope, activity
//	H  other events     instance, clock, commit, index
//	R  removed          instance
//
// where process is name and version. Everything of one activity is one prefix.
const (
	classMeta         = 'm'
	classTable        = 't'
	classMessage      = 'q'
	classRecord       = 'r'
	classMarker       = 'k'
	classTransmission = 'x'
	classLow          = 'l'
	classAccepted     = 'a'
	classPeer         = 'p'
	classPart         = 'i'
	classSetAside     = 's'
	classTimer        = 'd'
	classChunk        = 'c'
	classStaged       = 'b'
	classLarge        = 'j'
	classParked       = 'w'
	classLeft         = 'L'
	classInstance     = 'I'
	classStart        = 'T'
	classEnd          = 'E'
	classHistory      = 'H'
	classRemoved      = 'R'
)

const (
	instanceStarted = 1
	instanceEnded   = 2
)

// keyLarge is that of the head of a large transaction.
var keyLarge = []byte{classLarge}

// errKey: a key is not of the layout above.
var errKey = errors.New("this program does not know the form of its key")

func appendName(b []byte, s string) []byte { return append(append(b, s...), 0) }

func appendProcess(b []byte, class byte, p processtable.ProcessID) []byte {
	b = appendName(append(b, class), p.Name)
	return binary.BigEndian.AppendUint32(b, uint32(p.Version))
}

func appendEntry(b []byte, e *message.Entry) []byte {
	b = append(b, e.Instance[:]...)
	return appendName(appendName(b, string(e.Scope)), string(e.Activity))
}

// classOf says under which class a message of a kind lies in its process queue.
func classOf(k message.Kind) byte {
	switch k {
	case message.KindRecord:
		return classRecord
	case message.KindMarker:
		return classMarker
	case message.KindConnector, message.KindSnapshot, message.KindNotice, message.KindTable:
		return classMessage
	}
	return classMessage
}

func appendMessageKey(b []byte, p processtable.ProcessID, e *message.Entry, k message.Key) []byte {
	b = appendEntry(appendProcess(b, classOf(k.Kind), p), e)
	return append(append(b, byte(k.Kind)), k.Source...)
}

func appendLane(b []byte, class byte, peer processtable.NodeID, lane message.Lane) []byte {
	return append(appendName(append(b, class), string(peer)), byte(lane))
}

func appendItemKey(b []byte, peer processtable.NodeID, lane message.Lane, number uint64) []byte {
	return binary.BigEndian.AppendUint64(appendLane(b, classTransmission, peer, lane), number)
}

func appendPartKey(b []byte, peer processtable.NodeID, lane message.Lane, first uint64, index int) []byte {
	b = binary.BigEndian.AppendUint64(appendLane(b, classPart, peer, lane), first)
	return binary.BigEndian.AppendUint32(b, uint32(index))
}

func appendTimerKey(b []byte, t *Timer) []byte {
	b = binary.BigEndian.AppendUint64(append(b, classTimer), timerDue(t.Due))
	b = binary.BigEndian.AppendUint32(appendName(b, t.Process.Name), uint32(t.Process.Version))
	return appendEntry(b, &t.Entry)
}

// timerDue is how a due time sorts; what lies before 1970 is due then.
func timerDue(t time.Time) uint64 { return uint64(max(0, t.UnixNano())) }

// dueTime is the time that timerDue was made of.
func dueTime(due uint64) time.Time { return time.Unix(0, int64(due)).UTC() }

func appendChunkKey(b []byte, body uint64, index int) []byte {
	b = binary.BigEndian.AppendUint64(append(b, classChunk), body)
	return binary.BigEndian.AppendUint32(b, uint32(index))
}

func appendStagedKey(b []byte, body uint64) []byte {
	return binary.BigEndian.AppendUint64(append(b, classStaged), body)
}

func appendPieceKey(b []byte, index int) []byte {
	return binary.BigEndian.AppendUint32(append(b, classLarge), uint32(index))
}

func appendSetAsideKey(b []byte, number uint64) []byte {
	return binary.BigEndian.AppendUint64(append(b, classSetAside), number)
}

func appendInstanceKey(b []byte, i message.InstanceID, which byte) []byte {
	return append(append(append(b, classInstance), i[:]...), which)
}

func appendStartKey(b []byte, started time.Time, i message.InstanceID) []byte {
	b = binary.BigEndian.AppendUint64(append(b, classStart), timerDue(started))
	return append(b, i[:]...)
}

func appendEndKey(b []byte, e *message.Entry) []byte { return appendEntry(append(b, classEnd), e) }

// keyReader takes a key apart.
type keyReader struct {
	rest []byte
	bad  bool
}

func (k *keyReader) bytes(n int) []byte {
	if len(k.rest) < n {
		k.bad, k.rest = true, nil
		return make([]byte, n)
	}
	v := k.rest[:n]
	k.rest = k.rest[n:]
	return v
}

func (k *keyReader) name() string {
	end := bytes.IndexByte(k.rest, 0)
	if end < 0 {
		k.bad, k.rest = true, nil
		return ""
	}
	v := string(k.rest[:end])
	k.rest = k.rest[end+1:]
	return v
}

func (k *keyReader) uint64() uint64 { return binary.BigEndian.Uint64(k.bytes(8)) }

func (k *keyReader) uint32() uint32 { return binary.BigEndian.Uint32(k.bytes(4)) }

func (k *keyReader) process() processtable.ProcessID {
	name := k.name()
	return processtable.ProcessID{Name: name, Version: int(binary.BigEndian.Uint32(k.bytes(4)))}
}

func (k *keyReader) entry() (e message.Entry) {
	copy(e.Instance[:], k.bytes(16))
	e.Scope = message.Scope(k.name())
	e.Activity = processtable.ActivityID(k.name())
	return e
}

// end gives errKey unless the key was read whole.
func (k *keyReader) end() error {
	if k.bad || len(k.rest) != 0 {
		return errKey
	}
	return nil
}

// readable shows a key in an error: its class, and its names without what is binary.
func readable(key []byte) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return '.'
		}
		return r
	}, string(key))
}
