package ldap

import (
	"fmt"
	"slices"
	"time"

	"fmqm/staff"
)

// Extra is what a file says of people of the directory: who stands in, when somebody is absent,
// who he is at other sites and who not. Few directories know that.
type Extra struct {
	File   string
	People []staff.DraftPerson // their words' lines are those of File
}

// extraLine is added to the lines of File, so that they are no entry's.
const extraLine = 1 << 30

// With gives the staff that a directory's draft makes with what the file says, and what of the
// file is left out, because the directory does not have that person. An error is of type Problems.
func (x Extra) With(d staff.Draft, at staff.Site) (*staff.Staff, []Left, error) {
	s, left, wrong := x.with(d, nil, at)
	if len(wrong) > 0 {
		return nil, nil, wrong
	}
	return s, left, nil
}

func (x Extra) with(d staff.Draft, places []string, at staff.Site) (*staff.Staff, []Left, Problems) {
	if at.Zone == nil {
		at.Zone = time.UTC
	}
	d, left := x.added(d)
	made, wrong := d.Check(at)
	if len(wrong) == 0 {
		return made, left, nil
	}
	var problems Problems
	for _, p := range wrong {
		where := ""
		switch {
		case p.Line >= extraLine:
			where = fmt.Sprintf("%s:%d:%d", x.File, p.Line-extraLine, p.Column)
		case p.Line < len(places):
			where = places[p.Line]
		}
		problems = append(problems, Problem{where, p.What, p.Remedy})
	}
	return nil, nil, problems
}

// added lays what the file says over what the directory says.
func (x Extra) added(d staff.Draft) (staff.Draft, []Left) {
	if len(x.People) == 0 {
		return d, nil
	}
	d.People = slices.Clone(d.People) // a draft is its owner's
	known := make(map[string]int, len(d.People))
	for i, p := range d.People {
		known[p.Name.Text] = i
	}
	var left []Left
	for _, p := range x.People {
		i, ok := known[p.Name.Text]
		if !ok {
			left = append(left, Left{fmt.Sprintf("%s:%d:%d", x.File, p.Name.Line, p.Name.Column), p.Name.Text + " is nobody of the directory"})
			continue
		}
		p = renumbered(p, func(line int) int { return line + extraLine })
		into := &d.People[i]
		if p.Substitute.Text != "" {
			into.Substitute = p.Substitute
		}
		into.Same, into.Not, into.Absent, into.Always = p.Same, p.Not, p.Absent, p.Always
	}
	return d, left
}

// renumbered gives a person with other lines.
func renumbered(p staff.DraftPerson, line func(int) int) staff.DraftPerson {
	word := func(w staff.Word) staff.Word {
		w.Line = line(w.Line)
		return w
	}
	words := func(all []staff.Word) []staff.Word {
		all = slices.Clone(all)
		for i := range all {
			all[i] = word(all[i])
		}
		return all
	}
	p.Name, p.Full, p.Organisation, p.Substitute = word(p.Name), word(p.Full), word(p.Organisation), word(p.Substitute)
	p.Roles, p.Same, p.Not, p.Logins = words(p.Roles), words(p.Same), words(p.Not), words(p.Logins)
	p.Absent = slices.Clone(p.Absent)
	for i, a := range p.Absent {
		p.Absent[i] = staff.DraftAbsence{From: word(a.From), Until: word(a.Until)}
	}
	return p
}
