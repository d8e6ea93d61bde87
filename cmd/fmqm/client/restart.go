package client

import (
	"bytes"
	"cmp"
	"io"

	"github.com/google/uuid"
	"github.com/urfave/cli/v2"

	"fmqm/api"
	common "fmqm/cmd/internal/cli"
)

func restartCommand() *cli.Command {
	return &cli.Command{
		Name: "restart", Usage: "run an activity once more that has ended", ArgsUsage: "INSTANCE ACTIVITY",
		Description: `Runs an activity once more that has run to its end, from its first iteration, under a new
idempotency key, with what its predecessors have given it, or with --input. That can be done as
long as nothing was decided on what it has come to: each activity to which a connector leads from
it, at whatever site, is asked to give that back. If all have, it runs, and they wait for what it
comes to. If one has been decided, all get back what they had given, nothing has changed, and the
answer says which one it is, exit code 4.

A site that cannot be reached is waited for. The command says "queued" then, exit code 0, and how
to ask for what has come of it; fmqm status says who has not answered. --withdraw gives it up.

An activity cannot be restarted that was skipped or cancelled, has taken or sent an event, has
cancelled others, begins with the first of its connectors, or is one element of a bundle. ACTIVITY
inside of a block is named as fmqm status shows it, documents#2/check.`,
		UsageText: "fmqm restart " + example + ` assess --reason "wrong tariff"
fmqm restart ` + example + ` assess --input '{"tariff": "B"}'
fmqm restart ` + example + ` assess --withdraw`,
		Flags: printing(
			&cli.StringFlag{Name: "input", Usage: "run it with `JSON`, @FILE, or - for standard input, as its input"},
			&cli.BoolFlag{Name: "withdraw", Usage: "give a restart up for which not all sites have answered"},
			&cli.StringFlag{Name: "reason", Usage: "`TEXT` for the history: why"},
			&cli.StringFlag{Name: "word", Usage: "ask for what has come of the restart `ID`, which was queued"}),
		Action: asks(restart),
	}
}

// restart gives an operator's word to run an activity once more, or takes it back.
func restart(c *cli.Context, a asked) (err error) {
	r := api.RestartRequest{Withdraw: c.Bool("withdraw"), Reason: c.String("reason"), Asked: c.IsSet("word")}
	if r.Withdraw && c.IsSet("input") {
		return common.Usagef("--input is for what runs once more, and --withdraw lets it not: leave one out")
	}
	r.Scope, r.Activity = api.CutScope(c.Args().Get(1))
	if text := c.String("word"); text != "" {
		if r.Word, err = uuid.Parse(text); err != nil {
			return common.Usagef("--word: %q is not the identifier of a word: an answer that said \"queued\" has it", text)
		}
	}
	given, err := readGiven(c)
	if err != nil {
		return err
	}
	r.Input = bytes.TrimSpace(given.input.Text)
	said, err := a.client.Restart(c.Context, a.instance, r)
	if err != nil {
		return given.explain(c, err)
	}
	name := cmp.Or(api.Shown(said.Scope, said.Activity), c.Args().Get(1))
	switch {
	case said.Result == api.WordQueued && r.Withdraw:
		common.Talk(c, "queued: %s: %s lets %s be as soon as it hears of it", said.Reason, said.Node, name)
	case said.Result == api.WordQueued:
		common.Talk(c, "queued: %s; for what has come of it, ask again with: fmqm restart %s %s --word %s", said.Reason, a.instance, name, said.ID)
	case r.Withdraw:
		common.Talk(c, "%s is not restarted; see fmqm status %s", name, a.instance)
	default:
		common.Talk(c, "%s runs once more; see fmqm status %s", name, a.instance)
	}
	return a.printer.Object(said, func(io.Writer) error { return nil })
}
