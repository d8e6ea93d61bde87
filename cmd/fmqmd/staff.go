package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	ucli "github.com/urfave/cli/v2"

	"fmqm/cmd/internal/cli"
	"fmqm/container"
	"fmqm/internal/text"
	"fmqm/node/config"
	"fmqm/processtable"
	"fmqm/staff"
	"fmqm/staff/file"
)

func staffCommand() *ucli.Command {
	return &ucli.Command{
		Name: "staff", Usage: "check and show who works at this site",
		Description: "The people of a site, with their roles, organisations, managers, substitutes and absences, are in\n" +
			"the file, or in the directory (LDAP), that `staff` in the configuration names. check finds what is\n" +
			"wrong there, list and show print what it says, and who lists for whom a staff expression holds. They\n" +
			"read the file or ask the directory, and ask no daemon: a running daemon has what it has read last.",
		UsageText:   "fmqmd staff check staff.yaml\nfmqmd staff list\nfmqmd staff show ann\nfmqmd staff who 'role(\"nurse\") && !did(take)' --did take=ann",
		Subcommands: []*ucli.Command{staffCheckCommand(), staffListCommand(), staffShowCommand(), staffWhoCommand()},
	}
}

// staffFlags say which staff is meant.
func staffFlags() []ucli.Flag {
	return []ucli.Flag{
		&ucli.StringFlag{Name: "config", Value: config.DefaultPath, Usage: "the configuration `FILE`, which names the staff's (default: " + config.DefaultPath + ")"},
		&ucli.StringFlag{Name: "file", Usage: "the staff's `FILE` itself, instead of a configuration"},
		staffNodeFlag(),
		cli.OutputFlag(),
	}
}

func staffNodeFlag() ucli.Flag {
	return &ucli.StringFlag{Name: "node", Usage: "`NAME` of the node that the staff works at"}
}

// staffSite is where a staff that is named by its file works.
func staffSite(c *ucli.Context) (staff.Site, error) {
	node := c.String("node")
	if node != "" && !processtable.ValidNode(node) {
		return staff.Site{}, cli.Usagef("--node %s: that cannot name a node: use letters, digits, _ and -, not a digit or - first, at most 64", node)
	}
	return staff.Site{Node: processtable.NodeID(node), Zone: time.Local}, nil
}

// openStaff reads the staff that the flags of c say.
func openStaff(c *ucli.Context) (*staff.Staff, error) {
	if c.IsSet("file") {
		if c.IsSet("config") {
			return nil, cli.Usagef("--file and --config both say where the staff is: leave one out")
		}
		site, err := staffSite(c)
		if err != nil {
			return nil, err
		}
		return file.Read(c.String("file"), site)
	}
	conf, err := loadConfig(c)
	switch {
	case err != nil:
		return nil, err
	case conf.Staff == nil:
		return nil, cli.Failedf("%s names no staff: write staff: {file: FILE} there, or use --file FILE", conf.Path)
	}
	return staffOf(c, conf)
}

// checkStaffFile checks one file.
func checkStaffFile(c *ucli.Context, path string, found *findings) (*staff.Staff, error) {
	site, err := staffSite(c)
	if err != nil {
		return nil, err
	}
	s, err := file.Read(path, site)
	var problems file.Problems
	if found.asJSON && errors.As(err, &problems) {
		for _, p := range problems {
			found.all = append(found.all, finding{p.Where, p.Line, p.Column, "error", p.What, p.Remedy})
		}
		err = &cli.Error{Exit: cli.ExitFailed}
	}
	return s, err
}

// shownPerson is what list and show print; its keys are API.
type shownPerson struct {
	Person       staff.Name         `json:"person"`
	Name         string             `json:"name,omitempty"`
	Roles        []staff.Role       `json:"roles,omitempty"`
	Organisation staff.Organisation `json:"organisation,omitempty"`
	Manager      staff.Name         `json:"manager,omitempty"`
	Substitute   staff.Name         `json:"substitute,omitempty"`
	Absent       bool               `json:"absent"`
	Absences     []shownAbsence     `json:"absences,omitempty"`
	StoodInBy    staff.Name         `json:"stood_in_by,omitempty"`
	StandsInFor  []staff.Name       `json:"stands_in_for,omitempty"`
	Logins       []staff.Login      `json:"logins,omitempty"`
	Same         []staff.Person     `json:"same,omitempty"`
	Not          []staff.Person     `json:"not,omitempty"`
}

type shownAbsence struct {
	From  *time.Time `json:"from,omitempty"`
	Until *time.Time `json:"until,omitempty"`
}

// personOf gives what is shown of a person who is in the staff.
func personOf(s *staff.Staff, n staff.Name, now time.Time) shownPerson {
	d, _ := s.Details(n)
	p := shownPerson{
		Person: d.Name, Name: d.Full, Roles: d.Roles, Organisation: d.Organisation, Substitute: d.Substitute,
		Absent: s.Absent(n, now), Logins: d.Logins, Same: d.Same, Not: d.Not,
	}
	p.Manager, _ = s.Manager(n)
	p.StoodInBy, _ = s.Substitute(n, now)
	p.StandsInFor, _ = s.StandsInFor(n, now, staff.MaxPeople)
	for _, a := range d.Absences {
		var shown shownAbsence
		if !a.From.IsZero() {
			shown.From = &a.From
		}
		if !a.Until.IsZero() {
			shown.Until = &a.Until
		}
		p.Absences = append(p.Absences, shown)
	}
	return p
}

// absence says in a cell of a table who stands in for who is absent.
func (p shownPerson) absence() string {
	switch {
	case !p.Absent:
		return ""
	case p.StoodInBy == "":
		return "yes"
	}
	return string(p.StoodInBy) + " stands in"
}

func joined[T ~string](all []T) string {
	texts := make([]string, len(all))
	for i, one := range all {
		texts[i] = string(one)
	}
	return strings.Join(texts, " ")
}

func staffListCommand() *ucli.Command {
	return &ucli.Command{
		Name: "list", Usage: "list the people of a staff",
		Description: "Prints one line for each person, by name. ABSENT says who of the absent is stood in for, and by whom,\nat this time.",
		UsageText:   "fmqmd staff list\nfmqmd staff list --file staff.yaml -o json",
		Flags:       staffFlags(),
		Action: func(c *ucli.Context) error {
			printer, err := cli.NewPrinter(c)
			if err != nil {
				return err
			}
			s, err := openStaff(c)
			if err != nil {
				return err
			}
			list, now := printer.List(false, "PERSON", "NAME", "ROLES", "ORGANISATION", "MANAGER", "ABSENT"), time.Now()
			for n := range s.People() {
				p := personOf(s, n, now)
				if err := list.Row(p, string(p.Person), p.Name, joined(p.Roles), string(p.Organisation), string(p.Manager), p.absence()); err != nil {
					return err
				}
			}
			return list.End()
		},
	}
}

func staffShowCommand() *ucli.Command {
	return &ucli.Command{
		Name: "show", Usage: "show one person of a staff", ArgsUsage: "NAME",
		Description: "Prints what the staff says of a person. NAME is that of a person here, or of another site, as\naames@lab: then who that is here. The exit code is 3 if it is nobody.",
		UsageText:   "fmqmd staff show ann\nfmqmd staff show aames@lab --file staff.yaml --node ward -o json",
		Flags:       staffFlags(),
		Action: func(c *ucli.Context) error {
			printer, err := cli.NewPrinter(c)
			if err != nil {
				return err
			}
			s, err := openStaff(c)
			if err != nil {
				return err
			}
			n, err := personCalled(s, c.Args().First())
			if err != nil {
				return err
			}
			p := personOf(s, n, time.Now())
			return printer.Object(p, func(w io.Writer) error { return writePerson(w, p) })
		},
	}
}

// personCalled finds a person by his name here or elsewhere.
func personCalled(s *staff.Staff, name string) (staff.Name, error) {
	if n := staff.Name(name); s.Has(n) {
		return n, nil
	}
	if n, ok := s.Surely(staff.Person(name)); ok {
		return n, nil
	}
	remedy := "fmqmd staff list shows who works here"
	var names []string
	for n := range s.People() {
		names = append(names, string(n))
	}
	if near, ok := container.Nearest(name, names); ok {
		remedy = near + "?"
	}
	return "", &cli.Error{Exit: cli.ExitNotFound, Text: fmt.Sprintf("%s does not work here: %s", text.Line(name), remedy)}
}

// writePerson writes what is known of a person, a line each.
func writePerson(w io.Writer, p shownPerson) error {
	absent := p.absence()
	times := make([]string, 0, len(p.Absences))
	for _, a := range p.Absences {
		times = append(times, a.String())
	}
	slices.Sort(times)
	for _, line := range []struct{ name, value string }{
		{"person", string(p.Person)},
		{"name", p.Name},
		{"roles", joined(p.Roles)},
		{"organisation", string(p.Organisation)},
		{"manager", string(p.Manager)},
		{"substitute", string(p.Substitute)},
		{"absent now", absent},
		{"absences", strings.Join(times, ", ")},
		{"stands in for", joined(p.StandsInFor)},
		{"logins", joined(p.Logins)},
		{"same", joined(p.Same)},
		{"not", joined(p.Not)},
	} {
		if line.value == "" {
			continue
		}
		if _, err := fmt.Fprintf(w, "%-13s  %s\n", line.name, text.Line(line.value)); err != nil {
			return err
		}
	}
	return nil
}

// String gives an absence as people read it, in the machine's time zone.
func (a shownAbsence) String() string {
	at := func(word string, t *time.Time) string {
		if t == nil {
			return ""
		}
		return word + " " + t.Local().Format("2006-01-02 15:04")
	}
	return strings.TrimSpace(at("from", a.From) + " " + at("until", a.Until))
}
