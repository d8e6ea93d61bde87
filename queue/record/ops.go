package record

import (
	"encoding/binary"
	"errors"

	"fmqm/internal/store/change"
)

// AppendOps appends changes: the length of the key, the key, the length of the value
// plus one, or 0 for a removal, and the value.
func AppendOps(b []byte, ops []change.Op) []byte {
	for i := range ops {
		op := &ops[i]
		b = append(binary.AppendUvarint(b, uint64(len(op.Key))), op.Key...)
		if op.Value == nil {
			b = append(b, 0)
			continue
		}
		b = append(binary.AppendUvarint(b, uint64(len(op.Value))+1), op.Value...)
	}
	return b
}

var errOps = errors.New("this program cannot read its changes")

// ReadOps reads what AppendOps has appended; what it gives are parts of b.
func ReadOps(b []byte) (ops []change.Op, err error) {
	next := func(n uint64) []byte {
		if n > uint64(len(b)) {
			err, n = errOps, 0
		}
		part := b[:n:n]
		b = b[n:]
		return part
	}
	number := func() uint64 {
		n, width := binary.Uvarint(b)
		if width <= 0 {
			err = errOps
			return 0
		}
		b = b[width:]
		return n
	}
	for len(b) > 0 && err == nil {
		op := change.Op{Key: next(number())}
		if size := number(); size > 0 {
			op.Value = next(size - 1)
		}
		ops = append(ops, op)
	}
	return ops, err
}
