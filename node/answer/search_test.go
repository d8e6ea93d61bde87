package answer

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"fmqm/api"
)

// What a peer asks is bounded before anything is looked at, and it is told of processes alone in which it has a part.
func TestAHostileSearchIsRefused(t *testing.T) {
	w := newFindWorld(t)
	megabyte := strings.Repeat("x", 1<<20)
	for what, terms := range map[string][]string{
		"a value of a megabyte":  {"id=" + megabyte},
		"a member of a megabyte": {megabyte + "=1"},
		"signs of a megabyte":    {strings.Repeat("=", 1<<20)},
		"no member":              {"=1"},
		"no sign":                {"id"},
		"nothing":                {""},
		"the end of a key":       {"id\x00=1"},
		"a long path":            {strings.Repeat("id.", 100) + "id=1"},
		"thousands":              slices.Repeat([]string{"id=1"}, 5000),
		"two types of no kind":   {"order.due=x"},
	} {
		if r, err := w.ListTo(t.Context(), "B", ListQuestion{Process: "parcel", All: true, Limit: 100, Sought: Sought{Search: terms}}); api.CodeOf(err) != api.CodeUsage || len(err.Error()) > 1000 {
			t.Errorf("%s: %+v, %.200v", what, r, err)
		}
	}
	if r, err := w.ListTo(t.Context(), "B", ListQuestion{Limit: 100, Sought: Sought{Search: []string{"id=1"}}}); api.CodeOf(err) != api.CodeUsage {
		t.Errorf("of no process: %+v, %v", r, err)
	}
	r, err := w.ListTo(t.Context(), "B", ListQuestion{Process: "parcel", Limit: 100, Sought: Sought{Search: []string{"name=x", "order=1", "id.x=1"}}})
	if err != nil || len(r.Instances) != 0 || fmt.Sprint(*r.Searched) != "{[name order id.x] [id order.due order.name paid]}" {
		t.Errorf("of members that are not declared: %+v, %+v, %v", r, r.Searched, err)
	}
	r, err = w.ListTo(t.Context(), "X", ListQuestion{Process: "parcel", Limit: 100, Sought: Sought{Search: []string{"id=1", "name=x"}}})
	if err != nil || len(r.Instances) != 0 || r.Searched != nil {
		t.Errorf("of who has no part: %+v, %+v, %v", r, r.Searched, err)
	}
}

// What a site says of members is not shown as it comes: names alone, and few; who may not see the process is told nothing.
func TestASiteIsNotBelievedAnyMember(t *testing.T) {
	w := newFindWorld(t)
	declared := []string{strings.Repeat("x", 1<<20), "a\x1b[31m", "a b", "", "good.one"}
	for n := range 10_000 {
		declared = append(declared, fmt.Sprint("m", n))
	}
	told, err := json.Marshal(ListReport{Searched: &Searched{Unknown: []string{"id", "else"}, Declared: declared}})
	if err != nil {
		t.Fatal(err)
	}
	w.told = string(told)
	request := api.ListRequest{Process: "sent", Everywhere: true, Limit: 100, Search: []string{"id=1"}}
	for _, count := range []bool{false, true} {
		request.Count = count
		_, err := w.List(t.Context(), request)
		if api.CodeOf(err) != api.CodeUsage || len(err.Error()) > 2000 || !strings.Contains(err.Error(), "good.one") || strings.ContainsAny(err.Error(), "\x1b") || strings.Contains(err.Error(), "a b") || strings.Contains(err.Error(), "m500") {
			t.Errorf("count %t: %.3000v", count, err)
		}
	}
	request.Count = false
	blind := api.WithCaller(t.Context(), api.Caller{Name: "eve", Rights: &api.Rights{Node: "A"}})
	if a, err := w.List(blind, request); err != nil || len(a.Instances) != 0 {
		t.Errorf("who may see nothing: %+v, %v", a, err)
	}
}
