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

// He calls over the broker, whose queues are open to him: his certificate makes nobody a
// peer. He is told so, a line of the log says what an operator may do about it, and neither
// a link nor a record of him is left.
func TestStrangerCallsOverTheBroker(t *testing.T) {
	t.Parallel()
	eve := newAccount(t)
	w := newWorld(t, options{amqp: eve.amqp(t)})
	w.define("A", between)
	stranger := w.party("STRANGER", w.pki)
	line := stranger.overBroker(stranger.broker(eve.broker, eve.vhost), "A")
	line.put(0, []byte("for whom it may concern"))
	w.Sites["A"].Says("a site that calls over the broker is turned away: it is neither in a process stored here nor in links.peers")
	line.refused("this site is neither in a process that is stored there nor in `links.peers` there")
	if w.knows("A", "STRANGER") {
		t.Error("A shows the stranger as a peer")
	}
	w.unmoved()
	if found := w.dump("A", "STRANGER"); len(found) > 0 {
		t.Errorf("A's store has of the stranger: %q", found)
	}
}
