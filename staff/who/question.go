package who

import (
	"fmt"
	"slices"

	"fmqm/processtable"
	"fmqm/staff"
)

// Bounds of the work for an answer. A step is a term, or a text of a list, for one person.
const (
	MaxSteps = 20_000     // about one person, over all whom he stands in for
	MaxAll   = 20_000_000 // about everybody
)

// Someone is who is eligible.
type Someone struct {
	Name staff.Name
	For  staff.Name // whom he would stand in for; empty: he is eligible himself
}

// asking is one answer under way.
type asking struct {
	*Question
	left int // steps
}

// Eligible says whether a person may do it, and for whom: empty where he may himself. Of several
// whom he would stand in for it is the first by name. It fails where that takes too many steps.
func (q *Question) Eligible(n staff.Name) (standsFor staff.Name, ok bool, err error) {
	if !q.staff.Has(n) {
		return "", false, nil
	}
	a := &asking{q, MaxSteps}
	if a.holds(q.root, n, n, false) {
		return "", true, a.spent(n)
	}
	absent, whole := q.staff.StandsInFor(n, q.now, MaxSteps)
	for _, who := range absent {
		if a.left > 0 && a.holds(q.root, who, n, false) {
			return who, true, a.spent(n)
		}
	}
	if !whole {
		a.left = 0
	}
	return "", false, a.spent(n)
}

// spent is the error of an answer that took too many steps.
func (a *asking) spent(n staff.Name) error {
	if a.left > 0 {
		return nil
	}
	return fmt.Errorf("who may do it: for %s that takes more than %d steps: make the expression simpler, its lists shorter, or have %s stand in for fewer people", n, MaxSteps, n)
}

// holds says whether a term is TRUE for a person in whose place another would do it: himself, unless he
// is absent. doubt: inside of a `!`, where who may be meant counts too.
func (a *asking) holds(t *term, person, does staff.Name, doubt bool) bool {
	if a.left--; a.left <= 0 {
		return false
	}
	switch t.is {
	case processtable.WhoAnd:
		return !slices.ContainsFunc(t.parts, func(p *term) bool { return !a.holds(p, person, does, doubt) })
	case processtable.WhoOr:
		return slices.ContainsFunc(t.parts, func(p *term) bool { return a.holds(p, person, does, doubt) })
	case processtable.WhoNot:
		barred := a.holds(t.parts[0], person, person, !doubt)
		if !barred && !doubt && does != person { // nor may who stands in be barred
			barred = a.holds(t.parts[0], does, does, true)
		}
		return !barred && a.left > 0
	case processtable.WhoRole:
		return t.truth || a.texts(t, func(s string) bool { return a.staff.HasRole(person, staff.Role(s)) })
	case processtable.WhoOrg:
		return t.truth || a.texts(t, func(s string) bool { return a.staff.In(person, staff.Organisation(s)) })
	case processtable.WhoPerson, processtable.WhoDid, processtable.WhoManages:
		return t.truth || t.sure.has(person) || doubt && t.maybe.has(person)
	case processtable.WhoData:
		return t.truth
	}
	return false
}

// texts asks for the texts of a list: for one of them, or for all.
func (a *asking) texts(t *term, is func(string) bool) bool {
	for _, s := range t.texts {
		if a.left--; a.left <= 0 {
			return false
		}
		if is(s) != t.all {
			return !t.all
		}
	}
	return t.all
}

// All gives who is here and may do it, sorted by name, each once, at most limit of them; and whether
// those are all. Who is absent is not here, though he might come in; his substitute is.
func (q *Question) All(limit int) (all []Someone, whole bool) {
	whole = q.each(func(s Someone) bool {
		if len(all) == limit {
			return false
		}
		all = append(all, s)
		return true
	})
	return all, whole
}

// Count says how many people All would give, and whether those are all.
func (q *Question) Count() (n int, whole bool) {
	whole = q.each(func(Someone) bool { n++; return true })
	return n, whole
}

// each yields who is here and may do it, sorted; false: it was ended, or took too many steps.
func (q *Question) each(yield func(Someone) bool) (whole bool) {
	whole = true
	found := map[staff.Name]staff.Name{} // who, for whom
	left := MaxAll
	for _, n := range q.candidates() {
		does, absent := n, q.staff.Absent(n, q.now)
		if absent {
			var here bool
			if does, here = q.staff.Substitute(n, q.now); !here {
				continue
			}
		}
		a := &asking{q, min(MaxSteps, left)}
		before := a.left
		holds := a.holds(q.root, n, does, false)
		if left -= before - a.left; left <= 0 {
			return false
		}
		whole = whole && a.left > 0
		switch _, known := found[does]; {
		case !holds || a.left <= 0:
		case !absent:
			found[n] = ""
		case !known:
			found[does] = n // candidates are sorted, so it is the first by name
		}
	}
	names := make([]staff.Name, 0, len(found))
	for n := range found {
		names = append(names, n)
	}
	slices.Sort(names)
	for _, n := range names {
		if !yield(Someone{Name: n, For: found[n]}) {
			return false
		}
	}
	return whole
}
