package attack

import "testing"

// between is a process whose activities are at A and at B.
const between = `process: between
version: 1
structures: {Note: {text: string}}
input: Note
output: Note
activities:
  here:  {node: A, program: pass, input: Note, output: Note}
  there: {node: B, program: pass, input: Note, output: Note}
control:
  - here -> there
data:
  - source -> here
  - here -> there
  - there -> sink
`

// A stranger, who has a certificate of the sites' authority and is no site of any process,
// calls a site directly: it is told that nobody configured it, and nothing is kept.
func TestStrangerCalls(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	w.define("A", between)
	line := w.party("X", w.pki).call("A")
	line.put(0, []byte("for whom it may concern"))
	line.refused("no peer X is configured here")
	if w.knows("A", "X") {
		t.Error("A shows the stranger as a peer")
	}
	if found := w.dump("A", "X"); len(found) > 0 {
		t.Errorf("A's store has of the stranger: %q", found)
	}
}
