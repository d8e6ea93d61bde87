package who_test

import (
	"testing"

	"fmqm/processtable"
	"fmqm/staff"
	"fmqm/staff/who"
)

// Who is barred at the home of an item, of people of other sites.
func TestFourEyesOverSites(t *testing.T) {
	did := func(a processtable.ActivityID) *processtable.Who {
		return &processtable.Who{Is: processtable.WhoDid, Activity: a}
	}
	of := func(is processtable.WhoIs, parts ...*processtable.Who) *processtable.Who {
		return &processtable.Who{Is: is, Parts: parts}
	}
	role := &processtable.Who{Is: processtable.WhoRole}
	word := func(s string) staff.Word { return staff.Word{Text: s} }
	d := staff.Draft{People: []staff.DraftPerson{
		{Name: word("ann"), Same: []staff.Word{word("aames@lab")}, Not: []staff.Word{word("ann@depot")}}, {Name: word("carl")},
	}}
	s, problems := d.Check(staff.Site{Node: "home"})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	notDid := of(processtable.WhoNot, did("a"))
	fourEyes := of(processtable.WhoAnd, role, notDid)
	for _, tc := range []struct {
		name       string
		of         *processtable.Who
		staff      *staff.Staff
		done, asks who.Doer
		want       bool
	}{
		{"himself", fourEyes, s, who.Doer{Person: "bob@lab"}, who.Doer{Person: "bob@lab"}, true},
		{"another", fourEyes, s, who.Doer{Person: "bob@lab"}, who.Doer{Person: "eve@lab"}, false},
		{"who did it stood in for him", fourEyes, s, who.Doer{Person: "bob@lab", For: "eve@lab"}, who.Doer{Person: "eve@lab"}, true},
		{"he stands in for who did it", fourEyes, s, who.Doer{Person: "bob@lab"}, who.Doer{Person: "eve@lab", For: "bob@lab"}, true},
		{"the staff says that it is he", fourEyes, s, who.Doer{Person: "ann@home"}, who.Doer{Person: "aames@lab"}, true},
		{"in doubt, one of here", fourEyes, s, who.Doer{Person: "ann@home"}, who.Doer{Person: "ann@lab"}, true},
		{"the staff says that it is not he", fourEyes, s, who.Doer{Person: "ann@home"}, who.Doer{Person: "ann@depot"}, false},
		{"in doubt, neither of here", fourEyes, s, who.Doer{Person: "bob@lab"}, who.Doer{Person: "bob@depot"}, true},
		{"one of here by another name", fourEyes, s, who.Doer{Person: "carl@home"}, who.Doer{Person: "bob@lab"}, false},
		{"nobody is known here", fourEyes, nil, who.Doer{Person: "ann@home"}, who.Doer{Person: "ann@depot"}, true},
		{"neither of two", of(processtable.WhoNot, of(processtable.WhoOr, role, did("a"))), s, who.Doer{Person: "bob@lab"}, who.Doer{Person: "bob@lab"}, true},
		{"one of two is enough", of(processtable.WhoOr, role, notDid), s, who.Doer{Person: "bob@lab"}, who.Doer{Person: "bob@lab"}, false},
		{"not both of two", of(processtable.WhoNot, of(processtable.WhoAnd, role, did("a"))), s, who.Doer{Person: "bob@lab"}, who.Doer{Person: "bob@lab"}, false},
		{"not not", of(processtable.WhoNot, of(processtable.WhoNot, did("a"))), s, who.Doer{Person: "bob@lab"}, who.Doer{Person: "bob@lab"}, false},
		{"nobody did it", fourEyes, s, who.Doer{}, who.Doer{Person: "bob@lab"}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, _, barred := who.Bars(tc.of, tc.staff, map[processtable.ActivityID][]who.Doer{"a": {tc.done}}, tc.asks)
			if barred != tc.want {
				t.Errorf("barred: %v", barred)
			}
		})
	}
}
