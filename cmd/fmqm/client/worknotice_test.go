package client_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"fmqm/api"
)

const escalatedClaims = `
process: claim
version: 1
structures:
  Claim: {number: string, amount: double}
input: Claim
output: Claim
starts: [A]
activities:
  assess: {node: A, staff: role("assessor"), title: "Assess claim {number}", input: Claim, output: Claim, notify: [{after: 1ms, staff: org("claims") && !role("assessor") && !role("approver")}]}
data: [source -> assess, assess -> sink]
`

// takenOff completes a notice: it says so, and not that its activity was completed.
func (s *sites) takenOff(site string, notice api.WorkItem, args ...string) {
	s.Helper()
	said := "taken off the worklists: notice " + notice.Item + ", " + notice.Activity + " of " + notice.Process + "\n"
	if r := s.fmqm(site, append([]string{"work", "complete", notice.Item}, args...)...); r.code != 0 || r.err != said {
		s.Errorf("exit %d, said %q\nwant %q", r.code, r.err, said)
	}
}

// N27: a notice is on the worklist of whom it is for, who may have the work done by somebody else, and takes it off.
func TestN27ANoticeIsShown(t *testing.T) {
	s := newSites(t)
	if err := os.WriteFile(filepath.Join(s.dir, "staff.yaml"), []byte(clerks), 0o600); err != nil {
		t.Fatal(err)
	}
	s.more = map[string]string{"A": "staff: {file: staff.yaml}\n"}
	s.start("A")
	s.give("A", escalatedClaims)
	id := s.started("A", "claim", `{"number": "K-7"}`)
	item, notice := s.offered("A", "ann", "Assess claim K-7"), s.offered("A", "dora", "Assess claim K-7")
	if item.Kind != api.ItemWork || notice.Kind != api.ItemNotice || notice.Of != item.Item || notice.Item == item.Item {
		t.Fatalf("dora sees %+v of %+v", notice, item)
	}
	if out := s.must("A", "work", "list", "--as", "dora"); !strings.Contains(out, "notice: Assess claim K-7") {
		t.Errorf("the list is\n%s", out)
	}
	shown := s.must("A", "work", "show", notice.Item, "--as", "dora")
	for _, line := range []string{`kind +notice`, `of +` + item.Item, `activity +assess`, `eligible +1: dora@A`, `input +number: K-7`, ` +amount: 0`, ` escalated item ` + notice.Item} {
		if !regexp.MustCompile(`(?m)` + line + `$`).MatchString(shown) {
			t.Errorf("there is no %q in\n%s", line, shown)
		}
	}
	if strings.Contains(shown, "draft") {
		t.Errorf("it shows a draft:\n%s", shown)
	}
	s.refused("a claim of it", "A", "is a notice, which nobody has: there is nothing to claim", "work", "claim", notice.Item, "--as", "dora")
	s.refused("an output of it", "A", "is a notice, and has no output", "work", "complete", notice.Item, "--as", "dora", "--output", `{"number": "K-8"}`)
	s.must("A", "work", "transfer", item.Item, "ann", "--as", "dora")
	s.takenOff("A", notice, "--as", "dora", "--reason", "told ann", "--output", "{}")
	if all := s.items("A", "--as", "dora"); len(all) != 0 {
		t.Errorf("dora still sees %+v", all)
	}
	if out := s.must("A", "history", id); !strings.Contains(out, "item "+notice.Item+" by dora@A, said by ") || !strings.Contains(out, "told ann") {
		t.Errorf("the history is\n%s", out)
	}
	s.must("A", "work", "complete", item.Item, "--as", "ann")
}
