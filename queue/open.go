package queue

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"

	"fmqm/internal/failpoint"
	"fmqm/internal/store"
	"fmqm/internal/task"
	"fmqm/processtable"
	"fmqm/queue/audit"
	"fmqm/queue/browse"
	"fmqm/queue/commit"
	"fmqm/queue/format"
	"fmqm/queue/lane"
	"fmqm/queue/mailbox"
	"fmqm/queue/prepare"
	"fmqm/queue/read"
	"fmqm/queue/record"
	"fmqm/queue/timer"
)

const (
	defaultDirtyLimit = 50_000
	// minBatch is what an engine has to commit at once: several chunks.
	minBatch = 1 << 20
)

// Open makes a manager of engine, which it closes with Close; after an error engine
// is still the caller's. A store that is new is bound to o.Node and gets its
// incarnation; one of an older format is brought to the newest. One of another node, or of
// a newer format, is refused.
func Open(engine store.Engine, o Options) (*Manager, error) { return openWith(engine, o, format.Steps) }

// openWith is Open of a program that has these steps between formats.
func openWith(engine store.Engine, o Options, steps []format.Step) (*Manager, error) {
	m := newManager(engine, o)
	if !processtable.ValidNode(string(o.Node)) {
		return nil, fmt.Errorf("open queues: %q is not a node's name", o.Node)
	}
	if m.maxBatch < minBatch {
		return nil, fmt.Errorf("open queues of %s: the engine commits at most %d bytes at once, and %d are needed", o.Node, m.maxBatch, minBatch)
	}
	random := o.Rand
	if random == nil {
		random = rand.Reader
	}
	for _, step := range []func() error{
		func() error { return m.bind(random, format.Newest(steps)) },
		m.finishLarge,
		func() error { return format.Migrate(m.engine, steps, o.Migrating) },
		m.sweepPadding,
		m.loadTables, m.loadPending, m.loadRetired, m.loadFinals, m.loadWithout, m.loadTombstones, func() error { return m.lanes.Load(m.engine, &m.state) }, m.loadUsage, m.loadBodies, m.loadRefused, m.loadLossy, m.loadCommits,
	} {
		if err := step(); err != nil {
			return nil, fmt.Errorf("open queues of %s: %w", o.Node, err)
		}
	}
	var err error
	if m.Queue, err = audit.New(m.engine, m.judge, processes{m}); err != nil {
		return nil, fmt.Errorf("open queues of %s: %w", o.Node, err)
	}
	m.begin()
	m.startCount()
	m.loadMarkers()
	m.loadRunning()
	m.sched.Go(m.commitLoop)
	m.sched.Go(m.timers.Run)
	return m, nil
}

func newManager(engine store.Engine, o Options) *Manager {
	by := o.Scheduler
	if by == nil {
		by = task.Goroutines{}
	}
	m := &Manager{
		node: o.Node, raw: engine, sched: by,
		maxBatch: engine.MaxBatch(), usage: newUsages(by),
		preparer: prepare.Preparer{Node: o.Node, MaxBatch: engine.MaxBatch(), Size: engine.Size, Now: by.Now},
		kick:     by.Bell(), committed: by.Gate(), failed: task.NewAnswer[error](by),
	}
	m.preparer.Bound = m.Bound
	m.engine = read.Guard(engine, m.judge)
	m.read = read.Records{Reader: m.engine, Damage: m.judge}
	m.preparer.Standing = m.read.Standing
	m.background = task.NewGroup(by)
	m.Queues = browse.New(m.read)
	m.lanes = lane.New(lane.Config{Records: m.read, Scheduler: by, Background: m.background, Committer: committer{m}})
	m.Lanes = m.lanes.Lanes
	limit := o.DirtyLimit
	if limit <= 0 {
		limit = defaultDirtyLimit
	}
	due := by.Bell()
	m.load = mailbox.NewLoad(by, limit, due)
	m.timers = timer.New(timer.Config{Node: o.Node, Records: m.read, Scheduler: by, Committer: m, Room: m.load, Kick: due})
	m.registry.processes = map[processtable.ProcessID]*process{}
	m.durable.tables = map[processtable.ProcessID]processtable.DefinitionHash{}
	m.durable.pending = map[processtable.ProcessID]bool{}
	m.durable.retired = map[processtable.ProcessID]record.Retirement{}
	m.durable.without = map[processtable.ProcessID]map[processtable.NodeID]record.WriteOff{}
	m.durable.finals = map[processtable.ProcessID]map[processtable.NodeID]record.Incarnation{}
	m.durable.gone = map[processtable.ProcessID]record.Tombstone{}
	m.state = commit.NewState()
	return m
}

// loadCommits finds above which commits the store numbers what it records.
func (m *Manager) loadCommits() error {
	value, err := m.engine.Get(record.KeyCommits)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err == nil {
		m.state.Before, err = record.ReadCommits(record.KeyCommits, value)
	}
	return err
}

// begin makes the committer's core of what the store has.
func (m *Manager) begin() {
	m.state.Version = m.engine.Last()
	m.durable.shown = m.state.Version
	bounds := m.engine.Bounds()
	m.core = commit.New(commit.Config{Size: m.engine.Size, MaxBatch: m.maxBatch, MaxKey: bounds.Key, MaxValue: bounds.Value}, m.state)
	m.state = commit.State{}
	m.kick.Ring() // what waits apart may be readable already
}

// bind reads whose store it is, or makes it ours, in the newest format, if it is new.
func (m *Manager) bind(random io.Reader, newest byte) error {
	content, err := m.read.Content(record.KeyFormat)
	if errors.Is(err, store.ErrNotFound) {
		if last := m.engine.Last(); last != 0 {
			return fmt.Errorf("the store has %d commits but no format: %w: if a restore was cut off here, empty the directory and restore again", last, record.ErrDamaged)
		}
		return m.create(random, newest)
	}
	if err != nil {
		return err
	}
	if _, err := format.Of(content, newest); err != nil {
		return err
	}
	node, err := m.read.Content(record.KeyNode)
	if err != nil {
		return err
	}
	if string(node) != string(m.node) {
		return wrongNode(processtable.NodeID(node), m.node)
	}
	incarnation, err := m.read.Content(record.KeyIncarnation)
	if err != nil {
		return err
	}
	if len(incarnation) != len(m.incarnation) {
		return record.Damaged(record.KeyIncarnation, "it has the wrong length")
	}
	copy(m.incarnation[:], incarnation)
	return nil
}

func (m *Manager) create(random io.Reader, format byte) error {
	if _, err := io.ReadFull(random, m.incarnation[:]); err != nil {
		return fmt.Errorf("make an incarnation: %w", err)
	}
	var b store.Batch
	b.Put(record.KeyFormat, record.New(record.KeyFormat, format))
	b.Put(record.KeyNode, record.New(record.KeyNode, []byte(m.node)...))
	b.Put(record.KeyIncarnation, record.New(record.KeyIncarnation, m.incarnation[:]...))
	failpoint.Hit("open.creating")
	err := m.engine.Commit(m.engine.Last()+1, &b)
	failpoint.Hit("open.created")
	return err
}

func (m *Manager) loadTables() error {
	return m.read.Each(store.ScanOptions{Prefix: []byte{record.ClassTable}}, func(key, value []byte) error {
		content, err := record.Open(key, value)
		if err != nil {
			return err
		}
		k := record.KeyReader{Rest: key[1:]}
		id := k.Process()
		if k.End() != nil || len(content) < record.TableFixed {
			return record.Damaged(key, "this program does not know its form")
		}
		hash := processtable.DefinitionHash(content[:record.TableFixed])
		m.durable.tables[id], m.state.Tables[id] = hash, hash
		return nil
	})
}

// loadBodies notes which records have staged bodies, and sweeps those that no record
// names: the node stopped between the chunks and the transaction.
func (m *Manager) loadBodies() error {
	var unnamed []record.BodyRef
	err := m.read.Each(store.ScanOptions{Prefix: []byte{record.ClassStaged}}, func(key, value []byte) error {
		named, ref, owner, err := record.ReadStaged(key, value)
		if err != nil {
			return err
		}
		if named {
			m.state.Bodies.Add(owner)
		} else {
			unnamed = append(unnamed, ref)
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, ref := range unnamed {
		b := store.Batch{Ops: record.RemoveStaged(nil, ref)}
		if err := m.engine.Commit(m.engine.Last()+1, &b); err != nil {
			return err
		}
		failpoint.Hit("open.swept")
	}
	return m.read.Last(record.ClassChunk, func(k *record.KeyReader) { m.preparer.Bodies.Store(k.Uint64()) })
}

var errNode = errors.New("the store belongs to another node")

func wrongNode(have, want processtable.NodeID) error {
	return fmt.Errorf("%w: it was made for %s, not for %s: correct `node:` or `data:` in the configuration", errNode, have, want)
}
