package oracle_test

import (
	"testing"

	"fmqm/container"
	"fmqm/definition"
	"fmqm/interpret"
	"fmqm/message"
	"fmqm/queue/record"
	"fmqm/sim/oracle"
)

// N14, N20, S3: a call whose deadline comes while it waits for room has begun its work nowhere.
func TestN20ADeadlineComesBeforeThereIsRoom(t *testing.T) {
	a := &definition.Activity{Name: "a", Call: &definition.Call{}}
	begins := record.AuditRecord{Activity: "a", Event: record.EventBegun, Iteration: 1, Attempt: 1}
	ofWork := begins // an instance, where the work is done
	ofWork.Scope = "a#1"
	end := record.AuditRecord{Activity: "a", Event: record.EventTerminated, Ending: message.Ending{TimedOut: true}, Iteration: 1, Attempt: 1}
	for _, tc := range []struct {
		records []record.AuditRecord
		unbegun bool
	}{
		{[]record.AuditRecord{end}, true},
		{[]record.AuditRecord{begins, end}, false},
		{[]record.AuditRecord{ofWork, end}, true},
	} {
		race := oracle.OutcomesOf(tc.records).Races(nil).(interpret.Races).Race(a, interpret.At{Iteration: 1, Attempt: 1})
		if race.First != interpret.Deadline || race.Unbegun != tc.unbegun {
			t.Errorf("of %d records: %v comes first, unbegun: %t, want %t", len(tc.records), race.First, race.Unbegun, tc.unbegun)
		}
	}
}

// N14, N20: what ends a call may come to where its work is done before what begins that. The call was begun then, and has
// made no attempt.
func TestN20ACallEndsBeforeItsWorkBegins(t *testing.T) {
	a := &definition.Activity{Name: "a", Call: &definition.Call{}}
	races := oracle.OutcomesOf([]record.AuditRecord{
		{Activity: "a", Event: record.EventTerminated, Ending: message.Ending{TimedOut: true}, Iteration: 1, Attempt: 1},
		{Scope: "a#1", Activity: "a", Event: record.EventCancelled},
	}).Races(nil).(interpret.Races)
	for at, want := range map[interpret.At]interpret.First{
		{}:                         interpret.Itself,
		{Iteration: 1, Attempt: 1}: interpret.Deadline,
		{Iteration: 1, Attempt: 2}: interpret.Itself,
		{Iteration: 1, Back: true}: interpret.Itself,
	} {
		if got := races.Race(a, at).First; got != want {
			t.Errorf("%+v: %v comes first, want %v", at, got, want)
		}
	}
}

// N15, N21: an operator may speak of an element that a bundle has not; that does not begin it.
func TestN21AWordBeginsNoElement(t *testing.T) {
	a := &definition.Activity{Name: "a", Bundle: &definition.Bundle{}}
	races := oracle.OutcomesOf([]record.AuditRecord{
		{Scope: "a[0]", Activity: "a", Event: record.EventTerminated},
		{Scope: "a[1]", Activity: "a", Event: record.EventAsked},
		{Scope: "a[2]", Activity: "a", Event: record.EventAnswered},
	}).Races(nil).(interpret.Bundles)
	if came, _ := races.Bundle(a, ""); came.Begun != 1 || len(came.Returned) != 1 {
		t.Errorf("it came to %+v", came)
	}
}

// N20, N23: a call whose work has returned may be in error for what follows, and its deadline ends it then (seed 177).
func TestN23ACallInErrorIsEndedByItsDeadline(t *testing.T) {
	a := &definition.Activity{Name: "a", Call: &definition.Call{}}
	races := oracle.OutcomesOf([]record.AuditRecord{
		{Scope: "a#1", Activity: "a", Event: record.EventTerminated, Iteration: 1, Attempt: 1},
		{Activity: "a", Event: record.EventInError, Iteration: 1},
		{Activity: "a", Event: record.EventTerminated, Ending: message.Ending{TimedOut: true}, Iteration: 1, Attempt: 1},
	}).Races(nil).(interpret.Races)
	for at, want := range map[interpret.At]interpret.First{
		{Iteration: 1, Attempt: 1}:                interpret.Itself,
		{Iteration: 1, Attempt: 1, Back: true}:    interpret.Itself,
		{Iteration: 1, Attempt: 1, InError: true}: interpret.Deadline,
	} {
		if got := races.Race(a, at).First; got != want {
			t.Errorf("%+v: %v comes first, want %v", at, got, want)
		}
	}
}

// N24, N25: what has ended a block may not have come to a site where something inside of it waits, and gets what was sent since, perhaps
// because of that end. For the interpreter, where all ends at once, that comes from outside; what was sent before does not.
func TestN24AnEventThatWasSentAfterTheBlockEnded(t *testing.T) {
	of := container.NewStructure("Part", []container.Member{{Name: "k", Type: container.Scalar(container.Int)}})
	got, err := container.DecodeJSON(of, []byte(`{"k": 7}`))
	if err != nil {
		t.Fatal(err)
	}
	output, err := container.EncodeCBOR(got)
	if err != nil {
		t.Fatal(err)
	}
	a := &definition.Activity{Name: "get", Receive: &definition.Receive{}, Output: of}
	about := &message.EventRef{Name: "arrived", Token: "k"}
	for sent, outside := range map[uint64]bool{3: false, 5: true} {
		races := oracle.OutcomesOf([]record.AuditRecord{
			{Activity: "block", Event: record.EventCancelled, Iteration: 1, Clock: 4},
			{Activity: "k", Event: record.EventSent, About: about, Clock: sent},
			{Scope: "block#1", Activity: "get", Event: record.EventReceived, Iteration: 1, About: about, Clock: 6},
			{Scope: "block#1", Activity: "get", Event: record.EventTerminated, Iteration: 1, Attempt: 1, Clock: 7, Output: output},
		}).Races(nil).(interpret.Races)
		race := races.Race(a, interpret.At{Scope: "block#1", Iteration: 1, Attempt: 1})
		if race.Got == nil || race.Got.Event != "arrived" || (race.Got.From == "") != outside || (race.Got.Output != nil) != outside {
			t.Errorf("sent at %d: %+v", sent, race.Got)
		}
	}
}
