package read

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"

	"fmqm/internal/store"
	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue/record"
)

// Records reads the store's records: as they are, one read after the other, or in a view, as
// they were at one commit.
type Records struct {
	store.Reader
	// Damage is told of a record that is not what it should be, and gives the error that its
	// reader is to get; nil: nobody has to know.
	Damage func(error) error
}

// Judge is called with the error of whoever cannot go on without what he has read. What was told
// already is not told again.
func (r Records) Judge(err error) error {
	if err == nil || r.Damage == nil || told(err) {
		return err
	}
	return unreadable{r.Damage(err)}
}

// In gives a reader of a view that tells the same of damage.
func (r Records) In(view store.Reader) Records { return Records{view, r.Damage} }

// Each calls visit for every record of a class, until it gives an error.
func (r Records) Each(o store.ScanOptions, visit func(key, value []byte) error) error {
	var failed error
	err := r.Scan(o, func(key, value []byte) bool {
		failed = visit(key, value)
		return failed == nil
	})
	return cmp.Or(failed, err)
}

// Messages reads messages and calls visit for each until it gives false, which more tells.
func (r Records) Messages(o store.ScanOptions, visit func(key []byte, msg message.Message) bool) (more bool, err error) {
	var failed error
	err = r.Scan(o, func(key, value []byte) bool {
		var msg message.Message
		if msg, failed = r.message(key, value); failed != nil {
			return false
		}
		more = !visit(key, msg)
		return !more
	})
	return more, cmp.Or(failed, err)
}

// Message reads the message under a key; the error wraps store.ErrNotFound where there is none.
func (r Records) Message(key []byte) (message.Message, error) {
	value, err := r.Get(key)
	if err != nil {
		return message.Message{}, err
	}
	return r.message(key, value)
}

func (r Records) message(key, value []byte) (message.Message, error) {
	s, err := record.ReadMessage(key, value)
	if err == nil && s.Place.Ref.Count > 0 {
		s.Message.Body, err = r.Body(s.Place)
	}
	return s.Message, err
}

// Body gives the large part of a record, from its chunks where it is staged.
func (r Records) Body(p record.Place) ([]byte, error) {
	if p.Ref.Count == 0 {
		return p.Inline, nil
	}
	if p.Ref.Count > record.MostParts || p.Ref.Size > p.Ref.Count*record.ChunkSize {
		return nil, fmt.Errorf("a body of %d bytes in %d chunks cannot be: %w", p.Ref.Size, p.Ref.Count, record.ErrDamaged)
	}
	body := make([]byte, 0, p.Ref.Size)
	for i := range p.Ref.Count {
		key := record.AppendChunkKey(nil, p.Ref.ID, i)
		value, err := r.Get(key)
		if errors.Is(err, store.ErrNotFound) {
			return nil, ErrGone
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
		return nil, fmt.Errorf("a body has %d bytes instead of %d: %w", len(body), p.Ref.Size, record.ErrDamaged)
	}
	return body, nil
}

// Audit reads an audit record; nothing of it is a part of value that is reused.
func (r Records) Audit(key, value []byte) (a record.AuditRecord, err error) {
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
		a.Output, err = r.Body(p)
	}
	return a, err
}

// Standing reads where an instance stands in the index of instances; false: it was not started here, or what there is
// of it was removed.
func (r Records) Standing(i message.InstanceID) (record.Standing, bool, error) {
	key := record.AppendInstanceKey(nil, i, record.InstanceStarted)
	value, err := r.Get(key)
	if errors.Is(err, store.ErrNotFound) {
		return record.Standing{}, false, nil
	}
	var a record.AuditRecord
	if err == nil {
		a, _, err = record.ReadAuditHead(key, value)
	}
	if err != nil {
		return record.Standing{}, false, fmt.Errorf("read the start of instance %s: %w", i, r.Judge(err))
	}
	return record.StandingOf(&a), true, nil
}

// ErrGone: a chunk is not there. The record that names it was removed since it was
// read, or it is damage; reading the record again tells.
var ErrGone = fmt.Errorf("a chunk of its body is missing: %w", record.ErrDamaged)

// maxReads bounds Again.
const maxReads = 100

// Again reads again for as long as a body went while it was read.
func Again(read func() error) error {
	for range maxReads {
		if err := read(); !errors.Is(err, ErrGone) {
			return err
		}
	}
	return ErrGone
}

// ErrEnough ends a scan.
var ErrEnough = errors.New("enough")

// FirstUnder gives the first key with a prefix, at or behind from if that is not nil; nil if
// there is none.
func (r Records) FirstUnder(prefix, from []byte) (first []byte, err error) {
	err = r.Scan(store.ScanOptions{Prefix: prefix, From: from, KeysOnly: true}, func(key, _ []byte) bool {
		first = bytes.Clone(key)
		return false
	})
	return first, err
}

// EachProcess calls visit for every process that has records of a class.
func (r Records) EachProcess(class byte, visit func(processtable.ProcessID) error) error {
	for from := []byte{class}; from != nil; {
		key, err := r.FirstUnder([]byte{class}, from)
		if err != nil || key == nil {
			return err
		}
		k := record.KeyReader{Rest: key[1:]}
		id := k.Process()
		if k.Bad {
			return record.Damaged(key, record.ErrKey.Error())
		}
		if err := visit(id); err != nil {
			return err
		}
		from = store.After(record.AppendProcess(nil, class, id))
	}
	return nil
}

// Content gives the content of a record; the error wraps store.ErrNotFound where there is none.
func (r Records) Content(key []byte) ([]byte, error) {
	value, err := r.Get(key)
	if err != nil {
		return nil, fmt.Errorf("record %q: %w", record.Readable(key), err)
	}
	return record.Open(key, value)
}

// Parked reads a message that waits for a table.
func (r Records) Parked(key, value []byte) (record.Parked, error) {
	p, err := record.ReadParkedKey(key)
	if err != nil {
		return p, err
	}
	p.Message, err = r.Whole(key, value)
	return p, err
}

// Whole reads a record whose content is nothing but its large part.
func (r Records) Whole(key, value []byte) ([]byte, error) {
	content, err := record.Open(key, value)
	if err != nil {
		return nil, err
	}
	at, _, err := record.ReadPlace(key, bytes.Clone(content))
	if err != nil {
		return nil, err
	}
	return r.Body(at)
}

// Table reads a process table, encoded, and the definition that it is bound to.
func (r Records) Table(key, value []byte) ([]byte, processtable.DefinitionHash, error) {
	var hash processtable.DefinitionHash
	content, err := record.Open(key, value)
	if err != nil {
		return nil, hash, err
	}
	if copy(hash[:], content) != record.TableFixed {
		return nil, hash, record.Damaged(key, "it is too short")
	}
	p, _, err := record.ReadPlace(key, content[record.TableFixed:])
	if err != nil {
		return nil, hash, err
	}
	encoded, err := r.Body(p)
	return encoded, hash, err
}

// Last shows the last key of a class, without the class, if there is one.
func (r Records) Last(class byte, show func(*record.KeyReader)) error {
	return r.Scan(store.ScanOptions{Prefix: []byte{class}, Reverse: true, KeysOnly: true}, func(key, _ []byte) bool {
		show(&record.KeyReader{Rest: key[1:]})
		return false
	})
}
