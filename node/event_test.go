package node_test

import (
	"encoding/json"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"fmqm/api"
	"fmqm/node"
)

const repair = `
process: repair
version: 1
structures:
  Job: {job: string, note: string}
  Part: {serial: string, note: string}
  Result: {serial: string, note: string, event: string}
events:
  part_arrived: Part
  cancelled: {}
input: Job
output: Result
activities:
  arrival:
    node: A
    receive: {one_of: [part_arrived, cancelled], key: job}
    input: Job
    output: Part
data:
  - source -> arrival
  - arrival -> sink: {serial: serial, note: note, event: _EVENT}
`

const agent = `
process: agent
version: 1
structures:
  Told: {job: string, serial: string, note: string}
  Part: {serial: string, note: string}
events:
  part_arrived: Part
input: Told
activities:
  tell: {node: A, send: {event: part_arrived, key: job, to: A}, input: Told}
data:
  - source -> tell
`

const canceller = `
process: canceller
version: 1
structures:
  Told: {job: string}
events:
  cancelled: {}
input: Told
activities:
  tell: {node: A, send: {event: cancelled, key: job}, input: Told}
data:
  - source -> tell
`

// bare sends the event without data.
var bare = strings.NewReplacer("  Part: {serial: string, note: string}\n", "", "part_arrived: Part", "part_arrived: {}").Replace(agent)

// beginOf starts an instance, and does not wait for its end.
func beginOf(t *testing.T, n *node.Node, process, input string) api.InstanceID {
	t.Helper()
	id := uuid.Must(uuid.NewV7())
	if _, err := n.Start(t.Context(), api.StartRequest{Instance: id, Process: process, Input: json.RawMessage(input)}); err != nil {
		t.Fatal(err)
	}
	return id
}

// waits lets it come to that an activity is under way.
func waits(t *testing.T, n *node.Node, id api.InstanceID, name string) {
	t.Helper()
	until(t, func() bool {
		s, err := n.Status(t.Context(), id)
		return err == nil && activity(s, name).State == api.ActivityRunning
	})
}

// ended is how an instance has ended.
func ended(t *testing.T, n *node.Node, id api.InstanceID, output string) {
	t.Helper()
	s, err := n.Wait(t.Context(), id)
	if err != nil || s.State != api.InstanceFinished || string(s.Output) != output {
		t.Fatalf("it is %s with %s, %v; want %s", s.State, s.Output, err, output)
	}
}

func happened(t *testing.T, n *node.Node, id api.InstanceID, activity, want string) {
	t.Helper()
	if got := strings.Join(events(t, n, id, activity), " "); got != want {
		t.Errorf("history of %s: %s, want %s", activity, got, want)
	}
}

const arrived = `{"serial":"S-1","note":"","event":"part_arrived"}`

// R37, R39: a receive terminates with the event that is sent while it waits.
func TestAReceiveWaitsForItsEvent(t *testing.T) {
	n := openNode(t, "A", "")
	uploadFamily(t, n, repair, agent)
	other, id := beginOf(t, n, "repair", `{"job": "J-8"}`), beginOf(t, n, "repair", `{"job": "J-7"}`)
	waits(t, n, id, "arrival")
	waits(t, n, other, "arrival")
	sender := run(t, n, "agent", `{"job": "J-7", "serial": "S-1"}`)
	ended(t, n, id, arrived)
	happened(t, n, id, "arrival", "received terminated")
	happened(t, n, sender.Instance, "tell", "sent terminated")
	waits(t, n, other, "arrival")
}

// An event that comes before its receive is kept for it.
func TestAnEventWaitsForItsReceive(t *testing.T) {
	n := openNode(t, "A", "")
	uploadFamily(t, n, repair, agent)
	run(t, n, "agent", `{"job": "J-7", "serial": "S-1"}`)
	run(t, n, "agent", `{"job": "J-7", "serial": "S-2"}`)
	ended(t, n, beginOf(t, n, "repair", `{"job": "J-7"}`), arrived)
	ended(t, n, beginOf(t, n, "repair", `{"job": "J-7"}`), strings.Replace(arrived, "S-1", "S-2", 1))
}

// Of two receives that wait, the one that has waited longer has the event.
func TestOneEventForTwoReceives(t *testing.T) {
	n := openNode(t, "A", "")
	uploadFamily(t, n, repair, agent)
	first := beginOf(t, n, "repair", `{"job": "J-7"}`)
	waits(t, n, first, "arrival")
	second := beginOf(t, n, "repair", `{"job": "J-7"}`)
	waits(t, n, second, "arrival")
	run(t, n, "agent", `{"job": "J-7", "serial": "S-1"}`)
	ended(t, n, first, arrived)
	waits(t, n, second, "arrival")
	run(t, n, "agent", `{"job": "J-7", "serial": "S-2"}`)
	ended(t, n, second, strings.Replace(arrived, "S-1", "S-2", 1))
}

// R38: where both events of a choice are there, the receive takes one, and the other one is there for the next.
func TestTheOtherEventOfAChoice(t *testing.T) {
	n := openNode(t, "A", "")
	uploadFamily(t, n, repair, agent, canceller)
	run(t, n, "agent", `{"job": "J-7", "serial": "S-1"}`)
	run(t, n, "canceller", `{"job": "J-7"}`)
	var got []string
	for range 2 {
		s := run(t, n, "repair", `{"job": "J-7"}`)
		got = append(got, string(s.Output))
	}
	slices.Sort(got)
	if want := []string{`{"serial":"","note":"","event":"cancelled"}`, arrived}; !slices.Equal(got, want) {
		t.Errorf("they have ended with %s, want %s", got, want)
	}
}

const withDeadline = `
process: hurried
version: 1
structures:
  Job: {job: string}
  Result: {late: bool, event: string}
events:
  part_arrived: {}
input: Job
output: Result
activities:
  arrival:
    node: A
    receive: {event: part_arrived, key: job}
    input: Job
    deadline: {after: 30ms}
  late: {node: A, empty: true, output: Result}
control:
  - arrival -> late: _TIMEOUT
data:
  - source -> arrival
  - arrival -> sink: {late: _TIMEOUT, event: _EVENT}
`

// R21: a deadline ends a receive, which waits no more: what is sent later is for another one.
func TestADeadlineOfAReceive(t *testing.T) {
	n := openNode(t, "A", "")
	uploadFamily(t, n, withDeadline, bare)
	ended(t, n, beginOf(t, n, "hurried", `{"job": "J-7"}`), `{"late":true,"event":""}`)
	run(t, n, "agent", `{"job": "J-7"}`)
	ended(t, n, beginOf(t, n, "hurried", `{"job": "J-7"}`), `{"late":false,"event":"part_arrived"}`)
}

const looped = `
process: counter
version: 1
structures:
  Sum: {want: int, seen: int}
  Tick: {by: int}
events:
  tick: {}
input: Sum
output: Sum
activities:
  rounds:
    node: A
    input: Sum
    output: Sum
    exit: seen >= want
    activities:
      tick: {node: A, receive: {event: tick}, input: Sum, output: Sum}
      add: {node: A, program: echo, input: Sum, output: Sum}
    control:
      - tick -> add
    data:
      - source -> add
      - source -> sink: {want: want, seen: (seen + 1)}
data:
  - source -> rounds
  - rounds -> rounds: {want: want, seen: seen}
  - rounds -> sink
`

const ticker = `
process: ticker
version: 1
events:
  tick: {}
activities:
  tick: {node: A, send: {event: tick}}
`

// A block with a receive takes an event in each iteration.
func TestALoopOfReceives(t *testing.T) {
	n := openNode(t, "A", "")
	uploadFamily(t, n, looped, ticker)
	for range 2 {
		run(t, n, "ticker", "{}")
	}
	id := beginOf(t, n, "counter", `{"want": 3}`)
	for range 2 {
		run(t, n, "ticker", "{}")
	}
	ended(t, n, id, `{"want":3,"seen":3}`)
	id = beginOf(t, n, "counter", `{"want": 2}`)
	run(t, n, "ticker", "{}")
	ended(t, n, id, `{"want":2,"seen":2}`)
}

const cancelled = `
process: choice
version: 1
structures:
  Job: {job: string}
events:
  part_arrived: {}
  cancelled: {}
input: Job
activities:
  arrival: {node: A, receive: {event: part_arrived, key: job}, input: Job, cancels: [off]}
  off: {node: A, receive: {event: cancelled, key: job}, input: Job, cancels: [arrival]}
data:
  - source -> arrival
  - source -> off
`

// R23: a receive that is cancelled waits no more, and leaves its event to another one; so does one whose instance
// is terminated.
func TestAReceiveIsCancelled(t *testing.T) {
	n := openNode(t, "A", "")
	uploadFamily(t, n, cancelled, canceller, bare)
	first := beginOf(t, n, "choice", `{"job": "J-7"}`)
	waits(t, n, first, "arrival")
	run(t, n, "canceller", `{"job": "J-7"}`)
	s, err := n.Wait(t.Context(), first)
	if err != nil || activity(s, "arrival").State != api.ActivityCancelled {
		t.Fatalf("arrival is %s, %v", activity(s, "arrival").State, err)
	}
	second := beginOf(t, n, "choice", `{"job": "J-7"}`)
	waits(t, n, second, "arrival")
	if err := n.Terminate(t.Context(), second, ""); err != nil {
		t.Fatal(err)
	}
	if _, err := n.Wait(t.Context(), second); err != nil {
		t.Fatal(err)
	}
	third := beginOf(t, n, "choice", `{"job": "J-7"}`)
	run(t, n, "agent", `{"job": "J-7"}`)
	s, err = n.Wait(t.Context(), third)
	if err != nil || s.State != api.InstanceFinished || activity(s, "arrival").State != api.ActivityTerminated {
		t.Fatalf("it is %s, %v: %+v", s.State, err, s.Activities)
	}
}

// What waits, and what is kept, is there after a restart.
func TestEventsOutliveARestart(t *testing.T) {
	dir := t.TempDir()
	var first, second api.InstanceID
	with := func(do func(n *node.Node)) {
		t.Run("", func(t *testing.T) { do(openNode(t, "A", dir)) })
	}
	with(func(n *node.Node) {
		uploadFamily(t, n, repair, agent)
		first = beginOf(t, n, "repair", `{"job": "J-7"}`)
		waits(t, n, first, "arrival")
	})
	with(func(n *node.Node) { run(t, n, "agent", `{"job": "J-8", "serial": "S-2"}`) })
	with(func(n *node.Node) {
		run(t, n, "agent", `{"job": "J-7", "serial": "S-1"}`)
		ended(t, n, first, arrived)
		second = beginOf(t, n, "repair", `{"job": "J-8"}`)
		ended(t, n, second, strings.Replace(arrived, "S-1", "S-2", 1))
	})
}

// A receive says what it waits for.
func TestWhatAReceiveWaitsFor(t *testing.T) {
	n := openNode(t, "A", "")
	uploadFamily(t, n, repair)
	id := beginOf(t, n, "repair", `{"job": "J-7"}`)
	waits(t, n, id, "arrival")
	s, err := n.Status(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	a := activity(s, "arrival")
	if a.Kind != api.KindReceive || a.Waits == nil || a.Waits.Key != "J-7" || !slices.Equal(a.Waits.Events, []string{"part_arrived", "cancelled"}) {
		t.Errorf("it is %+v, %+v", a, a.Waits)
	}
	why, err := n.Why(t.Context(), id, "")
	if err != nil || len(why.Waits) != 1 || why.Waits[0].For != "waiting for event part_arrived or cancelled, key J-7" {
		t.Errorf("why: %+v, %v", why, err)
	}
}

// An activity whose key is empty is in error, and waits for no event and sends none.
func TestAnEmptyKey(t *testing.T) {
	n := openNode(t, "A", "")
	uploadFamily(t, n, repair, agent)
	for _, process := range []string{"repair", "agent"} {
		id := beginOf(t, n, process, `{}`)
		s, err := n.Wait(t.Context(), id)
		if err != nil || s.State != api.InstanceInError || !strings.Contains(s.Reason+fmt.Sprint(s.Activities), "is empty: give it a text") {
			t.Errorf("%s is %s, %v: %+v", process, s.State, err, s.Activities)
		}
	}
}

// send sends an event from outside.
func send(t *testing.T, n *node.Node, r api.EventRequest) api.EventAnswer {
	t.Helper()
	a, err := n.SendEvent(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// N24: an event that is sent from outside reaches its receive; a repeat changes nothing.
func TestAnEventFromOutside(t *testing.T) {
	n := openNode(t, "A", "")
	uploadFamily(t, n, repair)
	part := api.EventRequest{Event: "part_arrived", Key: "J-7", ID: "delivery 1", Data: json.RawMessage(`{"serial": "S-1"}`)}
	if a := send(t, n, part); a.Result != api.EventKept || a.Node != "A" {
		t.Errorf("it was answered %+v", a)
	}
	if a := send(t, n, part); a.Result != api.EventKnown {
		t.Errorf("a repeat was answered %+v", a)
	}
	list, err := n.Events(t.Context(), api.EventsRequest{Limit: 10})
	if err != nil || len(list.Events) != 1 || list.Events[0].ID != "delivery 1" || string(list.Events[0].Data) != `{"serial":"S-1","note":""}` || list.Events[0].State != api.EventStored {
		t.Fatalf("kept are %+v, %v", list, err)
	}
	id := beginOf(t, n, "repair", `{"job": "J-7"}`)
	ended(t, n, id, arrived)
	if a := send(t, n, part); a.Result != api.EventKnown {
		t.Errorf("a repeat of what was taken was answered %+v", a)
	}
	k, err := n.Event(t.Context(), "delivery 1")
	if err != nil || k.State != api.EventTaken || k.Instance != id || k.Activity != "arrival" {
		t.Errorf("it is %+v, %v", k, err)
	}
	waiting := beginOf(t, n, "repair", `{"job": "J-7"}`)
	waits(t, n, waiting, "arrival")
	list, err = n.Events(t.Context(), api.EventsRequest{Waiting: true, Limit: 10})
	if err != nil || len(list.Events) != 2 || list.Events[0].Instance != waiting || list.Events[0].State != api.EventWaiting {
		t.Errorf("waiting are %+v, %v", list, err)
	}
	send(t, n, api.EventRequest{Event: "cancelled", Key: "J-7", ID: "delivery 1"})
	ended(t, n, waiting, `{"serial":"","note":"","event":"cancelled"}`)
}

// What no process receives is refused, and so is what has another shape.
func TestEventsThatAreRefused(t *testing.T) {
	n := openNode(t, "A", "")
	uploadFamily(t, n, repair)
	for _, tc := range []struct {
		r    api.EventRequest
		want string
	}{
		{api.EventRequest{Event: "part_arived", ID: "x"}, "no process at A receives the event part_arived"},
		{api.EventRequest{Event: "part_arrived", ID: "x", Data: json.RawMessage(`{"serial": 3}`)}, "event part_arrived: data"},
		{api.EventRequest{Event: "cancelled", ID: "x", Data: json.RawMessage(`{"serial": "S-1"}`)}, "event cancelled: data"},
		{api.EventRequest{Event: "cancelled"}, "the identifier of an event"},
		{api.EventRequest{Event: "cancelled", ID: "x", Key: strings.Repeat("k", 257)}, "the key of an event"},
		{api.EventRequest{Event: "cancelled", ID: "x", Keep: "soon"}, `keep: "soon" is no duration`},
		{api.EventRequest{Event: "cancelled", ID: "x", At: "B"}, "A has no link to B"},
	} {
		if a, err := n.SendEvent(t.Context(), tc.r); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%+v: %+v, %v, want %s", tc.r, a, err, tc.want)
		}
	}
	if list, err := n.Events(t.Context(), api.EventsRequest{Limit: 10}); err != nil || len(list.Events) > 0 {
		t.Errorf("kept are %+v, %v", list, err)
	}
}

// An event that was kept is let go of; one that is kept no longer than it may be is set aside, and no receive takes it.
func TestEventsGo(t *testing.T) {
	n := openNode(t, "A", "")
	uploadFamily(t, n, repair)
	kept := func() (states []string) {
		list, err := n.Events(t.Context(), api.EventsRequest{Limit: 10})
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range list.Events {
			states = append(states, string(k.State))
		}
		return states
	}
	send(t, n, api.EventRequest{Event: "cancelled", Key: "J-7", ID: "one"})
	if _, err := n.DropEvent(t.Context(), "one"); err != nil {
		t.Fatal(err)
	}
	until(t, func() bool { return len(kept()) == 0 })
	if _, err := n.DropEvent(t.Context(), "one"); api.CodeOf(err) != api.CodeNotFound {
		t.Errorf("dropped again: %v", err)
	}
	send(t, n, api.EventRequest{Event: "cancelled", Key: "J-7", ID: "two", Keep: "1s"})
	until(t, func() bool { return slices.Equal(kept(), []string{"expired"}) })
	id := beginOf(t, n, "repair", `{"job": "J-7"}`)
	waits(t, n, id, "arrival")
	until(t, func() bool { return len(kept()) == 0 }) // it goes by itself
	waits(t, n, id, "arrival")
}

// N24: from its commit to the end of its receive an event costs three durable writes: it is kept, it meets the receive, and
// the receive ends.
func TestAnEventCostsThreeWrites(t *testing.T) {
	n := openNode(t, "A", "")
	// Of several events the entries of the others are cleared afterwards, when the instance has ended already.
	uploadFamily(t, n, strings.Replace(repair, "one_of: [part_arrived, cancelled]", "event: cancelled", 1))
	id := beginOf(t, n, "repair", `{"job": "J-7"}`)
	waits(t, n, id, "arrival")
	writes := func() uint64 {
		s, err := n.Stats()
		if err != nil {
			t.Fatal(err)
		}
		return s.Queue.Commits
	}
	before := writes()
	send(t, n, api.EventRequest{Event: "cancelled", Key: "J-7", ID: "one"})
	ended(t, n, id, `{"serial":"","note":"","event":"cancelled"}`)
	if got := writes() - before; got != 3 {
		t.Errorf("it cost %d durable writes", got)
	}
}

// Invariant 10: what waits costs nothing but memory, and of that what the cache allows: no task each. All of it has its
// event.
func TestManyReceivesWait(t *testing.T) {
	const many = 500
	n := openNode(t, "A", "")
	uploadFamily(t, n, repair)
	ids := make([]api.InstanceID, many)
	before := runtime.NumGoroutine()
	for i := range ids {
		ids[i] = beginOf(t, n, "repair", fmt.Sprintf(`{"job": "J-%d"}`, i%(many/2)))
	}
	waits(t, n, ids[many-1], "arrival")
	if now := runtime.NumGoroutine(); now > before+20 {
		t.Errorf("there are %d goroutines, and were %d", now, before)
	}
	for i := range ids {
		send(t, n, api.EventRequest{Event: "cancelled", Key: fmt.Sprintf("J-%d", i%(many/2)), ID: fmt.Sprint("off ", i)})
	}
	for _, id := range ids {
		ended(t, n, id, `{"serial":"","note":"","event":"cancelled"}`)
	}
}

// What is kept, what waits, and what is remembered goes into a backup and out of it.
func TestEventsInABackup(t *testing.T) {
	n := openNode(t, "A", "")
	uploadFamily(t, n, repair)
	part := func(job, id string) api.EventRequest {
		return api.EventRequest{Event: "part_arrived", Key: job, ID: id, Data: json.RawMessage(`{"serial": "S-1"}`)}
	}
	send(t, n, part("J-1", "taken"))
	ended(t, n, beginOf(t, n, "repair", `{"job": "J-1"}`), arrived)
	send(t, n, part("J-2", "kept"))
	waiting := beginOf(t, n, "repair", `{"job": "J-3"}`)
	waits(t, n, waiting, "arrival")
	engine := restoredOf(t, n)
	restored, err := node.Open(node.Options{Name: "A", Engine: engine, Registry: builtins(t)})
	if err != nil {
		t.Fatal(err)
	}
	restored.Launch()
	defer func() {
		if err := restored.Stop(t.Context()); err != nil {
			t.Error(err)
		}
	}()
	for job, id := range map[string]string{"J-1": "taken", "J-2": "kept"} {
		if a := send(t, restored, part(job, id)); a.Result != api.EventKnown {
			t.Errorf("%s: %+v", id, a)
		}
	}
	ended(t, restored, beginOf(t, restored, "repair", `{"job": "J-2"}`), arrived)
	send(t, restored, part("J-3", "new"))
	ended(t, restored, waiting, arrived)
}
