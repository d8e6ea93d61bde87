package queue

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"

	"fmqm/internal/store"
	"fmqm/internal/store/memory"
	"fmqm/internal/task"
	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue/commit"
	"fmqm/queue/inspect"
	"fmqm/queue/prepare"
	"fmqm/queue/record"
)

// crashing is an engine that fails after some commits, and that survives its manager.
type crashing struct {
	store.Engine
	maxBatch int64
	left     int // commits until it fails; below 0: never
	done     int
}

var errCrashed = errors.New("crashed")

func (e *crashing) Commit(version uint64, b *store.Batch) error {
	if e.left == 0 {
		return errCrashed
	}
	e.left--
	e.done++
	if size := e.Size(b); size > e.maxBatch {
		return fmt.Errorf("%w: %d bytes", store.ErrTooLarge, size)
	}
	return e.Engine.Commit(version, b)
}

func (e *crashing) MaxBatch() int64 { return e.maxBatch }

func (e *crashing) Close() error { return nil }

func (e *crashing) records(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := e.Scan(store.ScanOptions{}, func(key, value []byte) bool {
		found[string(key)] = string(value)
		return true
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// longName is a name of the greatest length.
func longName(n int) processtable.ActivityID {
	return processtable.ActivityID(fmt.Sprintf("a%0*d", processtable.MaxName-1, n))
}

// wideMessage goes from one activity to another, all names as long as they may be.
func wideMessage(source, target processtable.ActivityID, scope, body int) message.Message {
	return message.Message{
		Header: message.Header{
			Queue: message.Queue{
				Process: processtable.ProcessID{Name: string(longName(0)), Version: 1 << 30}, Node: "A",
			},
			Instance: message.InstanceID{6: 0x70, 8: 0x80}, Origin: processtable.NodeID(longName(1)),
			Scope:    message.Scope(strings.Repeat("s", scope)),
			Activity: target, Source: source, Kind: message.KindConnector, Control: message.True, Data: message.DataPresent, Clock: 1 << 40,
		},
		Body: bytes.Repeat([]byte{1}, body),
	}
}

// wide gives what n activities send to one, and how that one ends: it consumes all of
// it and sends to n others.
func wide(n, scope, body int) (incoming, end *record.Tx) {
	incoming, end = &record.Tx{}, &record.Tx{}
	joined := longName(2)
	first := wideMessage(longName(3), joined, scope, 0)
	c := record.Consume{Process: first.Queue.Process, Entry: first.Entry()}
	a := record.AuditRecord{
		Process: first.Queue.Process, Instance: first.Instance, Origin: first.Origin, Scope: first.Scope,
		Activity: joined, Event: record.EventTerminated, Output: bytes.Repeat([]byte{2}, body),
	}
	for i := range n {
		in := wideMessage(longName(10+i), joined, scope, body)
		out := wideMessage(joined, longName(10+i), scope, body)
		incoming.Put = append(incoming.Put, in)
		end.Put = append(end.Put, out)
		c.Keys = append(c.Keys, in.Key())
		a.Consumed = append(a.Consumed, record.Consumed{Key: in.Key(), Control: in.Control, Data: in.Data, Clock: in.Clock})
		a.Sent = append(a.Sent, record.Sent{Target: out.Activity, Node: out.Queue.Node, Control: out.Control, Data: out.Data})
	}
	end.Consume, end.Audit = []record.Consume{c}, []record.AuditRecord{a}
	return incoming, end
}

func openCrashing(t *testing.T, e *crashing) *Manager {
	t.Helper()
	m, err := Open(e, Options{Node: "A", Scheduler: task.Goroutines{Clock: stoppedClock{}}, Rand: bytes.NewReader(make([]byte, 16))})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// commit submits tx and closes the manager.
func committed(t *testing.T, m *Manager, tx *record.Tx) error {
	t.Helper()
	done := make(chan error, 1)
	tx.Done = func(err error) { done <- err }
	m.Submit(tx)
	err := <-done
	if closed := m.Close(context.Background()); closed != nil {
		t.Error(closed)
	}
	return err
}

func newCrashing(t *testing.T, maxBatch int64) *crashing {
	t.Helper()
	engine, err := memory.NewDisk("A").Open(memory.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = engine.Close() })
	if maxBatch == 0 {
		maxBatch = engine.MaxBatch()
	}
	return &crashing{Engine: engine, maxBatch: maxBatch, left: -1}
}

// TestWidestTermination: the most that the language lets one activity have, 2,000
// connectors in and 2,000 out with the longest names, in the deepest scope, each with a
// body that is staged.
func TestWidestTermination(t *testing.T) {
	const fan = 2000
	incoming, end := wide(fan, message.MaxScope, prepare.SmallInline+1)
	e := newCrashing(t, 0)
	if err := committed(t, openCrashing(t, e), incoming); err != nil {
		t.Fatal(err)
	}
	m := openCrashing(t, e)
	// A body of 1 MiB has four chunks, and these have one.
	removals := e.Size(&store.Batch{Ops: removePieces(nil, 3*fan)})
	if size := m.prepare(end).Size; size <= m.maxBatch || size+removals+fan*1000 > commit.MaxLarge {
		t.Errorf("%d bytes: more than the engine's %d, and well below %d", size, m.maxBatch, commit.MaxLarge)
	}
	if err := committed(t, m, end); err != nil {
		t.Fatal(err)
	}
	m = openCrashing(t, e)
	for _, i := range []int{0, fan - 1} {
		want := end.Put[i]
		if found, err := m.Browse(want.Queue.Process, want.Entry()); err != nil || len(found) != 1 || !bytes.Equal(found[0].Body, want.Body) {
			t.Errorf("target %d has %d messages, %v", i, len(found), err)
		}
	}
	if left, err := m.Browse(end.Consume[0].Process, end.Consume[0].Entry); err != nil || len(left) != 0 {
		t.Errorf("%d of the incoming messages are left, %v", len(left), err)
	}
	if err := m.Close(context.Background()); err != nil {
		t.Error(err)
	}
	if report, err := inspect.Verify(e); err != nil || len(report.Problems) > 0 {
		t.Errorf("%v, %v", report.Problems, err)
	}
}

// TestLargeTransactionCutOff: wherever a large transaction is cut off, the next open
// finds all of it or nothing (invariant 3).
func TestLargeTransactionCutOff(t *testing.T) {
	var whole map[string]string
	outcomes := map[string]int{}
	for left := -1; ; left++ {
		incoming, end := wide(400, 1000, 300)
		e := newCrashing(t, minBatch)
		if err := committed(t, openCrashing(t, e), incoming); err != nil {
			t.Fatal(err)
		}
		m := openCrashing(t, e)
		before := e.records(t)
		e.left = left
		failed := committed(t, m, end)
		e.left = -1
		_, err := e.Get(record.KeyLarge)
		if report, failed := inspect.Verify(e); failed != nil || len(report.Problems) > 0 || (len(report.Unfinished) == 1) != (err == nil) {
			t.Errorf("cut off after %d commits: %v, %v, and a head: %v; %v", left, report.Problems, report.Unfinished, err, failed)
		}
		if err := openCrashing(t, e).Close(context.Background()); err != nil {
			t.Fatal(err)
		}
		now := e.records(t)
		switch {
		case left < 0:
			whole = now
			if e.done < 8 || failed != nil {
				t.Fatalf("%d commits, %v", e.done, failed)
			}
			continue
		case maps.Equal(now, whole):
			outcomes["whole"]++
		case maps.Equal(now, before) && failed != nil:
			outcomes["nothing"]++
		default:
			t.Errorf("cut off after %d commits (%v): %d records, before %d, after %d", left, failed, len(now), len(before), len(whole))
		}
		if failed == nil {
			break
		}
	}
	t.Log(outcomes)
	if outcomes["whole"] < 3 || outcomes["nothing"] < 3 {
		t.Errorf("outcomes: %v", outcomes)
	}
}

// TestDamagedPieces: what a large transaction was to change cannot be told any more.
func TestDamagedPieces(t *testing.T) {
	ops := []store.Op{{Key: []byte("a"), Value: []byte{}}, {Key: []byte("bc")}, {Key: []byte("d"), Value: []byte("value")}}
	encoded := record.AppendOps(nil, ops)
	got, err := record.ReadOps(encoded)
	if err != nil || len(got) != 3 || got[0].Value == nil || got[1].Value != nil || string(got[2].Value) != "value" {
		t.Fatalf("%+v, %v", got, err)
	}
	for size := range encoded {
		if got, err := record.ReadOps(encoded[:size]); err == nil && len(got) > 2 {
			t.Errorf("%d of %d bytes are read as %+v", size, len(encoded), got)
		}
	}
	head := func(count byte) []byte { return record.New(record.KeyLarge, 0, 0, 0, count) }
	for name, records := range map[string][]store.Op{
		"a piece is missing":   {{Key: record.KeyLarge, Value: head(2)}, {Key: record.AppendPieceKey(nil, 0), Value: record.New(record.AppendPieceKey(nil, 0), encoded...)}},
		"the first is missing": {{Key: record.KeyLarge, Value: head(1)}, {Key: record.AppendPieceKey(nil, 1), Value: record.New(record.AppendPieceKey(nil, 1), encoded...)}},
		"no changes":           {{Key: record.KeyLarge, Value: head(1)}, {Key: record.AppendPieceKey(nil, 0), Value: record.New(record.AppendPieceKey(nil, 0), 0xff)}},
		"a head of two bytes":  {{Key: record.KeyLarge, Value: record.New(record.KeyLarge, 1, 2)}},
	} {
		e := newCrashing(t, 0)
		if err := openCrashing(t, e).Close(context.Background()); err != nil {
			t.Fatal(err)
		}
		if err := e.Engine.Commit(e.Last()+1, &store.Batch{Ops: records}); err != nil {
			t.Fatal(err)
		}
		before := e.records(t)
		if _, err := Open(e, Options{Node: "A"}); !errors.Is(err, record.ErrDamaged) {
			t.Errorf("%s: %v", name, err)
		}
		if !maps.Equal(before, e.records(t)) {
			t.Errorf("%s: the store was changed", name)
		}
	}
}

// widestStart is how an instance starts whose source is joined with 10,000 activities with the
// longest names, on a node with a name of so many characters.
func widestStart(node int) *record.Tx {
	start := &record.Tx{}
	started := record.AuditRecord{
		Process: wideMessage("", "", 0, 0).Queue.Process, Instance: message.InstanceID{6: 0x70, 8: 0x80}, Origin: processtable.NodeID(longName(1)),
		Activity: processtable.Source, Event: record.EventStarted, Time: stoppedClock{}.Now(), Started: stoppedClock{}.Now(), Clock: 1 << 40,
		By: strings.Repeat("b", message.MaxBy), Output: bytes.Repeat([]byte{2}, 32<<10),
		Consumed: []record.Consumed{{Key: message.Key{Kind: message.KindConnector, Source: longName(0)}, Clock: 1 << 40}},
	}
	for i := range 10_000 {
		out := wideMessage(processtable.Source, longName(i), 0, 0)
		out.Queue.Node = processtable.NodeID(longName(1)[:node])
		start.Put = append(start.Put, out)
		started.Sent = append(started.Sent, record.Sent{Target: out.Activity, Node: out.Queue.Node, Control: out.Control, Data: out.Data})
	}
	start.Audit = []record.AuditRecord{started}
	return start
}

// TestWidestStart: the most that the language lets source be joined with, 10,000 activities for which
// their names and 16 bytes take 1,000,000 together, is in one record of the audit.
func TestWidestStart(t *testing.T) {
	const node = 1_000_000/10_000 - 16 - processtable.MaxName
	e := newCrashing(t, 0)
	start := widestStart(node)
	if err := committed(t, openCrashing(t, e), start); err != nil {
		t.Fatal(err)
	}
	m := openCrashing(t, e)
	found, _, is, err := m.Instance(start.Audit[0].Instance)
	if err != nil || !is || len(found.Sent) != 10_000 || len(found.Output) != 32<<10 {
		t.Errorf("%t, %d sent, %d bytes of output, %v", is, len(found.Sent), len(found.Output), err)
	}
	if err := m.Close(context.Background()); err != nil {
		t.Error(err)
	}
	if report, err := inspect.Verify(e); err != nil || len(report.Problems) > 0 {
		t.Errorf("%v, %v", report.Problems, err)
	}
}

// TestARecordThatTheEngineDoesNotTake: a large transaction with such a record is refused before
// anything of it is on disk. Behind its head it would be refused at each start, for ever.
func TestARecordThatTheEngineDoesNotTake(t *testing.T) {
	e := newCrashing(t, 0)
	start := widestStart(processtable.MaxName)
	m := openCrashing(t, e)
	before := e.records(t)
	if size := m.prepare(start).Size; size <= m.maxBatch || size > commit.MaxLarge {
		t.Fatalf("%d bytes: expected a large transaction", size)
	}
	if err := committed(t, m, start); !errors.Is(err, commit.ErrTooLarge) || errors.Is(err, ErrStopped) {
		t.Errorf("the start: %v", err)
	}
	if !maps.Equal(before, e.records(t)) {
		t.Error("something of it is on disk")
	}
	m = openCrashing(t, e)
	ops := []store.Op{{Key: []byte("m"), Value: make([]byte, e.Bounds().Value+1)}}
	if err := m.commitLarge(ops); !errors.Is(err, store.ErrTooLarge) {
		t.Errorf("commitLarge: %v", err)
	}
	if err := m.Close(context.Background()); err != nil {
		t.Error(err)
	}
	if !maps.Equal(before, e.records(t)) {
		t.Error("something of what commitLarge refuses is on disk")
	}
	if err := openCrashing(t, e).Close(context.Background()); err != nil {
		t.Error(err)
	}
}
