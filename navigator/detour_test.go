package navigator

import (
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"fmqm/behaviour"
	"fmqm/message"
	"fmqm/processtable"
)

// passing is a -> x -> y, z with data from d to x, where x dies with a's connector.
func passing(t testing.TB) *model {
	return newModel(t, "a", "d", "x", "y", "z").at("N", "y").
		control("a -> x: n > 1", "x -> y: n > 1", "x -> z: otherwise").
		data("a -> x: n = n", "d -> x: text = text", "x -> z: n = n", "x -> sink: n = n")
}

// record is m as the host gets it of a node that has passed it around.
func record(m message.Message) message.Message {
	m.OnBehalf, m.Onward = here, true
	return m
}

// R18: the only control connector is FALSE: what leads out is resolved at once, data or
// not, and the message says so from then on; when the data have come the entry ends as
// skipped and sends nothing.
func TestR18ADeadActivityDoesNotWaitForData(t *testing.T) {
	x := passing(t).activity("x")
	s := folded(t, x, from(t, x, "a", F, `{"n": 1}`))
	e := x.Decide(s, noon)
	expect(t, x, e, "passed", "to y at N: FALSE", "to z at H: FALSE no data", "to sink at O: no data", "to x at H: FALSE data 1")
	own := e.Put[3]
	if own.Source != "a" || own.OnBehalf != here || !own.Onward {
		t.Errorf("its record is %+v", own.Header)
	}
	if _, err := message.Encode(own); err != nil {
		t.Error(err)
	}
	if s.passed {
		t.Error("it has passed before the record is folded")
	}
	fold(t, x, s, own)
	if len(s.Keys) != 1 || !s.passed {
		t.Errorf("keys %v, passed %v", s.Keys, s.passed)
	}
	expect(t, x, x.Decide(s, noon), "waits")
	fold(t, x, s, from(t, x, "d", T, `{"text": "late"}`))
	expect(t, x, x.Decide(s, noon), "skipped, ends")
	if len(s.Keys) != 2 {
		t.Errorf("its end removes %v", s.Keys)
	}
}

// R18: the host's record may come before the other messages or after them: nothing but
// the end follows from it.
func TestR18TheRecordInAnyOrder(t *testing.T) {
	x := passing(t).activity("x")
	false1, data := record(from(t, x, "a", F, "")), from(t, x, "d", T, "")
	expect(t, x, x.Decide(folded(t, x, false1), noon), "waits")
	expect(t, x, x.Decide(folded(t, x, data), noon), "waits")
	expect(t, x, x.Decide(folded(t, x, false1, data), noon), "skipped, ends")
	expect(t, x, x.Decide(folded(t, x, data, false1), noon), "skipped, ends")
	expect(t, x, x.Decide(folded(t, x, data, from(t, x, "a", F, "")), noon),
		"skipped, ends", "to y at N: FALSE", "to z at H: FALSE no data", "to sink at O: no data") // all is there: R3
}

// R18 is about one control connector that is FALSE, and a start condition that is then
// FALSE too: otherwise R2 holds.
func TestR18OnlyWhereOneConnectorDecides(t *testing.T) {
	for _, tc := range []struct {
		name    string
		control []string
		start   string
		truth   message.Truth
	}{
		{"it is TRUE", []string{"a -> x"}, "", T},
		{"there is another", []string{"a -> x", "b -> x"}, "", F},
		{"it starts on FALSE", []string{"a -> x"}, "!a", F},
		{"it always starts", []string{"a -> x"}, "true", F},
		{"it comes from source", []string{"source -> x"}, "", F},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m := newModel(t, "a", "b", "d", "x", "y").control(tc.control...).control("x -> y").data("d -> x: n = n")
			if tc.start != "" {
				m.start("x", tc.start)
			}
			x := m.activity("x")
			source := x.InControl[0].From
			expect(t, x, x.Decide(folded(t, x, from(t, x, source, tc.truth, "")), noon), "waits")

			bad := from(t, x, source, tc.truth, "")
			bad.OnBehalf, bad.Onward = here, true
			s := &State{}
			contains(t, x.Fold(s, bad), "says that x was skipped on behalf of H, which the table does not allow")
			if !s.Empty() {
				t.Error("a refused message changes the state")
			}
		})
	}
	x := passing(t).activity("x")
	elsewhere := record(from(t, x, "a", F, ""))
	elsewhere.OnBehalf = "N"
	contains(t, x.Fold(&State{}, elsewhere), "on behalf of N, which the table does not allow")
}

// R18, R16, N4: what an operator has ended sends nothing; what is in error waits for him,
// and cannot be given an output: what leads out of it is FALSE.
func TestR18StoppedOrInError(t *testing.T) {
	x := passing(t).activity("x")
	marker := own(x, message.KindMarker, message.EncodeMarker(message.Marker{Time: noon}))
	for _, m := range []message.Message{from(t, x, "a", F, ""), record(from(t, x, "a", F, ""))} {
		s := folded(t, x, m)
		fold(t, x, s, marker)
		expect(t, x, x.Decide(s, noon), "stopped, ends")

		s = folded(t, x, m)
		e := x.Refused(s, from(t, x, "d", T, ""), "no good", noon)
		kept(t, x, s, e)
		expect(t, x, x.Decide(s, noon), "waits")
		_, err := x.Resume(s, behaviour.Retry{Output: value(t, `{"n": 5}`)}, noon)
		contains(t, err, "retry x: it is on a dead path and does not run: retry it without an output")
		e, err = x.Resume(s, behaviour.Retry{}, noon)
		if err != nil {
			t.Fatal(err)
		}
		kept(t, x, s, e)
		fold(t, x, s, from(t, x, "d", T, ""))
		if e := x.Decide(s, noon); !e.Ends || e.Outcome.What != behaviour.Skipped {
			t.Errorf("after the retry: %s", show(x.process, e))
		}
	}
}

// R18: who resolves the connector into a dead activity elsewhere resolves those out of
// it, with the clock that its host would have given them, and so on.
func TestR18PassAround(t *testing.T) {
	m := newModel(t, "p", "x", "y", "z").at("N", "x", "z").control("p -> x: n > 1", "x -> y", "x -> z").data("p -> x: n = n", "x -> y: n = n", "x -> sink: text = text")
	m.table.Detours = []processtable.Detour{
		{Activity: "x", OutControl: []processtable.ActivityID{"y", "z"}, OutData: []processtable.ActivityID{"y", processtable.Sink}},
		{Activity: "z", OutControl: []processtable.ActivityID{processtable.Sink}},
	}
	m.table.Roster = []processtable.Place{{Activity: "p", Node: here}, {Activity: "x", Node: "N"}, {Activity: "y", Node: here}, {Activity: "z", Node: "N"}}
	p := m.prepare()
	s := folded(t, p.activities.Get(processtable.RowID{Name: "p"}))
	s.Origin, s.Clock, s.Trace, s.Entry.Scope = origin, 7, "00-trace", "block/2"
	toX := p.activities.Get(processtable.RowID{Name: "p"}).Conclude(s, ran(t, 0, `{"n": 1}`), noon).Put[0]

	sent, e, ok := p.PassAround(toX)
	want := toX
	want.OnBehalf, want.Onward = "N", true
	if d := cmp.Diff(want, sent); !ok || d != "" {
		t.Fatalf("ok %v; the record: %s", ok, d)
	}
	expect(t, p.activities.Get(processtable.RowID{Name: "x"}), e, "passed", "to y at H: FALSE no data", "to z at N: FALSE", "to sink at O: no data")
	for _, m := range e.Put {
		h := m.Header
		if h.Source != "x" || h.Clock != 9 || h.Origin != origin || h.Trace != "00-trace" || h.Scope != "block/2" || h.Instance != instance || h.OnBehalf != "" || h.Onward {
			t.Errorf("header %+v", h)
		}
	}
	if e.Outcome.Clock != 9 || e.Ends {
		t.Errorf("outcome %+v", e.Outcome)
	}
	if _, _, again := p.PassAround(sent); again {
		t.Error("what was passed around is passed around again")
	}
	_, e, ok = p.PassAround(e.Put[1]) // z
	if !ok {
		t.Fatal("the chain ends at z")
	}
	expect(t, p.activities.Get(processtable.RowID{Name: "z"}), e, "passed", "to sink at O: FALSE")
}

// R18: only a connector that is FALSE, of an activity that the table names.
func TestR18WhatIsNotPassedAround(t *testing.T) {
	m := newModel(t, "p", "x", "y").at("N", "x").control("p -> x", "x -> y").data("p -> y: n = n")
	m.table.Detours = []processtable.Detour{{Activity: "x", OutControl: []processtable.ActivityID{"y"}}}
	m.table.Roster = []processtable.Place{{Activity: "p", Node: here}, {Activity: "x", Node: "N"}, {Activity: "y", Node: here}}
	p := m.prepare()
	good := from(t, p.activities.Get(processtable.RowID{Name: "x"}), "p", F, "")
	good.Queue.Node = "N"
	for name, change := range map[string]func(m *message.Message){
		"TRUE":          func(m *message.Message) { m.Control = T },
		"data only":     func(m *message.Message) { m.Control, m.Data = message.Unresolved, message.DataAbsent },
		"another one":   func(m *message.Message) { m.Activity = "y" },
		"a notice":      func(m *message.Message) { m.Kind = message.KindNotice },
		"passed before": func(m *message.Message) { *m = record(*m) },
	} {
		bad := good
		change(&bad)
		if got, e, ok := p.PassAround(bad); ok || !cmp.Equal(got, bad) || len(e.Put) > 0 {
			t.Errorf("%s is passed around", name)
		}
	}
	if _, _, ok := p.PassAround(good); !ok {
		t.Error("nothing is passed around")
	}
}

// R1, R18: the set of messages decides, whatever their order, and whether the record
// replaced the message that came without it or came alone. What leads out is resolved
// exactly once over all decisions (invariant 4).
func TestR18IsAFunctionOfTheSet(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		m := passing(t)
		for _, d := range []processtable.ActivityID{"d2", "d3"}[:rapid.IntRange(0, 2).Draw(rt, "more data")] {
			m.add(d, processtable.KindProgram)
			m.data(string(d) + " -> x: n = n")
		}
		x := m.activity("x")
		var all []message.Message
		for i, d := range x.InData {
			if d.From != "a" {
				all = append(all, from(t, x, d.From, rapid.SampledFrom([]message.Truth{T, skippedSource}).Draw(rt, "data"), ""))
				all[len(all)-1].Clock = uint64(10 + i)
			}
		}
		plain := from(t, x, "a", F, "")
		passed := rapid.Bool().Draw(rt, "passed by another node")
		if passed {
			plain = record(plain)
		}
		all = append(all, plain)
		s := &State{Basis: behaviour.Basis{Entry: message.Entry{Instance: instance, Activity: "x"}}}
		sent, ends := 0, 0
		for i, m := range rapid.Permutation(all).Draw(rt, "order") {
			fold(t, x, s, m)
			e := x.Decide(s, noon)
			for _, p := range e.Put {
				if p.Source == "x" {
					sent++
				} else {
					fold(t, x, s, p) // its record, from the queue
					if rapid.Bool().Draw(rt, "an old copy comes after it") {
						fold(t, x, s, plain)
					}
				}
			}
			if e.Ends {
				ends++
				if i != len(all)-1 {
					rt.Fatalf("it ends after %d of %d messages", i+1, len(all))
				}
			}
		}
		want := len(x.targets)
		if passed {
			want = 0
		}
		if sent != want || ends != 1 {
			rt.Fatalf("%d messages sent, want %d; it ended %d times", sent, want, ends)
		}
		again := folded(t, x, slices.Concat([]message.Message{record(plain)}, all)...)
		if e := x.Decide(again, noon); !e.Ends || len(e.Put) > 0 {
			rt.Fatalf("read anew, with its record: %s", show(x.process, e))
		}
	})
}

// A message that says TRUE where the record says FALSE is another's mistake: the first
// one counts, and the activity is not dead because of the second.
func TestR18ARepeatThatContradicts(t *testing.T) {
	x := passing(t).activity("x")
	s := folded(t, x, from(t, x, "a", T, `{"n": 2}`), record(from(t, x, "a", F, "")))
	if s.passed {
		t.Error("a repeat with other content makes it dead")
	}
	fold(t, x, s, from(t, x, "d", skippedSource, ""))
	expect(t, x, x.Decide(s, noon), `invokes iteration 1 attempt 1 run 0: {"n":2,"text":"none","list":[],"inner":{"a":7,"b":""}}`)
	var refusal *behaviour.Refusal
	if errors.As(x.Fold(s, record(from(t, x, "a", T, ""))), &refusal); refusal == nil {
		t.Error("TRUE on behalf is taken")
	}
}
