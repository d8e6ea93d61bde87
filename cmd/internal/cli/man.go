package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
)

// ManCommand is `man`, of every program: its manual page, made of its help.
func ManCommand(program string) *cli.Command {
	return &cli.Command{
		Name: "man", Usage: "print the manual page",
		Description: "Prints the manual page, in the language of man(7), made of the help of all commands.",
		UsageText:   program + " man | man -l -\n" + program + " man > /usr/local/share/man/man1/" + program + ".1",
		Action: func(c *cli.Context) error {
			_, err := io.WriteString(From(c).Out, ManPage(c.App))
			return err
		},
	}
}

// ManPage gives the manual page of a program: all that its help says.
func ManPage(app *cli.App) string {
	m := &manPage{}
	m.line(".TH %s 1 %q %q %q", strings.ToUpper(roffText(app.Name)), "", "FMQM", "FMQM")
	m.section("NAME")
	m.text(app.Name + " - " + app.Usage)
	m.section("SYNOPSIS")
	m.line(".B %s", roffText(app.Name))
	if len(app.Commands) > 0 {
		m.line(".I COMMAND")
		m.text("[flags] [arguments]")
	}
	m.section("DESCRIPTION")
	m.paragraphs(app.Description)
	if len(app.Commands) > 0 {
		m.section("COMMANDS")
		m.commands(app.Name, app.Commands)
	}
	if app.UsageText != "" {
		m.section("EXAMPLES")
		m.examples(app.UsageText)
	}
	m.section("EXIT STATUS")
	for _, code := range exitStatus {
		m.line(".TP")
		m.line(".B %d", code.code)
		m.text(code.means)
	}
	m.section("ENVIRONMENT")
	for _, v := range append([][2]string{
		{"NO_COLOR", "If it is set, nothing is coloured."},
		{"FMQM_TO", "The node that commands ask which have a flag --to, where that is not given."},
		{"FMQM_CERT, FMQM_KEY, FMQM_CA, FMQM_DENY", "The files of --cert, --cert-key, --ca and --deny, where those are not given."},
	}, settings(app)...) {
		m.line(".TP")
		m.line(".B %s", roffText(v[0]))
		m.text(v[1])
	}
	m.section("SEE ALSO")
	m.text("fmqm(1), fmqm-define(1), fmqmd(1)")
	return m.b.String()
}

// settings are the variables that stand above keys of a configuration, of a program that
// has the flags which stand above these.
func settings(app *cli.App) (all [][2]string) {
	if !hasFlag(app, "listen") {
		return nil
	}
	for _, name := range []string{"node", "data", "listen", "socket", "store"} {
		all = append(all, [2]string{"FMQM_" + strings.ToUpper(name), "The key " + name + " of the configuration, where --" + name + " is not given."})
	}
	return all
}

func hasFlag(app *cli.App, name string) bool {
	return slices.ContainsFunc(allFlags(app.Commands), func(f cli.Flag) bool { return slices.Contains(f.Names(), name) })
}

var exitStatus = []struct {
	code  int
	means string
}{
	{ExitDone, "Done."},
	{ExitFailed, "Failed."},
	{ExitUsage, "The command line is wrong; nothing was done."},
	{ExitNotFound, "What was asked for is not there."},
	{ExitRefused, "Refused, with the reason."},
	{ExitUnreachable, "Unreachable, or timed out."},
}

// manPage is a page being written.
type manPage struct{ b strings.Builder }

func (m *manPage) line(format string, args ...any) { fmt.Fprintf(&m.b, format+"\n", args...) }

func (m *manPage) section(name string) { m.line(".SH %s", name) }

// text writes running text.
func (m *manPage) text(text string) {
	for line := range strings.Lines(text) {
		line = roffText(strings.TrimSpace(line))
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			line = `\&` + line
		}
		m.line("%s", line)
	}
}

// paragraphs writes text that empty lines divide.
func (m *manPage) paragraphs(text string) {
	for i, p := range strings.Split(strings.TrimSpace(text), "\n\n") {
		if i > 0 {
			m.line(".PP")
		}
		m.text(p)
	}
}

func (m *manPage) examples(text string) {
	m.line(".PP\n.RS\n.nf")
	m.text(strings.TrimSpace(text))
	m.line(".fi\n.RE")
}

func (m *manPage) commands(above string, commands []*cli.Command) {
	for _, c := range commands {
		if c.Hidden {
			continue
		}
		name := above + " " + c.Name
		m.line(".SS %s", roffText(strings.TrimSpace(name+" "+c.ArgsUsage)))
		if c.Usage != "" {
			m.text(strings.ToUpper(c.Usage[:1]) + c.Usage[1:] + ".")
		}
		if c.Description != "" {
			m.line(".PP")
			m.paragraphs(c.Description)
		}
		if len(c.Subcommands) == 0 || c.Action != nil {
			for _, row := range flagRows(c.Flags) {
				m.line(".TP")
				m.line(".B %s", roffText(row[0]))
				m.text(row[1])
			}
		}
		if c.UsageText != "" {
			m.line(".PP\nExamples:")
			m.examples(c.UsageText)
		}
		m.commands(name, c.Subcommands)
	}
}

// roffText makes text stand for itself: backslashes, and the hyphens and quotes that a
// terminal would get as others.
func roffText(text string) string {
	return strings.NewReplacer(`\`, `\e`, "-", `\-`, "'", `\(aq`, "`", `\(ga`, "^", `\(ha`, "~", `\(ti`).Replace(text)
}
