package ldap

import (
	"slices"
	"strings"
	"unicode/utf8"

	"fmqm/internal/text"
	"fmqm/staff"
)

// draft fills a staff's draft from what was found. A word's line is the number of the entry
// that has it, in places.
type draft struct {
	settings Settings
	out      *Answer
	places   []string // names of entries as they are shown, from 1
	problems Problems

	people        index
	roles         index
	organisations index
	has           []map[string]bool // roles of each person of the draft
}

// index finds people, roles or organisations, as their numbers in the draft.
type index struct {
	at      map[place]int
	called  map[string]int // by the name in small letters
	entries []*entry       // in the order of the draft
	lines   []int
}

func (d *draft) line(e *entry) int {
	d.places = append(d.places, shown(e.dn))
	return len(d.places) - 1
}

func (d *draft) leave(e *entry, what string) {
	if d.out.LeftOut++; len(d.out.Left) < MaxLeft {
		d.out.Left = append(d.out.Left, Left{shown(e.dn), what})
	}
}

func (d *draft) problem(e *entry, what, remedy string) {
	if len(d.problems) < staff.MaxProblems {
		d.problems = append(d.problems, Problem{shown(e.dn), what, remedy})
	}
}

func (d *draft) fill(f *found) {
	d.roles = d.index(f.roles, "a role", func() string { return d.settings.Roles.Name })
	d.organisations = d.index(f.organisations, "an organisation", func() string { return d.settings.Organisations.Name })
	d.people = d.index(f.people, "a person", func() string { return d.settings.People.Name })
	for i, e := range d.roles.entries {
		d.out.Draft.Roles = append(d.out.Draft.Roles, d.word(name(e, d.settings.Roles.Name), d.roles.lines[i]))
	}
	d.has = make([]map[string]bool, len(d.people.entries))
	for i, e := range d.people.entries {
		d.has[i] = map[string]bool{}
		d.person(e, d.people.lines[i])
		d.rolesOf(i, e)
	}
	if r := d.settings.Roles; r != nil && r.Member != "" {
		d.members()
	}
	for i, e := range d.organisations.entries {
		d.organisation(e, d.organisations.lines[i])
	}
	d.undeclared()
	for i := range d.out.Draft.People {
		p := &d.out.Draft.People[i]
		for r := range d.has[i] {
			p.Roles = append(p.Roles, d.word(r, d.people.lines[i]))
		}
		slices.SortFunc(p.Roles, func(a, b staff.Word) int { return strings.Compare(a.Text, b.Text) })
	}
}

func (d *draft) word(s string, line int) staff.Word { return staff.Word{Text: s, Line: line} }

// name is what an entry is called that is in an index.
func name(e *entry, attribute string) string {
	n, _ := e.called(attribute)
	return n
}

// index takes those of the entries that have a name of their own. Two of one name, also in
// other letters, are refused: directories do not tell such names apart.
func (d *draft) index(entries []entry, what string, attribute func() string) index {
	x := index{at: make(map[place]int, len(entries)), called: make(map[string]int, len(entries))}
	for i := range entries {
		e := &entries[i]
		n, why := e.called(attribute())
		if why != "" {
			d.leave(e, "this is not "+what+" here: "+why)
			continue
		}
		folded := strings.ToLower(n)
		if other, twice := x.called[folded]; twice {
			d.problem(e, n+" is there twice, also as "+shown(x.entries[other].dn), "give "+what+" a name of its own, or let `filter` pass one of the two")
			continue
		}
		x.at[e.at], x.called[folded] = len(x.entries), len(x.entries)
		x.entries, x.lines = append(x.entries, e), append(x.lines, d.line(e))
	}
	return x
}

// find gives whom or what a value names: by DN, or by name.
func (x *index) find(value string) (int, bool) {
	if !isDN(value) {
		n, ok := x.called[strings.ToLower(value)]
		return n, ok
	}
	at, _, ok := placeOf(value)
	if !ok {
		return 0, false
	}
	n, ok := x.at[at]
	return n, ok
}

// only gives the one value of an attribute; empty: there is none, or there are several, which is
// said.
func (d *draft) only(e *entry, attribute string) string {
	all := e.of(attribute)
	if len(all) > 1 {
		d.leave(e, "it has several "+attribute+", so none of them is taken")
		return ""
	}
	if len(all) == 0 {
		return ""
	}
	return all[0]
}

func (d *draft) person(e *entry, line int) {
	p := staff.DraftPerson{Name: d.word(name(e, d.settings.People.Name), line)}
	if full := d.only(e, d.settings.People.Display); full != "" {
		p.Full = d.word(d.display(full), line)
	}
	if attribute := d.settings.People.Login; attribute != "" {
		p.HasLogins = true
		for _, login := range e.of(attribute) {
			switch {
			case login == "" || len(login) > staff.MaxLogin || text.Line(login) != login:
				d.leave(e, "“"+shown(login)+"” cannot be a login")
			case !slices.ContainsFunc(p.Logins, func(w staff.Word) bool { return w.Text == login }):
				p.Logins = append(p.Logins, d.word(login, line))
			}
		}
	}
	p.Organisation = d.member(e, line, d.settings.People.Organisation, "organisation")
	if value := d.only(e, d.settings.People.Substitute); value != "" {
		p.Substitute = d.somebody(e, line, value, "substitute")
	}
	d.out.Draft.People = append(d.out.Draft.People, p)
}

// display gives a name in full that is fit to be shown: it is for people only.
func (d *draft) display(full string) string {
	full = text.Line(text.Cut(full, 4*staff.MaxFull))
	if utf8.RuneCountInString(full) > staff.MaxFull {
		full = string([]rune(full)[:staff.MaxFull])
	}
	return full
}

// somebody gives the person that a value names. One who is not here, such as who has left, is
// left out.
func (d *draft) somebody(e *entry, line int, value, what string) staff.Word {
	i, ok := d.people.find(value)
	if !ok {
		d.leave(e, shown(value)+", its "+what+", is nobody here")
		return staff.Word{}
	}
	return d.word(name(d.people.entries[i], d.settings.People.Name), line)
}

// member gives the organisation that an attribute of an entry names, or that is above it.
func (d *draft) member(e *entry, line int, attribute, what string) staff.Word {
	x := &d.organisations
	if attribute == Above {
		for at := e.at.above(); at != ""; at = at.above() {
			if i, ok := x.at[at]; ok {
				return d.word(name(x.entries[i], d.settings.Organisations.Name), line)
			}
		}
		return staff.Word{}
	}
	value := d.only(e, attribute)
	switch i, ok := x.find(value); {
	case value == "":
	case ok:
		return d.word(name(x.entries[i], d.settings.Organisations.Name), line)
	case d.settings.Organisations == nil && staff.Valid(value):
		return d.word(value, line)
	default:
		d.leave(e, shown(value)+", its "+what+", is no organisation here")
	}
	return staff.Word{}
}

func (d *draft) organisation(e *entry, line int) {
	o := staff.DraftOrganisation{Name: d.word(name(e, d.settings.Organisations.Name), line)}
	if value := d.only(e, d.settings.Organisations.Manager); value != "" {
		o.Manager = d.somebody(e, line, value, "manager")
	}
	o.PartOf = d.member(e, line, d.settings.Organisations.PartOf, "organisation above")
	d.out.Draft.Organisations = append(d.out.Draft.Organisations, o)
}

// undeclared adds the organisations and roles that are there because somebody has them.
func (d *draft) undeclared() {
	roles, organisations := map[string]bool{}, map[string]bool{}
	for i, p := range d.out.Draft.People {
		if o := p.Organisation; d.settings.Organisations == nil && o.Text != "" && !organisations[o.Text] {
			organisations[o.Text] = true
			d.out.Draft.Organisations = append(d.out.Draft.Organisations, staff.DraftOrganisation{Name: o})
		}
		if d.settings.Roles != nil {
			continue
		}
		for r := range d.has[i] {
			if !roles[r] {
				roles[r] = true
				d.out.Draft.Roles = append(d.out.Draft.Roles, d.word(r, d.people.lines[i]))
			}
		}
	}
}
