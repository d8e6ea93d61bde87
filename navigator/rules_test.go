package navigator

import (
	"testing"

	"fmqm/container"
	"fmqm/message"
	"fmqm/processtable"
)

const (
	T = message.True
	F = message.False
	// skippedSource: what from makes of a source on a dead path.
	skippedSource = message.Unresolved
)

// R2: an activity is decided once all its incoming connectors, control and data, are
// resolved; until then nothing happens.
func TestR2DecidedWhenAllConnectorsAreResolved(t *testing.T) {
	m := newModel(t, "a", "b", "x").control("a -> x", "b -> x").data("source -> x: n = n", "b -> x: text = text").start("x", "a || b")
	x := m.activity("x")
	messages := []message.Message{
		from(t, x, "a", T, `{}`), from(t, x, "b", F, `{"text": "hello"}`), from(t, x, processtable.Source, T, `{"n": 4}`),
	}
	waiting := [][]processtable.ActivityID{{"b", "source"}, {"source"}, nil}
	s := folded(t, x)
	if got := s.Unresolved(x); len(got) != 3 || s.Waiting(x) != 4 {
		t.Errorf("at first it waits for %v, %d connectors", got, s.Waiting(x))
	}
	for i, m := range messages {
		expect(t, x, x.Decide(s, noon), "waits") // start: any does not start at the first
		fold(t, x, s, m)
		if got := s.Unresolved(x); len(got) != len(waiting[i]) || len(got) > 0 && got[0] != waiting[i][0] {
			t.Errorf("after %s it waits for %v, want %v", m.Source, got, waiting[i])
		}
	}
	expect(t, x, x.Decide(s, noon),
		`invokes iteration 1 attempt 1 run 0: {"n":4,"text":"hello","list":[],"inner":{"a":7,"b":""}}`)
}

// R3: start condition FALSE: FALSE on every control connector, "no data" on every data
// connector. R4: TRUE: the program is invoked.
func TestR3AndR4StartCondition(t *testing.T) {
	invoked := `invokes iteration 1 attempt 1 run 0: {"n":0,"text":"none","list":[],"inner":{"a":7,"b":""}}`
	skipped := []string{"skipped, ends", "to y at H: FALSE no data", "to z at N: FALSE", "to sink at O: no data"}
	for _, tc := range []struct {
		start   string
		a, b, c message.Truth
		want    []string
	}{
		{"", T, T, T, []string{invoked}},
		{"", T, F, T, skipped},
		{"a || b || c", F, F, T, []string{invoked}},
		{"a || b || c", F, F, F, skipped},
		{"(a && b) || c", T, F, F, skipped},
		{"(a && b) || c", T, T, F, []string{invoked}},
		{"!a", F, F, F, []string{invoked}},
		{"!a", T, T, T, skipped},
	} {
		m := newModel(t, "a", "b", "c", "x", "y", "z").at("N", "z").
			control("a -> x", "b -> x", "c -> x", "x -> y: n > 0", "x -> z").data("x -> y: n = n", "x -> sink: text = text")
		if tc.start != "" {
			m.start("x", tc.start)
		}
		x := m.activity("x")
		s := folded(t, x, from(t, x, "a", tc.a, ""), from(t, x, "b", tc.b, ""), from(t, x, "c", tc.c, ""))
		expect(t, x, x.Decide(s, noon), tc.want...)
	}
}

// R5: defaults, then the mappings of each source that ran, in file order, leaf by leaf.
func TestR5InputContainer(t *testing.T) {
	for _, tc := range []struct {
		name string
		data []string
		a, b message.Truth
		want string
	}{
		{"no source ran: defaults", []string{"a -> x: n = n", "b -> x: n = n"}, skippedSource, skippedSource, `{"n":0,"text":"none","list":[],"inner":{"a":7,"b":""}}`},
		{"the one listed last wins", []string{"a -> x: n = n", "b -> x: n = n"}, T, T, `{"n":2,"text":"none","list":[],"inner":{"a":7,"b":""}}`},
		{"of those that ran", []string{"a -> x: n = n", "b -> x: n = n"}, T, skippedSource, `{"n":1,"text":"none","list":[],"inner":{"a":7,"b":""}}`},
		{"the order is the file's", []string{"b -> x: n = n", "a -> x: n = n"}, T, T, `{"n":1,"text":"none","list":[],"inner":{"a":7,"b":""}}`},
		{"a FALSE connector's source ran too", []string{"a -> x: n = n"}, F, F, `{"n":1,"text":"none","list":[],"inner":{"a":7,"b":""}}`},
		{"a structure assigns its leaves", []string{"a -> x: inner = inner", "b -> x: inner.b = text"}, T, T, `{"n":0,"text":"none","list":[],"inner":{"a":10,"b":"bee"}}`},
		{"a leaf, then its structure", []string{"b -> x: inner.b = text", "a -> x: inner = inner"}, T, T, `{"n":0,"text":"none","list":[],"inner":{"a":10,"b":"ay"}}`},
		{"a list is one leaf", []string{"a -> x: list = list", "b -> x: list = list"}, T, T, `{"n":0,"text":"none","list":[3],"inner":{"a":7,"b":""}}`},
		{"_RC is an int", []string{"a -> x: n = _RC, inner.a = n"}, T, T, `{"n":3,"text":"none","list":[],"inner":{"a":1,"b":""}}`},
		{"one member into several", []string{"a -> x: n = n, inner.a = n"}, T, T, `{"n":1,"text":"none","list":[],"inner":{"a":1,"b":""}}`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			x := newModel(t, "a", "b", "x").control("a -> x", "b -> x").data(tc.data...).start("x", "true").activity("x")
			s := folded(t, x,
				from(t, x, "b", tc.b, `{"n": 2, "text": "bee", "list": [3]}`),
				from(t, x, "a", tc.a, `{"n": 1, "list": [1, 2], "inner": {"a": 10, "b": "ay"}}`))
			expect(t, x, x.Decide(s, noon), "invokes iteration 1 attempt 1 run 0: "+tc.want)
		})
	}
}

// R5: what a program does to its input changes nothing of the entry.
func TestR5InputIsTheProgramsOwn(t *testing.T) {
	x := newModel(t, "a", "x").control("a -> x").data("a -> x: list = list").activity("x")
	s := folded(t, x, from(t, x, "a", T, `{"list": [1, 2]}`))
	first := x.Decide(s, noon).Invoke.Input
	first.Fields[2].([]container.Value)[0] = int64(99)
	expect(t, x, x.Decide(s, noon), `invokes iteration 1 attempt 1 run 0: {"n":0,"text":"none","list":[1,2],"inner":{"a":7,"b":""}}`)
}

// R6: exit condition FALSE runs the program again with this iteration's input and the
// feedback applied. R7: TRUE ends it.
func TestR6AndR7ExitCondition(t *testing.T) {
	m := newModel(t, "a", "x", "y").control("a -> x", "x -> y").data("a -> x: n = n, text = text", "x -> x: n = n, inner.a = _RC", "x -> y: n = n")
	x := m.exit("x", "n >= 3").set("x", func(row *processtable.Activity) { row.RCIsData = true }).activity("x")
	s := folded(t, x, from(t, x, "a", T, `{"n": 1, "text": "kept"}`))
	expect(t, x, x.Decide(s, noon), `invokes iteration 1 attempt 1 run 0: {"n":1,"text":"kept","list":[],"inner":{"a":7,"b":""}}`)

	e := x.Conclude(s, ran(t, 0, `{"n": 2, "text": "not fed back"}`), noon)
	expect(t, x, e, "iterated", "to x at H: snapshot")
	kept(t, x, s, e)
	expect(t, x, x.Decide(s, noon), `invokes iteration 2 attempt 1 run 0: {"n":2,"text":"kept","list":[],"inner":{"a":0,"b":""}}`)

	expect(t, x, x.Conclude(s, ran(t, 8, `{"n": 3}`), noon), "terminated, ends", "to y at H: TRUE data 3")
}

// R7, R8: transition conditions over the output container and _RC; otherwise is TRUE
// if every other one is FALSE.
func TestR7AndR8TransitionConditions(t *testing.T) {
	for _, tc := range []struct {
		name       string
		connectors []string
		rc         int64
		want       []string
	}{
		{"conditions", []string{"x -> y: n > 1", "x -> z: n > 2"}, 0, []string{"TRUE", "FALSE"}},
		{"return code", []string{"x -> y: _RC == 4", "x -> z: _RC == 0"}, 4, []string{"TRUE", "FALSE"}},
		{"otherwise beside FALSE ones", []string{"x -> y: n > 2", "x -> z: otherwise"}, 0, []string{"FALSE", "TRUE"}},
		{"otherwise beside a TRUE one", []string{"x -> y: n > 1", "x -> z: otherwise"}, 0, []string{"TRUE", "FALSE"}},
		{"otherwise need not be last", []string{"x -> y: otherwise", "x -> z: n > 1"}, 0, []string{"FALSE", "TRUE"}},
		{"otherwise beside an unconditional one", []string{"x -> y: otherwise", "x -> z"}, 0, []string{"FALSE", "TRUE"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m := newModel(t, "a", "x", "y", "z").control("a -> x").control(tc.connectors...)
			x := m.set("x", func(row *processtable.Activity) { row.RCIsData = true }).activity("x")
			s := folded(t, x, from(t, x, "a", T, ""))
			expect(t, x, x.Conclude(s, ran(t, tc.rc, `{"n": 2}`), noon),
				"terminated, ends", "to y at H: "+tc.want[0], "to z at H: "+tc.want[1])
			s = folded(t, x, from(t, x, "a", F, ""))
			expect(t, x, x.Decide(s, noon), "skipped, ends", "to y at H: FALSE", "to z at H: FALSE") // R8
		})
	}
}

// R9: what one termination sends to one target travels as one message, with a header
// that says all of it.
func TestR9OneMessageForEachTarget(t *testing.T) {
	m := newModel(t, "a", "x", "y", "z").at("N", "y").control("a -> x", "x -> y", "x -> z").data("x -> z: n = n, text = text", "x -> sink: n = n", "x -> y: list = list")
	x := m.activity("x")
	s := folded(t, x, from(t, x, "a", T, ""))
	e := x.Conclude(s, ran(t, 0, `{"n": 2, "text": "t", "list": [4]}`), noon)
	expect(t, x, e, "terminated, ends", "to y at N: TRUE data [4]", `to z at H: TRUE data 2 "t"`, "to sink at O: data 2")
	want := message.Header{
		Queue:      message.Queue{Process: x.process.table.Process, Node: "N"},
		Definition: x.process.Definition(), Instance: instance, Origin: origin, Activity: "y", Source: "x",
		Kind: message.KindConnector, Control: message.True, Data: message.DataPresent, Clock: 6, Trace: "00-trace",
	}
	if e.Put[0].Header != want {
		t.Errorf("header %+v\nwant %+v", e.Put[0].Header, want)
	}
	if e.Outcome.Clock != 6 || e.Outcome.Iteration != 1 || e.Outcome.Attempt != 1 || !e.Outcome.Started.Equal(noon) {
		t.Errorf("outcome %+v", e.Outcome)
	}
	if _, err := message.Encode(e.Put[0]); err != nil {
		t.Error(err)
	}
}

// R14: an empty activity echoes the members of the same name and type, with _RC 0.
func TestR14EmptyActivity(t *testing.T) {
	m := newModel(t, "a", "x", "y", "z").empty("x").control("a -> x", "x -> y: n == 2", "x -> z: _RC == 0").data("a -> x: n = n, list = list", "x -> z: n = n, list = list, text = text")
	x := m.activity("x")
	s := folded(t, x, from(t, x, "a", T, `{"n": 2, "list": [1]}`))
	expect(t, x, x.Decide(s, noon), "terminated, ends", "to y at H: TRUE", `to z at H: TRUE data 2 [1] "none"`)

	s = folded(t, x, from(t, x, "a", F, `{"n": 2}`))
	expect(t, x, x.Decide(s, noon), "skipped, ends", "to y at H: FALSE", "to z at H: FALSE no data")
}

// R15: sink runs whatever the outcome of its connectors, once the record is there; its
// input is the instance's output.
func TestR15Sink(t *testing.T) {
	for _, tc := range []struct {
		name string
		a, b message.Truth
		want string
	}{
		{"all ran", T, T, `{"n":1,"text":"bee","list":[],"inner":{"a":7,"b":""}}`},
		{"one was skipped", T, skippedSource, `{"n":1,"text":"none","list":[],"inner":{"a":7,"b":""}}`},
		{"all were skipped", skippedSource, skippedSource, `{"n":0,"text":"none","list":[],"inner":{"a":7,"b":""}}`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			sink := newModel(t, "a", "b").control("a -> sink", "b -> sink").data("a -> sink: n = n", "b -> sink: text = text").activity(processtable.Sink)
			record := own(sink, message.KindRecord, message.EncodeRecord(message.Record{Process: sink.process.table.Process, Started: noon}))
			s := folded(t, sink, from(t, sink, "a", tc.a, `{"n": 1}`), record)
			expect(t, sink, sink.Decide(s, noon), "waits")
			fold(t, sink, s, own(sink, message.KindNotice, message.EncodeNotice(message.Notice{Error: "e"})), from(t, sink, "b", tc.b, `{"text": "bee"}`))
			e := sink.Decide(s, noon)
			expect(t, sink, e, "terminated, ends")
			if got := jsonOf(t, e.Outcome.Output); got != tc.want || !e.Outcome.Started.Equal(noon) {
				t.Errorf("output %s, started %v", got, e.Outcome.Started)
			}
			if len(s.Keys) != 4 {
				t.Errorf("ending removes %v: want both connectors, the record and the notice", s.Keys)
			}
		})
	}
}

func TestR15SinkWaitsForItsRecord(t *testing.T) {
	sink := newModel(t, "a").control("a -> sink").activity(processtable.Sink)
	expect(t, sink, sink.Decide(folded(t, sink, from(t, sink, "a", T, "")), noon), "waits")
}

// R16: a terminated instance's entries end as stopped and send nothing, whatever they
// were about to do.
func TestR16Stopped(t *testing.T) {
	x := newModel(t, "a", "b", "x", "y").control("a -> x", "b -> x", "x -> y").activity("x")
	marker := own(x, message.KindMarker, message.EncodeMarker(message.Marker{Time: noon}))
	all := []message.Message{from(t, x, "a", T, ""), from(t, x, "b", T, "")}
	for n := range 3 {
		s := folded(t, x, all[:n]...)
		fold(t, x, s, marker)
		if s.Empty() {
			t.Error("a stopped entry has something to say")
		}
		expect(t, x, x.Decide(s, noon), "stopped, ends")
		expect(t, x, x.Conclude(s, ran(t, 0, ""), noon), "stopped, ends")
		expect(t, x, x.Conclude(s, failed("no such file"), noon), "stopped, ends")
		if len(s.Keys) != n {
			t.Errorf("%d messages, and %v are removed: the marker is the instance's", n, s.Keys)
		}
	}
}
