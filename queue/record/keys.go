package record

import (
	"bytes"
	"encoding/binary"
	"errors"
	"strings"
	"time"

	"fmqm/message"
	"fmqm/processtable"
)

// KeyRecreated: the store was restored, or made for a node that others knew by another one.
var KeyRecreated = AppendName([]byte{ClassMeta}, "anew")

// KeySettled is the highest number of a refused message that went. It is written with each, so
// that the highest number given can be told when the message that had it is gone.
var KeySettled = AppendName([]byte{ClassMeta}, "aside")

// KeyCommits is, in a restored store, how many commits the stores had that it is a copy of: what is
// numbered by commits goes on above that.
var KeyCommits = AppendName([]byte{ClassMeta}, "commits")

// The layout of the store. A key begins with the class of its record; names end with
// a 0 byte, numbers are big-endian, so that keys sort by names and numbers.
//
//	m  meta             name
//	t  process table    process
//	q  process queue    process, instance, scope, activity, message
//	r  instance record  process, instance, scope, activity, message
//	k  marker, marks    process, instance, scope, activity, message
//	x  transmission     peer, lane, number
//	l  trimmed up to    peer, lane
//	a  accepted         peer, lane
//	p  peer             peer
//	i  incoming part    peer, lane, number of the first part, index
//	s  refused message  number
//	d  timer            due, process, instance, scope, activity, name
//	c  chunk of a body  body, index
//	b  staged body      body
//	j  large tx         nothing, or the index of a piece
//	w  parked           process, instance, peer, number, size
//	y  waits apart      peer, own number
//	L  charged to peer  s, number, peer, size; or k, key of a marker, peer, size
//
// and, apart from what is scanned at open, the audit queue:
//
//	I  instances        instance, 1 for its start or 2 for its end
//	T  instances        time of the start, instance
//	F  index            r, f, t or e, process, time of the start, instance, and of e the cause; or u, instance, the cause
//	V  values           process name, member, value, time of the start, instance
//	E  ends             instance, scope, activity
//	H  other events     instance, clock, commit, index
//	R  removed          instance
//
// where process is name and version. A cause is the instance that was told of an error, and by whom: instance, scope, activity, number. A message is its kind and its source; behind that, unless
// it is plain, stand a byte 1, the source's scope and its number. Everything of one activity is one prefix.
const (
	ClassMeta         = 'm'
	ClassTable        = 't'
	ClassMessage      = 'q'
	ClassRecord       = 'r'
	ClassMarker       = 'k'
	ClassTransmission = 'x'
	ClassLow          = 'l'
	ClassAccepted     = 'a'
	ClassPeer         = 'p'
	ClassPart         = 'i'
	ClassRefused      = 's'
	ClassTimer        = 'd'
	ClassChunk        = 'c'
	ClassStaged       = 'b'
	ClassLarge        = 'j'
	ClassParked       = 'w'
	ClassApart        = 'y'
	ClassUsage        = 'L'
	ClassInstance     = 'I'
	ClassStart        = 'T'
	ClassListed       = 'F'
	ClassSearch       = 'V'
	ClassEnd          = 'E'
	ClassHistory      = 'H'
	ClassRemoved      = 'R'
)

const (
	InstanceStarted = 1
	InstanceEnded   = 2
)

// KeyLarge is that of the head of a large transaction.
var KeyLarge = []byte{ClassLarge}

// ErrKey: a key is not of the layout above.
var ErrKey = errors.New("this program does not know the form of its key")

// AppendName appends a name and its end.
func AppendName(b []byte, s string) []byte { return append(append(b, s...), 0) }

// AppendProcess appends the prefix of all that a class has of a process.
func AppendProcess(b []byte, class byte, p processtable.ProcessID) []byte {
	b = AppendName(append(b, class), p.Name)
	return binary.BigEndian.AppendUint32(b, uint32(p.Version))
}

// AppendEntry appends what names an entry of a process queue.
func AppendEntry(b []byte, e *message.Entry) []byte {
	b = append(b, e.Instance[:]...)
	return AppendName(AppendName(b, string(e.Scope)), string(e.Activity))
}

// classOf says under which class a message of a kind lies in its process queue.
func classOf(k message.Kind) byte {
	switch k {
	case message.KindRecord:
		return ClassRecord
	case message.KindMarker, message.KindMark:
		return ClassMarker
	case message.KindConnector, message.KindSnapshot, message.KindNotice, message.KindTable, message.KindDue, message.KindWord, message.KindAnswer,
		message.KindBegin, message.KindReturn, message.KindCancel, message.KindStart, message.KindChunk, message.KindOffer, message.KindRecall, message.KindRecalled,
		message.KindEvent, message.KindWait, message.KindPast, message.KindOver, message.KindCurrent:
		return ClassMessage
	}
	return ClassMessage
}

// AppendMessageKey appends the key of a message in a process queue.
func AppendMessageKey(b []byte, p processtable.ProcessID, e *message.Entry, k message.Key) []byte {
	b = AppendEntry(AppendProcess(b, classOf(k.Kind), p), e)
	b = append(append(b, byte(k.Kind)), k.Source...)
	if k.Plain(e) {
		return b
	}
	return binary.BigEndian.AppendUint64(AppendName(append(b, notPlain), string(k.Scope)), k.Number)
}

// notPlain stands behind the source of a message that is not plain. No name has this byte.
const notPlain = 1

// AppendLane appends the prefix of all that a class has of a peer's lane, or its only key.
func AppendLane(b []byte, class byte, peer processtable.NodeID, lane message.Lane) []byte {
	return append(AppendName(append(b, class), string(peer)), byte(lane))
}

// AppendItemKey appends the key of an item of a transmission queue.
func AppendItemKey(b []byte, peer processtable.NodeID, lane message.Lane, number uint64) []byte {
	return binary.BigEndian.AppendUint64(AppendLane(b, ClassTransmission, peer, lane), number)
}

// AppendPartKey appends the key of a part of a message on its way in.
func AppendPartKey(b []byte, peer processtable.NodeID, lane message.Lane, first uint64, index int) []byte {
	b = binary.BigEndian.AppendUint64(AppendLane(b, ClassPart, peer, lane), first)
	return binary.BigEndian.AppendUint32(b, uint32(index))
}

// AppendTimerKey appends the key of a timer.
func AppendTimerKey(b []byte, t *Timer) []byte {
	b = binary.BigEndian.AppendUint64(append(b, ClassTimer), TimerDue(t.Due))
	b = binary.BigEndian.AppendUint32(AppendName(b, t.Process.Name), uint32(t.Process.Version))
	return append(AppendEntry(b, &t.Entry), t.Name...)
}

// TimerDue is how a due time sorts; what lies before 1970 is due then.
func TimerDue(t time.Time) uint64 { return message.DueNumber(t) }

// DueTime is the time that timerDue was made of.
func DueTime(due uint64) time.Time { return time.Unix(0, int64(due)).UTC() }

// AppendChunkKey appends the key of a chunk of a staged body.
func AppendChunkKey(b []byte, body uint64, index int) []byte {
	b = binary.BigEndian.AppendUint64(append(b, ClassChunk), body)
	return binary.BigEndian.AppendUint32(b, uint32(index))
}

// AppendStagedKey appends the key of a staged body's record.
func AppendStagedKey(b []byte, body uint64) []byte {
	return binary.BigEndian.AppendUint64(append(b, ClassStaged), body)
}

// AppendPieceKey appends the key of a piece of a large transaction.
func AppendPieceKey(b []byte, index int) []byte {
	return binary.BigEndian.AppendUint32(append(b, ClassLarge), uint32(index))
}

// AppendRefusedKey appends the key of a refused message.
func AppendRefusedKey(b []byte, number uint64) []byte {
	return binary.BigEndian.AppendUint64(append(b, ClassRefused), number)
}

// AppendInstanceKey appends the key of an instance's start or end.
func AppendInstanceKey(b []byte, i message.InstanceID, which byte) []byte {
	return append(append(append(b, ClassInstance), i[:]...), which)
}

// AppendStartKey appends the key of an instance in the list by time.
func AppendStartKey(b []byte, started time.Time, i message.InstanceID) []byte {
	b = binary.BigEndian.AppendUint64(append(b, ClassStart), TimerDue(started))
	return append(b, i[:]...)
}

// AppendEndKey appends the key of the record that an entry was ended with.
func AppendEndKey(b []byte, e *message.Entry) []byte { return AppendEntry(append(b, ClassEnd), e) }

// KeyReader takes a key apart.
type KeyReader struct {
	Rest []byte
	Bad  bool
}

// Bytes takes the next n.
func (k *KeyReader) Bytes(n int) []byte {
	if len(k.Rest) < n {
		k.Bad, k.Rest = true, nil
		return make([]byte, n)
	}
	v := k.Rest[:n]
	k.Rest = k.Rest[n:]
	return v
}

// Name takes a name and its end.
func (k *KeyReader) Name() string {
	end := bytes.IndexByte(k.Rest, 0)
	if end < 0 {
		k.Bad, k.Rest = true, nil
		return ""
	}
	v := string(k.Rest[:end])
	k.Rest = k.Rest[end+1:]
	return v
}

// Uint64 takes a number.
func (k *KeyReader) Uint64() uint64 { return binary.BigEndian.Uint64(k.Bytes(8)) }

// Uint32 takes a number.
func (k *KeyReader) Uint32() uint32 { return binary.BigEndian.Uint32(k.Bytes(4)) }

// Process takes a name and a version.
func (k *KeyReader) Process() processtable.ProcessID {
	name := k.Name()
	return processtable.ProcessID{Name: name, Version: int(binary.BigEndian.Uint32(k.Bytes(4)))}
}

// Entry takes what names an entry.
func (k *KeyReader) Entry() (e message.Entry) {
	copy(e.Instance[:], k.Bytes(16))
	e.Scope = message.Scope(k.Name())
	e.Activity = processtable.ActivityID(k.Name())
	return e
}

// MessageKey takes what names a message within its entry e: all that is left, or, in a longer
// key, what a 0 byte ends.
func (k *KeyReader) MessageKey(e *message.Entry) message.Key {
	m := message.Key{Kind: message.Kind(k.Bytes(1)[0]), Scope: e.Scope}
	end := bytes.IndexByte(k.Rest, 0)
	if end < 0 {
		end = len(k.Rest)
	}
	at := bytes.IndexByte(k.Rest[:end], notPlain)
	if at < 0 {
		m.Source = processtable.ActivityID(k.Bytes(end))
		return m
	}
	m.Source = processtable.ActivityID(k.Bytes(at))
	k.Bytes(1)
	m.Scope, m.Number = message.Scope(k.Name()), k.Uint64()
	k.Bad = k.Bad || m.Plain(e) // it has a shorter form
	return m
}

// End gives errKey unless the key was read whole.
func (k *KeyReader) End() error {
	if k.Bad || len(k.Rest) != 0 {
		return ErrKey
	}
	return nil
}

// Readable shows a key in an error: its class, and its names without what is binary.
func Readable(key []byte) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return '.'
		}
		return r
	}, string(key))
}

// Whose store it is, and in which format.
var (
	KeyFormat      = []byte{ClassMeta, 'f', 'o', 'r', 'm', 'a', 't'}
	KeyNode        = []byte{ClassMeta, 'n', 'o', 'd', 'e'}
	KeyIncarnation = []byte{ClassMeta, 'i', 'n', 'c', 'a', 'r', 'n', 'a', 't', 'i', 'o', 'n'}
	// KeyMigrating is the record of a step to another format that is under way: the first key
	// that it has not looked at. The format is already the one that it leads to.
	KeyMigrating = []byte{ClassMeta, 'm', 'i', 'g', 'r', 'a', 't', 'i', 'n', 'g'}
)
