package main

import (
	"context"
	"errors"

	ucli "github.com/urfave/cli/v2"

	"fmqm/cmd/internal/cli"
	"fmqm/cmd/internal/daemon"
)

func reloadCommand() *ucli.Command {
	return &ucli.Command{
		Name:  "reload",
		Usage: "let the running daemon read its configuration again, and show errors",
		Description: "Does what SIGHUP does: the daemon takes up programs, peers, limits, definers, operators, remote operators,\n" +
			"staff and certificates. If there is an error it takes up nothing, and the exit code is 1. The command asks\n" +
			"the daemon at its local socket, because only the daemon can read its keys and credentials.",
		UsageText: "fmqmd reload\nfmqmd reload --to unix:/run/fmqm-B/fmqmd.sock",
		Flags:     []ucli.Flag{cli.ToFlag(), cli.TimeoutFlag()},
		Action: func(c *ucli.Context) error {
			client, err := cli.NewClient(c)
			if err != nil {
				return err
			}
			defer client.Close()
			return client.Reload(c.Context)
		},
	}
}

// reloads are requests for a reload from the local socket, on their way to who runs the
// daemon.
type reloads struct {
	asked chan chan error
	over  chan struct{} // closed when the daemon stops
}

// ask asks for a reload and waits for what came of it.
func (r reloads) ask(ctx context.Context) error {
	done := make(chan error, 1)
	select {
	case r.asked <- done:
		return <-done
	case <-r.over:
		return errors.New("the daemon is stopping")
	case <-ctx.Done():
		return ctx.Err()
	}
}

// reload takes up the configuration as it is now.
func reload(c *ucli.Context, d *daemon.Daemon) error {
	fresh, err := loadConfig(c)
	if err != nil {
		d.ReloadFailed(err)
		return err
	}
	return d.Reload(fresh)
}
