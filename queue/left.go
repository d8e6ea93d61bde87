package queue

import (
	"context"
	"encoding/binary"
	"sync"

	"fmqm/internal/store"
	"fmqm/internal/task"
	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue/record"
)

// What a peer has left here, and no work takes up: messages that wait for a table, that
// were set aside, and markers of instances. It is counted by peer, for a quota, and always
// known: of what waits the key says whose it is and how large, of the rest an index does,
// that is written with it; open counts the keys.

// Left is what one peer sent that nothing here uses yet.
type Left struct {
	Parked, Aside, Marks int   // messages
	Bytes                int64 // that they count for: each at least as much as below
}

// What the least of them counts for, in bytes: many small ones are a burden too.
const (
	leftMessage = 16 << 10
	leftMark    = 1 << 10
)

// The kinds of an entry of the index.
const (
	leftAside  = 's'
	leftMarker = 'k'
)

// left is what all peers have left. It is safe for concurrent use.
type left struct {
	by      task.Scheduler
	mu      sync.Mutex
	parked  map[processtable.ProcessID]int
	peers   map[processtable.NodeID]Left
	changed *task.Gate // opened, and made anew, when something has gone
}

// leaving is a change of it that a transaction makes.
type leaving struct {
	peer   processtable.NodeID
	kind   byte // leftAside, leftMarker, or 0: it waits for a table
	of     processtable.ProcessID
	size   int
	number int // 1 or -1
}

func newLeft(by task.Scheduler) left {
	return left{by: by, parked: map[processtable.ProcessID]int{}, peers: map[processtable.NodeID]Left{}, changed: by.Gate()}
}

// apply makes changes that are on disk.
func (l *left) apply(all []leaving) {
	if len(all) == 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	less := false
	for i := range all {
		l.add(&all[i])
		less = less || all[i].number < 0
	}
	if less {
		l.ask()
	}
}

// ask lets those that wait ask again. The caller holds mu.
func (l *left) ask() {
	l.changed.Open()
	l.changed = l.by.Gate()
}

func (l *left) add(c *leaving) {
	if c.kind == 0 {
		if l.parked[c.of] += c.number; l.parked[c.of] <= 0 {
			delete(l.parked, c.of)
		}
	}
	if c.peer == "" {
		return
	}
	of, least := l.peers[c.peer], leftMessage
	switch c.kind {
	case leftAside:
		of.Aside += c.number
	case leftMarker:
		of.Marks += c.number
		least = leftMark
	default:
		of.Parked += c.number
	}
	of.Bytes += int64(c.number * max(c.size, least))
	if l.peers[c.peer] = of; of == (Left{}) {
		delete(l.peers, c.peer)
	}
}

// Left says what a peer has left here.
func (m *Manager) Left(peer processtable.NodeID) Left {
	m.left.mu.Lock()
	defer m.left.mu.Unlock()
	return m.left.peers[peer]
}

// WaitLeft blocks until what a peer has left fits, or ctx ends; while it does not, full is
// told what there is, each time that something has gone. To ask again, see [Manager.LookAtLeft].
func (m *Manager) WaitLeft(ctx context.Context, peer processtable.NodeID, fits func(Left) bool, full func(Left)) error {
	for {
		m.left.mu.Lock()
		now, changed := m.left.peers[peer], m.left.changed
		m.left.mu.Unlock()
		if fits(now) {
			return nil
		}
		full(now)
		if _, err := m.sched.Wait(ctx, changed); err != nil {
			return err
		}
	}
}

// LookAtLeft lets those that wait ask again whether it fits: a quota was changed.
func (m *Manager) LookAtLeft() {
	m.left.mu.Lock()
	defer m.left.mu.Unlock()
	m.left.ask()
}

// leave adds an entry to the index.
func (b *builder) leave(kind byte, what []byte, peer processtable.NodeID, size int) {
	if !processtable.ValidNode(string(peer)) {
		return
	}
	key := append([]byte{record.ClassLeft, kind}, what...)
	key = binary.BigEndian.AppendUint32(record.AppendName(key, string(peer)), uint32(size))
	b.op(key, record.New(key))
	b.leavings = append(b.leavings, leaving{peer: peer, kind: kind, size: size, number: 1})
}

// leaveMark notes who has brought a marker, the first of its instance here.
func (b *builder) leaveMark(m *message.Message) {
	entry := m.Entry()
	b.leave(leftMarker, record.AppendName(record.AppendMessageKey(nil, m.Queue.Process, &entry, m.Key()), ""), m.From, 0)
}

// unleave removes the entry of a message that is set aside no more.
func (b *builder) unleave(number uint64) {
	prefix := binary.BigEndian.AppendUint64([]byte{record.ClassLeft, leftAside}, number)
	err := b.m.engine.Scan(store.ScanOptions{Prefix: prefix, KeysOnly: true}, func(key, _ []byte) bool {
		k := record.KeyReader{Rest: key[len(prefix):]}
		c := leaving{kind: leftAside, peer: processtable.NodeID(k.Name()), size: int(k.Uint32()), number: -1}
		b.op(append([]byte(nil), key...), nil)
		b.leavings = append(b.leavings, c)
		return true
	})
	if err != nil {
		b.fail(err)
	}
}

// loadLeft counts what there is.
func (m *Manager) loadLeft() error {
	err := m.scan(store.ScanOptions{Prefix: []byte{record.ClassParked}, KeysOnly: true}, func(key, _ []byte) error {
		p, err := record.ReadParkedKey(key)
		m.left.add(&leaving{peer: p.Peer, of: p.Process, size: p.Size, number: 1})
		m.nextParked.Store(max(m.nextParked.Load(), p.Number))
		return err
	})
	if err != nil {
		return err
	}
	return m.scan(store.ScanOptions{Prefix: []byte{record.ClassLeft}, KeysOnly: true}, func(key, _ []byte) error {
		k := record.KeyReader{Rest: key[1:]}
		c := leaving{kind: k.Bytes(1)[0], number: 1}
		switch c.kind {
		case leftAside:
			k.Bytes(8)
		case leftMarker:
			k.Bytes(1)
			k.Process()
			k.Entry()
			k.Bytes(1)
			k.Name()
		}
		c.peer, c.size = processtable.NodeID(k.Name()), int(k.Uint32())
		if k.End() != nil {
			return record.Damaged(key, record.ErrKey.Error())
		}
		m.left.add(&c)
		return nil
	})
}
