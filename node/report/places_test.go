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
			if scope, activity := api.CutScope(name); inPath(path, scope, activity) {
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
