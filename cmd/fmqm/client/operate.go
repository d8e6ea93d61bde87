package client

import (
	"io"

	"github.com/urfave/cli/v2"

	"fmqm/api"
	common "fmqm/cmd/internal/cli"
)

func retryCommand() *cli.Command {
	return &cli.Command{
		Name: "retry", Usage: "let an activity in error go on, or many", ArgsUsage: "[INSTANCE] [ACTIVITY]",
		Description: `Runs the activity's program again. If the program had ended and a condition failed, only
the condition is evaluated again. With --output the program does not run: it counts as
ended with return code 0 and this output. With --input it runs again with this
input, the whole of it: a member that is left out has its default.

Without INSTANCE it retries every activity in error, or ACTIVITY where it is, of the instances that
--in-error, --process, --since and --state select, over all sites, as fmqm list does. It shows the plan
and does nothing, unless you give --yes. Then it says for each what happened; a failure does
not stop the others.

The exit code is 0 if all was done or planned; the code of what failed, or 1 if the failures
differ; 5 if a site did not answer.

If the site of the activity cannot be reached now, the retry is queued: it is on disk here, and
done once that site hears of it, however long that takes. The exit code is 0, and the line
says how to ask for what has come of it.

The retry is of the execution that the site of the activity tells of now; where it does not
answer, of the one that is in error when the retry comes there. If the activity has gone on by
then, nothing is done: the retry was overtaken, exit code 4.

ACTIVITY inside of a block is named as fmqm status shows it, documents#2/check; its name alone
means its one execution in error. If there are several, they are named, exit code 2; --all
retries them all.`,
		UsageText: "fmqm retry " + example + " credit\nfmqm retry " + example + ` credit --output '{"approved": true}'
fmqm retry --in-error --process purchase-order --since 2h
fmqm retry --in-error --process purchase-order --since 2h --yes`,
		Flags: printing(append(manyFlags(),
			&cli.BoolFlag{Name: "all", Usage: "every execution of ACTIVITY that is in error"},
			&cli.StringFlag{Name: "input", Usage: "run it with `JSON`, @FILE, or - for standard input, as the input"},
			&cli.StringFlag{Name: "output", Usage: "use `JSON`, @FILE, or - for standard input, as the output"},
			&cli.StringFlag{Name: "reason", Usage: "`TEXT` for the history: why"},
			&cli.StringFlag{Name: "word", Usage: "ask for what has come of the retry `ID`, which was queued"})...),
		Action: func(c *cli.Context) error { return hand(c, wordRetry) },
	}
}

func terminateCommand() *cli.Command {
	return &cli.Command{
		Name: "terminate", Usage: "end an instance without letting it finish, or many", ArgsUsage: "[INSTANCE]",
		Description: `Ends the instance at every node of its process; at an unreachable node, as soon as it is
back. Running programs are killed, and nothing runs after them. This cannot be undone.

Another site may have made up an instance of another process under the same identifier. With
--process NAME@VERSION beside INSTANCE it ends that of this process, at the site where it was
said to be started: what waits of it is taken out, and what comes later as well. fmqm list
--state unknown names those.

Without INSTANCE it ends the instances that --in-error, --process, --since and --state
select, over all sites, as fmqm list does. It shows the plan and does nothing, unless you
give --yes. Then it says for each what happened; a failure does not stop the others.

The exit code is 0 if all was done or planned; the code of what failed, or 1 if the failures
differ; 5 if a site did not answer.`,
		UsageText: "fmqm terminate " + example + ` --reason "ordered twice"
fmqm terminate ` + example + ` --process stock-run@1
fmqm terminate --process purchase-order@1 --state in-error
fmqm terminate --process purchase-order@1 --state in-error --yes`,
		Flags: printing(append(manyFlags(),
			&cli.StringFlag{Name: "reason", Usage: "`TEXT` for the history: why"})...),
		Action: terminate,
	}
}

func terminate(c *cli.Context) error {
	many, err := aboutMany(c, "terminate", "INSTANCE")
	if err != nil {
		return err
	}
	if many != nil {
		return many.do(c)
	}
	id, err := api.ParseInstance(c.Args().First())
	if err != nil {
		return err
	}
	a := asked{}
	if err := a.connect(c); err != nil {
		return err
	}
	defer a.client.Close()
	of := c.String("process")
	if err := a.client.TerminateOf(c.Context, id, api.TerminateRequest{Process: of, Reason: c.String("reason")}); err != nil {
		return err
	}
	if of == "" {
		common.Talk(c, "%s is being terminated; see fmqm status %s", id, id)
	} else {
		common.Talk(c, "%s of %s is being terminated; see fmqm why %s --process %s", id, of, id, of)
	}
	return a.printer.Object(struct{}{}, func(io.Writer) error { return nil })
}
