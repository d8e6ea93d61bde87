package client_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"fmqm/api"
)

// N15, N30: activities are ended by hand at the site that hosts them, whichever is asked: one that runs is killed, one in
// error goes on; history and status say who it was. What cannot be is refused, and changes nothing.
func TestActivitiesAreEndedByHand(t *testing.T) {
	s := newSites(t)
	s.start("A", "B")
	s.upload(overTwo)
	id := s.begin("two", `{"sleep_ms": 600000, "there": 4}`)
	s.until("A", id, "there", "in-error")
	s.until("A", id, "slow", "running")
	for _, wrong := range []struct {
		args []string
		exit int
		text string
	}{
		{[]string{"finish", id, "slow"}, 2, "--output is missing"},
		{[]string{"finish", id, "there", "--output", `{"rc": "x"}`}, 4, "--output:1:8: rc: expected int"},
		{[]string{"skip", id, "after"}, 4, "it is not decided whether it runs: it waits for "},
		{[]string{"skip", id, "here"}, 4, "skip here: "},
		{[]string{"skip", id, "nobody"}, 3, "two@1 has no activity nobody"},
		{[]string{"finish", "--process", "two", "--output", "{}"}, 2, "ACTIVITY is missing"},
		{[]string{"finish", "--process", "two", id, "--output", "{}"}, 2, "not both"},
	} {
		if r := s.fmqm("A", wrong.args...); r.code != wrong.exit || !strings.Contains(r.err, wrong.text) {
			t.Errorf("%v: %d %s, want %s", wrong.args, r.code, r.err, wrong.text)
		}
	}
	var w api.Word
	if err := json.Unmarshal([]byte(s.must("A", "skip", id, "slow", "--reason", "the van is here", "-o", "json")), &w); err != nil || w.Word != "skip" || w.Result != api.WordDone || w.Node != "B" {
		t.Errorf("%+v, %v", w, err)
	}
	if again := s.must("A", "skip", id, "slow", "--word", w.ID.String(), "-o", "json"); !strings.Contains(again, `"done"`) {
		t.Errorf("asked again: %s", again)
	}
	s.must("B", "finish", id, "there", "--output", `{"rc": 7}`, "--reason", "on paper")
	s.until("A", id, "", "finished")
	var events []api.HistoryEvent
	if err := json.Unmarshal([]byte(s.must("A", "history", id, "-o", "json")), &events); err != nil {
		t.Fatal(err)
	}
	for _, want := range []struct {
		activity string
		event    api.Event
		reason   string
	}{{"slow", api.EventSkipped, "the van is here"}, {"there", api.EventForced, "on paper"}} {
		if !slices.ContainsFunc(events, func(e api.HistoryEvent) bool {
			return e.Activity == want.activity && e.Event == want.event && e.By != "" && e.Reason == want.reason && e.Node == "B"
		}) {
			t.Errorf("history has no %s of %s: %+v", want.event, want.activity, events)
		}
	}
}

// N30: of many instances one activity is ended, where it is under way; without --yes that is only said.
func TestManyAreEndedByHand(t *testing.T) {
	s := newSites(t)
	s.start("A", "B")
	s.upload(overTwo)
	first, second := s.begin("two", `{"sleep_ms": 600000}`), s.begin("two", `{"sleep_ms": 600000}`)
	other := s.begin("two", `{}`)
	for _, id := range []string{first, second} {
		s.until("A", id, "slow", "running")
	}
	s.until("A", other, "", "finished")
	want := []string{first + " slow B", second + " slow B"}
	slices.Sort(want)
	planned := s.fmqm("A", "skip", "--process", "two", "slow", "-o", "json")
	if got := s.deeds(planned); planned.code != 0 || !slices.Equal(got, want) || !strings.Contains(planned.err, "nothing was done") {
		t.Fatalf("the plan is %v, %+v", got, planned)
	}
	done := s.fmqm("A", "skip", "--process", "two", "slow", "--yes", "-o", "json")
	for i := range want {
		want[i] += " done"
	}
	if got := s.deeds(done); done.code != 0 || !slices.Equal(got, want) {
		t.Errorf("done is %v, %+v", got, done)
	}
	for _, id := range []string{first, second} {
		s.until("A", id, "", "finished")
	}
}
