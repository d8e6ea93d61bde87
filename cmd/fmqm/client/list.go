package client

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
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

With filters the list is read from an index, page by page, however many instances there
are; --where, --activity and --starter read each instance that the other filters leave, so
name the process, state or time as well. --search finds instances by an index too: by
members of their input that the process declares as search. --after goes on behind the
last line of a list before. --count says how many there are, and not which.

With --state unknown it lists of which instances something waits at the site where they were
started, as other sites say, and which that site does not know: it has lost its store, or
another site has made them up. fmqm why INSTANCE --process PROCESS says who tells of it.`,
		UsageText: `fmqm list
fmqm list --all -o jsonl
fmqm list --in-error --process purchase-order --since 2h
fmqm list --state finished --since 2025-06-01 --limit 20
fmqm list --process claim --where 'amount > 1000.0' --older 3d --count
fmqm list --process claim --all --search claim_id=C-17
fmqm list --process claim --search 'customer.name=Mei*' --search 'due<2026-07-01'
fmqm list --activity ship --waiting-on C --everywhere`,
		Flags: printing(append(filterFlags(),
			&cli.BoolFlag{Name: "all", Usage: "also those that have ended"},
			&cli.BoolFlag{Name: "here", Usage: "only those that were started at the node that is asked"},
			&cli.BoolFlag{Name: "everywhere", Usage: "of all sites, as without --here; where one does not answer the command ends with 5"},
			&cli.StringFlag{Name: "after", Usage: "go on behind `INSTANCE`, the last one of a list before"},
			&cli.StringFlag{Name: "sort", Value: "newest", Usage: "by the start, in `ORDER`: newest or oldest first"},
			&cli.BoolFlag{Name: "count", Usage: "say how many there are: in all, in each state, and of those that run in how many an activity is in error"})...),
		Action: asks(list),
	}
}

func list(c *cli.Context, a asked) error {
	f, err := readFilter(c)
	if err != nil {
		return err
	}
	if err := f.readOrder(c); err != nil {
		return err
	}
	if c.Bool("count") {
		return countInstances(c, a, f)
	}
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
		common.Talk(c, "there are more: --limit says how many are listed, --after goes on behind the last of them")
	case list.Count() > 0:
	case len(f.given) > 0:
		common.Talk(c, "no instance fits %s", f)
	case !c.Bool("all"):
		common.Talk(c, "nothing is under way; --all lists what has ended")
	}
	return found.end(c)
}

// readOrder reads of which sites a list is, in which order, and where it begins.
func (f *filter) readOrder(c *cli.Context) (err error) {
	f.request.All, f.request.Everywhere = c.Bool("all"), !c.Bool("here")
	switch order := c.String("sort"); {
	case c.Bool("here") && c.Bool("everywhere"):
		return common.Usagef("--here and --everywhere exclude each other: write one of them")
	case order != "newest" && order != "oldest":
		return common.Usagef("--sort %s: write newest or oldest", order)
	case c.Bool("count") && (c.IsSet("limit") || c.IsSet("after")):
		return common.Usagef("--count is of all that the filters name: leave out --limit and --after")
	case f.request.State == api.InstanceUnknown && (c.Bool("count") || c.IsSet("after") || order == "oldest"):
		return common.Usagef("--state unknown: what waits for no start has no time, and is listed as it is: leave out --count, --after and --sort")
	default:
		f.request.Oldest = order == "oldest"
	}
	if c.IsSet("after") {
		f.request.After, err = api.ParseInstance(c.String("after"))
	}
	return err
}

// end names the sites that are unreachable. With --everywhere the command fails because of them.
func (f found) end(c *cli.Context) error {
	f.warn(c)
	if c.Bool("everywhere") && len(f.unreachable) > 0 {
		return &common.Error{Exit: common.ExitUnreachable, Text: "some sites are unreachable: repeat the command when they are back"}
	}
	return nil
}

// countInstances prints how many instances there are.
func countInstances(c *cli.Context, a asked, f filter) error {
	n, found, err := f.count(c.Context, a.client)
	if err != nil {
		return err
	}
	err = a.printer.Object(n, func(io.Writer) error {
		columns, row := []string{"COUNT"}, []string{strconv.Itoa(n.Count)}
		for _, state := range slices.Sorted(maps.Keys(n.States)) {
			columns, row = append(columns, strings.ToUpper(string(state))), append(row, strconv.Itoa(n.States[state]))
		}
		return a.printer.WriteTable(append(columns, "WITH ERRORS"), [][]string{append(row, strconv.Itoa(n.InError))})
	})
	if err != nil {
		return err
	}
	return found.end(c)
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
// still runs, and whether something of it is suspended.
func listState(i api.Instance) string {
	var more []string
	if i.InError > 0 && i.State == api.InstanceRunning {
		more = append(more, fmt.Sprintf("%d in error", i.InError))
	}
	if i.Suspended {
		more = append(more, "suspended")
	}
	if len(more) == 0 {
		return string(i.State)
	}
	return fmt.Sprintf("%s (%s)", i.State, strings.Join(more, ", "))
}
