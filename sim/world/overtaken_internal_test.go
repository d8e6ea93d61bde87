package world

import (
	"fmt"
	"testing"
	"time"

	"fmqm/queue/record"
)

// N14, R35: what ends d and what h is decided by come to A at once, in this order, and d leads to h. What came for h came
// before what d sends: a cascade from d does not end h without it. (The mutants overtaken and first-overtaken.)
func TestN14NoCascadeOvertakesWhatComesAtOnce(t *testing.T) {
	for _, tc := range []struct {
		what, activities string
		events           []Event
		how              record.Event // h ends
	}{
		{
			what: "a connector, where the first are counted",
			activities: `
  h: {node: A, program: many, start: {first: 2}}
control: [y -> x, {y -> d: _RC > 5}, {y -> h: _RC > 5}, {x -> d: _RC > 5}, x -> h, d -> h]`,
			how: record.EventSkipped,
		},
		{
			what: "that it is cancelled",
			activities: `
  h: {node: A, empty: true, start: '!d'}
  n: {node: B, wait: {for: 1s}, cancels: [h]}
control: [y -> x, {y -> d: _RC > 5}, {x -> d: _RC > 5}, d -> h]`,
			events: []Event{{At: 5*time.Second + 20*time.Millisecond, Do: Cut, Site: "A", Peer: "B", For: 20 * time.Second}},
			how:    record.EventCancelled,
		},
	} {
		t.Run(tc.what, func(t *testing.T) {
			p := given(1, `
starts: [A]
activities:
  y: {node: B, program: many}
  x: {node: B, program: many}
  d: {node: A, program: many}`+tc.activities+`
`)
			p.Events = tc.events
			r := Run(p, Options{Lines: true})
			if r.Broken != nil {
				t.Fatal(Story(r))
			}
			if !says(r, fmt.Sprintf("A records event %d of d", record.EventSkipped)) || !says(r, fmt.Sprintf("A records event %d of h", tc.how)) {
				t.Errorf("A has not recorded event %d of h, and that d is skipped\n%s", tc.how, Story(r))
			}
		})
	}
}
