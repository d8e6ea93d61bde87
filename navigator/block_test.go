package navigator

import (
	"testing"
	"time"

	"fmqm/behaviour"
	"fmqm/message"
	"fmqm/processtable"
)

const (
	first  = `{"n":4,"text":"none","list":[],"inner":{"a":7,"b":""}}`
	second = `{"n":5,"text":"none","list":[],"inner":{"a":7,"b":""}}`
)

// looping is a process of a block around an activity, and one behind it.
func looping(t testing.TB) *Process {
	return newModel(t, "b", "i", "x").block("b", "i").
		control("source -> b", "b -> x: n > 5", "b/source -> i", "i -> b/sink").
		data("source -> b: n = n", "b -> b: n = n", "b -> x: n = n", "b/source -> i: n = n", "i -> b/sink: n = n").
		exit("b", "n > 5").prepare()
}

func rowIn(p *Process, name, inside processtable.ActivityID) *Activity {
	return p.activities.Get(processtable.RowID{Name: name, Inside: inside})
}

// comes is a message of e as it comes to an entry of a.
func comes(t testing.TB, a *Activity, e behaviour.Effects, kind message.Kind) *State {
	t.Helper()
	for _, m := range e.Put {
		if m.Kind == kind {
			s := &State{Basis: behaviour.Basis{Entry: m.Entry()}}
			fold(t, a, s, m)
			return s
		}
	}
	t.Fatalf("nothing of kind %v is put: %s", kind, show(a.process, e))
	return nil
}

// returns is what an iteration comes back with.
func returns(t testing.TB, b *Activity, scope message.Scope, output string) message.Message {
	t.Helper()
	sink := rowIn(b.process, processtable.Sink, b.Name)
	s := &State{Basis: behaviour.Basis{Entry: message.Entry{Instance: instance, Scope: scope, Activity: processtable.Sink}, Origin: origin}}
	m := from(t, sink, "i", T, output)
	m.Scope, m.SourceScope = scope, scope
	fold(t, sink, s, m)
	e := sink.Decide(s, noon)
	if len(e.Put) != 1 || e.Put[0].Kind != message.KindReturn {
		t.Fatalf("sink does not return: %s", show(b.process, e))
	}
	return e.Put[0]
}

// R20: the whole way of a block: begin, source, sink, return, the next iteration, the end.
func TestR20ABlockGoesThroughItsIterations(t *testing.T) {
	p := looping(t)
	b := rowIn(p, "b", "")
	s := folded(t, b, from(t, b, processtable.Source, T, `{"n": 4}`))

	begun := b.Decide(s, noon)
	expect(t, b, begun, "to b at H: snapshot", "begins b#1 at H: "+first)
	source := rowIn(p, processtable.Source, "b")
	inside := comes(t, source, begun, message.KindBegin)
	expect(t, source, source.Decide(inside, noon), "terminated, ends", "to i at H: TRUE data 4")

	kept(t, b, s, begun)
	expect(t, b, b.Decide(s, noon), "waits")
	if v := b.View(s, noon); v.Progress != behaviour.Begun || v.Iterations != 1 {
		t.Errorf("it is shown as %v in iteration %d", v.Progress, v.Iterations)
	}

	fold(t, b, s, returns(t, b, "b#1", `{"n": 5}`))
	again := b.Decide(s, noon)
	expect(t, b, again, "iterated", "to b at H: snapshot", "begins b#2 at H: "+second)
	if len(again.Takes) != 1 || again.Takes[0].Kind != message.KindReturn {
		t.Errorf("the next iteration takes %v, want the return", again.Takes)
	}
	kept(t, b, s, again)
	expect(t, b, b.Decide(s, noon), "waits")

	fold(t, b, s, returns(t, b, "b#2", `{"n": 6}`))
	expect(t, b, b.Decide(s, noon), "terminated, ends", "to x at H: TRUE data 6")
}

// R20: a return of another iteration, or of another run, is none.
func TestR20AReturnOfAnotherIterationIsNone(t *testing.T) {
	b := rowIn(looping(t), "b", "")
	for _, scope := range []message.Scope{"b#2", "b~1#1", "b#10"} {
		s := folded(t, b, from(t, b, processtable.Source, T, `{"n": 4}`))
		kept(t, b, s, b.Decide(s, noon))
		fold(t, b, s, returns(t, b, scope, `{"n": 9}`))
		expect(t, b, b.Decide(s, noon), "waits")
		fold(t, b, s, returns(t, b, "b#1", `{"n": 5}`))
		e := b.Decide(s, noon)
		expect(t, b, e, "iterated", "to b at H: snapshot", "begins b#2 at H: "+second)
		if len(e.Takes) != 1 || e.Takes[0].Scope != "b#1" {
			t.Errorf("the next iteration takes %v, want the return of the one before", e.Takes)
		}
	}
}

// R20: what came back of an iteration that is over does not stay, in the store or in memory.
func TestR20AReturnOfWhatIsOverDoesNotStay(t *testing.T) {
	b := rowIn(looping(t), "b", "")
	s := folded(t, b, from(t, b, processtable.Source, T, `{"n": 0}`))
	kept(t, b, s, b.Decide(s, noon))
	for _, scope := range []message.Scope{"b#1", "b#2", "b#3"} {
		fold(t, b, s, returns(t, b, "b#1", `{"n": 1}`)) // once more
		fold(t, b, s, returns(t, b, scope, `{"n": 1}`))
		e := b.Decide(s, noon)
		if kept(t, b, s, e); len(e.Takes) == 0 || len(s.Passing()) != 0 || len(s.inner.returns) != 0 {
			t.Errorf("%s: %v are taken, %v stay, and %d in memory", scope, e.Takes, s.Passing(), len(s.inner.returns))
		}
	}
}

// R20, S4: to a site that has lost its store peers send again what they sent to the insides of its
// blocks. That may come back before the block begins: it is kept until then.
func TestR20AReturnMayComeBeforeItsIterationBegins(t *testing.T) {
	b := rowIn(looping(t), "b", "")
	s := folded(t, b, returns(t, b, "b#2", `{"n": 6}`), returns(t, b, "b#1", `{"n": 5}`), from(t, b, processtable.Source, T, `{"n": 4}`))
	begun := b.Decide(s, noon)
	expect(t, b, begun, "to b at H: snapshot", "begins b#1 at H: "+first)
	kept(t, b, s, begun)
	again := b.Decide(s, noon)
	expect(t, b, again, "iterated", "to b at H: snapshot", "begins b#2 at H: "+second)
	kept(t, b, s, again)
	expect(t, b, b.Decide(s, noon), "terminated, ends", "to x at H: TRUE data 6")
}

// R1, R20: in whatever order a snapshot and returns are folded, and however often, the same follows.
func TestR20TheOrderOfReturnsIsNone(t *testing.T) {
	b := rowIn(looping(t), "b", "")
	connector := from(t, b, processtable.Source, T, `{"n": 4}`)
	begun := b.Decide(folded(t, b, connector), noon)
	snapshot, right, wrong := begun.Put[0], returns(t, b, "b#1", `{"n": 5}`), returns(t, b, "b~1#1", `{"n": 8}`)
	want := show(b.process, b.Decide(folded(t, b, connector, snapshot, wrong, right), noon))
	for _, order := range [][]message.Message{
		{right, wrong, snapshot, connector}, {wrong, right, connector, snapshot}, {right, right, snapshot, wrong, connector, right, wrong},
	} {
		s := folded(t, b, order...)
		expect(t, b, b.Decide(s, noon), want)
		if len(s.Known().Keys) != 4 {
			t.Errorf("%v are kept of it", s.Known().Keys)
		}
	}
}

// R3, R20: of a block that is skipped nothing is begun.
func TestR20ASkippedBlockBeginsNothing(t *testing.T) {
	b := rowIn(looping(t), "b", "")
	expect(t, b, b.Decide(folded(t, b, from(t, b, processtable.Source, skippedSource, "")), noon),
		"skipped, ends", "to x at H: FALSE no data")
}

// R13, R17, R20: over max_iterations the block is in error, and a retry begins anew, in a run of its own.
func TestR20ARetryBeginsAnewInARunOfItsOwn(t *testing.T) {
	p := looping(t)
	b := rowIn(p, "b", "")
	b.MaxIterations = 1
	s := folded(t, b, from(t, b, processtable.Source, T, `{"n": 4}`))
	kept(t, b, s, b.Decide(s, noon))
	fold(t, b, s, returns(t, b, "b#1", `{"n": 5}`))
	e := b.Decide(s, noon)
	expect(t, b, e, "in-error", "to b at H: snapshot",
		`to sink at O: notice cleared=false attempts=0 exit condition "n > 5" still FALSE after 1 iterations (max_iterations)`)
	if at := kept(t, b, s, e); jsonOf(t, at.Output) != second {
		t.Errorf("the output that is kept is %s", jsonOf(t, at.Output))
	}
	if v := b.View(s, noon); v.Progress != behaviour.Erring {
		t.Errorf("it is shown as %v", v.Progress)
	}
	retried, err := b.Resume(s, behaviour.Retry{}, noon)
	if err != nil {
		t.Fatal(err)
	}
	kept(t, b, s, retried)
	begun := b.Decide(s, noon.Add(time.Minute))
	expect(t, b, begun, "to b at H: snapshot", "begins b~1#1 at H: "+first)
	kept(t, b, s, begun)
	fold(t, b, s, returns(t, b, "b#1", `{"n": 9}`)) // of the run before
	expect(t, b, b.Decide(s, noon), "waits")
}

// R12, R17: a condition that fails keeps what had come back; a retry evaluates it, and begins nothing.
func TestR20AFailedConditionKeepsWhatHasReturned(t *testing.T) {
	p := newModel(t, "b", "i").block("b", "i").control("source -> b", "b/source -> i", "i -> b/sink").
		data("i -> b/sink: n = n").exit("b", "1 / n > 0").prepare()
	b := rowIn(p, "b", "")
	s := folded(t, b, from(t, b, processtable.Source, T, ""))
	kept(t, b, s, b.Decide(s, noon))
	fold(t, b, s, returns(t, b, "b#1", `{}`))
	e := b.Decide(s, noon)
	if e.Outcome.What != behaviour.InError {
		t.Fatalf("it is not in error: %s", show(p, e))
	}
	kept(t, b, s, e)
	r, err := b.Review(s, behaviour.Retry{}, noon)
	if err != nil || r == nil {
		t.Fatalf("a retry evaluates %v, %v", r, err)
	}
	e, err = b.Resume(s, behaviour.Retry{Output: value(t, `{"n": 1}`)}, noon)
	if err != nil || e.Outcome.What != behaviour.Terminated || !e.Ends {
		t.Errorf("with an output it comes to %s, %v", show(p, e), err)
	}
}

// S2, R20: where the transaction that ends a block cannot be done, what had come back is kept.
func TestR20AnUnsentEndKeepsWhatHasReturned(t *testing.T) {
	b := rowIn(looping(t), "b", "")
	s := folded(t, b, from(t, b, processtable.Source, T, `{"n": 4}`))
	kept(t, b, s, b.Decide(s, noon))
	fold(t, b, s, returns(t, b, "b#1", `{"n": 6}`))
	at := kept(t, b, s, b.Unsent(s, nil, "too large", noon))
	if !at.HasOutput || jsonOf(t, at.Output) != `{"n":6,"text":"none","list":[],"inner":{"a":7,"b":""}}` {
		t.Errorf("it keeps %+v", at)
	}
}

// R12, R20: where the block's output cannot be made it is the block that is in error.
func TestR20AnOutputThatCannotBeMadeIsTheBlocksError(t *testing.T) {
	p := looping(t)
	b, sink := rowIn(p, "b", ""), rowIn(p, processtable.Sink, "b")
	s := folded(t, b, from(t, b, processtable.Source, T, `{"n": 4}`))
	kept(t, b, s, b.Decide(s, noon))
	back := returns(t, b, "b#1", "")
	back.Body = message.EncodeReturn(message.Return{Error: "encode the block's output: it takes too much"})
	fold(t, b, s, back)
	expect(t, b, b.Decide(s, noon), "in-error", "to b at H: snapshot",
		"to sink at O: notice cleared=false attempts=0 encode the block's output: it takes too much")
	large := &State{Basis: behaviour.Basis{Entry: message.Entry{Instance: instance, Scope: "b#1", Activity: processtable.Sink}, Origin: origin}}
	m := from(t, sink, "i", T, "")
	m.Scope, m.SourceScope = "b#1", "b#1"
	fold(t, sink, large, m)
	large.Snapshot = &message.Snapshot{Input: []byte{1}} // what cannot be read stands for what cannot be made
	e := sink.Decide(large, noon)
	if r, err := message.DecodeReturn(e.Put[0].Body); err != nil || r.Output != nil || r.Error == "" || !e.Ends || e.Outcome.Reason != r.Error {
		t.Errorf("sink returns %+v, %v", r, err)
	}
}

// R16: source and sink of a block end with their instance, as every entry.
func TestR20SourceAndSinkStop(t *testing.T) {
	p := looping(t)
	for _, name := range []processtable.ActivityID{processtable.Source, processtable.Sink} {
		a := rowIn(p, name, "b")
		s := &State{Basis: behaviour.Basis{Entry: message.Entry{Instance: instance, Scope: "b#1", Activity: name}, Stopped: true}}
		if e := a.Decide(s, noon); !e.Ends || e.Outcome.What != behaviour.Stopped || len(e.Put) > 0 {
			t.Errorf("%s: %s", name, show(p, e))
		}
	}
}

// L5: what begins or returns where nothing does is refused.
func TestR20WhatDoesNotBeginOrReturn(t *testing.T) {
	p := looping(t)
	b, source, i := rowIn(p, "b", ""), rowIn(p, processtable.Source, "b"), rowIn(p, "i", "b")
	begin, back := own(source, message.KindBegin, message.EncodeBegin(message.Begin{})), returns(t, b, "b#1", "")
	other := back
	other.SourceScope = "x#1"
	for _, tc := range []struct {
		to   *Activity
		m    message.Message
		want string
	}{
		{i, begin, "i begins nothing"},
		{rowIn(p, processtable.Source, ""), begin, "source begins nothing"},
		{i, back, `i has begun nothing of which sink in "b#1" could return`},
		{b, other, `b has begun nothing of which sink in "x#1" could return`},
		{source, own(source, message.KindBegin, []byte{1}), "begin of"},
		{b, func() message.Message { m := back; m.Body = []byte{1}; return m }(), "return of b#1"},
	} {
		contains(t, tc.to.Fold(&State{}, tc.m), tc.want)
	}
}
