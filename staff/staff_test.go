package staff

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func word(s string) Word { return Word{Text: s} }

// anyDraft draws a draft in which names often meet, so that it is also wrong now and then.
func anyDraft(t *rapid.T) Draft {
	names := []string{"ann", "bob", "carl", "dora", "eve"}
	some := func(of []string, label string) []Word {
		var all []Word
		for _, s := range rapid.SliceOfNDistinct(rapid.SampledFrom(of), 0, 2, rapid.ID[string]).Draw(t, label) {
			all = append(all, word(s))
		}
		return all
	}
	maybe := func(of []string, label string) Word {
		return word(rapid.SampledFrom(append([]string{"", ""}, of...)).Draw(t, label))
	}
	organisations := []string{"a", "b", "c"}
	d := Draft{Roles: []Word{word("nurse"), word("porter")}}
	for _, name := range organisations {
		d.Organisations = append(d.Organisations, DraftOrganisation{Name: word(name), Manager: maybe(names, "manager"), PartOf: maybe(organisations, "part of")})
	}
	for _, name := range names {
		p := DraftPerson{
			Name: word(name), Roles: some([]string{"nurse", "porter"}, "roles"), Organisation: maybe(organisations, "organisation"),
			Substitute: maybe(names, "substitute"), Same: some([]string{name + "@lab", name + "@office", "x" + name + "@lab"}, "same"),
			Not: some([]string{name + "@port", name + "@mill"}, "not"), Always: rapid.IntRange(0, 3).Draw(t, "always") == 0,
		}
		for range rapid.IntRange(0, 2).Draw(t, "absences") {
			from := rapid.IntRange(1, 28).Draw(t, "from")
			until := rapid.IntRange(from, 28).Draw(t, "until")
			p.Absent = append(p.Absent, DraftAbsence{word(fmt.Sprintf("2026-07-%02d", from)), word(fmt.Sprintf("2026-07-%02d", until))})
		}
		d.People = append(d.People, p)
	}
	return d
}

// anyStaff draws a staff that is right.
func anyStaff(t *rapid.T) (*Staff, Draft) {
	d := anyDraft(t)
	s, problems := d.Check(Site{Node: "ward"})
	if len(problems) > 0 {
		t.Skip(problems)
	}
	return s, d
}

func july(t *rapid.T) time.Time {
	return time.Date(2026, 7, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(rapid.IntRange(-48, 31*24).Draw(t, "hours")) * time.Hour)
}

// Who stands in is there, and stands in for just those whose chains lead to him; nobody else has a
// substitute.
func TestSubstitutesAreThere(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, _ := anyStaff(t)
		now := july(t)
		for n := range s.People() {
			by, ok := s.Substitute(n, now)
			if ok && (!s.Absent(n, now) || s.Absent(by, now)) {
				t.Fatalf("%s stands in for %s: absent %t and %t", by, n, s.Absent(by, now), s.Absent(n, now))
			}
			for m := range s.People() {
				all, whole := s.StandsInFor(m, now, 100)
				if slices.Contains(all, n) != (ok && by == m) || !whole {
					t.Fatalf("%s stands in for %v, and the substitute of %s is %s", m, all, n, by)
				}
				if some, whole := s.StandsInFor(m, now, 1); len(some) != min(len(all), 1) || whole != (len(all) <= 1) {
					t.Fatalf("one of %v: %v, %t", all, some, whole)
				}
			}
		}
	})
}

// What is said of absence at a time holds until Until, and somebody comes or goes just then.
func TestUntilSomebodyComesOrGoes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, _ := anyStaff(t)
		now := july(t)
		until, ok := s.Until(now)
		if ok && !until.After(now) {
			t.Fatalf("until %s at %s", until, now)
		}
		for n := range s.People() {
			d, _ := s.Details(n)
			for _, a := range d.Absences {
				for _, at := range []time.Time{a.From, a.Until} {
					if at.After(now) && (!ok || at.Before(until)) {
						t.Fatalf("%s comes or goes at %s, and it is said to hold until %s", n, at, until)
					}
				}
			}
		}
	})
}

// Who is in an organisation is listed as one of it; who manages somebody manages an organisation that he
// is in, and never himself.
func TestOrganisationsAgree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, d := anyStaff(t)
		for _, o := range s.Organisations() {
			of := slices.Sorted(s.Of(o))
			for n := range s.People() {
				if slices.Contains(of, n) != s.In(n, o) {
					t.Fatalf("%s is of %v: %t", n, of, s.In(n, o))
				}
			}
		}
		for n := range s.People() {
			m, ok := s.Manager(n)
			manages := slices.ContainsFunc(d.Organisations, func(o DraftOrganisation) bool {
				return o.Manager.Text == string(m) && s.In(n, Organisation(o.Name.Text))
			})
			if ok && (m == n || !manages) {
				t.Fatalf("%s manages %s", m, n)
			}
		}
	})
}

// Who somebody surely is he perhaps is, and one person elsewhere is one person here. Who is said not to be
// somebody is not even perhaps.
func TestWhoSomebodyIs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, d := anyStaff(t)
		p := Person(rapid.SampledFrom([]string{"ann", "xann", "bob", "zoe"}).Draw(t, "name") + "@" + rapid.SampledFrom([]string{"ward", "lab", "office", "port"}).Draw(t, "node"))
		sure, ok := s.Surely(p)
		perhaps := s.Perhaps(p)
		if ok && !slices.Equal(perhaps, []Name{sure}) || len(perhaps) > 1 {
			t.Fatalf("%s is %s (%t), and perhaps %v", p, sure, ok, perhaps)
		}
		for _, one := range d.People {
			same, not := slices.Contains(one.Same, word(string(p))), slices.Contains(one.Not, word(string(p)))
			if n := Name(one.Name.Text); same != (ok && sure == n && p != At(n, "ward")) || not && slices.Contains(perhaps, n) {
				t.Fatalf("%s is %s: said %t, not %t; surely %s, perhaps %v", p, n, same, not, sure, perhaps)
			}
		}
	})
}

// In which order a source lists people and organisations does not matter, nor what it does with the draft
// afterwards.
func TestOrderDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, d := anyStaff(t)
		details := func(s *Staff) (all []Details) {
			for n := range s.People() {
				d, _ := s.Details(n)
				all = append(all, d)
			}
			return all
		}
		before := details(s)
		slices.Reverse(d.People)
		slices.Reverse(d.Organisations)
		again, problems := d.Check(Site{Node: "ward"})
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		for i := range d.People {
			d.People[i] = DraftPerson{}
		}
		if diff := cmp.Diff(before, details(again)); diff != "" {
			t.Fatal(diff)
		}
	})
}

// A draft is taken, or all that is wrong with it has a remedy.
func TestProblemsHaveRemedies(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, problems := anyDraft(t).Check(Site{Node: "lab"})
		if (s == nil) != (len(problems) > 0) {
			t.Fatalf("%v, %v", s, problems)
		}
		for _, p := range problems {
			if p.What == "" || p.Remedy == "" {
				t.Fatalf("%+v", p)
			}
		}
	})
}

// A day begins with its first instant, whatever the clocks of a zone do at midnight.
func TestDaysBeginWithTheirFirstInstant(t *testing.T) {
	for _, c := range []struct {
		zone, day, want string
	}{
		{"UTC", "2026-07-01", "2026-07-01T00:00:00Z"},
		{"Europe/Berlin", "2026-07-01", "2026-06-30T22:00:00Z"},
		{"America/Havana", "2026-03-08", "2026-03-08T05:00:00Z"},   // the clock goes from 0:00 to 1:00
		{"America/Havana", "2026-11-01", "2026-11-01T04:00:00Z"},   // and from 1:00 to 0:00
		{"Asia/Beirut", "2026-03-29", "2026-03-28T22:00:00Z"},      // from 0:00 to 1:00
		{"America/Santiago", "2026-04-05", "2026-04-05T04:00:00Z"}, // from 24:00 to 23:00
	} {
		zone, err := time.LoadLocation(c.zone)
		if err != nil {
			t.Skip(err)
		}
		at, err := moment(c.day, false, zone)
		if err != nil {
			t.Fatal(err)
		}
		if got := at.UTC().Format(time.RFC3339); got != c.want {
			t.Errorf("%s in %s begins at %s, want %s", c.day, c.zone, got, c.want)
		}
	}
}

// Of an absence of days both are included; of times the second is not.
func TestBothDaysAreIncluded(t *testing.T) {
	d := Draft{People: []DraftPerson{
		{Name: word("ann"), Absent: []DraftAbsence{{word("2026-07-01"), word("2026-07-02")}}},
		{Name: word("bob"), Absent: []DraftAbsence{{word("2026-07-01T08:00:00+02:00"), word("2026-07-02T08:00:00Z")}}},
		{Name: word("carl"), Absent: []DraftAbsence{{From: word("2026-07-01")}}},
		{Name: word("dora"), Absent: []DraftAbsence{{Until: word("2026-07-01")}}},
	}}
	s, problems := d.Check(Site{Node: "ward"})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	for _, c := range []struct {
		at   string
		want []Name
	}{
		{"2026-06-30T23:59:59Z", []Name{"dora"}},
		{"2026-07-01T00:00:00Z", []Name{"ann", "carl", "dora"}},
		{"2026-07-01T06:00:00Z", []Name{"ann", "bob", "carl", "dora"}},
		{"2026-07-02T07:59:59Z", []Name{"ann", "bob", "carl"}},
		{"2026-07-02T08:00:00Z", []Name{"ann", "carl"}},
		{"2026-07-02T23:59:59Z", []Name{"ann", "carl"}},
		{"2026-07-03T00:00:00Z", []Name{"carl"}},
	} {
		now, err := time.Parse(time.RFC3339, c.at)
		if err != nil {
			t.Fatal(err)
		}
		var got []Name
		for n := range s.People() {
			if s.Absent(n, now) {
				got = append(got, n)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("at %s absent are %v, want %v", c.at, got, c.want)
		}
	}
}

// A nil staff has nobody.
func TestANilStaffHasNobody(t *testing.T) {
	var s *Staff
	_, login := s.ByLogin("ann")
	_, details := s.Details("ann")
	_, manager := s.Manager("ann")
	_, sure := s.Surely("ann@ward")
	_, until := s.Until(time.Time{})
	if s.Len() != 0 || s.Has("ann") || login || details || manager || sure || until || s.Node() != "" || len(s.Perhaps("user:ann")) > 0 ||
		len(s.WithRole("nurse")) > 0 || s.HasRole("ann", "nurse") || s.In("ann", "ward-3") || s.Absent("ann", time.Time{}) ||
		len(slices.Collect(s.People())) > 0 || len(slices.Collect(s.Of("ward-3"))) > 0 {
		t.Error("somebody works there")
	}
}

// More people than a node may have are refused before they are looked at.
func TestTooManyPeople(t *testing.T) {
	_, problems := Draft{People: make([]DraftPerson, MaxPeople+1)}.Check(Site{})
	if len(problems) != 1 || problems[0].What != "100001 people are listed, more than 100000" {
		t.Errorf("%v", problems)
	}
	deep := Draft{Organisations: []DraftOrganisation{{Name: word("o0")}}}
	for i := range MaxDepth + 1 {
		deep.Organisations = append(deep.Organisations, DraftOrganisation{Name: word(fmt.Sprint("o", i+1)), PartOf: word(fmt.Sprint("o", i))})
	}
	if _, problems := deep.Check(Site{}); len(problems) != 2 || problems[0].What != "o64 is inside more than 63 others" {
		t.Errorf("%v", problems)
	}
}

// full is a staff of as many people as one may have.
func full(b *testing.B) *Staff {
	b.Helper()
	d := Draft{Roles: []Word{word("nurse")}, Organisations: []DraftOrganisation{{Name: word("hospital"), Manager: word("p0")}, {Name: word("ward"), PartOf: word("hospital")}}}
	for i := range MaxPeople {
		p := DraftPerson{Name: word(fmt.Sprint("p", i)), Organisation: word("ward"), Same: []Word{word(fmt.Sprintf("q%d@lab", i))}, Roles: []Word{word("nurse")}}
		if i > 0 {
			p.Substitute = word("p0")
		}
		d.People = append(d.People, p)
	}
	s, problems := d.Check(Site{Node: "here"})
	if len(problems) > 0 {
		b.Fatal(problems)
	}
	return s
}

func BenchmarkLookUps(b *testing.B) {
	s := full(b)
	now := time.Date(2026, 7, 1, 0, 0, 0, 0, time.UTC)
	for name, ask := range map[string]func() bool{
		"role":       func() bool { return s.HasRole("p77777", "nurse") },
		"in":         func() bool { return s.In("p77777", "hospital") },
		"manager":    func() bool { m, _ := s.Manager("p77777"); return m == "p0" },
		"login":      func() bool { n, _ := s.ByLogin("p77777"); return n == "p77777" },
		"same":       func() bool { n, _ := s.Surely("q77777@lab"); return n == "p77777" },
		"perhaps":    func() bool { return len(s.Perhaps("p77777@lab")) == 1 },
		"substitute": func() bool { _, ok := s.Substitute("p77777", now); return !ok },
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if !ask() {
					b.Fatal("wrong")
				}
			}
		})
	}
}
