package cli

import (
	"io"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"fmqm/internal/text"
)

// Style colours words for a terminal. Its zero value colours nothing.
type Style struct{ on bool }

// NewStyle colours if w is a terminal that can, and nobody has set NO_COLOR.
func NewStyle(w io.Writer, env func(string) string) Style {
	return Style{on: IsTerminal(w) && env("NO_COLOR") == "" && env("TERM") != "dumb" && env("TERM") != ""}
}

// IsTerminal says whether what is written to w is shown to somebody.
func IsTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	_, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
	return err == nil
}

// TerminalWidth is how many characters fit a line of the terminal that w is; 0 if it is
// none. A terminal that does not say has 80.
func TerminalWidth(w io.Writer) int {
	if !IsTerminal(w) {
		return 0
	}
	size, err := unix.IoctlGetWinsize(int(w.(*os.File).Fd()), unix.TIOCGWINSZ)
	if err != nil || size.Col == 0 {
		return 80
	}
	return int(size.Col)
}

func (s Style) paint(code, text string) string {
	if !s.on || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// Good, Bad, Busy, Faint and Strong say in what way a word matters.
func (s Style) Good(text string) string   { return s.paint("32", text) }
func (s Style) Bad(text string) string    { return s.paint("31", text) }
func (s Style) Busy(text string) string   { return s.paint("33", text) }
func (s Style) Faint(text string) string  { return s.paint("2", text) }
func (s Style) Strong(text string) string { return s.paint("1", text) }

// state colours the words that states, results, severities and events are.
func (s Style) state(word string) string {
	switch word {
	case "finished", "terminated", "connected", "stored", "self", "ended":
		return s.Good(word)
	case "in-error", "refused", "refuse", "stopped", "failed", "error":
		return s.Bad(word)
	case "running", "ready", "executed", "waiting", "suspended", "connecting", "queued", "unconfigured", "unknown", "warning", "iterated", "retried":
		return s.Busy(word)
	case "skipped", "passed", "inactive", "unchanged":
		return s.Faint(word)
	}
	if before, _, ok := strings.Cut(word, " ("); ok && before == "running" {
		return s.Bad(word) // it runs, with errors
	}
	return word
}

// printable keeps what came from elsewhere from steering a terminal, or misleading who
// reads there.
func printable(s string) string { return text.Visible(s) }

// OneLine is printable for a cell of a table.
func OneLine(s string) string { return text.Line(s) }
