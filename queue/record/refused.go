package record

import (
	"fmt"
	"time"

	"fmqm/internal/cbor"
	"fmqm/message"
	"fmqm/processtable"
)

// A refused message is looked at far more often than it is read: by lists, and by every
// question about an instance. Its body lies apart, unless it is small.

// RefusedInline is the largest message that lies in its record, in bytes.
const RefusedInline = 4 << 10

// RefusedHead is what is known of a refused message without reading its body.
type RefusedHead struct {
	Number uint64 // see Refused
	Time   time.Time
	Peer   processtable.NodeID
	Reason string
	Header *message.Header // nil: the message cannot be read
	Size   int             // of the message as it came, in bytes
}

// The fields of a record. A message of version 2 is staged: the record has its header.
const (
	refusedTime    = 0
	refusedPeer    = 1
	refusedReason  = 2
	refusedMessage = 3 // version 1
	refusedHeader  = 4 // version 2: a message without its body; missing where this program cannot read it
)

// RefusedContent gives what the record of a refused message has, with the message or, where that
// is apart, with its header.
func RefusedContent(s *Refused, apart bool) []byte {
	w := cbor.BeginMap(make([]byte, 0, 128+len(s.Reason)+min(len(s.Message), RefusedInline)))
	w.Time(refusedTime, s.Time)
	w.Text(refusedPeer, string(s.Peer))
	w.Text(refusedReason, CutReason(s.Reason))
	if !apart {
		w.Bytes(refusedMessage, s.Message)
	} else if header, ok := headerOf(s.Message); ok {
		w.Bytes(refusedHeader, header)
	}
	return w.B
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

// ReadRefused reads the content of a record, and gives the message where it is in it.
func ReadRefused(key, content []byte, apart bool) (head RefusedHead, inline []byte, err error) {
	k := KeyReader{Rest: key[1:]}
	if head.Number = k.Uint64(); k.End() != nil {
		return head, nil, Damaged(key, ErrKey.Error())
	}
	var encoded []byte
	r := cbor.NewReader(content)
	for f := r.Map(); f.Next(); {
		switch {
		case f.Key == refusedTime:
			head.Time = f.Time()
		case f.Key == refusedPeer:
			head.Peer = processtable.NodeID(f.Text(processtable.MaxName))
		case f.Key == refusedReason:
			head.Reason = f.Text(MaxReason)
		case f.Key == refusedMessage && !apart:
			inline = f.Bytes(message.MaxEncoded)
			encoded = inline
		case f.Key == refusedHeader && apart:
			encoded = f.Bytes(message.MaxEncoded)
		default:
			f.Unknown()
		}
	}
	if err := r.End(); err != nil {
		return head, nil, fmt.Errorf("%w: %w", Damaged(key, "this program cannot read it"), err)
	}
	head.Size = len(inline)
	if msg, err := message.Decode(encoded); err == nil {
		header := msg.Header // and not the body with it
		head.Header = &header
	}
	return head, inline, nil
}
