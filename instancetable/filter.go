package instancetable

import "fmqm/message"

// Sizes of the filter, in bits: 32 KiB at first, 8 MiB at most.
const (
	minFilterBits = 1 << 18
	maxFilterBits = 1 << 26
)

// filter remembers which keys were evicted, without keeping them: it may say yes for
// one that was not, never no for one that was. Keys cannot be taken out again, since
// that could not be done without error; a crowded filter is made anew by a browse.
type filter struct {
	seed uint64
	size uint64
	bits []uint64 // allocated with the first key: most processes evict nothing
	set  uint64
}

func newFilter(size, seed uint64) *filter { return &filter{seed: seed, size: size} }

func (f *filter) slot(key message.Entry) (word, bit uint64) {
	i := key.Hash(f.seed) % f.size
	return i / 64, 1 << (i % 64)
}

func (f *filter) add(key message.Entry) {
	if f.bits == nil {
		f.bits = make([]uint64, f.size/64)
	}
	word, bit := f.slot(key)
	if f.bits[word]&bit == 0 {
		f.bits[word] |= bit
		f.set++
	}
}

func (f *filter) has(key message.Entry) bool {
	if f.bits == nil {
		return false
	}
	word, bit := f.slot(key)
	return f.bits[word]&bit != 0
}

// crowded: more than half of the bits are set, and a larger filter would help.
func (f *filter) crowded() bool { return f.set > f.size/2 && f.size < maxFilterBits }

// grown is the size of the filter that takes this one's place.
func (f *filter) grown() uint64 { return min(4*f.size, maxFilterBits) }
