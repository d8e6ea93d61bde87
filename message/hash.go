package message

import "encoding/binary"

// Hash is a number for an entry, the same in every process, spread over all its bits. Who does not
// know the seed cannot choose entries whose numbers fall together.
func (e *Entry) Hash(seed uint64) uint64 {
	h := mixed(seed ^ binary.LittleEndian.Uint64(e.Instance[:8]))
	h = mixed(h ^ binary.LittleEndian.Uint64(e.Instance[8:]))
	h = mixed(sum(h, string(e.Scope)))
	return mixed(sum(h, string(e.Activity)))
}

// sum continues a hash (FNV-1a) with a text.
func sum(h uint64, text string) uint64 {
	for i := range len(text) {
		h = (h ^ uint64(text[i])) * 0x100000001b3
	}
	return h
}

// mixed spreads what is in h over all its bits (the last step of MurmurHash3).
func mixed(h uint64) uint64 {
	h = (h ^ h>>33) * 0xff51afd7ed558ccd
	h = (h ^ h>>33) * 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}
