package node

import (
	"strings"
	"testing"

	"fmqm/api"
	"fmqm/message"
	"fmqm/node/command"
	"fmqm/queue/record"
	"fmqm/staff"
)

// In it y may not be done by who did x, which is done at home.
const fourEyesSites = `
process: two
version: 1
structures: {In: {n: int}}
input: In
output: In
starts: [A]
activities:
  x: {node: A, staff: role("clerk"), input: In, output: In}
  y: {node: A, staff: role("clerk") && !did(x), input: In, output: In, offered_at: [B]}
  c: {node: C, empty: true}
data: [source -> x, source -> y, y -> sink]
control: [x -> y, y -> c]
`

// N26, N27: whether somebody may have an item that his site offers for another is for the staff of his site to say, before home is asked:
// nobody there gets it who has not the role, nor by a transfer. That who did the other activity may not have it, whoever asks for
// him, is looked at by home as well, which is not taken in by a site that does not ask its staff.
func TestN27TheStaffOfWhoOffersIsAsked(t *testing.T) {
	o := offeringOf(t, fourEyesSites)
	for _, k := range []*keeper{o.a, o.b} { // eve is one person at both sites
		k.SetStaff(sameAtBoth(t, k))
	}
	o.a.must(o.a.start(o.id, `{"n": 7}`))
	o.until(func() bool { return len(o.items(o.a)) == 1 })
	first := o.items(o.a)[0].Item
	for _, verb := range []api.WorkVerb{api.WorkClaim, api.WorkComplete} {
		_, err := o.a.SayWork(t.Context(), first, verb, api.WorkWord{As: "eve"})
		o.a.must(err)
	}
	o.a.await(o.id, "y", record.EventOffered)
	o.hear(api.ItemOffered)
	asked := 0
	o.lose = func(kind string) bool {
		if kind == command.AskWork {
			asked++
		}
		return false
	}
	for who, want := range map[string]string{"lea": "lea@B may not have it", "eve": "eve@B may not have it", "zoe": "zoe is not in the staff of B"} {
		if err := o.say(api.WorkClaim, who); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s claims: %v, want %q", who, err, want)
		}
	}
	if asked > 0 {
		t.Errorf("home was asked %d times", asked)
	}
	o.lose = nil
	word := func() message.WordID { return o.b.commands.NewWordID() }
	q := command.WorkQuestion{Process: "two@1", Instance: o.id, Activity: "y", Iteration: 1, Wish: message.WishClaim, Person: "eve@B", Word: word()}
	if err := o.a.commands.WorkFor(t.Context(), "B", q); err == nil || !strings.Contains(err.Error(), "did x") {
		t.Errorf("B asks for eve without asking its staff: %v", err)
	}
	q.Word, q.Person, q.For = word(), "kim@B", "eve@B"
	if err := o.a.commands.WorkFor(t.Context(), "B", q); err == nil || !strings.Contains(err.Error(), "did x") {
		t.Errorf("B asks for kim in the place of eve: %v", err)
	}
	o.a.must(o.say(api.WorkClaim, "kim"))
	for who, want := range map[string]string{"lea": "lea@B may not have it", "eve": "eve@B may not have it"} {
		item := o.items(o.b)[0].Item
		_, err := o.b.SayWork(t.Context(), item, api.WorkTransfer, api.WorkWord{As: "kim", To: who})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("kim gives it to %s: %v, want %q", who, err, want)
		}
	}
	if item := o.items(o.a)[0]; item.ClaimedBy != "kim@B" {
		t.Errorf("home has %+v", item)
	}
}

// sameAtBoth are the people of a site; its eve is the other's.
func sameAtBoth(t *testing.T, k *keeper) *staff.Staff {
	t.Helper()
	clerk, lead, other := staff.Word{Text: "clerk"}, staff.Word{Text: "lead"}, "A"
	if k.name == "A" {
		other = "B"
	}
	people, problems := staff.Draft{Roles: []staff.Word{clerk, lead}, People: []staff.DraftPerson{
		{Name: staff.Word{Text: "eve"}, Roles: []staff.Word{clerk}, Same: []staff.Word{{Text: "eve@" + other}}},
		{Name: staff.Word{Text: "kim"}, Roles: []staff.Word{clerk}},
		{Name: staff.Word{Text: "lea"}, Roles: []staff.Word{lead}},
	}}.Check(staff.Site{Node: k.name})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	return people
}
