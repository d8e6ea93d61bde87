package definition

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"fmqm/internal/text"
)

// Source is the text of a file, ready to show places in it: what a diagnostic costs to
// show depends neither on the file's length nor on that of its lines. It does not change,
// and is safe for concurrent use.
type Source struct {
	lines []string
	long  map[int][]int // by index of a line: where every longStep-th character begins
}

// A line of over longLine bytes is one in which columns are looked up.
const (
	longLine = 1024
	longStep = 256
)

// NewSource splits a text into lines. It costs one pass over the text.
func NewSource(source []byte) *Source {
	s := &Source{lines: splitLines(string(source)), long: map[int][]int{}}
	for i, line := range s.lines {
		if len(line) <= longLine {
			continue
		}
		n := 0
		for at := range line {
			if n%longStep == 0 {
				s.long[i] = append(s.long[i], at)
			}
			n++
		}
	}
	return s
}

// line gives the n-th line, from 1; "" if there is none.
func (s *Source) line(n int) string {
	if n < 1 || n > len(s.lines) {
		return ""
	}
	return s.lines[n-1]
}

// from gives a line from a column on, counted in characters from 1; "" behind its end.
func (s *Source) from(line, column int) string {
	return s.line(line)[s.offset(line, column):]
}

// before gives up to n bytes of a line that end at a column.
func (s *Source) before(line, column, n int) string {
	end := s.offset(line, column)
	return s.line(line)[max(0, end-n):end]
}

// offset gives the byte at which a column begins; behind the end, the line's length.
func (s *Source) offset(line, column int) int {
	rest, skipped := s.line(line), 0
	if marks := s.long[line-1]; marks != nil {
		mark := min(max(column-1, 0)/longStep, len(marks)-1)
		skipped, column = marks[mark], column-mark*longStep
	}
	for at := range rest[skipped:] {
		if column--; column <= 0 {
			return skipped + at
		}
	}
	return len(rest)
}

// Text is d for people: its String, then the line of the source with a caret beneath the
// place. Without that line (an empty file, another text) only String is given. It ends
// with a newline.
func (s *Source) Text(d Diagnostic) string {
	if d.Line < 1 || d.Line > len(s.lines) {
		return d.String() + "\n"
	}
	shown, pad := s.excerpt(d.Line, d.Column)
	return fmt.Sprintf("%s\n    %s\n    %s^\n", d.String(), shown, pad)
}

// A line of up to excerptWhole characters is shown whole; of a longer one, so many
// before and after the caret.
const (
	excerptWhole  = 120
	excerptBefore = 60
	excerptAfter  = 40
)

// excerpt clips a line around a column and gives the white space that brings the
// caret beneath it: a tab where the line has a tab, so that any tab width is right.
func (s *Source) excerpt(number, column int) (shown, pad string) {
	line := s.line(number)
	caret := s.offset(number, column)
	from, to := 0, len(line)
	if len(line) > excerptWhole*utf8.UTFMax || utf8.RuneCountInString(line) > excerptWhole {
		from, to = back(line, caret, excerptBefore), ahead(line, caret, excerptAfter)
	}
	var b, p strings.Builder
	if from > 0 {
		b.WriteRune('…')
		p.WriteByte(' ')
	}
	for i, r := range line[from:to] {
		space := byte(' ')
		switch {
		case r == '\t':
			space = '\t'
		case text.Steers(r):
			r = utf8.RuneError // one character for one: the caret stays right
		}
		b.WriteRune(r)
		if from+i < caret {
			p.WriteByte(space)
		}
	}
	if to < len(line) {
		b.WriteRune('…')
	}
	return b.String(), p.String()
}

// back and ahead go n characters from a byte of a line, as far as it goes.
func back(line string, at, n int) int {
	for ; n > 0 && at > 0; n-- {
		_, size := utf8.DecodeLastRuneInString(line[:at])
		at -= size
	}
	return at
}

func ahead(line string, at, n int) int {
	for ; n > 0 && at < len(line); n-- {
		_, size := utf8.DecodeRuneInString(line[at:])
		at += size
	}
	return at
}

// splitLines splits a text where YAML does: at LF, CR, CR LF, NEL, LS and PS. A byte
// order mark before it is not part of the first line.
func splitLines(source string) []string {
	source = strings.TrimPrefix(source, "\uFEFF")
	if source == "" {
		return nil
	}
	var lines []string
	start := 0
	for i, r := range source {
		switch r {
		case '\n':
			if i > 0 && source[i-1] == '\r' {
				start = i + 1
				continue
			}
			lines = append(lines, source[start:i])
			start = i + 1
		case '\r':
			lines = append(lines, source[start:i])
			start = i + 1
		case '\u0085':
			lines = append(lines, source[start:i])
			start = i + 2
		case '\u2028', '\u2029':
			lines = append(lines, source[start:i])
			start = i + 3
		}
	}
	if start < len(source) {
		lines = append(lines, source[start:])
	}
	return lines
}
