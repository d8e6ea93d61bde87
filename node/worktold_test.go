package node_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"fmqm/api"
)

const toldOfAll = `
process: trip
version: 1
structures: {D: {n: int}}
input: D
output: D
administrator: role("head")
notify:
  - {on: [end, error, deadline]}
  - {on: end, program: mail, staff: manages(source)}
activities:
  look: {node: A, staff: role("clerk"), input: D, deadline: {after: 1ms}}
  fly:  {node: A, program: plane, input: D, output: D}
control: [{look -> fly: _TIMEOUT}]
data: [source -> look, source -> fly, fly -> sink]
`

// tripOf is a trip that bob has started, of which the plane does not exist.
func tripOf(t *testing.T) (*office, uuid.UUID) { return newTrip(t, toldOfAll) }

// newTrip is an instance of a process trip that bob has started.
func newTrip(t *testing.T, definition string) (*office, uuid.UUID) {
	o := &office{t: t, dir: t.TempDir(), mailed: map[string]bool{}}
	o.open()
	t.Cleanup(func() {
		if err := o.n.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	upload(t, o.n, definition)
	id := uuid.Must(uuid.NewV7())
	ctx := api.WithCaller(t.Context(), api.Caller{Name: "bob@A", Person: "bob"})
	if _, err := o.n.Start(ctx, api.StartRequest{Instance: id, Process: "trip", Input: json.RawMessage(`{"n": 7}`)}); err != nil {
		t.Fatal(err)
	}
	return o, id
}

const (
	lateTrip  = "notice trip: the deadline of look has come"
	wrongTrip = "notice trip: fly is in error"
	doneTrip  = "notice trip has finished"
	endedTrip = "notice trip was terminated"
)

// take has somebody take off the notice with a title.
func (o *office) take(who, title string) {
	o.t.Helper()
	for _, i := range o.list(who) {
		if string(i.Kind)+" "+i.Title == title {
			if err := o.say(who, i.Item, api.WorkComplete, api.WorkWord{}); err != nil {
				o.t.Fatal(err)
			}
			return
		}
	}
	o.t.Fatalf("%s sees no %s", who, title)
}

// R58, R59, R61: whoever has started an instance is told of a deadline, an error and the end, once each, also when the site is started anew after
// each; what he has not seen outlives the instance, which has finished all the same.
func TestR58WhoHasStartedItIsTold(t *testing.T) {
	o, id := tripOf(t)
	o.are("in error", map[string][]string{"bob": {wrongTrip, lateTrip}, "mia": nil, "dora": nil})
	o.restart()
	o.are("in error, after a restart", map[string][]string{"bob": {wrongTrip, lateTrip}, "mia": nil})
	o.take("bob", lateTrip)
	o.restart()
	o.are("seen", map[string][]string{"bob": {wrongTrip}, "mia": nil})
	if _, err := o.n.Retry(t.Context(), id, api.RetryRequest{Activity: "fly", Output: json.RawMessage(`{"n": 8}`)}); err != nil {
		t.Fatal(err)
	}
	if s, err := o.n.Wait(t.Context(), id); err != nil || s.State != api.InstanceFinished || string(s.Output) != `{"n":8}` {
		t.Fatalf("it ends as %s with %s, %v", s.State, s.Output, err)
	}
	ended := map[string][]string{"bob": {doneTrip, wrongTrip}, "mia": {doneTrip}}
	o.are("ended", ended)
	waitFor(t, func() bool { o.mu.Lock(); defer o.mu.Unlock(); return o.mailed["mia"] }, func() string { return "the program was never told of mia" })
	o.restart()
	o.are("ended, after a restart", ended)
	if s, err := o.n.Status(t.Context(), id); err != nil || s.State != api.InstanceFinished {
		t.Errorf("it is %s, %v", s.State, err)
	}
	for _, i := range o.list("bob") {
		shown, err := o.n.WorkItem(t.Context(), i.Item, "bob")
		switch {
		case err != nil || string(shown.Input) != `{"n":7}`:
			t.Errorf("%s is shown as %+v, %v", i.Title, shown, err)
		case "notice "+i.Title == doneTrip && (string(shown.Output) != `{"n":8}` || shown.Error != ""), "notice "+i.Title == wrongTrip && !strings.Contains(shown.Error, "program plane is not registered"):
			t.Errorf("%s has the output %s and the error %q", i.Title, shown.Output, shown.Error)
		}
	}
	o.take("mia", doneTrip)
	o.take("bob", doneTrip)
	o.take("bob", wrongTrip)
	o.restart()
	o.are("seen, after a restart", map[string][]string{"bob": nil, "mia": nil, "dora": nil})
	h, err := o.n.History(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range h.Events {
		if e.Event == api.EventEscalated || e.Event == api.EventNotified {
			got = append(got, string(e.Event)+" "+e.By+": "+e.Reason)
		}
	}
	slices.Sort(got)
	if want := []string{
		"escalated : end", "escalated : end", "escalated : error of fly", "escalated : deadline of look", "notified : mail, end",
		"escalated bob@A: deadline of look", "escalated bob@A: end", "escalated bob@A: error of fly", "escalated mia@A: end",
	}; !slices.Equal(got, slices.Sorted(slices.Values(want))) {
		t.Errorf("history tells %q\nwant %q", got, want)
	}
}

// R58, R59: a termination is an end that is told as well, and takes no notice away that tells of something.
func TestR58WhoHasStartedItIsToldOfATermination(t *testing.T) {
	o, id := tripOf(t)
	o.are("in error", map[string][]string{"bob": {wrongTrip, lateTrip}})
	if err := o.n.Terminate(t.Context(), id, ""); err != nil {
		t.Fatal(err)
	}
	ended := map[string][]string{"bob": {endedTrip, wrongTrip, lateTrip}, "mia": {endedTrip}}
	o.are("terminated", ended)
	o.restart()
	o.are("terminated, after a restart", ended)
	for _, title := range ended["bob"] {
		o.take("bob", title)
	}
	o.are("seen", map[string][]string{"bob": nil})
}

const lastIsLate = `
process: trip
version: 1
structures: {D: {n: int}}
input: D
notify: [{on: [end, deadline]}]
activities:
  look: {node: A, staff: role("clerk"), input: D, deadline: {after: 1ms}}
  note: {node: A, empty: true}
control: [{look -> note: _TIMEOUT}]
data: [source -> look]
`

// R61: what ends with the last thing that a deadline ends, in one transaction, has told of the deadline before.
func TestR61TheDeadlineOfTheLastActivityIsTold(t *testing.T) {
	o, id := newTrip(t, lastIsLate)
	o.are("ended", map[string][]string{"bob": {doneTrip, lateTrip}})
	if s, err := o.n.Status(t.Context(), id); err != nil || s.State != api.InstanceFinished {
		t.Errorf("it is %s, %v", s.State, err)
	}
}

const toldNobody = `
process: trip
version: 1
structures: {D: {n: int}}
input: D
notify: [{on: end, program: pigeon}]
activities:
  fly: {node: A, program: mail, input: D}
data: [source -> fly]
`

// R58: of a program that could not tell of something history says of what, and what helps: a notice is not retried.
func TestR58HistorySaysWhyNobodyWasTold(t *testing.T) {
	o, id := newTrip(t, toldNobody)
	var got string
	until(t, func() bool {
		h, err := o.n.History(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(h.Events, func(e api.HistoryEvent) bool { return e.Event == api.EventNotified })
		if i >= 0 {
			got = h.Events[i].Reason
		}
		return i >= 0
	})
	if want := "pigeon (end) has failed: program pigeon is not registered at A: add it to `programs` in the node's configuration, and reload, for the notices to come"; got != want {
		t.Errorf("history has %q\nwant %q", got, want)
	}
}
