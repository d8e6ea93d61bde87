package world

import (
	"fmt"
	"testing"
	"time"

	"fmqm/queue/record"
)

// N14, R41: the deadline of a receive has come, and what leads out of it is dead: its site has passed around x, and goes on
// with z. Then it loses its store. By now the event is there, so the receive takes it, and x would run; but x has ended, and
// its site keeps to that. It says so, and z goes on.
func TestN14WhoWasToldOfARaceSaysItAgain(t *testing.T) {
	p := given(3, `
structures:
  S: {n: int}
events: {go: {}}
input: S
starts: [A]
activities:
  late:  {node: A, wait: {for: 2m}}
  tells: {node: A, send: {event: go, to: B}}
  hears: {node: B, receive: {event: go}, deadline: {after: 30s}}
  x: {node: C, program: many}
  z: {node: B, program: many, start: any}
  keeps: {node: A, wait: {for: 10m}}
control: [late -> tells, {hears -> x: _TIMEOUT == false}, x -> z, keeps -> z]
`)
	p.Events = []Event{{At: 4 * time.Minute, Do: Lose, Site: "B", For: time.Second}}
	p.Clear = 5 * time.Minute
	r := Run(p, Options{Lines: true})
	if r.Broken != nil {
		t.Fatal(Story(r))
	}
	x := func(at name, e record.Event) bool { return says(r, fmt.Sprintf("%s records event %d of x", at, e)) }
	if !x("B", record.EventPassed) || !x("C", record.EventSkipped) {
		t.Errorf("nobody has passed around x\n%s", Story(r))
	}
}
