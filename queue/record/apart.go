package record

import (
	"encoding/binary"
	"hash/fnv"
	"time"

	"fmqm/internal/store/change"
	"fmqm/message"
	"fmqm/processtable"
)

// Apart is an item that waits apart from the transmission queue, without a number of the link:
// the peer has not said that it reads what is in it (N17).
type Apart struct {
	Peer   processtable.NodeID
	Number uint64 // its own, in the order in which such items were put
	Lane   message.Lane
	First  bool // of its message: the parts behind it are of the same
	Needs  message.Needs
	Key    uint64 // KeySum of its message
	Size   int    // of its payload
	Put    time.Time
	Sent   SentAt // what is to have its number in the audit; without a key: nothing
	Place  Place  // of its payload
}

// SentAt is a place in an audit record for the number that a message gets in a link.
type SentAt struct {
	Key   []byte // of the record
	Index int    // in Sent
	Of    int    // how many Sent there are
}

// apartFixed: lane, first, needs, key, size, put.
const apartFixed = 1 + 1 + 4 + 8 + 4 + 8

// KeySum tells the keys of messages apart, as well as 64 bits can. Two that have the same are taken
// for one, which costs one of the messages some time.
func KeySum(h *message.Header) uint64 {
	entry := h.Entry()
	sum := fnv.New64a()
	_, _ = sum.Write(AppendMessageKey(nil, h.Queue.Process, &entry, h.Key()))
	return sum.Sum64()
}

// AppendApartKey appends the key of an item that waits apart.
func AppendApartKey(b []byte, peer processtable.NodeID, number uint64) []byte {
	return binary.BigEndian.AppendUint64(AppendName(append(b, ClassApart), string(peer)), number)
}

// NewApart gives the record of an item, of whose place the stored form is given.
func NewApart(a *Apart, place []byte) change.Op {
	key := AppendApartKey(nil, a.Peer, a.Number)
	first := byte(0)
	if a.First {
		first = 1
	}
	b := append(Begin(make([]byte, 0, 1+apartFixed+len(a.Sent.Key)+8+len(place)+CRCSize)),
		byte(a.Lane), first, a.Needs.Format, byte(a.Needs.Kind), a.Needs.Body, a.Needs.Table)
	b = binary.BigEndian.AppendUint64(b, a.Key)
	b = binary.BigEndian.AppendUint32(b, uint32(a.Size))
	b = binary.BigEndian.AppendUint64(b, uint64(a.Put.UnixNano()))
	b = append(binary.BigEndian.AppendUint16(b, uint16(len(a.Sent.Key))), a.Sent.Key...)
	if len(a.Sent.Key) > 0 {
		b = binary.BigEndian.AppendUint16(binary.BigEndian.AppendUint16(b, uint16(a.Sent.Index)), uint16(a.Sent.Of))
	}
	value := End(append(b, place...))
	Seal(key, value)
	return change.Op{Key: key, Value: value}
}

// ReadApart reads it; its place is a part of value.
func ReadApart(key, value []byte) (a Apart, err error) {
	b, err := Open(key, value)
	if err != nil {
		return a, err
	}
	k := KeyReader{Rest: key[1:]}
	a.Peer, a.Number = processtable.NodeID(k.Name()), k.Uint64()
	v := KeyReader{Rest: b}
	fixed := v.Bytes(6)
	a.Lane, a.First = message.Lane(fixed[0]), fixed[1] == 1
	a.Needs = message.Needs{Format: fixed[2], Kind: message.Kind(fixed[3]), Body: fixed[4], Table: fixed[5]}
	a.Key, a.Size, a.Put = v.Uint64(), int(v.Uint32()), time.Unix(0, int64(v.Uint64())).UTC()
	if n := int(binary.BigEndian.Uint16(v.Bytes(2))); n > 0 {
		a.Sent.Key = v.Bytes(n)
		a.Sent.Index = int(binary.BigEndian.Uint16(v.Bytes(2)))
		a.Sent.Of = int(binary.BigEndian.Uint16(v.Bytes(2)))
	}
	if k.End() != nil || v.Bad || a.Lane >= Lanes || a.Sent.Index > a.Sent.Of {
		return a, Damaged(key, "this program does not know the form of its content")
	}
	a.Place, _, err = ReadPlace(key, v.Rest)
	return a, err
}

// WithNumber gives the value of an audit record in which a message has its number in a link, or
// nil where the record is not the one that has no number yet.
func (s *SentAt) WithNumber(value []byte, number uint64) []byte {
	end := len(value) - CRCSize
	at := end - 8*(s.Of-s.Index)
	if s.Index >= s.Of || at < 1 || binary.BigEndian.Uint64(value[at:]) != 0 {
		return nil
	}
	numbered := append([]byte(nil), value...)
	binary.BigEndian.PutUint64(numbered[at:], number)
	Seal(s.Key, numbered)
	return numbered
}

// ReadsKey is that of what a peer has said last that it reads.
func ReadsKey(peer processtable.NodeID) []byte {
	return AppendName(AppendName([]byte{ClassMeta}, ReadsName), string(peer))
}

// ReadsName is what the keys of ReadsKey begin with.
const ReadsName = "reads"

const readsSize = 4 + message.MaxKinds

// NewReads gives the record of what a peer reads.
func NewReads(peer processtable.NodeID, r *message.Reads) change.Op {
	key := ReadsKey(peer)
	content := append([]byte{r.Message.Min, r.Message.Max, r.Table.Min, r.Table.Max}, r.Bodies[:]...)
	return change.Op{Key: key, Value: New(key, content...)}
}

// ReadReads reads it.
func ReadReads(key, value []byte) (peer processtable.NodeID, r message.Reads, err error) {
	b, err := Open(key, value)
	if err != nil {
		return "", r, err
	}
	k := KeyReader{Rest: key[1:]}
	k.Name()
	peer = processtable.NodeID(k.Name())
	if k.End() != nil || len(b) != readsSize {
		return peer, r, Damaged(key, "this program does not know the form of its content")
	}
	r.Message, r.Table = message.Range{Min: b[0], Max: b[1]}, message.Range{Min: b[2], Max: b[3]}
	copy(r.Bodies[:], b[4:])
	return peer, r, nil
}
