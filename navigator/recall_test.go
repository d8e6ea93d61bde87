package navigator

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"fmqm/behaviour"
	"fmqm/message"
	"fmqm/processtable"
)

var word = uuid.MustParse("01970000-0000-7000-8000-00000000000f")

// recalledProcess has a, which leads to x and y with data, and x also waits for b; and a has its input from source and from b.
func recalledProcess(t *testing.T) *Process {
	m := newModel(t, "a", "b", "x", "y").at("N", "y").control("source -> b", "b -> a", "a -> x", "b -> x", "a -> y").
		data("source -> a: text = text", "b -> a: n = n", "a -> x: n = n", "a -> y: text = text")
	m.table.Roster = []processtable.Place{{Activity: "a", Node: here}, {Activity: "b", Node: here}, {Activity: "x", Node: here}, {Activity: "y", Node: "N"}}
	return m.prepare()
}

func activityOf(p *Process, name processtable.ActivityID) *Activity {
	return p.activities.Get(processtable.RowID{Name: name})
}

// showRecall is showMessage of a recall, or its answer.
func showRecall(m message.Message) string {
	if m.Kind == message.KindRecalled {
		r, err := message.DecodeRecalled(m.Body)
		said := r.Why
		if r.Taken {
			said = "taken"
		}
		return fmt.Sprintf("answers %d to %s at %s: %s%s", m.Number, m.Activity, m.Queue.Node, said, text(err))
	}
	r, err := message.DecodeRecall(m.Body)
	switch line := fmt.Sprintf("recalls %d to %s at %s%s", m.Number, m.Activity, m.Queue.Node, text(err)); {
	case r.Again:
		return fmt.Sprintf("asks %s at %s", m.Activity, m.Queue.Node)
	case r.Answered:
		return line + ", answered"
	default:
		return line
	}
}

// recallOf is a recall of what source has sent to a, which came as the nth.
func recallOf(a *Activity, source processtable.ActivityID, number uint64, r message.Recall, nth uint64) message.Message {
	return message.Message{Header: message.Header{
		Queue: message.Queue{Process: a.process.table.Process, Node: here}, Definition: a.process.Definition(), Instance: instance, Origin: origin,
		Activity: a.Name, Source: source, Number: number, Kind: message.KindRecall, Clock: 6,
	}, Body: message.EncodeRecall(r), Arrival: message.Arrival{Commit: nth}}
}

// brought is a connector message of an edition, which came as the nth.
func brought(m message.Message, number, nth uint64) message.Message {
	m.Number, m.Arrival = number, message.Arrival{Commit: nth}
	return m
}

// wanted is an operator's restart of a, which has ended with n = 5 and what control says.
func wanted(a *Activity, output []byte, control message.Truth) behaviour.Restart {
	c := behaviour.Restart{
		Iteration: 2, Run: 1, Output: output, Started: noon,
		Wanted: message.Restart{Word: word, By: "alice at B", Why: "wrong tariff", Consumed: []message.Connected{
			{Activity: processtable.Source, Data: message.DataPresent, Clock: 2}, {Activity: "b", Control: message.True, Data: message.DataAbsent, Clock: 3},
		}},
	}
	for _, to := range a.targets {
		at := message.Connected{Activity: to.activity, Node: to.node, Control: control, Data: message.DataPresent, Number: 3}
		c.Wanted.Sent = append(c.Wanted.Sent, at)
	}
	return c
}

// recalling is a's entry once its restart was asked for.
func recallingEntry(t *testing.T, a *Activity) *State {
	t.Helper()
	s := &State{Basis: behaviour.Basis{Entry: message.Entry{Instance: instance, Activity: a.Name}, Origin: origin, Clock: 9}}
	e := a.Conclude(folded(t, a, from(t, a, "b", T, "")), ran(t, 0, `{"n": 5, "text": "five"}`), noon)
	c, err := a.Command(s, wanted(a, e.Outcome.Output, message.True), noon)
	if err != nil {
		t.Fatal(err)
	}
	expect(t, a, c, "recalled", "to a at H: snapshot", "recalls 4 to x at H", "recalls 4 to y at N")
	kept(t, a, s, c)
	if e := a.Decide(s, noon); !e.Waits() {
		t.Errorf("before anybody has answered: %s", show(a.process, e))
	}
	return s
}

// answers folds the answer of a successor into a's entry.
func answersOf(t *testing.T, a *Activity, s *State, from processtable.ActivityID, why string) {
	t.Helper()
	r := recallOf(activityOf(a.process, from), a.Name, 4, message.Recall{}, 0)
	fold(t, a, s, r.Recalled(here, why))
}

// R53, R55: once all have taken out what it had sent, it begins the first iteration of the next run, asks for its connectors, and what
// it sends then is of the new edition.
func TestR55RestartedOnceAllHaveTakenItOut(t *testing.T) {
	p := recalledProcess(t)
	a := activityOf(p, "a")
	s := recallingEntry(t, a)
	answersOf(t, a, s, "x", "")
	if e := a.Decide(s, noon); !e.Waits() {
		t.Errorf("before y has answered: %s", show(p, e))
	}
	if text := a.View(s, noon).Restart; text != "to be restarted, as alice at B wants; no answer yet of y" {
		t.Error(text)
	}
	answersOf(t, a, s, "y", "")
	e := a.Decide(s, noon)
	expect(t, a, e, "restarted", "to a at H: snapshot", "asks source at O", "to a at H: TRUE no data")
	if r := e.Recall; r == nil || !r.Superseded || r.Word != word || r.Answer.Result != message.WordDone || r.Edition != 0 {
		t.Errorf("its end, and its word: %+v", r)
	}
	at := kept(t, a, s, e)
	if at.Run != 2 || at.Iteration != 1 || at.Edition != 4 || at.Restart != nil {
		t.Errorf("it begins with %+v", at)
	}
	fold(t, a, s, e.Put[2])
	if e := a.Decide(s, noon); !e.Waits() {
		t.Errorf("before its input has come: %s", show(p, e))
	}
	fold(t, a, s, from(t, a, processtable.Source, T, `{"text": "once more"}`))
	if e := a.Decide(s, noon); e.Invoke == nil || e.Invoke.Run != 2 || e.Invoke.Input.Fields[1] != "once more" {
		t.Errorf("with its connectors: %s", show(p, e))
	}
	for _, m := range a.Conclude(s, ran(t, 0, `{"n": 6}`), noon).Put {
		if m.Number != 4 {
			t.Errorf("to %s of the edition %d", m.Activity, m.Number)
		}
	}
}

// R56: where one was decided, those who have taken out what it had sent get it back under the new edition, and who answers later too.
func TestR56GivenUpWhereOneWasDecided(t *testing.T) {
	p := recalledProcess(t)
	a := activityOf(p, "a")
	s := recallingEntry(t, a)
	answersOf(t, a, s, "y", "y has been decided on a's result")
	e := a.Decide(s, noon)
	expect(t, a, e, "kept", "to a at H: snapshot")
	r := e.Recall
	if r == nil || r.Superseded || r.Edition != 4 || r.Answer.Text != "restart a: y has been decided on a's result" || r.Answer.Remedy != "start a new instance, or finish y by hand" {
		t.Errorf("its end, and its word: %+v", r)
	}
	kept(t, a, s, e)
	if e := a.Decide(s, noon); !e.Waits() {
		t.Errorf("nobody has answered since: %s", show(p, e))
	}
	answersOf(t, a, s, "x", "")
	e = a.Decide(s, noon)
	expect(t, a, e, "kept, ends", "to x at H: TRUE data 5")
	if e.Put[0].Number != 4 || e.Recall != nil {
		t.Errorf("x gets the edition %d back; its word %+v", e.Put[0].Number, e.Recall)
	}
}

// R56: so it is when it is withdrawn, and cancelled; a marker ends it at once.
func TestR56WithdrawnCancelledAndTerminated(t *testing.T) {
	p := recalledProcess(t)
	a := activityOf(p, "a")
	s := recallingEntry(t, a)
	answersOf(t, a, s, "x", "")
	e, err := a.Command(s, behaviour.Withdraw{By: "bob at C", Why: "a mistake"}, noon)
	if err != nil {
		t.Fatal(err)
	}
	expect(t, a, e, "kept", "to a at H: snapshot")
	kept(t, a, s, e)
	e = a.Decide(s, noon)
	expect(t, a, e, "kept", "to a at H: snapshot", "to x at H: TRUE data 5")
	if e.Recall == nil || e.Recall.Answer.Text != "restart a: its restart was withdrawn by bob at C" {
		t.Errorf("its word: %+v", e.Recall)
	}
	if _, err := a.Command(s, behaviour.Withdraw{By: "bob at C"}, noon); err == nil || !strings.Contains(err.Error(), "it is given up already") {
		t.Errorf("withdrawn twice: %v", err)
	}

	cancelled := recallingEntry(t, a)
	answersOf(t, a, cancelled, "x", "")
	answersOf(t, a, cancelled, "y", "")
	m := own(a, message.KindCancel, message.EncodeCancel(message.Cancel{Reason: "the deadline of all has come"}))
	m.Source = "all"
	fold(t, a, cancelled, m)
	if e := a.Decide(cancelled, noon); !e.Ends || e.Outcome.Reason != "the deadline of all has come" || len(e.Put) != 2 {
		t.Errorf("cancelled: %s", show(p, e))
	}
	stopped := recallingEntry(t, a)
	stopped.Stopped = true
	if e := a.Decide(stopped, noon); !e.Ends || e.Outcome.What != behaviour.Kept || len(e.Put) != 0 {
		t.Errorf("terminated: %s", show(p, e))
	}
}

// R54: what is not decided takes out what is recalled, in one transaction, and waits for the next edition; what is late of the one
// before means nothing.
func TestR54AnUndecidedSuccessorTakesItOut(t *testing.T) {
	p := recalledProcess(t)
	x := activityOf(p, "x")
	s := folded(t, x, brought(from(t, x, "a", T, `{"n": 5}`), 3, 1), recallOf(x, "a", 4, message.Recall{}, 2))
	e := x.Decide(s, noon)
	expect(t, x, e, "recalled", "recalls 4 to x at H, answered", "answers 4 to a at H: taken")
	if !slices.Equal(e.Takes, []message.Key{{Kind: message.KindConnector, Source: "a", Number: 3}}) {
		t.Errorf("it takes %v", e.Takes)
	}
	s.Forget(e.Takes)
	fold(t, x, s, e.Put[0], brought(from(t, x, "b", T, ""), 0, 3), brought(from(t, x, "a", T, `{"n": 5}`), 3, 4))
	if e := x.Decide(s, noon); !e.Waits() || s.Waiting(x) != 2 {
		t.Errorf("with what is late it waits for %d: %s", s.Waiting(x), show(p, e))
	}
	fold(t, x, s, brought(from(t, x, "a", T, `{"n": 7}`), 4, 5))
	if e := x.Decide(s, noon); e.Invoke == nil || e.Invoke.Input.Fields[0] != int64(7) {
		t.Errorf("with the next edition: %s", show(p, e))
	}
}

// R54: by the numbers of the store it is decided or not, whatever is in memory: what came after the recall does not count.
func TestR54DecidedByWhatCameBefore(t *testing.T) {
	p := recalledProcess(t)
	x := activityOf(p, "x")
	first, second := brought(from(t, x, "a", T, `{"n": 5}`), 0, 1), brought(from(t, x, "b", T, ""), 0, 3)
	for nth, want := range map[uint64]string{2: "answers 4 to a at H: taken", 4: "answers 4 to a at H: x has been decided on a's result"} {
		s := folded(t, x, first, second, recallOf(x, "a", 4, message.Recall{}, nth))
		e := x.Decide(s, noon)
		if !strings.Contains(show(p, e), want) || e.Invoke != nil {
			t.Errorf("recalled as number %d: %s", nth, show(p, e))
		}
		if s.Forget(e.Takes); nth == 4 { // it is answered once
			if e := x.Decide(s, noon); e.Invoke == nil || len(e.Put) != 0 {
				t.Errorf("once that was answered: %s", show(p, e))
			}
		}
	}
}

// R54: what is under way stays so: its timers, too.
func TestR54ARecallLeavesTheTimers(t *testing.T) {
	p := recalledProcess(t)
	x, due := activityOf(p, "x"), noon.Add(time.Hour)
	waits := own(x, message.KindSnapshot, message.EncodeSnapshot(message.Snapshot{Iteration: 1, Attempt: 1, LastFailure: "it had no time", Due: due}))
	s := folded(t, x, brought(from(t, x, "a", T, `{"n": 5}`), 0, 1), brought(from(t, x, "b", T, ""), 0, 2), waits, recallOf(x, "a", 4, message.Recall{}, 3))
	e := x.Decide(s, noon)
	if len(e.Timers) != 1 || !e.Timers[0].Due.Equal(due) || !strings.Contains(show(p, e), "has been decided") {
		t.Errorf("its timers are %+v: %s", e.Timers, show(p, e))
	}
}

// R54: what was restarted, is passed around, or begins with the first takes nothing out; what has no entry yet does.
func TestR54WhatStandsInTheWay(t *testing.T) {
	p := recalledProcess(t)
	x := activityOf(p, "x")
	restarted := folded(t, x, own(x, message.KindSnapshot, message.EncodeSnapshot(message.Snapshot{Iteration: 1, Run: 1, Edition: 1})))
	dead := folded(t, x)
	dead.passed = true
	for want, s := range map[string]*State{
		"x is restarted itself": restarted, "x is skipped because of what a has come to": dead, "taken": folded(t, x),
	} {
		fold(t, x, s, recallOf(x, "a", 1, message.Recall{}, 2))
		if e := x.Decide(s, noon); !strings.Contains(show(p, e), "answers 1 to a at H: "+want) {
			t.Errorf("want %s: %s", want, show(p, e))
		}
	}
	if err := x.Fold(folded(t, x), recallOf(x, "y", 1, message.Recall{}, 2)); err == nil {
		t.Error("what leads nowhere here is recalled")
	}
}

// R1, R54: whatever comes in which order, and how often, the state is the same.
func TestR54AnyOrderIsTheSame(t *testing.T) {
	p := recalledProcess(t)
	x := activityOf(p, "x")
	all := []message.Message{
		brought(from(t, x, "a", T, `{"n": 5}`), 0, 1), recallOf(x, "a", 1, message.Recall{Answered: true}, 2), brought(from(t, x, "a", T, `{"n": 6}`), 1, 3),
		recallOf(x, "a", 2, message.Recall{Answered: true}, 4), brought(from(t, x, "b", T, ""), 0, 5), brought(from(t, x, "a", T, `{"n": 7}`), 2, 6),
	}
	rapid.Check(t, func(rt *rapid.T) {
		some := rapid.SliceOfNDistinct(rapid.IntRange(0, len(all)-1), 1, len(all), rapid.ID).Draw(rt, "which")
		orders := [2][]int{some, rapid.Permutation(some).Draw(rt, "order")}
		orders[1] = append(orders[1], rapid.SampledFrom(some).Draw(rt, "again"))
		var got [2]string
		for i, order := range orders {
			s := folded(t, x)
			for _, n := range order {
				fold(t, x, s, all[n])
			}
			keys := make([]string, len(s.Keys))
			for k, key := range s.Keys {
				keys[k] = fmt.Sprint(key)
			}
			slices.Sort(keys)
			got[i] = fmt.Sprint(s.Unresolved(x), s.bytes, keys, len(s.Consumed), show(p, x.Decide(s, noon)))
		}
		if got[0] != got[1] {
			rt.Errorf("%v:\n%s\n%v:\n%s", orders[0], got[0], orders[1], got[1])
		}
	})
}

// R57: what cannot be taken back is refused, with what to do.
func TestR57WhatIsNotRestarted(t *testing.T) {
	p := recalledProcess(t)
	a := activityOf(p, "a")
	for want, change := range map[string]func(*Activity, *behaviour.Restart){
		"it has taken or sent an event":                           func(_ *Activity, c *behaviour.Restart) { c.Events = true },
		"it has cancelled y, which cannot be taken back":          func(a *Activity, _ *behaviour.Restart) { a.Cancels = []processtable.Place{{Activity: "y"}} },
		"it begins with the first of its connectors":              func(a *Activity, _ *behaviour.Restart) { a.First = 1 },
		"nothing that it has sent is known: start a new instance": func(_ *Activity, c *behaviour.Restart) { c.Wanted.Sent = nil },
		"y was skipped because of what it has come to, which": func(a *Activity, c *behaviour.Restart) {
			c.Wanted.Sent[1].Control = message.False
			a.process.detours["y"] = a
		},
		"it is the engine's own: restart an activity, or start a ": func(a *Activity, _ *behaviour.Restart) { a.Kind = processtable.KindSource },
	} {
		row, prepared, process := *a.Activity, *a, *p
		prepared.Activity, prepared.process = &row, &process
		process.detours = map[processtable.ActivityID]*Activity{}
		c := wanted(&prepared, nil, message.True)
		change(&prepared, &c)
		s := &State{Basis: behaviour.Basis{Entry: message.Entry{Instance: instance, Activity: "a"}}}
		if _, err := prepared.Command(s, c, noon); err == nil || !strings.HasPrefix(err.Error(), "restart a: "+want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// N11: only the host of one of two that a connector joins recalls, or answers.
func TestR54WhoMayRecall(t *testing.T) {
	p := recalledProcess(t)
	a := activityOf(p, "a")
	h := recallOf(a, "y", 1, message.Recall{}, 0).Header
	h.Origin = here // which may start it
	for want, change := range map[string]func(*message.Header){
		"": func(h *message.Header) { h.Kind = message.KindRecalled },
		"activity x of p@1 is hosted at H, and the message came from N":                func(h *message.Header) { h.Source = "x" },
		"no connector of p@1 joins y and x, and it is of a recall between them":        func(h *message.Header) { h.Activity = "x" },
		"no connector of p@1 joins y and b, and it is of a recall between them":        func(h *message.Header) { h.Kind, h.Activity = message.KindRecalled, "b" },
		"it says that its instance was started at N, and p@1 may not be started there": func(h *message.Header) { h.Origin = "N" },
	} {
		of := h
		change(&of)
		if got := p.Refuses("N", &of); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
