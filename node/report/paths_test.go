package report

import (
	"errors"
	"testing"

	"fmqm/api"
	"fmqm/message"
)

// What no execution can have is told, wherever a PATH is asked for; what may be there is not.
func TestPathsThatThereCannotBe(t *testing.T) {
	g := NewGathered("office", message.InstanceID{1})
	g.Add("office", Report{Known: true, Process: "stock@1", Origin: "office", Roster: []api.Place{
		{Activity: "plan", Node: "office"},
		{Activity: "count", Node: "office", Each: true, At: []string{"s1"}},
		{Activity: "none", Node: "office", Each: true},
		{Activity: "documents", Node: "office"},
		{Activity: "check", Node: "office", Inside: "documents"},
	}, Activities: []api.Activity{
		{Activity: "count", Node: "office", State: api.ActivityRunning, Elements: &api.Elements{Count: 4}},
		{Activity: "none", Node: "office", State: api.ActivityRunning, Elements: &api.Elements{}},
	}})
	for path, want := range map[string]string{
		"plan":              "",
		"check":             "",
		"documents#7/check": "",
		"count[3]":          "",
		"documents#2/sink":  "",
		"count[4]":          "there is no count[4]: count has 4 elements",
		"none[0]":           "there is no none[0]: none has 0 elements",
		"count#2":           "count#2: count has elements, and no iterations",
		"plan[1]":           "plan[1]: plan has no for_each, and so no elements",
		"plan#1":            "plan#1: plan is no block, and none of its iterations has a PATH",
		"plan/count":        "plan/count: count is not inside of plan",
		"check[0]":          "check[0]: check has no for_each, and so no elements",
		"count[x]":          `scope count[x]: message format: scope: element of "count[x]": want a number from 0 to 99999 in brackets`,
	} {
		err := g.NoPath(path)
		var got *api.Error
		if errors.As(err, &got) != (want != "") || got != nil && (got.Message != want || got.Remedy == "") {
			t.Errorf("%s: %v, want %q", path, err, want)
		}
	}
}
