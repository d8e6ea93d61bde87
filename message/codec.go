package message

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"fmqm/internal/cbor"
	"fmqm/processtable"
)

// Limits of a message, in bytes.
const (
	MaxBody    = processtable.MaxEncoded // a table is the largest body
	MaxScope   = processtable.MaxScope
	MaxTrace   = 256
	MaxHeader  = 4 << 10 // encoded
	MaxEncoded = MaxHeader + MaxBody
)

// ErrFormat is what every error of Encode and the Decode functions wraps.
var ErrFormat = errors.New("message format")

// The fields of a header. The numbers are part of the format.
const (
	fieldProcess    = 0
	fieldVersion    = 1
	fieldNode       = 2
	fieldDefinition = 3
	fieldInstance   = 4
	fieldOrigin     = 5
	fieldScope      = 6
	fieldActivity   = 7
	fieldSource     = 8
	fieldKind       = 9
	fieldControl    = 10
	fieldData       = 11
	fieldOnBehalf   = 12
	fieldOnward     = 13
	fieldLane       = 14
	fieldClock      = 15
	fieldTrace      = 16
	fieldFrom       = 17 // missing: the source is in the message's own scope
	fieldNumber     = 18
	fieldRank       = 19
)

// fromTop is how the scope of a source at the top of a process is written, where the message is
// for another: an empty text would be no field.
const fromTop = "/"

// Encode gives the encoded form of m: an array of the format version, the header as a
// map with integer keys, and the body. Equal messages give equal bytes. It refuses,
// with ErrFormat, what Decode would refuse.
func Encode(m Message) ([]byte, error) {
	return AppendEncode(make([]byte, 0, 192+len(m.Body)), m)
}

// AppendEncode appends the encoded form of m to dst.
func AppendEncode(dst []byte, m Message) ([]byte, error) {
	if err := m.validate(); err != nil {
		return nil, err
	}
	if len(m.Body) > MaxBody {
		return nil, fmt.Errorf("%w: body of %d bytes is over the limit of %d", ErrFormat, len(m.Body), MaxBody)
	}
	dst = cbor.AppendArray(dst, 3)
	dst = cbor.AppendUint(dst, uint64(m.Format()))
	dst = appendHeader(dst, &m.Header)
	return cbor.AppendBytes(dst, m.Body), nil
}

func appendHeader(dst []byte, h *Header) []byte {
	w := cbor.BeginMap(dst)
	w.Text(fieldProcess, h.Queue.Process.Name)
	w.Uint(fieldVersion, uint64(h.Queue.Process.Version))
	w.Text(fieldNode, string(h.Queue.Node))
	if h.Definition != (processtable.ShortHash{}) {
		w.Bytes(fieldDefinition, h.Definition[:])
	}
	if h.Instance != uuid.Nil {
		w.Bytes(fieldInstance, h.Instance[:])
	}
	w.Text(fieldOrigin, string(h.Origin))
	w.Text(fieldScope, string(h.Scope))
	w.Text(fieldActivity, string(h.Activity))
	w.Text(fieldSource, string(h.Source))
	w.Uint(fieldKind, uint64(h.Kind))
	w.Uint(fieldControl, uint64(h.Control))
	w.Uint(fieldData, uint64(h.Data))
	w.Text(fieldOnBehalf, string(h.OnBehalf))
	w.Bool(fieldOnward, h.Onward)
	w.Uint(fieldLane, uint64(h.Lane))
	w.Uint(fieldClock, h.Clock)
	w.Text(fieldTrace, h.Trace)
	if h.SourceScope != h.Scope {
		w.Text(fieldFrom, cmp.Or(string(h.SourceScope), fromTop))
	}
	w.Uint(fieldNumber, h.Number)
	w.Uint(fieldRank, uint64(h.Rank))
	return w.B
}

// Decode reads what Encode wrote, and nothing else; its errors wrap ErrFormat. The
// body is a part of data, which must not be altered afterwards.
func Decode(data []byte) (Message, error) {
	r := cbor.NewReader(data)
	m := Message{Header: decodeHeader(&r)}
	m.Body = r.Bytes(MaxBody)
	if err := r.End(); err != nil {
		return Message{}, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	if err := m.validate(); err != nil {
		return Message{}, err
	}
	return m, nil
}

// DecodeHeader reads the header of an encoded message without looking at its body,
// of which data need have nothing.
func DecodeHeader(data []byte) (Header, error) {
	r := cbor.NewReader(data)
	h := decodeHeader(&r)
	if err := r.Err(); err != nil {
		return Header{}, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	if err := h.validate(); err != nil {
		return Header{}, err
	}
	return h, nil
}

func decodeHeader(r *cbor.Reader) (h Header) {
	if n := r.Array(3); n != 3 {
		r.Fail("expected array of version, header and body")
	}
	version := r.Uint(1<<32 - 1)
	if r.Err() == nil && (version < 1 || version > FormatVersion) {
		r.Fail("version %d: this node reads versions 1 to %d: upgrade it", version, FormatVersion)
	}
	elsewhere := false
	for f := r.Map(); f.Next(); {
		decodeField(&h, &f)
		elsewhere = elsewhere || f.Key == fieldFrom
	}
	if !elsewhere {
		h.SourceScope = h.Scope
	}
	if lowest := h.Format(); r.Err() == nil && version != uint64(lowest) {
		r.Fail("version %d: what it says is written in version %d", version, lowest)
	}
	return h
}

func decodeField(h *Header, f *cbor.Fields) {
	const name = processtable.MaxName
	switch f.Key {
	case fieldProcess:
		h.Queue.Process.Name = f.Text(name)
	case fieldVersion:
		h.Queue.Process.Version = int(f.Uint(processtable.MaxVersion))
	case fieldNode:
		h.Queue.Node = processtable.NodeID(f.Text(name))
	case fieldDefinition:
		f.Fixed(h.Definition[:])
		if h.Definition == (processtable.ShortHash{}) {
			f.Fail("the definition is present although it is zero")
		}
	case fieldInstance:
		f.Fixed(h.Instance[:])
		if h.Instance == uuid.Nil {
			f.Fail("the instance is present although it is zero")
		}
	case fieldOrigin:
		h.Origin = processtable.NodeID(f.Text(name))
	case fieldScope:
		h.Scope = Scope(f.Text(MaxScope))
	case fieldActivity:
		h.Activity = processtable.ActivityID(f.Text(name))
	case fieldSource:
		h.Source = processtable.ActivityID(f.Text(name))
	case fieldKind:
		h.Kind = Kind(f.Uint(255))
	case fieldControl:
		h.Control = Truth(f.Uint(255))
	case fieldData:
		h.Data = Data(f.Uint(255))
	case fieldOnBehalf:
		h.OnBehalf = processtable.NodeID(f.Text(name))
	case fieldOnward:
		h.Onward = f.Bool()
	case fieldLane:
		h.Lane = Lane(f.Uint(255))
	case fieldClock:
		h.Clock = f.Uint(1<<64 - 1)
	case fieldTrace:
		h.Trace = f.Text(MaxTrace)
	case fieldFrom:
		from := f.Text(MaxScope)
		if from != fromTop {
			h.SourceScope = Scope(from)
		}
		if h.SourceScope == h.Scope {
			f.Fail("the source's scope is present although it is the message's own")
		}
	case fieldNumber:
		h.Number = f.Uint(1<<64 - 1)
	case fieldRank:
		h.Rank = Rank(f.Uint(uint64(MaxRank)))
	default:
		f.Unknown()
	}
}
