package condition

import (
	"strings"
	"testing"

	"fmqm/container"
)

func staffScope() Scope {
	doctor := container.NewStructure("Doctor", []container.Member{{Name: "name", Type: aString}})
	return Scope{Words: WordInstance, Members: container.NewStructure("Claim", []container.Member{
		{Name: "station", Type: aString},
		{Name: "doctor", Type: aString},
		{Name: "watchers", Type: container.NewList(aString)},
		{Name: "doctors", Type: container.NewList(doctor)},
		{Name: "amount", Type: container.Scalar(container.Double)},
		{Name: "urgent", Type: aBool},
	})}
}

// shownStaff writes terms as "and(role:\"a\", not(did:take))".
func shownStaff(s *Staff) string {
	name := [...]string{"", "and", "or", "not", "role", "org", "person", "did", "manages", "data"}[s.Is]
	name = [...]string{"", "some ", "all "}[s.Each] + name
	switch {
	case s.Of != nil:
		return name + ":" + s.Of.Text
	case s.Activity != "":
		return name + ":" + s.Activity
	}
	parts := make([]string, len(s.Parts))
	for i, p := range s.Parts {
		parts[i] = shownStaff(p)
	}
	return name + "(" + strings.Join(parts, ", ") + ")"
}

// A staff expression is taken apart into what asks for persons, and data between that.
func TestStaffIsTakenApart(t *testing.T) {
	for text, want := range map[string]string{
		`role("nurse")`:                                               `role:"nurse"`,
		`role("approver") && !did(assess)`:                            `and(role:"approver", not(did:assess))`,
		`role("a")||role('b')  || org(station)`:                       `or(role:"a", role:"b", org:station)`,
		`(role("a") || role("b")) && !(did(take) || manages(source))`: `and(or(role:"a", role:"b"), not(or(did:take, manages:source)))`,
		`!!role("a")`: `role:"a"`,
		`urgent`:      `data:urgent`,
		`true`:        `data:true`,
		`amount > 100.0 && urgent || role("lead")`:                               `or(data:amount > 100.0 && urgent, role:"lead")`,
		`role("lead") && (amount > 1 || !urgent)`:                                `and(role:"lead", data:amount > 1.0 || !urgent)`,
		`person(doctor) || person("ann@ward")`:                                   `or(person:doctor, person:"ann@ward")`,
		`role("ward-" + station)`:                                                `role:"ward-" + station`,
		`watchers.exists(w, person(w))`:                                          `some person:watchers`,
		`watchers.all(w, role(w))`:                                               `all role:watchers`,
		`watchers.all(w, !person(w))`:                                            `not(some person:watchers)`,
		`watchers.exists(w, !org(w))`:                                            `not(all org:watchers)`,
		`doctors.exists(d, person(d.name))`:                                      `some person:doctors.map(d, d.name)`,
		`watchers.exists(w, w == station) && role("a")`:                          `and(data:watchers.exists(w, w == station), role:"a")`,
		`["ann", doctor].exists(w, person(w))`:                                   `some person:["ann", doctor]`,
		`org(urgent ? "ward-1" : station)`:                                       `org:urgent ? "ward-1" : station`,
		`role("a") // who`:                                                       `role:"a"`,
		strings.Repeat("!(urgent||", 30) + `role("a")` + strings.Repeat(")", 30): "",
	} {
		s, problems := CheckStaff(text, staffScope())
		if len(problems) > 0 {
			t.Errorf("%s: %s", text, written(problems))
			continue
		}
		if got := shownStaff(s); want != "" && strings.ReplaceAll(got, ".0", "") != strings.ReplaceAll(want, ".0", "") {
			t.Errorf("%s\n got %s\nwant %s", text, got, want)
		}
		s.All(func(term *Staff) {
			if term.Of == nil {
				return
			}
			want := aString
			switch {
			case term.Is == StaffData:
				want = aBool
			case term.Each != EachNone:
				want = container.NewList(aString)
			}
			if _, err := LoadExpr(*term.Of, staffScope(), want); err != nil {
				t.Errorf("%s: %v", text, err)
			}
		})
	}
}

// Each problem is written "offset message: remedy".
func TestProblemsOfStaff(t *testing.T) {
	for text, want := range map[string]string{
		``:                               `0 the staff expression is empty: write who may do it, such as role("clerk")`,
		`adjuster`:                       `0 adjuster is no member of Claim: for a role write role("adjuster")`,
		`"adjuster"`:                     `0 "adjuster" is a text, and says of nobody whether he may do it: for a role write role("adjuster")`,
		`doctor`:                         `0 doctor is a text, and says of nobody whether he may do it: for whom it names write person(doctor), org(doctor) or role(doctor)`,
		`role(adjuster)`:                 `5 adjuster is no member of Claim: a name stands in quotes: write role("adjuster")`,
		`role("a") and role("b")`:        `10 not understood: the staff expression is already complete before this: write && for and`,
		`role()`:                         `0 role takes one thing in parentheses: write role("NAME")`,
		`did("assess")`:                  `4 did takes the name of an activity, or source: write did(assess), without quotes`,
		`did(1 + 1)`:                     `6 did takes the name of an activity, or source: write did(ACTIVITY)`,
		`role(amount)`:                   `5 role takes a text, and amount is double: name a member that is one, or write the name in quotes`,
		`role("")`:                       `5 role names nobody: write role("NAME")`,
		`person("Ann Ames")`:             `7 "Ann Ames" is no name of a person: write a name with letters, digits, _ . and -, at most 64, or NAME@NODE for somebody of another site`,
		`group("a")`:                     `0 there is no group(…) in a staff expression: write role(…)`,
		`role("a") && manager(take)`:     `13 there is no manager(…) in a staff expression: write manages(…)`,
		`role("a") == true`:              `10 who may do it can only be joined by && || and !: write role("NAME"), org("NAME"), person("NAME"), did(ACTIVITY) or manages(ACTIVITY), joined by && || !`,
		`urgent ? role("a") : role("b")`: `7 who may do it cannot stand behind ? and :: write (urgent) && role("a") || !(urgent) && role("b")`,
		`watchers.exists(w, did(w))`:     `19 inside of exists only role(w), org(w) or person(w) can stand, with or without !: write it as in watchers.exists(w, person(w))`,
		`watchers.filter(w, person(w))`:  `15 who may do it can only be joined by && || and !: write role("NAME"), org("NAME"), person("NAME"), did(ACTIVITY) or manages(ACTIVITY), joined by && || !`,
		`doctors.exists(d, person(d))`:   `0 person takes a list of texts, and doctors is [Doctor]: name a member that is one, or write the name in quotes`,
		`role("a") && amont > 1`:         `13 Claim has no member amont; it has station, doctor, watchers, doctors, amount, urgent, _INSTANCE: did you mean amount`,
		`role("a") && amount`:            `13 the expression must be TRUE or FALSE, not double: compare it with something, as in amount > 0`,
	} {
		s, problems := CheckStaff(text, staffScope())
		if got := written(problems); got != want {
			t.Errorf("%s\n got %s\nwant %s", text, got, want)
		}
		if s != nil {
			t.Errorf("%s: there is one", text)
		}
	}
	if _, problems := CheckStaff("adjuster", Scope{Members: container.Empty}); len(problems) != 1 || !strings.HasPrefix(problems[0].Message, "adjuster is no member of the input, which has none") {
		t.Errorf("without an input: %s", written(problems))
	}
	deep := `role("a")`
	for range MaxStaffDepth {
		deep = `(did(a) || !` + deep + `)`
	}
	if _, problems := CheckStaff(deep, staffScope()); len(problems) != 1 || !strings.Contains(problems[0].Message, "the limits are 1024 and 64") {
		t.Errorf("deep: %s", written(problems))
	}
}
