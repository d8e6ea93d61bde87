package badger

import (
	"crypto/rand"
	"encoding/binary"
	"fmt"
)

// mask hides values from whoever chooses them, a container's for one: each 8 bytes of a
// value are XORed with 8 random bytes that the store drew when it was made. So nobody can
// make the log hold the bytes of a record, which a look behind a torn end (judgeRest)
// would take for a later commit. Each commit writes the mask anew, with its number: it is
// as safe as the values. A mask for each value would be another 8 bytes for each, a tenth
// of all that is written.
type mask uint64

// metaMasked is the user meta of a record whose value is masked. What older versions
// wrote is not, and has 0; nor is the engine's own record.
const metaMasked = 1

// newMask draws a mask.
func newMask() mask {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return mask(binary.LittleEndian.Uint64(b[:]))
}

// unmasked appends to b the value that a record has, by its user meta.
func (m mask) unmasked(b []byte, meta byte, stored []byte) ([]byte, error) {
	switch meta {
	case 0:
		return append(b, stored...), nil
	case metaMasked:
		return m.apply(b, stored), nil
	}
	return b, fmt.Errorf("%w: a value of %d bytes has a form (%d) that this engine never writes", ErrDamaged, len(stored), meta)
}

// apply appends a value to b, masked, or a masked one as it was.
func (m mask) apply(b, value []byte) []byte {
	start := len(b)
	b = append(b, value...)
	to := b[start:]
	for len(to) >= 8 {
		binary.LittleEndian.PutUint64(to, binary.LittleEndian.Uint64(to)^uint64(m))
		to = to[8:]
	}
	for i := range to {
		to[i] ^= byte(m >> (8 * i))
	}
	return b
}
