// Package text makes text from elsewhere fit to be shown: from a definition, a program, a
// peer. A terminal obeys control characters, a reader is misled by characters that turn the
// direction of the text round them or take no room at all ("Trojan Source", CVE-2021-42574).
// Such characters are shown as escapes. What programs read (JSON, tables, messages) keeps
// them: only what people look at goes through here.
//
// It is pure, and safe for concurrent use.
package text

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Visible gives s with every character that steers or hides written as an escape, in
// the form that Go, JSON and CEL know: \x1b, \u202e, \U000e0041. These are control
// characters (C0, DEL and C1), format characters (direction, zero width, tags), line and
// paragraph separators, what Unicode calls ignorable (fillers, variation selectors),
// private and unassigned characters, and bytes that are no UTF-8. Newline and tab stay,
// and a backslash does: the result is for eyes, it is not parsed again.
func Visible(s string) string {
	if !strings.ContainsFunc(s, Steers) && utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s) + len(s)/8)
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case !Steers(r):
			b.WriteString(s[i : i+n])
		case r < utf8.RuneSelf:
			fmt.Fprintf(&b, `\x%02x`, r)
		case r <= 0xFFFF:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			fmt.Fprintf(&b, `\U%08x`, r)
		}
		i += n
	}
	return b.String()
}

// Line is Visible for a line, or a cell of a table: white space of any kind and length,
// line breaks too, becomes one space, and none is left at the ends.
func Line(s string) string {
	return Visible(strings.Join(strings.Fields(s), " "))
}

// Encode writes a value as JSON, with < > & as they are: what a node shows of another's answer, or of its own, is then
// the same characters.
func Encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// JSON gives a JSON text with the same characters, where they stand as they are, in JSON's
// own escapes: it means the same, and may be shown. A byte that is no UTF-8 becomes
// \ufffd, which is what JSON's readers make of it.
func JSON(b []byte) []byte {
	if !bytes.ContainsFunc(b, Steers) && utf8.Valid(b) {
		return b
	}
	out := make([]byte, 0, len(b)+len(b)/8)
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		switch {
		case r == utf8.RuneError && n == 1:
			out = append(out, `\ufffd`...)
		case !Steers(r) || r == '\r': // white space of JSON
			out = append(out, b[:n]...)
		case r <= 0xFFFF:
			out = fmt.Appendf(out, `\u%04x`, r)
		default:
			high, low := utf16.EncodeRune(r)
			out = fmt.Appendf(out, `\u%04x\u%04x`, high, low)
		}
		b = b[n:]
	}
	return out
}

// Steers says whether a character is not to be shown as it is; Visible has which those are.
func Steers(r rune) bool {
	switch {
	case r >= ' ' && r < 0x7F, r == '\n', r == '\t':
		return false
	case r == utf8.RuneError: // as a character of its own it is a sign like others
		return false
	}
	return !unicode.IsGraphic(r) || unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

// Cut gives the beginning of s that has at most so many bytes, and ends where a character
// does.
func Cut(s string, most int) string {
	if len(s) <= most {
		return s
	}
	for most > 0 && !utf8.RuneStart(s[most]) {
		most--
	}
	return s[:most]
}
