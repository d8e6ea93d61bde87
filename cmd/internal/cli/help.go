package cli

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/urfave/cli/v2"
)

// printHelp explains a command: what it is, how it is called, its flags or the commands
// below it, and examples.
func printHelp(w io.Writer, app *cli.App, path []*cli.Command) error {
	h := help{name: app.Name, usage: app.Usage, description: app.Description, examples: app.UsageText, args: app.ArgsUsage, commands: app.Commands, flags: app.Flags}
	for _, c := range path {
		h = help{name: h.name + " " + c.Name, usage: c.Usage, description: c.Description, examples: c.UsageText, args: c.ArgsUsage, commands: c.Subcommands, flags: c.Flags, acts: c.Action != nil}
	}
	_, err := io.WriteString(w, foldLines(h.text(), TerminalWidth(w)))
	return err
}

type help struct {
	name, usage, description, examples, args string

	commands []*cli.Command
	flags    []cli.Flag
	acts     bool // also without one of the commands
}

func (h help) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s - %s\n\n", h.name, h.usage)
	switch {
	case len(h.commands) > 0 && h.acts:
		fmt.Fprintf(&b, "Usage: %s\n       %s COMMAND\n", strings.TrimSpace(h.name+" [flags] "+h.args), h.name)
	case len(h.commands) > 0:
		fmt.Fprintf(&b, "Usage: %s COMMAND\n", h.name)
	case h.args == "":
		fmt.Fprintf(&b, "Usage: %s [flags]\n", h.name)
	default:
		fmt.Fprintf(&b, "Usage: %s [flags] %s\n", h.name, h.args)
	}
	if h.description != "" {
		b.WriteString("\n" + strings.TrimSpace(h.description) + "\n")
	}
	section(&b, "Commands", commandRows(h.commands))
	if len(h.commands) == 0 || h.acts {
		section(&b, "Flags", flagRows(h.flags))
	}
	if h.examples != "" {
		b.WriteString("\nExamples:\n")
		for example := range strings.Lines(strings.TrimSpace(h.examples)) {
			b.WriteString("  " + strings.TrimSpace(example) + "\n")
		}
	}
	if len(h.commands) > 0 {
		fmt.Fprintf(&b, "\n%s COMMAND --help says more, with examples.\n", h.name)
	}
	return b.String()
}

// foldLines breaks the lines that are wider than a terminal between words; width 0 is no
// terminal. What follows stands where the last column of the line begins, or goes on in the
// next line of a paragraph. Examples stay whole, so that they can be copied.
func foldLines(text string, width int) string {
	if width <= 0 {
		return text
	}
	var b strings.Builder
	example, carry := false, "" // carry: what a line of a paragraph had no room for
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if !strings.HasPrefix(line, " ") {
			example = line == "Examples:"
		}
		prose := line != "" && line[0] != ' '
		if carry != "" && prose {
			line, carry = carry+" "+line, ""
		} else if carry != "" {
			b.WriteString(carry + "\n")
			carry = ""
		}
		if !example {
			line = foldLine(line, hang(line, width), width)
		}
		if end := strings.LastIndex(line, "\n"); end >= 0 && prose {
			line, carry = line[:end], line[end+1:]
		}
		b.WriteString(line + "\n")
	}
	if carry != "" {
		b.WriteString(carry + "\n")
	}
	return b.String()
}

// hang is where the last column of a line begins: after its last gap of two spaces, if
// that leaves half of the width.
func hang(line string, width int) int {
	indent := len(line) - len(strings.TrimLeft(line, " "))
	if gap := strings.LastIndex(line, "  "); gap > indent && utf8.RuneCountInString(line[:gap+2]) <= width/2 {
		return utf8.RuneCountInString(line[:gap+2])
	}
	return indent
}

// foldLine breaks a line at spaces behind hang; a word that is wider than a line stays
// whole.
func foldLine(line string, hang, width int) string {
	var b strings.Builder
	for runes := []rune(line); ; {
		end := len(runes)
		if end > width {
			for end = width; end > hang && runes[end] != ' '; end-- {
			}
			if end <= hang { // the first word is too wide: break behind it
				for end = width; end < len(runes) && runes[end] != ' '; end++ {
				}
			}
		}
		b.WriteString(strings.TrimRight(string(runes[:end]), " "))
		rest := strings.TrimLeft(string(runes[end:]), " ")
		if rest == "" {
			return b.String()
		}
		b.WriteString("\n")
		runes = []rune(strings.Repeat(" ", hang) + rest)
	}
}

// section prints rows of two columns under a title.
func section(b *strings.Builder, title string, rows [][2]string) {
	if len(rows) == 0 {
		return
	}
	width := 0
	for _, r := range rows {
		width = max(width, len(r[0]))
	}
	b.WriteString("\n" + title + ":\n")
	for _, r := range rows {
		fmt.Fprintf(b, "  %-*s  %s\n", width, r[0], r[1])
	}
}

func commandRows(commands []*cli.Command) [][2]string {
	var rows [][2]string
	for _, c := range commands {
		if !c.Hidden {
			rows = append(rows, [2]string{strings.TrimSpace(c.Name + " " + c.ArgsUsage), c.Usage})
		}
	}
	return rows
}

func flagRows(flags []cli.Flag) [][2]string {
	var rows [][2]string
	for _, f := range flags {
		d, ok := f.(cli.DocGenerationFlag)
		if !ok {
			continue
		}
		names := make([]string, len(f.Names()))
		for i, n := range f.Names() {
			names[i] = dashed(n)
		}
		name, usage := strings.Join(names, ", "), d.GetUsage()
		if d.TakesValue() {
			value := "VALUE"
			if before, rest, ok := strings.Cut(usage, "`"); ok {
				var after string
				value, after, _ = strings.Cut(rest, "`")
				usage = before + value + after
			}
			name += " " + value
		}
		rows = append(rows, [2]string{name, usage})
	}
	return append(rows, [2]string{"--help, -h", "show this"})
}
