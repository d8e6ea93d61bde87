package queue

import (
	"encoding/binary"
	"fmt"
	"hash/maphash"

	"fmqm/internal/store"
)

// A staged body is its chunks and one record that says whether a record names it, and
// which. At open, bodies that nothing names are swept; those of messages, items and
// the like are removed with the record that names them. Bodies of the audit queue
// have no such record once they are named.

func stagedContent(named bool, ref bodyRef, owner []byte) []byte {
	b := []byte{0}
	if named {
		b[0] = 1
	}
	return append(binary.BigEndian.AppendUint32(b, uint32(ref.count)), owner...)
}

func readStaged(key, value []byte) (named bool, ref bodyRef, owner []byte, err error) {
	content, err := openRecord(key, value)
	if err != nil {
		return false, ref, nil, err
	}
	k := keyReader{rest: key[1:]}
	ref.id = k.uint64()
	if k.end() != nil || len(content) < 5 || content[0] > 1 {
		return false, ref, nil, damaged(key, "this program does not know the form of its content")
	}
	ref.count = int(binary.BigEndian.Uint32(content[1:]))
	return content[0] == 1, ref, content[5:], nil
}

// removeStaged adds the removal of a body to ops.
func removeStaged(ops []store.Op, ref bodyRef) []store.Op {
	ops = append(ops, store.Op{Key: appendStagedKey(nil, ref.id)})
	for i := range ref.count {
		ops = append(ops, store.Op{Key: appendChunkKey(nil, ref.id, i)})
	}
	return ops
}

// filterSlots is the size of a stagedFilter.
const filterSlots = 1 << 12

// stagedFilter says, in memory of a fixed size, which records may have a staged body,
// so that removing the others costs no read.
type stagedFilter struct {
	seed  maphash.Seed
	total int
	slots [filterSlots]uint32
}

func newStagedFilter() *stagedFilter { return &stagedFilter{seed: maphash.MakeSeed()} }

func (f *stagedFilter) slot(key []byte) *uint32 {
	return &f.slots[maphash.Bytes(f.seed, key)%filterSlots]
}

func (f *stagedFilter) add(key []byte) {
	*f.slot(key)++
	f.total++
}

func (f *stagedFilter) remove(key []byte) {
	*f.slot(key)--
	f.total--
}

func (f *stagedFilter) maybe(key []byte) bool { return f.total > 0 && *f.slot(key) > 0 }

// errGone: a chunk is not there. The record that names it was removed since it was
// read, or it is damage; reading the record again tells.
var errGone = fmt.Errorf("a chunk of its body is missing: %w", ErrDamaged)
