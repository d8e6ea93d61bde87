// Command fmqm-define is the definition node: it checks process definitions, compiles
// them into one table for each node, shows, draws and tries them, and uploads them.
package main

import (
	"os"

	"github.com/urfave/cli/v2"

	shared "fmqm/cmd/internal/cli"
)

func main() { os.Exit(program()) }

// program runs the command line of this process and gives its exit code.
func program() int { return shared.Main(newApp(), os.Args, shared.OS()) }

func newApp() *cli.App {
	return &cli.App{
		Name:  "fmqm-define",
		Usage: "check, compile, try and upload process definitions",
		Description: `A definition is a YAML file with one process, or several as YAML documents.
A FILE named - is standard input.

Exit codes: 0 done, 1 failed, 2 usage, 3 not found, 4 refused, 5 unreachable
or timed out.`,
		UsageText: `fmqm-define check purchase-order.yaml
fmqm-define run purchase-order.yaml --input '{"customer": "acme", "item": "pump", "quantity": 1, "amount": 500}'
fmqm-define upload purchase-order.yaml --to http://127.0.0.1:7411`,
		Commands: []*cli.Command{
			checkCommand(), compileCommand(), showCommand(), drawCommand(), runCommand(), schemaCommand(), uploadCommand(), listCommand(), getCommand(), diffCommand(), retireCommand(), keygenCommand(),
			shared.CompletionCommand("fmqm-define"), shared.ManCommand("fmqm-define"),
		},
	}
}
