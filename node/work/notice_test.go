package work

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"fmqm/api"
	"fmqm/behaviour"
	"fmqm/container"
	"fmqm/internal/task"
	"fmqm/message"
	"fmqm/node/thread"
	"fmqm/node/worklist"
	"fmqm/processtable"
	"fmqm/staff"
)

// claims is a node A with people, and a process of which somebody approves.
type claims struct {
	asked
	*claim
	people *staff.Staff
}

func (c *claims) Staff() *staff.Staff                              { return c.people }
func (c *claims) Process(processtable.ProcessID) behaviour.Process { return c.claim }

// claim is that process, of which there is a table only.
type claim struct {
	behaviour.Process
	table *processtable.Table
}

func (c *claim) Table() *processtable.Table { return c.table }

var approval = message.Entry{Instance: uuid.UUID{7}, Activity: "approve"}

// asksFor is a term that asks for who did something, or manages him.
func asksFor(is processtable.WhoIs, of processtable.ActivityID) *processtable.Who {
	return &processtable.Who{Is: is, Activity: of}
}

// newClaims gives a desk at A: berta manages ann and bob, dora nobody.
func newClaims(t *testing.T) (*Desk, *claims) {
	t.Helper()
	word := func(s string) staff.Word { return staff.Word{Text: s} }
	s, problems := staff.Draft{
		Organisations: []staff.DraftOrganisation{{Name: word("ward"), Manager: word("berta")}},
		People: []staff.DraftPerson{
			{Name: word("ann"), Organisation: word("ward")}, {Name: word("bob"), Organisation: word("ward")}, {Name: word("berta")}, {Name: word("dora")},
		},
	}.Check(staff.Site{Node: "A"})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	c := &claims{people: s, claim: &claim{table: &processtable.Table{
		Process: processtable.ProcessID{Name: "p", Version: 1}, Node: "A",
		Activities: []*processtable.Activity{{Name: "approve", Kind: processtable.KindManual, Input: container.Empty, Output: container.Empty}},
	}}}
	return New(Options{Self: "A", Site: c, Scheduler: task.Goroutines{}}), c
}

// may is who may do the work: who did another activity, as ann has.
var may = asksFor(processtable.WhoDid, "assess")

// tells has the desk hear of the work, which somebody has, or nobody, and which may be offered elsewhere only.
func (c *claims) tells(d *Desk, by string, away bool) {
	d.Show(c.claim, &thread.Show{Entry: approval, Item: &behaviour.Item{
		Item: message.Item{Offered: time.Unix(1, 0), By: message.Doer{Person: by}}, At: message.Execution{Iteration: 1}, Staff: may, Away: away,
		Did: message.Doers{"assess": {Person: "ann@A"}},
	}})
}

// shows has the desk hear of a notice.
func (c *claims) shows(d *Desk, number int, who *processtable.Who, holder bool) {
	e := approval
	e.Scope = e.Scope.Notice(number)
	d.Show(c.claim, &thread.Show{Entry: e, Item: &behaviour.Item{
		Item: message.Item{Offered: time.Unix(2, 0)}, At: message.NoticeExecution, Staff: who, Did: message.Doers{"assess": {Person: "ann@A"}},
		Notice: &behaviour.Notice{Of: approval, Input: container.Empty, Own: own, Holder: holder},
	}})
}

var own = asksFor(processtable.WhoDid, "approve")

// seen are those who see the work ("w") and notices, by their numbers.
func (c *claims) seen(t *testing.T, d *Desk) string {
	t.Helper()
	text := ""
	for _, who := range []string{"ann", "bob", "berta"} {
		a, err := d.Work(api.WithCaller(context.Background(), api.Caller{Name: who + "@A", Person: who}), api.WorkRequest{Limit: 9})
		if err != nil {
			t.Fatal(err)
		}
		var all []string
		for _, i := range a.Items {
			name := "w"
			for number := range 3 {
				e := approval
				if e.Scope = e.Scope.Notice(number); i.Item == message.ItemID(&e, message.NoticeExecution) {
					name = string(rune('0' + number))
				}
			}
			all = append(all, name)
		}
		slices.Sort(all)
		text += who
		for _, name := range all {
			text += " " + name
		}
		text += "; "
	}
	return text
}

// N27: who sees a notice changes with who has the work: in whatever order the desk hears of them, and once they are gone.
func TestN27WhoSeesANotice(t *testing.T) {
	d, c := newClaims(t)
	expect := func(when, want string) {
		t.Helper()
		if got := c.seen(t, d); got != want {
			t.Errorf("%s, they see %s\nwant %s", when, got, want)
		}
	}
	c.shows(d, 0, may, true)
	c.shows(d, 1, asksFor(processtable.WhoManages, "approve"), false)
	c.shows(d, 2, asksFor(processtable.WhoManages, "assess"), false)
	expect("before the work is known", "ann 0; bob; berta 2; ")
	c.tells(d, "", false)
	expect("offered", "ann 0 w; bob; berta 2; ")
	c.tells(d, "bob@A", false)
	expect("claimed", "ann; bob 0 w; berta 1 2; ")
	c.tells(d, "", false)
	expect("released", "ann 0 w; bob; berta 2; ")
	c.tells(d, "", true)
	expect("offered elsewhere only", "ann; bob; berta 2; ")
	c.tells(d, "eve@B", true)
	expect("claimed elsewhere", "ann; bob; berta 2; ")
	c.tells(d, "bob@A", false)
	e := approval
	e.Scope = e.Scope.Notice(1)
	d.Show(c.claim, &thread.Show{Entry: e})
	expect("taken off", "ann; bob 0 w; berta 2; ")
	d.Show(c.claim, &thread.Show{Entry: approval})
	expect("the work gone", "ann 0; bob; berta 2; ")
	for _, number := range []int{0, 2} {
		e.Scope = message.Scope("").Notice(number)
		d.Show(c.claim, &thread.Show{Entry: e})
	}
	if expect("all gone", "ann; bob; berta; "); len(d.notices.all) != 0 {
		t.Errorf("%d are kept", len(d.notices.all))
	}
}

// N27: what nobody may have is shown to who administers the process, whom the answers to programs name as well; nobody else.
func TestN27TheAdministratorSeesWhatNobodyMayHave(t *testing.T) {
	d, c := newClaims(t)
	c.table.Administrator = &processtable.Who{Is: processtable.WhoNot, Parts: []*processtable.Who{asksFor(processtable.WhoManages, "assess")}} // as nobody did that: all
	c.shows(d, 1, asksFor(processtable.WhoManages, "approve"), false)
	key := worklist.Key{Process: c.table.Process, Entry: approval}
	key.Entry.Scope = key.Entry.Scope.Notice(1)
	item := d.notices.all[key.Work()][key].show.Item
	if got := d.People(c.claim, key.Entry, item); got != "ann,berta,bob,dora" || c.seen(t, d) != "ann 1; bob 1; berta 1; " {
		t.Errorf("nobody has it, and the program is told of %s; they see %s", got, c.seen(t, d))
	}
	c.tells(d, "bob@A", false)
	if got := d.People(c.claim, key.Entry, item); got != "berta" || c.seen(t, d) != "ann; bob w; berta 1; " {
		t.Errorf("bob has it, and the program is told of %s; they see %s", got, c.seen(t, d))
	}
}

// N27: who may have an item of another node's people nobody here knows, so that of nobody is said here only.
func TestN27NobodyHereMayHaveWhatIsOfferedElsewhereToo(t *testing.T) {
	for name, tc := range map[string]struct {
		item behaviour.Item
		did  string
		want string
	}{
		"here only":        {behaviour.Item{}, "eve@C", "nobody may"},
		"elsewhere too":    {behaviour.Item{Elsewhere: []processtable.NodeID{"B"}}, "eve@C", "nobody here may"},
		"of another node":  {behaviour.Item{Home: &behaviour.Home{Node: "B"}}, "eve@C", "nobody here may"},
		"somebody of here": {behaviour.Item{Elsewhere: []processtable.NodeID{"B"}}, "ann@A", "ann may"},
	} {
		t.Run(name, func(t *testing.T) {
			d, c := newClaims(t)
			tc.item.Staff, tc.item.Did = may, message.Doers{"assess": {Person: tc.did}}
			found := d.Inquire(c.claim, &thread.Inquire{Entry: approval, Item: &tc.item, People: []string{"bob@A"}})
			if found.May[0].Is || found.Could != tc.want {
				t.Errorf("bob may: %v; %q, want %q", found.May[0].Is, found.Could, tc.want)
			}
		})
	}
}
