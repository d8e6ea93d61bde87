package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	shared "fmqm/cmd/internal/cli"
	"fmqm/definition"
	"fmqm/processtable"
)

func showCommand() *cli.Command {
	return &cli.Command{
		Name:      "show",
		Usage:     "show the process tables of a definition",
		ArgsUsage: "FILE",
		Description: `Shows the table that each node would get, with the columns that the literature uses: the
process, the activity, its incoming and outgoing control connectors (CC) and data
connectors (DC), and their conditions. Q_A,0 is the queue of process 0 at node A. Below
each table stand the activities of other nodes that this node skips on their behalf when
they are on a dead path, and the nodes that may do the same for activities of this node;
at the end, how large the tables are.
A table that is wider than the terminal is shown as a list; -o wide shows the table.`,
		UsageText: `fmqm-define show purchase-order.yaml
fmqm-define show purchase-order.yaml --node B
fmqm-define show --node B purchase-order.yaml -o json`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "node", Usage: "show the table of `NODE` only"},
			shared.OutputFlag(),
		},
		Action: show,
	}
}

func show(c *cli.Context) error {
	p, err := shared.NewPrinter(c)
	if err != nil {
		return err
	}
	s, err := loadWhole(c, c.Args().First())
	if err != nil {
		return err
	}
	shown, err := s.show(c, c.String("node"), c.IsSet("node"))
	if err != nil {
		return err
	}
	if p.Format == shared.Table {
		_, err := io.WriteString(shared.From(c).Out, shown.Text(p.Room()))
		return err
	}
	list := p.List(false)
	for _, t := range shown.Tables {
		if err := list.Row(t); err != nil {
			return err
		}
	}
	return list.End()
}

// show gives the tables of all nodes, or of one, to be shown.
func (s *source) show(c *cli.Context, node string, one bool) (*definition.Shown, error) {
	shown := &definition.Shown{}
	var nodes []string
	for _, p := range s.processes {
		_, err := s.compile(c, p, func(t *processtable.Table, encoded []byte) error {
			nodes = append(nodes, string(t.Node))
			if !one || string(t.Node) == node {
				shown.Add(t)
				shown.Tables[len(shown.Tables)-1].Bytes = len(encoded)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	if len(shown.Tables) == 0 {
		slices.Sort(nodes)
		return nil, &shared.Error{
			Exit: shared.ExitNotFound,
			Text: fmt.Sprintf("no table for node %q: there are tables for %s", node, strings.Join(slices.Compact(nodes), ", ")),
		}
	}
	return shown, nil
}

func schemaCommand() *cli.Command {
	return &cli.Command{
		Name:  "schema",
		Usage: "print the JSON Schema of definitions, for editors",
		Description: `With the schema an editor completes and checks definitions as you write. Most editors
understand this line at the top of a file, with the path of the schema:
# yaml-language-server: $schema=fmqm.schema.json`,
		UsageText: `fmqm-define schema > fmqm.schema.json`,
		Action: func(c *cli.Context) error {
			_, err := shared.From(c).Out.Write(definition.Schema())
			return err
		},
	}
}
