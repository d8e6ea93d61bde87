package client

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/urfave/cli/v2"

	"fmqm/api"
	common "fmqm/cmd/internal/cli"
)

func eventCommand() *cli.Command {
	return &cli.Command{
		Name: "event", Usage: "send events to processes, and see what a node keeps of them",
		Description: `A process can wait for an event from outside (receive). An event lies in the event queue of
one node until a process there receives it, the oldest first. These commands are about the
node that is asked (--to).`,
		UsageText:   "fmqm event send part_arrived --key J-7 --data '{\"serial\": \"S-1\"}'\nfmqm event list\nfmqm event show delivery-1\nfmqm event drop delivery-1",
		Subcommands: []*cli.Command{eventSendCommand(), eventListCommand(), eventShowCommand(), eventDropCommand()},
	}
}

func eventSendCommand() *cli.Command {
	return &cli.Command{
		Name: "send", Usage: "send an event", ArgsUsage: "NAME",
		Description: `Puts an event into the event queue of the node. A process that waits for it goes on at once; else it
is kept for one that will, for as long as the node's configuration or --keep says. A name that no
process there receives is refused, and so are data of another shape.

A repeat with the same --id, name and key changes nothing, and ends with 0, as long as the event is kept,
and as long again once it was taken. Without --id one is made before the event is sent, and is
printed, also if no answer comes: repeat the command with it then.
With --at the event is for the event queue of that node. The node that is asked passes it on, over its link.`,
		UsageText: `fmqm event send part_arrived --key J-7 --data '{"serial": "S-1"}' --id delivery-1
fmqm event send repair_cancelled --key J-7
fmqm event send part_arrived --key J-7 --data @part.json --at office --keep 60d`,
		Flags: printing(
			&cli.StringFlag{Name: "key", Usage: "`KEY` that the process waits with; without it the event is for those that wait without one"},
			&cli.StringFlag{Name: "data", Usage: "data as `JSON`, @FILE, or - for standard input (default: all defaults)"},
			&cli.StringFlag{Name: "id", Usage: "`ID` of the event, so that a repeat changes nothing (default: a new one)"},
			&cli.StringFlag{Name: "at", Usage: "the `NODE` that it is for (default: the one that is asked)"},
			&cli.StringFlag{Name: "keep", Usage: "how long it is kept, such as `14d` (default: as the node says)"},
		),
		Action: sendEvent,
	}
}

func sendEvent(c *cli.Context) error {
	if c.IsSet("key") && c.String("key") == "" || c.IsSet("id") && c.String("id") == "" {
		return common.Usagef("--key and --id are texts: leave them out, or write one")
	}
	data, err := common.ReadJSON(c, "data")
	if err != nil {
		return err
	}
	r := api.EventRequest{
		Event: c.Args().First(), Key: c.String("key"), ID: c.String("id"), Data: bytes.TrimSpace(data.Text), At: c.String("at"), Keep: c.String("keep"),
	}
	if r.ID == "" {
		id, err := api.NewInstance()
		if err != nil {
			return err
		}
		r.ID = id.String()
	}
	a := asked{}
	if err := a.connect(c); err != nil {
		return err
	}
	defer a.client.Close()
	answer, err := a.client.SendEvent(c.Context, r)
	if api.CodeOf(err) == api.CodeUnreachable && !c.IsSet("id") {
		common.Talk(c, "nobody knows whether it was taken: repeat it with --id %s", r.ID)
	}
	if err != nil {
		return data.Explain(c, err)
	}
	return a.printer.Object(answer, func(w io.Writer) error {
		what := map[api.EventResult]string{api.EventKept: "kept at " + answer.Node, api.EventKnown: "known at " + answer.Node + ": nothing has changed", api.EventPassedOn: "on its way to " + answer.Node}
		_, err := fmt.Fprintf(w, "event %s: %s\n", common.OneLine(answer.ID), what[answer.Result])
		return err
	})
}

func eventListCommand() *cli.Command {
	return &cli.Command{
		Name: "list", Usage: "list the events that a node keeps, or the activities that wait for one",
		Description: `Lists the events that no process has received: kept, or expired, if they are older than they may be.
With --waiting it lists the activities that wait for an event.`,
		UsageText: "fmqm event list\nfmqm event list --name part_arrived --key J-7\nfmqm event list --waiting -o jsonl",
		Flags: printing(
			&cli.StringFlag{Name: "name", Usage: "only events of this `NAME`"},
			&cli.StringFlag{Name: "key", Usage: "only events with this `KEY`"},
			&cli.BoolFlag{Name: "waiting", Usage: "the activities that wait, in the place of events"},
		),
		Action: listEvents,
	}
}

func listEvents(c *cli.Context) error {
	a := asked{}
	if err := a.connect(c); err != nil {
		return err
	}
	defer a.client.Close()
	list := a.printer.List(false, "ID", "EVENT", "KEY", "STATE", "SINCE", "UNTIL", "FROM", "INSTANCE", "ACTIVITY")
	r := api.EventsRequest{Name: c.String("name"), Key: c.String("key"), Keyed: c.IsSet("key"), Waiting: c.Bool("waiting"), Limit: api.MaxPage}
	for more := true; more; {
		page, err := a.client.Events(c.Context, r)
		if err != nil {
			return err
		}
		for _, k := range page.Events {
			if err := list.Row(k, dash(k.ID), k.Event, dash(k.Key), string(k.State), common.Time(k.Since), common.Time(k.Until), dash(k.From),
				dash(instanceText(k.Instance)), dash(k.Activity)); err != nil {
				return err
			}
		}
		r.After, more = page.Next, page.More
	}
	switch {
	case list.Count() > 0:
	case r.Waiting:
		common.Talk(c, "nothing waits for an event here")
	default:
		common.Talk(c, "no events are kept here")
	}
	return list.End()
}

func instanceText(id api.InstanceID) string {
	if id == (api.InstanceID{}) {
		return ""
	}
	return id.String()
}

func eventShowCommand() *cli.Command {
	return &cli.Command{
		Name: "show", Usage: "show an event, with its data", ArgsUsage: "ID",
		Description: `Shows an event that the node keeps, or that a process has taken and the node remembers.`,
		UsageText:   "fmqm event show delivery-1\nfmqm event show delivery-1 -o json",
		Flags:       printing(),
		Action:      aboutEvent(func(c *cli.Context, a asked, id string) (api.KeptEvent, error) { return a.client.Event(c.Context, id) }),
	}
}

func eventDropCommand() *cli.Command {
	return &cli.Command{
		Name: "drop", Usage: "let go of an event that no process has received", ArgsUsage: "ID",
		Description: `Removes an event that is kept, or expired. If a process receives it at the same moment, that one has it.`,
		UsageText:   "fmqm event drop delivery-1",
		Flags:       printing(),
		Action: aboutEvent(func(c *cli.Context, a asked, id string) (api.KeptEvent, error) {
			return a.client.DropEvent(c.Context, id)
		}),
	}
}

// aboutEvent is the action of a command about one event.
func aboutEvent(request func(c *cli.Context, a asked, id string) (api.KeptEvent, error)) cli.ActionFunc {
	return func(c *cli.Context) error {
		id := c.Args().First()
		if id == "" {
			return common.Usagef("name an event: write an ID that fmqm event list shows")
		}
		a := asked{}
		if err := a.connect(c); err != nil {
			return err
		}
		defer a.client.Close()
		k, err := request(c, a, id)
		if err != nil {
			return err
		}
		return a.printer.Object(k, func(w io.Writer) error { return showEvent(w, k) })
	}
}

func showEvent(w io.Writer, k api.KeptEvent) error {
	var b strings.Builder
	line := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&b, "%-10s  %s\n", name, common.OneLine(value))
		}
	}
	line("id", k.ID)
	line("event", k.Event)
	line("key", k.Key)
	line("state", string(k.State))
	line("since", common.Time(k.Since))
	line("until", common.Time(k.Until))
	line("from", k.From)
	line("instance", instanceText(k.Instance))
	line("activity", k.Activity)
	line("data", string(compact(k.Data)))
	_, err := io.WriteString(w, b.String())
	return err
}
