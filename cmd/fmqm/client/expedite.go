package client

import (
	"strconv"

	"github.com/urfave/cli/v2"

	"fmqm/api"
	common "fmqm/cmd/internal/cli"
)

const wordExpedite = "expedite"

func expediteCommand() *cli.Command {
	return &cli.Command{
		Name: wordExpedite, Usage: "give an instance another priority, or many", ArgsUsage: "[INSTANCE] [PRIORITY]",
		Description: `What is ready of it, and its work items, have this priority from now on, whatever the
process and its activities say: 0 to 9, 9 first, and 9 unless PRIORITY says otherwise. So a
lower one than before lets it wait. The last word counts. It holds at every site of its
process as soon as that hears of it, and for the instances of its subprocesses, unless they
are independent. Programs that run are left alone. fmqm status shows the priority where it is
not 4, and which sites have not heard of it yet.

What is ready waits in the order of priorities, and what waits rises: by one step in 10
minutes. So something of priority 9 goes before what is of priority 4 and has waited for 50
minutes less.

The node where the instance was started decides: it must be reachable, else the exit code is
5 and nothing has changed.

Without INSTANCE it is about the instances that --in-error, --process, --since and --state
select, over all sites, as fmqm list does. It shows the plan and does nothing, unless you
give --yes. Then it says for each what happened; a failure does not stop the others.

` + manyExit,
		UsageText: "fmqm expedite " + example + "\nfmqm expedite " + example + ` 7 --reason "the customer waits"
fmqm expedite --process purchase-order@1
fmqm expedite --process purchase-order@1 0 --yes`,
		Flags: printing(append(manyFlags(),
			&cli.StringFlag{Name: "reason", Usage: "`TEXT` for the history: why"})...),
		Action: expedite,
	}
}

// priorityOf reads a priority that somebody has written.
func priorityOf(text, where string) (int, error) {
	p, err := strconv.Atoi(text)
	if err != nil || p < 0 || p > api.MaxPriority {
		return 0, common.Usagef("%s %s: a priority is 0 to 9, 9 first", where, text)
	}
	return p, nil
}

func expedite(c *cli.Context) error {
	var many *many
	var err error
	if c.NArg() == 1 {
		many, err = aboutMany(c, wordExpedite, "INSTANCE")
	} else {
		many, err = aboutMany(c, wordExpedite, "INSTANCE", "PRIORITY")
	}
	if err != nil {
		return err
	}
	text := c.Args().Get(1)
	if many != nil {
		text, many.activity = many.activity, ""
	}
	priority := api.MaxPriority
	if text != "" {
		if priority, err = priorityOf(text, "PRIORITY"); err != nil {
			return err
		}
	}
	if many != nil {
		many.priority = priority
		return many.do(c)
	}
	return ofInstance(c, func(a asked, id api.InstanceID) (api.Word, error) {
		return a.client.Expedite(c.Context, id, api.ExpediteRequest{Priority: priority, Reason: c.String("reason")})
	})
}
