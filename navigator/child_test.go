package navigator

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fmqm/behaviour"
	"fmqm/container"
	"fmqm/message"
	"fmqm/processtable"
)

var line = processtable.ProcessID{Name: "line", Version: 4}

// parenting is a process with an activity that begins an instance of line, and one behind it.
func parenting(t testing.TB, change func(*model)) (*Process, *Activity) {
	m := newModel(t, "c", "y").control("source -> c", "c -> y").data("source -> c: n = n", "c -> y: n = n")
	m.table.Format = processtable.ModelFormat
	m.set("c", func(row *processtable.Activity) {
		row.Kind, row.Program, row.Child = processtable.KindProcess, "", &processtable.Child{Name: line.Name}
	})
	if change != nil {
		change(m)
	}
	p := m.prepare()
	return p, p.activities.Get(processtable.RowID{Name: "c"})
}

// childOf is the one that an attempt begins.
func childOf(c *Activity, iteration, run, attempt int) message.Child {
	p := message.Parent{
		Process: c.process.table.Process, Node: here, Instance: instance, Activity: c.Name, Iteration: iteration, Run: run, Attempt: attempt,
	}
	return message.Child{Instance: p.Child(line, 1), Process: line}
}

// found is what an invocation has found that can begin.
func found(child message.Child) behaviour.Result {
	return behaviour.Result{Child: child, Started: noon, Ended: noon}
}

// begunWith is an entry of c that has begun a child.
func begunWith(t testing.TB, c *Activity, child message.Child) *State {
	t.Helper()
	s := folded(t, c, from(t, c, processtable.Source, T, `{"n": 2}`))
	kept(t, c, s, c.Conclude(s, found(child), noon))
	return s
}

// back is a return of a child.
func back(t testing.TB, c *Activity, child message.Child, output, reason string) message.Message {
	t.Helper()
	p := message.Parent{Process: c.process.table.Process, Node: here, Instance: instance, Activity: c.Name}
	r := message.Return{Error: reason}
	if reason == "" {
		var err error
		if r.Output, err = container.EncodeCBOR(value(t, output)); err != nil {
			t.Fatal(err)
		}
	}
	m := p.Back(child, r)
	m.Clock = 9
	return m
}

const two = `{"n":2,"text":"none","list":[],"inner":{"a":7,"b":""}}`

// R29: the whole way of a subprocess: the invocation, the begin, the return, the end.
func TestR29ASubprocess(t *testing.T) {
	_, c := parenting(t, nil)
	s := folded(t, c, from(t, c, processtable.Source, T, `{"n": 2}`))
	e := c.Decide(s, noon)
	expect(t, c, e, `invokes iteration 1 attempt 1 run 0: `+two)
	if e.Invoke.Program != behaviour.Subprocess || *e.Invoke.Child != (processtable.Child{Name: "line"}) {
		t.Errorf("it invokes %+v", e.Invoke)
	}
	child := childOf(c, 1, 0, 1)
	e = c.Conclude(s, found(child), noon)
	expect(t, c, e, "begun", "to c at H: snapshot", "starts line@4 at H: "+two)
	start := e.Put[1]
	if _, err := message.Encode(start); err != nil || start.Instance != child.Instance || start.Clock != 6 || e.Outcome.Child != child {
		t.Errorf("%v: %+v, %+v", err, start, e.Outcome)
	}
	body, err := message.DecodeStart(start.Body)
	if err != nil || body.Parent.Child(line, 1) != child.Instance {
		t.Errorf("%v: the parent is %+v", err, body.Parent)
	}
	at := kept(t, c, s, e)
	if !at.Begun || at.Child != child {
		t.Errorf("its snapshot is %+v", at)
	}
	expect(t, c, c.Decide(s, noon), "waits")
	if v := c.View(s, noon); v.Progress != behaviour.Begun || v.Child != child {
		t.Errorf("it shows %+v", v)
	}
	fold(t, c, s, back(t, c, child, `{"n": 5}`, ""))
	e = c.Decide(s, noon)
	expect(t, c, e, "terminated, ends", "to y at H: TRUE data 5")
	if len(s.Keys) != 3 || e.Outcome.Child != child || e.Outcome.RC != 0 {
		t.Errorf("it ends with %+v, of %v", e.Outcome, s.Keys)
	}
}

// R1, R29: whatever the order in which snapshot and return come, and if one comes twice.
func TestR29AReturnThatComesFirst(t *testing.T) {
	_, c := parenting(t, nil)
	child := childOf(c, 1, 0, 1)
	s := folded(t, c, from(t, c, processtable.Source, T, `{"n": 2}`))
	e := c.Conclude(s, found(child), noon)
	ret := back(t, c, child, `{"n": 5}`, "")
	early := folded(t, c, ret, ret, from(t, c, processtable.Source, T, `{"n": 2}`))
	kept(t, c, early, e)
	expect(t, c, c.Decide(early, noon), "terminated, ends", "to y at H: TRUE data 5")
}

// R29: a return of another child than is under way is none.
func TestR29AReturnOfAnotherChild(t *testing.T) {
	_, c := parenting(t, nil)
	s := begunWith(t, c, childOf(c, 1, 0, 2))
	fold(t, c, s, back(t, c, childOf(c, 1, 0, 1), `{"n": 5}`, ""))
	expect(t, c, c.Decide(s, noon), "waits")
	for what, m := range map[string]func(*message.Message){
		"of an iteration": func(m *message.Message) { m.Number, m.SourceScope = 0, "c#1" },
		"of no sink":      func(m *message.Message) { m.Source = "y" },
	} {
		other := back(t, c, childOf(c, 1, 0, 2), "", "")
		m(&other)
		if err := c.Fold(s, other); err == nil || !strings.Contains(err.Error(), "c has begun an instance of line, and nothing else returns to it") {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// R29, R11: a child that has ended otherwise is a failed attempt; the next one begins another.
func TestR29AChildThatWasTerminated(t *testing.T) {
	_, c := parenting(t, func(m *model) {
		m.set("c", func(row *processtable.Activity) {
			row.Retry = processtable.Retry{Attempts: 2, Backoff: processtable.Backoff{After: time.Minute, Max: time.Minute}}
		})
	})
	child := childOf(c, 1, 0, 1)
	s := begunWith(t, c, child)
	fold(t, c, s, back(t, c, child, "", "terminated by alice at B"))
	e := c.Decide(s, noon)
	expect(t, c, e, "failed", "timer after 1m0s", "to c at H: snapshot")
	if len(e.Takes) != 1 || !strings.HasSuffix(e.Outcome.Reason, " of line@4: terminated by alice at B") {
		t.Errorf("it takes %v, for %q", e.Takes, e.Outcome.Reason)
	}
	kept(t, c, s, e)
	fold(t, c, s, back(t, c, child, `{"n": 5}`, "")) // late, and of none that is under way
	comeTime(t, c, s, "", noon.Add(time.Minute))
	expect(t, c, c.Decide(s, noon), `invokes iteration 1 attempt 2 run 0: `+two)
	next := childOf(c, 1, 0, 2)
	e = c.Conclude(s, found(next), noon)
	expect(t, c, e, "begun", "to c at H: snapshot", "starts line@4 at H: "+two)
	kept(t, c, s, e)
	fold(t, c, s, back(t, c, next, "", "terminated by the deadline"))
	e = c.Decide(s, noon)
	if e.Outcome.What != behaviour.InError {
		t.Errorf("it comes to %s", show(c.process, e))
	}
	kept(t, c, s, e)
	e, err := c.Resume(s, behaviour.Retry{}, noon)
	if err != nil {
		t.Fatal(err)
	}
	expect(t, c, e, "retried", "to c at H: snapshot", "to sink at O: notice cleared=true attempts=0 ")
	kept(t, c, s, e)
	expect(t, c, c.Decide(s, noon), `invokes iteration 1 attempt 1 run 1: `+two)
}

// R6, R29: the exit condition and the feedback are those of every activity.
func TestR29ASubprocessIsRepeated(t *testing.T) {
	_, c := parenting(t, func(m *model) { m.exit("c", "n > 5").data("c -> c: n = n") })
	child := childOf(c, 1, 0, 1)
	s := begunWith(t, c, child)
	fold(t, c, s, back(t, c, child, `{"n": 5}`, ""))
	e := c.Decide(s, noon)
	expect(t, c, e, "iterated", "to c at H: snapshot")
	kept(t, c, s, e)
	expect(t, c, c.Decide(s, noon), `invokes iteration 2 attempt 1 run 0: `+strings.Replace(two, "2", "5", 1))
}

// R29: who ends before its child ends that, unless it is independent.
func TestR29WhatEndsTheChild(t *testing.T) {
	ends := func(reason string) string { return "ends line@4 at H: " + reason + ", relayed" }
	for name, tc := range map[string]struct {
		come func(*Activity, *State)
		want []string
	}{
		"cancelled": {func(c *Activity, s *State) {
			m := own(c, message.KindCancel, message.EncodeCancel(message.Cancel{Reason: "y has ended, and cancels it"}))
			m.Source = "y"
			fold(t, c, s, m)
		}, []string{"cancelled, ends", "to y at H: FALSE no data", ends("y has ended, and cancels it")}},
		"terminated": {func(c *Activity, s *State) {
			fold(t, c, s, own(c, message.KindMarker, message.EncodeMarker(message.Marker{By: "alice at B"})))
		}, []string{"stopped, ends", ends("instance terminated by alice at B")}},
		"its deadline": {func(c *Activity, s *State) {
			comeTime(t, c, s, "deadline", noon.Add(time.Hour))
		}, []string{"terminated, ends", "to y at H: TRUE words", ends("the deadline of c has come")}},
		"a message refused, and a retry": {func(c *Activity, s *State) {
			kept(t, c, s, c.Refused(s, from(t, c, processtable.Source, T, ""), "it is not", noon))
			e, err := c.Resume(s, behaviour.Retry{}, noon)
			if err != nil {
				t.Fatal(err)
			}
			expect(t, c, e, "retried", "timer after 1h0m0s", "to c at H: snapshot", ends("c begins another instance, after a retry"), "to sink at O: notice cleared=true attempts=0 ")
		}, nil},
	} {
		for _, independent := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				_, c := parenting(t, func(m *model) {
					m.set("c", func(row *processtable.Activity) {
						row.Deadline, row.Independent = until(m, time.Hour), independent && tc.want != nil
					})
				})
				s := folded(t, c, from(t, c, processtable.Source, T, `{"n": 2}`))
				kept(t, c, s, c.Decide(s, noon)) // the deadline
				child := childOf(c, 1, 0, 1)
				kept(t, c, s, c.Conclude(s, found(child), noon))
				tc.come(c, s)
				if tc.want == nil {
					return
				}
				want := tc.want
				if independent {
					want = want[:len(want)-1]
				}
				e := c.Decide(s, noon)
				expect(t, c, e, want...)
				if independent {
					return
				}
				marker := e.Put[len(e.Put)-1]
				if _, err := message.Encode(marker); err != nil || marker.Instance != child.Instance || marker.Origin != here {
					t.Errorf("%v: it is %+v", err, marker.Header)
				}
			})
		}
	}
}

// R29: what has come back needs no end; R21: it has come before the deadline.
func TestR29AReturnComesBeforeTheDeadline(t *testing.T) {
	_, c := parenting(t, func(m *model) {
		m.set("c", func(row *processtable.Activity) { row.Deadline = until(m, time.Hour) })
	})
	s := folded(t, c, from(t, c, processtable.Source, T, `{"n": 2}`))
	kept(t, c, s, c.Decide(s, noon))
	child := childOf(c, 1, 0, 1)
	kept(t, c, s, c.Conclude(s, found(child), noon))
	comeTime(t, c, s, "deadline", noon.Add(time.Hour))
	fold(t, c, s, back(t, c, child, `{"n": 5}`, ""))
	expect(t, c, c.Decide(s, noon), "terminated, ends", "to y at H: TRUE data 5")
}

// born is the process line, and its source with what begins an instance of it.
func born(t testing.TB) (*Process, *State, message.Parent) {
	m := newModel(t, "a").at("N", "a").control("source -> a", "a -> sink").data("source -> a: n = n", "source -> sink: n = n")
	m.table.Process = line
	m.table.Roster = []processtable.Place{{Activity: "a", Node: "N"}}
	p := m.prepare()
	parent := message.Parent{Process: processtable.ProcessID{Name: "p", Version: 1}, Node: here, Instance: instance, Activity: "c", Iteration: 1, Attempt: 1}
	input, err := container.EncodeCBOR(value(t, `{"n": 2}`))
	if err != nil {
		t.Fatal(err)
	}
	source := p.activities.Get(processtable.RowID{Name: processtable.Source})
	start := message.Message{Header: message.Header{
		Queue: message.Queue{Process: line, Node: here}, Instance: parent.Child(line, 1), Origin: here, Activity: processtable.Source,
		Kind: message.KindStart, Clock: 6, Trace: "00-trace",
	}, Body: message.EncodeStart(message.Start{Parent: parent, Input: input})}
	s := &State{Basis: behaviour.Basis{Entry: start.Entry()}}
	fold(t, source, s, start)
	return p, s, parent
}

// R15, R29: the child's source terminates as a start does; the record names the parent. So it does where
// the instance was terminated before: else nobody would know of it.
func TestR29TheSourceOfAChild(t *testing.T) {
	for _, stopped := range []bool{false, true} {
		p, s, parent := born(t)
		source := p.activities.Get(processtable.RowID{Name: processtable.Source})
		if stopped {
			s.Stop(own(source, message.KindMarker, message.EncodeMarker(message.Marker{By: "alice at B"})))
			s.Stopped = true
		}
		e := source.Decide(s, noon)
		expect(t, source, e, "terminated, ends", "to a at N: TRUE data 2", "to sink at H: data 2", "to sink at H: record")
		record, err := message.DecodeRecord(e.Put[2].Body)
		if err != nil || record.Parent == nil || *record.Parent != parent || record.Process != line || e.Outcome.Parent == nil || *e.Outcome.Parent != parent {
			t.Errorf("%v: the record is %+v, the outcome %+v", err, record, e.Outcome)
		}
		if e.Put[0].Clock != 7 || e.Put[0].Trace != "00-trace" {
			t.Errorf("it sends %+v", e.Put[0].Header)
		}
		started, err := p.Start(behaviour.Start{Instance: s.Entry.Instance, Input: value(t, `{"n": 2}`), Now: noon})
		if diff := cmp.Diff(started.Outcome.Output, e.Outcome.Output); err != nil || diff != "" {
			t.Errorf("a start by a client is another one: %v %s", err, diff)
		}
	}
}

// R29: only the source of a process is begun so, and only by what can be read.
func TestR29WhatStartsNothing(t *testing.T) {
	p, c := parenting(t, nil)
	if err := c.Fold(&State{}, own(c, message.KindStart, nil)); err == nil || !strings.Contains(err.Error(), "c starts nothing: only the source of a process does") {
		t.Errorf("at an activity: %v", err)
	}
	source := p.activities.Get(processtable.RowID{Name: processtable.Source})
	if err := source.Fold(&State{}, own(source, message.KindStart, []byte{0})); err == nil || !strings.Contains(err.Error(), "start of instance") {
		t.Errorf("what cannot be read: %v", err)
	}
}

// R29: the child's sink returns its input; where the instance was terminated, why. If its parent has ended
// it, that is told to the other nodes.
func TestR29TheSinkOfAChild(t *testing.T) {
	for name, tc := range map[string]struct {
		marker *message.Marker
		want   []string
	}{
		"ends":                     {nil, []string{"terminated, ends", "returns to c of p@1: " + two}},
		"terminated":               {&message.Marker{By: "alice at B"}, []string{"stopped, ends", "returns to c of p@1: instance terminated by alice at B"}},
		"terminated by its parent": {&message.Marker{Reason: "r", By: "c of instance I", Relay: true}, []string{"stopped, ends", "returns to c of p@1: instance terminated by c of instance I", "ends line@4 at N: r"}},
	} {
		t.Run(name, func(t *testing.T) {
			p, s, parent := born(t)
			source := p.activities.Get(processtable.RowID{Name: processtable.Source})
			sink := p.activities.Get(processtable.RowID{Name: processtable.Sink})
			at := &State{Basis: behaviour.Basis{Entry: message.Entry{Instance: s.Entry.Instance, Activity: processtable.Sink}}}
			for _, m := range source.Decide(s, noon).Put[1:] {
				fold(t, sink, at, m)
			}
			if tc.marker != nil {
				m := own(sink, message.KindMarker, message.EncodeMarker(*tc.marker))
				m.Instance, m.Origin = s.Entry.Instance, here
				fold(t, sink, at, m)
			} else {
				m := from(t, sink, "a", T, "")
				m.Instance, m.Origin = s.Entry.Instance, here
				fold(t, sink, at, m)
			}
			e := sink.Decide(at, noon)
			expect(t, sink, e, tc.want...)
			ret := e.Put[0]
			child := message.Child{Instance: s.Entry.Instance, Process: line}
			if _, err := message.Encode(ret); err != nil || ret.Instance != parent.Instance || ret.Number != child.Number() || e.Outcome.Parent == nil {
				t.Errorf("%v: it returns %+v", err, ret.Header)
			}
		})
	}
}
