package container

import (
	"math"
	"slices"
	"time"
	"unicode/utf8"

	"fmqm/internal/cbor"
)

// The CBOR of RFC 8949 that values are written in. A type is never written with its
// value: both ends have it. Heads are always the shortest possible.
//
//	bool       simple 20, 21        structure  array of the members, in order
//	int        integer              list       array of the elements
//	double     64-bit float         timestamp  array of Unix seconds and nanoseconds
//	string     text string          duration   integer, nanoseconds
//	bytes      byte string

// EncodeCBOR writes v for queues and links. Equal values give equal bytes. It is an
// error if v is not a value as CheckValue has it, or over MaxEncoded bytes.
func EncodeCBOR(v Value) ([]byte, error) {
	return appendBounded(nil, v)
}

// EncodeValues writes several values as one CBOR array: what the body of a
// connector's message holds. Each is held to the limit MaxEncoded.
func EncodeValues(vs []Value) ([]byte, error) {
	b := cbor.AppendArray(make([]byte, 0, 64), len(vs))
	for i, v := range vs {
		var err error
		if b, err = appendBounded(b, v); err != nil {
			return nil, inElement(i, err)
		}
	}
	return b, nil
}

// appendBounded reckons the size first: so one allocation does, and what is too big
// is not built at all.
func appendBounded(b []byte, v Value) ([]byte, error) {
	n := encodedSize(v)
	if n > MaxEncoded {
		return nil, tooLarge()
	}
	return appendCBOR(slices.Grow(b, n), v)
}

// CheckSize says whether v is within MaxEncoded. It takes time in proportion to its size,
// and no longer than for one of MaxEncoded, however often a list or structure is in it.
func CheckSize(v Value) error {
	if encodedSize(v) > MaxEncoded {
		return tooLarge()
	}
	return nil
}

func tooLarge() error {
	return fault("pass a reference (a file, a URL) instead of the content",
		"the encoded container has over %d bytes", MaxEncoded)
}

func appendCBOR(b []byte, v Value) ([]byte, error) {
	switch v := v.(type) {
	case bool:
		return cbor.AppendBool(b, v), nil
	case int64:
		return cbor.AppendInt(b, v), nil
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, checkScalar(v)
		}
		return cbor.AppendDouble(b, v), nil
	case string:
		if !utf8.ValidString(v) {
			return nil, checkScalar(v)
		}
		return cbor.AppendText(b, v), nil
	case []byte:
		return cbor.AppendBytes(b, v), nil
	case time.Time:
		if v.Before(minTime) || v.After(maxTime) {
			return nil, checkScalar(v)
		}
		b = cbor.AppendInt(cbor.AppendArray(b, 2), v.Unix())
		return cbor.AppendUint(b, uint64(v.Nanosecond())), nil
	case time.Duration:
		return cbor.AppendInt(b, int64(v)), nil
	case []Value:
		return appendList(b, v)
	case *Struct:
		return appendStruct(b, v)
	}
	return nil, fault("", "a Go %T is not a value of a container", v)
}

func appendList(b []byte, l []Value) ([]byte, error) {
	err := checkLength(len(l))
	b = cbor.AppendArray(b, len(l))
	for i := 0; i < len(l) && err == nil; i++ {
		if b, err = appendCBOR(b, l[i]); err != nil {
			return nil, inElement(i, err)
		}
	}
	return b, err
}

func appendStruct(b []byte, s *Struct) ([]byte, error) {
	if s == nil {
		return nil, fault("", "a structure without a value")
	}
	b = cbor.AppendArray(b, len(s.Fields))
	for i, f := range s.Fields {
		var err error
		if b, err = appendCBOR(b, f); err != nil {
			return nil, inMember(s.Type.Members[i].Name, err)
		}
	}
	return b, nil
}

func headSize(n uint64) int {
	switch {
	case n < 24:
		return 1
	case n <= math.MaxUint8:
		return 2
	case n <= math.MaxUint16:
		return 3
	case n <= math.MaxUint32:
		return 5
	}
	return 9
}

func intSize(v int64) int {
	if v < 0 {
		return headSize(uint64(-1 - v))
	}
	return headSize(uint64(v))
}

// encodedSize is the length of what appendCBOR writes for a value that it accepts. Of one
// over MaxEncoded it says only that.
func encodedSize(v Value) int {
	switch v := v.(type) {
	case int64:
		return intSize(v)
	case float64:
		return 9
	case string:
		return headSize(uint64(len(v))) + len(v)
	case []byte:
		return headSize(uint64(len(v))) + len(v)
	case time.Time:
		return 1 + intSize(v.Unix()) + headSize(uint64(v.Nanosecond()))
	case time.Duration:
		return intSize(int64(v))
	case []Value:
		return sizeAll(v)
	case *Struct:
		if v != nil {
			return sizeAll(v.Fields)
		}
	default:
	}
	return 1
}

func sizeAll(vs []Value) int {
	n := headSize(uint64(len(vs)))
	for i := 0; i < len(vs) && n <= MaxEncoded; i++ {
		n += encodedSize(vs[i])
	}
	return n
}
