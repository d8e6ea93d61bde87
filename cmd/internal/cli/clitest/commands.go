package clitest

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/urfave/cli/v2"
)

// outputFlag has the names of cli.OutputFlag.
var outputFlag = []string{"o", "format"}

var (
	commandRow = regexp.MustCompile("(?m)^\\| `([^`]+)` \\|(.*)\\|$")
	flagOnPage = regexp.MustCompile("`(--?[a-z][a-z-]*)[^`]*`")
)

// Commands checks that docs/commands.md has every command of a program and every flag, each with
// the command that has it, and nothing that is not there. root is the directory of the project.
func Commands(t *testing.T, root string, app *cli.App) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "docs", "commands.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, many, _ := strings.Cut(string(text), "\n## Flags of many commands\n")
	many, _, _ = strings.Cut(many, "\n## ")
	shared := flagsOf(many)
	isShared := func(flag string) bool {
		return slices.Contains(shared, flag) && !slices.Contains([]string{"-o", "--format"}, flag)
	}
	_, own, _ := strings.Cut(string(text), "\n## "+app.Name+"\n")
	own, _, _ = strings.Cut(own, "\n## ")
	page := map[string][]string{}
	for _, row := range commandRow.FindAllStringSubmatch(own, -1) {
		page[row[1]] = slices.DeleteFunc(flagsOf(row[2]), isShared)
	}
	code := map[string][]string{}
	eachCommand(app.Name, app.Commands, func(line string, c *cli.Command) {
		flags := []string{}
		for _, f := range c.Flags {
			if !slices.Equal(f.Names(), outputFlag) { // draw and compile have flags of these names, too
				for _, name := range f.Names() {
					flags = append(flags, strings.Repeat("-", min(len(name), 2))+name)
				}
			}
		}
		flags = slices.DeleteFunc(flags, isShared)
		slices.Sort(flags)
		code[line] = flags
	})
	if diff := cmp.Diff(code, page); diff != "" || len(code) < 5 {
		t.Errorf("commands and their flags (-in the code +in docs/commands.md):\n%s", diff)
	}
}

// eachCommand visits the commands that do something.
func eachCommand(above string, commands []*cli.Command, visit func(line string, c *cli.Command)) {
	for _, c := range commands {
		if c.Hidden {
			continue
		}
		line := above + " " + c.Name
		if c.Action != nil {
			visit(strings.TrimSpace(line+" "+c.ArgsUsage), c)
		}
		eachCommand(line, c.Subcommands, visit)
	}
}

func flagsOf(text string) []string {
	flags := []string{}
	for _, m := range flagOnPage.FindAllStringSubmatch(text, -1) {
		flags = append(flags, m[1])
	}
	slices.Sort(flags)
	return slices.Compact(flags)
}
