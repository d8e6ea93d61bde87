package client

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"fmqm/api"
	common "fmqm/cmd/internal/cli"
)

// nodesEvery is how often `nodes --wait` asks.
const nodesEvery = 200 * time.Millisecond

func nodesCommand() *cli.Command {
	return &cli.Command{
		Name: "nodes", Usage: "show the node and its links to others",
		Description: `Shows for each node whether it is connected, when it was last heard, and how many messages
wait for it. With --wait the command first waits, at most --timeout, until the node answers
and is connected to every other: for scripts that have just started daemons.`,
		UsageText: "fmqm nodes\nfmqm nodes --to http://127.0.0.1:7412 -o json\nfmqm nodes --wait --timeout 1m",
		Flags:     printing(&cli.BoolFlag{Name: "wait", Usage: "first wait until every node is connected"}),
		Action: asks(func(c *cli.Context, a asked) error {
			answer, err := nodes(c, a.client)
			if err != nil {
				return err
			}
			list := a.printer.List(false, "NODE", "STATE", "LAST HEARD", "WAITING", "REASON")
			for _, n := range answer.Nodes {
				if err := list.Row(n, n.Node, n.State, common.Time(n.LastHeard), strconv.FormatUint(n.Waiting, 10), n.Reason); err != nil {
					return err
				}
			}
			if err := list.End(); err != nil {
				return err
			}
			if missing := unconnected(answer); c.Bool("wait") && len(missing) > 0 {
				return api.Errorf(api.CodeUnreachable, "see `fmqm links` for the reasons, or wait longer with --timeout", "not connected after %v: %s", c.Duration("timeout"), strings.Join(missing, ", "))
			}
			return nil
		}),
	}
}

// nodes asks once, or until all are connected or the time is over.
func nodes(c *cli.Context, client *api.Client) (api.NodesAnswer, error) {
	if !c.Bool("wait") {
		return client.Nodes(c.Context)
	}
	ctx, cancel := context.WithTimeout(c.Context, c.Duration("timeout"))
	defer cancel()
	tick := time.NewTicker(nodesEvery)
	defer tick.Stop()
	var last api.NodesAnswer // the answer before: what there is to show when the time is over
	var lastErr error
	for {
		answer, err := client.Nodes(ctx)
		switch {
		case ctx.Err() != nil && (lastErr != nil || last.Nodes != nil):
			return last, lastErr
		case err == nil && len(unconnected(answer)) == 0:
			return answer, nil
		case err != nil && api.CodeOf(err) != api.CodeUnreachable:
			return answer, err
		}
		last, lastErr = answer, err
		select {
		case <-tick.C:
		case <-ctx.Done():
			return last, lastErr
		}
	}
}

// unconnected names the nodes without a connection, with the state of their links.
func unconnected(answer api.NodesAnswer) []string {
	var names []string
	for _, n := range answer.Nodes {
		if n.State != api.NodeSelf && n.State != "connected" {
			names = append(names, fmt.Sprintf("%s (%s)", n.Node, n.State))
		}
	}
	return names
}
