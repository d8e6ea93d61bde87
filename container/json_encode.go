package container

import (
	"encoding/base64"
	"math"
	"strconv"
	"time"
	"unicode/utf8"
)

// EncodeJSON writes v for people and programs: members in the order of the type,
// bytes as base64, timestamps as RFC 3339 in UTC, durations as 1h2m3.5s, doubles as
// short as they can be read back. It is an error if v is not a value as CheckValue
// has it.
func EncodeJSON(v Value) ([]byte, error) { return appendJSON(nil, v) }

// MarshalJSON lets encoding/json write a structure as EncodeJSON does.
func (s *Struct) MarshalJSON() ([]byte, error) {
	if s == nil {
		return []byte("null"), nil
	}
	return EncodeJSON(s)
}

func appendJSON(b []byte, v Value) ([]byte, error) {
	if _, ok := kindOf(v); ok {
		if err := checkScalar(v); err != nil {
			return nil, err
		}
	}
	switch v := v.(type) {
	case bool:
		return strconv.AppendBool(b, v), nil
	case int64:
		return strconv.AppendInt(b, v, 10), nil
	case float64:
		return appendDouble(b, v), nil
	case string:
		return appendString(b, v), nil
	case []byte:
		b = base64.StdEncoding.AppendEncode(append(b, '"'), v)
		return append(b, '"'), nil
	case time.Time:
		b = v.AppendFormat(append(b, '"'), time.RFC3339Nano)
		return append(b, '"'), nil
	case time.Duration:
		return append(append(append(b, '"'), v.String()...), '"'), nil
	case []Value:
		return appendJSONList(b, v)
	case *Struct:
		return appendJSONStruct(b, v)
	}
	return nil, fault("", "a Go %T is not a value of a container", v)
}

func appendJSONList(b []byte, l []Value) ([]byte, error) {
	b = append(b, '[')
	for i, e := range l {
		if i > 0 {
			b = append(b, ',')
		}
		var err error
		if b, err = appendJSON(b, e); err != nil {
			return nil, inElement(i, err)
		}
	}
	return append(b, ']'), nil
}

func appendJSONStruct(b []byte, s *Struct) ([]byte, error) {
	if s == nil {
		return nil, fault("", "a structure without a value")
	}
	b = append(b, '{')
	for i, f := range s.Fields {
		name := s.Type.Members[i].Name
		if i > 0 {
			b = append(b, ',')
		}
		b = append(appendString(b, name), ':')
		var err error
		if b, err = appendJSON(b, f); err != nil {
			return nil, inMember(name, err)
		}
	}
	return append(b, '}'), nil
}

// appendDouble writes exponents only where they make it shorter to read, as
// ECMAScript and encoding/json do.
func appendDouble(b []byte, v float64) []byte {
	if a := math.Abs(v); a != 0 && (a < 1e-6 || a >= 1e21) {
		return strconv.AppendFloat(b, v, 'e', -1, 64)
	}
	return strconv.AppendFloat(b, v, 'f', -1, 64)
}

const hexDigits = "0123456789abcdef"

// appendString escapes what JSON must have escaped, and the two line ends of
// Unicode that JavaScript does not bear in a string.
func appendString(b []byte, s string) []byte {
	b = append(b, '"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b = append(b, '\\', byte(r))
		case r == '\n':
			b = append(b, `\n`...)
		case r == '\r':
			b = append(b, `\r`...)
		case r == '\t':
			b = append(b, `\t`...)
		case r < ' ' || r == 0x7f:
			b = append(b, '\\', 'u', '0', '0', hexDigits[r>>4], hexDigits[r&0xf])
		case r == '\u2028' || r == '\u2029':
			b = append(b, '\\', 'u', '2', '0', '2', hexDigits[r&0xf])
		default:
			b = utf8.AppendRune(b, r)
		}
	}
	return append(b, '"')
}
