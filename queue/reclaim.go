package queue

import (
	"context"
	"errors"
	"fmt"

	"fmqm/internal/store"
	"fmqm/queue/record"
)

// keyPadding is that of a record that only Reclaim writes, and removes; where it was cut off, Open does.
var keyPadding = record.AppendName([]byte{record.ClassMeta}, "padding")

// paddingSize is how large it is, in bytes.
const paddingSize = 512 << 10

// ErrNoRoom: the room of removed records is given back by writing others anew, and the disk has too
// little for these.
var ErrNoRoom = errors.New("too little free space on the disk to write the records that stay anew")

// Reclaim gives back to the disk what removed records take, slowly, while work goes on.
// It costs reading and writing a part of the store that may be as large as all of it, and
// as many bytes of commits as the engine keeps back: without these what was removed last
// would take its room until as much was written by others. It ends with ctx, whose error
// it gives then; with ErrNoRoom nothing was given back, or a part, and where that was known before nothing
// was written. Only one may be under way. It gives false if the engine cannot do it.
func (m *Manager) Reclaim(ctx context.Context) (bool, error) {
	compactor, ok := m.raw.(store.Compactor)
	if !ok {
		return false, nil
	}
	size, err := compactor.Buffered()
	if err == nil {
		if err := m.fill(ctx, size); err != nil {
			return true, err
		}
		err = compactor.Compact(ctx)
	}
	switch {
	case err == nil || ctx.Err() != nil:
		return true, ctx.Err()
	case errors.Is(err, store.ErrNoSpace):
		return true, ErrNoRoom
	default:
		return true, fmt.Errorf("reclaim room: %w", err)
	}
}

// scrubRounds is how often Scrub compacts at most: the first may find too little for the engine to begin.
const scrubRounds = 4

// Scrub is Reclaim for data that are to be gone: it writes as much as it takes until the engine meets all that was replaced or
// removed before. done: nothing of that is in the store's files any more. Where the engine keeps none, it is.
func (m *Manager) Scrub(ctx context.Context) (done bool, err error) {
	s, ok := m.raw.(store.Scrubber)
	if !ok {
		return true, nil
	}
	for round := 0; round < scrubRounds && !done && err == nil; round++ {
		var size int64
		if size, err = s.Unmet(); err != nil {
			break
		}
		if err := m.fill(ctx, size); err != nil {
			return false, err
		}
		done, err = s.Scrub(ctx)
	}
	switch {
	case ctx.Err() != nil:
		return false, ctx.Err()
	case errors.Is(err, store.ErrNoSpace):
		return false, ErrNoRoom
	case err != nil:
		return false, fmt.Errorf("scrub: %w", err)
	}
	return done, nil
}

// fill commits so many bytes of padding, or fewer where ctx ends, and leaves nothing of it.
func (m *Manager) fill(ctx context.Context, size int64) error {
	padded := int64(0)
	for ; padded < size && ctx.Err() == nil; padded += paddingSize {
		if err := m.pad(make([]byte, paddingSize)); err != nil {
			return err
		}
	}
	if padded > 0 {
		if err := m.pad(nil); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// sweepPadding removes, at open, the padding of a Reclaim under which the node stopped.
func (m *Manager) sweepPadding() error {
	_, err := m.engine.Get(keyPadding)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	return m.engine.Commit(m.engine.Last()+1, &store.Batch{Ops: []store.Op{{Key: keyPadding}}})
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
