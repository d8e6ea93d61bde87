package record

import (
	"encoding/binary"

	"fmqm/processtable"
)

// Charge is what a message that nothing here takes up changes of what its peer uses of the
// store. Of one that waits for a table (ClassParked) the record's own key says it; of the others
// a key of ClassUsage does, the usage index.
type Charge struct {
	Peer    processtable.NodeID
	Kind    byte                   // UsageRefused, UsageMarker, or 0: it waits for the table of Process
	Process processtable.ProcessID // of Kind 0
	Size    int                    // of the message, in bytes
	Number  int                    // of messages: 1 or -1
}

// What a key of ClassUsage is about.
const (
	UsageRefused = 's'
	UsageMarker  = 'k'
)

// Key gives the key in the index: what is the number of a refused message, or the key of a marker
// and a 0 byte.
func (c *Charge) Key(what []byte) []byte {
	key := append([]byte{ClassUsage, c.Kind}, what...)
	return binary.BigEndian.AppendUint32(AppendName(key, string(c.Peer)), uint32(c.Size))
}

// ReadChargeKey reads a key of the index, as what was added with it.
func ReadChargeKey(key []byte) (c Charge, err error) {
	k := KeyReader{Rest: key[1:]}
	c = Charge{Kind: k.Bytes(1)[0], Number: 1}
	switch c.Kind {
	case UsageRefused:
		k.Bytes(8)
	case UsageMarker:
		k.Bytes(1)
		k.Process()
		e := k.Entry()
		k.MessageKey(&e)
		k.Bytes(1) // its end
	}
	c.Peer, c.Size = processtable.NodeID(k.Name()), int(k.Uint32())
	if k.End() != nil {
		return c, Damaged(key, ErrKey.Error())
	}
	return c, nil
}

// RefusedClaim is what the key in the index begins with that says whose a refused message is.
func RefusedClaim(number uint64) []byte {
	return binary.BigEndian.AppendUint64([]byte{ClassUsage, UsageRefused}, number)
}
