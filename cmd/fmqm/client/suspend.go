package client

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"

	"github.com/google/uuid"
	"github.com/urfave/cli/v2"

	"fmqm/api"
	common "fmqm/cmd/internal/cli"
)

const (
	wordSuspend = "suspend"
	wordResume  = "resume"
)

// manyExit says how a command about many instances ends.
const manyExit = `The exit code is 0 if all was done or planned; the code of what failed, or 1 if the failures
differ; 5 if a site did not answer.`

func suspendCommand() *cli.Command {
	return &cli.Command{
		Name: wordSuspend, Usage: "let an instance rest, or an activity of it, or many", ArgsUsage: "[INSTANCE] [ACTIVITY]",
		Description: `Nothing of it is decided, started or offered any more until fmqm resume: at every site of its
process as soon as that hears of it. Programs that run end, and their results are kept. What
comes meanwhile waits, and deadlines go on. The instances of its subprocesses rest too, unless
they are independent. fmqm status says what is suspended, by whom, and which sites have not
heard of it yet.

With ACTIVITY only that rests, with all that is inside of it. A name alone means each of its
executions; documents#2/check means one. With --until it goes on by itself at that time.

The node where the instance was started decides: it must be reachable, else the exit code is
5 and nothing has changed.

Without INSTANCE it suspends the instances that --in-error, --process, --since and --state
select, over all sites, as fmqm list does. It shows the plan and does nothing, unless you
give --yes. Then it says for each what happened; a failure does not stop the others.

` + manyExit,
		UsageText: "fmqm suspend " + example + "\nfmqm suspend " + example + ` ship --until 2026-07-01T06:00:00Z --reason "stock-taking"
fmqm suspend --process purchase-order@1
fmqm suspend --process purchase-order@1 --yes`,
		Flags: printing(append(manyFlags(),
			&cli.StringFlag{Name: "until", Usage: "it goes on by itself at `TIME`, as 2026-07-01T06:00:00Z, or in so long, as 8h"},
			&cli.StringFlag{Name: "reason", Usage: "`TEXT` for the history: why"})...),
		Action: suspend,
	}
}

func resumeCommand() *cli.Command {
	return &cli.Command{
		Name: wordResume, Usage: "let what was suspended go on, or many", ArgsUsage: "[INSTANCE] [ACTIVITY]",
		Description: `Lifts all suspends of the instance that are known where it was started; with ACTIVITY those
of that; with --only the one of this identifier, which fmqm status shows. What has waited goes
on, at each site as soon as that hears of it.

The node where the instance was started decides: it must be reachable, else the exit code is
5 and nothing has changed.

Without INSTANCE it resumes the instances that --in-error, --process, --since and --state
select, over all sites, as fmqm list does. It shows the plan and does nothing, unless you
give --yes. Then it says for each what happened; a failure does not stop the others.

` + manyExit,
		UsageText: "fmqm resume " + example + "\nfmqm resume " + example + ` ship
fmqm resume --process purchase-order@1 --yes`,
		Flags: printing(append(manyFlags(),
			&cli.StringFlag{Name: "only", Usage: "lift the suspend `ID` alone"},
			&cli.StringFlag{Name: "reason", Usage: "`TEXT` for the history: why"})...),
		Action: resume,
	}
}

// aboutActivity is aboutMany of a command whose ACTIVITY may be missing.
func aboutActivity(c *cli.Context, what string) (*many, error) {
	if c.NArg() == 1 {
		return aboutMany(c, what, "INSTANCE")
	}
	return aboutMany(c, what, "INSTANCE", "ACTIVITY")
}

// until reads a time to come: a moment, or how long it takes until it.
func until(c *cli.Context) (time.Time, error) {
	text := c.String("until")
	if text == "" {
		return time.Time{}, nil
	}
	if t, err := time.Parse(time.RFC3339, text); err == nil {
		return t.UTC(), nil
	}
	if d, err := time.ParseDuration(text); err == nil && d > 0 {
		return time.Now().Add(d).UTC().Truncate(time.Second), nil
	}
	return time.Time{}, common.Usagef("--until %s: write a time such as 2026-07-01T06:00:00Z, or how long, such as 8h", text)
}

func suspend(c *cli.Context) error {
	many, err := aboutActivity(c, wordSuspend)
	if err != nil {
		return err
	}
	to, err := until(c)
	if err != nil {
		return err
	}
	if many != nil {
		many.until = to
		return many.do(c)
	}
	scope, activity := api.CutScope(c.Args().Get(1))
	return ofInstance(c, func(a asked, id api.InstanceID) (api.Word, error) {
		return a.client.Suspend(c.Context, id, api.SuspendRequest{Scope: scope, Activity: activity, Until: to, Reason: c.String("reason")})
	})
}

func resume(c *cli.Context) error {
	many, err := aboutActivity(c, wordResume)
	if err != nil {
		return err
	}
	r := api.ResumeRequest{Reason: c.String("reason")}
	if only := c.String("only"); only != "" {
		if r.Only, err = uuid.Parse(only); err != nil {
			return common.Usagef("--only: %q is not the identifier of a suspend: fmqm status shows them", only)
		}
		if many != nil || c.NArg() > 1 {
			return common.Usagef("--only is about one suspend: name INSTANCE, and nothing else")
		}
	}
	if many != nil {
		return many.do(c)
	}
	r.Scope, r.Activity = api.CutScope(c.Args().Get(1))
	return ofInstance(c, func(a asked, id api.InstanceID) (api.Word, error) { return a.client.Resume(c.Context, id, r) })
}

// ofInstance says a word about an instance, and what has come of it.
func ofInstance(c *cli.Context, say func(asked, api.InstanceID) (api.Word, error)) error {
	id, err := api.ParseInstance(c.Args().First())
	if err != nil {
		return err
	}
	a := asked{}
	if err := a.connect(c); err != nil {
		return err
	}
	defer a.client.Close()
	word, err := say(a, id)
	if err != nil {
		return err
	}
	what := cmp.Or(api.Shown(word.Scope, word.Activity), id.String())
	switch word.Word {
	case wordExpedite:
		common.Talk(c, "%s has priority %s from now on; see fmqm status %s", what, cmp.Or(c.Args().Get(1), strconv.Itoa(api.MaxPriority)), id)
	case wordSuspend:
		common.Talk(c, "%s is suspended: %s; see fmqm status %s, and fmqm resume", what, word.ID, id)
	default:
		common.Talk(c, "%s goes on; see fmqm status %s", what, id)
	}
	if word.Reason != "" {
		common.Talk(c, "it %s", word.Reason)
	}
	return a.printer.Object(word, func(io.Writer) error { return nil })
}

// word says it of one of many instances.
func (m *many) word(ctx context.Context, client *api.Client, d *deed) {
	var word api.Word
	switch m.what {
	case wordSuspend:
		word, d.err = client.Suspend(ctx, d.Instance, api.SuspendRequest{Until: m.until, Reason: m.reason, Quick: true})
	case wordExpedite:
		word, d.err = client.Expedite(ctx, d.Instance, api.ExpediteRequest{Priority: m.priority, Reason: m.reason, Quick: true})
	default:
		word, d.err = client.Resume(ctx, d.Instance, api.ResumeRequest{Reason: m.reason, Quick: true})
		if d.err = unlessResumed(ctx, client, d); d.err == nil {
			word.Result = cmp.Or(word.Result, api.WordDone)
		}
	}
	d.Result, d.Reason = string(word.Result), word.Reason
}

// unlessResumed is why one of many instances does not go on; of one that nothing of is suspended nothing: that is what was wanted.
func unlessResumed(ctx context.Context, client *api.Client, d *deed) error {
	if api.CodeOf(d.err) != api.CodeRefused {
		return d.err
	}
	if s, err := client.Status(ctx, d.Instance); err == nil && len(s.Suspends) == 0 && len(s.Unreachable) == 0 {
		return nil
	}
	return d.err
}

// suspendedLines say in a status what is suspended, and which sites have not heard of it.
func suspendedLines(st api.Status) (lines [][2]string) {
	for _, s := range st.Suspends {
		text := cmp.Or(api.Shown(s.Scope, s.Activity), "the instance") + " by " + cmp.Or(s.By, "an operator") + " since " + common.Time(s.Since)
		if !s.Until.IsZero() {
			text += " until " + common.Time(s.Until)
		}
		if s.Reason != "" {
			text += ": " + s.Reason
		}
		lines = append(lines, [2]string{"suspended", common.OneLine(fmt.Sprintf("%s (%s)", text, s.ID))})
	}
	for _, p := range st.Pending {
		heard := " has not heard of the "
		if slices.ContainsFunc(st.Unreachable, func(u api.Unreachable) bool { return u.Node == p.Node }) {
			heard = " may not have heard of the " // only that site could say so
		}
		text := p.Node + heard + p.Word + " " + p.ID.String()
		if !p.LastHeard.IsZero() {
			text += ", last heard " + common.Time(p.LastHeard)
		}
		lines = append(lines, [2]string{"pending", text})
	}
	return lines
}
