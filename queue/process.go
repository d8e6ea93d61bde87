package queue

import (
	"sync"
	"sync/atomic"
	"time"

	"fmqm/internal/task"
	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue/commit"
)

// process is what is known in memory of one process queue, and the mailbox of its reader, if
// one asked: what was delivered and not taken. What follows of that for transactions is the
// committer's (package commit), which is told what was taken.
type process struct {
	id     processtable.ProcessID
	m      *Manager
	wake   *task.Bell   // of the reader: there is something to take, or to ask for
	stored atomic.Int64 // see Manager.Stored; less what was there at open until that is counted
	tabled atomic.Bool

	mu      sync.Mutex
	reader  bool                         // somebody asked for the mailbox
	again   bool                         // the clock was set back: its reader is to ask for timers again
	entries map[message.Entry]*newcomers // that are in the mailbox
	first   *newcomers                   // the mailbox, in the order in which entries came into it
	last    *newcomers
}

// newcomers is what came for one entry since its owner last looked.
type newcomers struct {
	entry    message.Entry
	messages []message.Message
	upto     uint64    // number of the last delivery
	due      time.Time // of a timer of it whose time has come; zero: none
	next     *newcomers
}

func newProcess(id processtable.ProcessID, m *Manager) *process {
	return &process{id: id, m: m, wake: m.sched.Bell(), entries: map[message.Entry]*newcomers{}}
}

// at gives what is in the mailbox for an entry, putting it behind the others where there is
// nothing. The caller holds mu.
func (p *process) at(e *message.Entry) *newcomers {
	n := p.entries[*e]
	if n != nil {
		return n
	}
	n = &newcomers{entry: *e}
	p.entries[*e] = n
	if p.first == nil {
		p.first = n
	} else {
		p.last.next = n
	}
	p.last = n
	p.m.load.add(1, 0)
	return n
}

// deliver hands over a message that is durable now.
func (p *process) deliver(m *message.Message, put *commit.Put) {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := p.at(&put.Entry)
	n.messages = append(n.messages, *m)
	n.upto = put.Number
	p.m.load.add(0, len(m.Body))
	p.wake.Ring()
}

// wakeUp hands over a timer whose time has come. Without a reader it only lies in the
// store.
func (p *process) wakeUp(e *message.Entry, due time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.reader {
		return
	}
	p.at(e).due = due
	p.wake.Ring()
}

// askAgain tells the reader that the clock was set back.
func (p *process) askAgain() {
	p.mu.Lock()
	p.again = p.reader
	p.mu.Unlock()
	p.wake.Ring()
}

// take gives what lies in the mailbox for up to limit entries.
func (p *process) take(limit int) (out []Delivery, taken []commit.TakenEntry) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if limit = min(limit, len(p.entries)); limit > 0 {
		out, taken = make([]Delivery, 0, limit), make([]commit.TakenEntry, 0, limit)
	}
	for ; limit > 0; limit-- {
		n := p.first
		p.first = n.next
		delete(p.entries, n.entry)
		bytes := 0
		if len(n.messages) > 0 {
			for i := range n.messages {
				bytes += len(n.messages[i].Body)
			}
			out = append(out, Delivery{Entry: n.entry, Messages: n.messages})
			taken = append(taken, commit.TakenEntry{Entry: n.entry, Upto: n.upto})
		}
		if !n.due.IsZero() {
			out = append(out, Delivery{Entry: n.entry, Due: n.due})
		}
		p.m.load.add(-1, -bytes)
	}
	if p.first == nil {
		p.last = nil
	} else {
		p.wake.Ring()
	}
	return out, taken
}

// Mailbox gives the reader of a process queue its new messages, in memory. Its methods
// are safe for concurrent use.
type Mailbox struct{ p *process }

// Wake rings when there is something to take. It is of the manager's Scheduler.
func (m *Mailbox) Wake() *task.Bell { return m.p.wake }

// Take gives the newcomers of up to limit entries, those first that have waited
// longest: from now on a transaction may be decided on them.
// An entry with messages and a due timer gives two deliveries. Wake rings
// again if anything is left.
func (m *Mailbox) Take(limit int) []Delivery {
	out, taken := m.p.take(limit)
	if len(taken) > 0 {
		m.p.m.tell(commit.Taken{Process: m.p.id, Entries: taken})
	}
	return out
}

// AskAgain says, once, and after a Wake, that the clock was set back: the reader is to
// ask for the timers of all entries that wait for one ([Manager.Wake]).
func (m *Mailbox) AskAgain() bool {
	m.p.mu.Lock()
	defer m.p.mu.Unlock()
	again := m.p.again
	m.p.again = false
	return again
}
