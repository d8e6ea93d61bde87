package record

import (
	"encoding/binary"

	"fmqm/internal/store/change"
)

// Where a large part of a record lies (S2).
const (
	PlaceInline = 0 // behind
	PlaceStaged = 1 // in chunks; behind stand its number, their count and its size
)

// BodyRef names a staged body.
type BodyRef struct {
	ID    uint64
	Count int // chunks
	Size  int // bytes
}

const refSize = 8 + 4 + 4

// AppendRef appends a reference as it stands behind PlaceStaged.
func AppendRef(b []byte, r BodyRef) []byte {
	b = binary.BigEndian.AppendUint64(b, r.ID)
	b = binary.BigEndian.AppendUint32(b, uint32(r.Count))
	return binary.BigEndian.AppendUint32(b, uint32(r.Size))
}

// Place is the large part of a record as it was read: inline bytes, or a reference.
type Place struct {
	Inline []byte
	Ref    BodyRef // count 0: inline
}

// ReadPlace reads what stands at the end of a record's content. Where it is staged,
// rest is what stands behind the reference.
func ReadPlace(key, content []byte) (p Place, rest []byte, err error) {
	if len(content) == 0 {
		return p, nil, Damaged(key, "it ends too early")
	}
	switch content[0] {
	case PlaceInline:
		return Place{Inline: content[1:]}, nil, nil
	case PlaceStaged:
		if len(content) < 1+refSize {
			return p, nil, Damaged(key, "it ends too early")
		}
		b := content[1:]
		p.Ref = BodyRef{
			ID:    binary.BigEndian.Uint64(b),
			Count: int(binary.BigEndian.Uint32(b[8:])),
			Size:  int(binary.BigEndian.Uint32(b[12:])),
		}
		return p, b[refSize:], nil
	}
	return p, nil, Damaged(key, "this program does not know the form of its content")
}

// RefOf gives the staged body that a record of a class names; ok is false if it has
// its content inline.
func RefOf(key, value []byte) (ref BodyRef, ok bool, err error) {
	version, content, err := openVersion(key, value)
	if err != nil {
		return ref, false, err
	}
	if skip := fixedPart(key[0], version); len(content) >= skip {
		content = content[skip:]
	}
	p, _, err := ReadPlace(key, content)
	return p.Ref, p.Ref.Count > 0, err
}

// What stands before the place in a record's content, in bytes.
const (
	// ItemFixed: an item's running hash, the bytes in its lane up to it, and its time.
	ItemFixed  = 16 + 8 + 8
	TableFixed = 32
)

// ChunkSize is how much of a staged body one chunk has: a part of a message fits.
const ChunkSize = PartSize + 1<<10

// fixedPart is how many bytes of a record's content stand before its place.
func fixedPart(class, version byte) int {
	switch {
	case class == ClassTransmission:
		return ItemFixed
	case class == ClassTable:
		return TableFixed
	case isMessage(class) && version >= MessageVersion:
		return arrivalSize
	}
	return 0
}

// A staged body is its chunks and one record that says whether a record names it, and
// which. At open, bodies that nothing names are swept; those of messages, items and
// the like are removed with the record that names them. Bodies of the audit queue
// have no such record once they are named.

// StagedContent is the content of a staged body's record: whether a record names it, and which.
func StagedContent(named bool, ref BodyRef, owner []byte) []byte {
	b := []byte{0}
	if named {
		b[0] = 1
	}
	return append(binary.BigEndian.AppendUint32(b, uint32(ref.Count)), owner...)
}

// ReadStaged reads the record of a staged body; owner is a part of value.
func ReadStaged(key, value []byte) (named bool, ref BodyRef, owner []byte, err error) {
	content, err := Open(key, value)
	if err != nil {
		return false, ref, nil, err
	}
	k := KeyReader{Rest: key[1:]}
	ref.ID = k.Uint64()
	if k.End() != nil || len(content) < 5 || content[0] > 1 {
		return false, ref, nil, Damaged(key, "this program does not know the form of its content")
	}
	ref.Count = int(binary.BigEndian.Uint32(content[1:]))
	return content[0] == 1, ref, content[5:], nil
}

// RemoveStaged adds the removal of a body to ops.
func RemoveStaged(ops []change.Op, ref BodyRef) []change.Op {
	ops = append(ops, change.Op{Key: AppendStagedKey(nil, ref.ID)})
	for i := range ref.Count {
		ops = append(ops, change.Op{Key: AppendChunkKey(nil, ref.ID, i)})
	}
	return ops
}
