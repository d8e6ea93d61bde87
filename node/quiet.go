package node

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"fmqm/message"
	"fmqm/processtable"
)

// Quiet reports whether every queue of the node is empty, and what is not: process
// queues, instance records and transmission queues. It reads the store; it is for tests,
// here and of what is built on a node.
func (n *Node) Quiet() (bool, string) {
	var left []string
	for _, t := range n.threads() {
		id := t.ID()
		entries, more, err := n.queue.BrowseFrom(id, message.Entry{}, 100)
		if err != nil {
			return false, err.Error()
		}
		if len(entries) > 0 {
			e := entries[0].Entry
			left = append(left, fmt.Sprintf("queue of %s: %d entries (more: %t), first %s of instance %s", id, len(entries), more, e.Activity, e.Instance))
		}
		records, _, err := n.queue.Records(id, message.InstanceID{}, 1)
		if err != nil {
			return false, err.Error()
		}
		if len(records) > 0 {
			left = append(left, fmt.Sprintf("records of %s: instance %s", id, records[0].Instance))
		}
	}
	for _, peer := range n.queue.Peers() {
		left = append(left, fmt.Sprintf("transmission queue for %s", peer))
	}
	parked := n.queue.Parked()
	for _, id := range slices.SortedFunc(maps.Keys(parked), processtable.ProcessID.Compare) {
		left = append(left, fmt.Sprintf("%d messages wait for the table of %s", parked[id], id))
	}
	return len(left) == 0, strings.Join(left, "; ")
}
