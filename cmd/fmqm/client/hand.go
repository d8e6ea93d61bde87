package client

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"

	"github.com/google/uuid"
	"github.com/urfave/cli/v2"

	"fmqm/api"
	common "fmqm/cmd/internal/cli"
)

// Operators' hands on one activity, or on many: retry, finish, skip (N30).

func finishCommand() *cli.Command {
	return &cli.Command{
		Name: "finish", Usage: "end an activity by hand: it has run, with this output", ArgsUsage: "[INSTANCE] [ACTIVITY]",
		Description: `Ends the activity, whatever it does or waits for: a program, a pause, an event, an operator. What
runs of it is ended; what is inside of a block, the elements of a bundle, the work of a call are
cancelled, and the instance of a subprocess is terminated, unless it is independent. The
activity counts as having run once, with the output and return code 0. Its exit condition is
not asked; its transition conditions are evaluated over the output. A send that is finished
sends nothing.

An activity that waits for connectors is not decided, and cannot be finished: finish or skip
what it waits for. If the output is wrong, or a condition fails over it, nothing has changed,
exit code 4.

` + handMany + `

` + handQueued,
		UsageText: "fmqm finish " + example + ` credit --output '{"approved": true}'
fmqm finish ` + example + ` documents#2/check --output @checked.json --reason "done on paper"
fmqm finish --process purchase-order@1 --since 2h credit --output '{"approved": true}' --yes`,
		Flags: printing(append(handFlags(wordFinish),
			&cli.StringFlag{Name: "output", Usage: "use `JSON`, @FILE, or - for standard input, as the output"})...),
		Action: func(c *cli.Context) error { return hand(c, wordFinish) },
	}
}

func skipCommand() *cli.Command {
	return &cli.Command{
		Name: "skip", Usage: "end an activity by hand: as if it were on a dead path", ArgsUsage: "[INSTANCE] [ACTIVITY]",
		Description: `Ends the activity, whatever it does or waits for, as fmqm finish does, without an output: the
control connectors out of it are FALSE, and its data connectors bring nothing. What comes
after it runs or is skipped as its start condition says. One element of a bundle that is
skipped counts as failed there.

An activity that waits for connectors is not decided, and cannot be skipped: finish or skip
what it waits for.

` + handMany + `

` + handQueued,
		UsageText: "fmqm skip " + example + ` notify --reason "the customer knows"
fmqm skip ` + example + ` count[3]
fmqm skip --process purchase-order@1 --in-error notify --yes`,
		Flags:  printing(handFlags(wordSkip)...),
		Action: func(c *cli.Context) error { return hand(c, wordSkip) },
	}
}

// What finish and skip have in common, for people.
const (
	handMany = `ACTIVITY inside of a block is named as fmqm status shows it, documents#2/check; its name alone
means its one execution under way. If there are several, they are named, exit code 2; --all
takes them all.

Without INSTANCE it is about ACTIVITY in the instances that --in-error, --process, --since and
--state select, over all sites, as fmqm list does: where it is in error, with --in-error, else
wherever it is under way. It shows the plan and does nothing, unless you give --yes. Then it
says for each what happened; a failure does not stop the others.`

	handQueued = `If the site of the activity cannot be reached now, it is queued: it is on disk here, and done
once that site hears of it. The exit code is 0, and the line says how to ask for what has come
of it. If the activity has gone on by then, nothing is done: it was overtaken, exit code 4.`
)

func handFlags(what string) []cli.Flag {
	return append(manyFlags(),
		&cli.BoolFlag{Name: "all", Usage: "every execution of ACTIVITY that is under way"},
		&cli.StringFlag{Name: "reason", Usage: "`TEXT` for the history: why"},
		&cli.StringFlag{Name: "word", Usage: "ask for what has come of the " + what + " `ID`, which was queued"})
}

// Words to an activity, as the API has them.
const (
	wordRetry    = "retry"
	wordFinish   = "finish"
	wordSkip     = "skip"
	wordRestart  = "restart"
	wordWithdraw = "withdraw" // of a restart
)

// commandOf is the command with which a word is said.
func commandOf(what string) string {
	if what == wordWithdraw {
		return wordRestart
	}
	return what
}

// hand gives an operator's word about an activity, or many.
func hand(c *cli.Context, what string) error {
	many, err := aboutMany(c, what, "INSTANCE", "ACTIVITY")
	if err != nil {
		return err
	}
	if many != nil {
		return many.begin(c)
	}
	id, err := api.ParseInstance(c.Args().First())
	if err != nil {
		return err
	}
	if what == wordFinish && !c.IsSet("output") && !c.IsSet("word") {
		return common.Usagef("--output is missing: what the activity gives, as JSON; fmqm skip ends it without one")
	}
	if c.Bool("all") {
		return all(c, what, id, c.Args().Get(1))
	}
	given, err := readGiven(c)
	if err != nil {
		return err
	}
	r := word{what: what, instance: id, reason: c.String("reason"), given: given}
	r.scope, r.activity = api.CutScope(c.Args().Get(1))
	if text := c.String("word"); text != "" {
		if r.id, err = uuid.Parse(text); err != nil {
			return common.Usagef("--word: %q is not the identifier of a word: an answer that said \"queued\" has it", text)
		}
	}
	a := asked{}
	if err := a.connect(c); err != nil {
		return err
	}
	defer a.client.Close()
	said, err := r.say(c.Context, a.client)
	if err != nil {
		return given.explain(c, err)
	}
	name := cmp.Or(api.Shown(said.Scope, said.Activity), c.Args().Get(1))
	switch {
	case said.Result == api.WordQueued:
		common.Talk(c, "queued: %s: %s", said.Reason, askWord(what, id, name, said.Node, said.ID))
	case what == wordRestart:
		common.Talk(c, "%s runs once more; see fmqm status %s", name, id)
	case what == wordRetry:
		common.Talk(c, "%s goes on; see fmqm status %s", name, id)
	default:
		common.Talk(c, "%s is %s; see fmqm status %s", name, doneWith[what], id)
	}
	return a.printer.Object(said, func(io.Writer) error { return nil })
}

// doneWith says what an activity is after a word.
var doneWith = map[string]string{
	wordRetry: "retried", wordFinish: "finished", wordSkip: "skipped", wordRestart: "restarted", wordWithdraw: "not restarted",
}

// given are the containers that a word brings.
type given struct{ input, output common.JSONInput }

func readGiven(c *cli.Context) (g given, err error) {
	if g.output, err = common.ReadJSON(c, "output"); err == nil {
		g.input, err = common.ReadJSON(c, "input")
	}
	return g, err
}

// explain shows an error where it stands in what was given.
func (g *given) explain(c *cli.Context, err error) error {
	if len(g.input.Text) > 0 {
		return g.input.Explain(c, err)
	}
	return g.output.Explain(c, err)
}

// word is one to an activity.
type word struct {
	what            string
	instance        api.InstanceID
	scope, activity string
	reason          string
	id              api.WordID // that was given before; zero: a new one is
	given           given
}

// say has a word carried out.
func (w *word) say(ctx context.Context, client *api.Client) (api.Word, error) {
	asked, output := w.id != (api.WordID{}), bytes.TrimSpace(w.given.output.Text)
	if w.what == wordRetry {
		return client.Retry(ctx, w.instance, api.RetryRequest{
			Scope: w.scope, Activity: w.activity, Input: bytes.TrimSpace(w.given.input.Text), Output: output, Reason: w.reason, Word: w.id, Asked: asked,
		})
	}
	if commandOf(w.what) == wordRestart {
		return client.Restart(ctx, w.instance, api.RestartRequest{
			Scope: w.scope, Activity: w.activity, Input: bytes.TrimSpace(w.given.input.Text), Withdraw: w.what == wordWithdraw, Reason: w.reason, Word: w.id, Asked: asked,
		})
	}
	r := api.HandRequest{Scope: w.scope, Activity: w.activity, Output: output, Reason: w.reason, Word: w.id, Asked: asked}
	if w.what == wordFinish {
		return client.Finish(ctx, w.instance, r)
	}
	return client.Skip(ctx, w.instance, r)
}

// all gives a word about every execution of an activity that it fits.
func all(c *cli.Context, what string, id api.InstanceID, path string) error {
	if c.IsSet("word") || c.IsSet("input") || what == wordRetry && c.IsSet("output") {
		return common.Usagef("--output, --input and --word are for one execution: leave out --all, or name it, such as documents#2/%s", path)
	}
	m := &many{what: what, reason: c.String("reason")}
	var err error
	if m.given, err = readGiven(c); err != nil {
		return err
	}
	a := asked{}
	if err := a.connect(c); err != nil {
		return err
	}
	defer a.client.Close()
	deeds, err := m.executions(c, a, id, path)
	if err != nil {
		return err
	}
	if len(deeds) == 0 {
		fits := map[string]string{wordRetry: "in error", wordFinish: "under way", wordSkip: "under way", wordRestart: "known to have run to its end", wordWithdraw: "being restarted"}[what]
		return &common.Error{Exit: common.ExitNotFound, Text: fmt.Sprintf("%s is nowhere %s in %s, as far as the nodes tell; see fmqm status %s --tree", path, fits, id, id)}
	}
	failed, err := m.carryOut(c, a, deeds)
	sayQueued(c, deeds)
	if err == nil {
		err = failed.outcome(len(deeds))
	}
	return err
}

// executions are those of an activity that a word fits. All pages are read before the first word, which
// may change what is on those after it.
func (m *many) executions(c *cli.Context, a asked, id api.InstanceID, path string) (deeds []deed, err error) {
	page := api.StatusRequest{Tree: true}
	switch m.what {
	case wordRetry:
		page.States = []api.ActivityState{api.ActivityInError}
	case wordRestart, wordWithdraw:
		page.States = []api.ActivityState{api.ActivityTerminated}
	default:
		page.States = []api.ActivityState{api.ActivityInError, api.ActivityRunning, api.ActivityReady}
	}
	var found []api.Activity
	for {
		st, err := a.client.StatusOf(c.Context, id, page)
		if err != nil {
			return nil, err
		}
		warn(c, st.Unreachable, st.More)
		for _, at := range st.Activities {
			if at.Activity == path || api.Shown(at.Scope, at.Activity) == path {
				found = append(found, at)
			}
		}
		if st.Next != "" && st.Next != page.After {
			page.After = st.Next
			continue
		}
		if m.again() {
			found = m.fitting(found, path)
		}
		for _, at := range found {
			deeds = append(deeds, deed{Instance: id, Process: st.Process, State: st.State, Scope: at.Scope, Activity: at.Activity, Node: at.Node, Plan: m.what, Reason: at.Reason})
		}
		return deeds, nil
	}
}

// askWord says what comes of a word that is queued, and how to ask for it.
func askWord(what string, id api.InstanceID, activity, node string, word api.WordID) string {
	will := map[string]string{
		wordRetry: "retries %s as soon as it hears of it", wordFinish: "finishes %s as soon as it hears of it", wordSkip: "skips %s as soon as it hears of it",
		wordRestart: "restarts %s once all have given back what it had come to", wordWithdraw: "gives the restart of %s up as soon as it hears of it",
	}[what]
	command := commandOf(what)
	if what == wordWithdraw {
		command += " --withdraw"
	}
	return fmt.Sprintf("%s "+will+"; for what has come of it, ask again with: fmqm %s %s %s --word %s", node, activity, command, id, activity, word)
}

// begin does what a word about many is about.
func (m *many) begin(c *cli.Context) (err error) {
	switch {
	case c.IsSet("word"):
		return common.Usagef("--word is about one activity: name INSTANCE and ACTIVITY")
	case c.Bool("all"):
		return common.Usagef("--all is about one activity: name INSTANCE and ACTIVITY")
	case m.what == wordRetry && c.IsSet("output"):
		return common.Usagef("--output is for one activity: name INSTANCE and ACTIVITY")
	case c.IsSet("input"):
		return common.Usagef("--input is for one activity: name INSTANCE and ACTIVITY")
	case m.what == wordFinish && !c.IsSet("output"):
		return common.Usagef("--output is missing: what the activity gives, as JSON; fmqm skip ends it without one")
	}
	if m.given, err = readGiven(c); err != nil {
		return err
	}
	return m.do(c)
}
