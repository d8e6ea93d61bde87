package file_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"fmqm/staff"
	"fmqm/staff/file"
)

// What is written is read as the same staff, also where a name looks like something else.
func TestFormat(t *testing.T) {
	w := func(s string) staff.Word { return staff.Word{Text: s} }
	words := func(all ...string) (out []staff.Word) {
		for _, s := range all {
			out = append(out, w(s))
		}
		return out
	}
	d := staff.Draft{
		Roles:         words("true", "null", "1e3"),
		Organisations: []staff.DraftOrganisation{{Name: w("w")}, {Name: w("0x1"), Manager: w("null"), PartOf: w("w")}},
		People: []staff.DraftPerson{
			{Name: w("null"), Full: w("a: b # \"c\" {\u2028} \u00e9\\"), Roles: words("true", "1e3"), Organisation: w("w"), HasLogins: true},
			{Name: w("ann"), Substitute: w("null"), Same: words("b@lab", "a@lab"), Not: words("ann@lab"), Logins: words("x y", "ann"), HasLogins: true, Absent: []staff.DraftAbsence{{From: w("2026-07-01"), Until: w("2026-07-14")}, {Until: w("2026-01-01")}}},
			{Name: w("-"), Always: true},
		},
	}
	site := staff.Site{Node: "ward", Zone: time.UTC}
	want, wrong := d.Check(site)
	if len(wrong) > 0 {
		t.Fatal(wrong)
	}
	text := file.Format(d, "two\nlines", "end")
	if !strings.HasPrefix(string(text), "# two lines\n# end\nroles: ") {
		t.Errorf("%s", text)
	}
	got, err := file.Parse("f", text, site)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if !slices.Equal(slices.Collect(got.People()), slices.Collect(want.People())) || !slices.Equal(got.Roles(), want.Roles()) || !slices.Equal(got.Organisations(), want.Organisations()) {
		t.Errorf("%s", text)
	}
	for n := range want.People() {
		a, _ := got.Details(n)
		b, _ := want.Details(n)
		slices.Sort(a.Same)
		slices.Sort(b.Same)
		slices.Sort(a.Logins)
		slices.Sort(b.Logins)
		if a.Full != b.Full || a.Substitute != b.Substitute || a.Organisation != b.Organisation || a.Always != b.Always ||
			!slices.Equal(a.Roles, b.Roles) || !slices.Equal(a.Same, b.Same) || !slices.Equal(a.Not, b.Not) || !slices.Equal(a.Logins, b.Logins) || !slices.Equal(a.Absences, b.Absences) {
			t.Errorf("%+v\nwant %+v", a, b)
		}
		x, _ := got.Manager(n)
		if y, _ := want.Manager(n); x != y {
			t.Errorf("%s manages %s, want %s", x, n, y)
		}
	}
	d.People[0], d.People[2] = d.People[2], d.People[0]
	if again := file.Format(d, "two\nlines", "end"); string(again) != string(text) {
		t.Error("what says the same is not the same")
	}
}
