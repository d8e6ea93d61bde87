package main

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	ucli "github.com/urfave/cli/v2"

	"fmqm/cmd/internal/cli"
	"fmqm/cmd/internal/daemon"
	"fmqm/internal/text"
	"fmqm/node/config"
)

// connectLimit is how long one link is tried.
const connectLimit = 10 * time.Second

func checkConfigCommand() *ucli.Command {
	return &ucli.Command{
		Name:      "check-config",
		Usage:     "check a configuration file, and with --connect its links",
		ArgsUsage: "FILE",
		Description: "Reports each error with its place and a remedy. Warns of what is open to others, of\nprograms, users and secrets that are missing on this machine, and of directories for `data` and\n`socket` that the user who runs it cannot write. The exit code is 1 if there is an error, else 0,\nalso with warnings. With --connect it also tries all links, at once and for at\n" +
			"most 10 s, and says what it found. It takes nothing from a queue and sends no message to a site.\nRun it as the daemon's user, who can read the keys and passwords.",
		UsageText: "fmqmd check-config /etc/fmqm/fmqmd.yaml\nfmqmd check-config /etc/fmqm/fmqmd.yaml -o json\nfmqmd check-config /etc/fmqm/fmqmd.yaml --connect\nfmqmd check-config /etc/fmqm/fmqmd.yaml --connect -o json",
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
	// With --connect, -o is for what was found of the links; where nothing can be tried, for why.
	asJSON, connect := printer.Format != cli.Table, c.Bool("connect")
	findings := findings{c: c, asJSON: asJSON, said: !asJSON || connect}
	conf, err := findings.load(c.Args().First())
	if err != nil || asJSON && !connect {
		return errors.Join(findings.print(printer), err)
	}
	listens := conf.Socket + " only"
	if conf.Listen != "" {
		listens = conf.Listen + " and " + conf.Socket
	}
	says := fmt.Sprintf("%s: node %s, data in %s, listens on %s, %s, %s, audit %s",
		c.Args().First(), conf.Node, conf.Data, listens, plural(len(conf.Peers), "peer"), plural(len(conf.Programs), "program"), conf.Audit)
	switch {
	case conf.Staff == nil:
	case conf.Staff.LDAP != nil:
		says += ", people of " + conf.Staff.LDAP.URL
	default:
		says += ", " + text.Counted(conf.Staff.People.Len(), "person", "people")
	}
	says += ", " + conf.RightsSaid()
	if !connect {
		_, err := fmt.Fprintln(cli.From(c).Out, says)
		return err
	}
	cli.Talk(c, "%s", says)
	found, err := daemon.Connect(c.Context, conf, connectLimit)
	if err != nil {
		return cli.Failedf("%s: %v", c.Args().First(), err)
	}
	return printFound(c, printer, found)
}

func plural(n int, word string) string {
	if n != 1 {
		word += "s"
	}
	return fmt.Sprintf("%d %s", n, word)
}

// finding is what is said of a configuration; its keys are API.
type finding struct {
	File     string `json:"file"`
	Line     int    `json:"line,omitempty"`
	Column   int    `json:"column,omitempty"`
	Severity string `json:"severity"` // error or warning
	Message  string `json:"message"`
	Remedy   string `json:"remedy,omitempty"`
}

// findings are for people on standard error as they come, or for programs on standard
// output at the end.
type findings struct {
	c      *ucli.Context
	asJSON bool // print prints them
	said   bool // warnings are said as they come
	all    []finding
}

// load reads a configuration, and finds what is wrong with it, or may be.
func (f *findings) load(file string) (*config.Config, error) {
	conf, err := config.Load(file, cli.From(f.c).Env, config.Overrides{})
	if err != nil {
		return nil, f.configuration(err)
	}
	certificates, err := daemon.CheckIdentity(conf)
	if err != nil {
		if !f.asJSON {
			return nil, cli.Failedf("%s: %v", file, err)
		}
		line, column := conf.Place("identity")
		f.all = append(f.all, finding{conf.Path, line, column, "error", err.Error(), ""})
		return nil, &cli.Error{Exit: cli.ExitFailed}
	}
	for _, w := range append(conf.Warnings(), certificates...) {
		f.warn(config.Problem{Where: conf.Path, What: w})
	}
	if os.Geteuid() != 0 {
		fence, open := daemon.Fence(conf)
		fence.Close()
		if open != "" {
			f.warn(config.Problem{Where: conf.Path, What: open})
		}
	} else if f.said {
		cli.Talk(f.c, "this check ran as root, who may do more than the daemon: run it as the daemon's user to see what the daemon will see: runuser -u fmqm -- fmqmd check-config %s", file)
	}
	for _, p := range conf.Lacks() {
		f.warn(p)
	}
	return conf, nil
}

func (f *findings) warn(p config.Problem) {
	f.all = append(f.all, finding{p.Where, p.Line, p.Column, "warning", p.What, p.Remedy})
	switch {
	case !f.said:
	case p.Line > 0:
		cli.Talk(f.c, "warning: %s", p)
	case p.Remedy != "":
		cli.Talk(f.c, "warning: %s: %s", p.What, p.Remedy)
	default:
		cli.Talk(f.c, "warning: %s", p.What)
	}
}

// print prints what was found, where a program reads it.
func (f *findings) print(p *cli.Printer) error {
	if !f.asJSON {
		return nil
	}
	list := p.List(false, "FILE", "LINE", "SEVERITY", "MESSAGE")
	for _, one := range f.all {
		if err := list.Row(one, one.File, strconv.Itoa(one.Line), one.Severity, one.Message); err != nil {
			return err
		}
	}
	return list.End()
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
		cli.Talk(c, "there are no links to try: the configuration has no `links`")
	}
	return nil
}
