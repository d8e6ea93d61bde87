package client

import (
	"fmt"
	"strconv"

	"github.com/urfave/cli/v2"

	"fmqm/api"
	common "fmqm/cmd/internal/cli"
)

func scheduleCommand() *cli.Command {
	return &cli.Command{
		Name: "schedule", Usage: "see and steer the schedules by which a node starts instances",
		Description: `A process whose definition has a schedule is started by the one node that the schedule names,
while its daemon runs. These commands are about the node that is asked (--to).`,
		UsageText: "fmqm schedule list\nfmqm schedule suspend stock-night\nfmqm schedule resume stock-night\nfmqm schedule run stock-night",
		Subcommands: []*cli.Command{
			scheduleListCommand(),
			scheduleWord(api.ScheduleSuspend, "start nothing by the schedules of a process until they are resumed",
				`What is due meanwhile counts as missed: when the schedules are resumed, the latest of it is
started, all of it, or nothing, as the definition says (missed). Twice is done once.`),
			scheduleWord(api.ScheduleResume, "start by the schedules of a process again", `Of what was due meanwhile the latest is started now, all of it, or nothing, as the definition
says (missed). Twice is done once.`),
			scheduleWord(api.ScheduleRun, "start an instance as if its schedule were due now", `The first schedule of the process at this node gives the input; if a member takes the time for
which the instance is started, that is now. It works on a suspended schedule too. With overlap: skip it is
refused while the instance before has not ended: exit code 4.`),
		},
	}
}

func scheduleListCommand() *cli.Command {
	return &cli.Command{
		Name: "list", Usage: "list the schedules of a node, and when they are due",
		Description: `Prints a line for each schedule: its process, in the version that is current at the node; when it is
due (WHEN) and the NEXT time; the time for which an instance was started LAST, and that INSTANCE;
how many times were MISSED, so that no instance was started for them; and why, for the last of
those, if the node was there.`,
		UsageText: "fmqm schedule list\nfmqm schedule list -o json\nfmqm schedule list --to http://127.0.0.1:7412",
		Flags:     printing(),
		Action:    schedules(func(c *cli.Context, a *api.Client) (api.SchedulesAnswer, error) { return a.Schedules(c.Context) }),
	}
}

func scheduleWord(w api.ScheduleWord, usage, description string) *cli.Command {
	return &cli.Command{
		Name: string(w), Usage: usage, ArgsUsage: "PROCESS", Description: description,
		UsageText: fmt.Sprintf("fmqm schedule %s stock-night\nfmqm schedule %[1]s stock-night --to http://127.0.0.1:7412", w),
		Flags:     printing(),
		Action: schedules(func(c *cli.Context, a *api.Client) (api.SchedulesAnswer, error) {
			return a.SaySchedule(c.Context, c.Args().First(), w)
		}),
	}
}

// schedules prints what a request about schedules gives.
func schedules(request func(c *cli.Context, a *api.Client) (api.SchedulesAnswer, error)) cli.ActionFunc {
	return func(c *cli.Context) error {
		a := asked{}
		if err := a.connect(c); err != nil {
			return err
		}
		defer a.client.Close()
		answer, err := request(c, a.client)
		if err != nil {
			return err
		}
		return printSchedules(c, a.printer, answer)
	}
}

func printSchedules(c *cli.Context, p *common.Printer, a api.SchedulesAnswer) error {
	list := p.List(false, "PROCESS", "WHEN", "STATE", "NEXT", "LAST", "INSTANCE", "MISSED", "REASON")
	for _, s := range a.Schedules {
		instance := ""
		if s.Instance != nil {
			instance = s.Instance.String()
		}
		if err := list.Row(s, s.Process, whenOf(s), string(s.State), common.Time(s.Next), common.Time(s.Last), instance,
			strconv.FormatUint(s.Missed, 10), s.Reason); err != nil {
			return err
		}
	}
	if len(a.Schedules) == 0 {
		common.Talk(c, "no process has a schedule at this node")
	}
	return list.End()
}

// whenOf is when a schedule is due, as the definition has it.
func whenOf(s api.Schedule) string {
	switch {
	case s.Every != "":
		return "every " + s.Every
	case s.Zone != "":
		return s.Cron + " " + s.Zone
	}
	return s.Cron + " UTC"
}
