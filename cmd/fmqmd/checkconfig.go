package main

import (
	"fmt"
	"time"

	ucli "github.com/urfave/cli/v2"

	"fmqm/cmd/internal/cli"
	"fmqm/cmd/internal/daemon"
	"fmqm/node/config"
)

// connectLimit is how long one link is tried.
const connectLimit = 10 * time.Second

func checkConfigCommand() *ucli.Command {
	return &ucli.Command{
		Name:      "check-config",
		Usage:     "check a configuration file, and with --connect the links that it describes",
		ArgsUsage: "FILE",
		Description: "Reports everything that is wrong with it, each with its place and a remedy. Exit code 0\nif nothing is, 1 otherwise. With --connect it then tries each link, all at once and for at\n" +
			"most 10 s, and says what it found; it takes nothing from a queue and sends no message to\na site. Run it as the daemon's user, who can read its keys and passwords.",
		UsageText: "fmqmd check-config /etc/fmqm/fmqmd.yaml\nfmqmd check-config /etc/fmqm/fmqmd.yaml --connect\nfmqmd check-config /etc/fmqm/fmqmd.yaml --connect -o json",
		Flags: []ucli.Flag{
			&ucli.BoolFlag{Name: "connect", Usage: "try each link, and say what was found"},
			cli.OutputFlag(),
		},
		Action: checkConfig,
	}
}

func checkConfig(c *ucli.Context) error {
	printer, err := cli.NewPrinter(c)
	if err != nil {
		return err
	}
	if c.IsSet("o") && !c.Bool("connect") {
		return cli.Usagef("check-config: -o is for --connect: add it, or leave -o out")
	}
	file := c.Args().First()
	conf, err := config.Load(file, cli.From(c).Env, config.Overrides{})
	if err != nil {
		return err
	}
	certificates, err := daemon.CheckIdentity(conf)
	if err != nil {
		return cli.Failedf("%s: %v", file, err)
	}
	for _, w := range append(conf.Warnings(), certificates...) {
		cli.Talk(c, "warning: %s", w)
	}
	listens := conf.Socket + " only"
	if conf.Listen != "" {
		listens = conf.Listen + " and " + conf.Socket
	}
	says := fmt.Sprintf("%s: node %s, data in %s, listens on %s, %d peers, %d programs, audit %s",
		file, conf.Node, conf.Data, listens, len(conf.Peers), len(conf.Programs), conf.Audit)
	if !c.Bool("connect") {
		_, err := fmt.Fprintln(cli.From(c).Out, says)
		return err
	}
	cli.Talk(c, "%s", says)
	found, err := daemon.Connect(c.Context, conf, connectLimit)
	if err != nil {
		return cli.Failedf("%s: %v", file, err)
	}
	return printFound(c, printer, found)
}

func printFound(c *ucli.Context, p *cli.Printer, found []daemon.Found) error {
	list := p.List(false, "LINK", "ROUTE", "CHECK", "RESULT", "FOUND")
	for _, f := range found {
		if err := list.Row(f, f.Link, f.Route, f.Check, string(f.Result), f.Text); err != nil {
			return err
		}
	}
	if err := list.End(); err != nil {
		return err
	}
	switch n := daemon.Failures(found); {
	case n > 0:
		return cli.Failedf("%d of %d checks failed", n, len(found))
	case len(found) == 0:
		cli.Talk(c, "there are no links to try: see links in the configuration")
	}
	return nil
}
