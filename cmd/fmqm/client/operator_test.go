package client_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"fmqm/api"
)

// here fails unless its rc is 0; there is at the other site; after follows on both.
const overTwo = `
process: two
version: 1
structures:
  In: {rc: int, there: int, sleep_ms: int}
  Out: {rc: int}
input: In
output: Out
starts: [A]
activities:
  here:  {node: A, program: fail, input: In, output: Out}
  there: {node: B, program: fail, input: Out, output: Out}
  slow:  {node: B, program: sleep, input: In}
  after: {node: A, program: echo, input: Out, output: Out}
control:
  - here -> after
  - there -> after
  - slow -> after
data:
  - source -> here
  - source -> there: {rc: there}
  - source -> slow
  - there -> after
  - after -> sink
`

// N4: an error is durable: restarts of either site leave it as it is, with its reason;
// the operator's output lets the activity go on, at whichever site it is given.
func TestErrorsAreDurableAndRetried(t *testing.T) {
	s := newSites(t)
	s.start("A", "B")
	s.upload(overTwo)
	id := s.begin("two", `{"rc": 3, "there": 4}`)
	s.until("A", id, "here", "in-error")
	s.until("A", id, "there", "in-error")
	for _, site := range []string{"A", "B", "A"} {
		s.stop(site)
		s.start(site)
	}
	s.until("A", id, "there", "in-error")
	for _, a := range s.until("B", id, "here", "in-error").Activities {
		if want := map[string]string{"here": "return code 3,", "there": "return code 4,"}[a.Activity]; !strings.HasPrefix(a.Reason, want) {
			t.Errorf("%s: %q, want %q", a.Activity, a.Reason, want)
		}
	}
	why := s.must("A", "why", id)
	for _, line := range []string{"return code 3,", "return code 4,", "; waiting for an operator to retry", "waiting for connectors from here, there"} {
		if !strings.Contains(why, line) {
			t.Errorf("why does not say %q:\n%s", line, why)
		}
	}
	s.must("B", "retry", id, "here", "--output", `{"rc": 0}`) // hosted at A
	s.until("A", id, "here", "terminated")
	s.must("A", "retry", id, "there") // it runs again, and fails again
	s.wait("the second error", func() bool { return strings.Count(s.must("A", "history", id), "in-error") == 3 })
	s.until("A", id, "there", "in-error")
	s.must("A", "retry", id, "there", "--output", `{"rc": 9}`)
	if st := s.until("A", id, "", "finished"); strings.Join(strings.Fields(string(st.Output)), "") != `{"rc":9}` {
		t.Errorf("output %s", st.Output)
	}
	s.quiet()
}

// N7: the marker of a termination survives a restart, reaches a node that was down, and
// absorbs what comes for the instance later, from wherever.
func TestTerminationSurvivesEverything(t *testing.T) {
	s := newSites(t)
	s.start("A", "B")
	s.upload(overTwo)

	t.Run("a node that is down, and a restart", func(*testing.T) {
		s.stop("B")
		id := s.begin("two", `{"rc": 3}`)
		s.until("A", id, "here", "in-error")
		s.must("A", "terminate", id)
		s.until("A", id, "", "terminated")
		s.stop("A")
		s.start("A")
		s.until("A", id, "", "terminated")
		s.refused("retry after it", "A", "retry here: it is not in error, it has ended", "retry", id, "here")
		s.start("B")
		s.quiet()
		s.until("B", id, "", "terminated")
		if s.ran("A", id, "after", api.EventTerminated) {
			s.Error("after ran")
		}
	})

	t.Run("messages that come later", func(*testing.T) {
		id := s.begin("two", `{"rc": 3, "there": 4}`)
		s.until("A", id, "here", "in-error")
		s.until("A", id, "there", "in-error")
		s.until("A", id, "slow", "terminated")
		s.stop("A")
		s.must("B", "retry", id, "there", "--output", `{"rc": 1}`) // its message waits for A
		s.wait("the message for A", func() bool { return strings.Contains(s.must("B", "history", id), "terminated") })
		s.stop("B")
		s.start("A")
		s.must("A", "terminate", id)
		s.until("A", id, "", "terminated")
		s.start("B")
		s.quiet() // it was absorbed, not set aside
		if s.ran("A", id, "after", api.EventTerminated) {
			s.Error("after ran")
		}
	})

	t.Run("a program that runs", func(*testing.T) {
		id := s.begin("two", `{"sleep_ms": 60000}`)
		s.until("A", id, "slow", "running")
		s.must("A", "terminate", id)
		s.quiet() // long before it would have ended by itself
		s.until("B", id, "slow", "terminated")
		if s.ran("A", id, "slow", api.EventTerminated) || s.ran("A", id, "after", api.EventTerminated) {
			s.Error("it went on")
		}
	})
}

// Everything that a node understands and does not do is exit 4, with the reason and
// what to do, and changes nothing.
func TestEveryRefusal(t *testing.T) {
	s := newSites(t)
	s.start("A", "B")
	s.upload(overTwo)
	s.upload("process: words\nversion: 1\nstructures:\n  In: {text: string}\ninput: In\nactivities:\n  a: {node: A, program: echo}\n")
	id := s.begin("two", `{"rc": 3}`)
	s.until("A", id, "here", "in-error")
	s.until("A", id, "slow", "terminated")
	s.until("A", id, "there", "terminated")
	before := s.must("A", "history", id)

	for _, tc := range []struct{ start, want string }{
		{"nothing-like-it", "no table of nothing-like-it at A: upload it with fmqm-define upload"},
		{"tow", "no table of tow at A: did you mean two? Or upload it with fmqm-define upload"},
		{"wrods@1", "no table of wrods@1 at A: did you mean words? Or upload it"},
		{"two@2", "no table of two@2 at A: A has two@1: start one of these, or upload it"},
	} {
		if r := s.fmqm("A", "start", tc.start); r.code != 3 || r.out != "" || !strings.Contains(r.err, tc.want) {
			t.Errorf("start %s: %+v, want exit 3 and %s", tc.start, r, tc.want)
		}
	}
	s.refused("start at a node that may not", "B", "two@1 may not be started at B, only at A: start it at one of these nodes (--to)", "start", "two")
	s.refused("a member that there is not", "A", `--input:1:2: x: unknown member; In has rc, there, sleep_ms: remove it or correct its name`, "start", "two", "--input", `{"x": 1}`)
	s.refused("a value of another type", "A", "--input:1:8: rc: expected int", "start", "two", "--input", `{"rc": "x"}`)
	s.refused("a container over the node's limit", "A", "this node takes 4096 (limits.container): pass a reference (a file name, a URL) instead of the data",
		"start", "words", "--input", fmt.Sprintf(`{"text": %q}`, strings.Repeat("x", 5000)))
	s.must("A", "start", "two", "--key", "k", "--input", `{"sleep_ms": 1}`)
	s.refused("a key with another input", "A", "started with another input: use another key", "start", "two", "--key", "k", "--input", `{"sleep_ms": 2}`)
	s.refused("an activity that is not in error", "A", "retry after: it is not in error", "retry", id, "after")
	s.refused("an activity that has ended", "A", "slow", "retry", id, "slow")
	s.refused("an output of another type", "A", "--output:1:8: rc: expected int", "retry", id, "here", "--output", `{"rc": "x"}`)
	s.refused("an output with a member that there is not", "A", "--output:1:2: x: unknown member; Out has rc", "retry", id, "here", "--output", `{"x": 1}`)
	if r := s.fmqm("A", "retry", id, "nobody"); r.code != 3 || !strings.Contains(r.err, "two@1 has no activity nobody") {
		t.Errorf("an activity that there is not: %+v", r)
	}
	if r := s.fmqm("A", "terminate", uuid.Must(uuid.NewV7()).String()); r.code != 3 {
		t.Errorf("an instance that there is not: %+v", r)
	}
	s.same(id, before)

	s.must("A", "terminate", id)
	s.until("A", id, "", "terminated")
	s.refused("a second termination", "A", fmt.Sprintf("instance %s is terminated: there is nothing to terminate", id), "terminate", id)
	s.refused("a retry of what was terminated", "A", "here", "retry", id, "here")
	s.same(id, s.must("B", "history", id))
	s.quiet()
}

// same: nothing has happened to an instance, but that operators asked, and were answered.
func (s *sites) same(id, before string) {
	s.Helper()
	happened := func(history string) string {
		lines := strings.Split(history, "\n")
		return strings.Join(slices.DeleteFunc(lines, func(l string) bool {
			return strings.Contains(l, " asked ") || strings.Contains(l, " answered ")
		}), "\n")
	}
	if after := s.must("A", "history", id); happened(after) != happened(before) {
		s.Errorf("the history was\n%s\nand is\n%s", before, after)
	}
}
