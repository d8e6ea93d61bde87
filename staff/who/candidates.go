package who

import (
	"maps"
	"slices"

	"fmqm/processtable"
	"fmqm/staff"
)

// candidates gives, sorted, who alone the expression can hold for: those who have a role that it wants,
// say; else everybody. So it need not be asked of each of 100,000 people.
func (q *Question) candidates() []staff.Name {
	some, narrow := q.narrow(q.root)
	if !narrow {
		return slices.Collect(q.staff.People())
	}
	slices.Sort(some)
	return slices.Compact(some)
}

// narrow gives whom alone a term that is not inside of a `!` holds for; false: it may hold for everybody.
func (q *Question) narrow(t *term) (some []staff.Name, narrow bool) {
	if t.truth {
		return nil, false
	}
	switch t.is {
	case processtable.WhoAnd:
		for _, p := range t.parts {
			if of, ok := q.narrow(p); ok && (!narrow || len(of) < len(some)) {
				some, narrow = of, true
			}
		}
		return some, narrow
	case processtable.WhoOr:
		for _, p := range t.parts {
			of, ok := q.narrow(p)
			if !ok || len(some)+len(of) > staff.MaxPeople {
				return nil, false
			}
			some = append(some, of...)
		}
		return some, true
	case processtable.WhoRole:
		return q.of(t, func(s string) []staff.Name { return q.staff.WithRole(staff.Role(s)) })
	case processtable.WhoOrg:
		return q.of(t, func(s string) []staff.Name { return slices.Collect(q.staff.Of(staff.Organisation(s))) })
	case processtable.WhoPerson, processtable.WhoDid, processtable.WhoManages:
		return slices.Collect(maps.Keys(t.sure)), true
	case processtable.WhoData:
		return nil, true // it is FALSE
	case processtable.WhoNot:
	}
	return nil, false
}

// of gives who is of one of a term's texts; where all are wanted, those of the first.
func (q *Question) of(t *term, who func(string) []staff.Name) (some []staff.Name, narrow bool) {
	for _, s := range t.texts {
		some = append(some, who(s)...)
		if t.all {
			break
		}
		if len(some) > staff.MaxPeople {
			return nil, false
		}
	}
	return some, true
}
