package lane_test

import (
	"testing"

	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue"
	"fmqm/queue/record"
)

var procP = processtable.ProcessID{Name: "p", Version: 1}

// sent is the n-th message of A for a node.
func sent(n int, node processtable.NodeID) message.Message {
	return message.Message{Header: message.Header{
		Queue: message.Queue{Process: procP, Node: node}, Instance: message.InstanceID{6: 0x70, 15: byte(n)}, Origin: "A",
		Activity: "b", Source: "a", Kind: message.KindConnector, Clock: uint64(n),
	}}
}

// submit commits a transaction, and gives its error.
func submit(m *queue.Manager, tx *record.Tx) error {
	done := make(chan error, 1)
	tx.Done = func(err error) { done <- err }
	m.Submit(tx)
	return <-done
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
