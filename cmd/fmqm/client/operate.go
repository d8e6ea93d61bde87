package client

import (
	"bytes"
	"cmp"
	"fmt"
	"io"

	"github.com/google/uuid"
	"github.com/urfave/cli/v2"

	"fmqm/api"
	common "fmqm/cmd/internal/cli"
)

func retryCommand() *cli.Command {
	return &cli.Command{
		Name: "retry", Usage: "let an activity in error go on, or many", ArgsUsage: "[INSTANCE] [ACTIVITY]",
		Description: `Runs the activity's program again. If the program had ended and a condition failed, only
the condition is evaluated again. With --output the program does not run: it counts as
ended with return code 0 and this output.

Without INSTANCE it retries every activity in error of the instances that --in-error,
--process, --since and --state select, over all sites, as fmqm list does. It shows the plan
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
			&cli.StringFlag{Name: "output", Usage: "use `JSON`, @FILE, or - for standard input, as the output"},
			&cli.StringFlag{Name: "reason", Usage: "`TEXT` for the history: why"},
			&cli.StringFlag{Name: "word", Usage: "ask for what has come of the retry `ID`, which was queued"})...),
		Action: retry,
	}
}

func retry(c *cli.Context) error {
	many, err := aboutMany(c, "retry", "INSTANCE", "ACTIVITY")
	if err != nil {
		return err
	}
	if many != nil {
		if c.IsSet("output") {
			return common.Usagef("--output is for one activity: name INSTANCE and ACTIVITY")
		}
		if c.IsSet("word") {
			return common.Usagef("--word is about one activity: name INSTANCE and ACTIVITY")
		}
		if c.Bool("all") {
			return common.Usagef("--all is about one activity: name INSTANCE and ACTIVITY")
		}
		return many.do(c)
	}
	id, err := api.ParseInstance(c.Args().First())
	if err != nil {
		return err
	}
	if c.Bool("all") {
		return retryAll(c, id, c.Args().Get(1))
	}
	output, err := common.ReadJSON(c, "output")
	if err != nil {
		return err
	}
	scope, activity := api.CutScope(c.Args().Get(1))
	r := api.RetryRequest{Scope: scope, Activity: activity, Output: bytes.TrimSpace(output.Text), Reason: c.String("reason")}
	if text := c.String("word"); text != "" {
		if r.Word, err = uuid.Parse(text); err != nil {
			return common.Usagef("--word: %q is not the identifier of a word: an answer that said \"queued\" has it", text)
		}
		r.Asked = true
	}
	a := asked{}
	if err := a.connect(c); err != nil {
		return err
	}
	defer a.client.Close()
	word, err := a.client.Retry(c.Context, id, r)
	if err != nil {
		return output.Explain(c, err)
	}
	name := cmp.Or(api.Shown(word.Scope, word.Activity), c.Args().Get(1))
	if word.Result == api.WordQueued {
		common.Talk(c, "queued: %s: %s", word.Reason, askWord(id, name, word.Node, word.ID))
	} else {
		common.Talk(c, "%s goes on; see fmqm status %s", name, id)
	}
	return a.printer.Object(word, func(io.Writer) error { return nil })
}

// retryAll retries every execution of an activity that is in error.
func retryAll(c *cli.Context, id api.InstanceID, path string) error {
	if c.IsSet("output") || c.IsSet("word") {
		return common.Usagef("--output and --word are for one execution: leave out --all, or name it, such as documents#2/%s", path)
	}
	a := asked{}
	if err := a.connect(c); err != nil {
		return err
	}
	defer a.client.Close()
	deeds, err := retriesOf(c, a, id, path)
	if err != nil {
		return err
	}
	if len(deeds) == 0 {
		return &common.Error{Exit: common.ExitNotFound, Text: fmt.Sprintf("%s is nowhere in error in %s, as far as the nodes tell; see fmqm status %s --tree", path, id, id)}
	}
	m := &many{what: "retry", reason: c.String("reason")}
	failed, err := m.carryOut(c, a, deeds)
	sayQueued(c, deeds)
	if err == nil {
		err = failed.outcome(len(deeds))
	}
	return err
}

// retriesOf are those of every execution of an activity. All pages are read before the first retry, which
// may change what is on those after it.
func retriesOf(c *cli.Context, a asked, id api.InstanceID, path string) (deeds []deed, err error) {
	for page := (api.StatusRequest{Tree: true, States: []api.ActivityState{api.ActivityInError}}); ; {
		st, err := a.client.StatusOf(c.Context, id, page)
		if err != nil {
			return nil, err
		}
		warn(c, st.Unreachable, st.More)
		for _, at := range st.Activities {
			if name := api.Shown(at.Scope, at.Activity); at.Activity == path || name == path {
				deeds = append(deeds, deed{Instance: id, Process: st.Process, State: st.State, Scope: at.Scope, Activity: at.Activity, Node: at.Node, Plan: "retry", Reason: at.Reason})
			}
		}
		if st.Next == "" || st.Next == page.After {
			return deeds, nil
		}
		page.After = st.Next
	}
}

// askWord says what comes of a retry that is queued, and how to ask for it.
func askWord(id api.InstanceID, activity, node string, word api.WordID) string {
	return fmt.Sprintf("%s retries %s as soon as it hears of it; for what has come of it, ask again with: fmqm retry %s %s --word %s", node, activity, id, activity, word)
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
		UsageText: "fmqm terminate " + example + "\nfmqm terminate " + example + ` --process stock-run@1
fmqm terminate --process purchase-order@1 --state in-error
fmqm terminate --process purchase-order@1 --state in-error --yes`,
		Flags:  printing(manyFlags()...),
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
	if err := a.client.Terminate(c.Context, id, of); err != nil {
		return err
	}
	if of == "" {
		common.Talk(c, "%s is being terminated; see fmqm status %s", id, id)
	} else {
		common.Talk(c, "%s of %s is being terminated; see fmqm why %s --process %s", id, of, id, of)
	}
	return a.printer.Object(struct{}{}, func(io.Writer) error { return nil })
}
