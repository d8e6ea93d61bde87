package record

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
)

// Version is the version byte of the records that this code writes, but for messages, and refused
// ones whose body is apart.
const Version = 1

// RefusedVersion is that of a refused message whose body is apart. What lies with its
// body is of version 1, as everything was that an older version wrote.
const RefusedVersion = 2

// MessageVersion is that of the messages of a process queue: they have their arrival number.
// Those of version 1 came to the queue before there were any.
const MessageVersion = 2

// newestVersion is the newest version of a class's records.
func newestVersion(class byte) byte {
	switch {
	case class == ClassRefused:
		return RefusedVersion
	case isMessage(class):
		return MessageVersion
	case class == ClassTimer:
		return TimerVersion
	}
	return Version
}

// isMessage says whether a class is one of the messages of process queues.
func isMessage(class byte) bool {
	return class == ClassMessage || class == ClassRecord || class == ClassMarker
}

// CRCSize is what a record's checksum takes at its end.
const CRCSize = 4

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// ErrDamaged: a record's version or checksum does not match, or it cannot be read.
var ErrDamaged = errors.New("it is damaged, or another version of fmqmd wrote it: restore the data directory from a backup")

// A record's value is its version, its content, and a CRC-32C over its key and all
// that stands before it. Seal writes that checksum into the last four bytes.
func Seal(key, value []byte) {
	body := value[:len(value)-CRCSize]
	binary.BigEndian.PutUint32(value[len(body):], checksum(key, body))
}

func checksum(key, body []byte) uint32 {
	return crc32.Update(crc32.Update(0, castagnoli, key), castagnoli, body)
}

// Begin appends a record's version.
func Begin(b []byte) []byte { return append(b, Version) }

// End appends room for a record's checksum.
func End(b []byte) []byte { return append(b, 0, 0, 0, 0) }

// New gives the sealed value of a small record.
func New(key []byte, content ...byte) []byte {
	value := End(append(Begin(make([]byte, 0, len(content)+5)), content...))
	Seal(key, value)
	return value
}

// Open verifies a record and gives its content, a part of value.
func Open(key, value []byte) ([]byte, error) {
	_, content, err := openVersion(key, value)
	return content, err
}

// openVersion is Open, with the record's version.
func openVersion(key, value []byte) (version byte, content []byte, err error) {
	if len(value) < 1+CRCSize {
		return 0, nil, Damaged(key, "it is too short")
	}
	body := value[:len(value)-CRCSize]
	if binary.BigEndian.Uint32(value[len(body):]) != checksum(key, body) {
		return 0, nil, Damaged(key, "its checksum does not match")
	}
	if newest := newestVersion(key[0]); body[0] < Version || body[0] > newest {
		return 0, nil, Damaged(key, fmt.Sprintf("it has version %d, and this program knows up to %d", body[0], newest))
	}
	return body[0], body[1:], nil
}

// Damaged is ErrDamaged of a record, and why.
func Damaged(key []byte, why string) error {
	return fmt.Errorf("record %q: %s: %w", Readable(key), why, ErrDamaged)
}
