package client

import (
	"fmt"
	"io"
	"strings"

	"github.com/urfave/cli/v2"

	"fmqm/api"
	common "fmqm/cmd/internal/cli"
)

func statusCommand() *cli.Command {
	return &cli.Command{
		Name: "status", Usage: "show an instance and its activities at all nodes", ArgsUsage: "INSTANCE",
		Description: `Shows what the nodes of the process know of the instance. It names each unreachable node,
and when it was last heard. The activities at such a node are unknown.

It shows the top of the instance, a block in one line. With --scope it shows what is inside
of a block: documents is its newest iteration, documents#2 the second one. With --tree it
shows all, each block before its iterations, and then the instances that activities of
subprocesses have begun. Where it does not show all that there are it
says so, and with which --after the next ones come.`,
		UsageText: "fmqm status " + example + "\nfmqm status " + example + " --scope documents#2\nfmqm status " + example + " --tree --state in-error\nfmqm status " + example + " -o json",
		Flags: printing(
			&cli.StringFlag{Name: "scope", Usage: "what is inside of the block `PATH`, without iteration in its newest"},
			&cli.BoolFlag{Name: "tree", Usage: "all activities, also those inside of blocks"},
			&cli.StringSliceFlag{Name: "state", Usage: "only activities in `STATE`; can be repeated"},
			&cli.IntFlag{Name: "limit", Usage: "at most `N` activities (by default all, or 1000 of a tree)"},
			&cli.StringFlag{Name: "after", Usage: "only those after `PATH`, the last one that was shown"}),
		Action: asks(status),
	}
}

func status(c *cli.Context, a asked) error {
	r := api.StatusRequest{Scope: c.String("scope"), Tree: c.Bool("tree"), Limit: c.Int("limit"), After: c.String("after")}
	for _, s := range c.StringSlice("state") {
		r.States = append(r.States, api.ActivityState(s))
	}
	switch {
	case r.Tree && r.Scope != "":
		return common.Usagef("--scope is about one block, and --tree shows all: leave one of them out")
	case c.IsSet("limit") && (r.Limit < 1 || r.Limit > api.MaxPage):
		return common.Usagef("--limit: write a number from 1 to %d, and go on with --after", api.MaxPage)
	}
	st, err := a.client.StatusOf(c.Context, a.instance, r)
	if err != nil {
		return err
	}
	if r.Tree {
		left := maxChildren
		if err := addChildren(c, a, &st, &left); err != nil {
			return err
		}
	}
	if err := printStatus(a.printer, st); err != nil {
		return err
	}
	if st.Next != "" {
		common.Talk(c, "there may be more: --after %s", common.OneLine(st.Next))
	}
	return nil
}

// printStatus prints a status as every command does.
func printStatus(p *common.Printer, st api.Status) error {
	return p.Object(st, func(w io.Writer) error {
		if err := statusHead(p, w, st); err != nil || len(st.Activities) == 0 {
			return err
		}
		when := common.Time
		if p.Narrow() { // there lines should not break: the head says the day
			when = timeOf(st.Started)
		}
		rows := make([][]string, len(st.Activities))
		below, depth := make([]detail, len(st.Activities)), make([]int, len(st.Activities))
		for i, a := range st.Activities {
			name := api.Shown(a.Scope, a.Activity)
			rows[i] = []string{name, nodeOf(&a), string(a.State), number(a.Iterations), rc(a.RC), when(a.Started), when(a.Ended), whyEnded(&a)}
			depth[i] = depthOf(st.Scope, a.Scope)
			below[i] = detail{name, a.Node, a.State, a.Input, a.Stderr}
		}
		if _, err := fmt.Fprintln(w); err != nil {
			return err
		}
		if err := p.WriteTree([]string{"ACTIVITY", "NODE", "STATE", "ITERATIONS", "RC", "STARTED", "ENDED", "REASON"}, rows, depth); err != nil {
			return err
		}
		if err := details(p, w, below); err != nil {
			return err
		}
		for _, child := range st.Children {
			if _, err := fmt.Fprintln(w); err != nil {
				return err
			}
			if err := printStatus(p, child); err != nil {
				return err
			}
		}
		return nil
	})
}

// maxChildren is of how many instances a tree is shown.
const maxChildren = 100

// addChildren adds the instances that the activities of a status have begun, each with its own.
func addChildren(c *cli.Context, a asked, st *api.Status, left *int) error {
	for _, activity := range st.Activities {
		if activity.Child == nil {
			continue
		}
		if *left == 0 {
			common.Talk(c, "there are more instances of subprocesses than %d: fmqm list --parent %s has them", maxChildren, st.Instance)
			return nil
		}
		*left--
		child, err := a.client.StatusOf(c.Context, *activity.Child, api.StatusRequest{Tree: true})
		if err != nil {
			common.Talk(c, "instance %s, which %s has begun: %v", activity.Child, api.Shown(activity.Scope, activity.Activity), err)
			continue
		}
		if err := addChildren(c, a, &child, left); err != nil {
			return err
		}
		st.Children = append(st.Children, child)
	}
	return nil
}

// depthOf is how many blocks are around an activity, other than those around all that are shown.
func depthOf(shown, scope string) int {
	if scope == "" || scope == shown {
		return 0
	}
	return 1 + strings.Count(scope, "/")
}

// nodeOf is where an activity is, and, of a call, where its work is done, as fmqm-define run shows it.
func nodeOf(a *api.Activity) string {
	if a.At == "" || a.At == a.Node {
		return a.Node
	}
	return a.Node + ", at " + a.At
}

// elements says how far an activity with for_each has come.
func elements(e *api.Elements) string {
	all := []string{fmt.Sprintf("%d elements", e.Count), fmt.Sprintf("%d done", e.Done)}
	if e.Count == 1 {
		all[0] = "1 element"
	}
	for _, more := range []struct {
		n    int
		what string
	}{{e.Failed, "failed"}, {e.Cancelled, "cancelled"}, {e.InError, "in error"}} {
		if more.n > 0 {
			all = append(all, fmt.Sprintf("%d %s", more.n, more.what))
		}
	}
	return strings.Join(all, ", ")
}

// awaited says for which events a receive waits, as fmqm-define run does.
func awaited(w *api.EventWait) string {
	text := "waits for " + strings.Join(w.Events, " or ")
	if w.Key != "" {
		text += ", key " + w.Key
	}
	return text
}

// whyEnded is what people are told of how an activity has ended, or of what it is in.
func whyEnded(a *api.Activity) string {
	switch {
	case a.Timeout:
		return "its deadline has come"
	case a.Error != "":
		return "goes on after an error: " + a.Error
	case a.Reason == "" && a.Child != nil && a.State == api.ActivityRunning:
		return "instance " + a.Child.String() + " of " + a.Of
	case a.Reason == "" && a.Elements != nil:
		return elements(a.Elements)
	case a.Reason == "" && a.Waits != nil:
		return awaited(a.Waits)
	}
	return a.Reason
}
