package file_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fmqm/staff"
	"fmqm/staff/file"
)

// ward is a staff file with all that one can have.
const ward = `roles: [nurse, technician, pathologist, shift-lead]
organisations:
  hospital: {manager: dora}
  ward-3:   {manager: berta, part_of: hospital}
people:
  ann:   {name: Ann Ames, roles: [nurse], organisation: ward-3, substitute: bob, same: [aames@lab], not: [ann@office]}
  bob:   {roles: [nurse], organisation: ward-3, logins: [bob, bbrown], absent: [{from: 2026-07-01, until: 2026-07-14}]}
  berta: {roles: [nurse, shift-lead], organisation: ward-3}
  dora:  {organisation: hospital, absent: true, substitute: berta}
  carl:
`

func TestAFileIsRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "staff.yaml")
	if err := os.WriteFile(path, []byte(ward), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := file.Read(path, staff.Site{Node: "ward"})
	if err != nil {
		t.Fatal(err)
	}
	day := func(d int) time.Time { return time.Date(2026, 7, d, 0, 0, 0, 0, time.UTC) }
	want := []staff.Details{
		{
			Name: "ann", Full: "Ann Ames", Roles: []staff.Role{"nurse"}, Organisation: "ward-3", Substitute: "bob",
			Same: []staff.Person{"aames@lab"}, Not: []staff.Person{"ann@office"}, Logins: []staff.Login{"ann"},
		},
		{Name: "berta", Roles: []staff.Role{"nurse", "shift-lead"}, Organisation: "ward-3", Logins: []staff.Login{"berta"}},
		{
			Name: "bob", Roles: []staff.Role{"nurse"}, Organisation: "ward-3", Logins: []staff.Login{"bob", "bbrown"},
			Absences: []staff.Absence{{From: day(1), Until: day(15)}},
		},
		{Name: "carl", Logins: []staff.Login{"carl"}},
		{Name: "dora", Organisation: "hospital", Substitute: "berta", Logins: []staff.Login{"dora"}, Always: true},
	}
	var got []staff.Details
	for n := range s.People() {
		d, _ := s.Details(n)
		got = append(got, d)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// Each mistake is said with its place and what to do.
func TestMistakes(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"a role that is not declared", "roles: [nurse]\npeople:\n  ann: {roles: [nurce]}\n", "3:17: nurce of ann is not among roles: nurse?"},
		{"a role that is like none", "roles: [nurse]\npeople:\n  ann: {roles: [pilot]}\n", "3:17: pilot of ann is not among roles: add it there, or remove it here"},
		{"a role that is declared twice", "roles: [nurse, nurse]\npeople: {ann: {}}\n", "1:16: nurse is there twice: give a role a name of its own, or remove one of the two"},
		{"a role that somebody has twice", "roles: [nurse]\npeople: {ann: {roles: [nurse, nurse]}}\n", "2:31: ann has the role nurse twice: remove one of the two"},
		{"substitutes in a circle", "people:\n  ann: {substitute: bob}\n  bob: {substitute: ann}\n", "2:21: ann, bob, ann stand in for each other: end the chain with somebody else"},
		{"a chain into a circle", "people:\n  eve: {substitute: ann}\n  ann: {substitute: bob}\n  bob: {substitute: ann}\n", "3:21: ann, bob, ann stand in for each other: end the chain with somebody else"},
		{"a substitute of himself", "people: {ann: {substitute: ann}}\n", "1:28: ann cannot stand in for ann: name somebody else, or remove substitute"},
		{"a substitute who is not there", "people: {bob: {}, ann: {substitute: bbo}}\n", "1:37: bbo, substitute of ann, is not among people: bob?"},
		{"days in the wrong order", "people:\n  bob: {absent: [{from: 2026-07-14, until: 2026-07-01}]}\n", "2:44: bob is absent until 2026-07-01, before 2026-07-14: exchange them"},
		{"times in the wrong order", "people:\n  bob: {absent: [{from: \"2026-07-14T00:00:00Z\", until: \"2026-07-14T00:00:00Z\"}]}\n", "2:56: bob is absent until 2026-07-14T00:00:00Z, before 2026-07-14T00:00:00Z: exchange them"},
		{"no day", "people: {bob: {absent: [{from: tomorrow}]}}\n", `1:32: "tomorrow" is neither a day nor a time: write a day such as 2026-07-01, or a time such as 2026-07-01T12:00:00Z`},
		{"a day that is not in the calendar", "people: {bob: {absent: [{from: 2026-02-30}]}}\n", `1:32: "2026-02-30" is neither a day nor a time: write a day such as 2026-07-01, or a time such as 2026-07-01T12:00:00Z`},
		{"neither from nor until", "people: {bob: {absent: [{}]}}\n", "1:25: this absence has neither from nor until: write true, or [{from: 2026-07-01, until: 2026-07-14}]"},
		{"absent as a word", "people: {bob: {absent: ill}}\n", "1:24: this does not say when bob is absent: write true, or [{from: 2026-07-01, until: 2026-07-14}]"},
		{"an organisation that is not there", "organisations: {ward-3: {}}\npeople: {ann: {organisation: ward-33}}\n", "2:30: ward-33 of ann is not among organisations: ward-3?"},
		{"organisations in a circle", "organisations: {a: {part_of: b}, b: {part_of: a}}\npeople: {ann: {}}\n", "1:30: a, b, a are part of each other: remove part_of of the topmost one"},
		{"an organisation in itself", "organisations: {a: {part_of: a}}\npeople: {ann: {}}\n", "1:30: a cannot be part of itself: name the organisation above it, or remove part_of"},
		{"a manager who is not there", "organisations: {a: {manager: bertha}}\npeople: {berta: {}}\n", "1:30: bertha, manager of a, is not among people: berta?"},
		{"somebody of this node", "people: {ann: {same: [aames@ward]}}\n", "1:23: aames@ward, in same of ann, is of this node: same is about other sites: remove it"},
		{"somebody without a node", "people: {ann: {not: [ann]}}\n", `1:22: "ann", in not of ann, is not a person of a site: write NAME@NODE, such as ann@ward`},
		{"somebody elsewhere who is two here", "people: {ann: {same: [a@lab]}, bob: {same: [a@lab]}}\n", "1:45: a@lab is said to be ann and bob: remove it from same of one of the two"},
		{"the same and not", "people: {ann: {same: [a@lab], not: [a@lab]}}\n", "1:37: a@lab is in same and in not of ann: remove it from one of the two"},
		{"the same twice", "people: {ann: {same: [a@lab, a@lab]}}\n", "1:30: a@lab is in same of ann twice: remove one of the two"},
		{"a login of two", "people: {ann: {}, bob: {logins: [ann]}}\n", "1:34: the login ann is of ann and of bob: a login is of one person (without `logins` it is the name): correct one of the two"},
		{"a name", "people: {\"ann ames\": {}}\n", `1:10: "ann ames" cannot name a person: use letters, digits, _ . and -, at most 64`},
		{"a person twice", "people:\n  ann: {}\n  ann: {}\n", "3:3: ann occurs twice; the first is in line 2: remove one of the two"},
		{"an unknown key", "people: {ann: {role: [nurse]}}\n", `1:16: unknown key "role": did you mean roles?`},
		{"an alias", "people: {ann: &a {}, bob: *a}\n", "1:15: anchors, aliases and merge keys are not part of a staff file: write the value out\n1:27: anchors, aliases and merge keys are not part of a staff file: write the value out"},
		{"a tag", "people: {ann: !!map {}}\n", "1:15: tags are not part of a staff file: remove the !!map"},
		{"a list of people", "people: [ann, bob]\n", "1:9: people is not a mapping: write `key: value`, one per line, or {key: value}"},
		{"a role that is no list", "roles: nurse\npeople: {ann: {}}\n", "1:8: roles is not a list: write [NAME of a role]"},
		{"no value", "people: {ann: {organisation: }}\n", "1:30: there is no value: write the NAME of an organisation, or remove the key"},
		{"nothing", "\n", "the staff file is empty: write at least `people: {NAME: {}}`"},
		{"nobody", "people: {}\n", "the staff file has no people: write at least `people: {NAME: {}}`, or remove `staff` from the configuration"},
		{"no YAML", "people: {ann: {}\n", "2:1: not YAML: did not find expected ',' or '}': correct the line; a text with : # or quotes in it needs quotes around it"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := file.Parse("f", []byte(c.text), staff.Site{Node: "ward"})
			if got := said(t, err); got != c.want {
				t.Errorf("said\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}

// said gives the problems without file and line shown.
func said(t *testing.T, err error) string {
	t.Helper()
	var problems file.Problems
	if !errors.As(err, &problems) {
		t.Fatalf("no problems: %v", err)
	}
	var all []string
	for _, p := range problems {
		p.Source = ""
		all = append(all, strings.TrimLeft(strings.TrimPrefix(p.String(), "f:"), " "))
	}
	return strings.Join(all, "\n")
}

// All problems come at once, in the order of the file, with the line and a caret.
func TestAllProblemsComeAtOnce(t *testing.T) {
	_, err := file.Parse("staff.yaml", []byte("roles: [nurse]\npeople:\n\tann: {}\n"), staff.Site{})
	if err == nil {
		t.Error("a tab was taken")
	}
	_, err = file.Parse("staff.yaml", []byte("roles: [nurse]\npeople:\n  ann: {roles: [nurce], organisation: x}\n  bob: {substitute: an}\n"), staff.Site{})
	want := `staff.yaml:3:17: nurce of ann is not among roles: nurse?
      ann: {roles: [nurce], organisation: x}
                    ^
staff.yaml:3:39: x of ann is not among organisations: add it there, or remove it here
      ann: {roles: [nurce], organisation: x}
                                          ^
staff.yaml:4:21: an, substitute of bob, is not among people: ann?
      bob: {substitute: an}
                        ^`
	if err == nil || err.Error() != want {
		t.Errorf("%v\nwant\n%s", err, want)
	}
}

func TestAFileThatCannotBeRead(t *testing.T) {
	dir := t.TempDir()
	big := filepath.Join(dir, "big.yaml")
	f, err := os.Create(big)
	if err == nil {
		err = errors.Join(f.Truncate(file.MaxSize+1), f.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		filepath.Join(dir, "none.yaml"): "cannot read the staff file: no such file or directory: write one (docs/staff.md shows how), or name yours",
		dir:                             "cannot read the staff file: is a directory: name the file itself",
		big:                             "the file has over 64 MiB: this is no list of people of one node",
	} {
		if _, err := file.Read(path, staff.Site{}); err == nil || err.Error() != path+": "+want {
			t.Errorf("%v, want %s", err, want)
		}
	}
	if _, err := file.Parse("f", []byte(strings.Repeat("[", 5_000_000)), staff.Site{}); err == nil || !strings.Contains(err.Error(), "over 4000000 words") {
		t.Errorf("five million lists: %v", err)
	}
	if _, err := file.Parse("f", []byte("people: "+strings.Repeat("[", 20_000)), staff.Site{}); err == nil || !strings.Contains(err.Error(), "not YAML") {
		t.Errorf("a deep nest: %v", err)
	}
}

// Of very many problems a hundred are shown, and how many more there are.
func TestManyProblems(t *testing.T) {
	var b strings.Builder
	b.WriteString("people:\n")
	for i := range 1000 {
		fmt.Fprintf(&b, "  p%d: {roles: [r], substitute: nobody%d}\n", i, i)
	}
	_, err := file.Parse("f", []byte(b.String()), staff.Site{})
	var problems file.Problems
	if !errors.As(err, &problems) || len(problems) != staff.MaxProblems+1 {
		t.Fatalf("%d problems", len(problems))
	}
	if last := problems[len(problems)-1].String(); last != "f: 1900 more problems are not shown: correct these first" {
		t.Error(last)
	}
}

// Whatever is in a file, it is read whole, or every problem has a place in it and a remedy.
func FuzzParse(f *testing.F) {
	for _, text := range []string{ward, "", "people: {ann: {}}", "people:\n- ann\n", "a: &x [*x]\n", "? {a: b}\n: c\n", "roles: [a, a]\npeople: {a: {absent: [{from: 1}, true]}}", "people: {a: {substitute: b}, b: {substitute: a}}", "organisations: {a: {part_of: a}}\npeople: {b: {same: [a@b], not: [a@b], logins: []}}"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := file.Parse("f", []byte(text), staff.Site{Node: "here"})
		if err == nil {
			if s.Len() == 0 {
				t.Error("a staff of nobody")
			}
			return
		}
		var problems file.Problems
		if !errors.As(err, &problems) || len(problems) == 0 {
			t.Fatalf("no problems: %v", err)
		}
		for _, p := range problems {
			if p.What == "" || p.Remedy == "" || p.Line > 0 && (p.Column < 1 || p.Line > strings.Count(text, "\n")+1) {
				t.Errorf("a problem without what, remedy or place: %+v", p)
			}
		}
	})
}

// manyPeople is a file of n people.
func manyPeople(n int) []byte {
	var b strings.Builder
	b.WriteString("roles: [nurse, porter]\norganisations: {hospital: {manager: p0}, ward: {part_of: hospital}}\npeople:\n")
	for i := range n {
		fmt.Fprintf(&b, "  p%d: {name: Person %d, roles: [nurse], organisation: ward, substitute: p0, same: [q%d@lab]}\n", i+1, i, i)
	}
	b.WriteString("  p0: {organisation: hospital}\n")
	return []byte(b.String())
}

func BenchmarkParse(b *testing.B) {
	text := manyPeople(staff.MaxPeople - 1)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := file.Parse("f", text, staff.Site{Node: "here"}); err != nil {
			b.Fatal(err)
		}
	}
}
