package file

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Problem is one thing wrong with a staff file.
type Problem struct {
	Where  string // the file
	Line   int    // from 1; 0 where there is no line
	Column int    // from 1, in characters
	What   string
	Remedy string
	Source string // the line itself
}

// String gives "where:line:column: what: remedy", then the line with a caret.
func (p Problem) String() string {
	var b strings.Builder
	b.WriteString(p.Where)
	if p.Line > 0 {
		fmt.Fprintf(&b, ":%d:%d", p.Line, p.Column)
	}
	b.WriteString(": " + p.What)
	if p.Remedy != "" {
		b.WriteString(": " + p.Remedy)
	}
	if p.Source != "" {
		b.WriteString("\n    " + p.Source + "\n    " + caret(p.Source, p.Column))
	}
	return b.String()
}

// caret points at a column; tabs stay tabs, so that it stands under its character.
func caret(line string, column int) string {
	var b strings.Builder
	for range column - 1 {
		r, n := utf8.DecodeRuneInString(line)
		line = line[n:]
		if r != '\t' {
			r = ' '
		}
		b.WriteRune(r)
	}
	return b.String() + "^"
}

// Problems is the error of Read: everything that is wrong, in the order of the file.
type Problems []Problem

func (ps Problems) Error() string {
	texts := make([]string, len(ps))
	for i, p := range ps {
		texts[i] = p.String()
	}
	return strings.Join(texts, "\n")
}
