package clitest

import (
	"slices"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"
)

// Formats checks every command that has -o FORMAT: one that is none is exit code 2, and nothing
// has been done. words are what stands for each argument, by its name in ArgsUsage, and which flags
// a command gets beside, by the command; run runs a command line, and gives its exit code, what it
// said, and what it did although it should have done nothing.
func Formats(t *testing.T, app *cli.App, words map[string]string, run func(args []string) (exit int, said, did string)) {
	t.Helper()
	checked := 0
	var each func(above []string, commands []*cli.Command)
	each = func(above []string, commands []*cli.Command) {
		for _, c := range commands {
			line := append(slices.Clone(above), c.Name)
			each(line, c.Subcommands)
			line = append(line, strings.Fields(words[strings.Join(line, " ")])...)
			if !slices.ContainsFunc(c.Flags, func(f cli.Flag) bool { return slices.Equal(f.Names(), outputFlag) }) {
				continue
			}
			checked++
			for _, name := range strings.Fields(c.ArgsUsage) {
				word, ok := words[strings.Trim(name, "[].")]
				if !ok {
					t.Fatalf("%s: no word for %s", c.Name, name)
				}
				line = append(line, word)
			}
			line = append(line, "-o", "xml")
			if exit, said, did := run(line); exit != 2 || !strings.Contains(said, "-o xml: no such format") || did != "" {
				t.Errorf("%s: exit code %d, said %q, did %q", strings.Join(line, " "), exit, said, did)
			}
		}
	}
	each(nil, app.Commands)
	if checked == 0 {
		t.Error("no command has -o")
	}
}
