package container

import (
	"encoding/binary"
	"math"
	"time"
	"unicode/utf8"
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
	r := reader{data: data}
	v, err := r.value(t)
	if err != nil {
		return nil, err
	}
	return v, r.end()
}

// DecodeValues reads what EncodeValues wrote, given the types in the same order.
func DecodeValues(types []*Type, data []byte) ([]Value, error) {
	r := reader{data: data}
	if err := r.array(len(types)); err != nil {
		return nil, err
	}
	vs := make([]Value, len(types))
	for i, t := range types {
		if err := checkDepth(t); err != nil {
			return nil, inElement(i, err)
		}
		start := r.at
		v, err := r.value(t)
		if err == nil && r.at-start > MaxEncoded {
			err = tooLarge()
		}
		if err != nil {
			return nil, inElement(i, err)
		}
		vs[i] = v
	}
	return vs, r.end()
}

func checkDepth(t *Type) error {
	if t.depth > MaxNesting {
		return fault("make it flatter", "%s is nested %d deep; the limit is %d", t, t.depth, MaxNesting)
	}
	return nil
}

// reader walks over CBOR. Its memory is bounded by the data: each value takes at
// least one byte, and a length is compared with what is left before it is believed.
type reader struct {
	data []byte
	at   int
}

func (r *reader) damaged(format string, args ...any) error {
	return fault("the bytes are damaged or of another type", "at byte %d: "+format, append([]any{r.at}, args...)...)
}

func (r *reader) end() error {
	if r.at != len(r.data) {
		return r.damaged("%d bytes after the end", len(r.data)-r.at)
	}
	return nil
}

func (r *reader) value(t *Type) (Value, error) {
	switch t.Kind {
	case Bool:
		return r.bool()
	case Int:
		v, err := r.int()
		return v, err
	case Double:
		return r.double()
	case String:
		b, err := r.bytes(majorText)
		if err == nil && !utf8.Valid(b) {
			err = r.damaged("a string that is not UTF-8")
		}
		return string(b), err
	case Bytes:
		b, err := r.bytes(majorBytes)
		return append([]byte{}, b...), err
	case Timestamp:
		return r.timestamp()
	case Duration:
		v, err := r.int()
		return time.Duration(v), err
	case List:
		return r.list(t.Elem)
	case Structure:
		return r.structure(t)
	}
	return nil, r.damaged("no such kind of value: %d", t.Kind)
}

// head reads the first bytes of an item: its major type and its number or length.
func (r *reader) head() (major byte, n uint64, err error) {
	rest := r.data[r.at:]
	if len(rest) == 0 {
		return 0, 0, r.damaged("the data end too soon")
	}
	major, low := rest[0]&0xe0, rest[0]&0x1f
	if low < 24 {
		r.at++
		return major, uint64(low), nil
	}
	if low > 27 {
		return 0, 0, r.damaged("byte 0x%02x begins no known value", rest[0])
	}
	width := 1 << (low - 24)
	if len(rest) < 1+width {
		return 0, 0, r.damaged("the data end too soon")
	}
	var wide [8]byte
	copy(wide[8-width:], rest[1:1+width])
	n = binary.BigEndian.Uint64(wide[:])
	if headSize(n) != 1+width {
		return 0, 0, r.damaged("a number that is not written in its shortest form")
	}
	r.at += 1 + width
	return major, n, nil
}

func (r *reader) bool() (Value, error) {
	if r.at < len(r.data) {
		switch r.data[r.at] {
		case cborFalse:
			r.at++
			return false, nil
		case cborTrue:
			r.at++
			return true, nil
		default:
		}
	}
	return nil, r.damaged("expected a bool")
}

func (r *reader) int() (int64, error) {
	start := r.at
	major, n, err := r.head()
	switch {
	case err != nil:
		return 0, err
	case n <= math.MaxInt64 && major == majorUint:
		return int64(n), nil
	case n <= math.MaxInt64 && major == majorNegint:
		return -1 - int64(n), nil
	}
	r.at = start
	return 0, r.damaged("expected an integer of 64 bits")
}

func (r *reader) double() (Value, error) {
	rest := r.data[r.at:]
	if len(rest) < 9 || rest[0] != cborFloat64 {
		return nil, r.damaged("expected a double")
	}
	v := math.Float64frombits(binary.BigEndian.Uint64(rest[1:]))
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil, r.damaged("a double that is not finite")
	}
	r.at += 9
	return v, nil
}

func (r *reader) bytes(want byte) ([]byte, error) {
	start := r.at
	major, n, err := r.head()
	if err != nil {
		return nil, err
	}
	if major != want || n > uint64(len(r.data)-r.at) {
		r.at = start
		return nil, r.damaged("expected a string of bytes or text that ends within the data")
	}
	b := r.data[r.at : r.at+int(n)]
	r.at += int(n)
	return b, nil
}

func (r *reader) timestamp() (Value, error) {
	if err := r.array(2); err != nil {
		return nil, err
	}
	seconds, err := r.int()
	if err != nil {
		return nil, err
	}
	nanos, err := r.int()
	if err != nil {
		return nil, err
	}
	if seconds < minTime.Unix() || seconds > maxTime.Unix() || nanos < 0 || nanos >= int64(time.Second) {
		return nil, r.damaged("a timestamp outside the years 1 to 9999")
	}
	return time.Unix(seconds, nanos).UTC(), nil
}

// array reads the head of an array of just n items.
func (r *reader) array(n int) error {
	start := r.at
	major, m, err := r.head()
	if err != nil {
		return err
	}
	if major != majorArray || m != uint64(n) {
		r.at = start
		return r.damaged("expected an array of %d", n)
	}
	return nil
}

func (r *reader) list(elem *Type) (Value, error) {
	start := r.at
	major, n, err := r.head()
	if err != nil {
		return nil, err
	}
	if major != majorArray || n > uint64(len(r.data)-r.at) {
		r.at = start
		return nil, r.damaged("expected a list that ends within the data")
	}
	if n > MaxList {
		return nil, checkLength(MaxList + 1)
	}
	l := make([]Value, n)
	for i := range l {
		if l[i], err = r.value(elem); err != nil {
			return nil, inElement(i, err)
		}
	}
	return l, nil
}

func (r *reader) structure(t *Type) (Value, error) {
	if err := r.array(len(t.Members)); err != nil {
		return nil, err
	}
	s := &Struct{Type: t, Fields: make([]Value, len(t.Members))}
	for i, m := range t.Members {
		var err error
		if s.Fields[i], err = r.value(m.Type); err != nil {
			return nil, inMember(m.Name, err)
		}
	}
	return s, nil
}
