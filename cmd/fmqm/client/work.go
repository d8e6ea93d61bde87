package client

import (
	"bytes"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/google/uuid"
	"github.com/urfave/cli/v2"

	"fmqm/api"
	common "fmqm/cmd/internal/cli"
)

func workCommand() *cli.Command {
	return &cli.Command{
		Name: "work", Usage: "see the work that is offered to you, and do it",
		Description: `A manual activity is done by a person. It is offered to all people of its site who may do it, one of
them claims it, and completes it with what the process wants to know. These commands are about the
node that is asked (--to): it knows by your login, or your certificate, who you are.

An operator names the person for whom he acts: --as PERSON. The history has both.`,
		UsageText: "fmqm work list\nfmqm work show 4f1c2b9d03aa\nfmqm work claim 4f1c2b9d03aa\nfmqm work complete 4f1c2b9d03aa --output '{\"approved\": true}'",
		Subcommands: []*cli.Command{
			workListCommand(), workShowCommand(), workClaimCommand(), workReleaseCommand(), workTransferCommand(), workSaveCommand(), workCompleteCommand(),
		},
	}
}

func asFlag() cli.Flag {
	return &cli.StringFlag{Name: "as", Usage: "act for this `PERSON` of the node's staff: for operators"}
}

func workListCommand() *cli.Command {
	return &cli.Command{
		Name: "list", Usage: "list what is offered to you, and what you have claimed",
		Description: `Lists the highest priority first, then the oldest. What somebody has claimed is shown to nobody else. With --all
operators see all items of the node. With --limit it shows so many; --after goes on behind an ITEM.`,
		UsageText: "fmqm work list\nfmqm work list --claimed\nfmqm work list --all --process claim -o json\nfmqm work list --limit 20 --after 4f1c2b9d03aa",
		Flags: printing(
			&cli.BoolFlag{Name: "all", Usage: "also what is offered to others, or claimed by them: for operators"},
			&cli.BoolFlag{Name: "claimed", Usage: "only what you have claimed; with --all what anybody has"},
			&cli.StringFlag{Name: "process", Usage: "only items of this `PROCESS`, with or without @VERSION"},
			&cli.StringFlag{Name: "activity", Usage: "only items of this `ACTIVITY`"},
			&cli.IntFlag{Name: "limit", Usage: "at most `N` items (default: all)"},
			&cli.StringFlag{Name: "after", Usage: "begin behind this `ITEM`, the last one of a list before"},
			asFlag(),
		),
		Action: listWork,
	}
}

func listWork(c *cli.Context) error {
	limit := c.Int("limit")
	if c.IsSet("limit") && limit < 1 {
		return common.Usagef("--limit is a number from 1 on")
	}
	a := asked{}
	if err := a.connect(c); err != nil {
		return err
	}
	defer a.client.Close()
	list := a.printer.List(false, "ITEM", "TITLE", "PROCESS", "ACTIVITY", "PRIORITY", "OFFERED", "DUE", "CLAIMED BY")
	r := api.WorkRequest{All: c.Bool("all"), Claimed: c.Bool("claimed"), Process: c.String("process"), Activity: c.String("activity"), After: c.String("after"), As: c.String("as")}
	more := true
	for more && (limit == 0 || list.Count() < limit) {
		r.Limit = api.MaxPage
		if limit > 0 {
			r.Limit = min(api.MaxPage, limit-list.Count())
		}
		page, err := a.client.Work(c.Context, r)
		if err != nil {
			return err
		}
		for _, i := range page.Items {
			if err := list.Row(i, i.Item, titleOf(&i), i.Process, api.Shown(i.Scope, i.Activity), strconv.Itoa(i.Priority), common.Time(i.Offered), common.Time(i.Due), dash(holder(&i))); err != nil {
				return err
			}
			r.After = i.Item
		}
		more = page.More
	}
	switch {
	case list.Count() == 0:
		common.Talk(c, "there is no work here")
	case more:
		common.Talk(c, "there is more: --after %s", r.After)
	}
	return list.End()
}

// titleOf is the title of an item in a list.
func titleOf(i *api.WorkItem) string {
	switch {
	case i.Kind == api.ItemNotice:
		return "notice: " + i.Title
	case i.State == api.ItemSuspended:
		return "suspended: " + i.Title
	}
	return i.Title
}

// holder is who has an item, and for whom.
func holder(i *api.WorkItem) string {
	if i.For != "" {
		return i.ClaimedBy + " for " + i.For
	}
	return i.ClaimedBy
}

func workShowCommand() *cli.Command {
	return &cli.Command{
		Name: "show", Usage: "show an item, with what it is about", ArgsUsage: "ITEM",
		Description: `Shows the item's input, what its output is so far, the output's type, who may have it, and what happened to it. ITEM is
as fmqm work list has it; the beginning of it will do, where no other item begins so.`,
		UsageText: "fmqm work show 4f1c2b9d03aa\nfmqm work show 4f1c -o json",
		Flags:     printing(asFlag()),
		Action: func(c *cli.Context) error {
			item, err := itemOf(c)
			if err != nil {
				return err
			}
			a := asked{}
			if err := a.connect(c); err != nil {
				return err
			}
			defer a.client.Close()
			shown, err := a.client.WorkItem(c.Context, item, c.String("as"))
			if err != nil {
				return err
			}
			return a.printer.Object(shown, func(w io.Writer) error { return showItem(w, &shown) })
		},
	}
}

func itemOf(c *cli.Context) (string, error) {
	item := c.Args().First()
	if item == "" {
		return "", common.Usagef("name an item: write an ITEM that fmqm work list shows")
	}
	return item, nil
}

func showItem(w io.Writer, i *api.WorkShown) error {
	var b strings.Builder
	line := func(name, value string) {
		if value != "" && value != "-" {
			fmt.Fprintf(&b, "%-10s  %s\n", name, common.OneLine(value))
		}
	}
	line("item", i.Item)
	if i.Kind == api.ItemNotice {
		line("kind", string(i.Kind))
		line("of", i.Of)
	}
	line("title", i.Title)
	line("state", string(i.State))
	line("claimed by", holder(&i.WorkItem))
	line("claimed", common.Time(i.Claimed))
	line("process", i.Process)
	line("activity", api.Shown(i.Scope, i.Activity))
	line("instance", i.Instance.String())
	line("priority", strconv.Itoa(i.Priority))
	line("offered", common.Time(i.Offered))
	line("due", common.Time(i.Due))
	lines := func(name string, values []string) {
		for _, v := range values {
			fmt.Fprintf(&b, "%-10s  %s\n", name, v)
			name = ""
		}
	}
	line("eligible", eligible(i))
	lines("input", membersOf(i.Input))
	line("error", common.OneLine(i.Error))
	lines("result", membersOf(i.Output))
	if i.Kind != api.ItemNotice { // which has nothing to fill in
		lines("draft", membersOf(i.Draft))
	}
	types := make([]string, len(i.OutputType))
	for n, m := range i.OutputType {
		types[n] = m.Name + ": " + m.Type
	}
	lines("output", types)
	history := make([]string, len(i.History))
	for n, e := range i.History {
		history[n] = common.Time(e.Time) + " " + common.OneLine(strings.TrimSpace(string(e.Event)+" "+reasonOf(e)))
	}
	lines("history", history)
	_, err := io.WriteString(w, b.String())
	return err
}

// eligible is who may have an item, or, of what nobody may have, how to go on.
func eligible(i *api.WorkShown) string {
	switch {
	case i.Eligible > 0:
		return strconv.Itoa(i.Eligible) + ": " + strings.Join(i.People, ", ")
	case i.Kind == api.ItemNotice: // why has nothing of it: the process goes on beside it
		return "nobody here: who administers the process may take it off: fmqm work complete " + i.Item
	}
	return "nobody here: see fmqm why " + i.Instance.String()
}

// wordFlags are those of what is said about an item.
func wordFlags(own ...cli.Flag) []cli.Flag {
	return printing(append(own,
		&cli.StringFlag{Name: "reason", Usage: "`TEXT` for the history: why"},
		&cli.StringFlag{Name: "word", Usage: "repeat what was said as `ID`: it is done once"},
		asFlag())...)
}

func workClaimCommand() *cli.Command {
	return &cli.Command{
		Name: "claim", Usage: "take an item: nobody else has it then", ArgsUsage: "ITEM",
		Description: `The first who claims an item has it. It is yours once the command has ended with 0. If somebody else was
faster, or you may not have it, it ends with 4, and says who it is, or who may.`,
		UsageText: "fmqm work claim 4f1c2b9d03aa",
		Flags:     wordFlags(),
		Action:    aboutItem(api.WorkClaim, "you have"),
	}
}

func workReleaseCommand() *cli.Command {
	return &cli.Command{
		Name: "release", Usage: "give an item back: it is offered again", ArgsUsage: "ITEM",
		Description: `What was saved of it stays. Operators, who administers the process, and who sees a notice of the item can release what
others have.`,
		UsageText: "fmqm work release 4f1c2b9d03aa --reason holidays",
		Flags:     wordFlags(),
		Action:    aboutItem(api.WorkRelease, "offered again:"),
	}
}

func workTransferCommand() *cli.Command {
	return &cli.Command{
		Name: "transfer", Usage: "give an item to somebody else", ArgsUsage: "ITEM PERSON",
		Description: `PERSON is of the node's staff, and has to be one who may have the item. Operators, who administers the
process, and who sees a notice of the item can transfer what others have, and what nobody has.`,
		UsageText: "fmqm work transfer 4f1c2b9d03aa bob",
		Flags:     wordFlags(),
		Action: func(c *cli.Context) error {
			to := c.Args().Get(1)
			if to == "" {
				return common.Usagef("name a person: fmqm work transfer ITEM PERSON")
			}
			return say(c, api.WorkTransfer, api.WorkWord{To: to}, "given to "+to+":")
		},
	}
}

func outputFlag(what string) cli.Flag {
	return &cli.StringFlag{Name: "output", Usage: what + " as `JSON`, @FILE, or - for standard input"}
}

func workSaveCommand() *cli.Command {
	return &cli.Command{
		Name: "save", Usage: "keep what you have done of an item so far", ArgsUsage: "ITEM",
		Description: `Changes the members that the JSON names, and keeps the others. On a terminal, without --output, it asks for
each of them.`,
		UsageText: "fmqm work save 4f1c2b9d03aa --output '{\"remark\": \"waiting for the garage\"}'",
		Flags:     wordFlags(outputFlag("the members that change,")),
		Action:    withOutput(api.WorkSave, "saved:"),
	}
}

func workCompleteCommand() *cli.Command {
	return &cli.Command{
		Name: "complete", Usage: "complete an item with its output: the process goes on", ArgsUsage: "ITEM",
		Description: `Changes the members of the output that the JSON names, and keeps the others as they are: as they were saved, or
as the input has them. On a terminal, without --output, it asks for each of them. What nobody has claimed is
claimed with it.

A notice has no output: it is off the worklists then.

An output of another type is refused, and nothing changes. Attachments are references: a file name, a URL.`,
		UsageText: "fmqm work complete 4f1c2b9d03aa\nfmqm work complete 4f1c2b9d03aa --output '{\"approved\": true}'\nfmqm work complete 4f1c2b9d03aa --output @claim.json",
		Flags:     wordFlags(outputFlag("the members that change,")),
		Action:    withOutput(api.WorkComplete, "completed:"),
	}
}

// aboutItem is the action of a command that says one thing about an item.
func aboutItem(verb api.WorkVerb, told string) cli.ActionFunc {
	return func(c *cli.Context) error { return say(c, verb, api.WorkWord{}, told) }
}

// withOutput is that of a command that may bring an output, or asks for it on a terminal.
func withOutput(verb api.WorkVerb, told string) cli.ActionFunc {
	return func(c *cli.Context) error {
		output, err := common.ReadJSON(c, "output")
		if err != nil {
			return err
		}
		switch {
		case output.Text == nil && interactive(c):
			return fillIn(c, verb, told)
		case output.Text == nil && verb == api.WorkSave:
			return common.Usagef("name what is to be saved: --output JSON; only a terminal can be asked for it")
		case output.Text == nil:
			told = "completed as it stood, for want of --output:"
		}
		return output.Explain(c, say(c, verb, api.WorkWord{Output: bytes.TrimSpace(output.Text)}, told))
	}
}

// say says something about the item that a command names.
func say(c *cli.Context, verb api.WorkVerb, w api.WorkWord, told string) error {
	item, err := itemOf(c)
	if err != nil {
		return err
	}
	a := asked{}
	if err := a.connect(c); err != nil {
		return err
	}
	defer a.client.Close()
	done, err := saying(c, a, item, verb, w)
	if err != nil {
		return err
	}
	what := told + " item"
	if done.Kind == api.ItemNotice { // nothing was completed by that
		what = "taken off the worklists: notice"
	}
	common.Talk(c, "%s %s, %s of %s", what, done.Item, api.Shown(done.Scope, done.Activity), done.Process)
	return a.printer.Object(done, func(io.Writer) error { return nil })
}

// saying sends a word about an item under an identifier of its own: who does not hear what came of it repeats it with
// that.
func saying(c *cli.Context, a asked, item string, verb api.WorkVerb, w api.WorkWord) (api.WorkDone, error) {
	w.Reason, w.As = c.String("reason"), c.String("as")
	var err error
	if text := c.String("word"); text != "" {
		w.Word, err = uuid.Parse(text)
	} else {
		w.Word, err = uuid.NewV7()
	}
	if err != nil {
		return api.WorkDone{}, common.Usagef("--word: %q is not the identifier of a word", c.String("word"))
	}
	done, err := a.client.SayWork(c.Context, item, verb, w)
	if api.MayHaveHappened(err) && !c.IsSet("word") {
		common.Talk(c, "nobody knows whether it was done: repeat it with --word %s", w.Word)
	}
	return done, err
}
