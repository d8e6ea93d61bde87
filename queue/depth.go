package queue

import (
	"bytes"
	"context"
	"sync"
	"sync/atomic"
	"time"

	"fmqm/internal/store"
	"fmqm/internal/task"
	"fmqm/processtable"
	"fmqm/queue/prepare"
	"fmqm/queue/read"
	"fmqm/queue/record"
)

// How much lies in each process queue, and how many messages are refused, is known without
// reading it: what the store had at open is counted once, beside the first commits, and
// each commit adds what it puts and takes off what it removes. The committer reads
// nothing for that. Where it cannot know whether a message takes the place of one that is
// there, it adds it, and notes that it is not sure; who asks then has all counted again,
// beside the commits, now and then.

const (
	// recountPause is how long a count is good for, at least, though not sure.
	recountPause = time.Minute
	// recountShare is how many times as long as it took it is good for, at least.
	recountShare = 50
)

// depths is what is known of the depths of all process queues together.
type depths struct {
	lossy   bool          // of the committer: a store was lost, here or at a peer, so that any message may come again
	counted atomic.Bool   // once, at least
	refused atomic.Int64  // messages; below what was counted until all is
	unsure  atomic.Uint64 // puts of which it is not known whether they replaced
	known   atomic.Uint64 // of these, those that the last count has seen

	mu       sync.Mutex
	counting bool      // a count is under way, or asked for
	next     time.Time // not before
}

// count is one count of all process queues.
type count struct {
	begun  time.Time
	unsure uint64
	before map[processtable.ProcessID]int64 // what was taken for the count at its beginning

	mu     sync.Mutex
	has    map[processtable.ProcessID]int64
	failed bool
}

// Depth gives the number of messages in a process queue: what has come and was not yet removed
// by what it led to, and the records of the instances that were started here. Markers
// are not among them. counted is false while what the store had at open is being counted.
// Notices that come again, and after a store was lost, here or at a peer, all that comes
// again, may count twice for some minutes: DepthExact says so.
func (m *Manager) Depth(id processtable.ProcessID) (messages int, counted bool) {
	if !m.depths.counted.Load() {
		return 0, false
	}
	m.recount()
	return int(m.process(id).depth.Load()), true
}

// DepthExact says whether nothing counts twice in what Depth gives.
func (m *Manager) DepthExact() bool {
	return m.depths.counted.Load() && m.depths.unsure.Load() == m.depths.known.Load()
}

// RefusedCount gives the number of refused messages; counted as for Depth.
func (m *Manager) RefusedCount() (messages int, counted bool) {
	if !m.depths.counted.Load() {
		return 0, false
	}
	return int(m.depths.refused.Load()), true
}

// recount has the committer begin a count, if one is needed and it is time for it.
func (m *Manager) recount() {
	if m.DepthExact() {
		return
	}
	m.depths.mu.Lock()
	due := !m.depths.counting && !m.sched.Now().Before(m.depths.next)
	m.depths.counting = m.depths.counting || due
	m.depths.mu.Unlock()
	if !due {
		return
	}
	m.mu.Lock()
	m.countDue = true
	m.mu.Unlock()
	m.kick.Ring()
}

// countIfDue begins the count that recount has asked for.
func (m *Manager) countIfDue() {
	m.mu.Lock()
	due := m.countDue
	m.countDue = false
	m.mu.Unlock()
	if due {
		m.startCount()
	}
}

// startCount begins to count. It returns as soon as the scans see the store as it is at
// this moment, between two commits: nothing that is committed later is in them.
func (m *Manager) startCount() {
	s := &count{
		begun: m.sched.Now(), unsure: m.depths.unsure.Load(),
		before: map[processtable.ProcessID]int64{}, has: map[processtable.ProcessID]int64{},
	}
	m.registry.RLock()
	for id, p := range m.registry.processes {
		s.before[id] = p.depth.Load()
	}
	m.registry.RUnlock()
	scans := []func(begun func()) error{
		func(begun func()) error { return m.countClass(s, record.ClassMessage, begun) },
		func(begun func()) error { return m.countClass(s, record.ClassRecord, begun) },
	}
	if !m.depths.counted.Load() {
		scans = append(scans, m.countRefused)
	}
	all := task.NewGroup(m.sched)
	for _, scan := range scans {
		seen := m.sched.Gate()
		begun := sync.OnceFunc(seen.Open)
		m.background.Add()
		all.Go(func() {
			defer m.background.Done()
			defer begun()
			if err := scan(begun); err != nil {
				s.fail()
				_ = m.read.Judge(err) // it stops the manager, unless that is closed already
			}
		})
		_, _ = m.sched.Wait(context.Background(), seen)
	}
	m.background.Go(func() {
		_ = all.Wait(context.Background())
		m.endCount(s)
	})
}

func (s *count) fail() {
	s.mu.Lock()
	s.failed = true
	s.mu.Unlock()
}

// endCount puts right what each process queue was taken to have.
func (m *Manager) endCount(s *count) {
	if s.failed || m.closing.Load() {
		return
	}
	for id := range s.before {
		s.has[id] += 0
	}
	for id, has := range s.has {
		m.process(id).depth.Add(has - s.before[id])
	}
	m.depths.known.Store(s.unsure)
	m.depths.counted.Store(true)
	now := m.sched.Now()
	m.depths.mu.Lock()
	m.depths.counting = false
	m.depths.next = now.Add(max(recountPause, recountShare*now.Sub(s.begun)))
	m.depths.mu.Unlock()
}

// countClass counts the records of a class, and calls begun once it sees the store.
func (m *Manager) countClass(s *count, class byte, begun func()) error {
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
	err := m.read.Each(store.ScanOptions{Prefix: []byte{class}, KeysOnly: true}, func(key, _ []byte) error {
		begun()
		if m.closing.Load() {
			return read.ErrEnough
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

func (m *Manager) countRefused(begun func()) error {
	return m.read.Each(store.ScanOptions{Prefix: []byte{record.ClassRefused}, KeysOnly: true}, func(_, _ []byte) error {
		begun()
		if m.closing.Load() {
			return read.ErrEnough
		}
		m.depths.refused.Add(1)
		return nil
	})
}

// apply counts what a transaction that is on disk has put and removed. It is the committer's.
func (s *depths) apply(w *work) {
	for i := range w.from {
		n := 0
		for _, k := range w.Tx.Consume[i].Keys {
			if prepare.Counts(k.Kind) {
				n++
			}
		}
		if n > 0 {
			w.from[i].depth.Add(int64(-n))
		}
	}
	again := s.lossy || len(w.Tx.Settle) > 0
	for i := range w.Local {
		put := &w.Local[i]
		if !put.Adds {
			continue
		}
		w.to[i].depth.Add(1)
		if again || !put.Sure {
			s.unsure.Add(1)
		}
	}
	s.lossy = s.lossy || w.Recreated || w.Bind != nil && w.Bind.Start != nil
	if n := len(w.Tx.Refuse) - len(w.Tx.Settle); n != 0 {
		s.refused.Add(int64(n))
	}
}

// loadLossy finds whether a store was lost, here or at a peer.
func (m *Manager) loadLossy() (err error) {
	m.depths.lossy, err = m.lanes.StoreLost()
	return err
}
