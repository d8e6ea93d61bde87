package queue_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"

	"fmqm/internal/store"
	"fmqm/internal/store/badger"
	"fmqm/message"
	"fmqm/queue"
	"fmqm/queue/record"
)

// BenchmarkCommitter is what the store does at most: durable transactions of two
// removals and three puts of 200 B, by so many submitters at a time.
func BenchmarkCommitter(b *testing.B) {
	for _, submitters := range []int{1, 64, 512} {
		b.Run(fmt.Sprintf("submitters=%d", submitters), func(b *testing.B) {
			engine, err := badger.Open(badger.Options{Dir: b.TempDir()})
			if err != nil {
				b.Fatal(err)
			}
			benchmarkCommitter(b, engine, submitters)
		})
	}
}

// BenchmarkCommitterAlone is the same on an engine that does nothing: the CPU of the
// committer and its submitters.
func BenchmarkCommitterAlone(b *testing.B) { benchmarkCommitter(b, &nullEngine{}, 512) }

func benchmarkCommitter(b *testing.B, engine store.Engine, submitters int) {
	m, err := queue.Open(engine, queue.Options{Node: "A"})
	if err != nil {
		b.Fatal(err)
	}
	defer func() {
		if err := m.Close(context.Background()); err != nil {
			b.Error(err)
		}
	}()
	body := make([]byte, 100)
	if _, err := rand.Read(body); err != nil {
		b.Fatal(err)
	}
	var left atomic.Int64
	left.Store(int64(b.N))
	var running sync.WaitGroup
	b.ReportAllocs()
	b.ResetTimer()
	for range submitters {
		running.Go(func() {
			chain := newChain(body)
			done := make(chan error, 1)
			for left.Add(-1) >= 0 {
				tx := chain.next()
				tx.Done = func(err error) { done <- err }
				m.Submit(tx)
				if err := <-done; err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	running.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "tx/s")
	b.ReportMetric(float64(b.N)/float64(m.Stats().Commits), "tx/commit")
}

// chain makes transactions that take two messages of the one before and put three.
type chain struct {
	header message.Header
	body   []byte
	step   int
}

func newChain(body []byte) *chain {
	c := &chain{body: body}
	c.header = message.Header{
		Queue:    message.Queue{Process: procP, Node: "A"},
		Instance: uuid.Must(uuid.NewV7()), Origin: "A", Activity: "target", Kind: message.KindConnector,
		Control: message.True, Data: message.DataPresent,
	}
	return c
}

var benchSources = [3]string{"one", "two", "three"}

func (c *chain) next() *record.Tx {
	tx := &record.Tx{Put: make([]message.Message, 3)}
	if c.step > 0 {
		tx.Consume = []record.Consume{{Process: procP, Entry: c.header.Entry(), Keys: make([]message.Key, 2)}}
		for i := range 2 {
			tx.Consume[0].Keys[i] = message.Key{Kind: message.KindConnector, Source: activity(benchSources[i])}
		}
	}
	c.step++
	c.header.Scope = message.Scope(fmt.Sprint(c.step % 16))
	c.header.Clock = uint64(c.step)
	for i := range tx.Put {
		h := c.header
		h.Source = activity(benchSources[i])
		tx.Put[i] = message.Message{Header: h, Body: c.body}
	}
	return tx
}

// nullEngine accepts everything and keeps nothing but its first commit, which says whose
// store it is.
type nullEngine struct {
	last  uint64
	first map[string][]byte
}

func (e *nullEngine) Get(key []byte) ([]byte, error) {
	if value := e.first[string(key)]; value != nil {
		return value, nil
	}
	return nil, store.ErrNotFound
}

func (e *nullEngine) View(read func(store.Reader) error) error { return read(e) }

func (e *nullEngine) Scan(store.ScanOptions, func(key, value []byte) bool) error { return nil }

func (e *nullEngine) Commit(version uint64, b *store.Batch) error {
	if version == 1 {
		e.first = map[string][]byte{}
		for _, op := range b.Ops {
			e.first[string(op.Key)] = op.Value
		}
	}
	e.last = version
	return nil
}

func (e *nullEngine) Last() uint64 { return e.last }

func (e *nullEngine) MaxBatch() int64 { return 2 << 20 }

func (e *nullEngine) Bounds() store.Bounds {
	return store.Bounds{Key: 10_000, Value: 1 << 20, Batch: e.MaxBatch()}
}

func (e *nullEngine) Size(b *store.Batch) int64 {
	var n int64
	for i := range b.Ops {
		n += int64(len(b.Ops[i].Key) + len(b.Ops[i].Value) + 100)
	}
	return n
}

func (e *nullEngine) Close() error { return nil }
