package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	ucli "github.com/urfave/cli/v2"

	"fmqm/cmd/internal/cli"
	"fmqm/cmd/internal/daemon"
	"fmqm/internal/text"
	"fmqm/node/config"
	"fmqm/staff"
	"fmqm/staff/ldap"
)

// askDirectory asks the directory of a configuration who works here.
func askDirectory(ctx context.Context, conf *config.Config) (*ldap.Answer, error) {
	return ldap.Read(ctx, *conf.Staff.LDAP, staff.Site{Node: conf.Node, Zone: time.Local})
}

// staffOf gives the staff of a configuration: what its file or directory says, or, where that one
// gives no answer, what the daemon goes on with.
func staffOf(c *ucli.Context, conf *config.Config) (*staff.Staff, error) {
	if conf.Staff.LDAP == nil {
		return conf.Staff.People, nil
	}
	a, err := askDirectory(c.Context, conf)
	if err == nil {
		return a.Staff, nil
	}
	s, when, missing := daemon.Kept(conf)
	switch {
	case errors.Is(missing, fs.ErrNotExist):
		return nil, cli.Failedf("%v", err)
	case missing != nil:
		return nil, cli.Failedf("%v\nwhat it said last cannot be read: %v", err, missing)
	}
	cli.Talk(c, "%v", err)
	cli.Talk(c, "this is what it said last, at %s, which the daemon goes on with", when.Local().Format("2006-01-02 15:04:05"))
	return s, nil
}

// checkConfigured checks the staff that a configuration names.
func checkConfigured(c *ucli.Context, found *findings) (*staff.Staff, string, error) {
	if c.IsSet("node") {
		return nil, "", cli.Usagef("--node is for a FILE: the configuration says which node this is")
	}
	conf, err := loadConfig(c)
	switch {
	case err != nil:
		return nil, "", found.configuration(err)
	case conf.Staff == nil:
		return nil, "", cli.Failedf("%s names no staff: write staff: {file: FILE} there, or name the file: fmqmd staff check FILE", conf.Path)
	case conf.Staff.LDAP == nil:
		return conf.Staff.People, conf.Staff.File, nil
	}
	a, err := askDirectory(c.Context, conf)
	if err != nil {
		return nil, "", found.directory(conf.Staff.LDAP.URL, err)
	}
	for _, l := range a.Left {
		found.left(l)
	}
	if more := a.LeftOut - len(a.Left); more > 0 {
		found.left(ldap.Left{DN: conf.Staff.LDAP.URL, What: fmt.Sprintf("%d more things are left out", more)})
	}
	return a.Staff, conf.Staff.LDAP.URL, nil
}

// left warns of what is left out of what a directory says. Its place is an entry.
func (f *findings) left(l ldap.Left) {
	f.all = append(f.all, finding{File: l.DN, Severity: "warning", Message: l.What})
	if !f.asJSON {
		cli.Talk(f.c, "warning: %s", l)
	}
}

// configuration gives the error of a configuration that could not be read, of which findings have the rest.
func (f *findings) configuration(err error) error {
	var problems config.Problems
	if !f.asJSON || !errors.As(err, &problems) {
		return err
	}
	for _, p := range problems {
		f.all = append(f.all, finding{p.Where, p.Line, p.Column, "error", p.What, p.Remedy})
	}
	return &cli.Error{Exit: cli.ExitFailed}
}

// directory does that for a directory that gives no staff.
func (f *findings) directory(url string, err error) error {
	if !f.asJSON {
		return cli.Failedf("%v", err)
	}
	var (
		problems ldap.Problems
		none     *ldap.Unanswered
	)
	switch {
	case errors.As(err, &problems):
		for _, p := range problems {
			f.all = append(f.all, finding{File: cmp.Or(p.DN, url), Severity: "error", Message: p.What, Remedy: p.Remedy})
		}
	case errors.As(err, &none):
		f.all = append(f.all, finding{File: none.URL, Severity: "error", Message: none.What, Remedy: none.Remedy})
	default:
		return cli.Failedf("%v", err)
	}
	return &cli.Error{Exit: cli.ExitFailed}
}

func staffCheckCommand() *ucli.Command {
	return &ucli.Command{
		Name: "check", Usage: "check who works at this site: a file, or what the configuration names", ArgsUsage: "[FILE]",
		Description: "Reports each error with its place and a remedy. The exit code is 1 if there is one, else 0. Without FILE\n" +
			"it checks what the configuration names: where that is a directory (LDAP), it asks it as the daemon\n" +
			"does, and says how many people, roles and organisations would be taken up, and what is left out, by\n" +
			"its entry. With FILE and --node it also says where somebody of that node stands among those of other sites.",
		UsageText: "fmqmd staff check /etc/fmqm/staff.yaml\nfmqmd staff check --node ward -o json staff.yaml\nfmqmd staff check --config /etc/fmqm/fmqmd.yaml",
		Flags: []ucli.Flag{
			&ucli.StringFlag{Name: "config", Value: config.DefaultPath, Usage: "without FILE: the configuration `FILE` (default: " + config.DefaultPath + ")"},
			staffNodeFlag(), cli.OutputFlag(),
		},
		Action: staffCheck,
	}
}

func staffCheck(c *ucli.Context) error {
	printer, err := cli.NewPrinter(c)
	if err != nil {
		return err
	}
	found := findings{c: c, asJSON: printer.Format != cli.Table}
	var (
		s    *staff.Staff
		from = c.Args().First()
	)
	switch {
	case from == "":
		s, from, err = checkConfigured(c, &found)
	case c.IsSet("config"):
		return cli.Usagef("FILE and --config both say what to check: leave one out")
	default:
		s, err = checkStaffFile(c, from, &found)
	}
	if err != nil || found.asJSON {
		return errors.Join(found.print(printer), err)
	}
	_, err = fmt.Fprintf(cli.From(c).Out, "%s: %s, %s, %s\n", from, text.Counted(s.Len(), "person", "people"),
		plural(len(s.Roles()), "role"), plural(len(s.Organisations()), "organisation"))
	return err
}
