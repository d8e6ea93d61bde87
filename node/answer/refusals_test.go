package answer

import (
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"fmqm/internal/store"
	"fmqm/internal/store/memory"
	"fmqm/internal/task"
	"fmqm/message"
	"fmqm/node/report"
	"fmqm/processtable"
	"fmqm/queue/record"
)

// counted counts the messages set aside that are read.
type counted struct {
	store.Engine
	read atomic.Int64
}

func (c *counted) Scan(o store.ScanOptions, visit func(key, value []byte) bool) error {
	return c.Engine.Scan(o, func(key, value []byte) bool {
		if key[0] == 's' && value != nil {
			c.read.Add(1)
		}
		return visit(key, value)
	})
}

// What process threads have refused is read once, however often somebody asks about an
// instance; what leaves it, and what comes, is known all the same.
func TestRefusedMessagesAreReadOnce(t *testing.T) {
	engine := &counted{Engine: newEngine(t, memory.Options{})}
	w := worldOn(t, engine, task.Goroutines{})
	defer w.close()
	one, two := uuid.Must(uuid.NewV7()), uuid.Must(uuid.NewV7())
	refuse := func(i message.InstanceID, source processtable.ActivityID, peer processtable.NodeID) {
		t.Helper()
		encoded, err := message.Encode(message.Message{Header: message.Header{
			Queue:    message.Queue{Process: processtable.ProcessID{Name: "p", Version: 1}, Node: "A"},
			Instance: i, Origin: "A", Activity: "a", Source: source, Kind: message.KindConnector, Control: message.True, Data: message.DataPresent,
		}, Body: make([]byte, 100_000)})
		if err != nil {
			t.Fatal(err)
		}
		w.commit(&record.Tx{Refuse: []record.Refused{{Peer: peer, Reason: "why", Message: encoded}}})
	}
	want := func(i message.InstanceID, want ...processtable.ActivityID) {
		t.Helper()
		found, err := w.RefusedOf(i)
		var got []processtable.ActivityID
		for _, r := range found {
			got = append(got, r.Message.Source)
			if r.Message.Body != nil || r.Reason != "why" {
				t.Errorf("%+v", r)
			}
		}
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("refused of the instance: %v, %v, want %v", got, err, want)
		}
	}
	want(one)
	for range 15 {
		refuse(two, "x", "")
	}
	refuse(one, "b", "")
	refuse(one, "c", "")
	refuse(one, "d", "B") // by a link: no entry is in error for it
	want(one, "c", "b")
	read := engine.read.Load()
	for range 10 {
		if _, err := w.Report(report.Question{Instance: one}); err != nil {
			t.Fatal(err)
		}
		want(one, "c", "b")
	}
	if again := engine.read.Load() - read; again != 0 {
		t.Errorf("%d messages set aside were read again", again)
	}
	w.commit(&record.Tx{Settle: []uint64{16}})
	w.Settled([]uint64{16})
	refuse(one, "e", "")
	want(one, "e", "c")
}

// slowReads is a store of which a read of the messages set aside takes as long as it is held.
type slowReads struct {
	store.Engine
	slow atomic.Bool // until then reads are quick
	held chan struct{}
	asks chan struct{}
}

func (s *slowReads) Scan(o store.ScanOptions, visit func(key, value []byte) bool) error {
	if s.slow.Load() && len(o.Prefix) > 0 && o.Prefix[0] == 's' {
		s.asks <- struct{}{}
		<-s.held
	}
	return s.Engine.Scan(o, visit)
}

// The committer tells of what is taken out, and waits for nobody who asks: a slow read delays
// no work.
func TestWhoReadsRefusedMessagesHoldsUpNoTransaction(t *testing.T) {
	engine := &slowReads{Engine: newEngine(t, memory.Options{}), held: make(chan struct{}), asks: make(chan struct{}, 100)}
	w := worldOn(t, engine, task.Goroutines{})
	defer w.close()
	engine.slow.Store(true)
	answered := make(chan error)
	go func() {
		_, err := w.RefusedOf(uuid.Must(uuid.NewV7()))
		answered <- err
	}()
	<-engine.asks
	told := make(chan struct{})
	go func() { w.Settled([]uint64{1}); close(told) }()
	select {
	case <-told:
	case <-time.After(5 * time.Minute):
		t.Error("a transaction waits for somebody who reads")
	}
	close(engine.held)
	if err := <-answered; err != nil {
		t.Error(err)
	}
	<-told
}
