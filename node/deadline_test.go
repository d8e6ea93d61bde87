package node_test

import (
	"testing"

	"fmqm/api"
)

// N23: the deadline of a process terminates its instance, with what it has begun; one that ends before is
// left alone.
func TestTheDeadlineOfAProcess(t *testing.T) {
	n := openNode(t, "A", "")
	upload(t, n, `
process: slow
version: 1
structures: {In: {n: int, within: duration}}
input: In
deadline: {after: within}
activities:
  work: {node: A, program: echo, input: In, output: In}
  rest: {node: A, wait: {for: 720h}}
  line: {node: A, process: line, start: work}
control:
  - work -> rest: n > 0
  - work -> line: n > 0
data:
  - source -> work
`)
	upload(t, n, `
process: line
version: 1
activities:
  rest: {node: A, wait: {for: 720h}}
`)
	s := run(t, n, "slow", `{"n": 1, "within": "1s"}`)
	if s.State != api.InstanceTerminated || s.By != "its deadline" {
		t.Errorf("%s by %q: %s", s.State, s.By, s.Reason)
	}
	if child := activity(s, "line").Child; child == nil {
		t.Errorf("%+v", activity(s, "line"))
	} else if c, err := n.Wait(t.Context(), *child); err != nil || c.State != api.InstanceTerminated {
		t.Errorf("what it has begun is %+v, %v", c, err)
	}
	if s := run(t, n, "slow", `{"n": 0, "within": "24h"}`); s.State != api.InstanceFinished {
		t.Errorf("one that ends before is %s", s.State)
	}
}
