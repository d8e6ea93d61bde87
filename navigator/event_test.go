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
	"fmqm/condition"
	"fmqm/container"
	"fmqm/message"
	"fmqm/processtable"
)

// choice is a receive of paid or cancelled, without a key.
func choice(t interface{ Fatal(...any) }) *Activity {
	p, err := Prepare(&processtable.Table{
		Format: processtable.BundleFormat, Process: processtable.ProcessID{Name: "order", Version: 1}, Node: "A", Definition: processtable.DefinitionHash{7},
		Roster: []processtable.Place{{Activity: "arrival", Node: "A"}}, Starts: []processtable.NodeID{"A"}, Input: container.Empty, Output: container.Empty,
		Activities: []*processtable.Activity{{
			Name: "arrival", Kind: processtable.KindReceive, Input: container.Empty, Output: container.Empty, MaxIterations: 1, Retry: processtable.Retry{Attempts: 1},
			Receive:   &processtable.Receive{Events: []processtable.ReceivedEvent{{Name: "paid", Type: container.Empty}, {Name: "cancelled", Type: container.Empty}}},
			InControl: []processtable.InControl{{From: processtable.Source}}, Start: condition.Logic{Op: condition.LogicAnd, Args: []condition.Logic{{Op: condition.LogicVar}}},
		}},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return p.activities.Get(processtable.RowID{Name: "arrival"})
}

var waitingEntry = message.Entry{Instance: uuid.UUID{0: 1}, Activity: "arrival"}

// given is an event that has met the receive, in a round, as the n-th message that came.
func given(name processtable.EventID, round, n int) message.Message {
	e := message.Event{
		Name: name, Shape: container.Fingerprint(container.Empty), Data: []byte{0x80}, Node: "B", ID: fmt.Sprint(name, n), Sent: time.Unix(1, 0),
		Since: time.Unix(2, 0), Until: time.Unix(3, 0), Arrival: message.Arrival{Commit: uint64(n)}, Taker: &message.Round{Iteration: round},
	}
	return message.Message{Header: message.Header{
		Queue: message.Queue{Process: processtable.ProcessID{Name: "order", Version: 1}, Node: "A"}, Instance: waitingEntry.Instance, Activity: "arrival",
		Source: e.Token(), Kind: message.KindEvent, Clock: 9,
	}, Body: message.EncodeEvent(e), Arrival: message.Arrival{Commit: uint64(100 + n)}}
}

// waits is the state of a receive that was decided, and what it has put.
func waits(t interface{ Fatal(...any) }, a *Activity) (behaviour.State, []message.Message) {
	s := a.Empty(waitingEntry)
	start := message.Message{Header: message.Header{
		Queue: message.Queue{Process: a.process.table.Process, Node: "A"}, Definition: a.process.Definition(), Instance: waitingEntry.Instance, Origin: "A",
		Activity: "arrival", Source: processtable.Source, Kind: message.KindConnector, Control: message.True, Clock: 1,
	}}
	if err := a.Fold(s, start); err != nil {
		t.Fatal(err)
	}
	e := a.Decide(s, time.Unix(10, 0))
	if len(e.Put) != 3 || e.Ends {
		t.Fatal("decided is ", e)
	}
	if err := a.Fold(s, e.Put[0]); err != nil {
		t.Fatal(err)
	}
	if again := a.Decide(s, time.Unix(10, 0)); !again.Waits() {
		t.Fatal("it does not wait: ", again)
	}
	return s, e.Put[1:]
}

// told says what effects put into the event queue.
func told(e behaviour.Effects) string {
	var all []string
	for _, m := range e.Put {
		if m.OfEvents() {
			all = append(all, m.Kind.String())
		}
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

// R37: a receive waits in the entry of each of its events, and terminates with the first that comes. R38: the wait for
// the other one goes.
func TestR37AReceiveTakesTheFirst(t *testing.T) {
	a := choice(t)
	s, put := waits(t, a)
	for i, name := range []processtable.EventID{"paid", "cancelled"} {
		if m := put[i]; m.Kind != message.KindWait || m.Entry() != message.MeetingOf(name, container.Fingerprint(container.Empty), "") {
			t.Errorf("wait %d is %+v", i, m)
		}
	}
	if err := a.Fold(s, given("cancelled", 1, 1)); err != nil {
		t.Fatal(err)
	}
	e := a.Decide(s, time.Unix(11, 0))
	if !e.Ends || e.Outcome.About == nil || e.Outcome.About.Name != "cancelled" || told(e) != "over" {
		t.Errorf("it comes to %+v, and puts %s", e, told(e))
	}
}

// R1, R37, R38: whatever order events are read in, the one that came first is taken, all others go back, and waits
// of what has not come are taken out; what came for a round that is over goes back while the receive waits on.
func TestR38WhatIsNotTakenGoesBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := choice(t)
		s, _ := waits(t, a)
		all := []message.Message{given("paid", 1, 5), given("cancelled", 1, 4), given("paid", 3, 1)}[rapid.IntRange(0, 2).Draw(t, "from"):]
		for _, m := range rapid.Permutation(all).Draw(t, "order") {
			if err := a.Fold(s, m); err != nil {
				t.Fatal(err)
			}
		}
		e := a.Decide(s, time.Unix(11, 0))
		if !slices.Equal(a.Decide(s, time.Unix(11, 0)).Takes, e.Takes) {
			t.Fatal("it decides another thing of the same")
		}
		if want := []string{"event event", "event over", "event"}[3-len(all)]; told(e) != want || e.Ends != (len(all) > 1) {
			t.Fatalf("of %d events it puts %q, ends %t; want %q", len(all), told(e), e.Ends, want)
		}
		if e.Ends && e.Outcome.About.Name != "cancelled" {
			t.Fatalf("it has taken %s", e.Outcome.About.Name)
		}
		for _, m := range e.Put {
			if m.Kind != message.KindEvent {
				continue
			}
			if back, err := message.DecodeEvent(m.Body); err != nil || back.Taker != nil || back.Arrival == (message.Arrival{}) {
				t.Fatalf("back goes %+v, %v", back, err)
			}
		}
	})
}
