package admission

import (
	"sync"

	"fmqm/internal/task"
	"fmqm/message"
	"fmqm/processtable"
)

// arrivals are the connector messages, markers, words and answers that are about to be taken, by the
// transactions that put them: what is not on disk yet cannot be compared with.
type arrivals struct {
	mu   sync.Mutex
	puts map[arrival]*arriving
}

// arrival is what at most one transaction puts at a time.
type arrival struct {
	process processtable.ProcessID
	entry   message.Entry
	key     message.Key
}

func arrivalOf(m *message.Message) arrival {
	return arrival{m.Queue.Process, m.Entry(), m.Key()}
}

// arriving is one such transaction.
type arriving struct {
	of    *arrivals
	keys  []arrival
	ended *task.Gate
}

// begin begins a transaction that has room for so many.
func (a *arrivals) begin(by task.Scheduler, room int) *arriving {
	return &arriving{of: a, keys: make([]arrival, 0, room), ended: by.Gate()}
}

// end is called once, when the transaction is on disk, or never will be.
func (t *arriving) end() {
	t.of.mu.Lock()
	for _, k := range t.keys {
		delete(t.of.puts, k)
	}
	t.of.mu.Unlock()
	t.ended.Open()
}

// claim notes that the transaction puts k, and says whether it does so already. While another
// one does, the error is *underWay.
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
