package report

import (
	"slices"
	"strings"
	"testing"

	"fmqm/api"
	"fmqm/message"
	"fmqm/processtable"
)

// nested is a roster of blocks: documents has check and deeper, which has look.
func nested() *places {
	return placesOf([]api.Place{
		{Activity: "begin", Node: "A"},
		{Activity: "documents", Node: "A"},
		{Activity: "check", Node: "B", Inside: "documents"},
		{Activity: "deeper", Node: "B", Inside: "documents"},
		{Activity: "look", Node: "C", Inside: "deeper"},
		{Activity: "pay", Node: "C"},
	})
}

// N10, N18: an activity has a host only in scopes in which it can be, and source and sink of a block that of
// the block.
func TestN18WhoHostsWhatInAScope(t *testing.T) {
	for name, want := range map[string]string{
		"begin": "A", "documents#1/check": "B", "documents~2#9/check": "B", "documents#1/deeper#2/look": "C",
		"documents#1/sink": "A", "documents#1/deeper#2/source": "B",
		"check": "", "documents/check": "", "documents#1/look": "", "deeper#1/look": "", "documents#1/pay": "", "pay#1/look": "",
		"documents#1/deeper#1/check": "", "documents#01/check": "", "source": "", "documents/sink": "", "x#1/sink": "", "nothing": "",
	} {
		scope, activity := api.CutScope(name)
		if host, there := nested().host(message.Scope(scope), activity); host != want || there != (want != "") {
			t.Errorf("%s is at %q, want %q", name, host, want)
		}
	}
}

// Lines stand in the file's order, a block before what is inside, that by its iterations, as people count.
func TestN18TheOrderOfLines(t *testing.T) {
	want := []string{
		"begin", "documents", "documents#1/source", "documents#1/check", "documents#1/deeper", "documents#1/deeper#1/look", "documents#1/sink",
		"documents#2/check", "documents#2/deeper#9/look", "documents#2/deeper#10/look", "documents~1#2/check", "documents#10/check", "pay",
	}
	got := slices.Clone(want)
	slices.Reverse(got)
	slices.SortFunc(got, func(x, y string) int {
		order := func(name string) []int {
			scope, activity := api.CutScope(name)
			return nested().order(message.Scope(scope), activity)
		}
		return slices.Compare(order(x), order(y))
	})
	if !slices.Equal(got, want) {
		t.Errorf("got  %s\nwant %s", strings.Join(got, " "), strings.Join(want, " "))
	}
}

// A PATH names an activity with what is inside of it, or one iteration; frames compare whole.
func TestN18WhatAPathNames(t *testing.T) {
	all := []string{"documents", "documents#1/check", "documents#1/deeper", "documents#1/deeper#2/look", "documents#1/sink", "documents#12/check", "pay", "sink"}
	for path, want := range map[string]string{
		"documents":                 "documents documents#1/check documents#1/deeper documents#1/deeper#2/look documents#1/sink documents#12/check",
		"documents#1":               "documents#1/check documents#1/deeper documents#1/deeper#2/look documents#1/sink",
		"documents#1/deeper":        "documents#1/deeper documents#1/deeper#2/look",
		"deeper":                    "documents#1/deeper documents#1/deeper#2/look",
		"documents#12/deeper":       "",
		"check":                     "documents#1/check documents#12/check",
		"documents#12/check":        "documents#12/check",
		"documents#1/deeper#2/look": "documents#1/deeper#2/look",
		"sink":                      "sink",
		"documents#1/sink":          "documents#1/sink",
	} {
		var got []string
		for _, name := range all {
			if scope, activity := api.CutScope(name); InPath(path, scope, activity) {
				got = append(got, name)
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %s\nwant %s", path, strings.Join(got, " "), want)
		}
	}
}

// A roster that another site made up, and that is none, is not taken: its blocks could go round.
func TestAnUnsoundRosterIsNone(t *testing.T) {
	for _, roster := range [][]api.Place{
		{{Activity: "a", Node: "B", Inside: "a"}},
		{{Activity: "a", Node: "B"}, {Activity: "a", Node: "B", Inside: "a"}},
		{{Activity: "a", Node: "B", Inside: "b"}, {Activity: "b", Node: "B"}},
	} {
		if r, _ := (Report{Known: true, Process: "p@1", Roster: roster}).Believed("B", nil); r.Roster != nil {
			t.Errorf("believed: %+v", r.Roster)
		}
	}
}

// Invariant 11: where a page ends that a site tells of is for it to say of its own activities only. One that
// is not there would be named as the one to go on after, which then is refused.
func TestWhereAPageEndsIsAnActivityOfWhoSaysIt(t *testing.T) {
	table := &processtable.Table{
		Format: processtable.BlockFormat, Process: processtable.ProcessID{Name: "p", Version: 1}, Node: "A", Starts: []processtable.NodeID{"A"},
		Roster: []processtable.Place{{Activity: "a", Node: "A"}, {Activity: "b", Node: "B"}, {Activity: "c", Node: "B", Inside: "b"}, {Activity: "d", Node: "A"}},
	}
	for upto, want := range map[string]string{"b": "b", "b#1/c": "b#1/c", "b#1/sink": "b#1/sink", "": "", "ghost": "", "d": "", "b#1/b": "", "c": "", "source": "", "b#x/c": ""} {
		if r, _ := (Report{Known: true, Process: "p@1", Upto: upto}).Believed("B", table); r.Upto != want {
			t.Errorf("it says %q, and %q is believed", upto, r.Upto)
		}
	}
}

// N21, invariant 11: only the table of who hosts a bundle says that it is one, so its host is believed, also once this
// node has answered again. Nobody then looks for iterations of the bundle itself, of which there are none.
func TestN21WhoHostsABundleSaysThatItIsOne(t *testing.T) {
	table := &processtable.Table{
		Format: processtable.BlockFormat, Process: processtable.ProcessID{Name: "p", Version: 1}, Node: "A", Starts: []processtable.NodeID{"A"},
		Roster: []processtable.Place{{Activity: "b", Node: "C"}, {Activity: "c", Node: "C", Inside: "b"}, {Activity: "d", Node: "D"}},
	}
	b := func(scope string, iterations int) api.Activity {
		return api.Activity{Scope: scope, Activity: "b", Node: "C", State: api.ActivityRunning, Iterations: iterations}
	}
	g := NewGathered("A", api.InstanceID{1})
	own := Report{Known: true, Process: "p@1", Origin: "A", State: api.InstanceRunning, Roster: RosterOf(table, "A")}
	says := func(node string, bundle string, all ...api.Activity) {
		r := Report{Known: true, Process: "p@1", Origin: "A", Roster: RosterOf(table, "A"), Activities: all}
		for i := range r.Roster {
			r.Roster[i].Each = r.Roster[i].Activity == bundle
		}
		r, _ = r.Believed(processtable.NodeID(node), table)
		g.Add(node, r)
	}
	g.Add("A", own)
	says("C", "b", b("", 1), b("b[0]", 1), line("b[0]/b#1", "c", "C", api.ActivityInError))
	says("D", "c")
	g.Add("A", own)
	g.Asked.Scopes = []string{""}
	if got, want := strings.Join(g.Open(), " "), "b[0] b[0]/b#1"; got != want {
		t.Errorf("open: %s, want %s", got, want)
	}
	for _, p := range g.Roster {
		if p.Each != (p.Activity == "b") {
			t.Errorf("%s is a bundle: %t", p.Activity, p.Each)
		}
	}
}
