package navigator

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"fmqm/behaviour"
	"fmqm/container"
	"fmqm/message"
	"fmqm/processtable"
)

// trying is a model with x between a and y, of which a retry is tried.
func trying(t testing.TB) *model {
	return newModel(t, "a", "x", "y", "z").control("a -> x", "x -> y: n > 0", "x -> z: otherwise")
}

// inError gives an entry that folded a's message and then went in error with r.
func inError(t testing.TB, x *Activity, r behaviour.Result) *State {
	t.Helper()
	s := folded(t, x, from(t, x, "a", T, ""))
	if at := kept(t, x, s, x.Conclude(s, r, noon)); !at.Failed || !s.InError() {
		t.Fatalf("not in error: %+v", at)
	}
	return s
}

// R10: a return code other than 0 is data where something reads _RC; elsewhere it is a
// failed attempt.
func TestR10ReturnCode(t *testing.T) {
	x := trying(t).activity("x")
	s := folded(t, x, from(t, x, "a", T, ""))
	expect(t, x, x.Conclude(s, ran(t, 4, `{"n": 1}`), noon), "in-error", "to x at H: snapshot",
		"to sink at O: notice cleared=false attempts=1 return code 4, and no condition or mapping of x reads _RC")
	expect(t, x, x.Conclude(s, ran(t, 0, `{"n": 1}`), noon), "terminated, ends", "to y at H: TRUE", "to z at H: FALSE")

	x = trying(t).set("x", func(row *processtable.Activity) { row.RCIsData = true }).activity("x")
	expect(t, x, x.Conclude(s, ran(t, 4, `{"n": 1}`), noon), "terminated, ends", "to y at H: TRUE", "to z at H: FALSE")
}

// R11: a failed attempt is repeated while attempts are left, after a pause that
// doubles; then the activity is in error, and the origin is told.
func TestR11RetryAndBackoff(t *testing.T) {
	x := trying(t).set("x", func(row *processtable.Activity) {
		row.Retry = processtable.Retry{Attempts: 5, Backoff: processtable.Backoff{After: time.Second, Max: 5 * time.Second}}
	}).activity("x")
	s := folded(t, x, from(t, x, "a", T, ""))
	for i, pause := range []time.Duration{1, 2, 4, 5} {
		pause *= time.Second
		e := x.Conclude(s, failed("no such file"), noon)
		expect(t, x, e, "failed", "timer after "+pause.String(), "to x at H: snapshot")
		at := kept(t, x, s, e)
		if at.Attempt != i+1 || at.LastFailure != "no such file" || at.Failed {
			t.Errorf("snapshot %+v", at)
		}
		if len(e.Timers) != 1 || !e.Timers[0].Due.Equal(noon.Add(pause)) || e.Timers[0].Pause != pause || e.Timers[0].Name != "" {
			t.Errorf("timers %+v, want one of %v", e.Timers, pause)
		}
		for _, now := range []time.Time{noon, noon.Add(pause), noon.Add(-time.Hour), noon.Add(time.Hour)} { // R19
			expect(t, x, x.Decide(s, now), "waits")
		}
		come(t, x, s, noon.Add(pause-1)) // of another pause
		expect(t, x, x.Decide(s, noon), "waits")
		come(t, x, s, noon.Add(pause))
		if next := x.Decide(s, noon).Invoke; next == nil || next.Iteration != 1 || next.Attempt != i+2 || next.Run != 0 {
			t.Errorf("after the pause: %+v", next)
		}
	}
	e := x.Conclude(s, failed("still no such file"), noon)
	expect(t, x, e, "in-error", "to x at H: snapshot", "to sink at O: notice cleared=false attempts=5 still no such file")
	kept(t, x, s, e)
	expect(t, x, x.Decide(s, noon.Add(time.Hour)), "waits")
}

// R11: an attempt after which another must not be made leaves none (P2).
func TestR11AFinalFailureIsNotRepeated(t *testing.T) {
	x := trying(t).set("x", func(row *processtable.Activity) {
		row.Retry = processtable.Retry{Attempts: 5, Backoff: processtable.Backoff{After: time.Second, Max: 5 * time.Second}}
	}).activity("x")
	s := folded(t, x, from(t, x, "a", T, ""))
	r := failed("takes the machine down")
	r.Final = true
	e := x.Conclude(s, r, noon)
	expect(t, x, e, "in-error", "to x at H: snapshot", "to sink at O: notice cleared=false attempts=1 takes the machine down")
	kept(t, x, s, e)
	expect(t, x, x.Decide(s, noon.Add(time.Hour)), "waits")
}

// R11: the attempts are those of one iteration.
func TestR11EachIterationHasItsAttempts(t *testing.T) {
	x := trying(t).exit("x", "n > 5").set("x", func(row *processtable.Activity) { row.Retry.Attempts = 2 }).activity("x")
	s := folded(t, x, from(t, x, "a", T, ""))
	for range 4 {
		if at := kept(t, x, s, x.Conclude(s, failed("once"), noon)); at.Failed || at.Attempt != 1 {
			t.Fatalf("first failure of an iteration: %+v", at)
		}
		if at := kept(t, x, s, x.Conclude(s, ran(t, 0, `{"n": 1}`), noon)); at.Attempt != 0 || at.LastFailure != "" {
			t.Fatalf("next iteration: %+v", at)
		}
	}
}

// R12: a condition that fails puts the activity in error; none of its connectors is
// sent. The output is kept: a retry evaluates again without running the program.
func TestR12ConditionThatFails(t *testing.T) {
	for _, tc := range []struct {
		name  string
		model func(*model)
		want  string
	}{
		{"exit condition", func(m *model) { m.exit("x", "10 / n > 1") }, `exit condition "10 / n > 1": evaluate condition "10 / n > 1": division by zero: check first that the divisor is not 0, as in d != 0 && n / d > 2`},
		{
			"transition condition", func(m *model) { m.control("x -> sink: list[3] == 1") },
			`transition condition "list[3] == 1" to sink: evaluate condition "list[3] == 1": index out of bounds: 3: check the length first, as in size(lines) > 2 && lines[2] == "x"`,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m := trying(t)
			tc.model(m)
			x := m.activity("x")
			s := folded(t, x, from(t, x, "a", T, ""))
			e := x.Conclude(s, ran(t, 0, `{"text": "kept"}`), noon)
			expect(t, x, e, "in-error", "to x at H: snapshot", "to sink at O: notice cleared=false attempts=0 "+tc.want)
			at := kept(t, x, s, e)
			if !at.HasOutput || jsonOf(t, at.Output) != `{"n":0,"text":"kept","list":[],"inner":{"a":7,"b":""}}` || at.Error != tc.want {
				t.Errorf("kept %+v", at)
			}
			again, err := x.Resume(s, behaviour.Retry{}, noon)
			if err != nil || again.Invoke != nil || again.Outcome.What != behaviour.InError {
				t.Errorf("a retry must evaluate again: %s, %v", show(x.process, again), err)
			}
		})
	}
}

// R12, R17: the table is the same but the evaluation is not for ever: with the
// condition's data mended by a kept return code, the same output goes on.
func TestR12RetryGoesOnFromTheOutput(t *testing.T) {
	x := trying(t).set("x", func(row *processtable.Activity) { row.RCIsData = true }).activity("x")
	s := folded(t, x, from(t, x, "a", T, ""))
	r := ran(t, 6, `{"n": 2}`)
	kept(t, x, s, x.Unsent(s, &r, "transaction too large", noon)) // a full disk may have room later
	e, err := x.Resume(s, behaviour.Retry{}, noon)
	if err != nil {
		t.Fatal(err)
	}
	expect(t, x, e, "terminated, ends", "to y at H: TRUE", "to z at H: FALSE", "to sink at O: notice cleared=true attempts=0 ")
	if e.Outcome.RC != 6 || !e.Outcome.Started.Equal(noon) {
		t.Errorf("outcome %+v", e.Outcome)
	}
}

// R12: what cannot be encoded is like a condition that fails; nothing is kept of it,
// so a retry runs the program again.
func TestR12OutputOverTheLimit(t *testing.T) {
	x := trying(t).activity("x")
	s := folded(t, x, from(t, x, "a", T, ""))
	r := ran(t, 0, "")
	r.Output.Fields[1] = strings.Repeat("x", container.MaxEncoded)
	at := kept(t, x, s, x.Conclude(s, r, noon))
	if at.HasOutput || !strings.Contains(at.Error, "over 1048576 bytes") {
		t.Errorf("kept %.200v", at)
	}
	e, err := x.Resume(s, behaviour.Retry{}, noon)
	if err != nil || e.Outcome.What != behaviour.Retried {
		t.Errorf("retry: %s, %v", show(x.process, e), err)
	}
}

// R9: values that are each within the limit of a container may together be more than a message
// carries. No such message is put: it would stop the node, at each start anew.
func TestR9MoreThanAMessageCarries(t *testing.T) {
	m := newModel(t, "x", "y").control("source -> x", "x -> y", "y -> sink")
	const to = "text = text"
	m.data("source -> y: "+strings.Repeat(to+", ", 8)+to, "x -> y: "+strings.Repeat(to+", ", 8)+to)
	p := m.prepare()
	const want = "data for y: its mappings bring 9000046 bytes together, and a message carries at most 8388608"
	r := ran(t, 0, "")
	r.Output.Fields[1] = strings.Repeat("x", 1_000_000)
	x := p.activities.Get(processtable.RowID{Name: "x"})
	s := folded(t, x, from(t, x, processtable.Source, T, ""))
	if at := kept(t, x, s, x.Conclude(s, r, noon)); !at.Failed || !at.HasOutput || at.Error != want {
		t.Errorf("kept %.300v", at.Error)
	}
	if e, err := x.Resume(s, behaviour.Retry{Output: ran(t, 0, "").Output}, noon); err != nil || e.Outcome.What != behaviour.Terminated {
		t.Errorf("retry with an output: %s, %v", show(p, e), err)
	}
	_, err := p.Start(behaviour.Start{Instance: instance, Input: r.Output, Now: noon})
	contains(t, err, "start p@1: "+want)
}

// R5: sources that are each within the limit may be over it together. That is an error
// before the program is run, with the reason; a retry with an output goes on.
func TestR5InputOverTheLimit(t *testing.T) {
	text := func(n int) string { return fmt.Sprintf(`{"text": %q}`, strings.Repeat("a", n)) }
	for _, tc := range []struct {
		text, b int
		want    string
	}{
		{container.MaxEncoded / 2, container.MaxEncoded/2 - 100, ""},
		{container.MaxEncoded / 2, container.MaxEncoded / 2, "input container of x, of the data that was mapped to it: the encoded container has over 1048576 bytes"},
	} {
		for _, kind := range []processtable.Kind{processtable.KindProgram, processtable.KindEmpty} {
			m := newModel(t, "a", "b", "x").control("source -> a", "source -> b", "a -> x", "b -> x", "x -> sink").
				data("a -> x: text = text", "b -> x: inner.b = text")
			if kind == processtable.KindEmpty {
				m.empty("x")
			}
			x := m.activity("x")
			s := folded(t, x, from(t, x, "a", T, text(tc.text)), from(t, x, "b", T, text(tc.b)))
			e := x.Decide(s, noon)
			if tc.want == "" {
				if e.Outcome.What == behaviour.InError {
					t.Errorf("%d and %d bytes: %s", tc.text, tc.b, e.Outcome.Reason)
				}
				continue
			}
			if e.Invoke != nil || e.Outcome.What != behaviour.InError || !strings.Contains(e.Outcome.Reason, tc.want) {
				t.Fatalf("%s: %.200s", show(x.process, e), e.Outcome.Reason)
			}
			kept(t, x, s, e)
			if e, err := x.Resume(s, behaviour.Retry{Output: ran(t, 0, "").Output}, noon); err != nil || e.Outcome.What != behaviour.Terminated {
				t.Errorf("retry with an output: %s, %v", show(x.process, e), err)
			}
		}
	}
}

// R13: while _RC is not 0 the next iteration waits after the third quick one.
func TestR13PausesBetweenQuickIterations(t *testing.T) {
	x := trying(t).exit("x", "_RC == 0").set("x", func(row *processtable.Activity) {
		row.Again = processtable.Backoff{After: 2 * time.Second, Max: 6 * time.Second}
	}).activity("x")
	s := folded(t, x, from(t, x, "a", T, ""))
	quick := ran(t, 1, "")
	for i, pause := range []time.Duration{0, 0, 2, 4, 6, 6} {
		pause *= time.Second
		e := x.Conclude(s, quick, noon)
		var want []behaviour.Timer
		if pause > 0 {
			want = []behaviour.Timer{{Due: noon.Add(pause), Pause: pause}}
		}
		if !slices.Equal(e.Timers, want) {
			t.Errorf("after iteration %d: timers %v, want a pause of %v", i+1, e.Timers, pause)
		}
		kept(t, x, s, e)
		if pause > 0 { // R19
			expect(t, x, x.Decide(s, noon.Add(time.Hour)), "waits")
			come(t, x, s, noon.Add(pause))
			if x.Decide(s, noon).Invoke == nil {
				t.Error("the pause does not end")
			}
		}
	}
	slow := quick
	slow.Ended = slow.Started.Add(2 * time.Second)
	e := x.Conclude(s, slow, noon)
	expect(t, x, e, "iterated", "to x at H: snapshot") // a slow one begins anew
	if at := kept(t, x, s, e); at.Quick != 0 {
		t.Errorf("snapshot %+v", at)
	}
}

func TestR13NoPauseWhileReturnCodeIsZero(t *testing.T) {
	x := trying(t).exit("x", "n > 5").activity("x")
	s := folded(t, x, from(t, x, "a", T, ""))
	for range 9 {
		e := x.Conclude(s, ran(t, 0, ""), noon)
		expect(t, x, e, "iterated", "to x at H: snapshot")
		kept(t, x, s, e)
	}
}

// R13: past max_iterations the activity is in error.
func TestR13MaxIterations(t *testing.T) {
	x := trying(t).exit("x", "n > 5").set("x", func(row *processtable.Activity) { row.MaxIterations = 3 }).activity("x")
	s := folded(t, x, from(t, x, "a", T, ""))
	for i := range 2 {
		if at := kept(t, x, s, x.Conclude(s, ran(t, 0, ""), noon)); at.Iteration != i+2 {
			t.Fatalf("snapshot %+v", at)
		}
	}
	e := x.Conclude(s, ran(t, 0, ""), noon)
	expect(t, x, e, "in-error", "to x at H: snapshot",
		`to sink at O: notice cleared=false attempts=0 exit condition "n > 5" still FALSE after 3 iterations (max_iterations)`)
	if at := kept(t, x, s, e); !at.HasOutput {
		t.Errorf("the program had ended, and its output is not kept: %+v", at)
	}

	e, err := x.Resume(s, behaviour.Retry{}, noon) // R17: the program runs again, fed nothing back
	if err != nil {
		t.Fatal(err)
	}
	kept(t, x, s, e)
	if call := x.Decide(s, noon).Invoke; call == nil || call.Iteration != 3 || call.Run != 1 || call.Attempt != 1 {
		t.Errorf("after the retry: %+v", call)
	}
	expect(t, x, x.Conclude(s, ran(t, 0, `{"n": 6}`), noon), "terminated, ends", "to y at H: TRUE", "to z at H: FALSE")
}

// R17: a retry runs the program under a new run number, which is the only thing that
// changes its idempotency key (P1).
func TestR17RetryRunsAgain(t *testing.T) {
	x := trying(t).set("x", func(row *processtable.Activity) { row.Retry.Attempts = 2 }).activity("x")
	s := folded(t, x, from(t, x, "a", T, ""))
	kept(t, x, s, x.Conclude(s, failed("one"), noon))
	kept(t, x, s, x.Conclude(s, failed("two"), noon))
	for run := 1; run < 4; run++ {
		e, err := x.Resume(s, behaviour.Retry{}, noon)
		if err != nil {
			t.Fatal(err)
		}
		expect(t, x, e, "retried", "to x at H: snapshot", "to sink at O: notice cleared=true attempts=0 ")
		kept(t, x, s, e)
		if call := x.Decide(s, noon).Invoke; call == nil || call.Run != run || call.Attempt != 1 || call.Iteration != 1 {
			t.Fatalf("run %d: %+v", run, call)
		}
		kept(t, x, s, x.Conclude(s, failed("one again"), noon))
		if at := kept(t, x, s, x.Conclude(s, failed("two again"), noon)); !at.Failed || at.Run != run {
			t.Fatalf("run %d: all attempts are used, and %+v", run, at)
		}
	}
}

// R17: the operator's output takes the place of the program's, with _RC 0.
func TestR17RetryWithOutput(t *testing.T) {
	x := trying(t).data("x -> y: text = text, n = _RC").activity("x")
	s := inError(t, x, failed("no such file"))
	e, err := x.Resume(s, behaviour.Retry{Output: value(t, `{"n": 1, "text": "by hand"}`)}, noon)
	if err != nil {
		t.Fatal(err)
	}
	expect(t, x, e, "terminated, ends", `to y at H: TRUE data "by hand" 0`, "to z at H: FALSE", "to sink at O: notice cleared=true attempts=0 ")
	if !s.InError() {
		t.Error("the entry itself changes only with the transaction")
	}
}

// R17: what was judged beforehand counts for that result only.
func TestR17JudgedBeforehand(t *testing.T) {
	x := trying(t).data("x -> y: text = text, n = _RC").activity("x")
	s := inError(t, x, failed("no such file"))
	if r, err := x.Review(s, behaviour.Retry{}, noon); r != nil || err != nil {
		t.Errorf("a retry that runs the program evaluates %+v, %v", r, err)
	}
	byHand := value(t, `{"n": 1, "text": "by hand"}`)
	r, err := x.Review(s, behaviour.Retry{Output: byHand}, noon)
	if err != nil || r == nil {
		t.Fatal(r, err)
	}
	r.Judged = x.Judge(r)
	for _, other := range []*container.Struct{nil, value(t, `{"n": 2, "text": "by hand"}`)} {
		if _, err := x.Resume(s, behaviour.Retry{Output: other, Reviewed: r}, noon); !errors.Is(err, behaviour.ErrReviewed) {
			t.Errorf("another retry takes what was judged: %v", err)
		}
	}
	e, err := x.Resume(s, behaviour.Retry{Output: byHand, Reviewed: r}, noon)
	if err != nil {
		t.Fatal(err)
	}
	expect(t, x, e, "terminated, ends", `to y at H: TRUE data "by hand" 0`, "to z at H: FALSE", "to sink at O: notice cleared=true attempts=0 ")
}

// R17: also the operator's output is held against the exit condition.
func TestR17OutputThatDoesNotEnd(t *testing.T) {
	x := trying(t).exit("x", "n > 5").data("x -> x: n = n").activity("x")
	s := inError(t, x, failed("no such file"))
	e, err := x.Resume(s, behaviour.Retry{Output: value(t, `{"n": 4}`)}, noon)
	if err != nil {
		t.Fatal(err)
	}
	expect(t, x, e, "iterated", "to x at H: snapshot", "to sink at O: notice cleared=true attempts=0 ")
	kept(t, x, s, e)
	expect(t, x, x.Decide(s, noon), `invokes iteration 2 attempt 1 run 0: {"n":4,"text":"none","list":[],"inner":{"a":7,"b":""}}`)
}

func TestR17Refusals(t *testing.T) {
	x := trying(t).activity("x")
	_, err := x.Resume(folded(t, x, from(t, x, "a", T, "")), behaviour.Retry{}, noon)
	contains(t, err, "retry x: it is not in error")

	sink := trying(t).activity(processtable.Sink)
	s := folded(t, sink, own(sink, message.KindSnapshot, message.EncodeSnapshot(message.Snapshot{Iteration: 1, Failed: true})))
	_, err = sink.Resume(s, behaviour.Retry{Output: value(t, "")}, noon)
	contains(t, err, "retry sink: it has no output: retry it without one")
	e, err := sink.Resume(s, behaviour.Retry{}, noon)
	if err != nil {
		t.Fatal(err)
	}
	expect(t, sink, e, "retried", "to sink at H: snapshot") // nobody else need be told

	broken := message.EncodeSnapshot(message.Snapshot{Iteration: 1, Failed: true, HasOutput: true, Output: []byte{0}})
	_, err = x.Resume(folded(t, x, own(x, message.KindSnapshot, broken)), behaviour.Retry{}, noon)
	contains(t, err, "retry x: read its output: ")
}

// N1, R15: sink in error is told to nobody: it is where one would be told.
func TestSinkInError(t *testing.T) {
	sink := newModel(t, "a", "b").control("a -> sink", "b -> sink").data("a -> sink: text = text", "b -> sink: inner.b = text").activity(processtable.Sink)
	half := `{"text": "` + strings.Repeat("x", container.MaxEncoded/2) + `"}`
	s := folded(t, sink, from(t, sink, "a", T, half), from(t, sink, "b", T, half),
		own(sink, message.KindRecord, message.EncodeRecord(message.Record{Process: sink.process.table.Process, Started: noon})))
	e := sink.Decide(s, noon)
	expect(t, sink, e, "in-error", "to sink at H: snapshot")
	if at := kept(t, sink, s, e); !strings.HasPrefix(at.Error, "encode the process's output: ") {
		t.Errorf("kept %+v", at)
	}
}

// R6: an input that was kept and cannot be read any more is no defaults.
func TestKeptInputThatCannotBeRead(t *testing.T) {
	x := trying(t).exit("x", "n > 5").activity("x")
	s := folded(t, x, from(t, x, "a", T, ""), own(x, message.KindSnapshot, message.EncodeSnapshot(message.Snapshot{Iteration: 4, Input: []byte{0}})))
	if at := kept(t, x, s, x.Decide(s, noon)); !strings.HasPrefix(at.Error, "read the input that iteration 4 was given: ") {
		t.Errorf("kept %+v", at)
	}
	s = folded(t, x, from(t, x, "a", T, ""), own(x, message.KindSnapshot, message.EncodeSnapshot(message.Snapshot{Iteration: 4, Input: []byte{0}})))
	if at := kept(t, x, s, x.Conclude(s, ran(t, 0, ""), noon)); !at.HasOutput || !strings.HasPrefix(at.Error, "read the input that iteration 4 was given: ") {
		t.Errorf("kept %+v", at)
	}
}

// Invariant 3: a transaction that is too large puts the entry in error: with the
// output if the program had ended, else for a retry to run it.
func TestUnsent(t *testing.T) {
	x := trying(t).activity("x")
	good, bad := ran(t, 0, ""), failed("no such file")
	for _, tc := range []struct {
		r      *behaviour.Result
		output bool
	}{{&good, true}, {&bad, false}, {nil, false}} {
		s := folded(t, x, from(t, x, "a", T, ""))
		if at := kept(t, x, s, x.Unsent(s, tc.r, "too large", noon)); at.HasOutput != tc.output || at.Error != "too large" {
			t.Errorf("kept %+v", at)
		}
	}
}

// L5: which message broke an entry is known by its snapshot's code, whatever the text
// says. One of version 1 has none: who waits for connectors has no other cause.
func TestL5WhatBrokeAnEntry(t *testing.T) {
	x := newModel(t, "a", "b", "x").control("a -> x", "b -> x", "x -> sink").activity("x")
	a, b := from(t, x, "a", T, ""), from(t, x, "b", T, "")
	s := &State{Basis: behaviour.Basis{Entry: message.Entry{Instance: instance, Activity: "x"}}}
	if x.BrokenBy(s, a) {
		t.Error("an entry that is not in error is broken")
	}
	kept(t, x, s, x.Refused(s, a, "no good", noon))
	for _, text := range []string{s.Snapshot.Error, "other words", "message from b was refused: so it says"} {
		s.Snapshot.Error = text
		if !x.BrokenBy(s, a) || x.BrokenBy(s, b) {
			t.Errorf("%q: broken by a %v, by b %v", text, x.BrokenBy(s, a), x.BrokenBy(s, b))
		}
	}
	s.Snapshot.Cause, s.Snapshot.Source = message.CauseUnknown, ""
	if !x.BrokenBy(s, a) || !x.BrokenBy(s, b) {
		t.Error("a snapshot of version 1 is healed by none")
	}
	kept(t, x, s, x.Unsent(s, nil, "too large", noon))
	if at := s.Snapshot; at.Cause != message.CauseUnsent || at.Source != "" || x.BrokenBy(s, a) {
		t.Errorf("snapshot %+v", at)
	}
}

// L5: a message that does not fit puts its target in error, with the reason, also
// where it is the first of its entry; a retry then waits for what is missing, and the
// start condition is asked as ever.
func TestL5Refused(t *testing.T) {
	x := newModel(t, "a", "b", "x").control("a -> x", "b -> x", "x -> sink").activity("x")
	s := &State{Basis: behaviour.Basis{Entry: message.Entry{Instance: instance, Activity: "x"}}}
	bad := from(t, x, "a", T, "")
	bad.Definition = processtable.ShortHash{9}
	err := x.Fold(s, bad)
	contains(t, err, "message from a is of definition 0900000000000000, the table of p@1 here of 0102030000000000: the sites were given different definitions")
	e := x.Refused(s, bad, err.Error(), noon)
	expect(t, x, e, "in-error", "to x at H: snapshot", "to sink at O: notice cleared=false attempts=0 message from a was refused: "+err.Error())
	if e.Put[0].Entry() != (message.Entry{Instance: instance, Activity: "x"}) {
		t.Errorf("snapshot of %+v", e.Put[0].Entry())
	}
	kept(t, x, s, e)
	e, err = x.Resume(s, behaviour.Retry{}, noon)
	if err != nil {
		t.Fatal(err)
	}
	kept(t, x, s, e)
	expect(t, x, x.Decide(s, noon), "waits")
	fold(t, x, s, from(t, x, "a", T, ""), from(t, x, "b", F, ""))
	expect(t, x, x.Decide(s, noon), "skipped, ends", "to sink at O: FALSE") // R3
}
