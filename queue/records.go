package queue

import (
	"bytes"
	"errors"
	"fmt"

	"fmqm/internal/store"
	"fmqm/message"
	"fmqm/queue/record"
)

// records reads the store's records: as they are, one read after the other, or in a view,
// as they were at one commit.
type records struct{ store.Reader }

func (m *Manager) records() records { return records{m.engine} }

func (m *Manager) scan(o store.ScanOptions, visit func(key, value []byte) error) error {
	return m.records().scan(o, visit)
}

func (m *Manager) walk(o store.ScanOptions, visit func(key []byte, msg message.Message) bool) (more bool, err error) {
	return m.records().walk(o, visit)
}

func (m *Manager) body(p record.Place) ([]byte, error) { return m.records().body(p) }

func (m *Manager) readAudit(key, value []byte) (AuditRecord, error) {
	return m.records().readAudit(key, value)
}

// scan calls visit for every record of a class, until it gives an error.
func (r records) scan(o store.ScanOptions, visit func(key, value []byte) error) error {
	var failed error
	err := r.Scan(o, func(key, value []byte) bool {
		failed = visit(key, value)
		return failed == nil
	})
	return first1(failed, err)
}

// walk reads messages and calls visit for each until it gives false, which more tells.
func (r records) walk(o store.ScanOptions, visit func(key []byte, msg message.Message) bool) (more bool, err error) {
	var failed error
	err = r.Scan(o, func(key, value []byte) bool {
		var s record.StoredMessage
		if s, failed = record.ReadMessage(key, value); failed != nil {
			return false
		}
		if s.Place.Ref.Count > 0 {
			if s.Message.Body, failed = r.body(s.Place); failed != nil {
				return false
			}
		}
		more = !visit(key, s.Message)
		return !more
	})
	return more, first1(failed, err)
}

// body gives the large part of a record, from its chunks where it is staged.
func (r records) body(p record.Place) ([]byte, error) {
	if p.Ref.Count == 0 {
		return p.Inline, nil
	}
	if p.Ref.Count > record.MostParts || p.Ref.Size > p.Ref.Count*record.ChunkSize {
		return nil, fmt.Errorf("a body of %d bytes in %d chunks cannot be: %w", p.Ref.Size, p.Ref.Count, ErrDamaged)
	}
	body := make([]byte, 0, p.Ref.Size)
	for i := range p.Ref.Count {
		key := record.AppendChunkKey(nil, p.Ref.ID, i)
		value, err := r.Get(key)
		if errors.Is(err, store.ErrNotFound) {
			return nil, errGone
		}
		if err != nil {
			return nil, fmt.Errorf("chunk %q: %w", record.Readable(key), err)
		}
		chunk, err := record.Open(key, value)
		if err != nil {
			return nil, err
		}
		body = append(body, chunk...)
	}
	if len(body) != p.Ref.Size {
		return nil, fmt.Errorf("a body has %d bytes instead of %d: %w", len(body), p.Ref.Size, ErrDamaged)
	}
	return body, nil
}

// readAudit reads an audit record; nothing of it is a part of value that is reused.
func (r records) readAudit(key, value []byte) (a AuditRecord, err error) {
	content, err := record.Open(key, value)
	if err != nil {
		return a, err
	}
	p, rest, err := record.ReadPlace(key, bytes.Clone(content))
	if err != nil {
		return a, err
	}
	if p.Ref.Count == 0 {
		rest = p.Inline
	}
	if a, err = record.DecodeAudit(rest); err != nil {
		return a, fmt.Errorf("%w: %w", record.Damaged(key, "this program cannot read it"), err)
	}
	if p.Ref.Count > 0 {
		a.Output, err = r.body(p)
	}
	return a, err
}

// errGone: a chunk is not there. The record that names it was removed since it was
// read, or it is damage; reading the record again tells.
var errGone = fmt.Errorf("a chunk of its body is missing: %w", ErrDamaged)
