package queue

import (
	"context"
	"fmt"

	"fmqm/internal/store"
	"fmqm/queue/record"
)

// keyPadding is that of a record that only Reclaim writes, and removes.
var keyPadding = record.AppendName([]byte{record.ClassMeta}, "padding")

// paddingSize is how large it is, in bytes.
const paddingSize = 512 << 10

// Reclaim gives back to the disk what removed records take, slowly, while work goes on.
// It costs reading and writing a part of the store that may be as large as all of it, and
// as many bytes of commits as the engine keeps back: without these what was removed last
// would take its room until as much was written by others. It ends with ctx, whose error
// it gives then. Only one may be under way.
func (m *Manager) Reclaim(ctx context.Context) error {
	compactor, ok := m.raw.(store.Compactor)
	if !ok {
		return nil
	}
	buffered := compactor.Buffered()
	for padded := int64(0); padded < buffered; padded += paddingSize {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err := m.pad(make([]byte, paddingSize)); err != nil {
			return err
		}
	}
	if buffered > 0 {
		if err := m.pad(nil); err != nil {
			return err
		}
	}
	if err := compactor.Compact(ctx); err != nil && ctx.Err() == nil {
		return fmt.Errorf("reclaim room: %w", err)
	}
	return ctx.Err()
}

// pad commits the padding record, or, with nothing in it, its removal.
func (m *Manager) pad(content []byte) error {
	op := store.Op{Key: keyPadding}
	if content != nil {
		op.Value = record.New(keyPadding, content...)
	}
	w := m.prepare(&record.Tx{})
	w.Ops = append(w.Ops, op)
	if err := m.await(w); err != nil {
		return fmt.Errorf("reclaim room: %w", err)
	}
	return nil
}
