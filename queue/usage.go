package queue

import (
	"context"
	"sync"

	"fmqm/internal/store"
	"fmqm/internal/task"
	"fmqm/processtable"
	"fmqm/queue/record"
)

// What peers have sent that nothing here takes up: messages that wait for a table, refused
// messages, and markers of instances. It is charged to the peer, against a quota, and always
// known: of what waits the key says whose it is and how large, of the rest an index does,
// that is written with it; open counts the keys.

// Usage is what one peer has sent that nothing here takes up.
type Usage struct {
	Parked, Refused, Marks int   // messages
	Bytes                  int64 // that they count for: each at least as much as below
}

// What the least of them counts for, in bytes: many small ones are a burden too.
const (
	leastMessage = 16 << 10
	leastMarker  = 1 << 10
)

// usages are those of all peers. They are safe for concurrent use.
type usages struct {
	by      task.Scheduler
	mu      sync.Mutex
	parked  map[processtable.ProcessID]int
	peers   map[processtable.NodeID]Usage
	changed *task.Gate // opened, and replaced, when something has gone
}

func newUsages(by task.Scheduler) usages {
	return usages{by: by, parked: map[processtable.ProcessID]int{}, peers: map[processtable.NodeID]Usage{}, changed: by.Gate()}
}

// apply makes changes that are on disk.
func (u *usages) apply(all []record.Charge) {
	if len(all) == 0 {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	less := false
	for i := range all {
		u.add(&all[i])
		less = less || all[i].Number < 0
	}
	if less {
		u.ask()
	}
}

// ask lets those that wait ask again. The caller holds mu.
func (u *usages) ask() {
	u.changed.Open()
	u.changed = u.by.Gate()
}

func (u *usages) add(c *record.Charge) {
	if c.Kind == 0 {
		if u.parked[c.Process] += c.Number; u.parked[c.Process] <= 0 {
			delete(u.parked, c.Process)
		}
	}
	if c.Peer == "" {
		return
	}
	of, least := u.peers[c.Peer], leastMessage
	switch c.Kind {
	case record.UsageRefused:
		of.Refused += c.Number
	case record.UsageMarker:
		of.Marks += c.Number
		least = leastMarker
	default:
		of.Parked += c.Number
	}
	of.Bytes += int64(c.Number * max(c.Size, least))
	if u.peers[c.Peer] = of; of == (Usage{}) {
		delete(u.peers, c.Peer)
	}
}

// Usage says what is charged to a peer.
func (m *Manager) Usage(peer processtable.NodeID) Usage {
	m.usage.mu.Lock()
	defer m.usage.mu.Unlock()
	return m.usage.peers[peer]
}

// WaitQuota blocks until the usage of a peer fits, or ctx ends; while it does not, full is
// told what there is, each time that something has gone. To ask again, see [Manager.QuotaChanged].
func (m *Manager) WaitQuota(ctx context.Context, peer processtable.NodeID, fits func(Usage) bool, full func(Usage)) error {
	for {
		m.usage.mu.Lock()
		now, changed := m.usage.peers[peer], m.usage.changed
		m.usage.mu.Unlock()
		if fits(now) {
			return nil
		}
		full(now)
		if _, err := m.sched.Wait(ctx, changed); err != nil {
			return err
		}
	}
}

// QuotaChanged lets those that wait ask again whether it fits: a quota was changed.
func (m *Manager) QuotaChanged() {
	m.usage.mu.Lock()
	defer m.usage.mu.Unlock()
	m.usage.ask()
}

// loadUsage counts what there is.
func (m *Manager) loadUsage() error {
	err := m.read.Each(store.ScanOptions{Prefix: []byte{record.ClassParked}, KeysOnly: true}, func(key, _ []byte) error {
		p, err := record.ReadParkedKey(key)
		m.usage.add(&record.Charge{Peer: p.Peer, Process: p.Process, Size: p.Size, Number: 1})
		m.preparer.Parked.Store(max(m.preparer.Parked.Load(), p.Number))
		return err
	})
	if err != nil {
		return err
	}
	return m.read.Each(store.ScanOptions{Prefix: []byte{record.ClassUsage}, KeysOnly: true}, func(key, _ []byte) error {
		c, err := record.ReadChargeKey(key)
		if err != nil {
			return err
		}
		m.usage.add(&c)
		return nil
	})
}

// refund takes off what refused messages that went were charged as: their keys of the index went too.
func (m *Manager) refund(claims [][]byte) {
	for _, key := range claims {
		c, err := record.ReadChargeKey(key)
		if err != nil {
			m.failReading(err)
			return
		}
		c.Number = -1
		m.usage.apply([]record.Charge{c})
	}
}
