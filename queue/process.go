package queue

import (
	"math"
	"sync"
	"time"

	"fmqm/internal/task"
	"fmqm/message"
	"fmqm/processtable"
)

// process is what is known in memory of one process queue: which of its entries have
// newcomers, and the mailbox of its reader, if one asked.
type process struct {
	id   processtable.ProcessID
	load *load
	wake chan struct{}
	bell *task.Bell // as wake: for a reader that is a task of the Scheduler

	mu      sync.Mutex
	reader  bool                         // somebody asked for the mailbox
	again   bool                         // the clock was set back: its reader is to ask for timers again
	entries map[message.Entry]*newcomers // dirty, or consumed by a transaction under way
	first   *newcomers                   // the mailbox, in the order in which entries became dirty
	last    *newcomers
	tabled  bool
	stored  int // see Manager.Stored; less what was there at open until that is counted
}

// newcomers is one entry's mark: what came for it since its owner last looked.
type newcomers struct {
	entry    message.Entry
	waiting  int    // in the group that is being written
	consumed uint64 // transactions submitted up to this one are stale: another consumed it
	messages []message.Message
	due      time.Time // of a timer of it whose time has come; zero: none
	queued   bool      // in the mailbox
	held     int       // transactions of it under way: the mailbox keeps what comes meanwhile
	next     *newcomers
}

// neverReported is newcomers.consumed while the consumer is being written.
const neverReported = math.MaxUint64

func newProcess(id processtable.ProcessID, l *load) *process {
	return &process{id: id, load: l, wake: make(chan struct{}, 1), bell: l.by.Bell(), entries: map[message.Entry]*newcomers{}}
}

// at gives the entry's mark, making it where there is none. The caller holds mu.
func (p *process) at(e *message.Entry) *newcomers {
	n := p.entries[*e]
	if n == nil {
		n = &newcomers{entry: *e}
		p.entries[*e] = n
	}
	return n
}

// forget removes a mark that says nothing. The caller holds mu.
func (p *process) forget(n *newcomers) {
	if n.waiting == 0 && n.consumed == 0 && !n.queued && n.held == 0 {
		delete(p.entries, n.entry)
	}
}

// stale says whether a transaction submitted as number seq was decided without
// something that was put for e, or beside another that consumes of e.
func (p *process) stale(e *message.Entry, seq uint64) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := p.entries[*e]
	return n != nil && (n.waiting > 0 || len(n.messages) > 0 || seq <= n.consumed)
}

// hold keeps what comes for e in the mailbox until release: a transaction that was
// decided on e is under way. Were a newcomer taken meanwhile, its mark would be gone
// before the committer looks at the transaction.
func (p *process) hold(e *message.Entry) {
	p.mu.Lock()
	p.at(e).held++
	p.mu.Unlock()
}

// release undoes hold, when the transaction is on disk or refused.
func (p *process) release(e *message.Entry) {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := p.at(e)
	n.held--
	if n.held == 0 && (len(n.messages) > 0 || !n.due.IsZero()) {
		p.enqueue(n)
		return
	}
	p.forget(n)
}

// put marks e: a message for it is being written, which adds to what is stored or
// replaces some of it.
func (p *process) put(e *message.Entry, adds bool) {
	p.mu.Lock()
	if adds {
		p.stored++
	}
	p.at(e).waiting++
	p.mu.Unlock()
}

// consume marks an entry: a transaction that takes messages of it is being written.
func (p *process) consume(c *Consume) {
	p.mu.Lock()
	p.at(&c.Entry).consumed = neverReported
	for _, k := range c.Keys {
		if isStored(k.Kind) {
			p.stored--
		}
	}
	p.mu.Unlock()
}

// reported changes until which number transactions for e are stale, from what it was
// set to: neverReported, or an earlier until. 0: none is.
func (p *process) reported(e *message.Entry, from, until uint64) {
	p.mu.Lock()
	if n := p.entries[*e]; n != nil && n.consumed == from {
		n.consumed = until
		p.forget(n)
	}
	p.mu.Unlock()
}

// deliver hands over a message that is durable now. Without a reader it only lies in
// the store.
func (p *process) deliver(m *message.Message) {
	p.mu.Lock()
	defer p.mu.Unlock()
	e := m.Entry()
	n := p.at(&e)
	n.waiting--
	if !p.reader {
		p.forget(n)
		return
	}
	n.messages = append(n.messages, *m)
	p.load.add(0, len(m.Body))
	p.enqueue(n)
}

// wakeUp hands over a timer whose time has come. Without a reader it only lies in the
// store.
func (p *process) wakeUp(e *message.Entry, due time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.reader {
		return
	}
	n := p.at(e)
	n.due = due
	p.enqueue(n)
}

// askAgain tells the reader that the clock was set back.
func (p *process) askAgain() {
	p.mu.Lock()
	p.again = p.reader
	p.mu.Unlock()
	p.ring()
}

// enqueue puts n behind the others, unless it is held. The caller holds mu.
func (p *process) enqueue(n *newcomers) {
	if n.held > 0 {
		return
	}
	if !n.queued {
		n.queued = true
		p.load.add(1, 0)
		if p.first == nil {
			p.first = n
		} else {
			p.last.next = n
		}
		p.last = n
	}
	p.ring()
}

// take gives what lies in the mailbox for up to limit entries.
func (p *process) take(limit int) []Delivery {
	p.mu.Lock()
	defer p.mu.Unlock()
	var out []Delivery
	for taken := 0; p.first != nil && taken < limit; taken++ {
		n := p.first
		p.first, n.next = n.next, nil
		if n.held > 0 { // release puts it back
			n.queued = false
			p.load.add(-1, 0)
			continue
		}
		bytes := 0
		if len(n.messages) > 0 {
			for i := range n.messages {
				bytes += len(n.messages[i].Body)
			}
			out = append(out, Delivery{Entry: n.entry, Messages: n.messages})
		}
		if !n.due.IsZero() {
			out = append(out, Delivery{Entry: n.entry, Due: n.due})
		}
		n.messages, n.due, n.queued = nil, time.Time{}, false
		p.load.add(-1, -bytes)
		p.forget(n)
	}
	if p.first == nil {
		p.last = nil
	} else {
		p.ring()
	}
	return out
}

// ring tells the reader that there is something to take, or to ask for.
func (p *process) ring() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
	p.bell.Ring()
}

// Mailbox gives the reader of a process queue its new messages, in memory. Its methods
// are safe for concurrent use.
type Mailbox struct{ p *process }

// Wake is signalled (capacity 1) when there is something to take.
func (m *Mailbox) Wake() <-chan struct{} { return m.p.wake }

// Bell rings when there is something to take. It is of the manager's Scheduler.
func (m *Mailbox) Bell() *task.Bell { return m.p.bell }

// Take gives the newcomers of up to limit entries, those first that have waited
// longest, and clears their marks: from now on a transaction may be decided on them.
// An entry with messages and a due timer gives two deliveries. Wake is signalled
// again if anything is left.
func (m *Mailbox) Take(limit int) []Delivery { return m.p.take(limit) }

// AskAgain says, once, and after a Wake, that the clock was set back: the reader is to
// ask for the timers of all entries that wait for one ([Manager.Wake]).
func (m *Mailbox) AskAgain() bool {
	m.p.mu.Lock()
	defer m.p.mu.Unlock()
	again := m.p.again
	m.p.again = false
	return again
}
