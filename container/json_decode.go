package container

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"unicode/utf8"
)

// DecodeJSON reads one JSON object as a structure of type t. A member that is
// missing or null gets its default; an unknown or repeated member is an error; an
// int takes integral numbers of 64 bits only (5.0 and 1e3 are integral); a double
// takes finite numbers; bytes are base64, timestamps RFC 3339, durations 1h2m3.5s.
// Limits: MaxJSON bytes of text, MaxNesting, MaxList, MaxEncoded bytes once encoded.
// Everything that is wrong is told at once, up to 50 things: the error is an *Error, or
// Errors. Each names the member by its path, what is expected and what to do.
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

// MergeJSON reads one JSON object as changes to a structure, and gives the changed one; base stays as it is. The members
// that the object names take its values, those of a structure in it likewise, and the others keep theirs: a list is
// named as a whole, and null is a member's default. All else is as of DecodeJSON.
func MergeJSON(base *Struct, data []byte) (*Struct, error) {
	v, err := decodeJSON(base.Type, data, base)
	if err != nil {
		return nil, err
	}
	return v.(*Struct), nil
}

// DecodeJSONValue reads JSON text as a value of any type, such as the default of a
// member; the rules are those of DecodeJSON.
func DecodeJSONValue(t *Type, data []byte) (Value, error) { return decodeJSON(t, data, nil) }

// decodeJSON reads JSON text as a value, whose members are those of base where it does not name them; nil: their defaults.
func decodeJSON(t *Type, data []byte, base *Struct) (Value, error) {
	if len(data) > MaxJSON {
		return nil, fault("pass a reference (a file, a URL) instead of the content", "the JSON has over %d bytes", MaxJSON)
	}
	if err := checkDepth(t); err != nil {
		return nil, err
	}
	if err := checkSyntax(t, data); err != nil {
		return nil, err
	}
	d := jsonReader{data: data, left: MaxEncoded}
	return d.value(t, nil, base)
}

// checkSyntax leaves the jsonReader nothing to find but values of a wrong type.
func checkSyntax(t *Type, data []byte) error {
	remedy := "write " + wanted(t)
	if len(strings.TrimSpace(string(data[:min(len(data), 64)]))) == 0 && len(data) <= 64 {
		return fault(remedy, "there is nothing where JSON is expected")
	}
	if !utf8.Valid(data) {
		return fault("write it as UTF-8; use base64 for what is not text", "the JSON is not valid UTF-8")
	}
	if line, column, what, ok := SyntaxError(data); ok {
		return fault(remedy, "not JSON at line %d, column %d: %s", line, column, what)
	}
	return nil
}

// SyntaxError says where a text is no JSON and why: line and column, from 1; ok is false if
// it is JSON.
func SyntaxError(data []byte) (line, column int, what string, ok bool) {
	var raw json.RawMessage
	err := json.Unmarshal(data, &raw)
	if err == nil {
		return 0, 0, "", false
	}
	at := len(data)
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) && syntax.Error() != "unexpected end of JSON input" {
		at = int(syntax.Offset) - 1 // it is behind the offending byte
	}
	line, column = position(data, at)
	return line, column, err.Error(), true
}

// position gives the line and column, from 1, of a byte; columns are characters.
func position(data []byte, at int) (line, column int) {
	before := string(data[:min(max(at, 0), len(data))])
	return 1 + strings.Count(before, "\n"), 1 + utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:])
}

// TokenAt gives the place of a token of a JSON text, as Error has it: line and column, from
// 1. It is false if the text is no JSON or has no such token.
func TokenAt(data []byte, token int) (line, column int, ok bool) {
	if token < 1 || !json.Valid(data) {
		return 0, 0, false
	}
	d := jsonReader{data: append(bytes.Clone(data), 0)} // behind the end is no token
	for {
		first := d.peek()
		if first == 0 {
			return 0, 0, false
		}
		if d.token+1 == token {
			line, column = position(data, d.at)
			return line, column, true
		}
		if strings.ContainsRune("{}[]", rune(first)) {
			d.bracket()
		} else {
			d.scalar()
		}
	}
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
		return `a duration in a string, such as "1h30m", "2.5s" or "14d"`
	case List:
		return "a list [ ] of " + t.Elem.String()
	case Structure:
		return "an object { } with members of " + t.String()
	}
	return "a value"
}

// maxErrors is how many things that are wrong with a value are told.
const maxErrors = 50

// jsonReader walks over text that is known to be JSON.
type jsonReader struct {
	data  []byte
	at    int
	left  int // bytes that the value may still take when encoded
	token int // how many were taken
	wrong int // how many errors were found
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

// scalar takes the next token, which is no bracket.
func (d *jsonReader) scalar() string {
	d.token++
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

// bracket takes the next token, which is one.
func (d *jsonReader) bracket() {
	d.token++
	d.at++
}

// skip takes the value that begins with the next token.
func (d *jsonReader) skip() {
	for depth := 0; ; {
		switch d.peek() {
		case '{', '[':
			d.bracket()
			depth++
		case '}', ']':
			d.bracket()
			depth--
		default:
			d.scalar()
		}
		if depth == 0 {
			return
		}
	}
}

// found notes an error about a token. The last one that is told says that there may be
// more, and ends the reading.
func (d *jsonReader) found(token int, err error) error {
	for _, e := range All(err) {
		if e.Token == 0 {
			e.Token = token
		}
	}
	if d.wrong++; d.wrong == maxErrors {
		more := &Error{What: "there may be more errors", Remedy: "correct what is listed, then try again", final: true}
		return append(Errors(All(err)), more)
	}
	return err
}

// goesOn says whether reading makes sense after an error.
func goesOn(err error) bool {
	all := All(err)
	return len(all) > 0 && !all[len(all)-1].final
}

// final marks an error after which reading ends.
func final(err error) error {
	for _, e := range All(err) {
		e.final = true
	}
	return err
}

// joined makes one error of what was found so far and more.
func joined(before, err error) error {
	if before == nil {
		return err
	}
	return append(Errors(All(before)), All(err)...)
}

// take reckons n bytes of encoding.
func (d *jsonReader) take(n int) error {
	if n > d.left {
		return final(tooLarge())
	}
	d.left -= n
	return nil
}

// value reads a value of type t; m is the member that it is for, if any, whose
// default null stands for, and base what a structure has where the text does not say, if not nil. After an error
// that goesOn the value has been taken.
func (d *jsonReader) value(t *Type, m *Member, base *Struct) (Value, error) {
	first := d.peek()
	token := d.token + 1
	switch {
	case first == 'n':
		d.scalar()
		if m == nil {
			m = &Member{Type: t}
		}
		return d.missing(*m)
	case first == '{' && t.Kind == Structure:
		return d.object(t, base)
	case first == '[' && t.Kind == List:
		return d.list(t)
	case first == '{' || first == '[' || t.Kind == Structure || t.Kind == List:
		d.skip()
		return nil, d.found(token, fault("write "+wanted(t), "expected %s, found %s", t, tokenName(first)))
	}
	v, err := d.leaf(t, first)
	if err != nil {
		return nil, d.found(token, err)
	}
	return v, d.take(encodedSize(v))
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

func (d *jsonReader) object(t *Type, base *Struct) (Value, error) {
	if err := d.take(headSize(uint64(len(t.Members)))); err != nil {
		return nil, err
	}
	s := &Struct{Type: t, Fields: make([]Value, len(t.Members))}
	given := make([]bool, len(t.Members))
	var wrong error
	for d.bracket(); d.peek() != '}'; {
		if err := d.member(s, given, base); err != nil {
			if wrong = joined(wrong, err); !goesOn(wrong) {
				return nil, wrong
			}
		}
	}
	d.bracket()
	if wrong != nil {
		return nil, wrong
	}
	for i, m := range t.Members {
		if given[i] {
			continue
		}
		var err error
		if base != nil {
			s.Fields[i], err = CloneValue(base.Fields[i]), d.take(encodedSize(base.Fields[i]))
		} else {
			s.Fields[i], err = d.missing(m)
		}
		if err != nil {
			return nil, inMember(m.Name, err)
		}
	}
	return s, nil
}

// member reads a name and its value into s.
func (d *jsonReader) member(s *Struct, given []bool, base *Struct) error {
	token := d.token + 1
	name, err := unquote(d.scalar())
	i, known := s.Type.index[name]
	switch {
	case err != nil:
	case !known:
		err = unknownMember(s.Type, name)
	case given[i]:
		err = inMember(name, fault("remove one of them", "the member occurs twice"))
	default:
		given[i] = true
		var inner *Struct
		if base != nil {
			inner, _ = base.Fields[i].(*Struct)
		}
		if s.Fields[i], err = d.value(s.Type.Members[i].Type, &s.Type.Members[i], inner); err != nil {
			return inMember(name, err)
		}
		return nil
	}
	d.peek()
	d.skip()
	return d.found(token, err)
}

func (d *jsonReader) list(t *Type) (Value, error) {
	l := []Value{}
	var wrong error
	n := 0
	for d.bracket(); d.peek() != ']'; n++ {
		if err := checkLength(n + 1); err != nil {
			return nil, joined(wrong, final(err))
		}
		v, err := d.value(t.Elem, nil, nil)
		if err != nil {
			if wrong = joined(wrong, inElement(n, err)); !goesOn(wrong) {
				return nil, wrong
			}
			continue
		}
		l = append(l, v)
	}
	d.bracket()
	if wrong != nil {
		return nil, wrong
	}
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
