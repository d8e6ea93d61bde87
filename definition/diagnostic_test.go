package definition

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/google/go-cmp/cmp"
)

// The files in testdata/diagnostics show the whole text of each diagnostic beneath
// the definition that it is about. `go test -rewrite` writes them anew.
func TestDiagnostics(t *testing.T) {
	datadriven.Walk(t, "testdata/diagnostics", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			source := []byte(d.Input)
			processes, diagnostics := Load("order.yaml", source)
			if HasErrors(diagnostics) != (processes == nil) {
				t.Errorf("%s: %d processes with %d diagnostics", d.Pos, len(processes), len(diagnostics))
			}
			var b strings.Builder
			for _, p := range processes {
				fmt.Fprintf(&b, "%s@%d\n", p.Name, p.Version)
			}
			for _, diagnostic := range diagnostics {
				fmt.Fprintf(&b, "%s\n%s", diagnostic.Code, diagnostic.Text(source))
			}
			return b.String()
		})
	})
}

// Every code of the language is shown by a case in testdata, or by a test that makes
// its input.
func TestEveryCodeIsShown(t *testing.T) {
	shown := []string{codeEncoding, codeMore, codeRunsUndecided, CodeUnreadable} // TestEncoding, TestFirst, TestRunsUndecided, and a script of fmqm-define
	files, err := filepath.Glob("testdata/diagnostics/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal(err, files)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		shown = append(shown, strings.Split(string(text), "\n")...)
	}
	for _, code := range codes(t) {
		if !slices.Contains(shown, code) {
			t.Errorf("no test shows %s", code)
		}
	}
}

// codes gives the values of the constants in diagnostic_codes.go.
func codes(t *testing.T) []string {
	file, err := parser.ParseFile(token.NewFileSet(), "diagnostic_codes.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	ast.Inspect(file, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok {
			code, err := strconv.Unquote(lit.Value)
			if err != nil {
				t.Fatal(err)
			}
			if slices.Contains(all, code) {
				t.Errorf("code %s twice", code)
			}
			all = append(all, code)
		}
		return true
	})
	if len(all) < 30 {
		t.Fatalf("found only %d codes", len(all))
	}
	return all
}

func TestText(t *testing.T) {
	d := Diagnostic{File: "f.yaml", Line: 2, Column: 3, Severity: Error, Code: "c", Message: "wrong", Remedy: "mend it"}
	const first = "f.yaml:2:%d: error: wrong: mend it\n"
	long := strings.Repeat("0123456789", 20)
	for _, test := range []struct {
		name, line string
		column     int
		want       string
	}{
		{"plain", "abc", 3, "    abc\n      ^\n"},
		{"behind the end", "abc", 4, "    abc\n       ^\n"},
		{"far behind the end", "abc", 40, "    abc\n       ^\n"},
		{"tabs", "\ta\tb", 4, "    \ta\tb\n    \t \t^\n"},
		{"control characters", "a\x1b[2Jb", 6, "    a\uFFFD[2Jb\n         ^\n"},
		{"wide", "ä€b", 3, "    ä€b\n      ^\n"},
		{"long, at the beginning", long, 2, "    " + long[:41] + "…\n     ^\n"},
		{"long, in the middle", long, 101, "    …" + long[40:140] + "…\n" + strings.Repeat(" ", 65) + "^\n"},
		{"long, at the end", long, 200, "    …" + long[139:] + "\n" + strings.Repeat(" ", 65) + "^\n"},
		{"just not long", long[:120], 1, "    " + long[:120] + "\n    ^\n"},
	} {
		d.Column = test.column
		want := fmt.Sprintf(first, test.column) + test.want
		if got := d.Text([]byte("first\n" + test.line + "\nthird")); got != want {
			t.Errorf("%s: got\n%swant\n%s", test.name, got, want)
		}
	}
	d.Column = 1
	if got, want := d.Text(nil), fmt.Sprintf(first, 1); got != want {
		t.Errorf("without source: %q", got)
	}
}

// A message that repeats the text of the file stays readable.
func TestLongMessages(t *testing.T) {
	text := "process: p\nversion: 1\nactivities: {a: {node: A, program: p}}\ncontrol: [a -> " + strings.Repeat("ä", 1000) + "]\n"
	_, diagnostics := Load("f.yaml", []byte(text))
	want := "unknown activity " + strings.Repeat("ä", 242) + "…"
	if len(diagnostics) != 1 || diagnostics[0].Message != want {
		t.Error(diagnostics)
	}
}

func TestSort(t *testing.T) {
	d := func(file string, line, column int, severity Severity, code string) Diagnostic {
		return Diagnostic{File: file, Line: line, Column: column, Severity: severity, Code: code}
	}
	want := []Diagnostic{
		d("a", 2, 9, Error, "z"), d("a", 10, 1, Error, "b"), d("a", 10, 2, Error, "z"), d("a", 10, 2, Warning, "a"),
		d("a", 10, 2, Warning, "b"), d("b", 1, 1, Error, "a"),
	}
	got := slices.Clone(want)
	slices.Reverse(got)
	Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestFirst(t *testing.T) {
	d := func(line int, severity Severity) Diagnostic {
		return Diagnostic{File: "f", Line: line, Column: 2, Severity: severity, Code: "c"}
	}
	all := []Diagnostic{d(1, Warning), d(2, Error), d(3, Warning), d(4, Error), d(5, Error)}
	for _, test := range []struct {
		n    int
		want string
	}{
		{6, "[1 2 3 4 5]"},
		{5, "[1 2 3 4 5]"},
		{4, "[1 2 4 5] more: 3 warning: 0 errors and 1 warning are not shown"},
		{3, "[2 4 5] more: 1 warning: 0 errors and 2 warnings are not shown"},
		{2, "[2 4] more: 1 error: 1 error and 2 warnings are not shown"},
		{1, "[2] more: 1 error: 2 errors and 2 warnings are not shown"},
	} {
		lines, more := []int{}, ""
		for _, shown := range First(all, test.n, "see all") {
			if shown.Code != codeMore {
				lines = append(lines, shown.Line)
				continue
			}
			more = fmt.Sprintf(" more: %d %s: %s", shown.Line, shown.Severity, shown.Message)
			if shown.File != "f" || shown.Column != 2 || shown.Remedy != "see all" {
				t.Errorf("%d: %v", test.n, shown)
			}
		}
		if got := fmt.Sprint(lines) + more; got != test.want {
			t.Errorf("the first %d: %s, want %s", test.n, got, test.want)
		}
	}
}

// Whatever the text, Load ends, gives processes if and only if there is no error,
// points into the file, and says the same when asked again.
func FuzzLoad(f *testing.F) {
	f.Add(testdata(f, "purchase-order.yaml"))
	f.Add(everything)
	files, err := filepath.Glob("testdata/diagnostics/*.txt")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		for _, input := range strings.Split(testdata(f, strings.TrimPrefix(file, "testdata/")), "\nload\n") {
			text, _, _ := strings.Cut(input, "\n----")
			f.Add(text)
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		processes, diagnostics := Load("f.yaml", []byte(text))
		if HasErrors(diagnostics) == (len(processes) > 0) {
			t.Fatalf("%d processes with %v", len(processes), diagnostics)
		}
		lines := len(splitLines(text)) + 1
		for _, d := range diagnostics {
			if d.Line < 1 || d.Line > lines || d.Column < 1 || d.Message == "" || d.Remedy == "" || d.Code == "" {
				t.Errorf("%+v in %d lines", d, lines)
			}
			if got := d.Text([]byte(text)); !strings.HasPrefix(got, "f.yaml:") {
				t.Errorf("text %q", got)
			}
		}
		_, again := Load("f.yaml", []byte(text))
		if diff := cmp.Diff(diagnostics, again); diff != "" {
			t.Error(diff)
		}
	})
}

// A file of another encoding is told as what it is.
func TestUTF16(t *testing.T) {
	for _, mark := range []string{"\xff\xfe", "\xfe\xff"} {
		_, diagnostics := Load("f.yaml", []byte(mark+"p\x00r\x00"))
		if len(diagnostics) != 1 || diagnostics[0].Code != codeEncoding || diagnostics[0].Message != "the file is UTF-16" {
			t.Error(diagnostics)
		}
	}
}
