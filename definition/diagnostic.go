package definition

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

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

// First gives at most n of a file's diagnostics, which are sorted, errors before warnings
// where not all of them have room, in the order of the text; and as the last one, with the
// remedy given, how many more there are. It is an error if an error is among those.
func First(ds []Diagnostic, n int, remedy string) []Diagnostic {
	if len(ds) <= n {
		return ds
	}
	room := map[Severity]int{Error: n}
	for _, d := range ds {
		if d.Severity == Error && room[Error] > 0 {
			room[Error]--
		}
	}
	room[Error], room[Warning] = n-room[Error], room[Error]
	var shown []Diagnostic
	left := map[Severity]int{}
	more := Diagnostic{Severity: Warning, Code: codeMore, Remedy: remedy}
	for _, d := range ds {
		if room[d.Severity] > 0 {
			room[d.Severity]--
			shown = append(shown, d)
			continue
		}
		if len(left) == 0 {
			more.File, more.Line, more.Column = d.File, d.Line, d.Column
		}
		left[d.Severity]++
	}
	if left[Error] > 0 {
		more.Severity = Error
	}
	more.Message = fmt.Sprintf("%s and %s are not shown", counted(left[Error], "error"), counted(left[Warning], "warning"))
	return append(shown, more)
}

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// String is the diagnostic in one line, for people: place, severity, what is wrong, what
// to do. What it repeats of the file cannot steer a terminal.
func (d Diagnostic) String() string {
	between := ": "
	if strings.HasSuffix(d.Message, "?") {
		between = " "
	}
	line := fmt.Sprintf("%s:%d:%d: %s: %s", d.File, d.Line, d.Column, d.Severity, d.Message+between+d.Remedy)
	return strings.ReplaceAll(text.Visible(line), "\n", `\n`)
}

// Text is NewSource(source).Text(d), for one diagnostic: for many, make the Source once.
func (d Diagnostic) Text(source []byte) string { return NewSource(source).Text(d) }
