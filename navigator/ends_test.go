package navigator

import (
	"strings"
	"testing"
	"time"

	"fmqm/behaviour"
	"fmqm/condition"
	"fmqm/container"
	"fmqm/message"
	"fmqm/processtable"
)

// works makes the n-th mapping of a data connector one that works out text.
func (m *model) works(from, to processtable.ActivityID, n int, text string, words condition.Words) *model {
	m.t.Helper()
	m.table.Format = processtable.ModelFormat
	source := m.rows[from]
	scope := condition.Scope{Members: source.Output, RC: source.Kind != processtable.KindSource, Words: words}
	for i := range source.OutData {
		if source.OutData[i].To != to {
			continue
		}
		at := &source.OutData[i].Mappings[n] // the receiver has the same ones
		c, problems := condition.CheckExpr(text, scope, at.Type)
		if len(problems) > 0 {
			m.t.Fatalf("expression %q: %v", text, problems)
		}
		at.Expr, at.From, at.RC, at.Source = &c, nil, false, text
		at.OfWords = (c.ReadsRC || c.Reads != 0) && len(condition.ReadsOf(text, scope)) == 0
	}
	return m
}

// R26: what a mapping works out is sent as a value, and again so when the message is built once more.
func TestR26MappingsWorkOut(t *testing.T) {
	m := newModel(t, "a", "b").control("source -> a", "a -> b").data("a -> b: n = n, text = text")
	p := m.works("a", "b", 0, "(n * 2 + _RC)", 0).prepare()
	a := rowIn(p, "a", "")
	s := folded(t, a, from(t, a, processtable.Source, T, ""))
	e := a.Conclude(s, ran(t, 0, `{"n": 5, "text": "x"}`), noon)
	expect(t, a, e, "terminated, ends", `to b at H: TRUE data 10 "x"`)
	for _, sent := range e.Put {
		again, err := p.Again(behaviour.Spoken{
			Instance: instance, Source: "a", Target: "b", Node: here, Control: sent.Control, Data: sent.Data, Output: e.Outcome.Output,
		})
		if err != nil || string(again.Body) != string(sent.Body) {
			t.Errorf("built again it is %x, %v, and was %x", again.Body, err, sent.Body)
		}
	}
}

// R12, R26: one that fails puts the activity in error, and nothing of it is sent; R24: out of source it
// refuses the start.
func TestR26WhatFails(t *testing.T) {
	m := newModel(t, "a", "b").control("source -> a", "a -> b").data("a -> b: n = n, text = text")
	p := m.works("a", "b", 0, "(10 / n)", 0).prepare()
	a := rowIn(p, "a", "")
	s := folded(t, a, from(t, a, processtable.Source, T, ""))
	e := a.Conclude(s, ran(t, 0, `{"n": 0}`), noon)
	at := kept(t, a, s, e)
	if e.Ends || len(e.Put) != 2 || !strings.HasPrefix(at.Error, "mapping of (10 / n) onto n of b: evaluate expression \"(10 / n)\": division by zero") {
		t.Errorf("it is %s, in error with %q", show(p, e), at.Error)
	}
	m = newModel(t, "a").control("source -> a").data("source -> a: n = n")
	p = m.works(processtable.Source, "a", 0, "(10 / n)", condition.WordInstance).prepare()
	_, err := p.Start(behaviour.Start{Instance: instance, Input: value(t, `{"n": 0}`), Now: noon})
	contains(t, err, "start p@1: mapping of (10 / n) onto n of a: ")
}

// R26: where an activity has ended without an output, only what is worked out of words is.
func TestR26WordsOnlyWithoutAnOutput(t *testing.T) {
	m := newModel(t, "x", "y").control("source -> x", "x -> y").data("x -> y: n = n, text = text, inner.b = text, inner.a = n")
	x := m.rows["x"]
	x.Deadline, x.Continues = until(m, time.Hour), true
	words := x.Words()
	m.works("x", "y", 0, "(10 / n)", words).works("x", "y", 1, `(_ERROR + "!")`, words).works("x", "y", 2, `(text + _ERROR)`, words).works("x", "y", 3, "(5)", words)
	p := m.prepare()
	a := rowIn(p, "x", "")
	s := folded(t, a, from(t, a, processtable.Source, T, ""))
	kept(t, a, s, a.Decide(s, noon))
	e := a.Conclude(s, failed("no answer"), noon)
	expect(t, a, e, "terminated, ends", `to y at H: TRUE, failed words`)
	y := rowIn(p, "y", "")
	if in := container.Value(inputOf(t, y, folded(t, y, e.Put...))); !container.Equal(in, value(t, `{"text": "no answer!"}`)) {
		t.Errorf("the input of y is %v", in)
	}
}

func inputOf(t *testing.T, a *Activity, s *State) *container.Struct {
	t.Helper()
	in, err := a.InputOf(s)
	if err != nil {
		t.Fatal(err)
	}
	return in
}

// R27: elements are appended in the order of the table, whatever came first, behind what a mapping before
// them has set; and none to more than the limit.
func TestR27Appending(t *testing.T) {
	m := newModel(t, "a", "b", "c", "d").control("a -> d", "b -> d", "c -> d").
		data("a -> d: list = list", "b -> d: inner.a = n", "c -> d: inner.a = n")
	m.table.Format = processtable.ModelFormat
	for _, name := range []processtable.ActivityID{"b", "c"} {
		at := &m.rows[name].OutData[0].Mappings[0]
		at.To, at.Append, at.Target = container.Path{2}, true, "append(list)"
	}
	p := m.prepare()
	d := rowIn(p, "d", "")
	a, b, c := from(t, d, "a", T, `{"list": [1, 2]}`), from(t, d, "b", T, `{"n": 3}`), from(t, d, "c", T, `{"n": 4}`)
	for _, order := range [][]message.Message{{a, b, c}, {c, b, a}, {b, a, c}} {
		s := folded(t, d, order...)
		for range 2 { // it is built as often as it is asked for
			if in := inputOf(t, d, s); !container.Equal(in, value(t, `{"list": [1, 2, 3, 4]}`)) {
				t.Errorf("the input is %v", in)
			}
		}
	}
	full := value(t, "")
	full.Fields[2] = make([]container.Value, container.MaxList)
	for i := range full.Fields[2].([]container.Value) {
		full.Fields[2].([]container.Value)[i] = int64(0)
	}
	body, err := container.EncodeValues([]container.Value{full.Fields[2]})
	if err != nil {
		t.Fatal(err)
	}
	a.Body = body
	s := folded(t, d, a, b, c)
	if at := kept(t, d, s, d.Decide(s, noon)); !strings.Contains(at.Error, "append(list): the list has more than 100000 elements") {
		t.Errorf("a list over the limit: %+v", at)
	}
}

// R28: a start condition asks how predecessors ended, and the messages say it.
func TestR28StartConditionsAskHowActivitiesEnded(t *testing.T) {
	const Skipped, Failed, Caught = message.FalseSkipped, message.FalseFailed, message.TrueFailed
	for _, tc := range []struct {
		start string
		holds []message.Truth
	}{
		{"ran(a)", []message.Truth{F, T}},
		{"skipped(a)", []message.Truth{Skipped}},
		{"failed(a)", []message.Truth{Failed, Caught}},
		{"a", []message.Truth{T, Caught}},
		{"!a && failed(a)", []message.Truth{Failed}},
		{"ran(a) || skipped(a) || failed(a)", []message.Truth{F, T, Skipped, Failed, Caught}},
	} {
		m := newModel(t, "a", "b", "c").control("a -> c", "b -> c").start("c", "("+tc.start+") && (b || !b)")
		m.table.Format = processtable.ModelFormat
		c := rowIn(m.prepare(), "c", "")
		for _, truth := range []message.Truth{F, T, Skipped, Failed, Caught} {
			want := "skipped, ends"
			for _, h := range tc.holds {
				if h == truth {
					want = "invokes"
				}
			}
			s := folded(t, c, from(t, c, "a", truth, ""))
			expect(t, c, c.Decide(s, noon), "waits") // R2
			fold(t, c, s, from(t, c, "b", F, ""))
			if got := show(c.process, c.Decide(s, noon)); !strings.HasPrefix(got, want) {
				t.Errorf("%s with a %s: %s", tc.start, truth, got)
			}
		}
	}
}

// R28: what is on a dead path and what is cancelled say the same, and nothing says it in a process that
// does not ask.
func TestR28WhatDoesNotRunSaysSo(t *testing.T) {
	for format, want := range map[int]string{processtable.ModelFormat: "to y at H: FALSE, skipped", processtable.BlockFormat: "to y at H: FALSE"} {
		m := newModel(t, "a", "b", "x", "y").control("a -> x", "b -> x", "x -> y")
		m.table.Format = format
		m.rows["x"].CancelledBy = []processtable.ActivityID{"b"}
		m.rows["b"].Cancels = []processtable.Place{{Activity: "x", Node: here}}
		x := rowIn(m.prepare(), "x", "")
		s := folded(t, x, from(t, x, "a", F, ""), from(t, x, "b", T, ""))
		expect(t, x, x.Decide(s, noon), "skipped, ends", want)
		cancel := own(x, message.KindCancel, message.EncodeCancel(message.Cancel{Reason: "b has ended"}))
		cancel.Source = "b"
		s = folded(t, x, from(t, x, "a", T, ""), from(t, x, "b", T, ""), cancel)
		if got := show(x.process, x.Decide(s, noon)); !strings.HasSuffix(strings.TrimSpace(got), want) {
			t.Errorf("cancelled: %s", got)
		}
	}
}

// R28: what contradicts itself, or what the table does not let a message say, is refused.
func TestR28WhatContradictsIsRefused(t *testing.T) {
	for _, tc := range []struct {
		format  int
		control message.Truth
		data    message.Data
		want    string
	}{
		{processtable.BlockFormat, message.FalseSkipped, message.DataAbsent, "which the table does not allow"},
		{processtable.ModelFormat, message.FalseSkipped, message.DataPresent, "did not run, and brings data of it"},
		{processtable.ModelFormat, message.FalseSkipped, message.DataWords, "did not run, and brings data of it"},
		{processtable.ModelFormat, message.TrueFailed, message.DataPresent, "has failed, and not what is left then"},
		{processtable.ModelFormat, message.FalseFailed, message.DataAbsent, "has failed, and not what is left then"},
		{processtable.ModelFormat, message.FalseSkipped, message.DataAbsent, ""},
	} {
		m := newModel(t, "a", "b").control("a -> b").data("a -> b: n = n")
		m.table.Format = tc.format
		b := rowIn(m.prepare(), "b", "")
		message := from(t, b, "a", T, "")
		message.Control, message.Data = tc.control, tc.data
		s := b.Empty(message.Entry()).(*State)
		err := b.Fold(s, message)
		if tc.want == "" && err == nil {
			continue
		}
		contains(t, err, tc.want)
		if len(s.Keys) > 0 {
			t.Errorf("%v: it changes the entry", err)
		}
	}
}
