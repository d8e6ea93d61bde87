package cli

import (
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"
)

// CheckHelp says what is missing in the help of a program: every command has a line, a
// description and examples, every example can be typed as it stands, and the manual page
// has it. A test of each program calls it.
func CheckHelp(app *cli.App) []string {
	c := checker{app: app}
	c.command(app.Name, app.Usage, app.Description, app.UsageText)
	c.page = ManPage(app)
	c.commands(app.Name, app.Commands)
	return c.missing
}

type checker struct {
	app     *cli.App
	page    string // of the manual
	missing []string
}

func (c *checker) add(name, format string, args ...any) {
	c.missing = append(c.missing, name+": "+fmt.Sprintf(format, args...))
}

func (c *checker) commands(above string, commands []*cli.Command) {
	for _, command := range commands {
		name := above + " " + command.Name
		c.command(name, command.Usage, command.Description, command.UsageText)
		if !command.Hidden && !strings.Contains(c.page, "\n.SS "+roffText(strings.TrimSpace(name+" "+command.ArgsUsage))+"\n") {
			c.add(name, "not in the manual page")
		}
		c.commands(name, command.Subcommands)
	}
}

func (c *checker) command(name, usage, description, examples string) {
	if usage == "" || description == "" {
		c.add(name, "no usage or no description")
	}
	own := false
	for example := range strings.Lines(strings.TrimSpace(examples)) {
		args := c.arguments(example)
		if args == nil {
			c.add(name, "example %q does not call %s", strings.TrimSpace(example), c.app.Name)
			continue
		}
		if err := CheckLine(c.app, args); err != nil {
			c.add(name, "example %q: %v", strings.TrimSpace(example), err)
		}
		own = own || strings.HasPrefix(strings.Join(append([]string{c.app.Name}, args...), " ")+" ", name+" ")
	}
	if !own {
		c.add(name, "no example")
	}
}

// arguments gives what a shell would give the program in a line with pipes and
// redirections; nil if the program is not called in it.
func (c *checker) arguments(line string) []string {
	var args []string
	for _, word := range words(line) {
		switch {
		case args == nil && word == c.app.Name:
			args = []string{}
		case args == nil:
		case word == "|" || word == ">" || word == "&&":
			return args
		default:
			args = append(args, word)
		}
	}
	return args
}

// words splits a line as a shell does, as far as examples need it.
func words(line string) []string {
	var all []string
	var word strings.Builder
	quote, inside := rune(0), false
	for _, r := range line + " " {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote == 0 && (r == '\'' || r == '"'):
			quote, inside = r, true
		case quote == 0 && (r == ' ' || r == '\n'):
			if inside {
				all = append(all, word.String())
			}
			word.Reset()
			inside = false
		default:
			word.WriteRune(r)
			inside = true
		}
	}
	return all
}
