package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	ucli "github.com/urfave/cli/v2"

	"fmqm/cmd/internal/cli"
	"fmqm/condition"
	"fmqm/container"
	"fmqm/definition"
	"fmqm/internal/text"
	"fmqm/processtable"
	"fmqm/staff"
	"fmqm/staff/who"
)

func staffWhoCommand() *ucli.Command {
	return &ucli.Command{
		Name: "who", Usage: "list who a staff expression holds for now", ArgsUsage: "EXPR",
		Description: "Prints who would be eligible now for a manual activity with this `staff`, and in whose place. EXPR reads\n" +
			"the members of --input. --did says who did an activity, or started the instance (source); behind a\n" +
			"space whom that one stood in for. Nobody is no error.",
		UsageText: "fmqmd staff who 'role(\"nurse\")'\n" +
			"fmqmd staff who 'role(\"approver\") && !did(assess)' --did assess=ann\n" +
			"fmqmd staff who 'org(station)' --input '{\"station\": \"ward-3\"}' -o json",
		Flags: append(staffFlags(),
			&ucli.StringFlag{Name: "input", Usage: "the activity's input, as `JSON`, @FILE or -"},
			&ucli.StringSliceFlag{Name: "did", Usage: "`ACTIVITY=PERSON`: who did it; can be repeated"}),
		Action: staffWho,
	}
}

// eligiblePerson is what who prints; its keys are API.
type eligiblePerson struct {
	Person staff.Name `json:"person"`
	For    staff.Name `json:"for,omitempty"`
	Name   string     `json:"name,omitempty"`
}

func staffWho(c *ucli.Context) error {
	printer, err := cli.NewPrinter(c)
	if err != nil {
		return err
	}
	s, err := openStaff(c)
	if err != nil {
		return err
	}
	question, err := askStaff(c, s)
	if err != nil {
		return err
	}
	all, whole := question.All(staff.MaxPeople)
	list := printer.List(false, "PERSON", "FOR", "NAME")
	for _, one := range all {
		d, _ := s.Details(one.Name)
		if err := list.Row(eligiblePerson{one.Name, one.For, d.Full}, string(one.Name), string(one.For), d.Full); err != nil {
			return err
		}
	}
	for _, role := range question.UnknownRoles() {
		cli.Talk(c, "nobody has the role %s: it is not among the roles of this staff", role)
	}
	if len(all) == 0 {
		cli.Talk(c, "nobody is eligible now")
	}
	if !whole {
		cli.Talk(c, "there may be more: to ask everybody takes too many steps")
	}
	return list.End()
}

// askStaff makes the question of the command line.
func askStaff(c *ucli.Context, s *staff.Staff) (*who.Question, error) {
	input, err := staffInput(c)
	if err != nil {
		return nil, err
	}
	did, err := staffDid(s, c.StringSlice("did"))
	if err != nil {
		return nil, err
	}
	expr := c.Args().First()
	w, problems := definition.CompileWho(expr, condition.Scope{Members: input.Type, Words: condition.WordInstance})
	if len(problems) > 0 {
		lines := make([]string, len(problems))
		for i, p := range problems {
			lines[i] = fmt.Sprintf("column %d: %s: %s", 1+len([]rune(expr[:min(p.Offset, len(expr))])), p.Message, p.Remedy)
		}
		return nil, cli.Usagef("%s: %s", text.Line(expr), strings.Join(lines, "\n"))
	}
	e, err := who.Load(w, input.Type)
	if err != nil {
		return nil, err
	}
	q, err := e.Ask(who.Ask{Staff: s, Now: time.Now(), Input: input, Did: did})
	if err != nil {
		return nil, cli.Failedf("%v", err)
	}
	return q, nil
}

// staffDid reads who did what.
func staffDid(s *staff.Staff, given []string) (map[processtable.ActivityID][]who.Doer, error) {
	all := map[processtable.ActivityID][]who.Doer{}
	for _, one := range given {
		activity, persons, ok := strings.Cut(one, "=")
		if !ok || !processtable.ValidActivity(activity) || persons == "" {
			return nil, cli.Usagef("--did %s: write ACTIVITY=PERSON, such as assess=ann or source=ann@ward", text.Line(one))
		}
		var doer who.Doer
		first, second, stands := strings.Cut(persons, " ")
		var err error
		if doer.Person, err = staffPerson(s, one, first); err == nil && stands {
			doer.For, err = staffPerson(s, one, second)
		}
		if err != nil {
			return nil, err
		}
		all[processtable.ActivityID(activity)] = append(all[processtable.ActivityID(activity)], doer)
	}
	return all, nil
}

// staffPerson reads a person of any site; one without a node is of this one.
func staffPerson(s *staff.Staff, given, name string) (staff.Person, error) {
	if strings.ContainsAny(name, "@:") {
		return staff.Person(name), nil
	}
	switch {
	case s.Node() == "":
		return "", cli.Usagef("--did %s: of which node? Write %s@NODE, or say with --node where the staff of --file works", text.Line(given), text.Line(name))
	case !s.Has(staff.Name(name)):
		_, err := personCalled(s, name)
		return "", err
	}
	return staff.At(staff.Name(name), s.Node()), nil
}

// staffInput reads an input for which there is no definition: its type is that of what is given.
func staffInput(c *ucli.Context) (*container.Struct, error) {
	given, err := cli.ReadJSON(c, "input")
	if err != nil {
		return nil, err
	}
	if given.Text == nil {
		return container.New(container.NewStructure("", nil)), nil
	}
	decoder := json.NewDecoder(bytes.NewReader(given.Text))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return nil, cli.Usagef("--input: not JSON: %v", err)
	}
	t, err := typeOf("Input", value, 0)
	if err != nil {
		return nil, cli.Usagef("--input: %v", err)
	}
	in, err := container.DecodeJSON(t, given.Text)
	if err != nil {
		return nil, given.Explain(c, err)
	}
	return in, nil
}

// typeOf gives the type that a JSON value shows; what names it in errors, and structures.
func typeOf(what string, value any, depth int) (*container.Type, error) {
	if depth > container.MaxNesting {
		return nil, fmt.Errorf("%s is nested over %d deep: make it flatter", what, container.MaxNesting)
	}
	switch value := value.(type) {
	case string:
		return container.Scalar(container.String), nil
	case bool:
		return container.Scalar(container.Bool), nil
	case json.Number:
		if _, err := value.Int64(); err == nil {
			return container.Scalar(container.Int), nil
		}
		return container.Scalar(container.Double), nil
	case []any:
		return typeOfList(what, value, depth)
	case map[string]any:
		var members []container.Member
		for _, name := range slices.Sorted(maps.Keys(value)) {
			if !processtable.ValidActivity(name) { // members are called as activities are
				return nil, fmt.Errorf("%q in %s cannot name a member: use letters, digits and _, not a digit first, at most 64", text.Cut(name, 100), what)
			}
			t, err := typeOf(what+"_"+name, value[name], depth+1)
			if err != nil {
				return nil, err
			}
			members = append(members, container.Member{Name: name, Type: t})
		}
		return container.NewStructure(what, members), nil
	}
	return nil, fmt.Errorf("%s is null, so its type is not known: write a value, or leave it out", what)
}

// typeOfList gives the type of a list whose elements are alike; an empty one has texts.
func typeOfList(what string, list []any, depth int) (*container.Type, error) {
	elem := container.Scalar(container.String)
	for i, value := range list {
		t, err := typeOf(what, value, depth+1)
		switch {
		case err != nil:
			return nil, err
		case i == 0:
			elem = t
		case numbers(elem) && numbers(t):
			if t.Kind == container.Double {
				elem = t
			}
		case !container.SameType(elem, t):
			return nil, fmt.Errorf("the elements of %s are of different types, %s and %s: make them alike", what, elem, t)
		}
	}
	return container.NewList(elem), nil
}

func numbers(t *container.Type) bool { return t.Kind == container.Int || t.Kind == container.Double }
