package generate

import (
	"fmt"
	"strings"

	"pgregory.net/rapid"

	"fmqm/container"
	"fmqm/definition"
)

// PeopleAt draws processes as RacingAt does, of which people do some activities (N27): those of its own site, or those of
// others. Whoever did others may be barred, but somebody is left at each site: see Staff.
func PeopleAt(nodes []string) *rapid.Generator[*Case] {
	return cases(nodes, func(d *drawing) {
		d.races, d.people, d.steady = true, true, !d.in(3, "unsteady")
		d.process()
	})
}

// Person is one of the staff of a site.
type Person struct {
	Name  string
	Roles []string
}

// Roles of the staff.
const (
	clerk = "clerk"
	chief = "chief"
)

// StaffRoles are all roles that processes of PeopleAt name.
var StaffRoles = []string{clerk, chief}

// namesake works at every site; who asks for others than one who is called so cannot tell them apart (N26).
const namesake = "dora"

// Staff are the people of a site: three chiefs, whose names nobody has elsewhere, and one of whom there is a namesake
// at each site. No activity bars more than two.
func Staff(node string) []Person {
	all := []Person{{namesake, []string{clerk}}}
	for _, name := range []string{"ann", "bob", "carl"} {
		all = append(all, Person{name + "-" + node, StaffRoles})
	}
	return all
}

// mostBarred is by how many others' doers an activity bars people.
const mostBarred = 2

// manual draws whether people do an activity. What counts has another output in each iteration, whoever does it.
func (d *drawing) manual(s *step) {
	s.manual = d.people && !s.block && d.in(2, "manual")
}

// offer writes what a manual activity says of its people.
func (d *drawing) offer(g *graph, s *step, node string) {
	if s.out > 0 && d.in(3, "deadline") {
		s.late = true
		d.line("deadline: {after: %s}", pick(d, patience, "patience"))
	}
	if s.out > 1 && d.in(3, "choice") {
		d.line("choice: first_match")
	}
	d.cancels(g, s)
	d.line("staff: %s", quoted(d.staff(g, s)))
	if node != definition.OriginNode && d.in(2, "elsewhere") {
		d.line("offered_at: [%s]", strings.Join(d.subset(d.nodes, "offered at"), ", "))
	}
	if d.in(3, "priority") {
		d.line("priority: %d", d.upTo(9, "how urgent"))
	}
	d.tells(s)
}

// tells draws what people are told beside a manual activity (N27): who has it, or may have it; who is asked for by that; others.
func (d *drawing) tells(s *step) {
	if !d.in(2, "notices") {
		return
	}
	var all []string
	for range 1 + d.upTo(1, "how many") {
		text := "{after: " + pick(d, patience, "after what time")
		switch d.upTo(2, "for whom") {
		case 1:
			text += ", staff: " + quoted(fmt.Sprintf(`did(%s) || role("chief")`, s.name))
		case 2:
			text += ", staff: " + quoted(`role("clerk")`)
		}
		if d.in(3, "every") {
			text += ", every: " + pick(d, everies, "how often")
		}
		all = append(all, text+"}")
	}
	d.line("notify: [%s]", strings.Join(all, ", "))
}

// staff draws who may do an activity.
func (d *drawing) staff(g *graph, s *step) string {
	text := pick(d, []string{`role("clerk")`, `role("chief")`, `role("clerk") || role("chief")`, `role("clerk") && !person("zoe")`}, "role")
	barred := 0
	for _, other := range g.steps { // not the map: it has no order
		if !s.above[other] || !other.manual || s.first || barred == mostBarred {
			continue
		}
		switch d.upTo(3, "did") {
		case 1, 2:
			text = fmt.Sprintf("(%s) && !did(%s)", text, other.name)
			barred++
		case 3:
			text = fmt.Sprintf(`(%s) && (did(%s) || role("chief"))`, text, other.name)
		}
	}
	return text
}

// who draws a comparison that asks who did an activity.
func (d *drawing) who() string {
	name := pick(d, Staff(d.nodes[0]), "person").Name
	return d.form([]string{fmt.Sprintf(`_BY == "%s@%s"`, name, d.nodes[0]), `_BY != ""`, fmt.Sprintf(`_BY.startsWith("%s")`, namesake)}, "who did it")
}

// Done is what a person gives who does a manual activity: as Result, and nothing goes wrong.
func (c *Case) Done(call Call) *container.Struct {
	quiet := *c
	quiet.failing, quiet.odd = 0, 0
	return quiet.Result(call).Output
}
