package client

import (
	"cmp"
	"fmt"
	"time"

	"github.com/urfave/cli/v2"

	"fmqm/api"
	common "fmqm/cmd/internal/cli"
)

func listCommand() *cli.Command {
	return &cli.Command{
		Name: "list", Usage: "list instances, over all sites",
		Description: `Lists the instances that have not ended, newest first, wherever they were started: at the
node you ask, or at another site of a process in which that node has a part. Sites that do
not answer are named. ORIGIN is where an instance was started. The state is that of fmqm
status; for a running instance the number of activities in error is shown.

With --state unknown it lists of which instances something waits at the site where they were
started, as other sites say, and which that site does not know: it has lost its store, or
another site has made them up. fmqm why INSTANCE --process PROCESS says who tells of it.`,
		UsageText: `fmqm list
fmqm list --all -o jsonl
fmqm list --in-error --process purchase-order --since 2h
fmqm list --state finished --since 2025-06-01 --limit 20`,
		Flags: printing(append(filterFlags(),
			&cli.BoolFlag{Name: "all", Usage: "also those that have ended"},
			&cli.BoolFlag{Name: "here", Usage: "only those that were started at the node that is asked"})...),
		Action: asks(list),
	}
}

func list(c *cli.Context, a asked) error {
	f, err := readFilter(c)
	if err != nil {
		return err
	}
	f.request.All, f.request.Everywhere = c.Bool("all"), !c.Bool("here")
	columns, cells := listColumns(a.printer.Narrow(), f.ended(), time.Now())
	list := a.printer.List(false, columns...)
	found, err := f.each(c.Context, a.client, func(i api.Instance) error { return list.Row(i, cells(i)...) })
	if err != nil {
		return err
	}
	if err := list.End(); err != nil {
		return err
	}
	switch {
	case found.more:
		common.Talk(c, "there are more: --limit says how many are listed")
	case list.Count() > 0:
	case len(f.given) > 0:
		common.Talk(c, "no instance fits %s", f)
	case !c.Bool("all"):
		common.Talk(c, "nothing is under way; --all lists what has ended")
	}
	found.warn(c)
	return nil
}

// listColumns gives the columns of a list and what stands in them. On a terminal lines
// should not break: times of today stand without the day, and what has not ended needs no
// column for when it did.
func listColumns(terminal, ended bool, now time.Time) ([]string, func(api.Instance) []string) {
	columns := []string{"INSTANCE", "PROCESS", "STATE", "STARTED", "ENDED", "ORIGIN", "KEY"}
	when, none := common.Time, "-"
	if terminal {
		when, none = timeOf(now), ""
	}
	return columns, func(i api.Instance) []string {
		at := when(i.Ended)
		if terminal && !ended {
			at = "" // nor a column
		}
		return []string{i.Instance.String(), i.Process, listState(i), when(i.Started), at, cmp.Or(i.Origin, none), cmp.Or(i.Key, none)}
	}
}

// listState says beside the state how many activities are in error although the instance
// still runs.
func listState(i api.Instance) string {
	if i.InError > 0 && i.State == api.InstanceRunning {
		return fmt.Sprintf("%s (%d in error)", i.State, i.InError)
	}
	return string(i.State)
}
