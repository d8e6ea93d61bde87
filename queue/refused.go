package queue

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"time"

	"fmqm/internal/cbor"
	"fmqm/internal/store"
	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue/record"
)

// What is set aside is looked at far more often than it is read: by lists, and by every
// question about an instance. Its body lies apart, unless it is small.

// asideInline is the largest message that lies in its record, in bytes.
const asideInline = 4 << 10

// AsideHead is what is known of a refused message without reading its body.
type AsideHead struct {
	Number uint64 // see SetAside
	Time   time.Time
	Peer   processtable.NodeID
	Reason string
	Header *message.Header // nil: the message cannot be read
	Size   int             // of the message as it came, in bytes
}

// The fields of a record. A message of version 2 is staged: the record has its header.
const (
	asideTime    = 0
	asidePeer    = 1
	asideReason  = 2
	asideMessage = 3 // version 1
	asideHeader  = 4 // version 2: a message without its body; missing where this program cannot read it
)

func (b *builder) setAside(s *SetAside) {
	if len(s.Message) > message.MaxEncoded {
		b.fail(errors.New("a refused message is too large to be kept"))
		return
	}
	w := cbor.BeginMap(make([]byte, 0, 128+len(s.Reason)+min(len(s.Message), asideInline)))
	w.Time(asideTime, s.Time)
	w.Text(asidePeer, string(s.Peer))
	w.Text(asideReason, record.CutReason(s.Reason))
	number := b.m.nextAside.Add(1)
	key := record.AppendSetAsideKey(nil, number)
	if len(s.Message) <= min(b.inline, asideInline) {
		w.Bytes(asideMessage, s.Message)
		b.sealed(key, record.End(append(append(record.Begin(nil), record.PlaceInline), w.B...)))
	} else {
		if header, ok := headerOf(s.Message); ok {
			w.Bytes(asideHeader, header)
		}
		staged := b.stageBody(s.Message)
		value := record.AppendRef([]byte{record.AsideVersion, record.PlaceStaged}, b.Staged[staged].Ref)
		b.name(staged, b.sealed(key, record.End(append(value, w.B...))))
	}
	b.leave(leftAside, binary.BigEndian.AppendUint64(nil, number), cmp.Or(s.From, s.Peer), len(s.Message))
}

// headerOf gives an encoded message without its body; false if this program cannot read it.
func headerOf(encoded []byte) ([]byte, bool) {
	m, err := message.Decode(encoded)
	if err != nil {
		return nil, false
	}
	m.Body = nil
	header, err := message.Encode(m)
	return header, err == nil
}

// SetAsideList gives the heads of up to limit refused messages, the newest first (L5). It
// reads no bodies, but of what an older version wrote.
func (m *Manager) SetAsideList(limit int) ([]AsideHead, error) {
	return m.SetAsideBefore(math.MaxUint64, limit)
}

// SetAsideBefore is SetAsideList of those with a number below before.
func (m *Manager) SetAsideBefore(before uint64, limit int) ([]AsideHead, error) {
	if before == 0 {
		return nil, nil
	}
	return m.asideHeads(store.ScanOptions{From: record.AppendSetAsideKey(nil, before-1), Reverse: true}, limit)
}

// SetAsideAfter is SetAsideList of those with a number above after, the oldest first.
func (m *Manager) SetAsideAfter(after uint64, limit int) ([]AsideHead, error) {
	if after == math.MaxUint64 {
		return nil, nil
	}
	return m.asideHeads(store.ScanOptions{From: record.AppendSetAsideKey(nil, after+1)}, limit)
}

func (m *Manager) asideHeads(o store.ScanOptions, limit int) (found []AsideHead, err error) {
	o.Prefix = []byte{record.ClassSetAside}
	err = m.scan(o, func(key, value []byte) error {
		if len(found) == limit {
			return errEnough
		}
		head, _, err := m.readAside(key, value)
		found = append(found, head)
		return err
	})
	if err != nil && !errors.Is(err, errEnough) {
		return nil, fmt.Errorf("read refused messages: %w", err)
	}
	return found, nil
}

// readSetAside reads a message with its body.
func (m *Manager) readSetAside(key, value []byte) (SetAside, error) {
	head, p, err := m.readAside(key, value)
	if err != nil {
		return SetAside{}, err
	}
	s := SetAside{Number: head.Number, Time: head.Time, Peer: head.Peer, Reason: head.Reason}
	s.Message, err = m.body(p)
	return s, err
}

// readAside reads a record, and says where its message lies; nothing of it is a part of value.
func (m *Manager) readAside(key, value []byte) (head AsideHead, of record.Place, err error) {
	content, err := record.Open(key, value)
	if err != nil {
		return head, of, err
	}
	p, rest, err := record.ReadPlace(key, bytes.Clone(content))
	if err != nil {
		return head, of, err
	}
	apart := value[0] == record.AsideVersion
	if apart {
		of = p
	} else if rest, err = m.body(p); err != nil { // version 1: with all the rest
		return head, of, err
	}
	k := record.KeyReader{Rest: key[1:]}
	if head.Number = k.Uint64(); k.End() != nil || apart && p.Ref.Count == 0 {
		return head, of, record.Damaged(key, record.ErrKey.Error())
	}
	var encoded []byte
	r := cbor.NewReader(rest)
	for f := r.Map(); f.Next(); {
		switch {
		case f.Key == asideTime:
			head.Time = f.Time()
		case f.Key == asidePeer:
			head.Peer = processtable.NodeID(f.Text(processtable.MaxName))
		case f.Key == asideReason:
			head.Reason = f.Text(record.MaxReason)
		case f.Key == asideMessage && !apart:
			of.Inline = f.Bytes(message.MaxEncoded)
			encoded = of.Inline
		case f.Key == asideHeader && apart:
			encoded = f.Bytes(message.MaxEncoded)
		default:
			f.Unknown()
		}
	}
	if err := r.End(); err != nil {
		return head, of, fmt.Errorf("%w: %w", record.Damaged(key, "this program cannot read it"), err)
	}
	if head.Size = len(of.Inline); apart {
		head.Size = of.Ref.Size
	}
	if msg, err := message.Decode(encoded); err == nil {
		header := msg.Header // and not the body with it
		head.Header = &header
	}
	return head, of, nil
}
