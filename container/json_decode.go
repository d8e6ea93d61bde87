package container

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// DecodeJSON reads one JSON object as a structure of type t. A member that is
// missing or null gets its default; an unknown or repeated member is an error; an
// int takes integral numbers of 64 bits only (5.0 and 1e3 are integral); a double
// takes finite numbers; bytes are base64, timestamps RFC 3339, durations 1h2m3.5s.
// Limits: MaxJSON bytes of text, MaxNesting, MaxList, MaxEncoded bytes once encoded.
// Errors name the member by its path, what is expected and what to do.
func DecodeJSON(t *Type, data []byte) (*Struct, error) {
	if t.Kind != Structure {
		return nil, fault("", "a container is a structure, not %s", t)
	}
	v, err := DecodeJSONValue(t, data)
	if err != nil {
		return nil, err
	}
	return v.(*Struct), nil
}

// DecodeJSONValue reads JSON text as a value of any type, such as the default of a
// member; the rules are those of DecodeJSON.
func DecodeJSONValue(t *Type, data []byte) (Value, error) {
	if len(data) > MaxJSON {
		return nil, fault("pass a reference (a file, a URL) instead of the content", "over %d bytes of JSON", MaxJSON)
	}
	if err := checkDepth(t); err != nil {
		return nil, err
	}
	if err := checkSyntax(t, data); err != nil {
		return nil, err
	}
	d := jsonReader{data: data, left: MaxEncoded}
	return d.value(t, nil)
}

// checkSyntax leaves the jsonReader nothing to find but values of a wrong type.
func checkSyntax(t *Type, data []byte) error {
	remedy := "write " + wanted(t)
	if len(strings.TrimSpace(string(data[:min(len(data), 64)]))) == 0 && len(data) <= 64 {
		return fault(remedy, "nothing is written where JSON is expected")
	}
	if !utf8.Valid(data) {
		return fault("write it as UTF-8; use base64 for what is not text", "the JSON is not valid UTF-8")
	}
	var raw json.RawMessage
	err := json.Unmarshal(data, &raw)
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &syntax):
		line, column := position(data, int(syntax.Offset))
		return fault(remedy, "not JSON at line %d, column %d: %v", line, column, err)
	case err != nil:
		return fault(remedy, "not JSON: %v", err)
	}
	return nil
}

// position turns encoding/json's offset, which is after the offending byte, into a
// line and a column from 1.
func position(data []byte, offset int) (line, column int) {
	before := string(data[:min(max(offset-1, 0), len(data))])
	return 1 + strings.Count(before, "\n"), len(before) - strings.LastIndexByte(before, '\n')
}

// wanted says how JSON writes a value of type t.
func wanted(t *Type) string {
	switch t.Kind {
	case Bool:
		return "true or false"
	case Int:
		return "an integer of 64 bits, such as 42"
	case Double:
		return "a number, such as 4.2"
	case String:
		return `a string, such as "text"`
	case Bytes:
		return `base64 in a string, such as "aGVsbG8="`
	case Timestamp:
		return `a time of RFC 3339 in a string, such as "2024-05-01T12:00:00Z"`
	case Duration:
		return `a duration in a string, such as "1h30m" or "2.5s"`
	case List:
		return "a list [ ] of " + t.Elem.String()
	case Structure:
		return "an object { } with members of " + t.String()
	}
	return "a value"
}

// jsonReader walks over text that is known to be JSON.
type jsonReader struct {
	data []byte
	at   int
	left int // bytes that the value may still take when encoded
}

// peek gives the first byte of the next token.
func (d *jsonReader) peek() byte {
	for ; ; d.at++ {
		switch c := d.data[d.at]; c {
		case ' ', '\t', '\r', '\n', ',', ':':
		default:
			return c
		}
	}
}

// scalar takes the next token, which is no object or list.
func (d *jsonReader) scalar() string {
	start := d.at
	if d.data[d.at] == '"' {
		for d.at++; d.data[d.at] != '"'; d.at++ {
			if d.data[d.at] == '\\' {
				d.at++
			}
		}
		d.at++
		return string(d.data[start:d.at])
	}
	for d.at < len(d.data) && !strings.ContainsRune(" \t\r\n,:]}", rune(d.data[d.at])) {
		d.at++
	}
	return string(d.data[start:d.at])
}

// take reckons n bytes of encoding.
func (d *jsonReader) take(n int) error {
	if n > d.left {
		return tooLarge()
	}
	d.left -= n
	return nil
}

// value reads a value of type t; m is the member that it is for, if any, whose
// default null stands for.
func (d *jsonReader) value(t *Type, m *Member) (Value, error) {
	first := d.peek()
	switch {
	case first == 'n':
		d.scalar()
		if m == nil {
			m = &Member{Type: t}
		}
		return d.missing(*m)
	case first == '{' && t.Kind == Structure:
		return d.object(t)
	case first == '[' && t.Kind == List:
		return d.list(t)
	case first == '{' || first == '[' || t.Kind == Structure || t.Kind == List:
		return nil, fault("write "+wanted(t), "expected %s, found %s", t, tokenName(first))
	}
	v, err := d.leaf(t, first)
	if err == nil {
		err = d.take(encodedSize(v))
	}
	return v, err
}

// missing gives a default. It is reckoned before it is made: a list of many empty
// objects can stand for much more than its own length.
func (d *jsonReader) missing(m Member) (Value, error) {
	if err := d.take(m.zeroSize()); err != nil {
		return nil, err
	}
	return m.zero(), nil
}

func tokenName(first byte) string {
	switch first {
	case '{':
		return "an object"
	case '[':
		return "a list"
	case '"':
		return "a string"
	case 't', 'f':
		return "a bool"
	}
	return "a number"
}

func (d *jsonReader) object(t *Type) (Value, error) {
	if err := d.take(headSize(uint64(len(t.Members)))); err != nil {
		return nil, err
	}
	s := &Struct{Type: t, Fields: make([]Value, len(t.Members))}
	for d.at++; d.peek() != '}'; {
		name, err := unquote(d.scalar())
		if err != nil {
			return nil, err
		}
		i, ok := t.index[name]
		if !ok {
			return nil, unknownMember(t, name)
		}
		if s.Fields[i] != nil {
			return nil, inMember(name, fault("remove one of them", "the member is given twice"))
		}
		if s.Fields[i], err = d.value(t.Members[i].Type, &t.Members[i]); err != nil {
			return nil, inMember(name, err)
		}
	}
	d.at++
	for i, m := range t.Members {
		if s.Fields[i] != nil {
			continue
		}
		var err error
		if s.Fields[i], err = d.missing(m); err != nil {
			return nil, inMember(m.Name, err)
		}
	}
	return s, nil
}

func (d *jsonReader) list(t *Type) (Value, error) {
	l := []Value{}
	for d.at++; d.peek() != ']'; {
		if err := checkLength(len(l) + 1); err != nil {
			return nil, err
		}
		v, err := d.value(t.Elem, nil)
		if err != nil {
			return nil, inElement(len(l), err)
		}
		l = append(l, v)
	}
	d.at++
	return l, d.take(headSize(uint64(len(l))))
}

// leaf reads a scalar that begins with first and is not null.
func (d *jsonReader) leaf(t *Type, first byte) (Value, error) {
	text := d.scalar()
	mismatch := func() error {
		return fault("write "+wanted(t), "expected %s, found %s", t, shorten(text))
	}
	quoted := first == '"'
	switch t.Kind {
	case Bool:
		if text == "true" || text == "false" {
			return text == "true", nil
		}
		return nil, mismatch()
	case Int, Double:
		if quoted || first == 't' || first == 'f' {
			return nil, mismatch()
		}
		if t.Kind == Int {
			return parseInt(text)
		}
		return parseDouble(text)
	default:
	}
	if !quoted {
		return nil, mismatch()
	}
	s, err := unquote(text)
	if err != nil || t.Kind == String {
		return s, err
	}
	v, err := parseText(t, s)
	if err != nil {
		return nil, mismatch()
	}
	return v, checkScalar(v)
}

// parseText reads the kinds that JSON writes as strings.
func parseText(t *Type, s string) (Value, error) {
	switch t.Kind {
	case Bytes:
		b, err := base64.StdEncoding.Strict().DecodeString(s)
		return b, err
	case Timestamp:
		var v time.Time
		err := v.UnmarshalText([]byte(s))
		return v.UTC(), err
	case Duration:
		v, err := time.ParseDuration(s)
		return v, err
	default:
		return nil, errors.ErrUnsupported
	}
}

func shorten(text string) string {
	const limit = 40
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit], "") + "…"
}

// unquote gives the content of a JSON string. Half of a surrogate pair is refused;
// encoding/json would quietly put another character in its place.
func unquote(quoted string) (string, error) {
	if !strings.Contains(quoted, `\`) {
		return quoted[1 : len(quoted)-1], nil
	}
	var s string
	if err := json.Unmarshal([]byte(quoted), &s); err != nil {
		return "", fault("", "%v", err)
	}
	meant := strings.Count(quoted, "\uFFFD") + strings.Count(strings.ToLower(quoted), `\ufffd`)
	if strings.Count(s, "\uFFFD") > meant {
		return "", fault("write the whole character", "%s has half of a surrogate pair", shorten(quoted))
	}
	return s, nil
}

func parseDouble(text string) (Value, error) {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return nil, fault("use a number up to 1.7e308", "%s does not fit into a double", shorten(text))
	}
	return v, nil
}

// parseInt reads a JSON number that is exactly an integer, whatever its form, never
// through a float64, which would round it.
func parseInt(text string) (Value, error) {
	digits, whole := integral(text)
	if !whole {
		return nil, fault("write a number without a fraction, or declare the member as double",
			"expected int, found %s", shorten(text))
	}
	v, err := strconv.ParseInt(digits, 10, 64)
	if err != nil {
		return nil, fault("use a string, or a double if it may be rounded",
			"%s does not fit into an int of 64 bits", shorten(text))
	}
	return v, nil
}

// integral writes a JSON number without fraction and exponent, if that can be done;
// numbers far out of an int's range may come out longer, but not shorter.
func integral(text string) (digits string, whole bool) {
	mantissa, exponent, _ := strings.Cut(strings.ToLower(text), "e")
	before, after, _ := strings.Cut(mantissa, ".")
	after = strings.TrimRight(after, "0")
	digits = before + after
	if strings.Trim(digits, "-0") == "" {
		return "0", true
	}
	shift := 0
	if exponent != "" {
		// An exponent out of range comes back as the nearest in range: still far enough.
		n, _ := strconv.ParseInt(exponent, 10, 32)
		shift = int(n)
	}
	shift -= len(after)
	if shift >= 0 {
		return digits + strings.Repeat("0", min(shift, 20)), true
	}
	trimmed := strings.TrimRight(digits, "0")
	if len(digits)-len(trimmed) < -shift {
		return "", false
	}
	return digits[:len(digits)+shift], true
}
