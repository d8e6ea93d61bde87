package queue

import (
	"encoding/binary"
	"fmt"

	"fmqm/internal/failpoint"
	"fmqm/internal/store"
	"fmqm/queue/commit"
	"fmqm/queue/record"
)

// A transaction that the engine cannot commit at once (the end of an activity with
// thousands of connectors, each with a body of its own) is written down first: its
// changes as pieces that nothing names, then, in one commit, a head that names them.
// With the head the transaction has happened, so nothing may refuse it any more: that the engine
// takes each of its changes is looked at before. The changes are then made in as many
// commits as they take, and the last one removes head and pieces. Open does the same
// with a head that it finds, before anything else is read; pieces without a head go.
//
// Each change is a put or a removal of its own key, so that making some of them twice
// does no harm. Meanwhile nothing else is committed.

const (
	// pieceSize is how much of the changes one piece has.
	pieceSize = 256 << 10
	// maxPieces bounds what Open believes.
	maxPieces = 2 * commit.MaxLarge / pieceSize
)

// commitLarge makes the changes of ops, as one transaction.
func (m *Manager) commitLarge(ops []store.Op) error {
	if err := m.engine.Bounds().CheckOps(ops); err != nil { // behind the head it would be so at each start
		return err
	}
	encoded := record.AppendOps(nil, ops)
	count := (len(encoded) + pieceSize - 1) / pieceSize
	pieces := make([]store.Op, 0, count)
	for index := range count {
		key := record.AppendPieceKey(nil, index)
		piece := encoded[index*pieceSize : min(len(encoded), (index+1)*pieceSize)]
		pieces = append(pieces, store.Op{Key: key, Value: record.New(key, piece...)})
	}
	if err := m.commitInParts(pieces, "large.piece"); err != nil {
		return err
	}
	head := record.New(record.KeyLarge, binary.BigEndian.AppendUint32(nil, uint32(count))...)
	if err := m.commitInParts([]store.Op{{Key: record.KeyLarge, Value: head}}, "large.head"); err != nil {
		return err
	}
	return m.makeChanges(ops, count)
}

// makeChanges makes the changes of a transaction whose head is on disk.
func (m *Manager) makeChanges(ops []store.Op, pieces int) error {
	if err := m.commitInParts(ops, "large.change"); err != nil {
		return err
	}
	return m.commitInParts(removePieces([]store.Op{{Key: record.KeyLarge}}, pieces), "large.end")
}

func removePieces(ops []store.Op, count int) []store.Op {
	for index := range count {
		ops = append(ops, store.Op{Key: record.AppendPieceKey(nil, index)})
	}
	return ops
}

// commitInParts commits ops in order, as many at once as the engine takes. After each
// commit it passes a failpoint.
func (m *Manager) commitInParts(ops []store.Op, point string) error {
	for len(ops) > 0 {
		n, size := 0, int64(0)
		for n < len(ops) {
			size += m.engine.Size(&store.Batch{Ops: ops[n : n+1]})
			if n > 0 && size > m.maxBatch {
				break
			}
			n++
		}
		if err := m.engine.Commit(m.engine.Last()+1, &store.Batch{Ops: ops[:n]}); err != nil {
			return err
		}
		failpoint.Hit(point)
		ops = ops[n:]
	}
	return nil
}

// finishLarge finishes, at open, the large transaction that was under way when the
// node stopped, or removes what there is of it.
func (m *Manager) finishLarge() error {
	var encoded []byte
	pieces, head := 0, 0
	err := m.read.Each(store.ScanOptions{Prefix: []byte{record.ClassLarge}}, func(key, value []byte) error {
		content, err := record.Open(key, value)
		if err != nil {
			return err
		}
		if len(key) == len(record.KeyLarge) {
			if len(content) != 4 {
				return record.Damaged(key, "this program does not know the form of its content")
			}
			head = int(binary.BigEndian.Uint32(content))
			return nil
		}
		if k := (record.KeyReader{Rest: key[1:]}); k.Uint32() != uint32(pieces) || k.End() != nil || pieces == maxPieces {
			return record.Damaged(key, "its earlier pieces are missing")
		}
		encoded = append(encoded, content...)
		pieces++
		return nil
	})
	switch {
	case err != nil:
		return err
	case head == 0:
		return m.commitInParts(removePieces(nil, pieces), "large.sweep")
	case head != pieces:
		return record.Damaged(record.KeyLarge, fmt.Sprintf("it has %d pieces of %d", pieces, head))
	}
	ops, err := record.ReadOps(encoded)
	if err != nil {
		return record.Damaged(record.KeyLarge, err.Error())
	}
	return m.makeChanges(ops, pieces)
}
