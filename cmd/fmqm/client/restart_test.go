package client_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"testing"

	"fmqm/api"
	"fmqm/api/apitest"
	"fmqm/cmd/internal/cli"
)

// recalled has assess at A, and what it comes to at pay of B and note of A, which wait for hold and late: these are in error where
// the input says so.
const recalled = `
process: again
version: 1
structures:
  In:  {n: int, rc: int, late: int, all: [int]}
  Rc:  {rc: int}
  One: {one: int}
input: In
output: In
starts: [A]
activities:
  assess: {node: A, program: echo, input: In, output: In}
  each:   {node: A, program: echo, input: One, output: One, for_each: one}
  hold:   {node: A, program: fail, input: Rc, output: Rc}
  late:   {node: A, program: fail, input: Rc, output: Rc}
  pay:    {node: B, program: echo, input: In, output: In}
  note:   {node: A, empty: true}
control:
  - assess -> pay
  - assess -> note
  - hold -> pay
  - late -> note
data:
  - source -> assess
  - source -> each: {one: all}
  - source -> hold: {rc: rc}
  - source -> late: {rc: late}
  - assess -> pay
  - pay -> sink
`

// held begins an instance of it in which assess has ended, and what comes after it waits.
func (s *sites) held() string {
	s.Helper()
	id := s.begin("again", `{"n": 7, "rc": 3, "late": 3, "all": [1, 2]}`)
	for activity, state := range map[string]string{"assess": "terminated", "each": "terminated", "hold": "in-error", "late": "in-error"} {
		s.until("A", id, activity, state)
	}
	s.delivered("A")
	return id
}

// goesOn lets all end that waits, and gives the output.
func (s *sites) goesOn(id string) string {
	s.Helper()
	for _, activity := range []string{"hold", "late"} {
		if at := s.assess("A", id, activity); at.State == api.ActivityInError {
			s.must("A", "finish", id, activity, "--output", `{"rc": 0}`)
		}
	}
	return string(s.until("A", id, "", "finished").Output)
}

// assess gives an activity as a site tells of it.
func (s *sites) assess(site, id, activity string) api.Activity {
	s.Helper()
	all := s.status(site, id).Activities
	return all[slices.IndexFunc(all, func(a api.Activity) bool { return a.Activity == activity })]
}

// said reads what has come of a word.
func (s *sites) said(r result) (w api.Word) {
	s.Helper()
	if err := json.Unmarshal([]byte(r.out), &w); err != nil || r.code != 0 {
		s.Fatalf("%+v: %v", r, err)
	}
	return w
}

// N30: what has ended runs once more, with another input; where what comes after it was decided, it keeps its end, and the answer
// says what stands in the way.
func TestAnActivityIsRestarted(t *testing.T) {
	s := newSites(t)
	s.start("A", "B")
	s.upload(recalled)
	id := s.held()
	w := s.said(s.fmqm("A", "restart", id, "assess", "--input", `{"n": 9}`, "--reason", "wrong tariff", "-o", "json"))
	if w.Word != "restart" || w.Node != "A" || w.Result != api.WordDone && w.Result != api.WordQueued { // a stalled machine may need more than 10 s
		t.Errorf("it has come to %+v", w)
	}
	s.wait("another run", func() bool {
		a := s.assess("A", id, "assess")
		return a.Run == 2 && a.State == api.ActivityTerminated && a.Restart == ""
	})
	if again := s.said(s.fmqm("A", "restart", id, "assess", "--word", w.ID.String(), "-o", "json")); again.Result != api.WordDone {
		t.Errorf("asked later: %+v", again)
	}
	if r := s.fmqm("A", "restart", id, "assess", "--word", w.ID.String()); r.code != 0 || r.err != "assess runs once more; see fmqm status "+id+"\n" {
		t.Errorf("asked by a person: %+v", r)
	}

	s.must("A", "finish", id, "hold", "--output", `{"rc": 0}`)
	s.until("A", id, "pay", "terminated")
	var late result
	s.wait("a refusal", func() bool {
		late = s.fmqm("A", "restart", id, "assess")
		return strings.Contains(late.err, "pay has been decided")
	})
	if want := "restart assess: pay has been decided on assess's result: start a new instance, or finish pay by hand"; late.code != cli.ExitRefused || !strings.Contains(late.err, want) {
		t.Errorf("too late: %+v, want %s", late, want)
	}
	if !s.ran("A", id, "assess", api.EventEndKept) || !s.ran("B", id, "note", api.EventRecalled) {
		t.Errorf("history does not say that it was tried: %s", s.must("A", "history", id))
	}
	if got := s.goesOn(id); !strings.Contains(got, `"n":9`) && !strings.Contains(got, `"n": 9`) {
		t.Errorf("it has come to %s", got)
	}
	s.quiet()
}

// N30: while a site is away a restart is queued, and can be withdrawn; what comes of many at once is said first.
func TestManyAreRestarted(t *testing.T) {
	s := newSites(t)
	s.start("A", "B")
	s.upload(recalled)
	first := s.held()
	s.stop("B")
	r := s.fmqm("A", "restart", first, "assess", "-o", "json")
	w := s.said(r)
	if ask := "ask again with: fmqm restart " + first + " assess --word " + w.ID.String() + "\n"; w.Result != api.WordQueued || !strings.HasSuffix(r.err, ask) {
		t.Errorf("without B: %+v, want %q", r, ask)
	}
	if a := s.assess("A", first, "assess"); a.Restart != api.RestartAsked || a.State != api.ActivityTerminated || !strings.Contains(a.Reason, "no answer yet of pay") {
		t.Errorf("assess is %+v", a)
	}
	s.refused("another restart", "A", "wants it already: wait for that, or withdraw it with fmqm restart --withdraw", "restart", first, "assess")
	if r := s.fmqm("A", "restart", "--process", "again", "assess"); r.code != 0 || r.out != "" || !strings.Contains(r.err, "nothing to restart: no instance fits --process again\n") {
		t.Errorf("nothing else has ended: %+v", r)
	}
	r = s.fmqm("A", "restart", "--withdraw", "--process", "again", "assess", "-o", "json")
	if got := s.deeds(r); !slices.Equal(got, []string{first + " assess A"}) || !strings.Contains(r.err, "plan: give up the restart of 1 activity of 1 instance: assess at A (1)\nnothing was done: --yes does it\n") {
		t.Errorf("the plan is %q: %+v", got, r)
	}
	r = s.fmqm("A", "restart", "--withdraw", "--process", "again", "assess", "--reason", "a mistake", "--yes", "-o", "json")
	if got := s.deeds(r); r.code != 0 || !slices.Equal(got, []string{first + " assess A done"}) {
		t.Errorf("withdrawn is %q: %+v", got, r)
	}
	if a := s.assess("A", first, "assess"); a.Restart != api.RestartGivenUp {
		t.Errorf("assess is %+v", a)
	}
	s.refused("what was asked before", "A", "restart assess: its restart was withdrawn by", "restart", first, "assess", "--word", w.ID.String())
	s.refused("a second withdrawal", "A", "it is given up already", "restart", first, "assess", "--withdraw")
	s.start("B")
	s.wait("what B gives back", func() bool { return s.assess("A", first, "assess").Restart == "" })

	second := s.held()
	want := []string{first + " assess A", second + " assess A"}
	slices.Sort(want)
	r = s.fmqm("A", "restart", "--process", "again", "--in-error", "assess", "-o", "json")
	if got := s.deeds(r); r.code != 0 || !slices.Equal(got, want) || r.err != "plan: restart 2 activities of 2 instances: assess at A (2)\nnothing was done: --yes does it\n" {
		t.Errorf("the plan is %q, want %q: %+v", got, want, r)
	}
	if s.ran("A", second, "assess", api.EventRecalled) {
		t.Error("the plan has restarted it")
	}
	r = s.fmqm("A", "restart", "--process", "again", "assess", "--reason", "wrong tariff", "--yes", "-o", "json")
	if got := s.deeds(r); r.code != 0 || len(got) != 2 {
		t.Errorf("done is %q: %+v", got, r)
	}
	for _, id := range []string{first, second} {
		s.wait("another run", func() bool {
			a := s.assess("A", id, "assess")
			return a.Run == 2 && a.State == api.ActivityTerminated
		})
	}
	if r := s.fmqm("A", "restart", second, "assess", "--all", "-o", "json"); r.code != 0 || len(s.deeds(r)) != 1 {
		t.Errorf("all of one: %+v", r)
	}
	s.wait("a third run", func() bool { return s.assess("A", second, "assess").Run == 3 })
	for _, id := range []string{first, second} {
		if got := s.goesOn(id); !strings.Contains(strings.ReplaceAll(got, " ", ""), `"n":7`) {
			t.Errorf("it has come to %s", got)
		}
	}
	s.quiet()
}

// N30: a restart of all is of those executions that have ended and are not restarted, in the newest iteration of each block around
// them; of a bundle it is of that, and not of its elements, unless one is named. A withdrawal is of those that are being restarted.
func TestRestartsOfAllAreOfTheNewestIterations(t *testing.T) {
	var asked []string
	var lock sync.Mutex
	to := apitest.Serve(t, &apitest.Backend{
		OnStatus: func(_ context.Context, _ api.InstanceID, r api.StatusRequest) (api.Status, error) {
			st := api.Status{Process: "claim@1", State: api.InstanceRunning}
			for _, scope := range []string{"documents#1", "documents#10", "documents#2", "parts[0]#1/documents#3", "parts[1]#1/documents#1", "parts[1]#2/documents#1"} {
				st.Activities = append(st.Activities, api.Activity{Scope: scope, Activity: "check", Node: "A", State: api.ActivityTerminated})
			}
			st.Activities[5].Restart = api.RestartAsked
			for _, scope := range []string{"", "count[0]", "count[1]"} {
				st.Activities = append(st.Activities, api.Activity{Scope: scope, Activity: "count", Node: "A", State: api.ActivityTerminated})
			}
			if !slices.Equal(r.States, []api.ActivityState{api.ActivityTerminated}) || !r.Tree {
				t.Errorf("asked for %+v", r)
			}
			return st, nil
		},
		OnRestart: func(_ context.Context, i api.InstanceID, r api.RestartRequest) (api.Word, error) {
			what := "restart "
			if r.Withdraw {
				what = "withdraw "
			}
			lock.Lock()
			defer lock.Unlock()
			asked = append(asked, what+api.Shown(r.Scope, r.Activity)+r.Reason)
			return api.Word{Instance: i, Scope: r.Scope, Activity: r.Activity, Result: api.WordDone}, nil
		},
	})
	for line, want := range map[string][]string{
		"check --all --reason !":       {"restart documents#10/check!", "restart parts[0]#1/documents#3/check!"},
		"documents#2/check --all":      {"restart documents#2/check"},
		"check --all --withdraw":       {"withdraw parts[1]#2/documents#1/check"},
		"count --all":                  {"restart count"},
		"count[1] --all":               {"restart count[1]"},
		"documents#2/check":            {"restart documents#2/check"},
		"documents#2/check --withdraw": {"withdraw documents#2/check"},
	} {
		asked = nil
		r := fmqm(to, "", append([]string{"restart", id}, strings.Fields(line)...)...)
		if slices.Sort(asked); r.code != 0 || !slices.Equal(asked, want) {
			t.Errorf("%s: %q, want %q: %+v", line, asked, want, r)
		}
	}
}

// N30: what cannot be restarted, and who may not, changes nothing.
func TestEveryRestartThatIsRefused(t *testing.T) {
	s := newSites(t)
	s.obeys = map[string]string{"A": "[]"}
	s.start("A", "B")
	s.upload(recalled)
	id := s.held()
	before := s.must("A", "history", id)
	for _, tc := range []struct {
		site, line string
		exit       int
		text       string
	}{
		{"A", id + " nobody", cli.ExitNotFound, "again@1 has no activity nobody"},
		{"A", id + " hold", cli.ExitRefused, "restart hold: it has not ended: see how it stands, and retry, finish or skip it"},
		{"A", id + " note", cli.ExitRefused, "restart note: it has not ended"},
		{"A", id + " each[1]", cli.ExitRefused, "restart each[1]: it is one element of a bundle, which goes on by itself: name the bundle, each"},
		{"A", id + ` assess --input {"n":"x"}`, cli.ExitRefused, "--input:1:6: n: expected int"},
		{"A", id + ` assess --input {"m":1}`, cli.ExitRefused, "--input:1:2: m: unknown member; In has n, rc, late, all"},
		{"A", id + ` assess --input [1]`, cli.ExitUsage, "input"},
		{"A", id + ` assess --withdraw --input {}`, cli.ExitUsage, "--input is for what runs once more"},
		{"A", id + " assess --withdraw", cli.ExitRefused, "withdraw assess: it is not being restarted: see how it stands"},
		{"A", id + " assess --word 0197c1d2-0000-7000-8000-000000000001", cli.ExitNotFound, "A knows no restart"},
		{"A", id + " assess --word monday", cli.ExitUsage, "is not the identifier of a word"},
		{"A", id + ` assess --all --input {"n":9}`, cli.ExitUsage, "are for one execution"},
		{"A", id + " pay --all", cli.ExitNotFound, "pay is nowhere known to have run to its end in " + id},
		{"A", id + " assess --all --withdraw", cli.ExitNotFound, "assess is nowhere being restarted in " + id},
		{"A", id, cli.ExitUsage, "ACTIVITY is missing: see fmqm restart --help"},
		{"A", "--process again", cli.ExitUsage, "ACTIVITY is missing: which one of each instance; see fmqm restart --help"},
		{"A", "--process again --withdraw", cli.ExitUsage, "ACTIVITY is missing: which one of each instance; see fmqm restart --help"},
		{"A", `--process again assess --input {"n":9}`, cli.ExitUsage, "--input is for one activity: name INSTANCE and ACTIVITY"},
		{"A", "--state finished assess", cli.ExitUsage, "what has ended has nothing left to restart"},
		{"B", id + " assess", cli.ExitRefused, "A refuses restart from B"},
	} {
		if r := s.fmqm(tc.site, append([]string{"restart"}, strings.Fields(tc.line)...)...); r.code != tc.exit || r.out != "" || !strings.Contains(r.err, tc.text) {
			t.Errorf("restart %s: %+v, want %d, %s", tc.line, r, tc.exit, tc.text)
		}
	}
	s.same(id, before)
	if got := s.goesOn(id); !strings.Contains(strings.ReplaceAll(got, " ", ""), `"n":7`) {
		t.Errorf("it has come to %s", got)
	}
	s.quiet()
}
