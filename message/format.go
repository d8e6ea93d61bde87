package message

import (
	"math"

	"fmqm/internal/cbor"
	"fmqm/processtable"
)

// Formats gives the format version of an encoded message and, if it brings a process
// table, that of the table; 0 where there is none, or none that can be found. data may
// end anywhere behind the first bytes of the body, so that the first part of a large
// message will do. What a version of the message format has behind its number is only
// known of versions that this program reads.
func Formats(data []byte) (format, table uint32) {
	r := cbor.NewReader(data)
	r.Array(3)
	format = uint32(r.Uint(math.MaxUint32))
	if r.Err() != nil || format > FormatVersion {
		return format, 0
	}
	r = cbor.NewReader(data)
	h := decodeHeader(&r)
	if r.Err() != nil || h.Kind != KindTable {
		return format, 0
	}
	return format, uint32(processtable.ReaderOf(behindHead(data[r.Offset():])))
}

// behindHead gives what stands behind the head of a byte string.
func behindHead(data []byte) []byte {
	if len(data) == 0 {
		return nil
	}
	head := 1
	if low := data[0] & 0x1f; low >= 24 && low <= 27 {
		head += 1 << (low - 24)
	}
	return data[min(head, len(data)):]
}
