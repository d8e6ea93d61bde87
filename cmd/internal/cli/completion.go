package cli

import (
	"embed"
	"io"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
)

// The scripts of the shells, with PROGRAM for the program and FUNCTION for a name that
// functions may have.
//
//go:embed completion.bash completion.zsh completion.fish
var completionScripts embed.FS

var shells = []string{"bash", "zsh", "fish"}

func shellCandidates() []candidate {
	found := make([]candidate, len(shells))
	for i, s := range shells {
		found[i].word = s
	}
	return found
}

// CompletionCommand is `completion`, of every program.
func CompletionCommand(program string) *cli.Command {
	return &cli.Command{
		Name: "completion", Usage: "print the completion of a shell", ArgsUsage: "SHELL",
		Description: `Prints a script that lets bash, zsh or fish complete commands, flags, files, and what
the node knows. Put it where the shell looks, as in the examples; or, for the bash that
runs, source <(` + program + ` completion bash).`,
		UsageText: program + " completion bash > /etc/bash_completion.d/" + program + "\n" +
			program + " completion zsh > /usr/local/share/zsh/site-functions/_" + program + "\n" +
			program + " completion fish > ~/.config/fish/completions/" + program + ".fish",
		Action: func(c *cli.Context) error {
			shell := c.Args().First()
			if !slices.Contains(shells, shell) {
				return Usagef("%s: no completion for this shell: there are %s", shell, strings.Join(shells, ", "))
			}
			script, err := completionScripts.ReadFile("completion." + shell)
			if err != nil {
				return err
			}
			text := strings.NewReplacer("PROGRAM", program, "FUNCTION", strings.ReplaceAll(program, "-", "_")).Replace(string(script))
			_, err = io.WriteString(From(c).Out, text)
			return err
		},
	}
}
