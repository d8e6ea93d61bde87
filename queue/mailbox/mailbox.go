package mailbox

import (
	"sync"

	"fmqm/internal/task"
	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue/commit"
	"fmqm/queue/record"
)

// Committer is told what a reader does, before it handles what that reader submits later. It is no
// reason for a commit.
type Committer interface{ Tell(commit.Event) }

// Box is the mailbox of one process queue: what was delivered and not taken, if it has a reader.
// What follows of that for transactions is the committer's, which is told what was taken.
type Box struct {
	id        processtable.ProcessID
	load      *Load
	committer Committer
	wake      *task.Bell // of the reader: there is something to take, or to ask for

	mu        sync.Mutex
	read      bool                  // it has a reader
	count     int                   // of what is in the mailbox
	delivered map[uint64]*newcomers // by the number of the oldest delivery
	first     *newcomers            // the mailbox, in the order in which entries came into it
	last      *newcomers
}

// newcomers is what came for one entry since its owner last looked.
type newcomers struct {
	entry    message.Entry
	messages []message.Message
	oldest   uint64 // that a delivery of it said; 0: nothing was delivered, see Again
	upto     uint64 // number of the last delivery
	next     *newcomers
	one      [1]message.Message // room for messages: for most entries one comes at a time
}

// New gives the mailbox of a process queue, which is empty and has no reader.
func New(id processtable.ProcessID, l *Load, c Committer) *Box {
	return &Box{id: id, load: l, committer: c, wake: l.by.Bell(), delivered: map[uint64]*newcomers{}}
}

// add puts an entry behind the others. The caller holds mu.
func (b *Box) add(n *newcomers) {
	if b.first == nil {
		b.first = n
	} else {
		b.last.next = n
	}
	b.last = n
	b.count++
}

// Deliver hands over a message that is durable now.
func (b *Box) Deliver(m *message.Message, put *commit.Put) {
	b.mu.Lock()
	defer b.mu.Unlock()
	n, more := b.delivered[put.Oldest], 0
	if n == nil {
		n, more = &newcomers{entry: put.Entry, oldest: put.Oldest}, 1
		n.messages = n.one[:0]
		b.delivered[put.Oldest] = n
		b.add(n)
	}
	arrived := *m
	arrived.Arrival = put.Arrival
	n.messages = append(n.messages, arrived)
	n.upto = put.Number
	b.load.add(more, len(m.Body))
	b.wake.Ring()
}

// Again has the reader look at an entry, after what was delivered for it: what it has lies in the
// store.
func (b *Box) Again(e *message.Entry) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.add(&newcomers{entry: *e})
	b.load.add(1, 0)
	b.wake.Ring()
}

// take gives what lies in the mailbox for up to limit entries.
func (b *Box) take(limit int) (out []record.Delivery, taken []commit.TakenEntry) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if limit = min(limit, b.count); limit > 0 {
		out, taken = make([]record.Delivery, 0, limit), make([]commit.TakenEntry, 0, limit)
	}
	for ; limit > 0; limit-- {
		n := b.first
		b.first = n.next
		b.count--
		if n.oldest > 0 {
			delete(b.delivered, n.oldest)
		}
		bytes := 0
		for i := range n.messages {
			bytes += len(n.messages[i].Body)
		}
		out = append(out, record.Delivery{Entry: n.entry, Messages: n.messages})
		taken = append(taken, commit.TakenEntry{Entry: n.entry, Upto: n.upto})
		b.load.add(-1, -bytes)
	}
	if b.first == nil {
		b.last = nil
	} else {
		b.wake.Ring()
	}
	return out, taken
}

// Open gives the reader his newcomers, from now on.
func (b *Box) Open() *Reader {
	b.mu.Lock()
	first := !b.read
	b.read = true
	b.mu.Unlock()
	if first {
		b.committer.Tell(commit.Opened{Process: b.id})
	}
	return &Reader{b}
}

// Reader is how a process queue is read: its new messages, in memory. The methods are safe for
// concurrent use.
type Reader struct{ of *Box }

// Wake rings when there is something to take. It is of the manager's Scheduler.
func (r *Reader) Wake() *task.Bell { return r.of.wake }

// Take gives the newcomers of up to limit entries, those first that have waited
// longest: from now on a transaction may be decided on them.
// Wake rings again if anything is left.
func (r *Reader) Take(limit int) []record.Delivery {
	out, taken := r.of.take(limit)
	if len(taken) > 0 {
		r.of.committer.Tell(commit.Taken{Process: r.of.id, Entries: taken})
	}
	return out
}
