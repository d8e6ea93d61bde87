package record

import (
	"encoding/binary"
	"time"

	"fmqm/message"
	"fmqm/processtable"
)

// Listed says where in the index of instances a key stands. The numbers are part of the format.
type Listed byte

// An instance that was started here stands once in one of the first three, and in the fourth once for each
// activity that has told it of an error.
const (
	ListedRunning  Listed = 'r'
	ListedFinished Listed = 'f'
	ListedStopped  Listed = 't' // ended by an operator's terminate, or by the deadline of its process
	ListedInError  Listed = 'e' // an activity of it, or of what it has begun here (N19), told of an error
	// ListedUnplaced is an error of which it was told before its start was known: in a store that was lost.
	ListedUnplaced Listed = 'u'
)

// Standing is what of its start says where an instance stands in the index.
type Standing struct {
	Process processtable.ProcessID
	Started time.Time
	Parent  *message.Parent
}

// StandingOf gives the place of an instance by the audit record of its start.
func StandingOf(a *AuditRecord) Standing {
	return Standing{Process: a.Process, Started: a.Time, Parent: a.Parent}
}

// ListedEnd says where an instance stands that has ended with an audit record.
func ListedEnd(a *AuditRecord) Listed {
	if a.Event == EventStopped {
		return ListedStopped
	}
	return ListedFinished
}

// AppendListedPrefix appends the prefix of all that the index has of a process.
func AppendListedPrefix(b []byte, l Listed, p processtable.ProcessID) []byte {
	b = AppendName(append(b, ClassListed, byte(l)), p.Name)
	return binary.BigEndian.AppendUint32(b, uint32(p.Version))
}

// AppendListedKey appends the key of an instance in the index; of ListedInError the cause follows.
func AppendListedKey(b []byte, l Listed, p Standing, i message.InstanceID) []byte {
	b = binary.BigEndian.AppendUint64(AppendListedPrefix(b, l, p.Process), TimerDue(p.Started))
	return append(b, i[:]...)
}

// AppendUnplaced appends the key of an error of an instance of which the start is not known; the cause follows.
func AppendUnplaced(b []byte, i message.InstanceID) []byte {
	return append(append(b, ClassListed, byte(ListedUnplaced)), i[:]...)
}

// appendCause appends which notice an instance is in error by: of itself, or of an instance that one has begun for it.
func appendCause(b []byte, of message.InstanceID, k *message.Key) []byte {
	b = AppendName(AppendName(append(b, of[:]...), string(k.Scope)), string(k.Source))
	return binary.BigEndian.AppendUint64(b, k.Number)
}

// Cause takes which notice an instance is in error by: the instance that it came to, and the activity that sent it.
func (k *KeyReader) Cause() (of message.Entry) {
	copy(of.Instance[:], k.Bytes(16))
	of.Scope = message.Scope(k.Name())
	of.Activity = processtable.ActivityID(k.Name())
	k.Uint64()
	return of
}

// IsNotice says whether a message is one by which an instance stands in the index as in error, unless it says that the error is over.
func IsNotice(e *message.Entry, kind message.Kind) bool {
	return kind == message.KindNotice && e.Scope == "" && e.Activity == processtable.Sink
}

// NoticeKeys gives the keys of the index by which a notice says that an instance is in error, and each that has begun
// it here, and so on (N19). standing gives the place of an instance, false if its start is not known. gone: they are to be
// removed, also those that were put before the start was known.
func NoticeKeys(of message.InstanceID, k message.Key, gone bool, standing func(message.InstanceID) (Standing, bool, error)) (keys [][]byte, err error) {
	i := of
	for range message.MaxDepth + 1 {
		p, known, err := standing(i)
		if err != nil {
			return nil, err
		}
		if known {
			keys = append(keys, appendCause(AppendListedKey(nil, ListedInError, p, i), of, &k))
		}
		if !known || gone {
			keys = append(keys, appendCause(AppendUnplaced(nil, i), of, &k))
		}
		if !known || p.Parent == nil {
			break
		}
		i = p.Parent.Instance
	}
	return keys, nil
}
