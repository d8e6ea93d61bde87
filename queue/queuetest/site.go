package queuetest

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/uuid"

	"fmqm/internal/store"
	"fmqm/internal/store/storetest"
	"fmqm/internal/task"
	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue"
	"fmqm/queue/mailbox"
	"fmqm/queue/record"
)

// noon is when tests begin.
var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

var (
	procP = processtable.ProcessID{Name: "p", Version: 1}
	procQ = processtable.ProcessID{Name: "q-with-hyphens", Version: 12}
	defP  = processtable.DefinitionHash{1, 2, 3}
)

// site is a queue manager under test, with all that it lives on.
type site struct {
	testing.TB
	open    storetest.Open
	options queue.Options
	dir     string
	clock   *Clock
	engine  store.Engine
	*queue.Manager
}

func newSite(t testing.TB, open storetest.Open, change ...func(*queue.Options)) *site {
	t.Helper()
	s := &site{TB: t, open: open, dir: t.TempDir(), clock: NewClock(noon)}
	s.options = queue.Options{Node: "A", Scheduler: task.Goroutines{Clock: s.clock}, Rand: rand.NewChaCha8([32]byte{1})}
	for _, c := range change {
		c(&s.options)
	}
	s.start()
	t.Cleanup(func() {
		if err := s.Close(context.Background()); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return s
}

func (s *site) start() {
	s.Helper()
	var err error
	if s.engine, err = s.open(s.dir); err != nil {
		s.Fatalf("open store: %v", err)
	}
	if s.Manager, err = queue.Open(s.engine, s.options); err != nil {
		s.Fatalf("open queues: %v", err)
	}
}

// reopen closes and opens.
func (s *site) reopen() {
	s.Helper()
	if err := s.Close(context.Background()); err != nil {
		s.Fatalf("close: %v", err)
	}
	s.start()
}

// crash opens what is on disk at this moment, as after a kill.
func (s *site) crash() {
	s.Helper()
	dir := storetest.CopyDir(s.TB, s.dir)
	if err := s.Close(context.Background()); err != nil {
		s.Fatalf("close: %v", err)
	}
	s.dir = dir
	s.start()
}

// try commits a transaction and gives its error.
func (s *site) try(tx *record.Tx) error {
	done := make(chan error, 2)
	tx.Done = func(err error) { done <- err }
	s.Submit(tx)
	err := <-done
	select {
	case again := <-done:
		s.Errorf("done was called twice: %v, %v", err, again)
	default:
	}
	return err
}

// must commits a transaction.
func (s *site) must(tx *record.Tx) {
	s.Helper()
	if err := s.try(tx); err != nil {
		s.Fatalf("transaction: %v", err)
	}
}

// instance gives the n-th instance; they sort by n.
func instance(n int) message.InstanceID {
	id := uuid.UUID{6: 0x70, 8: 0x80}
	id[0], id[15] = byte(n>>8)+1, byte(n)
	return id
}

func entry(n int, activity processtable.ActivityID) message.Entry {
	return message.Entry{Instance: instance(n), Activity: activity}
}

// msg makes a connector message of instance n for an activity of p at node.
func msg(node processtable.NodeID, n int, source, target processtable.ActivityID, body ...byte) message.Message {
	m := message.Message{Header: message.Header{
		Queue:      message.Queue{Process: procP, Node: node},
		Definition: defP.Short(), Instance: instance(n), Origin: "A",
		Activity: target, Source: source, Kind: message.KindConnector, Control: message.True, Clock: 1,
	}}
	if len(body) > 0 {
		m.Data, m.Body = message.DataPresent, body
	}
	return m
}

func kind(m message.Message, k message.Kind) message.Message {
	m.Kind = k
	return m
}

func put(m ...message.Message) *record.Tx { return &record.Tx{Put: m} }

// consume takes messages of one entry.
func consume(m ...message.Message) record.Consume {
	c := record.Consume{Process: m[0].Queue.Process, Entry: m[0].Entry()}
	for i := range m {
		c.Keys = append(c.Keys, m[i].Key())
	}
	return c
}

func take(m ...message.Message) *record.Tx {
	return &record.Tx{Consume: []record.Consume{consume(m...)}}
}

// noise gives n bytes that do not repeat.
func noise(n int, seed byte) []byte {
	b := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{seed}).Read(b)
	return b
}

// keys counts the records of the store by class.
func (s *site) keys() map[string]int {
	s.Helper()
	counts := map[string]int{}
	err := s.engine.Scan(store.ScanOptions{KeysOnly: true}, func(key, _ []byte) bool {
		counts[string(key[:1])]++
		return true
	})
	if err != nil {
		s.Fatal(err)
	}
	return counts
}

// bodies says how many staged bodies and chunks there are.
func (s *site) bodies() string {
	s.Helper()
	k := s.keys()
	return fmt.Sprintf("%d bodies, %d chunks", k["b"], k["c"])
}

// stored gives the messages of an entry.
func (s *site) stored(e message.Entry) []message.Message {
	s.Helper()
	found, err := s.Browse(procP, e)
	if err != nil {
		s.Fatal(err)
	}
	return found
}

// wantStored checks what is stored for an entry.
func (s *site) wantStored(e message.Entry, want ...message.Message) {
	s.Helper()
	sameMessages(s.TB, s.stored(e), want)
}

func sameMessages(t testing.TB, got, want []message.Message) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d messages, want %d: %v", len(got), len(want), headers(got))
	}
	for i := range got {
		if got[i].Header != want[i].Header || !bytes.Equal(got[i].Body, want[i].Body) {
			t.Errorf("message %d is\n%+v with %d bytes, want\n%+v with %d", i, got[i].Header, len(got[i].Body), want[i].Header, len(want[i].Body))
		}
	}
}

func headers(m []message.Message) (h []message.Header) {
	for i := range m {
		h = append(h, m[i].Header)
	}
	return h
}

// next waits for the mailbox and takes everything.
func next(mb *mailbox.Reader) []record.Delivery {
	for {
		rung(mb.Wake())
		if got := mb.Take(1000); len(got) > 0 {
			return got
		}
	}
}

// rung waits for a bell.
func rung(b *task.Bell) { _, _ = task.Goroutines{}.Wait(context.Background(), b) }

// items reads a whole lane.
func (s *site) items(peer processtable.NodeID, lane message.Lane) []record.Item {
	s.Helper()
	items, err := s.Transmission(peer).Read(lane, 1, 1<<30)
	if err != nil {
		s.Fatal(err)
	}
	return items
}
