package navigator

import (
	"errors"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"fmqm/behaviour"
	"fmqm/container"
	"fmqm/message"
	"fmqm/processtable"
)

// hand is what an operator gives: an output, or none to skip.
func hand(t testing.TB, output string) behaviour.ByHand {
	h := behaviour.ByHand{By: "alice at B", Why: "done on paper"}
	if output != "" {
		h.Output = value(t, output)
	}
	return h
}

// byHand carries a hand out.
func byHand(t testing.TB, x *Activity, s *State, h behaviour.ByHand) behaviour.Effects {
	t.Helper()
	e, err := x.Command(s, h, noon)
	if err != nil {
		t.Fatal(err)
	}
	if (e.Ends || e.Outcome.What == behaviour.Cancelling) && (e.Outcome.By != "alice at B" || e.Outcome.Reason != "done on paper") {
		t.Errorf("it was by %q, for %q", e.Outcome.By, e.Outcome.Reason)
	}
	return e
}

// R50: what runs is ended with the operator's output, whatever its exit condition says of it.
func TestR50FinishedWhileItRuns(t *testing.T) {
	x := newModel(t, "x", "y", "z").control("source -> x", "x -> y: n > 5", "x -> z: otherwise").data("x -> y: n = n").
		exit("x", "n > 100").activity("x")
	s := folded(t, x, from(t, x, processtable.Source, T, ""))
	h := hand(t, `{"n": 7}`)
	h.Started = noon.Add(-time.Minute)
	e := byHand(t, x, s, h)
	expect(t, x, e, "terminated, ends", "to y at H: TRUE data 7", "to z at H: FALSE")
	if !e.Outcome.Started.Equal(h.Started) || e.Outcome.RC != 0 || e.Outcome.TimedOut {
		t.Errorf("its end is told as %+v", e.Outcome)
	}
	expect(t, x, byHand(t, x, s, hand(t, "")), "skipped, ends", "to y at H: FALSE no data", "to z at H: FALSE")
}

// R50: in a pause between two attempts, and in error, which its origin is told is over; the iteration is that which it had
// come to.
func TestR50InAPauseAndInError(t *testing.T) {
	x := trying(t).set("x", func(row *processtable.Activity) { row.Retry.Attempts = 2 }).activity("x")
	s := folded(t, x, from(t, x, "a", T, ""))
	kept(t, x, s, x.Conclude(s, failed("one"), noon))
	if e := byHand(t, x, s, hand(t, `{"n": 6}`)); !e.Ends || len(e.Timers) > 0 || e.Outcome.What != behaviour.Terminated {
		t.Errorf("in a pause: %s", show(x.process, e))
	}
	kept(t, x, s, x.Conclude(s, failed("two"), noon))
	for _, output := range []string{"", `{"n": 6}`} {
		e := byHand(t, x, s, hand(t, output))
		if last := e.Put[len(e.Put)-1]; !e.Ends || last.Kind != message.KindNotice {
			t.Errorf("in error, with %q: %s", output, show(x.process, e))
		}
	}
}

// R50: what follows from the output is evaluated before anything is done: where it fails nothing has changed.
func TestR50AConditionThatFailsRefusesTheHand(t *testing.T) {
	x := newModel(t, "x", "y").control("source -> x", "x -> y: 1 / n > 0").activity("x")
	s := folded(t, x, from(t, x, processtable.Source, T, ""))
	_, err := x.Command(s, hand(t, `{"n": 0}`), noon)
	contains(t, err, `finish x: transition condition "1 / n > 0" to y`)
	if s.Snapshot != nil || s.InError() {
		t.Errorf("it has changed: %+v", s.Snapshot)
	}
	h := hand(t, `{"n": 1}`)
	r, err := x.Review(s, h, noon)
	if err != nil {
		t.Fatal(err)
	}
	r.Judged = x.Judge(r)
	if _, err := x.Command(s, hand(t, `{"n": 2}`).With(r), noon); !errors.Is(err, behaviour.ErrReviewed) {
		t.Errorf("another output takes what was judged: %v", err)
	}
	if e, err := x.Command(s, h.With(r), noon); err != nil || !e.Ends {
		t.Errorf("judged beforehand it comes to %s, %v", show(x.process, e), err)
	}
}

// R50: what cannot be ended says why, and what to do.
func TestR50WhatTakesNoHand(t *testing.T) {
	p := newModel(t, "a", "x", "y").control("source -> a", "source -> x", "a -> x", "x -> y").start("x", "source && a").prepare()
	x, sink := p.activities.Get(processtable.RowID{Name: "x"}), p.activities.Get(processtable.RowID{Name: processtable.Sink})
	undecided := folded(t, x, from(t, x, processtable.Source, T, ""))
	dead := folded(t, x, from(t, x, processtable.Source, T, ""), from(t, x, "a", F, ""))
	stopped := folded(t, x, from(t, x, processtable.Source, T, ""), from(t, x, "a", T, ""))
	stopped.Stopped = true
	for what, tc := range map[string]struct {
		a    *Activity
		s    *State
		want string
	}{
		"undecided": {x, undecided, "finish x: it is not decided whether it runs: it waits for a: finish or skip that"},
		"decided":   {x, dead, "finish x: it is just being decided: see how it stands, and try again"},
		"stopped":   {x, stopped, "finish x: the instance is terminated"},
		"sink":      {sink, folded(t, sink), "finish sink: it is the engine's own: finish or skip an activity, or terminate the instance"},
	} {
		if _, err := tc.a.Command(tc.s, hand(t, `{"n": 1}`), noon); text(err) != tc.want {
			t.Errorf("%s: %v, want %s", what, err, tc.want)
		}
	}
	_, err := sink.Command(folded(t, sink), hand(t, ""), noon)
	contains(t, err, "skip sink: it is the engine's own")
}

// R50: what is inside of a block is cancelled with it, and what comes back of it is for nobody.
func TestR50ABlockEndsWithWhatIsInside(t *testing.T) {
	p := catching(t)
	b := rowIn(p, "b", "")
	for output, want := range map[string]string{`{"n": 9}`: "terminated, ends", "": "skipped, ends"} {
		s := begunBlock(t, b)
		e := byHand(t, b, s, hand(t, output))
		if got := show(p, e); !strings.HasPrefix(got, want) {
			t.Errorf("with %q it comes to %s", output, got)
		}
		cancels := 0
		for _, m := range e.Put {
			if m.Kind == message.KindCancel && m.Scope == "b#1" {
				cancels++
			}
		}
		if cancels != len(b.inside) || cancels == 0 {
			t.Errorf("%d of %d inside are cancelled", cancels, len(b.inside))
		}
	}
}

// R50: where too much is inside for one transaction the snapshot says that it is being ended, and Decide goes on with
// that, whatever has come meanwhile.
func TestR50ManyInsideEndInSteps(t *testing.T) {
	p := catching(t)
	b := rowIn(p, "b", "")
	for len(b.inside) < cancelBatch+10 {
		b.inside = append(b.inside, target{activity: "i", node: here})
	}
	for _, output := range []string{`{"n": 9}`, ""} {
		s := begunBlock(t, b)
		first := byHand(t, b, s, hand(t, output))
		if first.Ends || first.Outcome.What != behaviour.Cancelling {
			t.Fatalf("the first step is %v", first.Outcome)
		}
		if at := kept(t, b, s, first); at.Hand == nil || at.Cancelled != cancelBatch {
			t.Fatalf("the snapshot says %+v", at)
		}
		if _, err := b.Command(s, hand(t, output), noon); err == nil || !strings.Contains(err.Error(), "alice at B ends it already") {
			t.Errorf("once more: %v", err)
		}
		came := own(b, message.KindReturn, message.EncodeReturn(message.Return{Output: first.Put[0].Body}))
		came.Source, came.SourceScope = processtable.Sink, "b#1"
		fold(t, b, s, came)
		last := b.Decide(s, noon)
		if !last.Ends || last.Outcome.By != "alice at B" || (last.Outcome.What == behaviour.Skipped) != (output == "") {
			t.Fatalf("the last step is %+v", last.Outcome)
		}
		if n := len(first.Put) + len(last.Put); n < len(b.inside) {
			t.Errorf("%d of %d inside were told", n, len(b.inside))
		}
	}
}

// R50: an element that is finished has its result, one that is skipped has failed.
func TestR50ElementsOfABundle(t *testing.T) {
	plainly(t, plan{parallel: 3}, 4, doubled(1, 3), func(t *rapid.T, p *place) {
		for scope, output := range map[message.Scope]*container.Struct{"count[1]": container.New(counted), "count[3]": nil} {
			e := message.Entry{Instance: instance, Scope: scope, Activity: "count"}
			one, s := p.state(e)
			effects, err := one.Command(s, behaviour.ByHand{Output: output, By: "alice at B"}, noon)
			if err != nil || !effects.Ends {
				t.Fatalf("hand on %s: %v", scope, err)
			}
			delete(p.queue, e)
			p.ended[e] = effects
			p.put(effects.Put)
			p.run()
		}
		if got := p.output(); !strings.Contains(got, `"_DONE":4,"_FAILED":1`) || len(p.queue) > 0 {
			t.Errorf("it comes to %s, and leaves %v", got, p.queue)
		}
	})
}

// R17: a retry may bring another input: the program runs with it, also where it had ended and a condition failed.
func TestR17RetryWithAnotherInput(t *testing.T) {
	x := trying(t).activity("x")
	s := folded(t, x, from(t, x, "a", T, ""))
	kept(t, x, s, x.failEvaluated(s, new(ran(t, 0, `{"n": 2}`)), "a condition", noon))
	e, err := x.Resume(s, behaviour.Retry{Input: value(t, `{"n": 77}`)}, noon)
	if err != nil {
		t.Fatal(err)
	}
	kept(t, x, s, e)
	if call := x.Decide(s, noon).Invoke; call == nil || call.Run != 1 || call.Input.Get(container.Path{0}) != int64(77) {
		t.Errorf("it runs as %+v", call)
	}
	_, err = x.Resume(inError(t, x, failed("one")), behaviour.Retry{Input: value(t, ""), Output: value(t, "")}, noon)
	contains(t, err, "give an input, with which it runs again, or an output")
}
