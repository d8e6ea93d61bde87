package queue

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
)

// recordVersion is the version byte of the records that this code writes, but for messages
// set aside whose body is apart.
const recordVersion = 1

// asideVersion is that of a message set aside whose body is apart. What lies with its
// body is of version 1, as everything was that an older version wrote.
const asideVersion = 2

// newestVersion is the newest version of a class's records.
func newestVersion(class byte) byte {
	if class == classSetAside {
		return asideVersion
	}
	return recordVersion
}

// formatVersion is the version of the store's layout.
const formatVersion = 1

// crcSize is what a record's checksum takes at its end.
const crcSize = 4

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// ErrDamaged: a record's version or checksum does not match, or it cannot be read.
var ErrDamaged = errors.New("it is damaged, or another version of fmqmd wrote it: restore the data directory from a backup")

// A record's value is its version, its content, and a CRC-32C over its key and all
// that stands before it. seal writes that checksum into the last four bytes.
func seal(key, value []byte) {
	body := value[:len(value)-crcSize]
	binary.BigEndian.PutUint32(value[len(body):], checksum(key, body))
}

func checksum(key, body []byte) uint32 {
	return crc32.Update(crc32.Update(0, castagnoli, key), castagnoli, body)
}

// beginRecord appends a record's version; endRecord room for the checksum.
func beginRecord(b []byte) []byte { return append(b, recordVersion) }
func endRecord(b []byte) []byte   { return append(b, 0, 0, 0, 0) }

// newRecord gives the sealed value of a small record.
func newRecord(key []byte, content ...byte) []byte {
	value := endRecord(append(beginRecord(make([]byte, 0, len(content)+5)), content...))
	seal(key, value)
	return value
}

// openRecord verifies a record and gives its content, a part of value.
func openRecord(key, value []byte) ([]byte, error) {
	if len(value) < 1+crcSize {
		return nil, damaged(key, "it is too short")
	}
	body := value[:len(value)-crcSize]
	if binary.BigEndian.Uint32(value[len(body):]) != checksum(key, body) {
		return nil, damaged(key, "its checksum does not match")
	}
	if newest := newestVersion(key[0]); body[0] < recordVersion || body[0] > newest {
		return nil, damaged(key, fmt.Sprintf("it has version %d, and this program knows up to %d", body[0], newest))
	}
	return body[1:], nil
}

func damaged(key []byte, why string) error {
	return fmt.Errorf("record %q: %s: %w", readable(key), why, ErrDamaged)
}

// Where a large part of a record lies (S2).
const (
	placeInline = 0 // behind
	placeStaged = 1 // in chunks; behind stand its number, their count and its size
)

// bodyRef names a staged body.
type bodyRef struct {
	id    uint64
	count int // chunks
	size  int // bytes
}

const refSize = 8 + 4 + 4

func appendRef(b []byte, r bodyRef) []byte {
	b = binary.BigEndian.AppendUint64(b, r.id)
	b = binary.BigEndian.AppendUint32(b, uint32(r.count))
	return binary.BigEndian.AppendUint32(b, uint32(r.size))
}

// place is the large part of a record as it was read: inline bytes, or a reference.
type place struct {
	inline []byte
	ref    bodyRef // count 0: inline
}

// readPlace reads what stands at the end of a record's content. Where it is staged,
// rest is what stands behind the reference.
func readPlace(key, content []byte) (p place, rest []byte, err error) {
	if len(content) == 0 {
		return p, nil, damaged(key, "it ends too early")
	}
	switch content[0] {
	case placeInline:
		return place{inline: content[1:]}, nil, nil
	case placeStaged:
		if len(content) < 1+refSize {
			return p, nil, damaged(key, "it ends too early")
		}
		b := content[1:]
		p.ref = bodyRef{
			id:    binary.BigEndian.Uint64(b),
			count: int(binary.BigEndian.Uint32(b[8:])),
			size:  int(binary.BigEndian.Uint32(b[12:])),
		}
		return p, b[refSize:], nil
	}
	return p, nil, damaged(key, "this program does not know the form of its content")
}

// refOf gives the staged body that a record of a class names; ok is false if it has
// its content inline.
func refOf(key, value []byte) (ref bodyRef, ok bool, err error) {
	content, err := openRecord(key, value)
	if err != nil {
		return ref, false, err
	}
	if skip := fixedPart(key[0]); len(content) >= skip {
		content = content[skip:]
	}
	p, _, err := readPlace(key, content)
	return p.ref, p.ref.count > 0, err
}

// fixedPart is how many bytes of a record's content stand before its place.
func fixedPart(class byte) int {
	switch class {
	case classTransmission:
		return itemFixed
	case classTable:
		return tableFixed
	default:
		return 0
	}
}
