package world

import (
	"fmt"
	"testing"
	"time"

	"fmqm/queue/record"
)

// lostRace is a process of which B decides first that hears comes too late, and that c runs. Then B loses its store. By now
// the event is there: hears takes it, and c is dead.
func lostRace(activities, connectors, data string) Plan {
	p := given(3, `
structures:
  S: {n: int}
events: {go: {}}
input: S
starts: [A]
activities:
  late:  {node: A, wait: {for: 2m}}
  tells: {node: A, send: {event: go, to: B}}
  hears: {node: B, receive: {event: go}, deadline: {after: 30s}, start: first}
  go:    {node: A, empty: true}
  c:     {node: B, program: many`+activities+`
  keeps: {node: A, wait: {for: 10m}, input: S, output: S}
control: [go -> hears, keeps -> hears, late -> tells, {hears -> c: _TIMEOUT}`+connectors+`]
data: [source -> keeps`+data+`]
`, `
starts: [C]
activities:
  slow: {node: C, wait: {for: 5m}}
`)
	p.Events = []Event{{At: 4 * time.Minute, Do: Lose, Site: "B", For: time.Second}}
	p.Clear = 5 * time.Minute
	return p
}

// N14, R41: what B had passed around, or cancelled with all that is around it, had told B nothing of its end. Its site says
// it now, so what follows on it at B goes on; of the work of a call that is in error.
func TestN14WhoWasToldOfARaceSaysItAgain(t *testing.T) {
	type line struct {
		at       name
		event    record.Event
		activity string
	}
	for _, tc := range []struct {
		what, activities, connectors, data string
		before, then                       []line
	}{
		{
			"a dead path that B has passed around",
			`}
  x: {node: C, program: many}
  z: {node: B, program: many, start: any}`,
			", {hears -> x: _TIMEOUT == false}, x -> z, keeps -> z",
			"",
			[]line{{"B", record.EventPassed, "x"}, {"C", record.EventSkipped, "x"}},
			[]line{{"B", record.EventTerminated, "z"}},
		},
		{
			"one that is still waited for",
			`}
  x: {node: C, program: many, input: S}
  z: {node: B, program: many, start: any}`,
			", {hears -> x: _TIMEOUT == false}, x -> z, keeps -> z",
			", keeps -> x",
			[]line{{"B", record.EventPassed, "x"}},
			[]line{{"C", record.EventSkipped, "x"}, {"B", record.EventTerminated, "z"}},
		},
		{
			"a block that was cancelled",
			`, cancels: [around]}
  around:
    node: B
    activities:
      x: {node: C, wait: {for: 5m}}
      z: {node: B, program: many}
    control: [x -> z]`,
			"",
			"",
			[]line{{"C", record.EventCancelled, "x"}},
			[]line{{"B", record.EventSkipped, "z"}, {"B", record.EventTerminated, "around"}},
		},
		{
			"a call that was cancelled",
			`, cancels: [called]}
  called: {node: B, at: {node: '"C"', of: [C]}, process: given-1}
  z: {node: B, program: many, start: any}`,
			", called -> z, keeps -> z",
			"",
			[]line{{"C", record.EventCancelled, "called"}},
			[]line{{"B", record.EventInError, "called"}},
		},
	} {
		t.Run(tc.what, func(t *testing.T) {
			r := Run(lostRace(tc.activities, tc.connectors, tc.data), Options{Lines: true})
			if r.Broken != nil {
				t.Fatal(Story(r))
			}
			for _, l := range append(tc.before, tc.then...) {
				if !says(r, fmt.Sprintf("%s records event %d of %s", l.at, l.event, l.activity)) {
					t.Errorf("%s has not recorded event %d of %s\n%s", l.at, l.event, l.activity, Story(r))
				}
			}
		})
	}
}
