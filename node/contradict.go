package node

import (
	"bytes"
	"fmt"
	"slices"
	"sync"

	"fmqm/internal/task"
	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue"
)

// A connector is resolved once (invariant 4), and what came first counts: an activity may
// have begun by it. A put takes the place of what lies under the same key, so what comes of
// a connector that has come before, and says something else, is set aside before it is put.
// It comes from a peer that has lost its store and got another result when it ran again, or
// from one that resolves for another what that one has resolved itself (N6). So it is with
// markers: see otherMarker.

// arrivals are the connector messages and markers that are about to be put, by the transactions that
// put them: what is not on disk yet cannot be compared with.
type arrivals struct {
	mu   sync.Mutex
	puts map[arrival]*arriving
}

type arrival struct {
	process processtable.ProcessID
	entry   message.Entry
	key     message.Key
}

// arriving is one such transaction.
type arriving struct {
	of    *arrivals
	keys  []arrival
	ended *task.Gate
}

func (a *arrivals) begin(by task.Scheduler) *arriving { return &arriving{of: a, ended: by.Gate()} }

// end is called once, when the transaction is on disk, or never will be.
func (t *arriving) end() {
	t.of.mu.Lock()
	for _, k := range t.keys {
		delete(t.of.puts, k)
	}
	t.of.mu.Unlock()
	t.ended.Open()
}

// claim notes that the transaction puts k, and says whether it does so already. Another
// one may be doing that.
func (t *arriving) claim(k arrival) (again bool, err error) {
	t.of.mu.Lock()
	defer t.of.mu.Unlock()
	switch other := t.of.puts[k]; other {
	case nil:
	case t:
		return true, nil
	default:
		return false, &underWay{other.ended}
	}
	if t.of.puts == nil {
		t.of.puts = map[arrival]*arriving{}
	}
	t.of.puts[k] = t
	t.keys = append(t.keys, k)
	return false, nil
}

// underWay: what is to be put is being put by another transaction. Once that has ended, all
// of the transaction is judged again.
type underWay struct{ ended *task.Gate }

func (*underWay) Error() string { return "another transaction is storing it" }

// contradicts says why a connector message or a marker is not put beside what has come
// before it, in tx or to the store; or nothing.
func (n *Node) contradicts(t *arriving, tx *queue.Tx, m *message.Message) (reason string, err error) {
	if m.Kind != message.KindConnector && m.Kind != message.KindMarker {
		return "", nil
	}
	k := arrival{m.Queue.Process, m.Entry(), m.Key()}
	again, err := t.claim(k)
	if err != nil {
		return "", err
	}
	if m.Kind == message.KindMarker {
		return n.otherMarker(m)
	}
	first, err := n.queue.Message(k.process, k.entry, k.key)
	if err != nil {
		return "", err
	}
	if again && first == nil {
		at := slices.IndexFunc(tx.Put, func(p message.Message) bool {
			return p.Queue.Process == k.process && p.Entry() == k.entry && p.Key() == k.key
		})
		if at < 0 {
			return "", nil
		}
		first = &tx.Put[at]
	}
	if first == nil || first.Control == m.Control && first.Data == m.Data && first.Origin == m.Origin &&
		first.Definition == m.Definition && bytes.Equal(first.Body, m.Body) {
		return "", nil
	}
	return fmt.Sprintf("it contradicts an earlier message from %s for %s, and the earlier one counts", m.Source, m.Activity), nil
}
