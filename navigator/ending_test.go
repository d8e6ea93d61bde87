package navigator

import (
	"testing"
	"time"

	"fmqm/behaviour"
	"fmqm/condition"
	"fmqm/container"
	"fmqm/message"
	"fmqm/processtable"
)

const defaults = `{"n":0,"text":"none","list":[],"inner":{"a":7,"b":""}}`

// until gives an activity of these tests a deadline or, of a wait, a time.
func until(m *model, span time.Duration) *processtable.Moment {
	m.table.Format = processtable.BlockFormat
	return &processtable.Moment{Fixed: int64(span)}
}

// ended words: a condition that reads the engine's words.
func (m *model) reading(text string, words condition.Words) *condition.Checked {
	m.t.Helper()
	c, problems := condition.Check(text, condition.Scope{Members: data, RC: true, Words: words})
	if len(problems) > 0 {
		m.t.Fatalf("condition %q: %v", text, problems)
	}
	return &c
}

// worded is an activity x with a deadline of an hour that goes on after errors: to y at a deadline, to
// z after an error.
func worded(t testing.TB) (*Process, *Activity) {
	m := newModel(t, "a", "x", "y", "z").control("a -> x", "x -> y", "x -> z").data("x -> y: n = n, text = text", "a -> x: n = n")
	x := m.rows["x"]
	x.Deadline, x.Continues, x.Retry.Attempts = until(m, time.Hour), true, 2
	x.OutControl[0].Condition = m.reading("_TIMEOUT", x.Words())
	x.OutControl[1].Condition = m.reading(`_ERROR != "" && n == 0`, x.Words())
	words := []processtable.Mapping{
		{Word: condition.WordError, To: container.Path{1}, Type: container.Scalar(container.String), Source: "_ERROR", Target: "text"},
		{RC: true, To: container.Path{0}, Type: container.Scalar(container.Int), Source: "_RC", Target: "n"},
		{From: container.Path{3, 1}, To: container.Path{3, 1}, Type: container.Scalar(container.String), Source: "inner.b", Target: "inner.b"},
	}
	x.OutData[0].Mappings, m.rows["y"].InData[0].Mappings = words, words
	p := m.prepare()
	return p, p.activities.Get(processtable.RowID{Name: "x"})
}

// begun is x once its deadline is set.
func begunWithDeadline(t testing.TB, x *Activity) *State {
	t.Helper()
	s := folded(t, x, from(t, x, "a", T, `{"n": 2}`))
	e := x.Decide(s, noon)
	expect(t, x, e, "timer after 1h0m0s", "to x at H: snapshot")
	if e.Timers[0].Name != "deadline" || e.Timers[0].Pause != time.Hour {
		t.Errorf("the timer is %+v", e.Timers[0])
	}
	kept(t, x, s, e)
	return s
}

// comes: the message of a named timer.
func comeTime(t testing.TB, a *Activity, s *State, name string, due time.Time) {
	t.Helper()
	e := s.Entry
	key := message.DueKey(&e, name, due)
	fold(t, a, s, message.Message{Header: message.Header{
		Queue: message.Queue{Process: a.process.table.Process, Node: here}, Instance: e.Instance, Scope: e.Scope, Activity: a.Name,
		SourceScope: key.Scope, Source: key.Source, Number: key.Number, Kind: message.KindDue,
	}})
}

// R21: the deadline is set before the program runs; when it has come what runs is interrupted, and
// the activity terminates with the defaults and _TIMEOUT, whatever its program gives.
func TestR21ADeadlineEndsWhatRuns(t *testing.T) {
	_, x := worded(t)
	s := begunWithDeadline(t, x)
	expect(t, x, x.Decide(s, noon), `invokes iteration 1 attempt 1 run 0: {"n":2,"text":"none","list":[],"inner":{"a":7,"b":""}}`)
	if s.Interrupted() {
		t.Error("it is interrupted before its deadline")
	}
	comeTime(t, x, s, "deadline", noon.Add(time.Hour))
	if !s.Interrupted() {
		t.Error("what runs is not interrupted")
	}
	e := x.Conclude(s, ran(t, 0, `{"n": 5}`), noon)
	expect(t, x, e, "terminated, ends", `to y at H: TRUE`+" words", "to z at H: FALSE")
	if o := e.Outcome; !o.TimedOut || o.RC != -1 || jsonOf(t, o.Output) != defaults {
		t.Errorf("it ends with %+v", o)
	}
}

// R21: a deadline goes on through failed attempts, iterations and errors; only that of the activation
// counts.
func TestR21OneDeadlineForTheActivation(t *testing.T) {
	_, x := worded(t)
	s := begunWithDeadline(t, x)
	e := x.Conclude(s, failed("no answer"), noon)
	if len(e.Timers) != 2 || e.Timers[1].Name != "deadline" || !e.Timers[1].Due.Equal(noon.Add(time.Hour)) {
		t.Errorf("after a failed attempt the timers are %+v", e.Timers)
	}
	at := kept(t, x, s, e)
	if !at.Deadline.Equal(noon.Add(time.Hour)) {
		t.Errorf("the deadline is %v", at.Deadline)
	}
	comeTime(t, x, s, "deadline", noon.Add(2*time.Hour)) // of another activation
	if s.Interrupted() {
		t.Error("a timer of another time interrupts it")
	}
	comeTime(t, x, s, "deadline", noon.Add(time.Hour))
	if e := x.Decide(s, noon); !e.Ends || !e.Outcome.TimedOut {
		t.Errorf("in a pause: %s", show(x.process, e))
	}
}

// R21: in error it is ended too, and its origin is told that the error is over.
func TestR21ADeadlineEndsAnError(t *testing.T) {
	_, x := worded(t)
	s := begunWithDeadline(t, x)
	kept(t, x, s, x.failEvaluated(s, new(ran(t, 0, "")), "a condition", noon))
	expect(t, x, x.Decide(s, noon), "waits")
	comeTime(t, x, s, "deadline", noon.Add(time.Hour))
	expect(t, x, x.Decide(s, noon), "terminated, ends", "to y at H: TRUE words", "to z at H: FALSE", "to sink at O: notice cleared=true attempts=0 ")
}

// R12, R21: where a transition condition fails over the defaults the activity is in error, and no
// deadline ends it again; a retry evaluates the same.
func TestR21AFailingConditionAfterADeadline(t *testing.T) {
	m := newModel(t, "x", "y").control("source -> x", "x -> y: 1 / n > 0")
	m.rows["x"].Deadline = until(m, time.Hour)
	x := m.prepare().activities.Get(processtable.RowID{Name: "x"})
	s := folded(t, x, from(t, x, processtable.Source, T, ""))
	kept(t, x, s, x.Decide(s, noon))
	comeTime(t, x, s, "deadline", noon.Add(time.Hour))
	e := x.Decide(s, noon)
	if e.Outcome.What != behaviour.InError {
		t.Fatalf("it comes to %s", show(x.process, e))
	}
	kept(t, x, s, e)
	expect(t, x, x.Decide(s, noon), "waits")
	r, err := x.Review(s, behaviour.Retry{}, noon)
	if err != nil || r == nil || !r.TimedOut {
		t.Errorf("a retry evaluates %+v, %v", r, err)
	}
	if e, err := x.Resume(s, behaviour.Retry{Output: value(t, `{"n": 1}`)}, noon); err != nil || !e.Ends || e.Outcome.TimedOut {
		t.Errorf("with an output it comes to %s, %v", show(x.process, e), err)
	}
}

// R12, R21: a deadline that comes in error, and ends nothing since a condition fails over the defaults, is no attempt more
// (seed 617).
func TestR21ADeadlineIsNoAttempt(t *testing.T) {
	m := newModel(t, "x", "y").control("source -> x", "x -> y: 1 / n > 0")
	m.rows["x"].Deadline = until(m, time.Hour)
	x := m.prepare().activities.Get(processtable.RowID{Name: "x"})
	s := folded(t, x, from(t, x, processtable.Source, T, ""))
	kept(t, x, s, x.Decide(s, noon))
	attempts := func() int { return x.View(s, noon).Attempts }
	for e := x.Conclude(s, failed("no answer"), noon); ; e = x.Conclude(s, failed("no answer"), noon) {
		if kept(t, x, s, e); s.InError() {
			break
		}
	}
	made := attempts()
	comeTime(t, x, s, "deadline", noon.Add(time.Hour))
	kept(t, x, s, x.Decide(s, noon))
	if !s.InError() || made == 0 || attempts() != made {
		t.Errorf("it shows %d attempts, and had made %d", attempts(), made)
	}
	if e, err := x.Resume(s, behaviour.Retry{Output: value(t, `{"n": 1}`)}, noon); err != nil || e.Outcome.Attempt != made {
		t.Errorf("it has ended in attempt %d of %d: %v", e.Outcome.Attempt, made, err)
	}
}

// R22: without attempts left it terminates, and _ERROR says why; data connectors carry words only.
func TestR22WhatGoesOnAfterErrors(t *testing.T) {
	p, x := worded(t)
	s := begunWithDeadline(t, x)
	kept(t, x, s, x.Conclude(s, failed("no answer"), noon))
	e := x.Conclude(s, failed("no answer yet"), noon)
	expect(t, x, e, "terminated, ends", "to y at H: FALSE words", "to z at H: TRUE")
	if o := e.Outcome; o.Failure != "no answer yet" || o.RC != -1 || o.TimedOut {
		t.Errorf("it ends with %+v", o)
	}
	y := p.activities.Get(processtable.RowID{Name: "y"})
	to := folded(t, y)
	fold(t, y, to, e.Put[0])
	if in, err := y.InputOf(to); err != nil || in.Fields[0] != int64(-1) || in.Fields[1] != "no answer yet" {
		t.Errorf("y gets %v, %v", in, err)
	}
	again, err := p.Again(spoken(e.Put[0], e.Outcome))
	if err != nil || string(again.Body) != string(e.Put[0].Body) {
		t.Errorf("built again it is %x, %v: want %x", again.Body, err, e.Put[0].Body)
	}
}

// R21: a wait goes on when its time has come, as an empty activity.
func TestR21AWait(t *testing.T) {
	m := newModel(t, "w", "y").control("source -> w", "w -> y").data("source -> w: n = n", "w -> y: n = n")
	w := m.rows["w"]
	w.Kind, w.Program, w.Wait = processtable.KindWait, "", until(m, time.Minute)
	a := m.prepare().activities.Get(processtable.RowID{Name: "w"})
	s := folded(t, a, from(t, a, processtable.Source, T, `{"n": 3}`))
	e := a.Decide(s, noon)
	expect(t, a, e, "timer after 1m0s", "to w at H: snapshot")
	kept(t, a, s, e)
	expect(t, a, a.Decide(s, noon.Add(time.Hour)), "waits") // no decision asks a clock
	if v := a.View(s, noon); v.Progress != behaviour.Begun || !v.Due.Equal(noon.Add(time.Minute)) {
		t.Errorf("it is shown as %+v", v)
	}
	comeTime(t, a, s, "wait", noon.Add(time.Minute))
	expect(t, a, a.Decide(s, noon), "terminated, ends", "to y at H: TRUE data 3")
}

// R21: times are worked out of the input, once; one that cannot be puts the activity in error.
func TestR21TimesOfTheInput(t *testing.T) {
	for _, tc := range []struct {
		text string
		at   bool
		want string
	}{
		{`duration(string(n) + "s")`, false, "timer after 3s"},
		{`timestamp("2030-05-06T13:00:00Z")`, true, "timer after 1h0m0s"},
		{`timestamp("1960-01-01T00:00:00Z")`, true, ""}, // before all timers: it is over at once
		{`duration("-1s")`, false, "timer after 0s"},
		{`duration(text)`, false, "in-error"},
	} {
		m := newModel(t, "x").control("source -> x").data("source -> x: n = n")
		moment := until(m, 0)
		moment.At = tc.at
		want := container.Duration
		if tc.at {
			want = container.Timestamp
		}
		c, problems := condition.CheckExpr(tc.text, inputScope(data), container.Scalar(want))
		if len(problems) > 0 {
			t.Fatalf("%s: %v", tc.text, problems)
		}
		moment.Expr, m.rows["x"].Deadline = &c, moment
		x := m.prepare().activities.Get(processtable.RowID{Name: "x"})
		e := x.Decide(folded(t, x, from(t, x, processtable.Source, T, `{"n": 3}`)), noon)
		switch {
		case tc.want == "in-error":
			if e.Outcome.What != behaviour.InError {
				t.Errorf("%s: %s", tc.text, show(x.process, e))
			}
		case tc.want == "":
			if due := e.Timers[0].Due; due.After(noon) || due.IsZero() {
				t.Errorf("%s: the timer is of %v", tc.text, due)
			}
		default:
			expect(t, x, e, tc.want, "to x at H: snapshot")
		}
	}
}

// catching is a process of a block with a deadline that goes on after errors, around an activity here,
// one elsewhere, and another block.
func catching(t testing.TB) *Process {
	m := newModel(t, "b", "i", "j", "c", "k", "x").at("N", "j").block("b", "i", "j", "c").block("c", "k").
		control("source -> b", "b -> x", "b/source -> i", "i -> j", "j -> c", "c -> b/sink", "c/source -> k", "k -> c/sink")
	b := m.rows["b"]
	b.Deadline, b.Continues = until(m, time.Hour), true
	b.OutControl[0].Condition = m.reading(`_TIMEOUT || _ERROR != ""`, b.Words())
	for _, row := range m.table.Activities {
		if len(row.Path) > 0 {
			row.Path[0].Catches = true
		}
	}
	for name, inside := range map[processtable.ActivityID]processtable.ActivityID{"b": "", "i": "b", "j": "b", "c": "b", "k": "c", "x": ""} {
		m.table.Roster = append(m.table.Roster, processtable.Place{Activity: name, Node: m.nodes[name], Inside: inside})
	}
	sortRoster(m.table)
	return m.prepare()
}

func sortRoster(t *processtable.Table) {
	order := map[processtable.ActivityID]int{"b": 0, "i": 1, "j": 2, "c": 3, "k": 4, "x": 5}
	sorted := make([]processtable.Place, len(t.Roster))
	for _, p := range t.Roster {
		sorted[order[p.Activity]] = p
	}
	t.Roster = sorted
}

// begunBlock is the block of catching in its first iteration.
func begunBlock(t testing.TB, b *Activity) *State {
	t.Helper()
	s := folded(t, b, from(t, b, processtable.Source, T, ""))
	e := b.Decide(s, noon)
	if len(e.Timers) != 1 || e.Timers[0].Pause != time.Hour {
		t.Fatalf("it begins with the timers %+v", e.Timers)
	}
	kept(t, b, s, e)
	return s
}

const cancelsAll = "cancels source of b#1 at H\ncancels i of b#1 at H\ncancels j of b#1 at N\ncancels c of b#1 at H\ncancels sink of b#1 at H"

// R21, R23: the deadline of a block cancels all that is inside of it, and waits for nobody.
func TestR21TheDeadlineOfABlock(t *testing.T) {
	b := rowIn(catching(t), "b", "")
	s := begunBlock(t, b)
	comeTime(t, b, s, "deadline", noon.Add(time.Hour))
	expect(t, b, b.Decide(s, noon), "terminated, ends", cancelsAll, "to x at H: TRUE")
}

// R12, R21: a block that is in error by a condition has returned, and its deadline ends it all the same.
func TestR21TheDeadlineOfABlockInError(t *testing.T) {
	p := catching(t)
	b := rowIn(p, "b", "")
	s := begunBlock(t, b)
	sink := rowIn(p, processtable.Sink, "b")
	at := &State{Basis: behaviour.Basis{Entry: message.Entry{Instance: instance, Scope: "b#1", Activity: processtable.Sink}, Origin: origin}}
	fold(t, b, s, sink.giveBack(at).Put[0])
	kept(t, b, s, b.failEvaluated(s, new(ran(t, 0, "")), "a condition", noon))
	comeTime(t, b, s, "deadline", noon.Add(time.Hour))
	if e := b.Decide(s, noon); !e.Ends || !e.Outcome.TimedOut {
		t.Errorf("it comes to %s", show(p, e))
	}
}

// _INSTANCE of source is the instance, also where its message is built again.
func TestSourceKnowsItsInstance(t *testing.T) {
	m := newModel(t, "x").control("source -> x")
	m.table.Format = processtable.BlockFormat
	mapping := []processtable.Mapping{{Word: condition.WordInstance, To: container.Path{1}, Type: container.Scalar(container.String), Source: "_INSTANCE", Target: "text"}}
	m.rows["source"].OutData = []processtable.OutData{{To: "x", Mappings: mapping}}
	m.rows["x"].InData = []processtable.InData{{From: "source", Mappings: mapping}}
	p := m.prepare()
	e, err := p.Start(behaviour.Start{Instance: instance, Input: container.New(data), Now: noon})
	if err != nil {
		t.Fatal(err)
	}
	x := p.activities.Get(processtable.RowID{Name: "x"})
	s := folded(t, x, e.Put[0])
	if in, err := x.InputOf(s); err != nil || in.Fields[1] != instance.String() {
		t.Errorf("x gets %v, %v", in, err)
	}
	again, err := p.Again(spoken(e.Put[0], e.Outcome))
	if err != nil || string(again.Body) != string(e.Put[0].Body) {
		t.Errorf("built again it is %x, %v", again.Body, err)
	}
}

// R21: what has returned has come before a deadline.
func TestR21AReturnIsFirst(t *testing.T) {
	b := rowIn(catching(t), "b", "")
	s := begunBlock(t, b)
	comeTime(t, b, s, "deadline", noon.Add(time.Hour))
	sink := rowIn(b.process, processtable.Sink, "b")
	at := &State{Basis: behaviour.Basis{Entry: message.Entry{Instance: instance, Scope: "b#1", Activity: processtable.Sink}, Origin: origin}}
	fold(t, b, s, sink.giveBack(at).Put[0])
	expect(t, b, b.Decide(s, noon), "terminated, ends", "to x at H: FALSE")
}

// R22: what would wait for an operator tells the nearest block that catches errors, which cancels the
// rest and terminates; also from a block further inside.
func TestR22ABlockCatches(t *testing.T) {
	p := catching(t)
	b, k := rowIn(p, "b", ""), rowIn(p, "k", "c")
	inner := &State{Basis: behaviour.Basis{Entry: message.Entry{Instance: instance, Scope: "b#1/c#1", Activity: "k"}, Origin: origin}}
	e := k.fail(inner, inner.progress(), message.CauseAttempts, "no answer", noon)
	expect(t, k, e, "in-error", "to k at H: snapshot", "error in b#1/c#1 to b: no answer")
	s := begunBlock(t, b)
	fold(t, b, s, e.Put[1])
	expect(t, b, b.Decide(s, noon), "terminated, ends", cancelsAll, "to x at H: TRUE")
	if o := b.Decide(s, noon).Outcome; o.Failure != "k: no answer" || o.RC != -1 {
		t.Errorf("it ends with %+v", o)
	}
	other := e.Put[1]
	other.SourceScope = "b#2/c#1"
	s = begunBlock(t, b)
	fold(t, b, s, other) // of another iteration
	expect(t, b, b.Decide(s, noon), "waits")
}

// R23: an activity that is cancelled ends, in every phase; what leads out of it is dead.
func TestR23Cancelled(t *testing.T) {
	_, x := worded(t)
	by := own(x, message.KindCancel, message.EncodeCancel(message.Cancel{Reason: "w has ended, and cancels it"}))
	by.Source = "w"
	dead := []string{"cancelled, ends", "to y at H: FALSE no data", "to z at H: FALSE"}
	fresh := folded(t, x)
	fold(t, x, fresh, by)
	expect(t, x, x.Decide(fresh, noon), "waits") // what comes before it may still run
	fold(t, x, fresh, from(t, x, "a", T, `{"n": 2}`))
	expect(t, x, x.Decide(fresh, noon), dead...)
	running := begunWithDeadline(t, x)
	fold(t, x, running, by)
	if !running.Interrupted() {
		t.Error("what runs is not interrupted")
	}
	e := x.Conclude(running, ran(t, 0, ""), noon)
	expect(t, x, e, dead...)
	if o := e.Outcome; o.Attempt != 1 || !o.Started.Equal(noon) {
		t.Errorf("of the attempt that ran its history has %d, %v", o.Attempt, o.Started)
	}
	erring := begunWithDeadline(t, x)
	kept(t, x, erring, x.failEvaluated(erring, new(ran(t, 0, "")), "a condition", noon))
	fold(t, x, erring, by)
	expect(t, x, x.Decide(erring, noon), append(dead, "to sink at O: notice cleared=true attempts=0 ")...)
}

// R23, R35: a block that is cancelled once it is decided, and before it has begun anything, is in no iteration: its history
// says so, and nothing inside of it is cancelled.
func TestR23CancelledBeforeItBegins(t *testing.T) {
	b := rowIn(looping(t), "b", "")
	by := own(b, message.KindCancel, message.EncodeCancel(message.Cancel{Reason: "w has ended, and cancels it"}))
	by.Source = "w"
	decided := folded(t, b, from(t, b, processtable.Source, T, `{"n": 4}`))
	kept(t, b, decided, b.keep(decided, decided.progress(), behaviour.Outcome{What: behaviour.Decided}))
	begun := decided.clone()
	kept(t, b, begun, b.Decide(begun, noon))
	for want, s := range []*State{decided, begun} {
		fold(t, b, s, by)
		if e := b.Decide(s, noon); !e.Ends || e.Outcome.What != behaviour.Cancelled || e.Outcome.Iteration != want {
			t.Errorf("it comes to %s in iteration %d, want %d", show(b.process, e), e.Outcome.Iteration, want)
		}
	}
}

// R23: where all around it is cancelled nobody is told; and a block cancels what is inside of it.
func TestR23CancelledFromAround(t *testing.T) {
	p := catching(t)
	c := rowIn(p, "c", "b")
	s := &State{Basis: behaviour.Basis{Entry: message.Entry{Instance: instance, Scope: "b#1", Activity: "c"}, Origin: origin}}
	m := from(t, c, "j", T, "")
	m.Scope, m.SourceScope = "b#1", "b#1"
	fold(t, c, s, m)
	kept(t, c, s, c.Decide(s, noon))
	around := message.Message{Header: m.Header, Body: message.EncodeCancel(message.Cancel{Reason: "the deadline of b has come"})}
	around.Kind, around.Source, around.SourceScope, around.Control = message.KindCancel, "b", "", 0
	fold(t, c, s, around)
	expect(t, c, c.Decide(s, noon), "cancelled, ends", "cancels source of b#1/c#1 at H\ncancels k of b#1/c#1 at H\ncancels sink of b#1/c#1 at H")
	sibling := around
	sibling.Source, sibling.SourceScope = "i", "b#1"
	for _, order := range [][]message.Message{{around, sibling}, {sibling, around}} {
		s := &State{Basis: behaviour.Basis{Entry: s.Entry, Origin: origin}}
		fold(t, c, s, order...)
		if s.cancel.by.Source != "b" {
			t.Errorf("of two who cancel it %+v is known", s.cancel)
		}
		expect(t, c, c.Decide(s, noon), "cancelled, ends") // what leads into it is cancelled as well, and tells nobody
	}
}

// R23: what has run cancels others of its graph; what is skipped, or cancelled, does not.
func TestR23AnActivityCancelsOthers(t *testing.T) {
	m := newModel(t, "a", "x", "y").at("N", "y").control("a -> x")
	m.table.Format = processtable.BlockFormat
	m.rows["x"].Cancels = []processtable.Place{{Activity: "y", Node: "N"}}
	x := m.prepare().activities.Get(processtable.RowID{Name: "x"})
	s := folded(t, x, from(t, x, "a", T, ""))
	expect(t, x, x.Conclude(s, ran(t, 0, ""), noon), "terminated, ends", "cancels y of  at N")
	expect(t, x, x.skip(s), "skipped, ends")
}

// R23: a block of thousands is cancelled in several transactions, each of which says how far it is.
func TestR23ManyAreCancelledInSteps(t *testing.T) {
	p := catching(t)
	b := rowIn(p, "b", "")
	for len(b.inside) < 2*cancelBatch+10 {
		b.inside = append(b.inside, target{activity: "i", node: here})
	}
	s := begunBlock(t, b)
	comeTime(t, b, s, "deadline", noon.Add(time.Hour))
	for _, want := range []int{cancelBatch, cancelBatch} {
		e := b.Decide(s, noon)
		if len(e.Put) != want+1 || e.Ends || e.Outcome.What != behaviour.Cancelling {
			t.Fatalf("%d messages, %v", len(e.Put), e.Outcome)
		}
		kept(t, b, s, e)
	}
	if e := b.Decide(s, noon); !e.Ends || !e.Outcome.TimedOut || len(e.Put) != 10+1 {
		t.Errorf("at last %d messages, %+v", len(e.Put), e.Outcome)
	}
}
