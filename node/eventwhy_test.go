package node_test

import (
	"testing"
)

// Why says of a receive also when its deadline comes.
func TestWhyOfAReceiveWithADeadline(t *testing.T) {
	n := openNode(t, "A", "")
	uploadFamily(t, n, "process: patient\nversion: 1\nstructures:\n  Job: {job: string}\n  End: {late: bool}\nevents: {paid: {}}\ninput: Job\noutput: End\n"+
		"activities:\n  payment: {node: A, receive: {event: paid, key: job}, input: Job, deadline: {after: 1h}}\n"+
		"data:\n  - source -> payment\n  - payment -> sink: {late: _TIMEOUT}\n")
	id := beginOf(t, n, "patient", `{"job": "J-8"}`)
	waits(t, n, id, "payment")
	why, err := n.Why(t.Context(), id, "")
	if err != nil || len(why.Waits) != 1 || why.Waits[0].For != "waiting for event paid, key J-8; its deadline comes" || why.Waits[0].Due.IsZero() {
		t.Errorf("why: %+v, %v", why, err)
	}
}
