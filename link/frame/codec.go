package frame

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"

	"github.com/fxamacker/cbor/v2"

	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue/record"
)

// On the wire a frame is a CBOR map with integer keys and after it the CRC-32C of the
// map, four bytes, most significant first. Keys 0 to 7 are in every frame; the others
// are its body. A reader refuses unknown and duplicate keys within the versions that
// it knows (L6); of a hello or a stop in a newer version it reads what it knows, so
// that it can say what is wrong.

type wireFrame struct {
	Version   uint8         `cbor:"0,keyasint"`
	Type      Type          `cbor:"1,keyasint"`
	From      uint64        `cbor:"2,keyasint"`
	To        uint64        `cbor:"3,keyasint"`
	Seq       uint64        `cbor:"4,keyasint"`
	Challenge uint64        `cbor:"5,keyasint"`
	Answer    uint64        `cbor:"6,keyasint"`
	Receipts  []wireReceipt `cbor:"7,keyasint"`
	Hello     *wireHello    `cbor:"8,keyasint,omitempty"`
	Data      *wireData     `cbor:"9,keyasint,omitempty"`
	Gap       *wireGap      `cbor:"10,keyasint,omitempty"`
	Query     *wireQuery    `cbor:"11,keyasint,omitempty"`
	Reply     *wireReply    `cbor:"12,keyasint,omitempty"`
	Stop      *wireStop     `cbor:"13,keyasint,omitempty"`
}

type wireReceipt struct {
	_        struct{} `cbor:",toarray"`
	Number   uint64
	Hash     []byte
	Received uint64
}

type wireHello struct {
	Node        string   `cbor:"0,keyasint"`
	Expected    string   `cbor:"1,keyasint"`
	Incarnation []byte   `cbor:"2,keyasint"`
	Known       []byte   `cbor:"3,keyasint"`
	MinVersion  uint8    `cbor:"4,keyasint"`
	MaxVersion  uint8    `cbor:"5,keyasint"`
	Low         []uint64 `cbor:"6,keyasint"`

	// From version 2 on.
	Messages []uint8     `cbor:"7,keyasint,omitempty"`
	Tables   []uint8     `cbor:"8,keyasint,omitempty"`
	Begin    []wireBegin `cbor:"9,keyasint,omitempty"`

	// From version 3 on.
	Bodies []uint8 `cbor:"10,keyasint,omitempty"`
}

type wireBegin struct {
	_      struct{} `cbor:",toarray"`
	Number uint64
	Hash   []byte
}

type wireData struct {
	Lane     uint8    `cbor:"0,keyasint"`
	First    uint64   `cbor:"1,keyasint"`
	Prev     []byte   `cbor:"2,keyasint"`
	End      []byte   `cbor:"3,keyasint"`
	Payloads [][]byte `cbor:"4,keyasint"`
}

type wireGap struct {
	Lane uint8  `cbor:"0,keyasint"`
	From uint64 `cbor:"1,keyasint"`
}

type wireQuery struct {
	ID      uint64 `cbor:"0,keyasint"`
	Kind    string `cbor:"1,keyasint"`
	Body    []byte `cbor:"2,keyasint"`
	Timeout uint32 `cbor:"3,keyasint"`
}

type wireReply struct {
	ID    uint64 `cbor:"0,keyasint"`
	Body  []byte `cbor:"1,keyasint"`
	Error string `cbor:"2,keyasint"`
}

type wireStop struct {
	Code   uint8  `cbor:"0,keyasint"`
	Node   string `cbor:"1,keyasint"`
	Reason string `cbor:"2,keyasint"`
	Final  bool   `cbor:"3,keyasint"`
}

var (
	castagnoli = crc32.MakeTable(crc32.Castagnoli)

	encoding = must(cbor.CoreDetEncOptions().EncMode())
	strict   = must(decodeOptions(true).DecMode())
	lenient  = must(decodeOptions(false).DecMode())
)

func decodeOptions(known bool) cbor.DecOptions {
	o := cbor.DecOptions{
		DupMapKey:        cbor.DupMapKeyEnforcedAPF,
		IndefLength:      cbor.IndefLengthForbidden,
		TagsMd:           cbor.TagsForbidden,
		MaxNestedLevels:  4,
		MaxArrayElements: MaxItems,
		MaxMapPairs:      64,
	}
	if known {
		o.ExtraReturnErrors = cbor.ExtraDecErrorUnknownField
	}
	return o
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// Encode gives the frame as it is sent. It refuses what Decode would refuse.
func Encode(f *Frame) ([]byte, error) {
	if err := f.Check(); err != nil {
		return nil, fmt.Errorf("encode frame: %w", err)
	}
	w := f.wire()
	data, err := encoding.Marshal(&w)
	if err != nil {
		return nil, fmt.Errorf("encode frame: %w", err)
	}
	data = binary.BigEndian.AppendUint32(data, crc32.Checksum(data, castagnoli))
	if err := CheckSize("encode frame: frame", len(data), MaxFrame); err != nil {
		return nil, err
	}
	return data, nil
}

// Decode reads a frame, or gives ErrDamaged or ErrMalformed.
func Decode(data []byte) (Frame, error) { return DecodeAs(data, Current().Frame) }

// DecodeAs is Decode of a program that reads a range of versions.
func DecodeAs(data []byte, known message.Range) (Frame, error) {
	if len(data) > MaxFrame {
		return Frame{}, fmt.Errorf("%w: %d bytes: at most %d", ErrMalformed, len(data), MaxFrame)
	}
	body := len(data) - 4
	if body < 1 {
		return Frame{}, fmt.Errorf("%w: %d bytes are too short for one", ErrDamaged, len(data))
	}
	if crc32.Checksum(data[:body], castagnoli) != binary.BigEndian.Uint32(data[body:]) {
		return Frame{}, fmt.Errorf("%w: the checksum of its %d bytes does not match", ErrDamaged, len(data))
	}
	f, err := decode(data[:body], known)
	if err != nil {
		return Frame{}, fmt.Errorf("%w: %s", ErrMalformed, Cut(err.Error())) // it may quote the frame
	}
	return f, nil
}

func decode(data []byte, known message.Range) (Frame, error) {
	var head struct {
		Version uint8 `cbor:"0,keyasint"`
		Type    Type  `cbor:"1,keyasint"`
	}
	if err := lenient.Unmarshal(data, &head); err != nil {
		return Frame{}, err
	}
	mode := strict
	if !known.Has(uint32(head.Version)) {
		if head.Version == 0 || head.Type != TypeHello && head.Type != TypeStop {
			return Frame{}, fmt.Errorf("format version %d: this program reads %s", head.Version, known)
		}
		mode = lenient
	}
	var w wireFrame
	if err := mode.Unmarshal(data, &w); err != nil {
		return Frame{}, err
	}
	if w.Version == 1 && w.Hello != nil && (w.Hello.Messages != nil || w.Hello.Tables != nil || w.Hello.Begin != nil) {
		return Frame{}, errors.New("a hello of version 1 with fields of version 2")
	}
	if w.Version < 3 && w.Hello != nil && w.Hello.Bodies != nil {
		return Frame{}, fmt.Errorf("a hello of version %d with fields of version 3", w.Version)
	}
	f, err := w.frame()
	if err != nil {
		return Frame{}, err
	}
	return f, f.Check()
}

func (f *Frame) wire() wireFrame {
	w := wireFrame{
		Version: f.Version, Type: f.Type, From: f.From, To: f.To, Seq: f.Seq,
		Challenge: f.Challenge, Answer: f.Answer,
		Receipts: make([]wireReceipt, record.Lanes),
	}
	for i := range f.Receipts {
		r := &f.Receipts[i]
		w.Receipts[i] = wireReceipt{Number: r.Number, Hash: r.Hash[:], Received: r.Received}
	}
	switch f.Type {
	case TypeHello:
		w.Hello = f.Hello.wire(f.Version)
	case TypeData:
		d := f.Data
		w.Data = &wireData{Lane: uint8(d.Lane), First: d.First, Prev: d.Prev[:], End: d.End[:], Payloads: d.Payloads}
	case TypeGap:
		w.Gap = &wireGap{Lane: uint8(f.Gap.Lane), From: f.Gap.From}
	case TypeQuery:
		w.Query = (*wireQuery)(f.Query)
	case TypeReply:
		w.Reply = (*wireReply)(f.Reply)
	case TypeStop:
		s := f.Stop
		w.Stop = &wireStop{Code: uint8(s.Code), Node: string(s.Node), Reason: s.Reason, Final: s.Final}
	case TypeAck:
	}
	return w
}

func (h *Hello) wire(version uint8) *wireHello {
	w := &wireHello{
		Node: string(h.Node), Expected: string(h.Expected), Incarnation: h.Incarnation[:], Known: h.Known[:],
		MinVersion: h.MinVersion, MaxVersion: h.MaxVersion, Low: h.Low[:],
	}
	if version == 1 {
		return w
	}
	if h.Messages != (message.Range{}) {
		w.Messages = []uint8{h.Messages.Min, h.Messages.Max}
	}
	if h.Tables != (message.Range{}) {
		w.Tables = []uint8{h.Tables.Min, h.Tables.Max}
	}
	for l := range h.Begin {
		w.Begin = append(w.Begin, wireBegin{Number: h.Begin[l].Number, Hash: h.Begin[l].Hash[:]})
	}
	if version > 2 {
		w.Bodies = bytes.TrimRight(h.Bodies[:], "\x00")
	}
	return w
}

func (w *wireHello) hello() (*Hello, error) {
	h := &Hello{
		Node: processtable.NodeID(w.Node), Expected: processtable.NodeID(w.Expected),
		MinVersion: w.MinVersion, MaxVersion: w.MaxVersion,
	}
	errs := []error{
		fixed("incarnation", h.Incarnation[:], w.Incarnation), fixed("known incarnation", h.Known[:], w.Known),
		readRange("message formats", &h.Messages, w.Messages), readRange("table formats", &h.Tables, w.Tables),
	}
	if copy(h.Low[:], w.Low) != record.Lanes || len(w.Low) != record.Lanes {
		errs = append(errs, fmt.Errorf("lowest numbers of %d lanes: expected %d", len(w.Low), record.Lanes))
	}
	if n := len(w.Begin); n != 0 && n != record.Lanes {
		return nil, fmt.Errorf("beginnings of %d lanes: expected %d", n, record.Lanes)
	}
	if len(w.Bodies) > maxBodies {
		return nil, fmt.Errorf("versions of the bodies of %d kinds: at most %d", len(w.Bodies), maxBodies)
	}
	copy(h.Bodies[:], w.Bodies) // of kinds that this program does not know nothing is sent
	for l, b := range w.Begin {
		h.Begin[l].Number = b.Number
		errs = append(errs, fixed("hash of a beginning", h.Begin[l].Hash[:], b.Hash))
	}
	return h, errors.Join(errs...)
}

func readRange(what string, to *message.Range, from []uint8) error {
	if len(from) == 0 {
		return nil
	}
	if len(from) != 2 {
		return fmt.Errorf("range of %s with %d numbers: expected 2", what, len(from))
	}
	*to = message.Range{Min: from[0], Max: from[1]}
	return nil
}

func (w *wireFrame) frame() (Frame, error) {
	f := Frame{
		Version: w.Version, Type: w.Type, From: w.From, To: w.To, Seq: w.Seq,
		Challenge: w.Challenge, Answer: w.Answer,
	}
	if len(w.Receipts) != record.Lanes {
		return f, fmt.Errorf("receipts of %d lanes: expected %d", len(w.Receipts), record.Lanes)
	}
	var errs []error
	for i, r := range w.Receipts {
		f.Receipts[i] = Receipt{Position: record.Position{Number: r.Number}, Received: r.Received}
		errs = append(errs, fixed("hash of a receipt", f.Receipts[i].Hash[:], r.Hash))
	}
	if h := w.Hello; h != nil {
		hello, err := h.hello()
		f.Hello = hello
		errs = append(errs, err)
	}
	if d := w.Data; d != nil {
		f.Data = &Data{Lane: message.Lane(d.Lane), First: d.First, Payloads: d.Payloads}
		errs = append(errs, fixed("hash before the items", f.Data.Prev[:], d.Prev), fixed("hash after the items", f.Data.End[:], d.End))
	}
	if g := w.Gap; g != nil {
		f.Gap = &Gap{Lane: message.Lane(g.Lane), From: g.From}
	}
	f.Query, f.Reply = (*Query)(w.Query), (*Reply)(w.Reply)
	if s := w.Stop; s != nil {
		f.Stop = &Stop{Code: StopCode(s.Code), Node: processtable.NodeID(s.Node), Reason: s.Reason, Final: s.Final}
	}
	return f, errors.Join(errs...)
}

// fixed copies a byte string that must have the length of its target: CBOR would take
// a shorter one.
func fixed(what string, to, from []byte) error {
	if len(from) != len(to) {
		return fmt.Errorf("%s of %d bytes: expected %d", what, len(from), len(to))
	}
	copy(to, from)
	return nil
}
