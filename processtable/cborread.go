package processtable

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"unicode/utf8"
)

// reader reads what writer writes and nothing else: no indefinite lengths, tags or
// longer heads, and map keys must ascend, which leaves no room for duplicates. By a
// length that it read it allocates room for mostReserved elements at most: beyond that a
// slice grows with the elements that were really there.
type reader struct {
	data []byte
	pos  int
}

var errTruncated = errors.New("the data ends too early")

func (r *reader) left() int { return len(r.data) - r.pos }

// head reads the head of one item. For simple values it gives the raw argument.
func (r *reader) head() (major byte, n uint64, err error) {
	if r.left() < 1 {
		return 0, 0, errTruncated
	}
	first := r.data[r.pos]
	r.pos++
	major, low := first>>5, first&31
	if low < 24 || major == majorSimple {
		return major, uint64(low), nil
	}
	if low > 27 {
		return 0, 0, fmt.Errorf("byte 0x%02x: lengths must be definite", first)
	}
	size := 1 << (low - 24)
	if r.left() < size {
		return 0, 0, errTruncated
	}
	for _, b := range r.data[r.pos : r.pos+size] {
		n = n<<8 | uint64(b)
	}
	r.pos += size
	if least := [...]uint64{24, 1 << 8, 1 << 16, 1 << 32}[low-24]; n < least {
		return 0, 0, fmt.Errorf("%d is not in its shortest form", n)
	}
	return major, n, nil
}

var majorNames = [...]string{"a number", "a negative number", "bytes", "text", "a list", "a map", "a tag", "a simple value"}

func (r *reader) expect(want byte) (uint64, error) {
	major, n, err := r.head()
	if err != nil {
		return 0, err
	}
	if major != want {
		return 0, fmt.Errorf("want %s, not %s", majorNames[want], majorNames[major])
	}
	return n, nil
}

// uint reads a number from 0 to limit.
func (r *reader) uint(limit int) (int, error) {
	n, err := r.expect(majorUint)
	if err != nil {
		return 0, err
	}
	if n > uint64(limit) {
		return 0, fmt.Errorf("%d is above the limit of %d", n, limit)
	}
	return int(n), nil
}

func (r *reader) int() (int64, error) {
	major, n, err := r.head()
	switch {
	case err != nil:
		return 0, err
	case major != majorUint && major != majorNeg:
		return 0, fmt.Errorf("want a number, not %s", majorNames[major])
	case n > math.MaxInt64:
		return 0, errors.New("the number does not fit in 64 bits")
	case major == majorNeg:
		return ^int64(n), nil
	}
	return int64(n), nil
}

func (r *reader) take(want byte, limit int) ([]byte, error) {
	n, err := r.expect(want)
	if err != nil {
		return nil, err
	}
	if n > uint64(limit) {
		return nil, fmt.Errorf("%d bytes are above the limit of %d", n, limit)
	}
	if n > uint64(r.left()) {
		return nil, errTruncated
	}
	p := r.data[r.pos : r.pos+int(n)]
	r.pos += int(n)
	return p, nil
}

// bytes gives a copy.
func (r *reader) bytes(limit int) ([]byte, error) {
	p, err := r.take(majorBytes, limit)
	return append([]byte{}, p...), err
}

func (r *reader) text(limit int) (string, error) {
	p, err := r.take(majorText, limit)
	if err == nil && !utf8.Valid(p) {
		err = errors.New("the text is not UTF-8")
	}
	return string(p), err
}

func (r *reader) bool() (bool, error) {
	n, err := r.expect(majorSimple)
	if err == nil && n != simpleFalse && n != simpleTrue {
		err = errors.New("want true or false")
	}
	return n == simpleTrue, err
}

// array calls each for every element; each must read just that.
func (r *reader) array(limit int, each func(i int) error) error {
	n, err := r.elements(limit)
	if err != nil {
		return err
	}
	for i := range n {
		if err := each(i); err != nil {
			return err
		}
	}
	return nil
}

// elements reads how many elements of an array follow.
func (r *reader) elements(limit int) (int, error) {
	n, err := r.expect(majorArray)
	switch {
	case err != nil:
		return 0, err
	case n > uint64(limit):
		return 0, fmt.Errorf("%d elements are above the limit of %d", n, limit)
	case n > uint64(r.left()):
		return 0, errTruncated
	}
	return int(n), nil
}

// object calls field for every key; field must read the value, or return unknown.
func (r *reader) object(field func(key int) error) error {
	n, err := r.expect(majorMap)
	if err != nil {
		return err
	}
	last := -1
	for range n {
		key, err := r.uint(math.MaxInt32)
		if err != nil {
			return fmt.Errorf("key of a map: %w", err)
		}
		if key == last {
			return fmt.Errorf("key %d occurs twice", key)
		}
		if key < last {
			return fmt.Errorf("key %d after key %d: keys must ascend", key, last)
		}
		last = key
		if err := field(key); err != nil {
			return err
		}
	}
	return nil
}

func unknown(key int) error { return fmt.Errorf("unknown key %d", key) }

// list reads a list of things into to; what names one of them in errors.
func list[T any](r *reader, to *[]T, what string, limit int, get func() (T, error)) error {
	n, err := r.elements(limit)
	if err != nil {
		return err
	}
	*to = slices.Grow(*to, min(n, mostReserved))
	for i := range n {
		v, err := get()
		if err != nil {
			return fmt.Errorf("%s %d: %w", what, i, err)
		}
		*to = append(*to, v)
	}
	return nil
}

// mostReserved is for how many elements room is made before they are read: how many are
// said to follow could be anything.
const mostReserved = 4096

// read stores what get gives, with the field's name on any error.
func read[T any](to *T, what string, get func() (T, error)) error {
	v, err := get()
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	*to = v
	return nil
}
