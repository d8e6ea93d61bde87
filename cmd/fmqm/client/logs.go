package client

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"fmqm/api"
	common "fmqm/cmd/internal/cli"
)

// logsShown is how many attempts are shown unless --limit says otherwise.
const logsShown = 20

func logsCommand() *cli.Command {
	return &cli.Command{
		Name: "logs", Usage: "show what programs of an instance have written last", ArgsUsage: "INSTANCE [ACTIVITY]",
		Description: `Shows what programs have written to standard error, and to standard output where their
activity has no output; of a web service the beginning of its answer to a failed attempt. Each
site keeps it for a while, as its configuration says, and is asked for it. What an attempt under
way has written so far is shown too. Several attempts come in the order in which they ended.

ACTIVITY is a PATH, with what is inside of it: check wherever it is, documents#2/check one
execution of it, count[3] one element. Without it all activities are shown.`,
		UsageText: "fmqm logs " + example + " check-credit\nfmqm logs " + example + " 'count[3]' --attempt 2\nfmqm logs " + example + " -o jsonl",
		Flags: printing(
			&cli.IntFlag{Name: "attempt", Usage: "only attempts with the number `N`, from 1 on"},
			&cli.IntFlag{Name: "limit", Value: logsShown, Usage: "the newest `N` attempts, at most 1000"}),
		Action: asks(logs),
	}
}

func logs(c *cli.Context, a asked) error {
	r := api.LogsRequest{Activity: c.Args().Get(1), Attempt: c.Int("attempt"), Limit: c.Int("limit")}
	switch {
	case c.IsSet("attempt") && r.Attempt < 1:
		return common.Usagef("--attempt %d: attempts have numbers from 1 on", r.Attempt)
	case r.Limit < 1 || r.Limit > api.MaxPage:
		return common.Usagef("--limit %d: write a number from 1 to %d", r.Limit, api.MaxPage)
	}
	answer, err := a.client.Logs(c.Context, a.instance, r)
	if err != nil {
		return err
	}
	if len(answer.Logs) == 0 && len(answer.Unreachable) > 0 {
		return api.Errorf(api.CodeUnreachable, "ask again when they are back, or ask there", "nothing is kept at the sites that answered; unreachable: %s", unheard(answer.Unreachable))
	}
	warn(c, answer.Unreachable, nil)
	if answer.More {
		common.Talk(c, "there are older attempts: name one activity, or write a higher --limit (up to %d)", api.MaxPage)
	}
	if len(answer.Logs) == 0 {
		of := "this instance"
		if r.Activity != "" {
			of = r.Activity
		}
		common.Talk(c, "nothing is kept that a program of %s has written: it may have written nothing, or that is too old (fmqm history has the last lines of failed attempts)", of)
	}
	if a.printer.Format == common.Table {
		return a.printer.Object(answer, func(w io.Writer) error { return writeLogs(w, answer.Logs) })
	}
	list := a.printer.List(false)
	for _, l := range answer.Logs {
		if err := list.Row(l); err != nil {
			return err
		}
	}
	return list.End()
}

// writeLogs writes what attempts have written, each below a line that says whose it is. No character of it
// steers a terminal.
func writeLogs(w io.Writer, all []api.AttemptLog) error {
	var b strings.Builder
	for i, l := range all {
		if i > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "==> %s <==\n", common.OneLine(logHead(l)))
		if l.Skipped > 0 {
			fmt.Fprintf(&b, "[%d bytes before this are not kept]\n", l.Skipped)
		}
		if l.Text == "" {
			b.WriteString("[nothing so far]\n")
			continue
		}
		for line := range strings.SplitSeq(l.Text, "\n") {
			b.WriteString(common.OneLine(line) + "\n")
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// logHead says which attempt it is, and how it ended.
func logHead(l api.AttemptLog) string {
	head := fmt.Sprintf("%s at %s, program %s", api.Shown(l.Scope, l.Activity), l.Node, l.Program)
	if l.Iteration > 1 {
		head += fmt.Sprintf(", iteration %d", l.Iteration)
	}
	if l.Run > 1 {
		head += fmt.Sprintf(", run %d", l.Run)
	}
	head += fmt.Sprintf(", attempt %d, begun %s", l.Attempt, common.Time(l.Started))
	switch {
	case l.Ended.IsZero():
		return head + ", runs"
	case l.Error != "":
		return head + fmt.Sprintf(", failed after %s: %s", l.Ended.Sub(l.Started).Round(time.Millisecond), l.Error)
	}
	return head + fmt.Sprintf(", return code %s after %s", rc(l.RC), l.Ended.Sub(l.Started).Round(time.Millisecond))
}
