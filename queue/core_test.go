package queue

import (
	"bytes"
	"errors"
	"fmt"
	"hash/fnv"
	"strings"
	"testing"
	"time"

	"fmqm/internal/store"
	"fmqm/internal/task"
	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue/record"
)

// emptyEngine is a store with nothing in it, that small transactions fill.
type emptyEngine struct{ maxBatch int64 }

func (e emptyEngine) Get([]byte) ([]byte, error) { return nil, store.ErrNotFound }

func (e emptyEngine) Scan(store.ScanOptions, func(key, value []byte) bool) error { return nil }

func (e emptyEngine) View(read func(store.Reader) error) error { return read(e) }

func (e emptyEngine) Commit(uint64, *store.Batch) error { return errors.New("the core does not write") }

func (e emptyEngine) Last() uint64 { return 0 }

func (e emptyEngine) MaxBatch() int64 { return e.maxBatch }

func (e emptyEngine) Size(b *store.Batch) int64 {
	var n int64
	for i := range b.Ops {
		n += int64(len(b.Ops[i].Key)+len(b.Ops[i].Value)) + 100
	}
	return n
}

func (e emptyEngine) Close() error { return nil }

type stoppedClock struct{}

func (stoppedClock) Now() time.Time { return time.Unix(1_000_000_000, 0) }

func (stoppedClock) AfterFunc(time.Duration, func()) func() bool { return func() bool { return true } }

// driven is a manager without goroutines, whose core a test drives by hand.
func driven(maxBatch int64) *Manager {
	return newManager(emptyEngine{maxBatch}, Options{Node: "A", Scheduler: task.Goroutines{Clock: stoppedClock{}}})
}

var drivenProcess = processtable.ProcessID{Name: "p", Version: 1}

func drivenMessage(n int, node processtable.NodeID, size int) message.Message {
	return message.Message{
		Header: message.Header{
			Queue:    message.Queue{Process: drivenProcess, Node: node},
			Instance: message.InstanceID{6: 0x70, 14: byte(n >> 8), 15: byte(n)}, Origin: "A",
			Activity: "b", Source: "a", Kind: message.KindConnector, Clock: uint64(n),
		},
		Body: bytes.Repeat([]byte{byte(n)}, size),
	}
}

// step lets the core build one group, as the committer's goroutine does.
func (m *Manager) step(t *testing.T) *group {
	t.Helper()
	g := &group{lanes: map[*Transmission]bool{}}
	if err := m.core.build(g); err != nil {
		t.Fatal(err)
	}
	if g.size != m.engine.Size(&g.batch) {
		t.Errorf("the group reckons %d bytes, the engine %d", g.size, m.engine.Size(&g.batch))
	}
	if g.size > m.maxBatch {
		t.Errorf("a group of %d bytes, at most %d", g.size, m.maxBatch)
	}
	return g
}

func (m *Manager) give(tx *Tx) {
	w := m.prepare(tx)
	m.submitted++
	w.seq = m.submitted
	m.core.add(w)
}

// TestCoreIsDeterministic: the same events give the same groups, to the byte
// (invariant 13).
func TestCoreIsDeterministic(t *testing.T) {
	run := func() (sums []uint64) {
		m := driven(400_000)
		for n := range 300 {
			tx := &Tx{Put: []message.Message{drivenMessage(n, "A", n), drivenMessage(n, "B", n), drivenMessage(n, "C", n)}}
			if n%7 == 0 {
				tx.Put = append(tx.Put, drivenMessage(n+1000, "B", 300_000))
			}
			if n%5 == 0 {
				before := drivenMessage(n-5, "A", 0)
				tx.Consume = []Consume{{Process: drivenProcess, Entry: before.Entry()}}
			}
			tx.Audit = []AuditRecord{{Instance: message.InstanceID{1}, Activity: "b", Event: EventFailed, Clock: uint64(n)}}
			m.give(tx)
		}
		for !m.core.idle() {
			g := m.step(t)
			sum := fnv.New64a()
			for _, op := range g.batch.Ops {
				fmt.Fprintf(sum, "%x=%x;", op.Key, op.Value)
			}
			fmt.Fprintf(sum, "%d works, %d refused", len(g.works), len(g.refused))
			sums = append(sums, sum.Sum64())
			m.core.finish(g, m.submitted)
		}
		return sums
	}
	first, second := run(), run()
	if len(first) < 10 || fmt.Sprint(first) != fmt.Sprint(second) {
		t.Errorf("groups %x and %x", first, second)
	}
}

// TestGroupsAreBounded: a group may be split, a transaction never (S2), and all keep
// the order in which they were submitted.
func TestGroupsAreBounded(t *testing.T) {
	m := driven(100_000)
	const count = 3000
	for n := range count {
		m.give(&Tx{Put: []message.Message{drivenMessage(n, "B", 10)}})
	}
	var last, groups uint64
	for !m.core.idle() {
		g := m.step(t)
		if len(g.works) == 0 || len(g.works) > maxGroup || len(g.batch.Ops) != len(g.works) {
			t.Fatalf("group of %d transactions with %d changes", len(g.works), len(g.batch.Ops))
		}
		for _, w := range g.works {
			if w.seq != last+1 || w.items[0].number != w.seq {
				t.Fatalf("transaction %d with number %d after %d", w.seq, w.items[0].number, last)
			}
			last = w.seq
		}
		groups++
		m.core.finish(g, m.submitted)
		if m.core.version != groups {
			t.Fatalf("commit %d after %d groups", m.core.version, groups)
		}
	}
	if last != count || groups < 3 {
		t.Errorf("%d transactions in %d groups", last, groups)
	}
}

// TestStagingComesBefore: a transaction with large bodies is applied only once all of
// them are written, and what was submitted behind it waits.
func TestStagingComesBefore(t *testing.T) {
	m := driven(1 << 20)
	m.give(&Tx{Put: []message.Message{drivenMessage(1, "A", 3<<20)}})
	m.give(&Tx{Put: []message.Message{drivenMessage(2, "A", 1)}})
	chunks, groups := 0, 0
	for !m.core.idle() {
		g := m.step(t)
		for _, op := range g.batch.Ops {
			switch op.Key[0] {
			case record.ClassChunk:
				chunks++
			case record.ClassMessage:
				if chunks != 12 {
					t.Errorf("a message after %d of 12 chunks", chunks)
				}
			}
		}
		groups++
		m.core.finish(g, m.submitted)
	}
	if groups < 4 {
		t.Errorf("3 MiB went into %d commits of 1 MiB", groups)
	}
}

// TestNothingRefusedIsStaged: whether a transaction fits is known before.
func TestNothingRefusedIsStaged(t *testing.T) {
	m := driven(1 << 20)
	tx := &Tx{Put: []message.Message{drivenMessage(1, "A", 3<<20)}}
	for n := range 50_000 {
		tx.Put = append(tx.Put, drivenMessage(n, "A", 200))
	}
	m.give(tx)
	g := m.step(t)
	if len(g.refused) != 1 || !errors.Is(g.refused[0].err, ErrTooLarge) || len(g.batch.Ops) != 0 {
		t.Errorf("%d refused, %d changes", len(g.refused), len(g.batch.Ops))
	}
}

// TestOpenRefusesASmallEngine: a chunk has to fit one commit.
func TestOpenRefusesASmallEngine(t *testing.T) {
	_, err := Open(emptyEngine{maxBatch: 300_000}, Options{Node: "A"})
	if err == nil || !strings.Contains(err.Error(), "the engine commits at most 300000 bytes at once, and 1048576 are needed") {
		t.Errorf("open: %v", err)
	}
}

// TestConsumptionMarksEnd: that an entry was consumed is remembered only as long as a
// transaction may come that did not know of it.
func TestConsumptionMarksEnd(t *testing.T) {
	m := driven(1 << 20)
	entry := drivenMessage(1, "A", 0)
	take := func() *Tx {
		return &Tx{Consume: []Consume{{Process: drivenProcess, Entry: entry.Header.Entry(), Keys: []message.Key{entry.Header.Key()}}}}
	}
	m.give(take())
	g := m.step(t)
	m.give(take()) // submitted before the first is reported
	m.core.finish(g, m.submitted)
	g = m.step(t)
	if len(g.refused) != 1 || !errors.Is(g.refused[0].err, ErrStale) {
		t.Errorf("the straggler was not refused: %v", g.refused)
	}
	m.core.finish(g, m.submitted)
	if n := len(m.process(drivenProcess).entries); n != 0 || len(m.core.late) != 0 {
		t.Errorf("%d marks are left", n)
	}
	m.give(take())
	if g = m.step(t); len(g.works) != 1 {
		t.Errorf("the entry is not free: %v", g.refused[0].err)
	}
}
