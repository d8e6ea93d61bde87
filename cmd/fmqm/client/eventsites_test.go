package client_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"fmqm/api"
)

const fleetOfTwo = `
process: repair
version: 1
structures:
  Job: {job: string}
  Part: {serial: string}
  Result: {serial: string, event: string}
events:
  part_arrived: Part
  cancelled: {}
input: Job
output: Result
starts: [A]
activities:
  arrival: {node: A, receive: {one_of: [part_arrived, cancelled], key: job}, input: Job, output: Part}
data:
  - source -> arrival
  - arrival -> sink: {serial: serial, event: _EVENT}
---
process: agent
version: 1
structures:
  Told: {job: string, serial: string, office: string}
  Part: {serial: string}
events:
  part_arrived: Part
input: Told
starts: [B]
activities:
  tell: {node: B, send: {event: part_arrived, key: job, to: {node: office, of: [A, B]}, keep: 60d}, input: Told}
data:
  - source -> tell
`

// started starts an instance, and gives its identifier.
func (s *sites) started(site, process, input string) string {
	s.Helper()
	var st api.Status
	if err := json.Unmarshal([]byte(s.must(site, "start", process, "--input", input, "-o", "json")), &st); err != nil {
		s.Fatal(err)
	}
	return st.Instance.String()
}

func (s *sites) ends(site, id, output string) {
	s.Helper()
	var st api.Status
	if err := json.Unmarshal([]byte(s.must(site, "wait", id, "-o", "json")), &st); err != nil {
		s.Fatal(err)
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, st.Output); err != nil || st.State != api.InstanceFinished || compact.String() != output {
		s.Errorf("%s is %s with %s, want %s", id, st.State, st.Output, output)
	}
}

// N24: an activity at one site sends an event to another, which is away meanwhile; it is there once. What a client
// sends to a site for another one is passed on, and a repeat changes nothing.
func TestN24EventsBetweenSites(t *testing.T) {
	s := newSites(t)
	s.start("A", "B")
	for _, text := range strings.Split(fleetOfTwo, "---\n") {
		for _, site := range []string{"A", "B"} {
			s.give(site, text)
		}
	}
	first := s.started("A", "repair", `{"job": "J-7"}`)
	s.stop("A")
	s.started("B", "agent", `{"job": "J-7", "serial": "S-1", "office": "A"}`)
	s.stop("B")
	s.start("A", "B")
	s.ends("A", first, `{"serial":"S-1","event":"part_arrived"}`)

	sent := []string{"event", "send", "part_arrived", "--key", "J-8", "--data", `{"serial": "S-2"}`, "--id", "delivery-2", "--at", "A"}
	for range 2 {
		if out := s.must("B", sent...); out != "event delivery-2: on its way to A\n" {
			t.Errorf("it prints %q", out)
		}
	}
	second := s.started("A", "repair", `{"job": "J-8"}`)
	s.ends("A", second, `{"serial":"S-2","event":"part_arrived"}`)
	s.must("B", sent...)
	s.must("B", "event", "send", "part_arrived", "--key", "J-9", "--id", "behind it", "--at", "A")
	s.wait("what was sent behind it", func() bool { return strings.Contains(s.must("A", "event", "list"), "behind it") })
	third := s.started("A", "repair", `{"job": "J-8"}`)
	s.wait("the receive", func() bool { return strings.Contains(s.must("A", "event", "list", "--waiting"), third) })
	if out := s.must("A", "why", third); !strings.Contains(out, "waiting for event part_arrived or cancelled, key J-8") {
		t.Errorf("why:\n%s", out)
	}
	if out := s.must("A", "event", "send", "cancelled", "--key", "J-8", "--id", "x"); out != "event x: kept at A\n" {
		t.Errorf("it prints %q", out)
	}
	s.ends("A", third, `{"serial":"","event":"cancelled"}`)

	var known api.KeptEvent
	if err := json.Unmarshal([]byte(s.must("A", "event", "show", "delivery-2", "-o", "json")), &known); err != nil || known.State != api.EventTaken || known.Instance.String() != second {
		t.Errorf("it is %+v, %v", known, err)
	}
	s.must("A", "event", "drop", "behind it")
	s.wait("the drop", func() bool { return !strings.Contains(s.must("A", "event", "list"), "behind it") })
	if r := s.fmqm("A", "event", "send", "part_arived"); r.code != 4 || !strings.Contains(r.err, "no process at A receives the event part_arived") {
		t.Errorf("a name that nothing receives: %+v", r)
	}
	if r := s.fmqm("A", "event", "drop", "nothing"); r.code != 3 {
		t.Errorf("an event that is not there: %+v", r)
	}
	for _, site := range []string{"A", "B"} {
		if dead := s.dead(site); len(dead) > 0 {
			t.Errorf("%s has set aside %+v", site, dead)
		}
	}
}
