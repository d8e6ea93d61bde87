package record

import (
	"encoding/binary"

	"fmqm/message"
	"fmqm/processtable"
)

// Parked is a message that waits for the table of its process.
type Parked struct {
	Process  processtable.ProcessID
	Instance message.InstanceID
	Peer     processtable.NodeID // that brought it; empty: a version of this program took it that did not note that
	Number   uint64              // given when it is put
	Message  []byte              // as it came, encoded

	Size int
}

// Key gives the key of its record; Number and Size are in it.
func (p *Parked) Key() []byte {
	b := append(AppendProcess(nil, ClassParked, p.Process), p.Instance[:]...)
	b = binary.BigEndian.AppendUint64(AppendName(b, string(p.Peer)), p.Number)
	return binary.BigEndian.AppendUint32(b, uint32(p.Size))
}

// ReadParkedKey reads all but the message.
func ReadParkedKey(key []byte) (p Parked, err error) {
	k := KeyReader{Rest: key[1:]}
	p.Process = k.Process()
	copy(p.Instance[:], k.Bytes(16))
	p.Peer = processtable.NodeID(k.Name())
	p.Number, p.Size = k.Uint64(), int(k.Uint32())
	if k.End() != nil {
		return p, Damaged(key, ErrKey.Error())
	}
	return p, nil
}
