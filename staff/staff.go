package staff

import (
	"iter"
	"slices"
	"strings"
	"time"

	"fmqm/processtable"
)

// Staff is who works at a node. It never changes. A nil *Staff has nobody.
type Staff struct {
	site          Site
	roles         []Role // sorted
	names         []Name // sorted
	people        map[Name]*member
	organisations map[Organisation]*organisation
	withRole      map[Role][]Name // sorted
	logins        map[Login]*member
	same          map[Person]*member // who people of other sites are here
	changes       []time.Time        // when absences begin and end, sorted, each once
}

// member is a person as the staff keeps him.
type member struct {
	name         Name
	full         string
	roles        []Role // sorted
	organisation *organisation
	substitute   *member
	replaces     []*member // whose substitute he is
	same, not    []Person
	logins       []Login
	absences     []Absence
	always       bool
}

type organisation struct {
	name    Organisation
	manager *member
	partOf  *organisation
	parts   []*organisation
	members []Name // of itself, sorted
}

// Details are what is known of a person. The caller owns them.
type Details struct {
	Name         Name
	Full         string
	Roles        []Role // sorted
	Organisation Organisation
	Substitute   Name
	Same, Not    []Person
	Logins       []Login
	Absences     []Absence
	Always       bool // absent until further notice
}

func (s *Staff) member(n Name) *member {
	if s == nil {
		return nil
	}
	return s.people[n]
}

// Node is where the staff works; empty: not said.
func (s *Staff) Node() processtable.NodeID {
	if s == nil {
		return ""
	}
	return s.site.Node
}

// Len is how many people there are.
func (s *Staff) Len() int {
	if s == nil {
		return 0
	}
	return len(s.names)
}

// Has says whether a person works here.
func (s *Staff) Has(n Name) bool { return s.member(n) != nil }

// ByLogin gives the person that a Unix user is.
func (s *Staff) ByLogin(l Login) (Name, bool) {
	if s == nil || s.logins[l] == nil {
		return "", false
	}
	return s.logins[l].name, true
}

// People gives everybody, sorted.
func (s *Staff) People() iter.Seq[Name] {
	return func(yield func(Name) bool) {
		if s != nil {
			slices.Values(s.names)(yield)
		}
	}
}

// Roles gives the roles that are declared, sorted.
func (s *Staff) Roles() []Role {
	if s == nil {
		return nil
	}
	return slices.Clone(s.roles)
}

// Organisations gives the organisations, sorted.
func (s *Staff) Organisations() []Organisation {
	if s == nil {
		return nil
	}
	all := make([]Organisation, 0, len(s.organisations))
	for name := range s.organisations {
		all = append(all, name)
	}
	slices.Sort(all)
	return all
}

// Details gives what is known of a person; false: he does not work here.
func (s *Staff) Details(n Name) (Details, bool) {
	m := s.member(n)
	if m == nil {
		return Details{}, false
	}
	d := Details{
		Name: m.name, Full: m.full, Roles: slices.Clone(m.roles),
		Same: slices.Clone(m.same), Not: slices.Clone(m.not), Logins: slices.Clone(m.logins),
		Absences: slices.Clone(m.absences), Always: m.always,
	}
	if m.organisation != nil {
		d.Organisation = m.organisation.name
	}
	if m.substitute != nil {
		d.Substitute = m.substitute.name
	}
	return d, true
}

// HasRole says whether a person has a role.
func (s *Staff) HasRole(n Name, r Role) bool {
	m := s.member(n)
	if m == nil {
		return false
	}
	_, has := slices.BinarySearch(m.roles, r)
	return has
}

// WithRole gives who has a role, sorted. The caller does not change it.
func (s *Staff) WithRole(r Role) []Name {
	if s == nil {
		return nil
	}
	return s.withRole[r]
}

// In says whether a person is in an organisation, or in one that is part of it.
func (s *Staff) In(n Name, o Organisation) bool {
	m := s.member(n)
	if m == nil {
		return false
	}
	for at := m.organisation; at != nil; at = at.partOf {
		if at.name == o {
			return true
		}
	}
	return false
}

// Of gives who is in an organisation, or in one that is part of it, in no order.
func (s *Staff) Of(o Organisation) iter.Seq[Name] {
	return func(yield func(Name) bool) {
		if s == nil || s.organisations[o] == nil {
			return
		}
		for next := []*organisation{s.organisations[o]}; len(next) > 0; next = next[1:] {
			for _, n := range next[0].members {
				if !yield(n) {
					return
				}
			}
			next = append(next, next[0].parts...)
		}
	}
}

// Manager gives who manages a person: the manager of his organisation; where it has none, or
// he is it himself, that of the one that it is part of, and so on. False: nobody.
func (s *Staff) Manager(n Name) (Name, bool) {
	m := s.member(n)
	if m == nil {
		return "", false
	}
	for at := m.organisation; at != nil; at = at.partOf {
		if at.manager != nil && at.manager != m {
			return at.manager.name, true
		}
	}
	return "", false
}

// Surely gives who a person of whichever site is here, where that is sure: he works here, or
// the staff says who he is here (`same`).
func (s *Staff) Surely(p Person) (Name, bool) {
	if s == nil {
		return "", false
	}
	if m := s.same[p]; m != nil {
		return m.name, true
	}
	name, node, ok := p.Split()
	if !ok || node != s.site.Node || !s.Has(name) {
		return "", false
	}
	return name, true
}

// Perhaps gives everybody here who may be a person of whichever site: who surely is; else, of
// another site, who has the same name, unless the staff says that he is not (`not`). What is no
// person of a site, such as `user:bob` or an operator's `alice`, may be who has that login, and
// who has that name.
func (s *Staff) Perhaps(p Person) []Name {
	if n, ok := s.Surely(p); ok {
		return []Name{n}
	}
	if s == nil || p == "" {
		return nil
	}
	name, node, ok := p.Split()
	if !ok {
		return s.behind(strings.TrimPrefix(string(p), "user:"))
	}
	if m := s.people[name]; m != nil && node != s.site.Node && !slices.Contains(m.not, p) {
		return []Name{name}
	}
	return nil
}

// behind gives who may be behind an account that is in no staff.
func (s *Staff) behind(account string) (all []Name) {
	if n, ok := s.ByLogin(Login(account)); ok {
		all = append(all, n)
	}
	if n := Name(account); s.Has(n) && !slices.Contains(all, n) {
		all = append(all, n)
	}
	return all
}
