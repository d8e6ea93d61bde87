package cli

import (
	"fmt"
	"time"

	"github.com/urfave/cli/v2"

	"fmqm/api"
)

// ToFlag is --to, for every command that asks a node.
func ToFlag() cli.Flag {
	return &cli.StringFlag{Name: "to", Usage: "ask the node at `ADDR`, http(s)://HOST:PORT or unix:/PATH (default: FMQM_TO, else " + api.DefaultTo + ")"}
}

// AsFlag is --as, for commands that an operator gives for a person; NewClient heeds it.
func AsFlag() cli.Flag {
	return &cli.StringFlag{Name: "as", Usage: "as an operator, act for `PERSON` of the node's staff; the history says both"}
}

// TimeoutFlag is --timeout, for every command that asks a node.
func TimeoutFlag() cli.Flag {
	return &cli.DurationFlag{Name: "timeout", Value: api.DefaultTimeout, Usage: fmt.Sprintf("wait for an answer as long as `DURATION` (default: %v)", api.DefaultTimeout)}
}

// NewClient makes the client that --to, FMQM_TO and --timeout ask for. Its user closes it.
func NewClient(c *cli.Context) (*api.Client, error) {
	to, from := c.String("to"), "--to"
	if to == "" {
		to, from = From(c).Env("FMQM_TO"), "FMQM_TO"
	}
	if to == "" {
		to = api.DefaultTo
	}
	timeout := c.Duration("timeout")
	if timeout < 0 || c.IsSet("timeout") && timeout == 0 {
		return nil, Usagef("--timeout %v: write more than 0, such as %v", timeout, 10*time.Second)
	}
	config, err := clientTLS(to, c.String, From(c).Env)
	if err != nil {
		return nil, err
	}
	client, err := api.NewTLSClient(to, timeout, config)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", from, err)
	}
	client.As(c.String("as"))
	return client, nil
}

// NewAsking is NewPrinter and NewClient, for a command that prints what a node answers.
func NewAsking(c *cli.Context) (*Printer, *api.Client, error) {
	printer, err := NewPrinter(c)
	if err != nil {
		return nil, nil, err
	}
	client, err := NewClient(c)
	return printer, client, err
}

// Talk tells people something that is no data.
func Talk(c *cli.Context, format string, args ...any) {
	s := From(c)
	fmt.Fprintln(s.Err, printable(fmt.Sprintf(format, args...))) // nobody is left to tell of an error here
}
