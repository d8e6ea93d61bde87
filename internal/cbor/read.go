package cbor

import (
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"math"
	"strconv"
	"time"
	"unicode/utf8"
)

// Reader reads what a Writer wrote. The first error stays: later calls give zero
// values, and Err tells it. A Reader belongs to one goroutine.
type Reader struct {
	data []byte
	off  int
	err  error
	at   string // the place of the error, as Within has told it
}

// NewReader reads data, of which byte strings that it gives are parts.
func NewReader(data []byte) Reader { return Reader{data: data} }

// Err is the first error, with its place.
func (r *Reader) Err() error {
	if r.err == nil || r.at == "" {
		return r.err
	}
	return fmt.Errorf("%s: %w", r.at, r.err)
}

// Fail sets the error, unless there was one. The format is one of fmt.Errorf.
func (r *Reader) Fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf("byte %d: %w", r.off, fmt.Errorf(format, args...))
	}
}

// maxPlace is how many bytes an error's place has at most before one is put before it.
const maxPlace = 400

// Within puts a place before that of the error, if there is one: of what was begun to be read
// without an error.
func (r *Reader) Within(place string) {
	switch {
	case r.err == nil || place == "":
	case r.at == "":
		r.at = place
	case len(r.at) > maxPlace: // of something deep: the outer part says more
		r.at = place + ": ..."
	case r.at[0] == '[':
		r.at = place + r.at
	default:
		r.at = place + ": " + r.at
	}
}

// Left is how many bytes there are still to read.
func (r *Reader) Left() int { return len(r.data) - r.off }

// Offset is how many bytes were read.
func (r *Reader) Offset() int { return r.off }

// End gives the first error, or one if anything is left.
func (r *Reader) End() error {
	if r.err == nil && r.off != len(r.data) {
		r.Fail("the data should end here")
	}
	return r.Err()
}

var errShort = errors.New("the data ends too early")

var majorNames = [...]string{"unsigned integer", "negative integer", "byte string", "text", "array", "map", "tag", "simple value"}

// head reads a head of the major type wanted and gives its number.
func (r *Reader) head(major byte, what string) uint64 {
	if r.err != nil {
		return 0
	}
	if r.off >= len(r.data) {
		r.Fail("%v: expected %s", errShort, what)
		return 0
	}
	first := r.data[r.off]
	if first&^31 != major {
		r.Fail("expected %s, not %s", what, majorNames[first>>5])
		return 0
	}
	r.off++
	return r.number(first & 31)
}

// number reads the rest of a head, and refuses one that is longer than it needs to be.
func (r *Reader) number(info byte) uint64 {
	if info < 24 {
		return uint64(info)
	}
	if info > 27 {
		r.Fail("the length is indefinite or reserved")
		return 0
	}
	size := 1 << (info - 24)
	if len(r.data)-r.off < size {
		r.Fail("%v", errShort)
		return 0
	}
	var n, least uint64
	rest := r.data[r.off:]
	switch size {
	case 1:
		n, least = uint64(rest[0]), 24
	case 2:
		n, least = uint64(binary.BigEndian.Uint16(rest)), 1<<8
	case 4:
		n, least = uint64(binary.BigEndian.Uint32(rest)), 1<<16
	default:
		n, least = binary.BigEndian.Uint64(rest), 1<<32
	}
	if n < least {
		r.Fail("a number is not in its shortest form")
		return 0
	}
	r.off += size
	return n
}

// Uint reads an unsigned integer of at most limit.
func (r *Reader) Uint(limit uint64) uint64 {
	n := r.head(majorUint, "unsigned integer")
	if n > limit {
		r.Fail("number %d is over the limit of %d", n, limit)
		return 0
	}
	return n
}

// Int reads a signed integer.
func (r *Reader) Int() int64 {
	if r.err == nil && r.off < len(r.data) && r.data[r.off]&^31 == majorNint {
		n := r.head(majorNint, "integer")
		if n > math.MaxInt64 {
			r.Fail("integer does not fit into 64 bits")
			return 0
		}
		return ^int64(n)
	}
	n := r.head(majorUint, "integer")
	if n > math.MaxInt64 {
		r.Fail("integer does not fit into 64 bits")
		return 0
	}
	return int64(n)
}

func (r *Reader) raw(major byte, what string, limit int) []byte {
	n := r.head(major, what)
	if r.err != nil {
		return nil
	}
	if n > uint64(limit) {
		r.Fail("%s of %d bytes is over the limit of %d", what, n, limit)
		return nil
	}
	if n > uint64(len(r.data)-r.off) {
		r.Fail("%v: expected %s of %d bytes", errShort, what, n)
		return nil
	}
	v := r.data[r.off : r.off+int(n) : r.off+int(n)]
	r.off += int(n)
	return v
}

// Bytes reads a byte string of at most limit bytes: a part of the input, nil if empty.
func (r *Reader) Bytes(limit int) []byte {
	v := r.raw(majorBytes, "byte string", limit)
	if len(v) == 0 {
		return nil
	}
	return v
}

// Fixed reads a byte string of exactly len(to) bytes.
func (r *Reader) Fixed(to []byte) {
	v := r.raw(majorBytes, "byte string", len(to))
	if r.err == nil && len(v) != len(to) {
		r.Fail("byte string has %d bytes, expected %d", len(v), len(to))
		return
	}
	copy(to, v)
}

// Text reads a text of at most limit bytes.
func (r *Reader) Text(limit int) string {
	v := r.raw(majorText, "text", limit)
	if !utf8.Valid(v) {
		r.Fail("text is not UTF-8")
		return ""
	}
	return string(v)
}

// Array reads the head of an array of at most limit items. An item takes at least one
// byte, so a caller may allocate for what it gives.
func (r *Reader) Array(limit int) int {
	n := r.head(majorArray, "array")
	if n > uint64(limit) {
		r.Fail("array of %d items is over the limit of %d", n, limit)
		return 0
	}
	if n > uint64(len(r.data)-r.off) {
		r.Fail("%v: expected array of %d items", errShort, n)
		return 0
	}
	return int(n)
}

// Tuple reads the head of an array of exactly n items.
func (r *Reader) Tuple(n int) {
	if got := r.head(majorArray, "array"); r.err == nil && got != uint64(n) {
		r.Fail("array of %d items, expected %d", got, n)
	}
}

// IsArray reports that an array comes next.
func (r *Reader) IsArray() bool {
	return r.err == nil && r.off < len(r.data) && r.data[r.off]&^31 == majorArray
}

// Length reads the head of a byte string, of which more or less may follow.
func (r *Reader) Length() uint64 { return r.head(majorBytes, "byte string") }

// Bool reads true or false.
func (r *Reader) Bool() bool {
	if r.err != nil {
		return false
	}
	if r.off >= len(r.data) || r.data[r.off]|1 != simpleTrue {
		r.Fail("expected true or false")
		return false
	}
	r.off++
	return r.data[r.off-1] == simpleTrue
}

// Double reads a floating-point number of 64 bits.
func (r *Reader) Double() float64 {
	if r.err != nil {
		return 0
	}
	if len(r.data)-r.off < 9 || r.data[r.off] != simpleDouble {
		r.Fail("expected double")
		return 0
	}
	v := math.Float64frombits(binary.BigEndian.Uint64(r.data[r.off+1:]))
	r.off += 9
	return v
}

// Items reads an array of at most limit items, each of which the loop's body reads. An error
// has the item's index in its place.
func (r *Reader) Items(limit int) iter.Seq[int] {
	return func(yield func(int) bool) {
		for i := range r.Array(limit) {
			more := yield(i)
			if r.err != nil {
				r.Within("[" + strconv.Itoa(i) + "]")
			}
			if !more || r.err != nil {
				return
			}
		}
	}
}

// Named reads a map whose fields have names, by their keys; the loop's body reads the value
// of the key that it is given, zero or not. An error has the field's name in its place; a
// field without a name is unknown.
func (r *Reader) Named(names []string) iter.Seq[int] {
	return func(yield func(int) bool) {
		for f := r.Map(); f.Next(); {
			if f.Key >= len(names) || names[f.Key] == "" {
				f.Unknown()
				return
			}
			more := yield(f.Key)
			r.Within(names[f.Key])
			if !more {
				return
			}
		}
	}
}

// Fields reads one map: for f := r.Map(); f.Next(); { switch f.Key ... }.
type Fields struct {
	*Reader
	Key  int
	left int
}

// Map begins to read a map.
func (r *Reader) Map() Fields {
	n := r.head(majorMap, "map")
	if n > maxKey+1 {
		r.Fail("map of %d fields is over the limit of %d", n, maxKey+1)
		n = 0
	}
	return Fields{Reader: r, Key: -1, left: int(n)}
}

// Next goes to the next field and says whether there is one.
func (f *Fields) Next() bool {
	if f.err != nil || f.left == 0 {
		return false
	}
	f.left--
	k := int(f.Reader.Uint(maxKey))
	if f.err == nil && k <= f.Key {
		f.Fail("field %d after field %d: repeated, or out of order", k, f.Key)
	}
	f.Key = k
	return f.err == nil
}

// Unknown refuses the field.
func (f *Fields) Unknown() { f.Fail("unknown field %d", f.Key) }

func (f *Fields) zero(is bool) {
	if is {
		f.Fail("field %d is present although it is zero", f.Key)
	}
}

// Uint reads the field's value, of at most limit.
func (f *Fields) Uint(limit uint64) uint64 {
	n := f.Reader.Uint(limit)
	f.zero(n == 0)
	return n
}

// Int reads the field's value.
func (f *Fields) Int() int64 {
	n := f.Reader.Int()
	f.zero(n == 0)
	return n
}

// Bool reads the field's value, which is true.
func (f *Fields) Bool() bool {
	if f.err != nil {
		return false
	}
	if f.off >= len(f.data) || f.data[f.off] != simpleTrue {
		f.Fail("expected true")
		return false
	}
	f.off++
	return true
}

// Text reads the field's value, of at most limit bytes.
func (f *Fields) Text(limit int) string {
	s := f.Reader.Text(limit)
	f.zero(s == "")
	return s
}

// Bytes reads the field's value, of at most limit bytes: a part of the input.
func (f *Fields) Bytes(limit int) []byte {
	v := f.Reader.Bytes(limit)
	f.zero(len(v) == 0)
	return v
}

// Time reads the field's value, in UTC.
func (f *Fields) Time() time.Time { return time.Unix(0, f.Reader.Int()).UTC() }

// Array reads the head of the field's value.
func (f *Fields) Array(limit int) int {
	n := f.Reader.Array(limit)
	f.zero(n == 0)
	return n
}
