package client_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"fmqm/api"
	"fmqm/cmd/internal/cli"
)

const claims = `
process: claim
version: 1
structures:
  Claim: {number: string, amount: double}
  Verdict: {number: string, approved: bool, remark: string}
input: Claim
output: Verdict
starts: [A]
activities:
  assess:  {node: A, staff: role("assessor"), title: "Assess claim {number}", input: Claim, output: Verdict}
  approve: {node: A, staff: role("approver") && !did(assess), title: "Approve claim {number}", input: Verdict, output: Verdict}
control:
  - assess -> approve
data:
  - source -> assess
  - assess -> approve
  - approve -> sink
`

const clerks = `
roles: [assessor, approver]
organisations: {claims: {manager: dora}}
people:
  ann:  {roles: [assessor, approver], organisation: claims}
  bob:  {roles: [approver], organisation: claims}
  carl: {roles: [assessor], organisation: claims, absent: true, substitute: bob}
  dora: {organisation: claims}
  eve:  {}
`

// items is what somebody's worklist has.
func (s *sites) items(site string, args ...string) (all []api.WorkItem) {
	s.Helper()
	if err := json.Unmarshal([]byte(s.must(site, append([]string{"work", "list", "-o", "json"}, args...)...)), &all); err != nil {
		s.Fatal(err)
	}
	return all
}

// offered waits for the one item that somebody sees, and gives it.
func (s *sites) offered(site, person, title string) (i api.WorkItem) {
	s.Helper()
	s.wait(title+" for "+person, func() bool {
		all := s.items(site, "--as", person)
		if len(all) == 1 && all[0].Title == title {
			i = all[0]
		}
		return i.Item != ""
	})
	return i
}

// N27, N28: an item is offered to those who may have it, one of two who claim it at once has it, it outlives the
// daemon, its output is held to its type, and four eyes bar who has done the first half.
func TestN27PeopleDoTheirWork(t *testing.T) {
	s := newSites(t)
	if err := os.WriteFile(filepath.Join(s.dir, "staff.yaml"), []byte(clerks), 0o600); err != nil {
		t.Fatal(err)
	}
	s.more = map[string]string{"A": "staff: {file: staff.yaml}\n"}
	s.start("A", "B")
	s.give("A", claims)
	id := s.started("A", "claim", `{"number": "K-7", "amount": 900}`)

	item := s.offered("A", "ann", "Assess claim K-7")
	if len(item.Item) != 12 || item.State != api.ItemOffered || item.Priority != 4 || item.Process != "claim@1" || item.Activity != "assess" || item.Node != "A" {
		t.Errorf("the item is %+v", item)
	}
	if i := s.offered("A", "bob", "Assess claim K-7"); i.Item != item.Item { // for carl, who is absent
		t.Errorf("bob sees %+v", i)
	}
	if all := s.items("A", "--as", "eve"); len(all) != 0 {
		t.Errorf("eve sees %+v", all)
	}
	if all := s.items("A", "--all"); len(all) != 1 {
		t.Errorf("an operator sees %+v", all)
	}
	s.refused("eve", "A", "eve@A may not have it; ann, bob may", "work", "claim", item.Item, "--as", "eve")
	s.refused("who is no person", "A", "--as PERSON", "work", "claim", item.Item)
	s.refused("who does not work there", "A", "the staff of A has no fred", "work", "list", "--as", "fred")
	if out := s.must("A", "why", id); !strings.Contains(out, "item "+item.Item+" is offered to 2 people") {
		t.Errorf("why:\n%s", out)
	}

	var mu sync.Mutex
	var codes []int
	var said string
	var both sync.WaitGroup
	for _, who := range []string{"ann", "bob"} {
		both.Go(func() {
			r := s.fmqm("A", "work", "claim", item.Item[:6], "--as", who)
			mu.Lock()
			defer mu.Unlock()
			codes = append(codes, r.code)
			said += r.err
		})
	}
	both.Wait()
	if slices.Sort(codes); !slices.Equal(codes, []int{cli.ExitDone, cli.ExitRefused}) || !strings.Contains(said, "@A has claimed it") {
		t.Fatalf("two claim at once: %v\n%s", codes, said)
	}
	holder := s.items("A", "--all")[0].ClaimedBy
	if holder == "bob@A" {
		s.must("A", "work", "transfer", item.Item, "ann", "--as", "bob", "--reason", "she knows it")
	}
	if mine := s.items("A", "--as", "ann", "--claimed"); len(mine) != 1 || mine[0].ClaimedBy != "ann@A" {
		t.Fatalf("ann has %+v", mine)
	}
	if others := s.items("A", "--as", "bob"); len(others) != 0 {
		t.Errorf("bob still sees %+v", others)
	}
	s.must("A", "work", "save", item.Item, "--as", "ann", "--output", `{"remark": "four tyres"}`)

	s.stop("A")
	s.start("A")
	s.wait("the item after a restart", func() bool { return len(s.items("A", "--as", "ann")) == 1 })
	var shown api.WorkShown
	if err := json.Unmarshal([]byte(s.must("A", "work", "show", item.Item, "--as", "ann", "-o", "json")), &shown); err != nil {
		t.Fatal(err)
	}
	compact := func(text json.RawMessage) string {
		var b bytes.Buffer
		if err := json.Compact(&b, text); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	if compact(shown.Draft) != `{"number":"K-7","approved":false,"remark":"four tyres"}` || shown.ClaimedBy != "ann@A" || shown.Eligible != 2 || len(shown.OutputType) != 3 ||
		compact(shown.Input) != `{"number":"K-7","amount":900}` {
		t.Errorf("after a restart it is %+v", shown)
	}
	s.refused("a wrong output", "A", "--output:1:14: approved: expected bool", "work", "complete", item.Item, "--as", "ann", "--output", `{"approved": 5}`)
	s.must("A", "work", "complete", item.Item, "--as", "ann", "--output", `{"approved": true}`)
	s.refused("once more", "A", "it has ended", "work", "complete", item.Item, "--as", "ann")

	next := s.offered("A", "bob", "Approve claim K-7")
	if all := s.items("A", "--as", "ann"); len(all) != 0 {
		t.Errorf("ann, who has assessed it, sees %+v", all)
	}
	s.refused("four eyes", "A", "ann@A may not have it; bob may", "work", "claim", next.Item, "--as", "ann")
	s.must("A", "work", "complete", next.Item, "--as", "bob")
	s.ends("A", id, `{"number":"K-7","approved":true,"remark":"four tyres"}`)

	st := s.status("A", id)
	for _, a := range st.Activities {
		want := map[string]string{"assess": "ann@A", "approve": "bob@A"}[a.Activity]
		if a.Kind != api.KindManual || a.By != want || a.State != api.ActivityTerminated || a.Reason != "" {
			t.Errorf("%s is %+v", a.Activity, a)
		}
	}
	saysWho(t, s, id, holder)
	history := s.must("A", "history", id, "--activity", "assess")
	for _, word := range []string{"offered", "claimed", "saved", "completed", "terminated"} {
		if !strings.Contains(history, word) {
			t.Errorf("the history has no %q:\n%s", word, history)
		}
	}
	s.refused("a site without staff", "B", "B has no staff", "work", "list")
}

// saysWho: history has the person, the operator who acted in his name, and why.
func saysWho(t *testing.T, s *sites, id, holder string) {
	t.Helper()
	var all []api.HistoryEvent
	if err := json.Unmarshal([]byte(s.must("A", "history", id, "--activity", "assess", "-o", "json")), &all); err != nil {
		t.Fatal(err)
	}
	for _, e := range all {
		switch e.Event {
		case api.EventClaimed, api.EventTransferred, api.EventSaved, api.EventCompleted:
			if e.By == "" || !strings.HasSuffix(e.Operator, " at A") {
				t.Errorf("%s was said by %q, and by %q in his name", e.Event, e.By, e.Operator)
			}
		default:
		}
		if e.Event == api.EventTransferred && (e.Reason != "she knows it" || e.By != holder) {
			t.Errorf("it was transferred by %s: %q", e.By, e.Reason)
		}
	}
}
