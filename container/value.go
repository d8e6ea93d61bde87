package container

import (
	"bytes"
	"math"
	"time"
	"unicode/utf8"
)

// Timestamps lie within these, in UTC: what RFC 3339 can write.
var (
	minTime = time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC)
	maxTime = time.Date(9999, 12, 31, 23, 59, 59, 999_999_999, time.UTC)
)

// Zero gives the value that a member of type t has when nothing says otherwise:
// FALSE, 0, "", no bytes, no time at all, an empty list; 1970-01-01T00:00:00Z for a
// timestamp; a structure with all its defaults. It is never shared.
func Zero(t *Type) Value {
	switch t.Kind {
	case Bool:
		return false
	case Int:
		return int64(0)
	case Double:
		return float64(0)
	case String:
		return ""
	case Bytes:
		return []byte{}
	case Timestamp:
		return time.Unix(0, 0).UTC()
	case Duration:
		return time.Duration(0)
	case List:
		return []Value{}
	case Structure:
		return New(t)
	}
	panic("container: Zero of " + t.Kind.String())
}

// New gives the structure of type t with all its defaults, nothing of it shared.
func New(t *Type) *Struct {
	s := &Struct{Type: t, Fields: make([]Value, len(t.Members))}
	for i, m := range t.Members {
		s.Fields[i] = m.zero()
	}
	return s
}

func (m Member) zero() Value {
	if m.Default != nil {
		return CloneValue(m.Default)
	}
	return Zero(m.Type)
}

// Clone gives a copy that shares nothing that can be changed.
func (s *Struct) Clone() *Struct {
	c := &Struct{Type: s.Type, Fields: make([]Value, len(s.Fields))}
	for i, v := range s.Fields {
		c.Fields[i] = CloneValue(v)
	}
	return c
}

// CloneValue gives a copy of v that shares nothing that can be changed.
func CloneValue(v Value) Value {
	switch v := v.(type) {
	case []byte:
		return append([]byte{}, v...)
	case []Value:
		c := make([]Value, len(v))
		for i, e := range v {
			c[i] = CloneValue(e)
		}
		return c
	case *Struct:
		return v.Clone()
	default:
		return v
	}
}

// Equal says whether a and b are the same value; then their encodings are the same
// bytes. So 0.0 and -0.0 differ. Of structures only the fields are compared: whether
// their types are the same is for SameType to say.
func Equal(a, b Value) bool {
	switch a := a.(type) {
	case float64:
		b, ok := b.(float64)
		return ok && math.Float64bits(a) == math.Float64bits(b)
	case []byte:
		b, ok := b.([]byte)
		return ok && bytes.Equal(a, b)
	case time.Time:
		b, ok := b.(time.Time)
		return ok && a.Equal(b)
	case []Value:
		b, ok := b.([]Value)
		return ok && equalAll(a, b)
	case *Struct:
		b, ok := b.(*Struct)
		return ok && (a == b || a != nil && b != nil && equalAll(a.Fields, b.Fields))
	case bool, int64, string, time.Duration:
		return a == b
	}
	return false
}

// Above says whether a value has more than so many bytes of texts and byte strings, with 8
// for everything else in it. It looks no further than that.
func Above(v Value, bytes int) bool { return take(v, bytes) < 0 }

// take gives what a value leaves of so many bytes; less than 0: it has more.
func take(v Value, bytes int) int {
	switch v := v.(type) {
	case string:
		return bytes - len(v)
	case []byte:
		return bytes - len(v)
	case []Value:
		for i := 0; i < len(v) && bytes >= 0; i++ {
			bytes = take(v[i], bytes)
		}
	case *Struct:
		for i := 0; v != nil && i < len(v.Fields) && bytes >= 0; i++ {
			bytes = take(v.Fields[i], bytes)
		}
	}
	return bytes - 8
}

func equalAll(a, b []Value) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !Equal(a[i], b[i]) {
			return false
		}
	}
	return true
}

// CheckValue says whether v is a value of type t as this package promises it: of the
// Go type of its kind, total, valid UTF-8, a double that is a number, a timestamp in
// UTC within its years, lists within MaxList. The error names the path.
func CheckValue(t *Type, v Value) error {
	switch v := v.(type) {
	case *Struct:
		if t.Kind == Structure && v != nil {
			return checkStruct(t, v)
		}
	case []Value:
		if t.Kind == List {
			return checkList(t, v)
		}
	default:
		if k, ok := kindOf(v); ok && k == t.Kind {
			return checkScalar(v)
		}
	}
	return fault("", "expected %s, found a Go %T", t, v)
}

func kindOf(v Value) (Kind, bool) {
	switch v.(type) {
	case bool:
		return Bool, true
	case int64:
		return Int, true
	case float64:
		return Double, true
	case string:
		return String, true
	case []byte:
		return Bytes, true
	case time.Time:
		return Timestamp, true
	case time.Duration:
		return Duration, true
	}
	return 0, false
}

func checkScalar(v Value) error {
	switch v := v.(type) {
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return fault("use a finite number", "a double cannot be %v", v)
		}
	case string:
		if !utf8.ValidString(v) {
			return fault("use the type bytes for what is not text", "a string must be valid UTF-8")
		}
	case time.Time:
		if v.Before(minTime) || v.After(maxTime) {
			return fault("use a time in the years 1 to 9999", "the timestamp %v is out of range", v)
		}
		if v.Location() != time.UTC {
			return fault("convert it with UTC()", "the timestamp %v is not in UTC", v)
		}
	default:
	}
	return nil
}

func checkList(t *Type, l []Value) error {
	if err := checkLength(len(l)); err != nil {
		return err
	}
	for i, e := range l {
		if err := CheckValue(t.Elem, e); err != nil {
			return inElement(i, err)
		}
	}
	return nil
}

func checkLength(n int) error {
	if n > MaxList {
		return fault("split it", "the list has more than %d elements", MaxList)
	}
	return nil
}

func checkStruct(t *Type, s *Struct) error {
	if s.Type == nil || len(s.Fields) != len(t.Members) || s.Type != t && !SameType(s.Type, t) {
		return fault("", "expected %s, found %s", t, s.Type)
	}
	for i, m := range t.Members {
		if err := CheckValue(m.Type, s.Fields[i]); err != nil {
			return inMember(m.Name, err)
		}
	}
	return nil
}
