package node

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"

	"fmqm/internal/store"
	"fmqm/message"
	"fmqm/processtable"
	"fmqm/program"
	"fmqm/queue"
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
	engine := &counted{Engine: memoryEngine(t)}
	registry, err := program.NewRegistry(nil, program.Options{})
	if err != nil {
		t.Fatal(err)
	}
	n, err := Open(Options{Name: "A", Engine: engine, Registry: registry})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := n.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	}()
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
		if err := n.commit(context.Background(), &queue.Tx{SetAside: []queue.SetAside{{Peer: peer, Reason: "why", Message: encoded}}}); err != nil {
			t.Fatal(err)
		}
	}
	want := func(i message.InstanceID, want ...processtable.ActivityID) {
		t.Helper()
		found, err := n.refusals.of(n.queue, i)
		var got []processtable.ActivityID
		for _, r := range found {
			got = append(got, r.m.Source)
			if r.m.Body != nil || r.reason != "why" {
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
		if _, err := n.report(instanceQuestion{Instance: one}); err != nil {
			t.Fatal(err)
		}
		want(one, "c", "b")
	}
	if again := engine.read.Load() - read; again != 0 {
		t.Errorf("%d messages set aside were read again", again)
	}
	if err := n.commit(context.Background(), &queue.Tx{TakeAside: []uint64{16}}); err != nil {
		t.Fatal(err)
	}
	n.refusals.taken([]uint64{16})
	refuse(one, "e", "")
	want(one, "e", "c")
}
