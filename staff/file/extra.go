package file

import (
	"fmt"

	"fmqm/staff"
)

// ReadExtra reads what the file at path says of people whom something else lists: who stands in
// for them, when they are absent, who they are at other sites, and who not. All else is that
// other's to say. The error is of type Problems.
func ReadExtra(path string, at staff.Site) ([]staff.DraftPerson, error) {
	text, err := load(path)
	if err != nil {
		return nil, unread(path, err)
	}
	r := &reader{file: path, text: text}
	d, ok := r.draft()
	if ok && len(r.problems) == 0 {
		r.only(d)
	}
	if !ok || len(r.problems) > 0 {
		return nil, r.sorted()
	}
	if _, err := r.check(withAll(d), at); err != nil {
		return nil, err
	}
	return d.People, nil
}

// only refuses what is not for such a file.
func (r *reader) only(d staff.Draft) {
	refuse := func(w staff.Word, what string) {
		if w.Text != "" {
			r.problem(w.Line, w.Column, what+" is for the directory of `ldap` to say, not for this file", "remove it; the file has substitute, absent, same and not of its people")
		}
	}
	for _, w := range d.Roles {
		refuse(w, fmt.Sprintf("which roles there are (%s)", w.Text))
	}
	for _, o := range d.Organisations {
		refuse(o.Name, fmt.Sprintf("which organisations there are (%s)", o.Name.Text))
	}
	for _, p := range d.People {
		refuse(p.Full, "the full name of "+p.Name.Text)
		refuse(p.Organisation, "the organisation of "+p.Name.Text)
		if len(p.Roles) > 0 {
			refuse(p.Roles[0], "what roles "+p.Name.Text+" has")
		}
		if p.HasLogins {
			refuse(p.Name, "what logins "+p.Name.Text+" has")
		}
	}
}

// withAll gives the draft with everybody that it names: the others are not in the file.
func withAll(d staff.Draft) staff.Draft {
	known := map[string]bool{}
	for _, p := range d.People {
		known[p.Name.Text] = true
	}
	for _, p := range d.People {
		if s := p.Substitute; s.Text != "" && !known[s.Text] {
			known[s.Text] = true
			d.People = append(d.People, staff.DraftPerson{Name: s})
		}
	}
	return d
}
