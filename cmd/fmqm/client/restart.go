package client

import (
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"fmqm/api"
	common "fmqm/cmd/internal/cli"
)

func restartCommand() *cli.Command {
	return &cli.Command{
		Name: "restart", Usage: "run an activity once more that has ended", ArgsUsage: "[INSTANCE] [ACTIVITY]",
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
inside of a block is named as fmqm status shows it, documents#2/check; its name alone means its
one execution that has ended. If there are several, they are named, exit code 2; --all takes them
all, in the newest iteration of their blocks.

Without INSTANCE it is about ACTIVITY in the instances that --in-error, --process, --since and
--state select, over all sites, as fmqm list does: where it has run to its end, and is not being
restarted; with --withdraw, where it is. It shows the plan and does nothing, unless you give --yes.
Then it says for each what happened; a failure does not stop the others.

` + manyExit,
		UsageText: "fmqm restart " + example + ` assess --reason "wrong tariff"
fmqm restart ` + example + ` assess --input '{"tariff": "B"}'
fmqm restart ` + example + ` assess --withdraw
fmqm restart --process purchase-order@1 --since 2h assess --reason "wrong tariff" --yes`,
		Flags: printing(append(manyFlags(),
			&cli.BoolFlag{Name: "all", Usage: "every execution of ACTIVITY that has ended, in the newest iteration"},
			&cli.StringFlag{Name: "input", Usage: "run it with `JSON`, @FILE, or - for standard input, as its input"},
			&cli.BoolFlag{Name: "withdraw", Usage: "give a restart up for which not all sites have answered"},
			&cli.StringFlag{Name: "reason", Usage: "`TEXT` for the history: why"},
			&cli.StringFlag{Name: "word", Usage: "ask for what has come of the restart `ID`, which was queued"})...),
		Action: restart,
	}
}

// restart gives an operator's word to run an activity once more, or takes it back; of one, or of many.
func restart(c *cli.Context) error {
	if !c.Bool("withdraw") {
		return hand(c, wordRestart)
	}
	if c.IsSet("input") {
		return common.Usagef("--input is for what runs once more, and --withdraw lets it not: leave one out")
	}
	return hand(c, wordWithdraw)
}

// again: the command is about what has ended, and is to run once more or was to.
func (m *many) again() bool { return commandOf(m.what) == wordRestart }

// fitting are those of the executions of an activity that have ended which a restart fits, or giving it up does. What is in an
// iteration of a block that is over is left out, unless it is named, as far as a later one is there: what came after it was
// decided. So are the elements of a bundle: that has the same name, and is what can run once more.
func (m *many) fitting(found []api.Activity, path string) []api.Activity {
	if named := strings.ContainsAny(path, "/["); !named {
		found = slices.DeleteFunc(newestOf(found), func(at api.Activity) bool {
			return api.Shown(at.Scope, at.Activity) != api.InScope(at.Scope, at.Activity)
		})
	}
	return slices.DeleteFunc(found, func(at api.Activity) bool {
		if m.what == wordWithdraw {
			return at.Restart != api.RestartAsked
		}
		return at.Restart != ""
	})
}

// newestOf leaves out what is in an iteration of a block of which a later one is there.
func newestOf(found []api.Activity) (newest []api.Activity) {
	for _, at := range found {
		place, rounds := unnumbered(at.Scope)
		i := slices.IndexFunc(newest, func(n api.Activity) bool {
			other, _ := unnumbered(n.Scope)
			return other == place
		})
		if i < 0 {
			newest = append(newest, at)
		} else if _, before := unnumbered(newest[i].Scope); slices.Compare(rounds, before) > 0 {
			newest[i] = at
		}
	}
	return newest
}

// unnumbered takes the iterations out of a scope: documents#2/lines[3]#1 is documents/lines[3], with 2 and 1.
func unnumbered(scope string) (place string, rounds []int) {
	frames := strings.Split(scope, "/")
	for i, frame := range frames {
		at := strings.LastIndexByte(frame, '#')
		if at < 0 {
			continue
		}
		if n, err := strconv.Atoi(frame[at+1:]); err == nil {
			frames[i], rounds = frame[:at], append(rounds, n)
		}
	}
	return strings.Join(frames, "/"), rounds
}
