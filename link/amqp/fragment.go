package amqp

import (
	"encoding/binary"
	"slices"

	"fmqm/link/frame"
)

// What is sealed for a peer begins with one byte that says what it is:
//
//	1  a whole frame follows
//	2  a part: number of the frame (4 bytes), index and count (1 byte each), then bytes
//	3  is anybody there? Answered with 4
//	4  yes
//	5  the sender is not reached over the broker any more, by its configuration
const (
	kindWhole = 1
	kindPart  = 2
	kindPing  = 3
	kindPong  = 4
	kindLeave = 5
)

const (
	// partSize keeps messages below 1 MiB, which every broker takes.
	partSize = 900 << 10
	partHead = 7
	maxParts = (frame.MaxFrame + partSize - 1) / partSize
	// maxPartial is how many frames are put together at a time.
	maxPartial = 2
)

// pack gives what is to be sealed for a frame, one or several pieces.
func pack(frame []byte, number uint32) [][]byte {
	if len(frame) <= partSize {
		return [][]byte{append(append(make([]byte, 0, 1+len(frame)), kindWhole), frame...)}
	}
	count := (len(frame) + partSize - 1) / partSize
	pieces := make([][]byte, 0, count)
	for i := range count {
		part := frame[i*partSize : min((i+1)*partSize, len(frame))]
		piece := make([]byte, 0, partHead+len(part))
		piece = append(piece, kindPart)
		piece = binary.BigEndian.AppendUint32(piece, number)
		piece = append(piece, byte(i), byte(count))
		pieces = append(pieces, append(piece, part...))
	}
	return pieces
}

// assembler puts frames together. What is not complete when maxPartial others have begun
// is given up: its frame counts as lost.
type assembler struct{ partial []*partial }

type partial struct {
	number uint32
	parts  [][]byte
	come   int // how many of them
	size   int
}

// add takes a part. With the last one it gives the frame.
func (a *assembler) add(piece []byte) (whole []byte) {
	if len(piece) <= partHead {
		return nil
	}
	number, index, count := binary.BigEndian.Uint32(piece[1:]), int(piece[5]), int(piece[6])
	body := piece[partHead:]
	if count < 2 || count > maxParts || index >= count || len(body) > partSize {
		return nil
	}
	p := a.find(number, count)
	if p.parts[index] != nil || p.size+len(body) > frame.MaxFrame {
		return nil
	}
	p.parts[index] = body
	p.size += len(body)
	if p.come++; p.come < count {
		return nil
	}
	a.partial = slices.DeleteFunc(a.partial, func(q *partial) bool { return q == p })
	return slices.Concat(p.parts...)
}

func (a *assembler) find(number uint32, count int) *partial {
	for _, p := range a.partial {
		if p.number == number && len(p.parts) == count {
			return p
		}
	}
	if len(a.partial) == maxPartial {
		a.partial = a.partial[1:]
	}
	p := &partial{number: number, parts: make([][]byte, count)}
	a.partial = append(a.partial, p)
	return p
}

// reset gives up everything.
func (a *assembler) reset() { a.partial = nil }
