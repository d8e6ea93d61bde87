package node_test

import (
	"fmt"
	"strings"
	"testing"

	"fmqm/api"
)

// A termination whose messages are together far more than one commit of the engine is
// one transaction all the same: 1,000 targets with 20 KiB each.
func TestManyLargeMessagesOfOneTermination(t *testing.T) {
	const targets = 1000 // with control and data the most that a definition may have
	var b strings.Builder
	b.WriteString("process: wide\nversion: 1\nstructures:\n  In: {text: string}\ninput: In\nactivities:\n  fork: {node: A, program: echo, input: In, output: In}\n")
	for i := range targets {
		fmt.Fprintf(&b, "  b%d: {node: A, program: noop, input: In}\n", i)
	}
	b.WriteString("control:\n")
	for i := range targets {
		fmt.Fprintf(&b, "  - fork -> b%d\n", i)
	}
	b.WriteString("data:\n  - source -> fork\n")
	for i := range targets {
		fmt.Fprintf(&b, "  - fork -> b%d\n", i)
	}
	n := openNode(t, "A", "")
	upload(t, n, b.String())
	s := run(t, n, "wide", fmt.Sprintf(`{"text": %q}`, strings.Repeat("x", 20<<10)))
	if s.State != api.InstanceFinished {
		t.Fatalf("%s: %s", s.State, s.Reason)
	}
	for _, a := range s.Activities {
		if a.State != api.ActivityTerminated {
			t.Fatalf("%s is %s", a.Activity, a.State)
		}
	}
	quiet(t, n)
}
