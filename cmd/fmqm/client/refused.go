package client

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"fmqm/api"
	common "fmqm/cmd/internal/cli"
)

func refusedCommand() *cli.Command {
	return &cli.Command{
		Name: "refused", Aliases: []string{"dead"}, Usage: "show messages that a node refused, and retry or drop them",
		Description: `A node refuses a message that fits no connector of its process tables, comes too late or
cannot be read. It keeps the message with the reason, and goes on with the next one. What
needs the message waits until an operator retries or drops it. "fmqm dead" is the older name.`,
		UsageText:   "fmqm refused list\nfmqm refused show 7\nfmqm refused retry 7\nfmqm refused drop 7 --reason 'sent by hand'",
		Subcommands: []*cli.Command{refusedListCommand(), refusedShowCommand(), refusedRetryCommand(), refusedDropCommand()},
	}
}

func refusedListCommand() *cli.Command {
	return &cli.Command{
		Name: "list", Usage: "list the messages that the node refused, newest first",
		Description: `Lists the messages that this node refused: the sender, the instance, the activity and the
reason. Nothing is lost: the node keeps each message until an operator decides.`,
		UsageText: "fmqm refused list\nfmqm refused list -o jsonl",
		Flags:     printing(),
		Action:    listRefused,
	}
}

func refusedShowCommand() *cli.Command {
	return &cli.Command{
		Name: "show", Usage: "show a refused message, with its data", ArgsUsage: "NUMBER",
		Description: `Shows all that is known of one message: its sender, the connector it should resolve, why
it was refused, and its data, read by the node's process table. Data that cannot be read
are shown as their length and their first bytes in hexadecimal.`,
		UsageText: "fmqm refused show 7\nfmqm refused show 7 -o json",
		Flags:     printing(),
		Action: withNumber(func(c *cli.Context, a asked, number uint64) error {
			m, err := a.client.RefusedMessage(c.Context, number)
			if err != nil {
				return err
			}
			return a.printer.Object(m, func(w io.Writer) error { return showRefused(w, m) })
		}),
	}
}

func refusedRetryCommand() *cli.Command {
	return &cli.Command{
		Name: "retry", Usage: "put a refused message into its queue again", ArgsUsage: "NUMBER",
		Description: `Puts the message into its queue again, where the node checks it again. Do this after an
upgrade, or once the table that it needs is there. If its activity was in error because of
it, the activity goes on. If the message is refused again, it gets a new number.`,
		UsageText: "fmqm refused retry 7",
		Flags:     printing(),
		Action: withNumber(func(c *cli.Context, a asked, number uint64) error {
			d, err := a.client.RetryRefused(c.Context, number)
			if err != nil {
				return err
			}
			return decided(a, d)
		}),
	}
}

func refusedDropCommand() *cli.Command {
	return &cli.Command{
		Name: "drop", Usage: "go on without a refused message", ArgsUsage: "NUMBER",
		Description: `The connectors that the message should resolve count as FALSE and as without data, as if
its sender had been skipped. If its activity was in error because of it, the activity goes
on. If nothing waits for the message any more, it is only removed. The history records the
drop and its reason.`,
		UsageText: "fmqm refused drop 7\nfmqm refused drop 7 --reason 'sent by hand'",
		Flags:     printing(&cli.StringFlag{Name: "reason", Usage: "`TEXT` for the history of the instance"}),
		Action: withNumber(func(c *cli.Context, a asked, number uint64) error {
			d, err := a.client.DropRefused(c.Context, number, api.DropRequest{Reason: c.String("reason")})
			if err != nil {
				return err
			}
			return decided(a, d)
		}),
	}
}

// withNumber gives the action of a command about one message.
func withNumber(f func(c *cli.Context, a asked, number uint64) error) cli.ActionFunc {
	return func(c *cli.Context) error {
		number, err := strconv.ParseUint(c.Args().First(), 10, 64)
		if err != nil || number == 0 {
			return common.Usagef("%q is not the number of a message: write one that fmqm refused list shows", c.Args().First())
		}
		a := asked{}
		if err := a.connect(c); err != nil {
			return err
		}
		defer a.client.Close()
		return f(c, a, number)
	}
}

func decided(a asked, d api.RefusedDecision) error {
	return a.printer.Object(d, func(w io.Writer) error {
		_, err := fmt.Fprintf(w, "message %d: %s\n", d.Number, common.OneLine(d.Text))
		return err
	})
}

func showRefused(w io.Writer, m api.RefusedMessage) error {
	var b strings.Builder
	line := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&b, "%-10s  %s\n", name, common.OneLine(value))
		}
	}
	line("number", strconv.FormatUint(m.Number, 10))
	line("time", common.Time(m.Time))
	line("reason", m.Reason)
	line("from", m.From)
	line("kind", m.Kind)
	line("process", m.Process)
	line("definition", m.Definition)
	if m.Instance != (api.InstanceID{}) {
		line("instance", m.Instance.String())
	}
	line("scope", m.Scope)
	line("started at", m.Origin)
	line("for", strings.TrimSpace(m.Activity+at(m.Node)))
	line("sent by", m.Source)
	line("on behalf", m.OnBehalf)
	line("control", m.Control)
	line("data", m.Data)
	if m.Kind != "" {
		line("lane", strconv.Itoa(m.Lane))
		line("clock", strconv.FormatUint(m.Clock, 10))
	}
	line("trace", m.Trace)
	line("bytes", fmt.Sprintf("%d, of which the body has %d", m.Bytes, m.BodyBytes))
	line("body", string(compact(m.Body)))
	line("hex", m.Hex)
	_, err := io.WriteString(w, b.String())
	return err
}

func at(node string) string {
	if node == "" {
		return ""
	}
	return " at " + node
}

// compact is JSON on one line.
func compact(raw json.RawMessage) []byte {
	b, err := json.Marshal(raw)
	if err != nil || len(raw) == 0 {
		return raw
	}
	return b
}

func listRefused(c *cli.Context) error {
	a, err := ask(c)
	if err != nil {
		return err
	}
	defer a.client.Close()
	list := a.printer.List(false, "NUMBER", "TIME", "FROM", "KIND", "PROCESS", "INSTANCE", "ACTIVITY", "SOURCE", "REASON")
	request := api.RefusedRequest{Limit: api.MaxPage}
	for more := true; more; {
		page, err := a.client.Refused(c.Context, request)
		if err != nil {
			return err
		}
		for _, d := range page.Messages {
			instance := ""
			if d.Instance != (api.InstanceID{}) {
				instance = d.Instance.String()
			}
			if err := list.Row(d, strconv.FormatUint(d.Number, 10), common.Time(d.Time), d.From, dash(d.Kind), dash(d.Process),
				dash(instance), dash(d.Activity), dash(d.Source), d.Reason); err != nil {
				return err
			}
			request.Before = d.Number
		}
		more = page.More && len(page.Messages) > 0
	}
	if list.Count() == 0 {
		common.Talk(c, "no refused messages here")
	}
	return list.End()
}

func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
