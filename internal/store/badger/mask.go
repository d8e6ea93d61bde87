package badger

import (
	"crypto/rand"
	"encoding/binary"
	"fmt"
	random "math/rand/v2"
)

// A value is masked before the engine has it: 8 random bytes, and behind them the value,
// each 8 bytes of it XORed with those. Whoever chooses a value, a container's for one,
// does not choose what stands in the log: nobody can make it hold the bytes of a record,
// which a look behind a torn end (judgeRest) would take for a later commit. With a key
// that the store keeps in one place all values would be lost with it; with this there is
// nothing to keep.
const (
	// metaMasked is the user meta of a record whose value is masked. What older versions
	// wrote is not, and has 0.
	metaMasked = 1
	maskSize   = 8
)

// masker masks the values of one commit at a time.
type masker struct {
	source *random.ChaCha8
	buf    []byte
}

func newMasker() masker {
	var seed [32]byte
	_, _ = rand.Read(seed[:]) // never fails
	return masker{source: random.NewChaCha8(seed)}
}

// begin makes room for n values of size bytes together; what mask gave before is void.
func (m *masker) begin(n, size int) {
	if need := n*maskSize + size; cap(m.buf) < need {
		m.buf = make([]byte, 0, need)
	}
	m.buf = m.buf[:0]
}

// mask gives a masked copy of a value, good until the next begin.
func (m *masker) mask(value []byte) []byte {
	start := len(m.buf)
	mask := m.source.Uint64()
	m.buf = binary.LittleEndian.AppendUint64(m.buf, mask)
	m.buf = appendXOR(m.buf, value, mask)
	return m.buf[start:len(m.buf):len(m.buf)]
}

// appendUnmasked appends to b the value that a record has, by its user meta.
func appendUnmasked(b []byte, meta byte, stored []byte) ([]byte, error) {
	switch {
	case meta == 0:
		return append(b, stored...), nil
	case meta != metaMasked || len(stored) < maskSize:
		return b, fmt.Errorf("%w: a value of %d bytes has a form (%d) that this engine never writes", ErrDamaged, len(stored), meta)
	}
	return appendXOR(b, stored[maskSize:], binary.LittleEndian.Uint64(stored)), nil
}

func appendXOR(b, value []byte, mask uint64) []byte {
	start := len(b)
	b = append(b, value...)
	to := b[start:]
	for len(to) >= maskSize {
		binary.LittleEndian.PutUint64(to, binary.LittleEndian.Uint64(to)^mask)
		to = to[maskSize:]
	}
	for i := range to {
		to[i] ^= byte(mask >> (8 * i))
	}
	return b
}
