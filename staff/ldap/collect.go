package ldap

import (
	"context"
	"fmt"
	"slices"
	"strings"

	goldap "github.com/go-ldap/ldap/v3"

	"fmqm/staff"
)

// Sizes of pages, in entries: the entry of a role names all who have it.
const (
	pageEntries = 500
	pageRoles   = 20
)

// found is what the directory has answered.
type found struct {
	people, roles, organisations []entry
	nameless                     []Left // what has no name that can be read
}

// Answer is what a directory says.
type Answer struct {
	Draft staff.Draft  // by itself
	Staff *staff.Staff // with what Settings.Extra adds
	// Left is what was left out of it, at most MaxLeft of LeftOut.
	Left    []Left
	LeftOut int
}

// MaxLeft is how much of what was left out is named.
const MaxLeft = 100

// Read asks a directory who works at a node. An error is of type *Unanswered where there is no
// answer, and Problems where there is one that cannot be the staff; or why ctx has ended.
func Read(ctx context.Context, s Settings, at staff.Site) (*Answer, error) {
	ctx, cancel := context.WithTimeout(ctx, maxReading)
	defer cancel()
	f, err := collect(ctx, s)
	if err != nil {
		return nil, err
	}
	return f.answer(s, at)
}

func collect(ctx context.Context, s Settings) (*found, error) {
	o, err := open(ctx, s)
	if err != nil {
		return nil, err
	}
	defer o.close()
	f := &found{}
	p := s.People
	f.people, err = f.entries(ctx, o, "people", p.Search, pageEntries, staff.MaxPeople, p.Name, p.Display, p.Login, p.Roles, p.Organisation, p.Substitute)
	if err == nil && len(f.people)+len(f.nameless) == 0 {
		return nil, &Unanswered{s.URL, "it shows nobody below " + p.Base + " who passes " + p.Filter, "correct `base` and `filter` of people, or let " + asWho(s) + " read them"}
	}
	if err == nil && s.Roles != nil {
		f.roles, err = f.entries(ctx, o, "roles", s.Roles.Search, pageRoles, staff.MaxRoles, s.Roles.Name, s.Roles.Member)
	}
	if err == nil && s.Organisations != nil {
		g := s.Organisations
		f.organisations, err = f.entries(ctx, o, "organisations", g.Search, pageEntries, staff.MaxOrganisations, g.Name, g.Manager, g.PartOf)
	}
	if err != nil {
		return nil, err
	}
	return f, nil
}

// entries gives the entries of a search in the order of their places, with the attributes.
func (f *found) entries(ctx context.Context, o *session, what string, q Search, page uint32, most int, attributes ...string) ([]entry, error) {
	attributes = slices.DeleteFunc(attributes, func(a string) bool { return a == "" || a == Above })
	var all []entry
	err := o.search(ctx, what, q, page, attributes, func(e *goldap.Entry) error {
		if len(all) == most {
			return &Unanswered{o.settings.URL, fmt.Sprintf("over %d entries are %s", most, what), "one node has at most so many: narrow `filter`, to who works with this one"}
		}
		at, parsed, ok := placeOf(e.DN)
		if !ok {
			if len(f.nameless) < MaxLeft {
				f.nameless = append(f.nameless, Left{shown(e.DN), "that is no name of an entry"})
			}
			return nil
		}
		out := entry{at: at, dn: e.DN, parsed: parsed, values: make(map[string][]string, len(attributes))}
		for _, a := range e.Attributes {
			name := strings.ToLower(a.Name)
			if base, option, has := strings.Cut(name, ";"); has && strings.HasPrefix(option, "range=") && wanted(attributes, base) {
				return Problems{{shown(e.DN), fmt.Sprintf("the directory gives only part of its %s at once", shown(base)), "let `roles` of people name their attribute that has the groups (memberOf), without `member` of roles"}}
			}
			if wanted(attributes, name) {
				out.values[strings.Clone(name)] = a.Values
			}
		}
		all = append(all, out)
		return nil
	})
	slices.SortFunc(all, func(a, b entry) int { return strings.Compare(string(a.at), string(b.at)) })
	return all, err
}

func wanted(attributes []string, name string) bool {
	return slices.ContainsFunc(attributes, func(a string) bool { return strings.EqualFold(a, name) })
}

// answer makes a staff of what was found.
func (f *found) answer(s Settings, at staff.Site) (*Answer, error) {
	d := &draft{settings: s, places: []string{""}, out: &Answer{Left: f.nameless, LeftOut: len(f.nameless)}}
	d.fill(f)
	if len(d.problems) > 0 {
		return nil, d.problems
	}
	if len(d.out.Draft.People) == 0 {
		return nil, Problems{{"", fmt.Sprintf("nobody of %d entries can be a person here (%s)", len(f.people), d.out.Left[len(d.out.Left)-1]), "correct `name` of people"}}
	}
	made, left, wrong := s.Extra.with(d.out.Draft, d.places, at)
	if len(wrong) > 0 {
		return nil, wrong
	}
	d.out.LeftOut += len(left)
	d.out.Left = append(d.out.Left, left[:min(len(left), MaxLeft-len(d.out.Left))]...)
	d.out.Staff = made
	return d.out, nil
}
