package record

import (
	"encoding/binary"

	"fmqm/processtable"
)

// A version of a process is pending from when its table is stored until all its sites have theirs, as far as is
// known here, or somebody says that it is current at once (N19): a record says so of those that are. So what is
// stored without one is current, as all tables are that older versions of this program have stored.

// PendingKey is that of the record that a version is pending.
func PendingKey(p processtable.ProcessID) []byte {
	return binary.BigEndian.AppendUint32(AppendName(PendingKeys(), p.Name), uint32(p.Version))
}

// PendingKeys is what the keys of all of them begin with.
func PendingKeys() []byte { return AppendName([]byte{ClassMeta}, "pending") }

// ReadPending reads which version is pending.
func ReadPending(key, value []byte) (p processtable.ProcessID, err error) {
	content, err := Open(key, value)
	if err != nil {
		return p, err
	}
	k := KeyReader{Rest: key[1:]}
	_ = k.Name()
	p.Name = k.Name()
	p.Version = int(k.Uint32())
	if k.End() != nil || len(content) != 0 {
		return p, Damaged(key, "this program does not know its form")
	}
	return p, nil
}
