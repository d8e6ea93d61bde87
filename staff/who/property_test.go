package who_test

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"fmqm/processtable"
	"fmqm/staff"
	"fmqm/staff/who"
)

// anyStaff draws the staff of ward: who is absent, who stands in, who somebody is elsewhere.
func anyStaff(t *rapid.T) *staff.Staff {
	w := func(s string) staff.Word { return staff.Word{Text: s} }
	names := []string{"ann", "bob", "carl", "dora"}
	d := staff.Draft{Roles: []staff.Word{w("nurse"), w("porter")}, Organisations: []staff.DraftOrganisation{{Name: w("a"), Manager: w("ann")}, {Name: w("b"), PartOf: w("a"), Manager: w("bob")}}}
	for i, name := range names {
		p := staff.DraftPerson{Name: w(name), Organisation: w(rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "organisation")), Always: rapid.Bool().Draw(t, "absent")}
		for _, role := range []string{"nurse", "porter"} {
			if rapid.Bool().Draw(t, role) {
				p.Roles = append(p.Roles, w(role))
			}
		}
		p.Substitute = w(rapid.SampledFrom(append([]string{""}, names[i+1:]...)).Draw(t, "substitute"))
		switch other := rapid.SampledFrom([]string{name, "x" + name}).Draw(t, "elsewhere") + "@lab"; rapid.IntRange(0, 2).Draw(t, "same or not") {
		case 1:
			p.Same = []staff.Word{w(other)}
		case 2:
			p.Not = []staff.Word{w(other)}
		}
		d.People = append(d.People, p)
	}
	s, problems := d.Check(staff.Site{Node: "ward"})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	return s
}

func anyPerson(t *rapid.T) staff.Person {
	return staff.Person(rapid.SampledFrom([]string{"", "ann@ward", "bob@ward", "carl@ward", "ann@lab", "bob@lab", "xann@lab", "xcarl@lab", "user:dora", "carl"}).Draw(t, "person"))
}

// anyWho draws an expression; the texts of terms are constants.
func anyWho(t *rapid.T, tt *testing.T, depth int) *w {
	kind := rapid.IntRange(0, 9).Draw(t, "kind")
	if depth == 0 {
		kind = kind%6 + 4
	}
	switch kind {
	case 0:
		return and(anyWho(t, tt, depth-1), anyWho(t, tt, depth-1))
	case 1:
		return or(anyWho(t, tt, depth-1), anyWho(t, tt, depth-1))
	case 2, 3:
		return not(anyWho(t, tt, depth-1))
	case 4:
		return did("other")
	case 5:
		return manages("other")
	case 6:
		return of(tt, processtable.WhoOrg, processtable.EachNone, rapid.SampledFrom([]string{`"a"`, `"b"`}).Draw(t, "organisation"))
	case 7:
		return of(tt, processtable.WhoPerson, processtable.EachNone, rapid.SampledFrom([]string{`"ann"`, `"bob@ward"`, `"ann@lab"`}).Draw(t, "who"))
	default:
		return of(tt, processtable.WhoRole, processtable.EachNone, rapid.SampledFrom([]string{`"nurse"`, `"porter"`}).Draw(t, "role"))
	}
}

// Whatever else is asked, four eyes bar who did it, whom he stood for, and who may be either; and nobody
// who is barred stands in. What is listed is what each person is told.
func TestFourEyes(tt *testing.T) {
	rapid.Check(tt, func(t *rapid.T) {
		s := anyStaff(t)
		doer := who.Doer{Person: anyPerson(t), For: anyPerson(t)}
		x := and(anyWho(t, tt, 3), not(did("take")))
		e, err := who.Load(x, order)
		if err != nil {
			t.Fatal(err)
		}
		q, err := e.Ask(who.Ask{Staff: s, Now: may, Did: map[processtable.ActivityID][]who.Doer{
			"take": {doer}, "other": {{Person: anyPerson(t)}},
		}})
		if err != nil {
			t.Fatal(err)
		}
		barred := append(s.Perhaps(doer.Person), s.Perhaps(doer.For)...)
		var here []who.Someone
		for n := range s.People() {
			standsFor, ok, err := q.Eligible(n)
			if err != nil {
				t.Fatal(err)
			}
			if ok && (slices.Contains(barred, n) || slices.Contains(barred, standsFor)) {
				t.Fatalf("%s for %q may do what %+v did", n, standsFor, doer)
			}
			if by, there := s.Substitute(standsFor, may); ok && standsFor != "" && (!there || by != n) {
				t.Fatalf("%s is no substitute of %s", n, standsFor)
			}
			if ok && !s.Absent(n, may) {
				here = append(here, who.Someone{Name: n, For: standsFor})
			}
		}
		if all, whole := q.All(10); fmt.Sprint(all) != fmt.Sprint(here) || !whole {
			t.Fatalf("listed are %v, and told %v", all, here)
		}
	})
}

// To know less of who is who elsewhere lets nobody do more, where all that is asked of doers is `!did`.
func TestDoubtDenies(tt *testing.T) {
	rapid.Check(tt, func(t *rapid.T) {
		s := anyStaff(t)
		x := load(tt, and(of(tt, processtable.WhoRole, processtable.EachNone, `"nurse"`), not(did("take"))))
		person := anyPerson(t)
		ask := func(p staff.Person) *who.Question {
			q, err := x.Ask(who.Ask{Staff: s, Now: may, Did: map[processtable.ActivityID][]who.Doer{"take": {{Person: p}}}})
			if err != nil {
				t.Fatal(err)
			}
			return q
		}
		did, nobody := ask(person), ask("")
		for n := range s.People() {
			_, may, _ := did.Eligible(n)
			_, could, _ := nobody.Eligible(n)
			if may && !could {
				t.Fatalf("%s may do it only since %s did something", n, person)
			}
			if !could {
				continue
			}
			if p := s.Perhaps(person); len(p) == 0 && !may {
				t.Fatalf("%s is barred, and %s is nobody here", n, person)
			}
		}
	})
}

// nurses is a question to a staff of 100,000 people, of whom every tenth is a nurse.
func nurses(b *testing.B) *who.Question {
	b.Helper()
	word := func(format string, args ...any) staff.Word { return staff.Word{Text: fmt.Sprintf(format, args...)} }
	d := staff.Draft{Roles: []staff.Word{word("nurse")}}
	for i := range staff.MaxPeople {
		p := staff.DraftPerson{Name: word("p%d", i)}
		if i%10 == 0 {
			p.Roles = []staff.Word{word("nurse")}
		}
		d.People = append(d.People, p)
	}
	s, problems := d.Check(staff.Site{Node: "ward"})
	if len(problems) > 0 {
		b.Fatal(problems)
	}
	x := and(of(b, processtable.WhoRole, processtable.EachNone, `"nurse"`), not(did("take")))
	return ask(b, x, who.Ask{Staff: s, Now: may, Did: doers("take=p20@ward")})
}

func BenchmarkEligible(b *testing.B) {
	q := nurses(b)
	b.ReportAllocs()
	for b.Loop() {
		if _, ok, err := q.Eligible("p30"); !ok || err != nil {
			b.Fatal(ok, err)
		}
	}
}

func BenchmarkCount(b *testing.B) {
	q := nurses(b)
	b.ReportAllocs()
	for b.Loop() {
		if n, whole := q.Count(); n != staff.MaxPeople/10-1 || !whole {
			b.Fatal(n, whole)
		}
	}
}

// BenchmarkAsk is what an item of a worklist costs before anybody is asked about.
func BenchmarkAsk(b *testing.B) {
	s := read(b, ward)
	x := load(b, and(of(b, processtable.WhoRole, processtable.EachNone, "role"), not(did("take"))))
	in, by := input("nurse"), doers("take=ann@ward")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := x.Ask(who.Ask{Staff: s, Now: may, Input: in, Did: by}); err != nil {
			b.Fatal(err)
		}
	}
}
