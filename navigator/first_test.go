package navigator

import (
	"slices"
	"strings"
	"testing"

	"fmqm/behaviour"
	"fmqm/condition"
	"fmqm/message"
	"fmqm/processtable"
)

// first has an activity be decided with the first k control connectors.
func (m *model) first(name processtable.ActivityID, k int) *model {
	row := m.rows[name]
	row.First, row.Start = k, condition.Logic{Op: condition.LogicAtLeast, N: k}
	for i := range row.InControl {
		row.Start.Args = append(row.Start.Args, condition.Logic{Op: condition.LogicVar, Var: i})
	}
	return m
}

// racing is x behind a, b and c, of which the first k count; each says who it is in text.
func racing(t testing.TB, k int) *Activity {
	return newModel(t, "a", "b", "c", "x", "y").control("a -> x", "b -> x", "c -> x", "x -> y").
		data("a -> x: n = n", "b -> x: n = n", "c -> x: text = text").first("x", k).activity("x")
}

// came is a message that the store has numbered.
func came(m message.Message, number uint64) message.Message {
	m.Arrival.Commit = number
	return m
}

// R35: it is decided TRUE with the k-th TRUE connector, by the order in which the store numbered them,
// whatever order they are folded in. Its snapshot has who counted before anything runs.
func TestR35TheFirstThatAreTrueBegin(t *testing.T) {
	for _, tc := range []struct {
		k    int
		of   []string // in the order of arrival: who, and of what truth
		want string   // who counted; "waits"; or "skipped"
	}{
		{1, []string{"a FALSE"}, "waits"},
		{1, []string{"b TRUE"}, "b"},
		{1, []string{"a FALSE", "b TRUE"}, "b"},
		{1, []string{"c TRUE", "a TRUE", "b TRUE"}, "c"},
		{1, []string{"a FALSE", "b FALSE"}, "waits"},
		{1, []string{"a FALSE", "b FALSE", "c FALSE"}, "skipped"},
		{1, []string{"a FALSE", "b FALSE", "c TRUE"}, "c"},
		{2, []string{"b TRUE"}, "waits"},
		{2, []string{"b TRUE", "a FALSE"}, "waits"},
		{2, []string{"b TRUE", "a TRUE"}, "b a"},
		{2, []string{"c TRUE", "b TRUE", "a TRUE"}, "c b"},
		{2, []string{"a FALSE", "c FALSE"}, "skipped"},
		{2, []string{"a TRUE", "b FALSE", "c FALSE"}, "skipped"},
		{3, []string{"a FALSE"}, "skipped"},
		{3, []string{"a TRUE", "b TRUE"}, "waits"},
		{3, []string{"b TRUE", "a TRUE", "c TRUE"}, "b a c"},
	} {
		x := racing(t, tc.k)
		var messages []message.Message
		for i, text := range tc.of {
			who, truth, _ := strings.Cut(text, " ")
			messages = append(messages, came(from(t, x, processtable.ActivityID(who), map[string]message.Truth{"TRUE": T, "FALSE": F}[truth], ""), uint64(i+1)))
		}
		for range 2 {
			s := folded(t, x, messages...)
			e := x.Decide(s, noon)
			got := "waits"
			switch {
			case e.Outcome.What == behaviour.Decided:
				at := kept(t, x, s, e)
				if got = strings.Trim(strings.ReplaceAll(strings.Join(namesOf(at.Counted), " "), ",", ""), " "); !slices.Equal(at.Counted, e.Outcome.Counted) {
					t.Errorf("history says %v, and the snapshot %v", e.Outcome.Counted, at.Counted)
				}
				if i := x.Decide(s, noon).Invoke; i == nil {
					t.Errorf("%v: it does not run: %s", tc.of, show(x.process, x.Decide(s, noon)))
				}
			case e.Ends:
				got = whats[e.Outcome.What]
			}
			if got != tc.want {
				t.Errorf("the first %d of %v: %s, want %s", tc.k, tc.of, got, tc.want)
			}
			slices.Reverse(messages)
		}
	}
}

func namesOf(all []processtable.ActivityID) []string {
	names := make([]string, len(all))
	for i, name := range all {
		names[i] = string(name)
	}
	return names
}

// R35: data of a source whose connector did not count are no part of the input, whether they had come or come
// later, also when the entry is built anew from its messages.
func TestR35OnlyWhatCountedBringsData(t *testing.T) {
	x := racing(t, 1)
	a := came(from(t, x, "a", T, `{"n": 1}`), 2)
	b := came(from(t, x, "b", T, `{"n": 2}`), 1)
	c := came(from(t, x, "c", T, `{"text": "late"}`), 3)
	s := folded(t, x, a, b)
	e := x.Decide(s, noon)
	kept(t, x, s, e)
	run := []string{`invokes iteration 1 attempt 1 run 0: {"n":2,"text":"none","list":[],"inner":{"a":7,"b":""}}`}
	expect(t, x, x.Decide(s, noon), run...)
	fold(t, x, s, c)
	expect(t, x, x.Decide(s, noon), run...)
	expect(t, x, x.Decide(folded(t, x, c, a, e.Put[0], b), noon), run...)

	end := x.Conclude(s, ran(t, 0, ""), noon)
	if !slices.Equal(end.Outcome.Counted, []processtable.ActivityID{"b"}) || !slices.Equal(end.Outcome.Raced, []processtable.ActivityID{"a", "c"}) {
		t.Errorf("with %v it ends, and too late came %v", end.Outcome.Counted, end.Outcome.Raced)
	}
}

// R35: what was FALSE before did not come too late.
func TestR35WhatWasFalseBeforeIsNotTooLate(t *testing.T) {
	x := racing(t, 1)
	s := folded(t, x, came(from(t, x, "a", F, ""), 1), came(from(t, x, "b", T, ""), 2))
	kept(t, x, s, x.Decide(s, noon))
	fold(t, x, s, came(from(t, x, "c", F, ""), 3))
	if end := x.Conclude(s, ran(t, 0, ""), noon); !slices.Equal(end.Outcome.Raced, []processtable.ActivityID{"c"}) {
		t.Errorf("too late came %v", end.Outcome.Raced)
	}
}

// R35: what only data lead from counts if it has come by then, and nobody waits for it; but for source,
// which has sent before all else.
func TestR35WhatOnlyBringsData(t *testing.T) {
	x := newModel(t, "a", "b", "d", "x", "y").control("a -> x", "b -> x", "x -> y", "d -> y").
		data("source -> x: list = list", "a -> x: n = n", "d -> x: text = text").first("x", 1).activity("x")
	input := from(t, x, processtable.Source, T, `{"list": [4]}`)
	won, data := from(t, x, "b", T, ""), from(t, x, "d", T, `{"text": "came"}`)

	s := folded(t, x, came(won, 1))
	expect(t, x, x.Decide(s, noon), "waits")
	fold(t, x, s, came(input, 2))
	kept(t, x, s, x.Decide(s, noon))
	fold(t, x, s, came(data, 3))
	expect(t, x, x.Decide(s, noon), `invokes iteration 1 attempt 1 run 0: {"n":0,"text":"none","list":[4],"inner":{"a":7,"b":""}}`)

	s = folded(t, x, came(data, 1), came(won, 2), came(input, 3))
	kept(t, x, s, x.Decide(s, noon))
	expect(t, x, x.Decide(s, noon), `invokes iteration 1 attempt 1 run 0: {"n":0,"text":"came","list":[4],"inner":{"a":7,"b":""}}`)
	s = folded(t, x, came(data, 3), came(won, 2), came(input, 1))
	kept(t, x, s, x.Decide(s, noon))
	expect(t, x, x.Decide(s, noon), `invokes iteration 1 attempt 1 run 0: {"n":0,"text":"none","list":[4],"inner":{"a":7,"b":""}}`)
}

// R35: who counted outlives iterations, failed attempts, errors and retries.
func TestR35WhoCountedOutlivesIterations(t *testing.T) {
	m := newModel(t, "a", "b", "x", "y").control("a -> x", "b -> x", "x -> y").data("a -> x: n = n", "x -> x: text = text").first("x", 1).exit("x", "n > 1")
	x := m.set("x", func(row *processtable.Activity) { row.Retry.Attempts = 2 }).activity("x")
	s := folded(t, x, came(from(t, x, "b", T, ""), 1), came(from(t, x, "a", T, `{"n": 9}`), 2))
	counted := []processtable.ActivityID{"b"}
	follow := func(e behaviour.Effects) {
		t.Helper()
		if at := kept(t, x, s, e); !slices.Equal(at.Counted, counted) || !slices.Equal(e.Outcome.Counted, counted) {
			t.Errorf("after %s counted %v, in history %v", show(x.process, e), at.Counted, e.Outcome.Counted)
		}
	}
	follow(x.Decide(s, noon))
	follow(x.Conclude(s, ran(t, 0, `{"n": 0, "text": "fed"}`), noon))
	expect(t, x, x.Decide(s, noon), `invokes iteration 2 attempt 1 run 0: {"n":0,"text":"fed","list":[],"inner":{"a":7,"b":""}}`)
	follow(x.Conclude(s, failed("no"), noon))
	come(t, x, s, s.Snapshot.Due)
	follow(x.Conclude(s, failed("no"), noon))
	retried, err := x.Command(s, behaviour.Retry{}, noon)
	if err != nil {
		t.Fatal(err)
	}
	follow(retried)
	end := x.Conclude(s, ran(t, 0, `{"n": 2}`), noon)
	if !end.Ends || !slices.Equal(end.Outcome.Counted, counted) {
		t.Errorf("it ends as %s, with %v", show(x.process, end), end.Outcome.Counted)
	}
}

// R35, R23: one that is cancelled ends once it is decided, so that what comes before it is still waited for
// by sink; where all around it is cancelled it ends at once.
func TestR35Cancelled(t *testing.T) {
	x := racing(t, 2)
	cancel := own(x, message.KindCancel, message.EncodeCancel(message.Cancel{Reason: "y cancels it"}))
	cancel.Source = "y"
	s := folded(t, x, cancel, came(from(t, x, "a", T, ""), 1))
	expect(t, x, x.Decide(s, noon), "waits")
	fold(t, x, s, came(from(t, x, "b", T, ""), 2))
	expect(t, x, x.Decide(s, noon), "cancelled, ends", "to y at H: FALSE")
}

// R35, L5: one that is in error because of a refused message is healed by what is said of that, also
// where others have come meanwhile that would have begun it.
func TestR35ARefusedMessageIsForgiven(t *testing.T) {
	x := racing(t, 1)
	bad := came(from(t, x, "a", T, ""), 1)
	s := folded(t, x)
	e, err := x.Command(s, behaviour.Refuse{Message: bad, Reason: "it is damaged"}, noon)
	if err != nil {
		t.Fatal(err)
	}
	kept(t, x, s, e)
	fold(t, x, s, came(from(t, x, "b", T, ""), 2))
	expect(t, x, x.Decide(s, noon), "waits")
	if e, err = x.Command(s, behaviour.Forgive{Message: bad}, noon); err != nil {
		t.Fatal(err)
	}
	kept(t, x, s, e)
	if e := x.Decide(s, noon); !slices.Equal(e.Outcome.Counted, []processtable.ActivityID{"b"}) {
		t.Errorf("it comes to %s", show(x.process, e))
	}
}

// R35: sink waits for what leads only to such an activity, and is no choice of it.
func TestR35SinkIsNoChoice(t *testing.T) {
	m := newModel(t, "a", "x", "y").control("a -> x: n > 1", "a -> y: otherwise", "a -> sink")
	a := m.activity("a")
	for output, want := range map[string][]string{
		`{"n": 2}`: {"to x at H: TRUE", "to y at H: FALSE", "to sink at O: TRUE"},
		`{"n": 1}`: {"to x at H: FALSE", "to y at H: TRUE", "to sink at O: TRUE"},
	} {
		s := folded(t, a)
		s.Origin = origin
		expect(t, a, a.Conclude(s, ran(t, 0, output), noon), append([]string{"terminated, ends"}, want...)...)
	}
}
