package cli

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/urfave/cli/v2"

	"fmqm/cmd/internal/cli/clitest"
)

// On a terminal no line of a help is wider than it, and lines break between words: what
// follows stands below its column. Examples stay whole. Into a pipe lines are as written.
func TestHelpOnATerminal(t *testing.T) {
	const usage = "print what there is to print about everything that anybody ever wanted to know of it, and more"
	example := "x " + strings.Repeat("word ", 30) + "end"
	app := &cli.App{
		Name: "x", Usage: "try", UsageText: example, Description: strings.Repeat("some words ", 15),
		Flags: []cli.Flag{&cli.BoolFlag{Name: "all", Usage: usage}},
	}
	var whole strings.Builder
	if err := printHelp(&whole, app, nil); err != nil || !strings.Contains(whole.String(), "  "+usage+"\n") {
		t.Fatalf("into a pipe: %v\n%s", err, whole.String())
	}
	for _, width := range []int{80, 120} {
		terminal, shown := clitest.Terminal(t, width)
		if err := printHelp(terminal, app, nil); err != nil {
			t.Fatal(err)
		}
		text := strings.ReplaceAll(shown(), "\r", "")
		for line := range strings.Lines(text) {
			if line = strings.TrimSuffix(line, "\n"); utf8.RuneCountInString(line) > width && line != "  "+example {
				t.Errorf("of %d columns, wider: %q", width, line)
			}
		}
		if !slices.Equal(strings.Fields(text), strings.Fields(whole.String())) || !strings.Contains(text, "\n  "+example+"\n") {
			t.Errorf("of %d columns, other words:\n%s", width, text)
		}
		if width == 80 && !strings.Contains(text, "  --all       print what there is to print about everything that anybody ever\n              wanted to know of it, and more\n") {
			t.Errorf("the column is not kept:\n%s", text)
		}
	}
}

// A paragraph that was written for wider lines is filled anew; an empty or indented line
// ends it.
func TestFoldLines(t *testing.T) {
	const text = "one two three four\nfive six\n\nseven eight nine\n  ten\nExamples:\n  x one two three\n"
	const want = "one two\nthree four\nfive six\n\nseven\neight nine\n  ten\nExamples:\n  x one two three\n"
	if got := foldLines(text, 10); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	const filled = "one two three\nfour five six\n"
	if got := foldLines("one two three four\nfive six\n", 14); got != filled {
		t.Errorf("%q, want %q", got, filled)
	}
	if got := foldLines(text, 0); got != text {
		t.Errorf("without a terminal: %q", got)
	}
}

func TestFoldLine(t *testing.T) {
	for _, tc := range []struct {
		line  string
		hang  int
		width int
		want  string
	}{
		{"short", 0, 10, "short"},
		{"exactly 10", 0, 10, "exactly 10"},
		{"one two three", 0, 10, "one two\nthree"},
		{"a  one two three", 3, 10, "a  one two\n   three"},
		{"longerthanaline and", 0, 10, "longerthanaline\nand"},
		{"äöü äöü äöü", 0, 7, "äöü äöü\näöü"},
		{"", 0, 10, ""},
	} {
		if got := foldLine(tc.line, tc.hang, tc.width); got != tc.want {
			t.Errorf("%q: %q, want %q", tc.line, got, tc.want)
		}
	}
}
