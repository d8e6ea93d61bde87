package queue

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io"

	"fmqm/internal/failpoint"
	"fmqm/internal/store"
	"fmqm/internal/task"
	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue/commit"
	"fmqm/queue/record"
)

const (
	defaultDirtyLimit = 50_000
	// minBatch is what an engine has to commit at once: several chunks.
	minBatch = 1 << 20
)

var (
	keyFormat      = []byte{record.ClassMeta, 'f', 'o', 'r', 'm', 'a', 't'}
	keyNode        = []byte{record.ClassMeta, 'n', 'o', 'd', 'e'}
	keyIncarnation = []byte{record.ClassMeta, 'i', 'n', 'c', 'a', 'r', 'n', 'a', 't', 'i', 'o', 'n'}
)

// Open makes a manager of engine, which it closes with Close; after an error engine
// is still the caller's. A store that is new is bound to o.Node and gets its
// incarnation; one of an older format is brought to the newest. One of another node, or of
// a newer format, is refused.
func Open(engine store.Engine, o Options) (*Manager, error) { return openWith(engine, o, migrations) }

// openWith is Open of a program that has these steps between formats.
func openWith(engine store.Engine, o Options, steps []migration) (*Manager, error) {
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
		func() error { return m.bind(random, newestFormat(steps)) },
		m.finishLarge,
		func() error { return m.migrate(steps) },
		m.loadTables, m.loadLinks, m.loadTransmissions, m.loadIncoming, m.loadLeft, m.loadBodies, m.loadSetAside, m.loadRemoved, m.loadLossy,
	} {
		if err := step(); err != nil {
			return nil, fmt.Errorf("open queues of %s: %w", o.Node, err)
		}
	}
	m.engine = judged{engine, m}
	m.begin()
	m.takeStock()
	m.loadMarkers()
	m.sched.Go(m.commitLoop)
	m.sched.Go(m.timers.run)
	return m, nil
}

func newManager(engine store.Engine, o Options) *Manager {
	by := o.Scheduler
	if by == nil {
		by = task.Goroutines{}
	}
	m := &Manager{
		node: o.Node, raw: engine, engine: engine, sched: by,
		maxBatch: engine.MaxBatch(), left: newLeft(by), load: newLoad(by),
		kick: by.Bell(), committed: by.Gate(), failed: task.NewAnswer[error](by),
	}
	m.stock.running = task.NewGroup(by)
	m.load.limit = o.DirtyLimit
	if m.load.limit <= 0 {
		m.load.limit = defaultDirtyLimit
	}
	m.timers = newTimers(m)
	m.load.relaxed = func() { m.timers.kick.Ring() }
	m.registry.processes = map[processtable.ProcessID]*process{}
	m.registry.transmissions = map[processtable.NodeID]*Transmission{}
	m.durable.accepted = map[record.LaneKey]record.AcceptedAt{}
	m.durable.incoming = map[record.LaneKey]Incoming{}
	m.durable.peers = map[processtable.NodeID]Incarnation{}
	m.durable.tables = map[processtable.ProcessID]processtable.DefinitionHash{}
	m.state = commit.NewState()
	return m
}

// begin makes the committer's core of what the store has.
func (m *Manager) begin() {
	m.state.Version = m.engine.Last()
	m.core = commit.New(commit.Config{Size: m.engine.Size, MaxBatch: m.maxBatch}, m.state)
	m.state = commit.State{}
}

// bind reads whose store it is, or makes it ours, in the newest format, if it is new.
func (m *Manager) bind(random io.Reader, newest byte) error {
	format, err := m.meta(keyFormat)
	if errors.Is(err, store.ErrNotFound) {
		if last := m.engine.Last(); last != 0 {
			return fmt.Errorf("the store has %d commits but no format: %w: if a restore was cut off here, empty the directory and restore again", last, ErrDamaged)
		}
		return m.create(random, newest)
	}
	if err != nil {
		return err
	}
	if _, err := formatOf(format, newest); err != nil {
		return err
	}
	node, err := m.meta(keyNode)
	if err != nil {
		return err
	}
	if string(node) != string(m.node) {
		return wrongNode(processtable.NodeID(node), m.node)
	}
	incarnation, err := m.meta(keyIncarnation)
	if err != nil {
		return err
	}
	if len(incarnation) != len(m.incarnation) {
		return record.Damaged(keyIncarnation, "it has the wrong length")
	}
	copy(m.incarnation[:], incarnation)
	return nil
}

func (m *Manager) meta(key []byte) ([]byte, error) {
	value, err := m.engine.Get(key)
	if err != nil {
		return nil, fmt.Errorf("record %q: %w", record.Readable(key), err)
	}
	return record.Open(key, value)
}

func (m *Manager) create(random io.Reader, format byte) error {
	if _, err := io.ReadFull(random, m.incarnation[:]); err != nil {
		return fmt.Errorf("make an incarnation: %w", err)
	}
	var b store.Batch
	b.Put(keyFormat, record.New(keyFormat, format))
	b.Put(keyNode, record.New(keyNode, []byte(m.node)...))
	b.Put(keyIncarnation, record.New(keyIncarnation, m.incarnation[:]...))
	failpoint.Hit("open.creating")
	err := m.engine.Commit(m.engine.Last()+1, &b)
	failpoint.Hit("open.created")
	return err
}

func (m *Manager) loadTables() error {
	return m.scan(store.ScanOptions{Prefix: []byte{record.ClassTable}}, func(key, value []byte) error {
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
		m.process(id).tabled.Store(true)
		return nil
	})
}

func (m *Manager) loadLinks() error {
	err := m.scan(store.ScanOptions{Prefix: []byte{record.ClassPeer}}, func(key, value []byte) error {
		content, err := record.Open(key, value)
		if err != nil {
			return err
		}
		k := record.KeyReader{Rest: key[1:]}
		peer := processtable.NodeID(k.Name())
		if k.End() != nil || len(content) != len(Incarnation{}) {
			return record.Damaged(key, "this program does not know its form")
		}
		m.durable.peers[peer], m.state.Peers[peer] = Incarnation(content), Incarnation(content)
		return nil
	})
	if err != nil {
		return err
	}
	return m.scan(store.ScanOptions{Prefix: []byte{record.ClassAccepted}}, func(key, value []byte) error {
		lane, at, err := record.ReadAccepted(key, value)
		m.durable.accepted[lane], m.state.Accepted[lane] = at, at
		return err
	})
}

// loadTransmissions finds both ends of every lane, without reading what lies between.
func (m *Manager) loadTransmissions() error {
	err := m.scan(store.ScanOptions{Prefix: []byte{record.ClassLow}}, func(key, value []byte) error {
		peer, lane, low, err := record.ReadLow(key, value)
		if err == nil {
			m.Transmission(peer).ends[lane] = commit.LaneEnd{Last: low, Low: low}
		}
		return err
	})
	if err != nil {
		return err
	}
	// The first key of each peer's lane leads to the next one.
	for from := []byte{record.ClassTransmission}; from != nil; {
		key, err := m.firstKey(record.ClassTransmission, from)
		if err != nil || key == nil {
			return first1(err, m.shareLanes())
		}
		k := record.KeyReader{Rest: key[1:]}
		peer, lane := processtable.NodeID(k.Name()), message.Lane(k.Bytes(1)[0])
		if k.Bad || lane >= record.Lanes {
			return record.Damaged(key, record.ErrKey.Error())
		}
		if err := m.loadLane(m.Transmission(peer), lane); err != nil {
			return err
		}
		from = store.After(record.AppendLane(nil, record.ClassTransmission, peer, lane))
	}
	return m.shareLanes()
}

// shareLanes gives the committer its copy of the lanes.
func (m *Manager) shareLanes() error {
	for _, t := range m.registry.transmissions {
		m.state.Lanes[t.peer] = t.ends
	}
	return nil
}

// loadLane finds the last item of a lane, and verifies that the first follows on low.
func (m *Manager) loadLane(t *Transmission, lane message.Lane) error {
	prefix := record.AppendLane(nil, record.ClassTransmission, t.peer, lane)
	for _, reverse := range []bool{false, true} {
		found := false
		err := m.scan(store.ScanOptions{Prefix: prefix, Reverse: reverse}, func(key, value []byte) error {
			if found {
				return errEnough
			}
			found = true
			item, err := record.ReadItem(key, value)
			if err != nil {
				return err
			}
			if !reverse && item.At.Number != t.ends[lane].Low.Number+1 {
				return record.Damaged(key, fmt.Sprintf("items from %d on are missing", t.ends[lane].Low.Number+1))
			}
			t.ends[lane].Last = item.At
			return nil
		})
		if err != nil && !errors.Is(err, errEnough) {
			return err
		}
	}
	return nil
}

// errEnough ends a scan.
var errEnough = errors.New("enough")

// firstKey gives the first key of a class from a key on, nil if there is none.
func (m *Manager) firstKey(class byte, from []byte) (first []byte, err error) {
	err = m.engine.Scan(store.ScanOptions{Prefix: []byte{class}, From: from, KeysOnly: true}, func(key, _ []byte) bool {
		first = bytes.Clone(key)
		return false
	})
	return first, err
}

// eachProcess calls visit for every process that has records of a class.
func (m *Manager) eachProcess(class byte, visit func(processtable.ProcessID) error) error {
	for from := []byte{class}; from != nil; {
		key, err := m.firstKey(class, from)
		if err != nil || key == nil {
			return err
		}
		k := record.KeyReader{Rest: key[1:]}
		id := k.Process()
		if k.Bad {
			return record.Damaged(key, record.ErrKey.Error())
		}
		if err := visit(id); err != nil {
			return err
		}
		from = store.After(record.AppendProcess(nil, class, id))
	}
	return nil
}

// loadBodies notes which records have staged bodies, and sweeps those that no record
// names: the node stopped between the chunks and the transaction.
func (m *Manager) loadBodies() error {
	var unnamed []record.BodyRef
	err := m.scan(store.ScanOptions{Prefix: []byte{record.ClassStaged}}, func(key, value []byte) error {
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
	return m.last(record.ClassChunk, func(k *record.KeyReader) { m.nextBody.Store(k.Uint64()) })
}

// last shows the last key of a class, without the class, if there is one.
func (m *Manager) last(class byte, show func(*record.KeyReader)) error {
	return m.engine.Scan(store.ScanOptions{Prefix: []byte{class}, Reverse: true, KeysOnly: true}, func(key, _ []byte) bool {
		show(&record.KeyReader{Rest: key[1:]})
		return false
	})
}
