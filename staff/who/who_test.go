package who_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"fmqm/condition"
	"fmqm/container"
	"fmqm/processtable"
	"fmqm/staff"
	"fmqm/staff/file"
	"fmqm/staff/who"
)

// ward is the staff of most tests. In July bob is absent, and eve, who would stand in for him, too.
const ward = `roles: [nurse, approver, trainee]
organisations:
  hospital: {manager: dora}
  ward-3:   {manager: berta, part_of: hospital}
  night:    {part_of: ward-3}
  garden:   {}
people:
  ann:   {roles: [nurse], organisation: ward-3, same: [aames@lab], not: [ann@office]}
  bob:   {roles: [nurse, approver], organisation: ward-3, substitute: eve, logins: [bob, bbrown], absent: [{from: 2026-07-01, until: 2026-07-31}]}
  eve:   {organisation: night, substitute: fay, absent: [{from: 2026-07-10, until: 2026-07-20}]}
  fay:   {roles: [trainee], organisation: garden}
  carl:  {roles: [approver], organisation: night}
  berta: {roles: [nurse], organisation: ward-3}
  dora:  {roles: [approver], organisation: hospital}
`

func read(t testing.TB, text string) *staff.Staff {
	t.Helper()
	s, err := file.Parse("staff.yaml", []byte(text), staff.Site{Node: "ward"})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

var (
	order = container.NewStructure("Order", []container.Member{
		{Name: "role", Type: container.Scalar(container.String)},
		{Name: "watchers", Type: container.NewList(container.Scalar(container.String))},
		{Name: "amount", Type: container.Scalar(container.Int)},
	})
	may, midJuly, lateJuly = day(5, 1), day(7, 15), day(7, 25)
)

func day(month time.Month, day int) time.Time {
	return time.Date(2026, month, day, 12, 0, 0, 0, time.UTC)
}

// Terms of expressions.
type w = processtable.Who

func of(t testing.TB, is processtable.WhoIs, each processtable.WhoEach, text string) *w {
	t.Helper()
	want := container.Scalar(container.String)
	if each != processtable.EachNone {
		want = container.NewList(want)
	}
	if is == processtable.WhoData {
		want = container.Scalar(container.Bool)
	}
	c, problems := condition.CheckExpr(text, condition.Scope{Members: order, Words: condition.WordInstance}, want)
	if len(problems) > 0 {
		t.Fatalf("%s: %v", text, problems)
	}
	return &w{Is: is, Each: each, Of: &c}
}

func did(a processtable.ActivityID) *w     { return &w{Is: processtable.WhoDid, Activity: a} }
func manages(a processtable.ActivityID) *w { return &w{Is: processtable.WhoManages, Activity: a} }
func not(p *w) *w                          { return &w{Is: processtable.WhoNot, Parts: []*w{p}} }
func and(p ...*w) *w                       { return &w{Is: processtable.WhoAnd, Parts: p} }
func or(p ...*w) *w                        { return &w{Is: processtable.WhoOr, Parts: p} }

func load(t testing.TB, x *w) *who.Expression {
	t.Helper()
	e, err := who.Load(x, order)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func ask(t testing.TB, x *w, a who.Ask) *who.Question {
	t.Helper()
	q, err := load(t, x).Ask(a)
	if err != nil {
		t.Fatal(err)
	}
	return q
}

// eligible gives everybody who is, as "bob" or "fay for bob", also who is absent.
func eligible(t testing.TB, q *who.Question, s *staff.Staff) string {
	t.Helper()
	var all []string
	for n := range s.People() {
		standsFor, ok, err := q.Eligible(n)
		if err != nil {
			t.Fatal(err)
		}
		if ok && standsFor != "" {
			n += " for " + standsFor
		}
		if ok {
			all = append(all, string(n))
		}
	}
	return strings.Join(all, ", ")
}

func input(role string, watchers ...string) *container.Struct {
	in := container.New(order)
	list := []container.Value{}
	for _, one := range watchers {
		list = append(list, one)
	}
	in.Fields[0], in.Fields[1], in.Fields[2] = role, list, int64(200)
	return in
}

// doers gives who did activities: take=ann@ward, or take=ann@ward for bob@ward.
func doers(texts ...string) map[processtable.ActivityID][]who.Doer {
	all := map[processtable.ActivityID][]who.Doer{}
	for _, text := range texts {
		activity, person, _ := strings.Cut(text, "=")
		person, standsFor, _ := strings.Cut(person, " for ")
		id := processtable.ActivityID(activity)
		all[id] = append(all[id], who.Doer{Person: staff.Person(person), For: staff.Person(standsFor)})
	}
	return all
}

func TestWhoMayDoIt(t *testing.T) {
	s := read(t, ward)
	role := func(text string) *w { return of(t, processtable.WhoRole, processtable.EachNone, text) }
	org := func(text string) *w { return of(t, processtable.WhoOrg, processtable.EachNone, text) }
	person := func(text string) *w { return of(t, processtable.WhoPerson, processtable.EachNone, text) }
	some := func(text string) *w { return of(t, processtable.WhoPerson, processtable.EachSome, text) }
	every := func(text string) *w { return of(t, processtable.WhoPerson, processtable.EachAll, text) }
	data := func(text string) *w { return of(t, processtable.WhoData, processtable.EachNone, text) }
	fourEyes := and(role(`"approver"`), not(did("take")))
	for _, c := range []struct {
		name string
		who  *w
		now  time.Time
		in   *container.Struct
		did  map[processtable.ActivityID][]who.Doer
		want string
	}{
		{"a role", role(`"approver"`), may, nil, nil, "bob, carl, dora"},
		{"a role from the data", role("role"), may, input("trainee"), nil, "fay"},
		{"no such role", role("role"), may, input("pilot"), nil, ""},
		{"an organisation, and those below it", org(`"ward-3"`), may, nil, nil, "ann, berta, bob, carl, eve"},
		{"the topmost organisation", org(`"hospital"`), may, nil, nil, "ann, berta, bob, carl, dora, eve"},
		{"an organisation below is not the one above", org(`"night"`), may, nil, nil, "carl, eve"},
		{"a person here", person(`"ann"`), may, nil, nil, "ann"},
		{"a person of this node", person(`"ann@ward"`), may, nil, nil, "ann"},
		{"a person elsewhere who is somebody here", person(`"aames@lab"`), may, nil, nil, "ann"},
		{"a person elsewhere of the same name is not sure", person(`"bob@lab"`), may, nil, nil, ""},
		{"and bars in doubt", and(role(`"nurse"`), not(person(`"bob@lab"`))), may, nil, nil, "ann, berta"},
		{"but who is not meant", and(role(`"nurse"`), not(person(`"ann@office"`))), may, nil, nil, "ann, berta, bob"},
		{"a login is no name", person(`"bbrown"`), may, nil, nil, ""},
		{"both", and(role(`"nurse"`), role(`"approver"`)), may, nil, nil, "bob"},
		{"one of both", or(role(`"trainee"`), person(`"ann"`)), may, nil, nil, "ann, fay"},
		{"one of a list", some("watchers"), may, input("", "carl", "ann@ward", "x"), nil, "ann, carl"},
		{"one of nobody", some("watchers"), may, input(""), nil, ""},
		{"all of a list", every("watchers"), may, input("", "ann", "aames@lab"), nil, "ann"},
		{"all of two", every("watchers"), may, input("", "ann", "bob"), nil, ""},
		{"all of nobody", every("watchers"), may, input(""), nil, "ann, berta, bob, carl, dora, eve, fay"},
		{"none of a list", not(some("watchers")), may, input("", "ann@lab", "dora"), nil, "berta, bob, carl, eve, fay"},
		{"data", and(role(`"approver"`), data("amount > 100")), may, input(""), nil, "bob, carl, dora"},
		{"data that say no", and(role(`"approver"`), data("amount > 300")), may, input(""), nil, ""},
		{"the instance is known", and(role(`"trainee"`), data(`_INSTANCE == "0197"`)), may, nil, nil, "fay"},

		{"who did it", did("take"), may, nil, doers("take=ann@ward"), "ann"},
		{"who did it elsewhere", did("take"), may, nil, doers("take=aames@lab"), "ann"},
		{"the same name elsewhere did it", did("take"), may, nil, doers("take=bob@lab"), ""},
		{"whom he stood for did not do it", did("take"), may, nil, doers("take=ann@ward for bob@ward"), "ann"},
		{"nobody did it", did("take"), may, nil, nil, ""},
		{"a user who is nobody for sure", did("source"), may, nil, doers("source=user:bob"), ""},
		{"who started it", did("source"), may, nil, doers("source=carl@ward"), "carl"},

		{"four eyes", fourEyes, may, nil, doers("take=carl@ward"), "bob, dora"},
		{"four eyes where nobody did it", fourEyes, may, nil, nil, "bob, carl, dora"},
		{"four eyes bar whom he stood for", fourEyes, may, nil, doers("take=ann@ward for dora@ward"), "bob, carl"},
		{"four eyes bar the same name elsewhere", fourEyes, may, nil, doers("take=dora@office"), "bob, carl"},
		{"four eyes bar the account of who is in the staff", fourEyes, may, nil, doers("take=user:bbrown"), "carl, dora"},
		{"four eyes bar an operator's name", fourEyes, may, nil, doers("take=dora"), "bob, carl"},
		{"four eyes bar several", fourEyes, may, nil, doers("take=dora@ward", "take=carl@ward"), "bob"},
		{"who is known to be another is not barred", and(role(`"nurse"`), not(did("take"))), may, nil, doers("take=ann@office"), "ann, berta, bob"},
		{"a no to a no is sure again", not(not(did("take"))), may, nil, doers("take=dora@office"), ""},
		{"and inside of an or", not(or(did("take"), not(person(`"bob"`)))), may, nil, doers("take=bob@lab"), ""},
		{"and of another", not(or(did("take"), not(person(`"bob"`)))), may, nil, doers("take=carl@lab"), "bob"},

		{"the substitute, too", role(`"approver"`), lateJuly, nil, nil, "bob, carl, dora, eve for bob"},
		{"the substitute's substitute", role(`"approver"`), midJuly, nil, nil, "bob, carl, dora, fay for bob"},
		{"nobody stands in for who is barred", fourEyes, lateJuly, nil, doers("take=bob@ward"), "carl, dora"},
		{"who did it does not stand in", fourEyes, lateJuly, nil, doers("take=eve@ward"), "bob, carl, dora"},
		{"who perhaps did it does not stand in", fourEyes, lateJuly, nil, doers("take=eve@lab"), "bob, carl, dora"},
		{"who was stood for does not stand in", fourEyes, lateJuly, nil, doers("take=ann@ward for eve@ward"), "bob, carl, dora"},
		{"what bars somebody bars him as a substitute", and(role(`"approver"`), not(role(`"trainee"`))), midJuly, nil, nil, "bob, carl, dora"},
		{"what he need not be, a substitute need not", and(role(`"approver"`), org(`"ward-3"`)), midJuly, nil, nil, "bob, carl, fay for bob"},
		{"who may himself does not stand in", or(role(`"trainee"`), role(`"approver"`)), midJuly, nil, nil, "bob, carl, dora, fay"},
		{"a substitute of who did it", did("take"), midJuly, nil, doers("take=bob@ward"), "bob, fay for bob"},

		{"the manager", manages("take"), may, nil, doers("take=ann@ward"), "berta"},
		{"a manager's manager", manages("take"), may, nil, doers("take=berta@ward"), "dora"},
		{"the manager of one without one is that above", manages("take"), may, nil, doers("take=carl@ward"), "berta"},
		{"nobody manages the topmost", manages("take"), may, nil, doers("take=dora@ward"), ""},
		{"nor who is in no managed organisation", manages("take"), may, nil, doers("take=fay@ward"), ""},
		{"the manager of who is somebody here", manages("take"), may, nil, doers("take=aames@lab"), "berta"},
		{"whom the staff does not know nobody manages", manages("take"), may, nil, doers("take=zoe@lab"), ""},
		{"nor who only has the same name", manages("take"), may, nil, doers("take=bob@lab"), ""},
		{"but not the manager, in doubt", and(role(`"nurse"`), not(manages("take"))), may, nil, doers("take=bob@lab"), "ann, bob"},
		{"the manager of who started it", manages("source"), may, nil, doers("source=bob@ward"), "berta"},
	} {
		t.Run(c.name, func(t *testing.T) {
			q := ask(t, c.who, who.Ask{Staff: s, Now: c.now, Input: c.in, Instance: "0197", Did: c.did})
			if got := eligible(t, q, s); got != c.want {
				t.Errorf("eligible: %s\nwant:     %s", got, c.want)
			}
			listed(t, q, s, c.now)
		})
	}
}

// listed holds All and Count against Eligible: those of it who are not absent.
func listed(t *testing.T, q *who.Question, s *staff.Staff, now time.Time) {
	t.Helper()
	var want []who.Someone
	for n := range s.People() {
		if standsFor, ok, err := q.Eligible(n); err == nil && ok && !s.Absent(n, now) {
			want = append(want, who.Someone{Name: n, For: standsFor})
		}
	}
	all, whole := q.All(1000)
	if fmt.Sprint(all) != fmt.Sprint(want) || !whole {
		t.Errorf("All gives %v (%t), want %v", all, whole, want)
	}
	if n, whole := q.Count(); n != len(want) || !whole {
		t.Errorf("Count gives %d (%t), want %d", n, whole, len(want))
	}
	if len(want) > 1 {
		if some, whole := q.All(1); len(some) != 1 || whole || some[0] != want[0] {
			t.Errorf("one of them: %v (%t)", some, whole)
		}
	}
}

// Without a staff, or for who is not in it, nobody is eligible.
func TestNobody(t *testing.T) {
	q := ask(t, not(did("take")), who.Ask{Now: may})
	if _, ok, err := q.Eligible("ann"); ok || err != nil {
		t.Errorf("without a staff: %t, %v", ok, err)
	}
	q = ask(t, not(did("take")), who.Ask{Staff: read(t, ward), Now: may})
	if _, ok, err := q.Eligible("zoe"); ok || err != nil {
		t.Errorf("who is not in it: %t, %v", ok, err)
	}
}

// An expression that fails over the data gives no answer; one that was damaged is not loaded.
func TestErrors(t *testing.T) {
	s := read(t, ward)
	first := of(t, processtable.WhoPerson, processtable.EachNone, "watchers[0]")
	if _, err := load(t, first).Ask(who.Ask{Staff: s, Now: may, Input: input("")}); err == nil || !strings.HasPrefix(err.Error(), "who may do it: ") {
		t.Errorf("an index out of range: %v", err)
	}
	for name, x := range map[string]*w{
		"nothing":      nil,
		"another type": {Is: processtable.WhoRole, Each: processtable.EachSome, Of: first.Of},
		"a deep one":   deep(100),
	} {
		if _, err := who.Load(x, order); err == nil || !strings.HasPrefix(err.Error(), "who may do it: ") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func deep(n int) *w {
	x := did("take")
	for range n {
		x = not(x)
	}
	return x
}

// How much work is done for one person is bounded, and said.
func TestBounds(t *testing.T) {
	many := make([]string, 30_000)
	for i := range many {
		many[i] = fmt.Sprintf("role%d", i)
	}
	s := read(t, ward)
	roles := of(t, processtable.WhoRole, processtable.EachSome, "watchers")
	q := ask(t, roles, who.Ask{Staff: s, Now: may, Input: input("", many...)})
	_, ok, err := q.Eligible("ann")
	if want := "who may do it: for ann that takes more than 20000 steps: make the expression simpler, its lists shorter, or have ann stand in for fewer people"; ok || err == nil || err.Error() != want {
		t.Errorf("%t, %v", ok, err)
	}
	if _, whole := ask(t, not(roles), who.Ask{Staff: s, Now: may, Input: input("", many...)}).Count(); whole {
		t.Error("the count of what took too many steps is said to be whole")
	}
	people := ask(t, of(t, processtable.WhoPerson, processtable.EachSome, "watchers"), who.Ask{Staff: s, Now: may, Input: input("", append(many, "ann")...)})
	if got := eligible(t, people, s); got != "ann" {
		t.Errorf("of many people: %s", got)
	}
}

// Questions with one key have one answer, and others have other keys.
func TestKeys(t *testing.T) {
	s := read(t, ward)
	x := and(of(t, processtable.WhoRole, processtable.EachNone, "role"), not(did("take")))
	key := func(role, doer string) string {
		return ask(t, x, who.Ask{Staff: s, Now: may, Input: input(role, "x"), Did: doers("take=" + doer)}).Key()
	}
	if key("nurse", "ann@ward") != key("nurse", "ann@ward") {
		t.Error("the same question has two keys")
	}
	seen := map[string]string{}
	for _, role := range []string{"nurse", "approver", `nurse"`} {
		for _, doer := range []string{"ann@ward", "ann@ward for bob@ward", "bob@ward"} {
			k := key(role, doer)
			if other, known := seen[k]; known {
				t.Errorf("%s and %s have one key", other, role+" "+doer)
			}
			seen[k] = role + " " + doer
		}
	}
}

// How long an answer holds is known.
func TestUntil(t *testing.T) {
	q := ask(t, did("take"), who.Ask{Staff: read(t, ward), Now: may})
	if at, ok := q.Until(); !ok || !at.Equal(time.Date(2026, 7, 1, 0, 0, 0, 0, time.UTC)) {
		t.Errorf("%s, %t", at, ok)
	}
	q = ask(t, did("take"), who.Ask{Staff: read(t, ward), Now: day(12, 1)})
	if at, ok := q.Until(); ok {
		t.Errorf("after all absences: %s", at)
	}
}
