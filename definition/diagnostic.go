package definition

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"fmqm/internal/text"
)

// Severity of a diagnostic.
type Severity string

const (
	Error   Severity = "error"
	Warning Severity = "warning"
)

// Diagnostic is one thing wrong, or doubtful, in a file. Its JSON keys are API.
type Diagnostic struct {
	File     string   `json:"file"`
	Line     int      `json:"line"`
	Column   int      `json:"column"`
	Severity Severity `json:"severity"`
	Code     string   `json:"code"` // stable, such as "control-cycle"
	Message  string   `json:"message"`
	Remedy   string   `json:"remedy"`
}

// HasErrors says whether one of the diagnostics is an error.
func HasErrors(ds []Diagnostic) bool {
	return slices.ContainsFunc(ds, func(d Diagnostic) bool { return d.Severity == Error })
}

// Sort puts diagnostics in the order in which people read: by file and place.
func Sort(ds []Diagnostic) {
	slices.SortStableFunc(ds, func(a, b Diagnostic) int {
		return cmp.Or(
			cmp.Compare(a.File, b.File),
			cmp.Compare(a.Line, b.Line),
			cmp.Compare(a.Column, b.Column),
			cmp.Compare(a.Severity, b.Severity),
			cmp.Compare(a.Code, b.Code),
			cmp.Compare(a.Message, b.Message),
		)
	})
}

// String is the diagnostic in one line, for people: place, severity, what is wrong, what
// to do. What it repeats of the file cannot steer a terminal.
func (d Diagnostic) String() string {
	line := fmt.Sprintf("%s:%d:%d: %s: %s: %s", d.File, d.Line, d.Column, d.Severity, d.Message, d.Remedy)
	return strings.ReplaceAll(text.Visible(line), "\n", `\n`)
}

// Text is the diagnostic for people: String, then the line of the source with a
// caret beneath the place. Source is the text of the file that was loaded; without
// that line (an empty file, another text) only String is given. It ends with a
// newline.
func (d Diagnostic) Text(source []byte) string {
	lines := splitLines(string(source))
	if d.Line < 1 || d.Line > len(lines) {
		return d.String() + "\n"
	}
	shown, pad := excerpt(lines[d.Line-1], d.Column)
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
func excerpt(line string, column int) (shown, pad string) {
	runes := []rune(line)
	at := min(max(column-1, 0), len(runes))
	from, to := 0, len(runes)
	if len(runes) > excerptWhole {
		from, to = max(0, at-excerptBefore), min(to, at+excerptAfter)
	}
	var b, p strings.Builder
	if from > 0 {
		b.WriteRune('…')
		p.WriteByte(' ')
	}
	for i := from; i < to; i++ {
		r := runes[i]
		if text.Steers(r) {
			r = unicode.ReplacementChar // one character for one: the caret stays right
		}
		b.WriteRune(r)
		if i >= at {
			continue
		}
		if r == '\t' {
			p.WriteByte('\t')
		} else {
			p.WriteByte(' ')
		}
	}
	if to < len(runes) {
		b.WriteRune('…')
	}
	return b.String(), p.String()
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
