package queue

import (
	"fmt"
	"hash/crc32"
)

// A staged body is its chunks and one record that says whether a record names it, and
// which. At open, bodies that nothing names are swept; those of messages, items and
// the like are removed with the record that names them. Bodies of the audit queue
// have no such record once they are named.

// filterSlots is the size of a stagedFilter.
const filterSlots = 1 << 12

// stagedFilter says, in memory of a fixed size, which records may have a staged body,
// so that removing the others costs no read.
type stagedFilter struct {
	total int
	slots [filterSlots]uint32
}

func newStagedFilter() *stagedFilter { return &stagedFilter{} }

func (f *stagedFilter) slot(key []byte) *uint32 {
	return &f.slots[crc32.Checksum(key, castagnoli)%filterSlots]
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
