package cli_test

import (
	"strings"
	"testing"

	ucli "github.com/urfave/cli/v2"

	"fmqm/cmd/internal/cli"
	"fmqm/cmd/internal/cli/clitest"
)

// manApp has in its help all that a manual page could stumble over.
func manApp() *ucli.App {
	a := completing()
	a.UsageText = "prog start order\nprog completion bash"
	start := a.Commands[0]
	start.Description = "First.\n\n.begins with a dot and has a \\ in it.\n'quoted' -dash `tick` ^ ~"
	start.UsageText = `prog start order --input '{"a": 1}'`
	return a
}

// The page has every command that is not hidden, every flag, every example and every
// exit code, and troff renders it as it stands.
func TestManPageIsWholeAndRenders(t *testing.T) {
	text := clitest.ManText(t, cli.ManPage(manApp()))
	for _, want := range []string{
		"prog - is a program", "prog start PROCESS[@VERSION]", "prog group inside", "Start a thing.", "--format FORMAT",
		".begins with a dot and has a \\ in it.", "'quoted' -dash `tick` ^ ~", `prog start order --input '{"a": 1}'`, "The command line is wrong", "FMQM_TO",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in:\n%s", want, text)
		}
	}
	if strings.Contains(text, "secret") {
		t.Error("a hidden command is in the page")
	}
}
