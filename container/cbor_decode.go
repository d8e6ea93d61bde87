package container

import (
	"math"
	"time"

	"fmqm/internal/cbor"
)

// DecodeCBOR reads a value of type t. It accepts only what EncodeCBOR writes for
// that type: shortest heads, exact lengths of structures, valid UTF-8, no NaN,
// nothing after the end, within MaxNesting, MaxList and MaxEncoded. The value
// shares nothing with data. Errors name the path.
func DecodeCBOR(t *Type, data []byte) (Value, error) {
	if len(data) > MaxEncoded {
		return nil, tooLarge()
	}
	if err := checkDepth(t); err != nil {
		return nil, err
	}
	r := cbor.NewReader(data)
	v, err := readValue(&r, t)
	if err != nil {
		return nil, err
	}
	return v, damaged(r.End())
}

// DecodeValues reads what EncodeValues wrote, given the types in the same order.
func DecodeValues(types []*Type, data []byte) ([]Value, error) {
	r := cbor.NewReader(data)
	r.Tuple(len(types))
	if err := r.Err(); err != nil {
		return nil, damaged(err)
	}
	vs := make([]Value, len(types))
	for i, t := range types {
		if err := checkDepth(t); err != nil {
			return nil, inElement(i, err)
		}
		start := r.Offset()
		v, err := readValue(&r, t)
		if err == nil && r.Offset()-start > MaxEncoded {
			err = tooLarge()
		}
		if err != nil {
			return nil, inElement(i, err)
		}
		vs[i] = v
	}
	return vs, damaged(r.End())
}

func checkDepth(t *Type) error {
	if t.depth > MaxNesting {
		return fault("make it flatter", "%s is nested %d deep; the limit is %d", t, t.depth, MaxNesting)
	}
	return nil
}

func damaged(err error) error {
	if err == nil {
		return nil
	}
	return fault("the bytes are damaged or of another type", "at %v", err)
}

// readValue reads a value of type t. Its memory is bounded by the data: each value takes at
// least one byte, and a length is compared with what is left before it is believed.
func readValue(r *cbor.Reader, t *Type) (v Value, err error) {
	switch t.Kind {
	case Bool:
		v = r.Bool()
	case Int:
		v = r.Int()
	case Double:
		v = readDouble(r)
	case String:
		v = r.Text(MaxEncoded)
	case Bytes:
		v = append([]byte{}, r.Bytes(MaxEncoded)...)
	case Timestamp:
		v = readTimestamp(r)
	case Duration:
		v = time.Duration(r.Int())
	case List:
		return readList(r, t.Elem)
	case Structure:
		return readStructure(r, t)
	default:
		r.Fail("no such kind of value: %d", t.Kind)
	}
	return v, damaged(r.Err())
}

func readDouble(r *cbor.Reader) float64 {
	v := r.Double()
	if math.IsNaN(v) || math.IsInf(v, 0) {
		r.Fail("a double that is not finite")
	}
	return v
}

func readTimestamp(r *cbor.Reader) time.Time {
	r.Tuple(2)
	seconds, nanos := r.Int(), r.Int()
	if seconds < minTime.Unix() || seconds > maxTime.Unix() || nanos < 0 || nanos >= int64(time.Second) {
		r.Fail("a timestamp outside the years 1 to 9999")
	}
	return time.Unix(seconds, nanos).UTC()
}

func readList(r *cbor.Reader, elem *Type) (Value, error) {
	n := r.Array(MaxEncoded)
	if err := r.Err(); err != nil {
		return nil, damaged(err)
	}
	if err := checkLength(n); err != nil {
		return nil, err
	}
	l := make([]Value, n)
	for i := range l {
		var err error
		if l[i], err = readValue(r, elem); err != nil {
			return nil, inElement(i, err)
		}
	}
	return l, nil
}

func readStructure(r *cbor.Reader, t *Type) (Value, error) {
	r.Tuple(len(t.Members))
	if err := r.Err(); err != nil {
		return nil, damaged(err)
	}
	s := &Struct{Type: t, Fields: make([]Value, len(t.Members))}
	for i, m := range t.Members {
		var err error
		if s.Fields[i], err = readValue(r, m.Type); err != nil {
			return nil, inMember(m.Name, err)
		}
	}
	return s, nil
}
