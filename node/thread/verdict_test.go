package thread

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fmqm/behaviour"
	"fmqm/container"
	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue/commit"
	"fmqm/queue/record"
)

// fromAfar has an activity y at A with two predecessors at B, of which one sends data.
const fromAfar = `starts: [A]
structures:
  N: {n: int}
activities:
  far: {node: B, program: p, output: N}
  other: {node: B, program: p}
  y: {node: A, program: y, input: N, output: N, start: any}
control:
  - far -> y
  - other -> y
data:
  - far -> y
`

// far is the message that fits from far to y, with 7.
func (w *world) far() message.Message {
	w.t.Helper()
	body, err := container.EncodeValues([]container.Value{int64(7)})
	if err != nil {
		w.t.Fatal(err)
	}
	m := w.to("y", message.KindConnector, "far")
	m.Control, m.Data, m.Body, m.Clock = message.True, message.DataPresent, body, 5
	return m
}

// other is the message from other to y.
func (w *world) other(c message.Truth) message.Message {
	m := w.to("y", message.KindConnector, "other")
	m.Control, m.Clock = c, 5
	return m
}

// foreign makes a message one of another definition: it is refused.
func foreign(m message.Message) message.Message {
	m.Definition[0]++
	return m
}

// said is an operator's word about a refused message.
type said struct {
	site *site
	word Token
}

// judges gives the machine an operator's word about a message; the transaction is still to be
// committed.
func (s *site) judges(number uint64, drop bool) *said {
	s.world.t.Helper()
	i := s.store.setAside(number)
	if i < 0 {
		s.world.t.Fatalf("nothing is set aside under %d: %v", number, s.store.aside)
	}
	v := Verdict{Number: number, Drop: drop, Why: "as agreed"}
	var err error
	if v.Message, err = message.Decode(s.store.aside[i].Message); err != nil {
		s.world.t.Fatal(err)
	}
	for _, a := range s.store.aside {
		if m, err := message.Decode(a.Message); err == nil {
			v.Others = append(v.Others, behaviour.Refuse{Message: m, Reason: a.Reason})
		}
	}
	return &said{s, s.say(func(word Token) Event { return Judge{word, v} })}
}

// expect compares what has become of it.
func (s *said) expect(t *testing.T, want Code, text string) {
	t.Helper()
	switch got, answered := s.site.answers[s.word]; {
	case !answered:
		t.Errorf("it was not answered, want %d", want)
	case got.Code != want || !strings.Contains(got.Text, text):
		t.Errorf("answered with %d %q, want %d %q", got.Code, got.Text, want, text)
	}
}

// events are those of an activity, in order.
func (w *world) events(activity processtable.ActivityID) (out []string) {
	for _, a := range w.sites[0].store.audits {
		if a.Activity == activity {
			out = append(out, strings.TrimSpace(eventNames[a.Event]+" "+a.Reason))
		}
	}
	return out
}

var eventNames = map[record.Event]string{
	record.EventInError: "in-error", record.EventRetried: "retried", record.EventForced: "forced", record.EventDropped: "dropped",
	record.EventStarted: "started", record.EventEnded: "ended", record.EventIterated: "iterated", record.EventFailed: "failed",
	record.EventTerminated: "terminated", record.EventSkipped: "skipped", record.EventStopped: "stopped", record.EventPassed: "passed",
	record.EventAsked: "asked", record.EventAnswered: "answered", record.EventBegun: "begun", record.EventReturned: "returned",
	record.EventDecided: "decided", record.EventRaced: "raced", record.EventNotified: "notified", record.EventThinned: "thinned",
	record.EventCancelled: "cancelled", record.EventCancelling: "cancelling",
	record.EventOffered: "offered", record.EventClaimed: "claimed", record.EventReleased: "released", record.EventTransferred: "transferred",
	record.EventSaved: "saved", record.EventCompleted: "completed", record.EventWithdrawn: "withdrawn", record.EventEscalated: "escalated",
	record.EventRestarted: "restarted", record.EventRecalled: "recalled", record.EventKept: "kept",
	record.EventReceived: "received", record.EventPutBack: "put back",
}

const otherDefinition = "the sites were given different definitions"

// L5: an activity leaves its error by what is stored of the cause, not by the words of the
// reason; also where an older version wrote it, without a cause.
func TestL5HealingKnowsTheCauseByItsCode(t *testing.T) {
	for name, change := range map[string]func(*message.Snapshot){
		"other words": func(at *message.Snapshot) { at.Error = "Nachricht abgelehnt" },
		"version 1":   func(at *message.Snapshot) { at.Cause, at.Source = message.CauseUnknown, "" },
	} {
		t.Run(name, func(t *testing.T) {
			w, s := one(t, fromAfar)
			w.put(foreign(w.far()))
			s.pump()
			for key, m := range s.store.entries[w.entry("y")] {
				at, err := message.DecodeSnapshot(m.Body)
				if m.Kind != message.KindSnapshot || err != nil || at.Cause != message.CauseRefused || at.Source != "far" {
					t.Fatalf("%v %+v %v", m.Kind, at, err)
				}
				change(&at)
				m.Body = message.EncodeSnapshot(at)
				s.store.entries[w.entry("y")][key] = m
			}
			s.store.crash()
			s.open(1)
			s.pump()
			dropped := s.judges(1, true)
			s.pump()
			dropped.expect(t, Resolved, "")
			w.expect(t, "y", "waiting")
		})
	}
}

// L5: a message that was dropped counts as FALSE and as without data, and its activity
// leaves the error that it was in because of it; a restart at any moment changes nothing.
func TestL5DropResolvesTheConnector(t *testing.T) {
	w, s := one(t, fromAfar)
	w.put(foreign(w.far()))
	s.pump()
	if got := w.state("y"); !strings.Contains(got, otherDefinition) {
		t.Fatalf("y is %s", got)
	}
	s.store.crash()
	s.open(1)
	s.pump()
	dropped := s.judges(1, true)
	s.commitAll(commit.ErrStale) // it is decided again
	s.pump()
	dropped.expect(t, Resolved, "")
	w.expect(t, "y", "waiting")
	s.expectAside(t)
	s.store.crash()
	s.open(1)
	s.pump()
	w.expect(t, "y", "waiting")
	w.put(w.other(message.True))
	s.pump()
	w.expect(t, "y", "running")
	if in := s.running[0].call.Input; in.Get(container.Path{0}) != int64(0) {
		t.Errorf("y runs with %v, want the default", in.Get(container.Path{0}))
	}
	s.end("y")
	s.pump()
	got := w.events("y")
	if len(got) != 3 || !strings.HasPrefix(got[0], "in-error") || got[2] != "terminated" ||
		got[1] != "dropped refused message 1 from far was dropped: as agreed" {
		t.Errorf("history of y: %q", got)
	}
	notices := 0
	for _, m := range s.store.entries[w.entry(processtable.Sink)] {
		if n, err := message.DecodeNotice(m.Body); m.Kind == message.KindNotice && err == nil && !n.Cleared {
			notices++
		}
	}
	if notices > 0 {
		t.Errorf("sink still knows of %d errors", notices)
	}
	s.atRest()
}

// L5: a message that is retried is judged again: refused again it is set aside under
// another number, with its activity in error again; if it fits now, it takes effect.
func TestL5RetryJudgesAgain(t *testing.T) {
	w, s := one(t, fromAfar)
	w.put(foreign(w.far()))
	s.pump()
	retried := s.judges(1, false)
	s.pump()
	retried.expect(t, Redelivered, "")
	if len(s.store.aside) != 1 || s.store.aside[0].Number != 2 || !strings.Contains(w.state("y"), otherDefinition) {
		t.Fatalf("set aside %v, y is %s", s.store.aside, w.state("y"))
	}
	fits, err := message.Encode(w.far()) // as if the node could read it now, after an upgrade
	if err != nil {
		t.Fatal(err)
	}
	s.store.aside[0].Message = fits
	s.store.crash()
	s.open(1)
	s.pump()
	retried = s.judges(2, false)
	s.pump()
	retried.expect(t, Redelivered, "")
	s.expectAside(t)
	w.put(w.other(message.False))
	s.pump()
	w.expect(t, "y", "running")
	if in := s.running[0].call.Input; in.Get(container.Path{0}) != int64(7) {
		t.Errorf("y runs with %v, want 7", in.Get(container.Path{0}))
	}
	var what []string
	for _, e := range w.events("y") {
		what = append(what, strings.Fields(e)[0])
	}
	if diff := cmp.Diff([]string{"in-error", "retried", "in-error", "retried"}, what); diff != "" {
		t.Errorf("history of y: %s", diff)
	}
}

// L5: an activity to which two messages were refused is in error until both are decided.
func TestL5TwoRefusedMessages(t *testing.T) {
	w, s := one(t, fromAfar)
	w.put(foreign(w.far()))
	w.put(foreign(w.other(message.True)))
	s.pump()
	if len(s.store.aside) != 2 {
		t.Fatalf("set aside %v", s.store.aside)
	}
	for range 2 { // whichever comes first
		if !strings.HasPrefix(w.state("y"), "in error: message from ") {
			t.Fatalf("y is %s", w.state("y"))
		}
		dropped := s.judges(s.store.aside[len(s.store.aside)-1].Number, true)
		s.pump()
		dropped.expect(t, Resolved, "")
	}
	w.expect(t, "y", "skipped", "sink", "ended")
	s.expectAside(t)
	s.atRest()
}

// N7, L5: nothing waits for what is late, strays or repeats: it is not delivered again, and
// dropped it goes, with a line of history. Whoever repeats his word finds nothing.
func TestL5NothingWaitsForIt(t *testing.T) {
	for name, tc := range map[string]struct {
		before func(*world, *site)
		m      func(*world) message.Message
		reason string
	}{
		"late": {
			func(w *world, s *site) {
				w.put(w.far())
				w.put(w.other(message.True))
				s.pump()
				s.end("y")
				s.pump()
			},
			func(w *world) message.Message { return w.far() }, "late: the activity has already terminated",
		},
		"terminated instance": {
			func(w *world, s *site) { w.put(w.marker()); s.pump() },
			func(w *world) message.Message { return foreign(w.far()) }, "an operator has terminated the instance",
		},
		"while it runs": {
			func(w *world, s *site) {
				w.put(w.far())
				w.put(w.other(message.True))
				s.pump()
			},
			func(w *world) message.Message { return foreign(w.to("y", message.KindConnector, "other")) }, "y does not wait for a connector from other",
		},
		"no such connector": {
			func(*world, *site) {},
			func(w *world) message.Message { return w.to("y", message.KindConnector, "y") }, "y does not wait for a connector from y",
		},
		"elsewhere": {
			func(*world, *site) {},
			func(w *world) message.Message { return w.to("z", message.KindConnector, "y") }, "activity z of p@1 is not hosted at A",
		},
	} {
		t.Run(name, func(t *testing.T) {
			w, s := one(t, fromAfar)
			tc.before(w, s)
			w.put(tc.m(w))
			s.pump()
			if len(s.store.aside) != 1 {
				t.Fatalf("set aside %v", s.store.aside)
			}
			before := w.state("y")
			retried := s.judges(1, false)
			s.pump()
			retried.expect(t, Pointless, tc.reason)
			dropped, again := s.judges(1, true), s.judges(1, true)
			s.pump()
			dropped.expect(t, Removed, "")
			again.expect(t, Gone, "")
			s.expectAside(t)
			activity := tc.m(w).Activity
			if got := w.events(activity); len(got) == 0 || !strings.HasPrefix(got[len(got)-1], "dropped refused message 1 from ") {
				t.Errorf("history of %s: %q", activity, got)
			}
			if name == "no such connector" {
				before = "waiting" // it was in error because of it
			}
			if got := w.state("y"); got != before {
				t.Errorf("y was %s and is %s", before, got)
			}
			if len(s.running) == 0 {
				s.atRest()
			}
		})
	}
}

// L5: what an activity did before it went in error for another reason stays as it is.
func TestL5ErrorsOfAnotherCauseStay(t *testing.T) {
	w, s := one(t, fromAfar)
	w.put(w.far())
	w.put(w.other(message.True))
	s.pump()
	w.result = func(*invocation) behaviour.Result { return behaviour.Result{Err: "no luck", Final: true} }
	s.end("y")
	s.pump()
	w.expect(t, "y", "in error: no luck")
	w.put(w.to("y", message.KindConnector, "y"))
	s.pump()
	dropped := s.judges(1, true)
	s.pump()
	dropped.expect(t, Removed, "")
	if got := w.state("y"); !strings.HasPrefix(got, "in error") {
		t.Errorf("y is %s: nobody has retried it", got)
	}
}
