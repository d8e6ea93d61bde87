package record

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"fmqm/message"
)

const (
	// PartSize is how much of a message one item of a transmission queue carries, in
	// bytes: what is larger goes out in several (L4).
	PartSize = 256 << 10
	// MostParts bounds what is read of a head.
	MostParts = 1 << 10
	PartHead  = 1 + 4 + 4

	// MaxParts is in how many parts the largest message travels: so many, of 256 KiB each, are
	// kept of a peer's lane until the last one comes.
	MaxParts = (message.MaxEncoded + PartSize - 1) / PartSize
)

const (
	PayloadWhole = 0 // the encoded message
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

// Incoming is what is stored of a message that has not come whole: its parts from the first
// one on, without a gap, which are the newest items that were accepted in their lane. Since
// parts follow one another, there is at most one such message in a lane.
type Incoming struct {
	First uint64 // number of its first part; 0: there is none
	Count int
}

// Last says whether the message is complete with this piece.
func (p Piece) Last() bool { return p.Index == p.Of-1 }

// ErrPayload: an item of a link is not of a known form. Errors of Unpack wrap it.
var ErrPayload = errors.New("this program does not know the form of the item")

// Unpack reads the payload of an item.
func Unpack(payload []byte) (Piece, error) {
	if len(payload) == 0 {
		return Piece{}, fmt.Errorf("%w: it is empty", ErrPayload)
	}
	switch payload[0] {
	case PayloadWhole:
		return Piece{Whole: true, Of: 1, Data: payload[1:]}, nil
	case payloadPart:
		if len(payload) < PartHead {
			return Piece{}, fmt.Errorf("%w: it is a part with only %d bytes", ErrPayload, len(payload))
		}
		p := Piece{
			Index: int(binary.BigEndian.Uint32(payload[1:])),
			Of:    int(binary.BigEndian.Uint32(payload[5:])),
			Data:  payload[PartHead:],
		}
		if p.Of < 2 || p.Of > MostParts || p.Index >= p.Of || len(p.Data) > PartSize {
			return Piece{}, fmt.Errorf("%w: it says that it is part %d of %d, with %d bytes", ErrPayload, p.Index, p.Of, len(p.Data))
		}
		return p, nil
	}
	return Piece{}, fmt.Errorf("%w: it has form %d: upgrade this node", ErrPayload, payload[0])
}

// Pieces is how many items a message of size encoded bytes takes.
func Pieces(size int) int {
	if size <= PartSize {
		return 1
	}
	return (size + PartSize - 1) / PartSize
}

// AppendPartHead appends what stands before a part of a message in an item.
func AppendPartHead(b []byte, index, of int) []byte {
	b = binary.BigEndian.AppendUint32(append(b, payloadPart), uint32(index))
	return binary.BigEndian.AppendUint32(b, uint32(min(of, math.MaxUint32)))
}
