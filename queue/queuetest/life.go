package queuetest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"fmqm/internal/store"
	"fmqm/internal/store/storetest"
	"fmqm/message"
	"fmqm/queue"
	"fmqm/queue/audit"
	"fmqm/queue/commit"
	"fmqm/queue/record"
)

// testCongestion: links are told to wait while too much is to be folded, by count and
// by bytes.
func testCongestion(t *testing.T, open storetest.Open) {
	s := newSite(t, open, func(o *queue.Options) { o.DirtyLimit = 3 })
	s.must(put(msg("A", 1, "x", "a"), msg("A", 2, "x", "a"), msg("A", 3, "x", "a")))
	if s.Congested() {
		t.Error("congested by messages that nobody reads")
	}
	mb := s.Mailbox(procP)
	s.must(put(msg("A", 1, "x", "a"), msg("A", 2, "x", "a"), msg("A", 2, "y", "a")))
	if s.Congested() {
		t.Error("congested by two entries, the limit is three")
	}
	s.must(put(msg("A", 3, "x", "a")))
	if !s.Congested() || s.Stats().Dirty != 3 {
		t.Error("not congested by three entries")
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.WaitCapacity(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("wait without time: %v", err)
	}
	waiting := make(chan error, 2)
	for range 2 {
		go func() { waiting <- s.WaitCapacity(t.Context()) }()
	}
	mb.Take(1)
	for range 2 {
		if err := <-waiting; err != nil {
			t.Error(err)
		}
	}
	if s.Congested() {
		t.Error("congested although there is room")
	}
}

// testBinding: a store is one node's for ever, and of one format.
func testBinding(t *testing.T, open storetest.Open) {
	s := newSite(t, open)
	s.must(put(msg("A", 1, "a", "b")))
	if err := s.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	refused := func(o queue.Options, change func(store.Engine), want string) {
		t.Helper()
		dir := storetest.CopyDir(t, s.dir)
		engine, err := open(dir)
		if err != nil {
			t.Fatal(err)
		}
		if change != nil {
			change(engine)
		}
		last := engine.Last()
		_, err = queue.Open(engine, o)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("open: %v, want %q", err, want)
		}
		if engine.Last() != last {
			t.Error("a refused store was changed")
		}
		if err := engine.Close(); err != nil {
			t.Error(err)
		}
	}
	commit := func(op store.Op) func(store.Engine) {
		return func(e store.Engine) {
			if err := e.Commit(e.Last()+1, &store.Batch{Ops: []store.Op{op}}); err != nil {
				t.Fatal(err)
			}
		}
	}
	refused(queue.Options{Node: "B"}, nil, "the store belongs to another node: it was made for A, not for B: correct `node:` or `data:`")
	refused(queue.Options{Node: "not a name"}, nil, `"not a name" is not a node's name`)
	refused(queue.Options{}, nil, `"" is not a node's name`)
	refused(queue.Options{Node: "A"}, commit(store.Op{Key: []byte("mformat")}), "commits but no format")
	refused(queue.Options{Node: "A"}, commit(store.Op{Key: []byte("mnode")}), `record "mnode": get: key not found`)
	refused(queue.Options{Node: "A"}, commit(store.Op{Key: []byte("mnode"), Value: []byte("A")}), `record "mnode": it is too short`)
	s.start()
	s.wantStored(entry(1, "b"), msg("A", 1, "a", "b"))
}

// testClose: what was submitted is committed, what comes later is refused.
func testClose(t *testing.T, open storetest.Open) {
	s := newSite(t, open)
	const count = 500
	results := make(chan error, count)
	for n := range count {
		tx := put(msg("A", n, "a", "b"))
		tx.Done = func(err error) { results <- err }
		s.Submit(tx)
	}
	s.Submit(put(msg("A", count, "a", "b"))) // nobody asks how it ends
	for range 2 {
		if err := s.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for range count {
		if err := <-results; err != nil {
			t.Errorf("submitted before the end: %v", err)
		}
	}
	if err := s.try(put(msg("A", 999, "a", "b"))); !errors.Is(err, queue.ErrStopped) {
		t.Errorf("submitted after the end: %v", err)
	}
	s.Submit(put(msg("A", 999, "a", "b")))
	if err := s.BindIncarnation("B", record.Incarnation{1}); !errors.Is(err, queue.ErrStopped) {
		t.Errorf("bound after the end: %v", err)
	}
	if _, err := s.Browse(procP, entry(1, "b")); !errors.Is(err, store.ErrClosed) {
		t.Errorf("browsed after the end: %v", err)
	}
	if s.Manager.Failed().Given().IsOpen() {
		t.Error("closing is a failure")
	}
	s.start()
	for n := range count + 1 {
		s.wantStored(entry(n, "b"), msg("A", n, "a", "b"))
	}
	s.wantStored(entry(999, "b"))
}

// gate is an engine whose commits wait.
type gate struct {
	store.Engine
	entered chan struct{}
	leave   chan error
}

func (g *gate) Commit(version uint64, b *store.Batch) error {
	g.entered <- struct{}{}
	if err := <-g.leave; err != nil {
		return err
	}
	return g.Engine.Commit(version, b)
}

// gated opens a site whose commits wait at a gate.
func gated(t *testing.T, open storetest.Open) (*site, *gate) {
	t.Helper()
	s := newSite(t, open)
	if err := s.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	engine, err := open(s.dir)
	if err != nil {
		t.Fatal(err)
	}
	g := &gate{Engine: engine, entered: make(chan struct{}, 10), leave: make(chan error, 10)}
	if s.Manager, err = queue.Open(g, s.options); err != nil {
		t.Fatal(err)
	}
	s.engine = g
	return s, g
}

// testCloseWithoutTime: the commit under way ends, the rest is refused.
func testCloseWithoutTime(t *testing.T, open storetest.Open) {
	s, g := gated(t, open)
	first, second := make(chan error, 1), make(chan error, 1)
	tx := put(msg("A", 1, "a", "b"))
	tx.Done = func(err error) { first <- err }
	s.Submit(tx)
	<-g.entered
	tx = put(msg("A", 2, "a", "b"))
	tx.Done = func(err error) { second <- err }
	s.Submit(tx)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	closed := make(chan error, 1)
	go func() { closed <- s.Close(ended) }()
	given := make(chan error, 1)
	for gaveUp := false; !gaveUp; { // until close has given up waiting
		tx = put(msg("A", 3, "a", "b"))
		tx.Done = func(err error) {
			select {
			case given <- err:
			default:
			}
		}
		s.Submit(tx)
		select {
		case err := <-given:
			gaveUp = errors.Is(err, context.Canceled)
		default:
			runtime.Gosched()
		}
	}
	g.leave <- nil
	if err := <-first; err != nil {
		t.Errorf("the commit under way: %v", err)
	}
	if err := <-second; !errors.Is(err, queue.ErrStopped) {
		t.Errorf("the transaction behind: %v", err)
	}
	if err := <-closed; !errors.Is(err, context.Canceled) {
		t.Errorf("close: %v", err)
	}
	s.start()
	s.wantStored(entry(1, "b"), msg("A", 1, "a", "b"))
	s.wantStored(entry(2, "b"))
}

// testFailedDisk: after a failed write nothing is acknowledged, and the node is told
// (invariant 8).
func testFailedDisk(t *testing.T, open storetest.Open) {
	s, g := gated(t, open)
	mb := s.Mailbox(procP)
	broken := errors.New("input/output error")
	results := make(chan error, 3)
	for n := range 3 {
		tx := put(msg("A", n, "a", "b"), msg("B", n, "a", "b"))
		tx.Done = func(err error) { results <- err }
		s.Submit(tx)
		if n == 0 {
			<-g.entered
		}
	}
	g.leave <- broken
	for range 3 {
		if err := <-results; !errors.Is(err, queue.ErrStopped) || !errors.Is(err, broken) {
			t.Errorf("transaction: %v", err)
		}
	}
	if err, _, _ := s.Manager.Failed().Wait(context.Background()); !errors.Is(err, broken) {
		t.Errorf("failed: %v", err)
	}
	if err := s.try(put(msg("A", 9, "a", "b"))); !errors.Is(err, queue.ErrStopped) || !errors.Is(err, broken) {
		t.Errorf("a later transaction: %v", err)
	}
	if got := mb.Take(10); len(got) != 0 || s.Transmission("B").Last(0).Number != 0 {
		t.Errorf("what was not written is visible: %v", got)
	}
	if err := s.Close(t.Context()); err != nil {
		t.Errorf("close: %v", err)
	}
	s.start()
	s.wantStored(entry(0, "b"))
}

// bitFlip is an engine that gives a wrong bit in the values of one class of records.
type bitFlip struct {
	store.Engine
	class byte
	short bool
}

func (f *bitFlip) View(read func(store.Reader) error) error { return read(f) }

func (f *bitFlip) flip(key, value []byte) []byte {
	if len(value) == 0 || key[0] != f.class {
		return value
	}
	if f.short {
		return value[:3]
	}
	damaged := append([]byte(nil), value...)
	damaged[len(damaged)/2] ^= 4
	return damaged
}

func (f *bitFlip) Get(key []byte) ([]byte, error) {
	value, err := f.Engine.Get(key)
	return f.flip(key, value), err
}

func (f *bitFlip) Scan(o store.ScanOptions, visit func(key, value []byte) bool) error {
	return f.Engine.Scan(o, func(key, value []byte) bool { return visit(key, f.flip(key, value)) })
}

// testDamage: one flipped bit in any record is an error that names it, never a wrong
// value; where it is met at open, nothing is opened.
func testDamage(t *testing.T, open storetest.Open) {
	s := newSite(t, open)
	if err := s.BindIncarnation("B", record.Incarnation{7}); err != nil {
		t.Fatal(err)
	}
	m, sent := msg("A", 1, "a", "b", noise(100_000, 1)...), msg("B", 1, "a", "b", noise(600_000, 1)...)
	started := record.AuditRecord{Instance: instance(1), Activity: "source", Event: record.EventStarted}
	failed, ended := started, started
	failed.Activity, failed.Event, ended.Activity, ended.Event = "a", record.EventFailed, "a", record.EventTerminated
	s.must(&record.Tx{
		Put:    []message.Message{m, sent, kind(msg("A", 1, "source", "sink"), message.KindRecord), kind(msg("A", 1, "", ""), message.KindMarker)},
		Audit:  []record.AuditRecord{started, failed, ended},
		Tables: []record.TableRecord{{Process: procP, Definition: defP, Encoded: []byte("table")}},
		Refuse: []record.Refused{{Reason: "r"}},
		Accept: &record.Accept{
			Peer: "B", Incarnation: record.Incarnation{7}, Number: 1, Count: 1,
			Parts: []record.Part{{First: 1, Data: []byte("part")}},
		},
	})
	s.must(put(sent))
	s.Transmission("B").Trim(0, 1)
	s.must(put(msg("A", 2, "a", "b")))
	apart := kind(msg("B", 1, "a", "b", 0x82, 1, 0xa0), message.KindWord)
	apart.Number, apart.Source, apart.Control, apart.Data = 1, "", 0, 0
	ended.Instance = instance(2)
	s.must(&record.Tx{
		Put: []message.Message{apart}, Audit: []record.AuditRecord{ended}, Timers: []record.Timer{{Due: noon.Add(time.Hour), Process: procP, Pause: time.Hour}},
		Park: []record.Parked{{Process: procQ, Peer: "B", Message: []byte("parked")}},
	})
	forget, _, err := s.Forget(audit.Forget{Instance: instance(2), Time: noon, Limit: 9})
	if err != nil {
		t.Fatal(err)
	}
	s.must(forget)
	if err := s.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	reads := map[byte]func(*queue.Manager) error{
		'q': func(m *queue.Manager) error { _, err := m.Browse(procP, entry(1, "b")); return err },
		'r': func(m *queue.Manager) error { _, _, err := m.Records(procP, message.InstanceID{}, 9); return err },
		'k': func(m *queue.Manager) error { _, err := m.Marker(procP, instance(1)); return err },
		'c': func(m *queue.Manager) error { _, err := m.BrowseInstance(procP, instance(1)); return err },
		'i': func(m *queue.Manager) error { _, err := m.Parts("B", 0, 1); return err },
		's': func(m *queue.Manager) error { _, err := m.RefusedList(9); return err },
		'I': func(m *queue.Manager) error { _, _, _, err := m.Instance(instance(1)); return err },
		'E': func(m *queue.Manager) error { _, _, err := m.Ended(entry(1, "a")); return err },
		'H': func(m *queue.Manager) error { _, err := m.History(instance(1)); return err },
		'R': func(m *queue.Manager) error { _, _, err := m.Removed(instance(2)); return err },
		'w': func(m *queue.Manager) error { _, err := m.ParkedFor(procQ, 9); return err },
		'd': func(m *queue.Manager) error {
			failure, _, err := m.Failed().Wait(t.Context())
			return cmp.Or(err, failure)
		},
		'm': nil, 't': nil, 'x': nil, 'l': nil, 'a': nil, 'p': nil, 'b': nil, 'y': nil, // met at open
	}
	for class, read := range reads {
		for _, short := range []bool{false, true} {
			t.Run(fmt.Sprintf("%c, short %v", class, short), func(t *testing.T) {
				engine, err := open(s.dir)
				if err != nil {
					t.Fatal(err)
				}
				m, err := queue.Open(&bitFlip{engine, class, short}, s.options)
				if read == nil {
					if err == nil {
						t.Error("opened")
						_ = m.Close(t.Context())
					} else {
						wantDamage(t, err, class)
						_ = engine.Close()
					}
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				wantDamage(t, read(m), class)
				failure, _, err := m.Failed().Wait(t.Context())
				if err != nil {
					t.Fatalf("the node goes on: %v", err)
				}
				wantDamage(t, failure, class)
				if err := m.Close(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
	}
	s.start()
}

func wantDamage(t *testing.T, err error, class byte) {
	t.Helper()
	if !errors.Is(err, record.ErrDamaged) || !strings.Contains(err.Error(), fmt.Sprintf("record %q", class)[:7]+`"`+string(class)) {
		t.Errorf("error %v, want one that names a record of class %c", err, class)
	}
}

// testGroupCommit: what is submitted while a write is under way shares the next one,
// in the order in which it was submitted, and each is told by itself.
func testGroupCommit(t *testing.T, open storetest.Open) {
	s, g := gated(t, open)
	const writers, each = 8, 50
	var mu sync.Mutex
	var told []int
	submit := func(n int) {
		tx := put(msg("B", n, "a", "b"), msg("A", n, "a", "b"))
		tx.Done = func(err error) {
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			told = append(told, n)
			mu.Unlock()
		}
		s.Submit(tx)
	}
	submit(0)
	<-g.entered // the first is being written
	for n := 1; n <= writers*each; n++ {
		submit(n)
	}
	stale := take(msg("A", 1, "a", "b"))
	refused := make(chan error, 1)
	stale.Done = func(err error) { refused <- err }
	s.Submit(stale)
	g.leave <- nil
	<-g.entered
	g.leave <- nil
	if err := <-refused; !errors.Is(err, commit.ErrStale) {
		t.Errorf("decided before a message of its group: %v", err)
	}
	if err := s.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := s.Stats(); got.Transactions != writers*each+1 || got.Commits != 2 {
		t.Errorf("%d transactions in %d commits, want %d in 2", got.Transactions, got.Commits, writers*each+1)
	}
	for i, n := range told {
		if i != n {
			t.Fatalf("transaction %d was told as number %d", n, i)
		}
	}
	s.start()
	var want []message.Message
	for n := range writers*each + 1 {
		want = append(want, msg("B", n, "a", "b"))
	}
	s.checkLane("B", 0, record.Position{}, want...)
}
