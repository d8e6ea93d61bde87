package client_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"fmqm/api"
	"fmqm/cmd/internal/cli"
	"fmqm/test/fleet"
)

// anywhere may be started at both sites; work fails where its input says so.
const anywhere = `
process: any
version: 1
structures:
  In: {rc: int}
input: In
search: [rc]
starts: [A, B]
activities:
  work: {node: A, program: fail, input: In, output: In}
  more: {node: B, program: fail, input: In, output: In}
data:
  - source -> work
  - source -> more
`

// listed gives what a site lists, as INSTANCE STATE ORIGIN, and what was said.
func (s *sites) listed(site string, args ...string) ([]string, string) {
	s.Helper()
	r := s.fmqm(site, append([]string{"list", "-o", "json"}, args...)...)
	var all []api.Instance
	if err := json.Unmarshal([]byte(r.out), &all); err != nil || r.code != 0 {
		s.Fatalf("list %v: %+v: %v", args, r, err)
	}
	lines := []string{}
	for _, i := range all {
		lines = append(lines, fmt.Sprint(i.Instance, " ", i.State, " ", i.Origin))
	}
	return lines, r.err
}

// deeds gives what a command about many has planned, or done: ACTIVITY NODE RESULT.
func (s *sites) deeds(r result) (all []string) {
	s.Helper()
	var deeds []struct{ Instance, Activity, Node, Result string }
	if err := json.Unmarshal([]byte(r.out), &deeds); err != nil {
		s.Fatalf("%+v: %v", r, err)
	}
	for _, d := range deeds {
		all = append(all, strings.TrimSpace(fmt.Sprint(d.Instance, " ", d.Activity, " ", d.Node, " ", d.Result)))
	}
	slices.Sort(all)
	return all
}

// An operator lists what is in error over all sites, sees what a retry of all that would
// do, does it, and ends the rest; a site that is away is named.
func TestManyOverAllSites(t *testing.T) {
	s := newSites(t)
	s.start("A", "B")
	s.upload(anywhere)
	s.upload(overTwo)
	begin := func(site, process, input string) string {
		var st api.Status
		if err := json.Unmarshal([]byte(s.must(site, "start", process, "--input", input, "-o", "json")), &st); err != nil {
			t.Fatal(err)
		}
		return st.Instance.String()
	}
	fails, runs := begin("B", "any", `{"rc": 3}`), begin("A", "two", `{"sleep_ms": 600000, "there": 4}`)
	done := begin("A", "any", `{}`)
	s.until("A", done, "", "finished")
	s.until("A", fails, "", "in-error")
	s.until("A", runs, "there", "in-error")
	s.delivered("A", "B") // an origin lists what it was told is in error
	for what, c := range map[string]struct {
		site string
		args []string
		want []string
	}{
		"under way":            {"A", nil, []string{runs + " running A", fails + " in-error B"}},
		"at the other site":    {"B", nil, []string{runs + " running A", fails + " in-error B"}},
		"all":                  {"B", []string{"--all"}, []string{done + " finished A", runs + " running A", fails + " in-error B"}},
		"here":                 {"B", []string{"--here"}, []string{fails + " in-error B"}},
		"with errors":          {"A", []string{"--in-error"}, []string{runs + " running A", fails + " in-error B"}},
		"in state in-error":    {"A", []string{"--state", "in-error"}, []string{fails + " in-error B"}},
		"in state running":     {"B", []string{"--state", "running"}, []string{runs + " running A"}},
		"in state finished":    {"B", []string{"--state", "finished"}, []string{done + " finished A"}},
		"of a process":         {"B", []string{"--all", "--process", "any"}, []string{done + " finished A", fails + " in-error B"}},
		"of another version":   {"B", []string{"--all", "--process", "any@2"}, []string{}},
		"the newest":           {"A", []string{"--limit", "1"}, []string{runs + " running A"}},
		"of the last hour":     {"A", []string{"--since", "1h"}, []string{runs + " running A", fails + " in-error B"}},
		"since another moment": {"A", []string{"--since", "0s"}, []string{}},
		"of several states":    {"B", []string{"--state", "running", "--state", "finished"}, []string{done + " finished A", runs + " running A"}},
		"the oldest first":     {"A", []string{"--all", "--sort", "oldest"}, []string{fails + " in-error B", runs + " running A", done + " finished A"}},
		"behind another":       {"B", []string{"--all", "--after", done}, []string{runs + " running A", fails + " in-error B"}},
		"behind a far one":     {"A", []string{"--all", "--sort", "oldest", "--after", fails}, []string{runs + " running A", done + " finished A"}},
		"before a moment":      {"A", []string{"--started-before", "0s"}, []string{runs + " running A", fails + " in-error B"}},
		"older":                {"A", []string{"--older", "1h"}, []string{}},
		"at an activity":       {"A", []string{"--activity", "there"}, []string{runs + " running A"}},
		"at one of B":          {"B", []string{"--activity", "more", "--everywhere"}, []string{fails + " in-error B"}},
		"by the input":         {"A", []string{"--all", "--process", "any", "--where", "rc == 3"}, []string{fails + " in-error B"}},
		"by another input":     {"B", []string{"--all", "--process", "any", "--where", "rc != 3"}, []string{done + " finished A"}},
		"by a member":          {"A", []string{"--all", "--process", "any", "--search", "rc=3"}, []string{fails + " in-error B"}},
		"by two terms":         {"B", []string{"--all", "--process", "any", "--search", "rc<3", "--search", "rc>=0"}, []string{done + " finished A"}},
		"nothing waits":        {"A", []string{"--waiting-on", "B"}, []string{}},
	} {
		var got []string
		var said string
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		err := fleet.Until(ctx, func() (bool, error) { // nothing moves any more, but a machine that stalls leaves out a site
			got, said = s.listed(c.site, c.args...)
			return slices.Equal(got, c.want) && !strings.Contains(said, "unreachable: "), nil
		})
		if cancel(); err != nil {
			t.Errorf("%s: %q, want %q; said %q", what, got, c.want, said)
		}
	}

	r := s.fmqm("A", "list", "--process", "any", "--search", "rd=3")
	if want := "search: no version of any declares rd: ask with `where`, or for one of: rc\n"; r.code != cli.ExitUsage || !strings.HasSuffix(r.err, want) {
		t.Errorf("a member that is not declared: exit %d, said %q, want %q", r.code, r.err, want)
	}
	if n := s.must("B", "list", "--process", "any", "--all", "--search", "rc<=3", "--count", "-o", "json"); !strings.Contains(n, `"count": 2`) && !strings.Contains(n, `"count":2`) {
		t.Errorf("counted: %s", n)
	}
	plan := s.fmqm("A", "retry", "--search", "rc=3", "--process", "any", "-o", "json")
	if got, want := s.deeds(plan), []string{fails + " more B", fails + " work A"}; plan.code != 0 || !slices.Equal(got, want) ||
		plan.err != "plan: retry 2 activities of 1 instance: more at B (1), work at A (1)\nnothing was done: --yes does it\n" {
		t.Errorf("plan: %q, want %q; exit %d, said %q", got, want, plan.code, plan.err)
	}
	before := s.must("A", "history", fails)
	if strings.Contains(before, "retried") {
		t.Errorf("the plan has retried:\n%s", before)
	}
	r = s.fmqm("B", "retry", "--in-error", "--yes", "-o", "json")
	if got, want := s.deeds(r), []string{fails + " more B done", fails + " work A done", runs + " there B done"}; r.code != 0 || !slices.Equal(got, sorted(want)) {
		t.Errorf("retry: %q, want %q; exit %d, said %q", got, want, r.code, r.err)
	}
	s.until("A", fails, "", "in-error") // again
	s.until("A", runs, "there", "in-error")
	s.delivered("B")

	// B is away: what is of A's alone is done, the rest is said.
	s.stop("B")
	if got, said := s.listed("A"); !slices.Equal(got, []string{runs + " running A"}) || !strings.HasPrefix(said, "unreachable: B (last heard ") {
		t.Errorf("without B: %q, said %q", got, said)
	}
	r = s.fmqm("A", "retry", "--in-error", "--yes", "-o", "json")
	if got, want := s.deeds(r), []string{runs + " there B queued"}; r.code != cli.ExitUnreachable || !slices.Equal(got, want) { // the list lacks what B alone knows
		t.Errorf("retry without B: %q, want %q; exit %d, said %q", got, want, r.code, r.err)
	}
	s.askedLater("A", r)
	s.start("B")
	s.wait("B", func() bool {
		_, said := s.listed("A")
		return !strings.Contains(said, "unreachable: ")
	})
	r = s.fmqm("A", "terminate", "--since", "1h", "-o", "json")
	if got, want := s.deeds(r), []string{fails + "  B", runs + "  A"}; r.code != 0 || !slices.Equal(got, sorted(want)) {
		t.Errorf("plan to terminate: %q, want %q; exit %d, said %q", got, want, r.code, r.err)
	}
	s.until("A", runs, "", "running")
	r = s.fmqm("A", "terminate", "--since", "1h", "--yes")
	if r.code != 0 || strings.Count(r.out, " terminate  done") != 2 {
		t.Errorf("terminate: %+v", r)
	}
	s.until("A", fails, "", "terminated")
	s.until("A", runs, "", "terminated")
	if r = s.fmqm("A", "terminate", "--since", "1h", "--yes"); r.code != 0 || r.out != "" || r.err != "nothing to terminate: no instance fits --since 1h\n" {
		t.Errorf("terminate again: %+v", r)
	}
}

// askedLater: what one retry of many that is queued has given is enough to ask later what has come
// of it, as JSON and as the line that people see.
func (s *sites) askedLater(site string, r result) {
	s.Helper()
	var deeds []struct{ Instance, Activity, ID string }
	if err := json.Unmarshal([]byte(r.out), &deeds); err != nil || len(deeds) != 1 || deeds[0].ID == "" {
		s.Fatalf("%v: %s", err, r.out)
	}
	d := deeds[0]
	again := strings.Join([]string{"retry", d.Instance, d.Activity, "--word", d.ID}, " ")
	if !strings.Contains(r.err, "ask again with: fmqm "+again+"\n") {
		s.Errorf("said %q, want %q", r.err, again)
	}
	var word api.Word
	asked := s.fmqm(site, append(strings.Fields(again), "-o", "json")...)
	if err := json.Unmarshal([]byte(asked.out), &word); err != nil || asked.code != 0 || word.ID.String() != d.ID || word.Result != api.WordQueued {
		s.Errorf("asked later: %+v, %v", asked, err)
	}
}

func sorted(s []string) []string {
	slices.Sort(s)
	return s
}
