package client_test

import (
	"encoding/json"
	"strings"
	"testing"

	"fmqm/api"
)

const loud = `
process: loud
version: 1
structures:
  In: {text: string}
input: In
starts: [A]
activities:
  fails:  {node: B, program: loud, input: In}
  pauses: {node: B, program: loud, input: In, retry: {attempts: 2, backoff: 1h, max_backoff: 1h}}
data:
  - source -> fails
  - source -> pauses
`

// Status, why and history say what an activity in error, or between two attempts, was
// given, and what its program said last, also at another site and after a restart; nothing
// of it steers the terminal.
func TestWhatAProgramGotAndSaid(t *testing.T) {
	s := newSites(t)
	s.start("A", "B")
	s.upload(loud)
	id := s.begin("loud", `{"text": "x\u001b[1m"}`)
	s.until("A", id, "fails", "in-error")
	s.wait("a pause", func() bool { return strings.Contains(s.must("A", "why", id), "; next attempt at 20") })
	s.stop("B")
	s.start("B")
	const said = "first\nbad \x1b[31mword"
	for _, a := range s.until("A", id, "fails", "in-error").Activities {
		if a.Stderr != said || strings.Join(strings.Fields(string(a.Input)), "") != `{"text":"x\u001b[1m"}` {
			t.Errorf("%s: input %s, stderr %q", a.Activity, a.Input, a.Stderr)
		}
	}
	const below = `
fails at B, in-error
  input   {"text":"x\u001b[1m"}
  stderr  first
          bad \x1b[31mword
`
	for _, command := range []string{"status", "why"} {
		s.wait(command+" with what it got and said:"+below, func() bool { return strings.Contains(s.must("A", command, id), below) })
	}
	var waits []api.Wait
	if err := json.Unmarshal([]byte(s.must("A", "why", id, "-o", "json")), &waits); err != nil {
		t.Fatal(err)
	}
	for _, w := range waits {
		if w.Activity == "pauses" && (w.Due.IsZero() || w.Stderr != said || w.Input == nil || w.Since.IsZero() || strings.Contains(w.For, "20")) {
			t.Errorf("why: %+v", w)
		}
	}
	if out := s.must("A", "history", id); strings.Count(out, `; stderr: bad \x1b[31mword`) != 2 {
		t.Errorf("history:\n%s", out)
	}
	var events []api.HistoryEvent
	if err := json.Unmarshal([]byte(s.must("A", "history", id, "-o", "json")), &events); err != nil {
		t.Fatal(err)
	}
	for _, e := range events {
		if failed := e.Event == api.EventFailed || e.Event == api.EventInError; failed != (e.Stderr == said) {
			t.Errorf("event %+v", e)
		}
	}
}
