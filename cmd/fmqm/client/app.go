package client

import (
	"github.com/urfave/cli/v2"

	common "fmqm/cmd/internal/cli"
)

// Main runs fmqm with args, of which the first is its own name, and gives the exit code.
func Main(args []string, s common.Streams) int { return common.Main(App(), args, s) }

// example is the instance of the examples.
const example = "0197c0de-5a1e-7000-8000-3f1c2b4d5e6f"

// App gives the commands of fmqm.
func App() *cli.App {
	return &cli.App{
		Name:  "fmqm",
		Usage: "start process instances, follow them, and help those that are stuck",
		Description: `Every command asks one node: the daemon on this machine, or the one that --to or the
variable FMQM_TO names.

Exit codes: 0 done, 1 failed, 2 usage, 3 not found, 4 refused, 5 unreachable or timed out.`,
		UsageText: `fmqm start purchase-order --input '{"customer": "ann", "quantity": 2}' --wait
fmqm list
fmqm why ` + example,
		Commands: []*cli.Command{
			startCommand(), waitCommand(), statusCommand(), listCommand(), watchCommand(), historyCommand(), logsCommand(),
			nodesCommand(), linksCommand(), whyCommand(), retryCommand(), finishCommand(), skipCommand(), restartCommand(), terminateCommand(), suspendCommand(), resumeCommand(), expediteCommand(), eraseCommand(), refusedCommand(),
			rebuildCommand(), scheduleCommand(), eventCommand(), workCommand(), whoamiCommand(),
			common.CompletionCommand("fmqm"), common.ManCommand("fmqm"),
		},
	}
}

// asking gives the flags of a command that asks a node, before those of its own.
func asking(own ...cli.Flag) []cli.Flag {
	return append(append(own, common.ToFlag(), common.TimeoutFlag()), common.CertificateFlags()...)
}

// printing is asking for commands that print data.
func printing(own ...cli.Flag) []cli.Flag {
	return append(asking(own...), common.OutputFlag())
}
