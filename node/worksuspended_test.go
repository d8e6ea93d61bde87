package node_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"fmqm/api"
	"fmqm/staff"
)

const reviewed = `
process: reviewed
version: 1
structures: {D: {n: int}}
input: D
output: D
activities:
  review: {node: A, staff: role("reviewer"), input: D, output: D}
  next: {node: A, empty: true}
data: [source -> review, review -> sink]
control: [review -> next]
`

// itemOf waits until the node's one item is as it is wanted, and gives it.
func itemOf(t *testing.T, list func() []api.WorkItem, state api.ItemState) (i api.WorkItem) {
	t.Helper()
	until(t, func() bool {
		all := list()
		if len(all) == 1 && all[0].State == state {
			i = all[0]
			return true
		}
		return false
	})
	return i
}

// reviewers are ann and bob.
func reviewers(t *testing.T) *staff.Staff {
	t.Helper()
	reviewer := []staff.Word{{Text: "reviewer"}}
	people, problems := staff.Draft{
		Roles:  reviewer,
		People: []staff.DraftPerson{{Name: staff.Word{Text: "ann"}, Roles: reviewer}, {Name: staff.Word{Text: "bob"}, Roles: reviewer}},
	}.Check(staff.Site{Node: "A"})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	return people
}

// N29: what people have of a suspended instance stays theirs, with its draft, and is shown as suspended; nothing that they
// say is carried out until it is resumed. An operator's hand is, and what follows waits.
func TestN29WorkOfASuspendedInstance(t *testing.T) {
	n := openNode(t, "A", "")
	n.SetStaff(reviewers(t))
	upload(t, n, reviewed)
	id := uuid.Must(uuid.NewV7())
	if _, err := n.Start(t.Context(), api.StartRequest{Instance: id, Process: "reviewed", Input: json.RawMessage(`{"n": 1}`)}); err != nil {
		t.Fatal(err)
	}
	list := func() []api.WorkItem {
		a, err := n.Work(t.Context(), api.WorkRequest{All: true, Limit: 10})
		if err != nil {
			t.Fatal(err)
		}
		return a.Items
	}
	item := itemOf(t, list, api.ItemOffered).Item
	say := func(verb api.WorkVerb, w api.WorkWord) error {
		w.As = "ann"
		_, err := n.SayWork(t.Context(), item, verb, w)
		return err
	}
	if err := say(api.WorkClaim, api.WorkWord{}); err != nil {
		t.Fatal(err)
	}
	if err := say(api.WorkSave, api.WorkWord{Output: json.RawMessage(`{"n": 5}`)}); err != nil {
		t.Fatal(err)
	}
	if _, err := n.Suspend(t.Context(), id, api.SuspendRequest{Reason: "stock-taking"}); err != nil {
		t.Fatal(err)
	}
	if i := itemOf(t, list, api.ItemSuspended); i.ClaimedBy != "ann@A" || !i.Draft {
		t.Errorf("suspended it is %+v", i)
	}
	for verb, w := range map[api.WorkVerb]api.WorkWord{
		api.WorkClaim: {}, api.WorkRelease: {}, api.WorkTransfer: {To: "bob"}, api.WorkSave: {Output: json.RawMessage(`{"n": 6}`)}, api.WorkComplete: {},
	} {
		if err := say(verb, w); err == nil || !strings.Contains(err.Error(), "suspended by ") || !strings.Contains(err.Error(), " since "+time.Now().UTC().Format("2006-")) || !strings.Contains(err.Error(), "stock-taking") {
			t.Errorf("%s: %v", verb, err)
		}
	}
	if _, err := n.Resume(t.Context(), id, api.ResumeRequest{}); err != nil {
		t.Fatal(err)
	}
	if i := itemOf(t, list, api.ItemClaimed); i.ClaimedBy != "ann@A" || !i.Draft {
		t.Errorf("resumed it is %+v", i)
	}
	if err := say(api.WorkComplete, api.WorkWord{}); err != nil {
		t.Fatal(err)
	}
	if s, err := n.Wait(t.Context(), id); err != nil || string(s.Output) != `{"n":5}` {
		t.Errorf("it ends as %s with %s, %v", s.State, s.Output, err)
	}
}
