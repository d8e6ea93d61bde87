// Package cbor writes and reads the strict subset of CBOR (RFC 8949) that records and
// messages are made of, without reflection: maps with small ascending integer keys
// from which zero values are left out, arrays, integers, booleans, doubles, texts, byte strings.
//
// What it guarantees: equal values give equal bytes, and a [Reader] accepts nothing
// that a [Writer] could not have written: lengths in their shortest form, keys in
// ascending order, no zero values in maps, every length checked against its limit and
// the input before anything is allocated. It does no I/O.
package cbor

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"time"
)

// The major types, shifted to their place.
const (
	majorUint  = 0 << 5
	majorNint  = 1 << 5
	majorBytes = 2 << 5
	majorText  = 3 << 5
	majorArray = 4 << 5
	majorMap   = 5 << 5

	simpleTrue   = 7<<5 | 21 // false is one below
	simpleDouble = 7<<5 | 27
)

// maxKey is the highest key of a map: more than the fields of any, and one bit each in a word.
const maxKey = 63

// inHead is the highest number that the first byte of a head has in itself.
const inHead = 23

func appendHead(b []byte, major byte, n uint64) []byte {
	switch {
	case n < 24:
		return append(b, major|byte(n))
	case n < 1<<8:
		return append(b, major|24, byte(n))
	case n < 1<<16:
		return binary.BigEndian.AppendUint16(append(b, major|25), uint16(n))
	case n < 1<<32:
		return binary.BigEndian.AppendUint32(append(b, major|26), uint32(n))
	}
	return binary.BigEndian.AppendUint64(append(b, major|27), n)
}

// AppendUint appends an unsigned integer.
func AppendUint(b []byte, n uint64) []byte { return appendHead(b, majorUint, n) }

// AppendInt appends a signed integer.
func AppendInt(b []byte, n int64) []byte {
	negative := n >> 63 // all bits, or none; without a branch this is inlined
	return appendHead(b, majorNint&byte(negative), uint64(n^negative))
}

// AppendBytes appends a byte string.
func AppendBytes(b, v []byte) []byte { return append(appendHead(b, majorBytes, uint64(len(v))), v...) }

// AppendText appends a text, which has to be UTF-8.
func AppendText(b []byte, s string) []byte {
	return append(appendHead(b, majorText, uint64(len(s))), s...)
}

// AppendBool appends true or false.
func AppendBool(b []byte, v bool) []byte {
	if v {
		return append(b, simpleTrue)
	}
	return append(b, simpleTrue-1)
}

// AppendDouble appends a floating-point number of 64 bits.
func AppendDouble(b []byte, v float64) []byte {
	return binary.BigEndian.AppendUint64(append(b, simpleDouble), math.Float64bits(v))
}

// AppendArray begins an array of n items, which the caller appends.
func AppendArray(b []byte, n int) []byte { return appendHead(b, majorArray, uint64(n)) }

// AppendKey appends the key of the next field, 0 to 63, to the map that begins at b[head],
// and counts it there. It panics if the key is over 63.
func AppendKey(b []byte, head int, k byte) []byte {
	if k > maxKey {
		panic(fmt.Sprintf("cbor: key %d of at most %d", k, maxKey))
	}
	switch b[head] {
	case majorMap | inHead: // the next count is the first that takes a byte of its own
		b[head] = majorMap | inHead + 1
		b = slices.Insert(b, head+1, inHead+1)
	case majorMap | inHead + 1:
		b[head+1]++
	default:
		b[head]++
	}
	return AppendUint(b, uint64(k))
}

// Map writes one map. The fields have to come in ascending order of their keys, 0 to
// 63, or it panics; those with zero values are left out.
type Map struct {
	B    []byte // what was written so far, with everything before the map
	head int
	next byte // the lowest key that may come
}

// BeginMap begins a map behind b. The result's B is the whole once all fields are written.
func BeginMap(b []byte) Map { return Map{B: append(b, majorMap), head: len(b)} }

// Key begins a field whose value, zero or not, the caller appends to B.
func (m *Map) Key(k byte) {
	if k < m.next {
		panic(fmt.Sprintf("cbor: key %d after key %d", k, m.next-1))
	}
	m.next = k + 1
	m.B = AppendKey(m.B, m.head, k)
}

// Uint writes a field unless it is 0.
func (m *Map) Uint(k byte, n uint64) {
	if n != 0 {
		m.Key(k)
		m.B = AppendUint(m.B, n)
	}
}

// Int writes a field unless it is 0.
func (m *Map) Int(k byte, n int64) {
	if n != 0 {
		m.Key(k)
		m.B = AppendInt(m.B, n)
	}
}

// Bool writes a field unless it is false.
func (m *Map) Bool(k byte, v bool) {
	if v {
		m.Key(k)
		m.B = append(m.B, simpleTrue)
	}
}

// Text writes a field unless it is empty.
func (m *Map) Text(k byte, s string) {
	if s != "" {
		m.Key(k)
		m.B = AppendText(m.B, s)
	}
}

// Bytes writes a field unless it is empty.
func (m *Map) Bytes(k byte, v []byte) {
	if len(v) != 0 {
		m.Key(k)
		m.B = AppendBytes(m.B, v)
	}
}

// Time writes a field, in nanoseconds since 1970 (so from 1678 to 2262), unless it is zero.
func (m *Map) Time(k byte, t time.Time) {
	if !t.IsZero() {
		m.Key(k)
		m.B = AppendInt(m.B, t.UnixNano())
	}
}

// Array begins a field with n items, which the caller appends to B, unless n is 0.
func (m *Map) Array(k byte, n int) {
	if n != 0 {
		m.Key(k)
		m.B = AppendArray(m.B, n)
	}
}
