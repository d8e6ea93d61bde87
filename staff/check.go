package staff

import (
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"fmqm/container"
	"fmqm/internal/text"
)

// checker makes a staff of a draft, and collects what is wrong.
type checker struct {
	s        *Staff
	problems []Problem
	more     int     // problems beyond MaxProblems
	subs     []named // substitutes, to be resolved when all people are known
}

// named is a word that names somebody else, with whose it is.
type named struct {
	of   *member
	word Word
}

// Check gives the staff that d says, or everything that is wrong with it, in the order of d's
// places; of more than [MaxProblems] the last says how many more there are.
func (d Draft) Check(at Site) (*Staff, []Problem) {
	if at.Zone == nil {
		at.Zone = time.UTC
	}
	c := &checker{s: &Staff{
		site: at, people: make(map[Name]*member, len(d.People)), organisations: make(map[Organisation]*organisation, len(d.Organisations)),
		withRole: map[Role][]Name{}, logins: make(map[Login]*member, len(d.People)), same: map[Person]*member{},
	}}
	if c.tooMany(d); len(c.problems) > 0 {
		return nil, c.problems
	}
	c.roles(d.Roles)
	for _, o := range d.Organisations {
		if c.name(o.Name, "an organisation") && c.fresh(c.s.organisations[Organisation(o.Name.Text)] != nil, o.Name, "an organisation") {
			c.s.organisations[Organisation(o.Name.Text)] = &organisation{name: Organisation(o.Name.Text)}
		}
	}
	for i := range d.People {
		c.person(&d.People[i])
	}
	for _, o := range d.Organisations {
		c.organisation(o)
	}
	c.substitutes()
	for _, o := range d.Organisations {
		c.depth(o)
	}
	if len(c.problems) > 0 {
		return nil, c.sorted()
	}
	c.index()
	return c.s, nil
}

// tooMany refuses a draft that is over the limits of a node.
func (c *checker) tooMany(d Draft) {
	const remedy = "one node has at most so many: list who works with this one only"
	over := func(w Word, n, most int, what string) {
		c.add(w, fmt.Sprintf("%d %s are listed, more than %d", n, what, most), remedy)
	}
	if n := len(d.People); n > MaxPeople {
		over(d.People[MaxPeople].Name, n, MaxPeople, "people")
	}
	if n := len(d.Organisations); n > MaxOrganisations {
		over(d.Organisations[MaxOrganisations].Name, n, MaxOrganisations, "organisations")
	}
	if n := len(d.Roles); n > MaxRoles {
		over(d.Roles[MaxRoles], n, MaxRoles, "roles")
	}
}

func (c *checker) add(w Word, what, remedy string) {
	if len(c.problems) == MaxProblems {
		c.more++
		return
	}
	c.problems = append(c.problems, Problem{Line: w.Line, Column: w.Column, What: what, Remedy: remedy})
}

func (c *checker) sorted() []Problem {
	slices.SortStableFunc(c.problems, func(a, b Problem) int {
		if a.Line != b.Line {
			return a.Line - b.Line
		}
		return a.Column - b.Column
	})
	if c.more > 0 {
		c.problems = append(c.problems, Problem{What: text.Counted(c.more, "more problem is", "more problems are") + " not shown", Remedy: "correct these first"})
	}
	return c.problems
}

// name checks the form of a name.
func (c *checker) name(w Word, what string) bool {
	if !Valid(w.Text) {
		c.add(w, fmt.Sprintf("%q cannot name %s", text.Cut(w.Text, MaxName), what), ruleNames)
		return false
	}
	return true
}

// fresh refuses a second one of a name.
func (c *checker) fresh(known bool, w Word, what string) bool {
	if known {
		c.add(w, w.Text+" is there twice", "give "+what+" a name of its own, or remove one of the two")
	}
	return !known
}

// near says what to write instead of a name that is not known. Once so much is wrong that
// nobody is told it looks for nothing.
func (c *checker) near(name string, names func() []string, otherwise string) string {
	if len(c.problems) < MaxProblems {
		if n, ok := container.Nearest(name, names()); ok {
			return n + "?"
		}
	}
	return otherwise
}

// namesOf gives the names of a table, sorted.
func namesOf[N ~string, V any](table map[N]V) func() []string {
	return func() []string {
		all := make([]string, 0, len(table))
		for n := range table {
			all = append(all, string(n))
		}
		slices.Sort(all)
		return all
	}
}

func (c *checker) roles(words []Word) {
	for _, w := range words {
		if c.name(w, "a role") && c.fresh(c.hasRole(Role(w.Text)), w, "a role") {
			c.s.withRole[Role(w.Text)] = nil
			c.s.roles = append(c.s.roles, Role(w.Text))
		}
	}
	slices.Sort(c.s.roles)
}

func (c *checker) hasRole(r Role) bool {
	_, has := c.s.withRole[r]
	return has
}

// person checks what is said of one person, but for his substitute.
func (c *checker) person(d *DraftPerson) {
	if !c.name(d.Name, "a person") || !c.fresh(c.s.people[Name(d.Name.Text)] != nil, d.Name, "a person") {
		return
	}
	m := &member{name: Name(d.Name.Text), full: d.Full.Text, always: d.Always}
	c.s.people[m.name] = m
	for _, list := range [][]Word{d.Roles, d.Same, d.Not, d.Logins} {
		if len(list) > MaxEach {
			c.add(list[MaxEach], fmt.Sprintf("%s has over %d entries in one list", m.name, MaxEach), "list fewer")
			return
		}
	}
	if utf8.RuneCountInString(m.full) > MaxFull {
		c.add(d.Full, fmt.Sprintf("the full name of %s has over %d characters", m.name, MaxFull), "write a shorter one")
	}
	c.rolesOf(m, d.Roles)
	if d.Organisation.Text != "" {
		m.organisation = c.organisationOf(d.Organisation, string(m.name))
	}
	c.elsewhere(m, d)
	c.loginsOf(m, d)
	c.absencesOf(m, d.Absent)
	if d.Substitute.Text != "" {
		c.subs = append(c.subs, named{m, d.Substitute})
	}
}

func (c *checker) rolesOf(m *member, words []Word) {
	for _, w := range words {
		role := Role(w.Text)
		switch {
		case !c.hasRole(role):
			c.add(w, fmt.Sprintf("%s of %s is not among roles", text.Cut(w.Text, MaxName), m.name), c.near(w.Text, namesOf(c.s.withRole), "add it there, or remove it here"))
		case slices.Contains(m.roles, role):
			c.add(w, fmt.Sprintf("%s has the role %s twice", m.name, role), "remove one of the two")
		default:
			m.roles = append(m.roles, role)
		}
	}
	slices.Sort(m.roles)
}

// organisationOf gives the organisation that w names: that of a person, or what another is part of.
func (c *checker) organisationOf(w Word, of string) *organisation {
	o := c.s.organisations[Organisation(w.Text)]
	if o == nil {
		c.add(w, fmt.Sprintf("%s of %s is not among organisations", text.Cut(w.Text, MaxName), of), c.near(w.Text, namesOf(c.s.organisations), "add it there, or remove it here"))
	}
	return o
}

// elsewhere checks who somebody is, and is not, at other sites.
func (c *checker) elsewhere(m *member, d *DraftPerson) {
	read := func(w Word, key string) (Person, bool) {
		p, err := Parse(w.Text)
		if err != nil {
			c.add(w, fmt.Sprintf("%q, in %s of %s, is not a person of a site", text.Cut(w.Text, 2*MaxName), key, m.name), "write NAME@NODE, such as ann@ward")
			return "", false
		}
		if _, node, _ := p.Split(); node == c.s.site.Node && node != "" {
			c.add(w, fmt.Sprintf("%s, in %s of %s, is of this node", p, key, m.name), key+" is about other sites: remove it")
			return "", false
		}
		return p, true
	}
	for _, w := range d.Same {
		p, ok := read(w, "same")
		switch {
		case !ok:
		case c.s.same[p] == m:
			c.add(w, fmt.Sprintf("%s is in same of %s twice", p, m.name), "remove one of the two")
		case c.s.same[p] != nil:
			c.add(w, fmt.Sprintf("%s is said to be %s and %s", p, c.s.same[p].name, m.name), "remove it from same of one of the two")
		default:
			c.s.same[p] = m
			m.same = append(m.same, p)
		}
	}
	for _, w := range d.Not {
		p, ok := read(w, "not")
		switch {
		case !ok:
		case slices.Contains(m.same, p):
			c.add(w, fmt.Sprintf("%s is in same and in not of %s", p, m.name), "remove it from one of the two")
		default:
			m.not = append(m.not, p)
		}
	}
}

func (c *checker) loginsOf(m *member, d *DraftPerson) {
	words := d.Logins
	if !d.HasLogins {
		words = []Word{d.Name}
	}
	for _, w := range words {
		login := Login(w.Text)
		switch other := c.s.logins[login]; {
		case w.Text == "" || len(w.Text) > MaxLogin || text.Line(w.Text) != w.Text:
			c.add(w, fmt.Sprintf("%q cannot be the login of %s", text.Cut(w.Text, MaxLogin), m.name), "write the name of a Unix user")
		case other == m:
			c.add(w, fmt.Sprintf("%s has the login %s twice", m.name, login), "remove one of the two")
		case other != nil:
			c.add(w, fmt.Sprintf("the login %s is of %s and of %s", login, other.name, m.name), "a login is of one person (without `logins` it is the name): correct one of the two")
		default:
			c.s.logins[login] = m
			m.logins = append(m.logins, login)
		}
	}
}

func (c *checker) absencesOf(m *member, drafts []DraftAbsence) {
	if len(drafts) > MaxEach {
		c.add(drafts[MaxEach].From, fmt.Sprintf("%s has over %d absences", m.name, MaxEach), "remove those that are past")
		return
	}
	for _, d := range drafts {
		var a Absence
		ok := true
		for _, one := range []struct {
			word Word
			last bool
			into *time.Time
		}{{d.From, false, &a.From}, {d.Until, true, &a.Until}} {
			if one.word.Text == "" {
				continue
			}
			t, err := moment(one.word.Text, one.last, c.s.site.Zone)
			if err != nil {
				c.add(one.word, err.Error(), "write a day such as 2026-07-01, or a time such as 2026-07-01T12:00:00Z")
				ok = false
			}
			*one.into = t
		}
		switch {
		case !ok:
		case !a.From.IsZero() && !a.Until.IsZero() && !a.From.Before(a.Until):
			c.add(d.Until, fmt.Sprintf("%s is absent until %s, before %s", m.name, d.Until.Text, d.From.Text), "exchange them")
		default:
			m.absences = append(m.absences, a)
		}
	}
}

// organisation checks what is said of one organisation.
func (c *checker) organisation(d DraftOrganisation) {
	o := c.s.organisations[Organisation(d.Name.Text)]
	if o == nil {
		return // refused already
	}
	if d.Manager.Text != "" {
		if o.manager = c.s.people[Name(d.Manager.Text)]; o.manager == nil {
			c.add(d.Manager, fmt.Sprintf("%s, manager of %s, is not among people", text.Cut(d.Manager.Text, MaxName), o.name), c.near(d.Manager.Text, namesOf(c.s.people), "add this person, or remove manager"))
		}
	}
	if d.PartOf.Text != "" {
		o.partOf = c.organisationOf(d.PartOf, string(o.name))
	}
}

// index makes what is looked up, once all is right.
func (c *checker) index() {
	s := c.s
	for name := range s.people {
		s.names = append(s.names, name)
	}
	slices.Sort(s.names)
	for _, name := range s.names {
		m := s.people[name]
		for _, r := range m.roles {
			s.withRole[r] = append(s.withRole[r], name)
		}
		if m.organisation != nil {
			m.organisation.members = append(m.organisation.members, name)
		}
		if m.substitute != nil {
			m.substitute.replaces = append(m.substitute.replaces, m)
		}
		for _, a := range m.absences {
			for _, t := range []time.Time{a.From, a.Until} {
				if !t.IsZero() {
					s.changes = append(s.changes, t)
				}
			}
		}
	}
	for _, o := range s.organisations {
		if o.partOf != nil {
			o.partOf.parts = append(o.partOf.parts, o)
		}
	}
	slices.SortFunc(s.changes, time.Time.Compare)
	s.changes = slices.CompactFunc(s.changes, time.Time.Equal)
}
