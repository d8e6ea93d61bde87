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
	puts map[arrival]claim
}

// claim is a transaction's on an arrival, and where among its messages it is, if it is put.
type claim struct {
	by *arriving
	at int
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

// claim notes that the transaction puts k next, and says whether it has claimed it already, and what it
// puts under it by then. While another one does, the error is *underWay. What the transaction has is
// not searched: a peer may bring thousands of repeats at once.
func (t *taking) claim(k arrival) (put *message.Message, again bool, err error) {
	t.of.mu.Lock()
	defer t.of.mu.Unlock()
	c, again := t.of.puts[k]
	switch {
	case !again:
		t.keys = append(t.keys, k)
	case c.by != t.arriving:
		return nil, false, &underWay{c.by.ended}
	case c.at < len(t.tx.Put) && arrivalOf(&t.tx.Put[c.at]) == k:
		return &t.tx.Put[c.at], true, nil
	}
	if t.of.puts == nil {
		t.of.puts = map[arrival]claim{}
	}
	t.of.puts[k] = claim{t.arriving, len(t.tx.Put)}
	return nil, again, nil
}

// underWay: what is to be put is being put by another transaction. Once that has ended, all
// of the transaction is judged again.
type underWay struct{ ended *task.Gate }

func (*underWay) Error() string { return "another transaction is storing it" }
