package queue

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"fmqm/internal/store"
	"fmqm/internal/task"
	"fmqm/processtable"
	"fmqm/queue/commit"
	"fmqm/queue/record"
)

// Options say how to open a queue manager.
type Options struct {
	// Node is whose store it is; a store is bound to the first one that opens it.
	Node processtable.NodeID
	// Scheduler runs what the manager does, and tells it the time; task.Goroutines if nil.
	Scheduler task.Scheduler
	// Rand is where the incarnation of a new store comes from; crypto/rand if nil.
	Rand io.Reader
	// DirtyLimit is how many entries may have newcomers before links stop accepting;
	// 50,000 if 0.
	DirtyLimit int
}

// Manager is a node's queue manager. Its methods are safe for concurrent use.
type Manager struct {
	node        processtable.NodeID
	raw         store.Engine // the engine itself
	engine      store.Engine // the same, of which a read that fails stops the manager
	sched       task.Scheduler
	incarnation Incarnation
	maxBatch    int64
	works       workPool
	load        load
	stock       stocktaking
	marks       marks
	timers      *timers
	nextBody    atomic.Uint64
	nextAside   atomic.Uint64
	nextParked  atomic.Uint64
	left        left
	thinned     atomic.Bool // retention has removed something

	registry struct {
		sync.RWMutex
		processes     map[processtable.ProcessID]*process
		transmissions map[processtable.NodeID]*Transmission
	}

	// durable is what of the committer's state is on disk.
	durable struct {
		sync.Mutex
		accepted map[record.LaneKey]record.AcceptedAt
		incoming map[record.LaneKey]Incoming
		peers    map[processtable.NodeID]Incarnation
		tables   map[processtable.ProcessID]processtable.DefinitionHash
	}

	// The committer's own.
	state commit.State // what was loaded, until the core begins with it
	core  *commit.Core
	kinds []string // of changes that are written, in builds that can fail there

	kick      *task.Bell
	committed *task.Gate // open once the committer ended
	failed    *task.Answer[error]

	mu        sync.Mutex // guards what follows
	list      []commit.Event
	spare     []commit.Event // to be the next list
	trims     []commit.Trim
	trimDue   bool
	submitted bool // a transaction is in list
	stockDue  bool // what is stored is to be counted anew
	stopTrim  func() bool
	stopping  bool
	abandoned bool  // what was submitted is not to be committed any more
	broken    error // the store turned out to be damaged
	cause     error // why transactions are refused
	stats     Stats
	end       task.Ending
}

// Stats counts what was done since the store was opened.
type Stats struct {
	Commits      uint64 // durable writes
	Transactions uint64 // that were joined into them
	Dirty        int    // entries whose newcomers wait in mailboxes
}

// Incarnation is the random number that the store got when it was made (L1).
func (m *Manager) Incarnation() Incarnation { return m.incarnation }

// Failed gives the error when a commit failed or the store turned out to be damaged:
// nothing is committed any more, and the node must stop.
func (m *Manager) Failed() *task.Answer[error] { return m.failed }

// Stats says what was done.
func (m *Manager) Stats() Stats {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.stats
	s.Dirty = m.load.count()
	return s
}

// Congested says whether so much waits in mailboxes that links should not accept.
func (m *Manager) Congested() bool { return m.load.congested() }

// WaitCapacity blocks while it is congested, or until ctx ends, and gives its error.
func (m *Manager) WaitCapacity(ctx context.Context) error { return m.load.wait(ctx) }

func (m *Manager) process(id processtable.ProcessID) *process {
	m.registry.RLock()
	p := m.registry.processes[id]
	m.registry.RUnlock()
	if p != nil {
		return p
	}
	m.registry.Lock()
	defer m.registry.Unlock()
	if p = m.registry.processes[id]; p == nil {
		p = newProcess(id, m)
		m.registry.processes[id] = p
	}
	return p
}

// allProcesses gives the process queues that anybody asked for, by name.
func (m *Manager) allProcesses() []*process {
	m.registry.RLock()
	defer m.registry.RUnlock()
	return slices.SortedFunc(maps.Values(m.registry.processes), func(a, b *process) int { return byName(a.id, b.id) })
}

func byName(a, b processtable.ProcessID) int {
	return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Version, b.Version))
}

// Mailbox gives the newcomers of a process queue from now on. What came before only
// lies in the store: who asks first browses. Timers that are due are in it.
func (m *Manager) Mailbox(id processtable.ProcessID) *Mailbox {
	p := m.process(id)
	p.mu.Lock()
	first := !p.reader
	p.reader = true
	p.mu.Unlock()
	if first {
		m.tell(commit.Opened{Process: id})
		if err := m.timers.refire(p); err != nil {
			m.failReading(err)
		}
	}
	return &Mailbox{p: p}
}

// judge stops the manager after a read that failed: what cannot be read may be what
// must not be missing (invariant 8). The engine may know more.
func (m *Manager) judge(err error) error {
	var done unreadable
	if err == nil || errors.Is(err, store.ErrClosed) || errors.As(err, &done) {
		return err
	}
	if d, ok := m.raw.(store.Doubter); ok {
		err = first1(d.Doubt(), err)
	}
	m.failReading(err)
	return err
}

// failReading stops the manager: the store is damaged where nobody can be told.
func (m *Manager) failReading(err error) {
	m.mu.Lock()
	if m.stopping {
		m.mu.Unlock()
		return
	}
	m.broken = err
	m.mu.Unlock()
	m.kick.Ring()
}

// Close commits what was submitted, ends all tasks and closes the engine. Where
// ctx ends before, transactions that were not begun get ErrStopped. Each call returns
// when all is closed, with the same error.
func (m *Manager) Close(ctx context.Context) error { return m.end.Do(ctx, m.sched, m.close) }

func (m *Manager) close(ctx context.Context) error {
	m.mu.Lock()
	m.stopping = true
	if m.stopTrim != nil {
		m.stopTrim()
	}
	m.mu.Unlock()
	m.kick.Ring()
	_, err := m.sched.Wait(ctx, m.committed)
	if err != nil {
		err = m.abandon(err)
	}
	m.timers.stop()
	m.stock.stop.Store(true)
	_ = m.stock.running.Wait(context.Background())
	return errors.Join(err, m.engine.Close())
}

// abandon ends the committer after the commit under way.
func (m *Manager) abandon(cause error) error {
	m.mu.Lock()
	m.cause = fmt.Errorf("close: %w", cause)
	m.abandoned = true
	m.mu.Unlock()
	m.kick.Ring()
	_, _ = m.sched.Wait(context.Background(), m.committed)
	return m.cause
}

// workPool keeps works for reuse, with the memory that they encode into.
type workPool struct{ pool sync.Pool }

// maxKeptBuffer bounds what a work that is kept holds, in bytes.
const maxKeptBuffer = 64 << 10

func (p *workPool) get() *work {
	if w, ok := p.pool.Get().(*work); ok {
		return w
	}
	w := &work{buf: make([]byte, 0, 4<<10)}
	w.Ticket = w
	return w
}

func (p *workPool) put(w *work) {
	if cap(w.buf) > maxKeptBuffer {
		return
	}
	clear(w.Ops)
	clear(w.Consumes)
	clear(w.Puts)
	clear(w.Items)
	clear(w.local)
	*w = work{
		Work: commit.Work{
			Ticket: w, Ops: w.Ops[:0], Replaces: w.Replaces[:0], Consumes: w.Consumes[:0], Puts: w.Puts[:0],
			Items: w.Items[:0], Audits: w.Audits[:0], Links: w.Links[:0],
		},
		buf: w.buf[:0], from: w.from[:0], local: w.local[:0], sent: w.sent[:0],
	}
	p.pool.Put(w)
}

// workOf gives what the core was given.
func workOf(w *commit.Work) *work { return w.Ticket.(*work) }
