package interpret

import (
	"strings"
	"testing"

	"fmqm/definition"
)

// N20: what is at the origin is done where the instance is started; in a subprocess where that was begun; and events
// meet there that are sent to that node by its name.
func TestN20TheOrigin(t *testing.T) {
	processes := families(t, `
process: order
version: 1
starts: [A, B]
events: {asked: {}}
activities:
  note: {node: _ORIGIN, program: p}
  tell: {node: C, send: {event: asked, to: B}}
  hear: {node: _ORIGIN, receive: {event: asked}}
  part: {node: _ORIGIN, process: part}
  away: {node: C, process: part}
  back: {node: C, send: {event: asked, to: _ORIGIN}}
---
process: part
version: 1
starts: [A, B, C]
activities:
  look: {node: _ORIGIN, program: p}
`)
	for origin, want := range map[string]string{"": "A", "B": "B"} {
		var ran []string
		programs := ProgramFunc(func(a *definition.Activity, c Call) Outcome {
			ran = append(ran, a.Name+" at "+c.Node)
			return Outcome{}
		})
		r, err := Run(processes[0], nil, programs, Options{Processes: processes, Origin: origin})
		if err != nil {
			t.Fatal(err)
		}
		if got, want := strings.Join(ran, ", "), "note at "+want+", look at "+want+", look at C"; got != want {
			t.Errorf("started at %q, programs ran: %s; want %s", origin, got, want)
		}
		if r.State != Finished || r.Activities[2].Node != want || r.Activities[2].State != Terminated {
			t.Errorf("started at %q it is %s, and hear is %+v", origin, r.State, r.Activities[2])
		}
	}
}
