package seal

import (
	"crypto/sha256"
	"fmt"

	"fmqm/internal/cbor"
	"fmqm/processtable"
)

// Versions of the envelope format. They differ in frames alone: handshakes are of version
// 1 in each, and say which versions their writer reads.
const (
	versionSigned    = 1 // frames as they are, with a MAC
	versionEncrypted = 2 // encrypted frames

	// Version is the newest.
	Version = versionEncrypted
)

// Kinds of envelopes. The numbers are part of the format.
const (
	kindHello = 1
	kindProof = 2
	kindFrame = 3
)

// Keys of an envelope. 0 to 3 stay what they are in every version.
const (
	keyVersion   = 0
	keyKind      = 1
	keyFrom      = 2
	keyTo        = 3
	keyPlain     = 4
	keyOffer     = 5
	keyAnswered  = 6
	keyHas       = 7
	keyChain     = 8
	keySignature = 9
	keySession   = 10
	keyCounter   = 11
	keyFrame     = 12
)

const (
	tagSize       = 16
	sessionSize   = 8
	signatureSize = 64
	maxChain      = 4 // certificates
	maxChainBytes = 3 << 10
)

// envelope is what travels, without its tag.
type envelope struct {
	version  uint64
	kind     uint64
	from, to string
	plain    bool

	offer     []byte // of the sender: hello, proof
	answered  []byte // of the receiver: proof
	has       bool   // the sender has the receiver's proof
	chain     [][]byte
	signature []byte

	session []byte // frame
	counter uint64 // from 1
	frame   []byte // may be empty
}

// encode gives the envelope up to its tag, with room for that.
func (e *envelope) encode() []byte {
	m := cbor.BeginMap(make([]byte, 0, 256+len(e.frame)))
	m.Uint(keyVersion, e.version)
	m.Uint(keyKind, e.kind)
	m.Text(keyFrom, e.from)
	m.Text(keyTo, e.to)
	m.Bool(keyPlain, e.plain)
	m.Bytes(keyOffer, e.offer)
	m.Bytes(keyAnswered, e.answered)
	m.Bool(keyHas, e.has)
	m.Array(keyChain, len(e.chain))
	for _, c := range e.chain {
		m.B = cbor.AppendBytes(m.B, c)
	}
	m.Bytes(keySignature, e.signature)
	m.Bytes(keySession, e.session)
	m.Uint(keyCounter, e.counter)
	m.Bytes(keyFrame, e.frame)
	return m.B
}

// checksum is the tag of a hello, which nobody's key covers.
func checksum(body []byte) []byte {
	sum := sha256.Sum256(body)
	return sum[:tagSize]
}

// Sender gives the node that an envelope says it is from, of whatever version, so that
// it can be handed to that peer's Session. Nothing of it is verified.
func Sender(data []byte) (processtable.NodeID, error) {
	e, _, err := head(data)
	return processtable.NodeID(e.from), err
}

// head reads the fields that every version has.
func head(data []byte) (e envelope, rest cbor.Fields, err error) {
	if len(data) > MaxEnvelope || len(data) < tagSize {
		return e, rest, fmt.Errorf("%w: %d bytes: expected %d to %d", ErrMalformed, len(data), tagSize, MaxEnvelope)
	}
	r := cbor.NewReader(data[:len(data)-tagSize])
	f := r.Map()
	for f.Key < keyTo && f.Next() {
		switch f.Key {
		case keyVersion:
			e.version = f.Uint(1 << 16)
		case keyKind:
			e.kind = f.Uint(1 << 16)
		case keyFrom:
			e.from = f.Text(processtable.MaxName)
		case keyTo:
			e.to = f.Text(processtable.MaxName)
		default:
			f.Unknown()
		}
	}
	switch {
	case f.Err() != nil:
		return e, f, fmt.Errorf("%w: %w", ErrMalformed, f.Err())
	case e.version == 0 || !processtable.ValidNode(e.from) || !processtable.ValidNode(e.to):
		return e, f, fmt.Errorf("%w: version %d, from %q, to %q", ErrMalformed, e.version, e.from, e.to)
	}
	return e, f, nil
}

// decode reads an envelope; its byte strings are parts of data.
func decode(data []byte) (e envelope, body, tag []byte, err error) {
	e, f, err := head(data)
	if err != nil {
		return e, nil, nil, err
	}
	if e.version > Version {
		return e, nil, nil, fmt.Errorf("%w: %s writes version %d, and this reads up to version %d: update the older of the two nodes", ErrVersion, e.from, e.version, Version)
	}
	if e.kind != kindFrame && len(data) > MaxHandshake {
		return e, nil, nil, fmt.Errorf("%w: a handshake of %d bytes: at most %d", ErrMalformed, len(data), MaxHandshake)
	}
	for f.Next() {
		e.field(&f)
	}
	if err := f.End(); err != nil {
		return e, nil, nil, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	if err := e.check(); err != nil {
		return e, nil, nil, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	cut := len(data) - tagSize
	return e, data[:cut], data[cut:], nil
}

func (e *envelope) field(f *cbor.Fields) {
	switch f.Key {
	case keyPlain:
		e.plain = f.Bool()
	case keyOffer:
		e.offer = f.Bytes(maxOffer)
	case keyAnswered:
		e.answered = f.Bytes(maxOffer)
	case keyHas:
		e.has = f.Bool()
	case keyChain:
		for range f.Array(maxChain) {
			e.chain = append(e.chain, f.Reader.Bytes(maxChainBytes))
		}
	case keySignature:
		e.signature = f.Bytes(signatureSize)
	case keySession:
		e.session = f.Bytes(sessionSize)
	case keyCounter:
		e.counter = f.Uint(1<<64 - 1)
	case keyFrame:
		e.frame = f.Bytes(MaxFrame)
	default:
		f.Unknown()
	}
}

// check insists on just the fields that the kind has.
func (e *envelope) check() error {
	hello, proof, frame := e.kind == kindHello, e.kind == kindProof, e.kind == kindFrame
	offer := offerSize(e.plain)
	switch {
	case !hello && !proof && !frame:
		return fmt.Errorf("kind %d: expected %d to %d", e.kind, kindHello, kindFrame)
	case !frame && e.version != versionSigned:
		return fmt.Errorf("kind %d of version %d: expected %d", e.kind, e.version, versionSigned)
	case (hello || proof) != (len(e.offer) == offer) || frame && len(e.offer) != 0:
		return fmt.Errorf("kind %d with an offer of %d bytes", e.kind, len(e.offer))
	case proof != (len(e.answered) == offer) || !proof && len(e.answered) != 0:
		return fmt.Errorf("kind %d answers an offer of %d bytes", e.kind, len(e.answered))
	case e.has && !proof:
		return fmt.Errorf("kind %d has the receiver's proof", e.kind)
	case (proof && !e.plain) != (len(e.chain) > 0) || (proof && !e.plain) != (len(e.signature) == signatureSize):
		return fmt.Errorf("kind %d with %d certificates and a signature of %d bytes", e.kind, len(e.chain), len(e.signature))
	case frame != (len(e.session) == sessionSize) || frame != (e.counter != 0):
		return fmt.Errorf("kind %d with a session of %d bytes and counter %d", e.kind, len(e.session), e.counter)
	case !frame && len(e.frame) != 0:
		return fmt.Errorf("kind %d with a frame", e.kind)
	}
	return nil
}

// IsHello says whether an envelope says that it is the first of a session. Nothing of it
// is verified.
func IsHello(data []byte) bool {
	e, _, err := head(data)
	return err == nil && e.kind == kindHello
}
