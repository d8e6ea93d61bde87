package queue

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

const (
	// partSize is how much of a message one item of a transmission queue carries, in
	// bytes: what is larger goes out in several (L4).
	partSize = 256 << 10
	// maxParts bounds what a receiver believes.
	maxParts = 1 << 10
	partHead = 1 + 4 + 4
)

const (
	payloadWhole = 0 // the encoded message
	payloadPart  = 1 // index, count, and a part of the encoded message
)

// Piece is what an item of a link carries: a whole encoded message, or one part of
// it. The number of a message's first part is the item's number less Index, and
// identifies the message within its peer and lane.
type Piece struct {
	Whole bool
	Index int    // counts from 0
	Of    int    // how many parts the message has; 1 if Whole
	Data  []byte // a part of the payload
}

// Last says whether the message is complete with this piece.
func (p Piece) Last() bool { return p.Index == p.Of-1 }

// ErrPayload: an item of a link is not of a known form. Errors of Unpack wrap it.
var ErrPayload = errors.New("item is not of a known form")

// Unpack reads the payload of an item.
func Unpack(payload []byte) (Piece, error) {
	if len(payload) == 0 {
		return Piece{}, fmt.Errorf("%w: it is empty", ErrPayload)
	}
	switch payload[0] {
	case payloadWhole:
		return Piece{Whole: true, Of: 1, Data: payload[1:]}, nil
	case payloadPart:
		if len(payload) < partHead {
			return Piece{}, fmt.Errorf("%w: a part of %d bytes", ErrPayload, len(payload))
		}
		p := Piece{
			Index: int(binary.BigEndian.Uint32(payload[1:])),
			Of:    int(binary.BigEndian.Uint32(payload[5:])),
			Data:  payload[partHead:],
		}
		if p.Of < 2 || p.Of > maxParts || p.Index >= p.Of || len(p.Data) > partSize {
			return Piece{}, fmt.Errorf("%w: part %d of %d with %d bytes", ErrPayload, p.Index, p.Of, len(p.Data))
		}
		return p, nil
	}
	return Piece{}, fmt.Errorf("%w: %d is not a known form: upgrade this node", ErrPayload, payload[0])
}

// pieces is how many items a message of size encoded bytes takes.
func pieces(size int) int {
	if size <= partSize {
		return 1
	}
	return (size + partSize - 1) / partSize
}

func appendPartHead(b []byte, index, of int) []byte {
	b = binary.BigEndian.AppendUint32(append(b, payloadPart), uint32(index))
	return binary.BigEndian.AppendUint32(b, uint32(min(of, math.MaxUint32)))
}
