// Command fmqmd is the node daemon: one for each site.
package main

import (
	"context"
	"os"
	"syscall"

	ucli "github.com/urfave/cli/v2"

	"fmqm/cmd/internal/cli"
)

func main() { os.Exit(Main(os.Args, cli.OS())) }

// Main runs fmqmd and gives its exit code. The daemon handles its signals itself; the
// other commands put away what they have begun.
func Main(args []string, s cli.Streams) int {
	if len(args) > 1 && args[1] == commandRun {
		return cli.Run(context.Background(), app(), args, s)
	}
	return cli.Main(app(), args, s, syscall.SIGTERM)
}

func app() *ucli.App {
	return &ucli.App{
		Name:  "fmqmd",
		Usage: "the node daemon of FMQM: runs the activities of this site and talks to the other sites",
		Description: "One daemon runs at each site, with its own store. fmqm-define uploads definitions; fmqm starts\n" +
			"work and shows it.",
		UsageText: "fmqmd demo\nfmqmd run --config /etc/fmqm/fmqmd.yaml",
		Commands: []*ucli.Command{
			runCommand(), demoCommand(), checkConfigCommand(), reloadCommand(), staffCommand(), pkiCommand(), backupCommand(), restoreCommand(), verifyCommand(), dumpCommand(),
			cli.CompletionCommand("fmqmd"), cli.ManCommand("fmqmd"),
		},
	}
}
