package golden

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"fmqm/api"
)

// What came with tables of format 7 is brought about at B and C alone, in instances that no older story tells of. All
// of it ends by itself, once the gates open.

// many is a process with a bundle, of which one element waits at the gate.
const many = `
process: many
version: 1
structures:
  Order: {n: int, text: string}
  One: {order: Order}
  All: {orders: [Order]}
  Done: {done: [One]}
input: All
output: Done
starts: [B]
activities:
  each: {node: B, for_each: order, parallel: 200, program: gate, input: One, output: One}
data:
  - source -> each: {order: orders}
  - each -> sink: {done: _RESULTS}
`

// returns are so many elements that what they have come to is put together.
const returns = 128

// contest is a process with an activity that begins with the first of two, and one of which somebody is told
// while it waits at the gate.
const contest = `
process: contest
version: 1
structures:
  Order: {n: int, text: string}
input: Order
starts: [B]
activities:
  quick: {node: B, empty: true}
  slow:  {node: B, program: pass}
  pick:  {node: B, program: pass, start: first}
  gate:  {node: B, program: gate, input: Order, notify: [{after: 100ms, program: pass}]}
control:
  - quick -> pick
  - slow -> pick
data:
  - source -> gate
`

// laps is a process that keeps the last iterations of its block only.
const laps = `
process: laps
version: 1
structures:
  Order: {n: int, text: string}
input: Order
starts: [B]
history: {iterations: 2}
activities:
  laps:
    node: B
    input: Order
    output: Order
    exit: n >= 50
    activities:
      lap: {node: B, empty: true, input: Order, output: Order}
    data:
      - source -> lap
      - lap -> sink: {n: (n + 1), text: text}
  gate: {node: B, program: gate, input: Order}
control:
  - laps -> gate
data:
  - source -> laps
  - laps -> laps
  - laps -> gate
`

// meeting is a process in which a receive is given two events at once, and puts one of them back: that waits for
// another receive, behind the gate. A third receive waits for what is sent behind it.
const meeting = `
process: meeting
version: 1
structures:
  Order: {n: int, text: string}
events:
  one: {}
  two: {}
  three: {}
input: Order
starts: [B]
activities:
  ready:      {node: B, program: pass}
  send_one:   {node: B, send: {event: one, key: _INSTANCE}}
  send_two:   {node: B, send: {event: two, key: _INSTANCE}}
  either:     {node: B, receive: {one_of: [one, two], key: _INSTANCE}}
  gate:       {node: B, program: gate, input: Order}
  other:      {node: B, receive: {one_of: [one, two], key: _INSTANCE}}
  send_three: {node: B, send: {event: three, key: _INSTANCE}}
  third:      {node: B, receive: {event: three, key: _INSTANCE}}
control:
  - ready -> send_one
  - ready -> send_two
  - gate -> other
  - gate -> send_three
data:
  - source -> gate
`

// listening is a process at C with a receive.
func listening(name string) string {
	return `
process: ` + name + `
version: 1
structures:
  Order: {n: int, text: string}
events:
  said: Order
input: Order
output: Order
starts: [C]
activities:
  hear: {node: C, receive: {event: said, key: text}, input: Order, output: Order}
data:
  - source -> hear
  - hear -> sink
`
}

// listens are two of them, of which one has waited before, and one that begins an instance of the other, whose thread
// stands there, and sends two events: one for each.
var listens = []string{listening("listens"), listening("hears"), `
process: speaks
version: 1
structures:
  Order: {n: int, text: string}
events:
  said: Order
input: Order
output: Order
starts: [C]
activities:
  begin: {node: C, process: hears, input: Order, output: Order}
  say:   {node: C, send: {event: said, key: text}, input: Order}
  again: {node: C, send: {event: said, key: text}, input: Order}
control:
  - say -> begin # the first event is for who has waited
data:
  - source -> begin
  - source -> say
  - source -> again
  - begin -> sink
`}

// format7 has B have a bundle under way, a race, a notice, a long loop, receives that wait, and events of
// an activity, put back.
func (m *maker) format7() {
	m.Helper()
	for _, process := range []string{many, contest, laps, meeting} {
		m.command("B", "fmqm-define", "upload", file(m.T, process))
	}
	b := m.Sites["B"]
	if _, err := b.Client.Start(m.ctx, api.StartRequest{Instance: instance(44), Process: "many", Input: orders(m.T)}); err != nil {
		m.Fatal(err)
	}
	m.start("B", 45, "contest", "hold", 0)
	m.start("B", 46, "laps", "hold", 0)
	m.start("B", 47, "meeting", "hold", 0)
	m.until("B", fmt.Sprintf("fmqm status %s", instance(44)), fmt.Sprintf("%d done", returns), 1)
	m.until("B", fmt.Sprintf("fmqm history %s", instance(45)), "raced", 1)
	m.until("B", fmt.Sprintf("fmqm history %s", instance(45)), "notified", 1)
	m.until("B", fmt.Sprintf("fmqm status %s", instance(46)), "gate  B  running", 1)
	m.Until(m.ctx, "B has removed iterations", func() bool {
		return !strings.Contains(m.ask(b, fmt.Sprintf("fmqm history %s", instance(46))), "laps#1/")
	})
	m.until("B", fmt.Sprintf("fmqm history %s", instance(47)), "put-back", 1)
}

// expire has B keep an event until it is too old. It is dropped soon after that: then it stays for as long again.
func (m *maker) expire() {
	m.Helper()
	b := m.Sites["B"]
	if _, err := b.Client.SendEvent(m.ctx, api.EventRequest{Event: "one", Key: "nobody", ID: tooOld, Keep: "15s"}); err != nil {
		m.Fatal(err)
	}
	m.until("B", fmt.Sprintf("fmqm event show %s", tooOld), string(api.EventExpired), 1)
}

// tooOld is the identifier of an event that no receive takes.
const tooOld = "too-old"

// orders is the input of a bundle: one of its elements waits at the gate.
func orders(t *testing.T) json.RawMessage {
	t.Helper()
	type order struct {
		N    int    `json:"n"`
		Text string `json:"text"`
	}
	all := make([]order, returns, returns+1)
	for n := range all {
		all[n] = order{n, "go"}
	}
	input, err := json.Marshal(map[string]any{"orders": append(all, order{returns, "hold"})})
	if err != nil {
		t.Fatal(err)
	}
	return input
}

// drop has B drop the event that is too old, while no thread takes anything.
func (m *maker) drop() {
	m.Helper()
	if _, err := m.Sites["B"].Client.DropEvent(m.ctx, tooOld); err != nil {
		m.Fatal(err)
	}
}

// listen has a receive of C wait.
func (m *maker) listen() {
	m.Helper()
	for _, process := range listens {
		m.command("C", "fmqm-define", "upload", file(m.T, process))
	}
	m.start("C", 48, "listens", "said", 0)
	m.until("C", "fmqm event list --waiting", "said", 1)
}

// speak gives that receive an event, and another to one in an instance that has begun, of which the thread stands.
func (m *maker) speak() {
	m.Helper()
	m.start("C", 49, "speaks", "said", 0)
	m.Until(m.ctx, "the receive of C has an event", func() bool {
		return !strings.Contains(m.ask(m.Sites["C"], "fmqm event list --waiting"), instance(48).String())
	})
	m.until("C", "fmqm event list", instance(49).String(), 1)
	m.until("C", fmt.Sprintf("fmqm status %s", instance(48)), "finished", 1) // as the story tells it: C is to die after that
	m.until("C", fmt.Sprintf("fmqm history %s", instance(49)), "begin  begun", 1)
}
