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
	"fmqm/queue/audit"
	"fmqm/queue/backup"
	"fmqm/queue/browse"
	"fmqm/queue/commit"
	"fmqm/queue/lane"
	"fmqm/queue/mailbox"
	"fmqm/queue/prepare"
	"fmqm/queue/read"
	"fmqm/queue/record"
	"fmqm/queue/timer"
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
	// Migrating is told the format of a store that is brought to another one, before that begins, which may take some
	// time; nil: nobody is.
	Migrating func(from, to byte)
}

// Manager is a node's queue manager. Its methods are safe for concurrent use.
type Manager struct {
	*audit.Queue
	*browse.Queues
	*lane.Lanes

	node        processtable.NodeID
	raw         store.Engine // the engine itself
	engine      store.Engine // the same, of which a read that fails stops the manager
	read        read.Records // of engine
	sched       task.Scheduler
	incarnation record.Incarnation
	maxBatch    int64
	preparer    prepare.Preparer
	works       works
	load        *mailbox.Load // of all mailboxes
	background  *task.Group   // of what reads beside the commits
	closing     atomic.Bool   // it is to end
	depths      depths
	marks       marks
	timers      *timer.Timers
	usage       usages

	lanes lane.Keeper

	registry struct {
		sync.RWMutex
		processes map[processtable.ProcessID]*process
	}

	// durable are the tables that are on disk, which of them are pending, what was said of retiring them, the final words
	// about them, and what stays of tables that were removed.
	durable struct {
		sync.Mutex
		shown   uint64 // the last commit of which all that is here is known
		finals  map[processtable.ProcessID]map[processtable.NodeID]record.Incarnation
		without map[processtable.ProcessID]map[processtable.NodeID]record.WriteOff
		gone    map[processtable.ProcessID]record.Tombstone
		tables  map[processtable.ProcessID]processtable.DefinitionHash
		pending map[processtable.ProcessID]bool
		retired map[processtable.ProcessID]record.Retirement
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
	countDue  bool // the messages of process queues are to be counted again
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
func (m *Manager) Incarnation() record.Incarnation { return m.incarnation }

// Failed gives the error when a commit failed or the store turned out to be damaged:
// nothing is committed any more, and the node must stop.
func (m *Manager) Failed() *task.Answer[error] { return m.failed }

// Stats says what was done.
func (m *Manager) Stats() Stats {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.stats
	s.Dirty = m.load.Count()
	return s
}

// Congested says whether so much waits in mailboxes that links should not accept.
func (m *Manager) Congested() bool { return m.load.Congested() }

// WaitCapacity blocks while it is congested, or until ctx ends, and gives its error.
func (m *Manager) WaitCapacity(ctx context.Context) error { return m.load.Wait(ctx) }

// process is what is known in memory of one process queue: its mailbox, and how much lies in it.
type process struct {
	*mailbox.Box
	depth atomic.Int64 // see Manager.Depth; less what was there at open until that is counted
}

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
		p = &process{Box: mailbox.New(id, m.load, committer{m})}
		m.registry.processes[id] = p
	}
	return p
}

// processes are the process queues of a manager.
type processes struct{ m *Manager }

// All gives those that have a table or messages here, by name.
func (p processes) All() []processtable.ProcessID {
	known := map[processtable.ProcessID]bool{}
	p.m.registry.RLock()
	for id := range p.m.registry.processes {
		known[id] = true
	}
	p.m.registry.RUnlock()
	for id := range p.m.Tables() {
		known[id] = true
	}
	for id := range p.m.Parked() {
		known[id] = true
	}
	return slices.SortedFunc(maps.Keys(known), byName)
}

// Tabled says whether a process has a table here.
func (p processes) Tabled(id processtable.ProcessID) bool {
	_, tabled := p.m.Bound(id)
	return tabled
}

func byName(a, b processtable.ProcessID) int {
	return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Version, b.Version))
}

// Mailbox gives the newcomers of a process queue from now on. What came before only
// lies in the store: who asks first browses.
func (m *Manager) Mailbox(id processtable.ProcessID) *mailbox.Reader { return m.process(id).Open() }

// judge stops the manager after a read that failed: what cannot be read may be what
// must not be missing (invariant 8). The engine may know more.
func (m *Manager) judge(err error) error {
	if errors.Is(err, store.ErrClosed) {
		return err
	}
	if d, ok := m.raw.(store.Doubter); ok {
		err = cmp.Or(d.Doubt(), err)
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

// Backup writes the state of the store, as it is now, to w, while work goes on. Every
// record is verified on the way.
func (m *Manager) Backup(w io.Writer) (backup.Info, error) { return backup.Write(m.engine, w) }

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
	m.timers.Stop()
	m.closing.Store(true)
	_ = m.background.Wait(context.Background())
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
