package queue

import (
	"encoding/binary"
	"errors"

	"fmqm/internal/store"
	"fmqm/queue/record"
)

// A refused message goes by an operator's word, in the transaction that makes something of it
// (L5). Its number is never given again: who repeats the word finds nothing, and not another
// message.

// loadRefused finds the highest number that was given.
func (m *Manager) loadRefused() error {
	content, err := m.read.Content(record.KeySettled)
	switch {
	case errors.Is(err, store.ErrNotFound):
	case err != nil:
		return err
	case len(content) != 8:
		return record.Damaged(record.KeySettled, "it has the wrong length")
	default:
		m.state.HighestSettled = binary.BigEndian.Uint64(content)
	}
	m.preparer.Refused.Store(m.state.HighestSettled)
	return m.read.Last(record.ClassRefused, func(k *record.KeyReader) { m.preparer.Refused.Store(max(k.Uint64(), m.state.HighestSettled)) })
}
