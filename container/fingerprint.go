package container

import (
	"crypto/sha256"
	"encoding/binary"
)

// Fingerprint is the same for types of one shape (Misfit), and for no others: members of the same names
// and types, in the same order, whatever the structures are called and the defaults are. What it is of a
// type never changes: stores have it.
func Fingerprint(t *Type) [sha256.Size]byte { return fingerprints{}.of(t) }

// fingerprints has those of structures that were made, or a type whose members share a type many times
// over would take exponential time.
type fingerprints map[*Type][sha256.Size]byte

func (f fingerprints) of(t *Type) [sha256.Size]byte {
	if sum, known := f[t]; known {
		return sum
	}
	h := sha256.New()
	h.Write([]byte("fmqm shape 1"))
	h.Write([]byte{byte(t.Kind)})
	switch t.Kind {
	case List:
		sum := f.of(t.Elem)
		h.Write(sum[:])
	case Structure:
		for _, m := range t.Members {
			sum := f.of(m.Type)
			h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(m.Name))))
			h.Write([]byte(m.Name))
			h.Write(sum[:])
		}
	default: // the kind is all
	}
	sum := [sha256.Size]byte(h.Sum(nil))
	if t.Kind == Structure {
		f[t] = sum
	}
	return sum
}
