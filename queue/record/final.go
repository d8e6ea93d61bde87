package record

import (
	"encoding/binary"

	"fmqm/processtable"
)

// Final is the final word of a node about a version that is retired (N31): no instance of it will ever begin there, and
// all that began there have ended. It is for ever, and of one store.
type Final struct {
	Process processtable.ProcessID
	Node    processtable.NodeID
	// Store is that which the node had. Of this node with another store than it has now: what others have told it, after
	// a store was lost or put back. Nothing begins here then either, and it does not say that all have ended.
	Store Incarnation
}

// FinalKey is that of a final word.
func FinalKey(p processtable.ProcessID, node processtable.NodeID) []byte {
	key := binary.BigEndian.AppendUint32(AppendName(FinalKeys(), p.Name), uint32(p.Version))
	return AppendName(key, string(node))
}

// FinalKeys is what the keys of all of them begin with.
func FinalKeys() []byte { return AppendName([]byte{ClassMeta}, "final") }

// FinalRecord gives the record of a final word.
func FinalRecord(f *Final) (key, value []byte) {
	key = FinalKey(f.Process, f.Node)
	return key, New(key, f.Store[:]...)
}

// ReadFinal reads it.
func ReadFinal(key, value []byte) (f Final, err error) {
	content, err := Open(key, value)
	if err != nil {
		return f, err
	}
	k := KeyReader{Rest: key[1:]}
	_ = k.Name()
	f.Process.Name = k.Name()
	f.Process.Version = int(k.Uint32())
	f.Node = processtable.NodeID(k.Name())
	if k.End() != nil || len(content) != len(f.Store) {
		return f, Damaged(key, "this program does not know its form")
	}
	f.Store = Incarnation(content)
	return f, nil
}

// Quiet has a transaction refused with ErrStale if anything was put into a process queue by a later commit than
// Since, or by one that was not on disk then.
type Quiet struct {
	Process processtable.ProcessID
	Since   uint64
}
