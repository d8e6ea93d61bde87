package queue

import (
	"bytes"
	"encoding/binary"
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
	"fmqm/queue/audit"
	"fmqm/queue/commit"
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

func (e emptyEngine) Bounds() store.Bounds {
	return store.Bounds{Key: 10_000, Value: 1 << 20, Batch: e.MaxBatch()}
}

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

// driven is a manager without tasks, whose core a test drives by hand.
func driven(maxBatch int64) *Manager {
	m := newManager(emptyEngine{maxBatch}, Options{Node: "A", Scheduler: task.Goroutines{Clock: stoppedClock{}}})
	m.Queue = new(audit.Queue)
	m.begin()
	return m
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

// step lets the core do the next thing: what it writes is written, and what it reads is not
// there. It gives nil once there is nothing to do.
func (m *Manager) step(t *testing.T) commit.Effect {
	t.Helper()
	effect := m.core.Next()
	switch e := effect.(type) {
	case *commit.Write:
		size := m.engine.Size(e.Batch)
		if size > m.maxBatch != e.Large {
			t.Errorf("a group of %d bytes, at most %d; large: %t", size, m.maxBatch, e.Large)
		}
	case *commit.Read:
		m.core.Step(commit.Answer{Token: e.Token, Values: make([][]byte, len(e.Keys))})
	case *commit.Failed:
		t.Fatal(e.Err)
	}
	return effect
}

// written tells the core that what it wrote is on disk.
func (m *Manager) written(w *commit.Write) {
	m.core.Step(commit.Written{Number: w.Number, Last: w.Number})
}

func (m *Manager) give(tx *record.Tx) *work {
	w := m.prepare(tx)
	m.core.Step(&w.Work)
	return w
}

// TestCoreIsDeterministic: the same events give the same groups, to the byte
// (invariant 13).
func TestCoreIsDeterministic(t *testing.T) {
	run := func() (sums []uint64) {
		m := driven(400_000)
		for n := range 300 {
			tx := &record.Tx{Put: []message.Message{drivenMessage(n, "A", n), drivenMessage(n, "B", n), drivenMessage(n, "C", n)}}
			if n%7 == 0 {
				tx.Put = append(tx.Put, drivenMessage(n+1000, "B", 300_000))
			}
			if n%5 == 0 {
				before := drivenMessage(n-5, "A", 0)
				tx.Consume = []record.Consume{{Process: drivenProcess, Entry: before.Entry()}}
			}
			tx.Audit = []record.AuditRecord{{Instance: message.InstanceID{1}, Activity: "b", Event: record.EventFailed, Clock: uint64(n)}}
			m.give(tx)
		}
		for effect := m.step(t); effect != nil; effect = m.step(t) {
			sum := fnv.New64a()
			switch e := effect.(type) {
			case *commit.Write:
				for _, op := range e.Batch.Ops {
					for _, part := range [][]byte{op.Key, op.Value} {
						_ = binary.Write(sum, binary.BigEndian, uint64(len(part)))
						sum.Write(part)
					}
				}
				m.written(e)
			case *commit.Report:
				fmt.Fprintf(sum, "%d works, %d refused", len(e.Done), len(e.Refused))
			}
			sums = append(sums, sum.Sum64())
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
		m.give(&record.Tx{Put: []message.Message{drivenMessage(n, "B", 10)}})
	}
	var last, groups uint64
	for effect := m.step(t); effect != nil; effect = m.step(t) {
		g, is := effect.(*commit.Write)
		if !is {
			continue
		}
		if groups++; g.Number != groups {
			t.Fatalf("group %d is commit %d", groups, g.Number)
		}
		if len(g.Works) == 0 || len(g.Works) > commit.MaxGroup || len(g.Batch.Ops) != len(g.Works) {
			t.Fatalf("group of %d transactions with %d changes", len(g.Works), len(g.Batch.Ops))
		}
		for _, w := range g.Works {
			last++
			if clock := workOf(w).Tx.Put[0].Clock; clock != last-1 || w.Items[0].Number != last {
				t.Fatalf("transaction %d with number %d after %d", clock, w.Items[0].Number, last-1)
			}
		}
		m.written(g)
	}
	if last != count || groups < 3 {
		t.Errorf("%d transactions in %d groups", last, groups)
	}
}

// TestStagingComesBefore: a transaction with large bodies is applied only once all of
// them are written, and what was submitted behind it waits.
func TestStagingComesBefore(t *testing.T) {
	m := driven(1 << 20)
	m.give(&record.Tx{Put: []message.Message{drivenMessage(1, "A", 3<<20)}})
	m.give(&record.Tx{Put: []message.Message{drivenMessage(2, "A", 1)}})
	chunks, groups := 0, 0
	for effect := m.step(t); effect != nil; effect = m.step(t) {
		g, is := effect.(*commit.Write)
		if !is {
			continue
		}
		for _, op := range g.Batch.Ops {
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
		m.written(g)
	}
	if groups < 4 {
		t.Errorf("3 MiB went into %d commits of 1 MiB", groups)
	}
}

// TestNothingRefusedIsStaged: whether a transaction fits is known before.
func TestNothingRefusedIsStaged(t *testing.T) {
	m := driven(1 << 20)
	tx := &record.Tx{Put: []message.Message{drivenMessage(1, "A", 3<<20)}}
	for n := range 50_000 {
		tx.Put = append(tx.Put, drivenMessage(n, "A", 200))
	}
	m.give(tx)
	if r, is := m.step(t).(*commit.Report); !is || len(r.Refused) != 1 || !errors.Is(r.Refused[0].Err, commit.ErrTooLarge) {
		t.Errorf("the first effect is %v", r)
	}
	if effect := m.step(t); effect != nil {
		t.Errorf("then comes %v", effect)
	}
}

// TestOpenRefusesASmallEngine: a chunk has to fit one commit.
func TestOpenRefusesASmallEngine(t *testing.T) {
	_, err := Open(emptyEngine{maxBatch: 300_000}, Options{Node: "A"})
	if err == nil || !strings.Contains(err.Error(), "the engine commits at most 300000 bytes at once, and 1048576 are needed") {
		t.Errorf("open: %v", err)
	}
}
