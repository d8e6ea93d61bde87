package queue

import (
	"encoding/binary"
	"errors"
	"fmt"

	"fmqm/internal/store"
	"fmqm/queue/record"
)

// What was set aside leaves again by an operator's word, in the transaction that makes
// something of it (L5). Its number is never given again: who repeats the word finds
// nothing, and not another message.

// SetAsideAt gives the refused message with a number; found is false where there is none
// (any more).
func (m *Manager) SetAsideAt(number uint64) (s SetAside, found bool, err error) {
	key := record.AppendSetAsideKey(nil, number)
	for range maxRereads {
		var value []byte
		if value, err = m.engine.Get(key); errors.Is(err, store.ErrNotFound) {
			return SetAside{}, false, nil
		}
		if err == nil {
			s, err = m.readSetAside(key, value)
		}
		if !errors.Is(err, errGone) { // else it is being taken out, or damaged: read again
			break
		}
	}
	if err != nil {
		return SetAside{}, false, fmt.Errorf("read refused message %d: %w", number, m.judge(err))
	}
	return s, true, nil
}

// takeAside removes what was set aside, and with it what was staged of it.
func (b *builder) takeAside(numbers []uint64) {
	for _, number := range numbers {
		b.Replaces = append(b.Replaces, b.op(record.AppendSetAsideKey(nil, number), nil))
		b.unleave(number)
	}
	if len(numbers) > 0 {
		b.Takes = numbers
		b.TakesOp = b.op(record.KeyAside, record.New(record.KeyAside, make([]byte, 8)...)) // the committer knows the number
	}
}

// loadSetAside finds the highest number that was given.
func (m *Manager) loadSetAside() error {
	content, err := m.meta(record.KeyAside)
	switch {
	case errors.Is(err, store.ErrNotFound):
	case err != nil:
		return err
	case len(content) != 8:
		return record.Damaged(record.KeyAside, "it has the wrong length")
	default:
		m.state.HighestTaken = binary.BigEndian.Uint64(content)
	}
	m.nextAside.Store(m.state.HighestTaken)
	return m.last(record.ClassSetAside, func(k *record.KeyReader) { m.nextAside.Store(max(k.Uint64(), m.state.HighestTaken)) })
}
