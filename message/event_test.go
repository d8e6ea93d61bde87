package message_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"fmqm/message"
	"fmqm/processtable"
)

// event is what an activity has sent, as the node keeps it that it was sent to.
func event() message.Event {
	at := time.Date(2026, 11, 22, 20, 0, 0, 5, time.UTC)
	of := parent()
	of.Attempt = 0
	return message.Event{
		Name: "part-arrived", Key: "J-7", Shape: message.Shape{7, 8}, Data: []byte{0x81, 3}, Sent: at, Keep: time.Hour, Node: "B", Sender: &of,
		Since: at, Until: at.Add(time.Hour), Arrival: message.Arrival{Commit: 4, Index: 2}, Taker: &message.Round{Iteration: 2, Run: 1},
	}
}

// outside is what somebody has sent, as it goes over a link.
func outside() message.Event {
	return message.Event{Name: "cancelled", Shape: message.Shape{9}, Data: []byte{0x80}, Sent: event().Sent, Node: "B", ID: "delivery 1", By: "alice at B"}
}

// ofEvents are messages about events.
func ofEvents() map[string]kept {
	e, o := event(), outside()
	of := *e.Sender
	wait := message.Wait{Name: "part-arrived", Key: "J-7", Taker: of, Clock: 9, Since: e.Sent}
	taken := message.Past{Event: o, Taker: &of, At: e.Sent, Until: e.Until}
	expired := message.Past{Event: e, At: e.Until}
	given := e.Message("A")
	given.Queue.Process, given.Instance, given.Scope, given.SourceScope, given.Activity = full().Queue.Process, instance, "documents#2", "documents#2", "arrival"
	about := func(token processtable.ActivityID, kind message.Kind, body []byte) message.Message {
		return message.Message{Header: message.ToMeeting("A", message.MeetingOf(e.Name, e.Shape, e.Key), token, kind), Body: body}
	}
	return map[string]kept{
		"event":                {e.Message("A"), e},
		"event, from outside":  {o.Message("A"), o},
		"event, for a receive": {given, e},
		"wait":                 {about(wait.Token(), message.KindWait, message.EncodeWait(wait)), wait},
		"past, taken":          {about(o.Token(), message.KindPast, message.EncodePast(taken)), taken},
		"past, expired":        {about(e.Token(), message.KindPast, message.EncodePast(expired)), expired},
		"over":                 {about(wait.Token(), message.KindOver, nil), nil},
	}
}

// N24: who has sent an event, and its identifier, are its token; no part of that is lost in another.
func TestTokensOfEvents(t *testing.T) {
	seen := map[processtable.ActivityID]string{}
	add := func(what string, token processtable.ActivityID) {
		if !processtable.ValidActivity(string(token)) || !message.IsToken(token) {
			t.Errorf("%s: %q cannot name a message", what, token)
		}
		if other, twice := seen[token]; twice {
			t.Errorf("%s has the token of %s", what, other)
		}
		seen[token] = what
	}
	for what, change := range map[string]func(*message.Event){
		"an event":             func(*message.Event) {},
		"of another node":      func(e *message.Event) { e.Node = "C" },
		"of another process":   func(e *message.Event) { e.Sender.Process.Version++ },
		"of another instance":  func(e *message.Event) { e.Sender.Instance = uuid.UUID{1} },
		"of another scope":     func(e *message.Event) { e.Sender.Scope = "documents#3" },
		"of another activity":  func(e *message.Event) { e.Sender.Activity = "tells" },
		"of another iteration": func(e *message.Event) { e.Sender.Iteration++ },
		"of another run":       func(e *message.Event) { e.Sender.Run++ },
		"from outside":         func(e *message.Event) { e.Sender, e.ID = nil, "x" },
		"from outside there":   func(e *message.Event) { e.Sender, e.ID, e.Node = nil, "x", "C" },
		"from outside, y":      func(e *message.Event) { e.Sender, e.ID = nil, "y" },
	} {
		e := event()
		change(&e)
		add(what, e.Token())
	}
	w := message.Wait{Taker: *event().Sender}
	add("a wait", w.Token())
	e, same := event(), event()
	same.Sent, same.Data, same.Key = time.Time{}, nil, "other"
	if e.Token() != same.Token() {
		t.Error("what an event brings is no part of who has sent it")
	}
	one, other := message.MeetingOf("a", message.Shape{}, "bc"), message.MeetingOf("ab", message.Shape{}, "c")
	if one == other || one.Instance.Version() != 8 {
		t.Errorf("the entries are %v and %v", one, other)
	}
}

// What is about events comes in an event queue only, under a token; what is in no event queue is nothing else.
func TestHeadersOfEvents(t *testing.T) {
	e := event()
	for _, tc := range []struct {
		name   string
		change func(*message.Header)
		want   string
	}{
		{"another activity", func(h *message.Header) { h.Activity = "x" }, "an entry of its own"},
		{"an origin", func(h *message.Header) { h.Origin = "A" }, "an entry of its own"},
		{"a scope", func(h *message.Header) { h.Scope, h.SourceScope = "x#1", "x#1" }, "an entry of its own"},
		{"no token", func(h *message.Header) { h.Source = "tell" }, "comes under its token"},
		{"the token of a wait", func(h *message.Header) { h.Source = "w" + h.Source[1:] }, "comes under its token"},
		{"a wait under that of an event", func(h *message.Header) { h.Kind = message.KindWait }, "comes under its token"},
		{"a connector", func(h *message.Header) { h.Control = message.True }, "has no connector"},
		{"a number", func(h *message.Header) { h.Number = 3 }, "and no number"},
		{"another kind", func(h *message.Header) { h.Kind = message.KindSnapshot }, "process \"@events\" is not a name"},
		{"a process", func(h *message.Header) { h.Queue.Process.Name, h.Kind = "repair", message.KindPast }, "a receive is given events"},
	} {
		m := e.Message("A")
		tc.change(&m.Header)
		if _, err := message.Encode(m); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %s", tc.name, err, tc.want)
		}
	}
}
