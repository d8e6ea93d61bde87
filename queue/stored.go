package queue

import (
	"bytes"
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"fmqm/internal/store"
	"fmqm/internal/task"
	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue/record"
)

// How much lies in each process queue, and how much is set aside, is known without
// reading it: what the store had at open is counted once, beside the first commits, and
// each commit adds what it puts and takes off what it removes. The committer reads
// nothing for that. Where it cannot know whether a message takes the place of one that is
// there, it adds it, and notes that it is not sure; who asks then has all counted anew,
// beside the commits, now and then.

const (
	// recountPause is how long a count is good for, at least, though not sure.
	recountPause = time.Minute
	// recountShare is how many times as long as it took it is good for, at least.
	recountShare = 50
)

// stocktaking counts what the store has.
type stocktaking struct {
	running *task.Group
	stop    atomic.Bool
	lossy   bool          // of the committer: a store was lost, here or at a peer, so that any message may come again
	counted atomic.Bool   // once, at least
	aside   atomic.Int64  // what is set aside; below what was counted until all is
	unsure  atomic.Uint64 // puts of which it is not known whether they replaced
	known   atomic.Uint64 // of these, those that the last count has seen

	mu       sync.Mutex
	counting bool      // a count is under way, or asked for
	next     time.Time // not before
}

// stock is one count of all process queues.
type stock struct {
	begun  time.Time
	unsure uint64
	before map[processtable.ProcessID]int64 // what was taken for the count at its beginning

	mu     sync.Mutex
	has    map[processtable.ProcessID]int64
	failed bool
}

// Stored gives the messages in a process queue: what has come and was not yet removed
// by what it led to, and the records of the instances that were started here. Markers
// are not among them. counted is false while what the store had at open is being counted.
// Notices that come again, and after a store was lost, here or at a peer, all that comes
// again, may count twice for some minutes: StoredExactly says so.
func (m *Manager) Stored(id processtable.ProcessID) (messages int, counted bool) {
	if !m.stock.counted.Load() {
		return 0, false
	}
	m.recount()
	return int(m.process(id).stored.Load()), true
}

// StoredExactly says whether nothing counts twice in what Stored gives.
func (m *Manager) StoredExactly() bool {
	return m.stock.counted.Load() && m.stock.unsure.Load() == m.stock.known.Load()
}

// AsideCount gives the number of refused messages; counted as for Stored.
func (m *Manager) AsideCount() (messages int, counted bool) {
	if !m.stock.counted.Load() {
		return 0, false
	}
	return int(m.stock.aside.Load()), true
}

// recount has the committer begin a count, if one is needed and it is time for it.
func (m *Manager) recount() {
	if m.StoredExactly() {
		return
	}
	m.stock.mu.Lock()
	due := !m.stock.counting && !m.sched.Now().Before(m.stock.next)
	m.stock.counting = m.stock.counting || due
	m.stock.mu.Unlock()
	if !due {
		return
	}
	m.mu.Lock()
	m.stockDue = true
	m.mu.Unlock()
	m.kick.Ring()
}

// takeStockIfDue begins the count that recount has asked for.
func (m *Manager) takeStockIfDue() {
	m.mu.Lock()
	due := m.stockDue
	m.stockDue = false
	m.mu.Unlock()
	if due {
		m.takeStock()
	}
}

// takeStock begins to count. It returns as soon as the scans see the store as it is at
// this moment, between two commits: nothing that is committed later is in them.
func (m *Manager) takeStock() {
	s := &stock{
		begun: m.sched.Now(), unsure: m.stock.unsure.Load(),
		before: map[processtable.ProcessID]int64{}, has: map[processtable.ProcessID]int64{},
	}
	m.registry.RLock()
	for id, p := range m.registry.processes {
		s.before[id] = p.stored.Load()
	}
	m.registry.RUnlock()
	scans := []func(begun func()) error{
		func(begun func()) error { return m.countClass(s, record.ClassMessage, begun) },
		func(begun func()) error { return m.countClass(s, record.ClassRecord, begun) },
	}
	if !m.stock.counted.Load() {
		scans = append(scans, m.countAside)
	}
	all := task.NewGroup(m.sched)
	for _, scan := range scans {
		seen := m.sched.Gate()
		begun := sync.OnceFunc(seen.Open)
		m.stock.running.Add()
		all.Go(func() {
			defer m.stock.running.Done()
			defer begun()
			if err := scan(begun); err != nil {
				s.fail()
				_ = m.judge(err) // it stops the manager, unless that is closed already
			}
		})
		_, _ = m.sched.Wait(context.Background(), seen)
	}
	m.stock.running.Go(func() {
		_ = all.Wait(context.Background())
		m.tookStock(s)
	})
}

func (s *stock) fail() {
	s.mu.Lock()
	s.failed = true
	s.mu.Unlock()
}

// tookStock puts right what each process queue was taken to have.
func (m *Manager) tookStock(s *stock) {
	if s.failed || m.stock.stop.Load() {
		return
	}
	for id := range s.before {
		s.has[id] += 0
	}
	for id, has := range s.has {
		m.process(id).stored.Add(has - s.before[id])
	}
	m.stock.known.Store(s.unsure)
	m.stock.counted.Store(true)
	now := m.sched.Now()
	m.stock.mu.Lock()
	m.stock.counting = false
	m.stock.next = now.Add(max(recountPause, recountShare*now.Sub(s.begun)))
	m.stock.mu.Unlock()
}

// countClass counts the records of a class, and calls begun once it sees the store.
func (m *Manager) countClass(s *stock, class byte, begun func()) error {
	count, prefix := int64(0), []byte(nil)
	note := func() {
		if prefix != nil {
			k := record.KeyReader{Rest: prefix[1:]}
			s.mu.Lock()
			s.has[k.Process()] += count
			s.mu.Unlock()
		}
		count = 0
	}
	err := m.scan(store.ScanOptions{Prefix: []byte{class}, KeysOnly: true}, func(key, _ []byte) error {
		begun()
		if m.stock.stop.Load() {
			return errEnough
		}
		if prefix == nil || !bytes.HasPrefix(key, prefix) {
			note()
			k := record.KeyReader{Rest: key[1:]}
			if k.Process(); k.Bad {
				return record.Damaged(key, record.ErrKey.Error())
			}
			prefix = bytes.Clone(key[:len(key)-len(k.Rest)])
		}
		count++
		return nil
	})
	if err == nil {
		note()
	}
	return err
}

func (m *Manager) countAside(begun func()) error {
	return m.scan(store.ScanOptions{Prefix: []byte{record.ClassSetAside}, KeysOnly: true}, func(_, _ []byte) error {
		begun()
		if m.stock.stop.Load() {
			return errEnough
		}
		m.stock.aside.Add(1)
		return nil
	})
}

// isStored says whether a message of a kind is counted.
func isStored(k message.Kind) bool { return k != message.KindMarker }

// countPut says what a put adds to what is stored. Connectors and records come once
// each, unless a store was lost or an operator lets one come again; apply knows about
// that. Of an entry that the transaction was decided on, the submitter may know.
func (w *work) countPut(put localPut, entry message.Entry) localPut {
	kind := put.message.Kind
	put.adds = isStored(kind)
	put.sure = !put.adds || kind == message.KindConnector || kind == message.KindRecord
	if put.sure {
		return put
	}
	key := put.message.Key()
	for i := range w.tx.Consume {
		if k := &w.tx.Consume[i]; k.Replaces != nil && k.Entry == entry && k.Process == put.message.Queue.Process {
			put.sure = true
			put.adds = !slices.Contains(k.Replaces, key)
			for n := range w.local {
				put.adds = put.adds && (w.Puts[n].Entry != entry || w.local[n].process != put.process || w.local[n].message.Key() != key)
			}
			return put
		}
	}
	return put
}

// apply counts what a transaction that is on disk has put and removed. It is the committer's.
func (s *stocktaking) apply(w *work) {
	for i := range w.from {
		n := 0
		for _, k := range w.tx.Consume[i].Keys {
			if isStored(k.Kind) {
				n++
			}
		}
		if n > 0 {
			w.from[i].stored.Add(int64(-n))
		}
	}
	again := s.lossy || len(w.tx.TakeAside) > 0
	for i := range w.local {
		put := &w.local[i]
		if !put.adds {
			continue
		}
		put.process.stored.Add(1)
		if again || !put.sure {
			s.unsure.Add(1)
		}
	}
	s.lossy = s.lossy || w.anew || w.Bind != nil && w.Bind.Start != nil
	if n := len(w.tx.SetAside) - len(w.tx.TakeAside); n != 0 {
		s.aside.Add(int64(n))
	}
}

// loadLossy finds whether a store was lost, here or at a peer.
func (m *Manager) loadLossy() (err error) {
	if m.stock.lossy, err = m.Anew(); err != nil || m.stock.lossy {
		return err
	}
	began := record.AppendName([]byte{record.ClassMeta}, record.BeganName)
	key, err := m.firstKey(record.ClassMeta, began)
	m.stock.lossy = bytes.HasPrefix(key, began)
	return err
}
