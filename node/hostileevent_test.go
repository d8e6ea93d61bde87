package node

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"fmqm/api"
	"fmqm/container"
	"fmqm/message"
	"fmqm/processtable"
)

const receiving = `
process: receiving
version: 1
structures:
  Job: {job: string}
  Part: {serial: string}
events:
  part_arrived: Part
input: Job
starts: [A]
activities:
  arrival: {node: A, receive: {event: part_arrived, key: job}, input: Job, output: Part}
data:
  - source -> arrival
`

// eventWorld is a node A with the table of receiving, whose peer B knows that A reads events.
func eventWorld(t *testing.T) *inboxWorld {
	t.Helper()
	w := inboxWorldOf(t, receiving, false)
	w.b.Transmission("A").PeerReads(message.Current())
	w.add(receiving)
	return w
}

// partOf is what B says that an activity there has sent.
func partOf(w *inboxWorld, n int) message.Event {
	typ := w.table.Activity(processtable.RowID{Name: "arrival"}).Receive.Events[0].Type
	data, err := container.EncodeCBOR(container.New(typ))
	if err != nil {
		w.t.Fatal(err)
	}
	return message.Event{
		Name: "part_arrived", Key: "J-7", Shape: container.Fingerprint(typ), Data: data, Sent: time.Unix(1, 0).UTC(), Node: "B",
		Sender: &message.Parent{
			Process: processtable.ProcessID{Name: "agent", Version: 1}, Node: "B", Instance: uuid.UUID{0: 1, 15: byte(n)}, Activity: "tell", Iteration: 1,
		},
	}
}

func (w *inboxWorld) kept() []api.KeptEvent {
	w.t.Helper()
	list, err := w.a.Events(context.Background(), api.EventsRequest{Limit: api.MaxPage})
	if err != nil {
		w.t.Fatal(err)
	}
	return list.Events
}

// N24: an event that a peer brings is kept, once, with who has sent it and since when it is here; what it says is
// not believed of anything else.
func TestAPeerBringsAnEvent(t *testing.T) {
	w := eventWorld(t)
	e := partOf(w, 1)
	w.accept(e.Message("A"))
	w.accept(e.Message("A"), e.Message("A"))
	kept := w.kept()
	if len(kept) != 1 || kept[0].From != "B" || kept[0].Since.IsZero() || kept[0].Until.Sub(kept[0].Since) != EventsKept {
		t.Fatalf("kept are %+v", kept)
	}
	if got := w.aside(); got != "" {
		t.Errorf("set aside: %s", got)
	}
}

// Invariant 11: a peer says of an event what it likes, and is held to what it can know.
func TestWhatAPeerMayNotSayOfEvents(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(*message.Event)
		header func(*message.Header)
		want   string
	}{
		{"of another site", func(e *message.Event) { e.Node = "C" }, nil, "it says that C has sent it, and it came from B"},
		{"as this site", func(e *message.Event) { e.Node = "A" }, nil, "it says that A has sent it"},
		{"from outside at another site", func(e *message.Event) { e.Sender, e.ID, e.Node = nil, "delivery 1", "A" }, nil, "it says that A has sent it"},
		{"under another token", nil, func(h *message.Header) { h.Source = partToken("somebody") }, "it has another token"},
		{"for another entry", nil, func(h *message.Header) { h.Instance = uuid.UUID{0: 9} }, "it has another token, or is for another entry"},
		{"put back in front", func(e *message.Event) { e.Arrival = message.Arrival{Commit: 1} }, nil, "it says since when it is kept here"},
		{"for ever", func(e *message.Event) { e.Until = time.Unix(1<<40, 0) }, nil, "it says since when it is kept here"},
		{"as taken", func(e *message.Event) { e.Taker = &message.Round{Iteration: 1} }, nil, "it says since when it is kept here"},
		{"of another shape", func(e *message.Event) { e.Shape = message.Shape{1} }, nil, "its data have another shape than event part_arrived has here, which is {serial: string}"},
		{"with other data", func(e *message.Event) { e.Data = []byte{0x80} }, nil, "its data cannot be read"},
		{"with a huge key", func(e *message.Event) { e.Key = strings.Repeat("k", 1<<20) }, nil, "it cannot be read"},
		{"kept for a century", func(e *message.Event) { e.Keep = 100 * 366 * 24 * time.Hour }, nil, "it cannot be read"},
		{"of no name", func(e *message.Event) { e.Name = "@events" }, nil, "it cannot be read"},
		{"with a number", nil, func(h *message.Header) { h.Number = 1 }, ""},
		{"a wait", nil, func(h *message.Header) { h.Kind, h.Source = message.KindWait, "w"+h.Source[1:] }, "a message of this kind never leaves its node"},
		{"a drop", nil, func(h *message.Header) { h.Kind = message.KindOver }, "a message of this kind never leaves its node"},
		{"into a receive", nil, func(h *message.Header) {
			h.Queue.Process, h.Activity, h.Instance = processtable.ProcessID{Name: "receiving", Version: 1}, "arrival", uuid.UUID{0: 7}
		}, "an event goes into the event queue of a node"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := eventWorld(t)
			e := partOf(w, 1)
			if tc.change != nil {
				tc.change(&e)
			}
			m := e.Message("A")
			if tc.header != nil {
				tc.header(&m.Header)
			}
			if _, err := message.Encode(m); err != nil {
				return // it cannot even be written
			}
			w.accept(m)
			if got := w.aside(); tc.want == "" || !strings.Contains(got, tc.want) {
				t.Errorf("set aside %q, want %q", got, tc.want)
			}
			if kept := w.kept(); len(kept) > 0 {
				t.Errorf("kept are %+v", kept)
			}
		})
	}
}

// partToken is a token that nothing here is made of.
func partToken(id string) processtable.ActivityID {
	e := message.Event{Node: "B", ID: id}
	return e.Token()
}

// What nothing here receives yet is kept for a process that may come; where its peers' events are not taken, none is.
func TestWhoseEventsAreTaken(t *testing.T) {
	w := eventWorld(t)
	unknown := partOf(w, 1)
	unknown.Name, unknown.Shape = "coming", message.Shape{1}
	w.accept(unknown.Message("A"))
	if kept := w.kept(); len(kept) != 1 || kept[0].Event != "coming" {
		t.Errorf("kept are %+v", kept)
	}
	limits := *w.a.limits.Load()
	limits.EventsOf = []processtable.NodeID{"C"}
	w.a.limits.Store(&limits)
	e := partOf(w, 2)
	w.accept(e.Message("A"))
	if got := w.aside(); !strings.Contains(got, "events of B are not taken here") {
		t.Errorf("set aside: %s", got)
	}
}

// Beyond the limit nothing is taken from outside, and what peers bring waits until there is room.
func TestTheLimitOfEvents(t *testing.T) {
	w := eventWorld(t)
	limits := *w.a.limits.Load()
	limits.Events = 3
	w.a.limits.Store(&limits)
	for n := range 3 {
		e := partOf(w, n)
		w.accept(e.Message("A"))
	}
	request := api.EventRequest{Event: "part_arrived", Key: "J-7", ID: "one more"}
	if _, err := w.a.SendEvent(t.Context(), request); api.CodeOf(err) != api.CodeRefused || !strings.Contains(fmt.Sprint(err), "A keeps 3 events") {
		t.Errorf("one more: %v", err)
	}
	accepted := make(chan struct{})
	go func() {
		defer close(accepted)
		e := partOf(w, 4)
		w.accept(e.Message("A"))
	}()
	if _, err := w.a.DropEvent(t.Context(), w.kept()[0].ID); err != nil {
		t.Fatal(err)
	}
	<-accepted
	if kept := w.kept(); len(kept) != 3 {
		t.Errorf("kept are %+v", kept)
	}
}

// What was refused is judged again when an operator retries it: by then the site may take it.
func TestARefusedEventIsRetried(t *testing.T) {
	w := eventWorld(t)
	limits := *w.a.limits.Load()
	limits.EventsOf = []processtable.NodeID{}
	w.a.limits.Store(&limits)
	e := partOf(w, 1)
	w.accept(e.Message("A"))
	if _, err := w.a.RetryRefused(t.Context(), 1); err == nil || !strings.Contains(err.Error(), "events of B are not taken here") {
		t.Errorf("a retry: %v", err)
	}
	limits.EventsOf = nil
	w.a.limits.Store(&limits)
	if d, err := w.a.RetryRefused(t.Context(), 1); err != nil || d.Done != api.RefusedDelivered {
		t.Errorf("a retry: %+v, %v", d, err)
	}
	if kept := w.kept(); len(kept) != 1 || kept[0].From != "B" {
		t.Errorf("kept are %+v", kept)
	}
}
