package client_test

import (
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

const offeredClaims = `
process: claim
version: 1
structures:
  Claim: {number: string}
  Verdict: {number: string, approved: bool, remark: string}
input: Claim
output: Verdict
starts: [A]
activities:
  assess:  {node: A, staff: role("assessor"), title: "Assess claim {number}", input: Claim, output: Claim}
  approve: {node: A, staff: role("approver") && !did(assess), title: "Approve claim {number}", offered_at: [A, B], input: Claim, output: Verdict}
  file:    {node: A, staff: role("clerk"), title: "File claim {number}", offered_at: [B], input: Verdict, output: Verdict}
control:
  - assess -> approve
  - approve -> file
data:
  - source -> assess
  - assess -> approve
  - approve -> file
  - file -> sink
`

// N27: an item is offered at home and at another site, each to its own people; the first who claims it has it, wherever he is; where
// home is not heard nothing is claimed; and four eyes hold over sites.
func TestN27AnItemIsOfferedAtSeveralSites(t *testing.T) {
	s := newSites(t)
	for site, text := range map[string]string{
		"A": "roles: [assessor, approver, clerk]\npeople:\n  ann: {roles: [assessor, approver, clerk]}\n  bob: {roles: [approver, clerk]}\n",
		"B": "roles: [approver, clerk]\npeople:\n  ann: {roles: [approver]}\n  eve: {roles: [approver]}\n  kim: {roles: [clerk], absent: true, substitute: lee}\n  lee: {}\n",
	} {
		if err := os.WriteFile(filepath.Join(s.dir, "staff-"+site+".yaml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s.more = map[string]string{"A": "staff: {file: staff-A.yaml}\n", "B": "staff: {file: staff-B.yaml}\n"}
	s.start("A", "B")
	s.upload(offeredClaims)
	id := s.started("A", "claim", `{"number": "K-7"}`)
	s.must("A", "work", "complete", s.offered("A", "ann", "Assess claim K-7").Item, "--as", "ann")

	item := s.offered("A", "bob", "Approve claim K-7")
	if there := s.offered("B", "eve", "Approve claim K-7"); there.Item != item.Item || there.Node != "A" || there.Scope != "" || there.State != api.ItemOffered {
		t.Errorf("at B it is %+v", there)
	}
	if all := s.items("B", "--as", "ann"); len(all) != 0 { // it may be she who has assessed it
		t.Errorf("ann of B sees %+v", all)
	}
	s.refused("whom four eyes bar", "B", "ann@B may not have it; eve may", "work", "claim", item.Item, "--as", "ann")

	var mu sync.Mutex
	var codes []int
	var said string
	var both sync.WaitGroup
	for site, who := range map[string]string{"A": "bob", "B": "eve"} {
		both.Go(func() {
			r := s.fmqm(site, "work", "claim", item.Item, "--as", who)
			mu.Lock()
			defer mu.Unlock()
			codes = append(codes, r.code)
			said += r.err
		})
	}
	both.Wait()
	if slices.Sort(codes); !slices.Equal(codes, []int{cli.ExitDone, cli.ExitRefused}) || !strings.Contains(said, " has claimed it") {
		t.Fatalf("two claim at once: %v\n%s", codes, said)
	}
	if holder := s.items("A", "--all")[0].ClaimedBy; holder == "bob@A" {
		s.wait("nobody is offered it at B", func() bool { return len(s.items("B", "--as", "eve")) == 0 })
		s.must("A", "work", "release", item.Item, "--as", "bob")
		s.offered("B", "eve", "Approve claim K-7")
		s.must("B", "work", "claim", item.Item, "--as", "eve")
	}
	s.wait("B hears that it is hers", func() bool { return len(s.items("B", "--as", "eve", "--claimed")) == 1 })
	if st := s.status("B", id); st.Activities[1].By != "eve@B" || st.Activities[1].Item != item.Item || len(st.Activities) != 3 {
		t.Errorf("the status at B is %+v", st.Activities)
	}
	if others := s.items("A", "--as", "bob"); len(others) != 0 {
		t.Errorf("bob still sees %+v", others)
	}
	s.must("B", "work", "save", item.Item, "--as", "eve", "--output", `{"remark": "four tyres"}`)
	var shown api.WorkShown
	if err := json.Unmarshal([]byte(s.must("B", "work", "show", item.Item, "--as", "eve", "-o", "json")), &shown); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(shown.Draft), "four tyres") || shown.Eligible != 1 || !strings.Contains(string(shown.Input), "K-7") {
		t.Errorf("at B it is shown as %+v", shown)
	}
	s.refused("a wrong output", "B", "--output:1:14: approved: expected bool", "work", "complete", item.Item, "--as", "eve", "--output", `{"approved": 5}`)

	s.stop("A")
	s.wait("the end of the link", func() bool {
		r := s.fmqm("B", "work", "complete", item.Item, "--as", "eve", "--output", `{"approved": true}`)
		return r.code == cli.ExitUnreachable && strings.Contains(r.err, "A decides who gets it, and was last heard ")
	})
	s.stop("B") // both recover from their queues
	s.start("A", "B")
	s.wait("home to be heard", func() bool {
		return s.fmqm("B", "work", "complete", item.Item, "--as", "eve", "--output", `{"approved": true}`).code == cli.ExitDone
	})

	filed := s.offered("B", "lee", "File claim K-7") // for kim, who is absent
	if all := s.items("A", "--as", "bob"); len(all) != 0 {
		t.Errorf("what is offered at B only bob of A sees: %+v", all)
	}
	if all := s.items("A", "--all"); len(all) != 1 || all[0].Item != filed.Item {
		t.Errorf("an operator at A sees %+v", all)
	}
	s.refused("who is of home, where it is not offered", "A", "bob@A may not have it: it is offered to the people of B", "work", "claim", filed.Item, "--as", "bob")
	if out := s.must("A", "why", id); !strings.Contains(out, "item "+filed.Item+" is offered at B") {
		t.Errorf("why:\n%s", out)
	}
	s.must("B", "work", "complete", filed.Item, "--as", "lee")
	s.ends("A", id, `{"number":"K-7","approved":true,"remark":"four tyres"}`)
	s.wait("nothing is left at B", func() bool { return len(s.items("B", "--all")) == 0 })
	history := s.must("A", "history", id)
	for _, want := range []string{"eve@B", "lee@B", "kim@B", "withdrawn"} {
		if !strings.Contains(history, want) {
			t.Errorf("history has no %s:\n%s", want, history)
		}
	}
}
