package command

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"fmqm/api"
	"fmqm/behaviour"
	"fmqm/definition"
	"fmqm/definition/definitiontest"
	"fmqm/internal/store/memory"
	"fmqm/internal/task"
	"fmqm/message"
	"fmqm/navigator"
	"fmqm/node/tables"
	"fmqm/processtable"
	"fmqm/queue"
	"fmqm/queue/record"
)

// uploading is a site that takes a table up at the moment at which a refused message is judged.
type uploading struct {
	Site  // nothing else of it is used
	t     *testing.T
	queue *queue.Manager
	table *processtable.Table
	up    behaviour.Process
}

func (u *uploading) Process(processtable.ProcessID) behaviour.Process { return u.up }

func (u *uploading) Commit(ctx context.Context, tx *record.Tx) error {
	return commitTo(ctx, u.queue, tx)
}

func commitTo(ctx context.Context, q *queue.Manager, tx *record.Tx) error {
	done := task.NewAnswer[error](task.Goroutines{})
	tx.Done = done.Give
	q.Submit(tx)
	err, _, gone := done.Wait(ctx)
	return errors.Join(err, gone)
}

func (u *uploading) Stored(*record.Tx, message.InstanceID) {}

func (u *uploading) Misplaced(processtable.NodeID, *message.Message) (string, error) {
	if u.up != nil {
		return "B may not send it", nil
	}
	p, err := navigator.Prepare(u.table, nil)
	if err != nil {
		u.t.Fatal(err)
	}
	encoded, err := processtable.Encode(u.table)
	if err != nil {
		u.t.Fatal(err)
	}
	if err := u.Commit(u.t.Context(), &record.Tx{Tables: []record.TableRecord{tables.Record(p, encoded)}}); err != nil {
		u.t.Fatal(err)
	}
	u.up = p
	return "", nil // there was none to judge it by
}

func queueOf(t *testing.T, o memory.Options, by task.Scheduler) *queue.Manager {
	t.Helper()
	engine, err := memory.NewDisk("A").Open(o)
	if err != nil {
		t.Fatal(err)
	}
	q, err := queue.Open(engine, queue.Options{Node: "A", Scheduler: by})
	if err != nil {
		t.Fatal(err)
	}
	return q
}

func openQueue(t *testing.T) *queue.Manager {
	t.Helper()
	q := queueOf(t, memory.Options{}, task.Goroutines{})
	t.Cleanup(func() {
		if err := q.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return q
}

func tableOf(t *testing.T) *processtable.Table {
	t.Helper()
	return definitiontest.TablesOf(t, `
process: p
version: 1
activities:
  a: {node: A, program: x}
`, definition.CompileOptions{})["A"]
}

// markerOf is a marker for the instance of all stories, encoded.
func markerOf(t *testing.T, id processtable.ProcessID) []byte {
	t.Helper()
	encoded, err := message.Encode(message.Message{Header: message.Header{
		Queue: message.Queue{Process: id, Node: "A"}, Instance: instance, Origin: "A", Kind: message.KindMarker, Lane: message.LaneControl,
	}, Body: message.EncodeMarker(message.Marker{Reason: "enough"})})
	if err != nil {
		t.Fatal(err)
	}
	return encoded
}

// Invariant 11: what an operator delivers again is held against the table also where that comes at
// the same moment.
func TestATableThatComesWhileARefusedMessageIsJudged(t *testing.T) {
	q := openQueue(t)
	u := &uploading{t: t, queue: q, table: tableOf(t)}
	c := New(Options{Self: "A", Site: u, Queue: q, Scheduler: task.Goroutines{}, Log: zerolog.Nop()})
	if err := u.Commit(t.Context(), &record.Tx{Refuse: []record.Refused{{Peer: "B", Reason: "a test", Message: markerOf(t, u.table.Process)}}}); err != nil {
		t.Fatal(err)
	}
	if d, err := c.RetryRefused(t.Context(), 1); err == nil || !strings.Contains(err.Error(), "message 1 cannot take effect: B may not send it") {
		t.Errorf("%+v, %v", d, err)
	}
	if there, err := q.Marker(u.table.Process, instance); there != nil || err != nil {
		t.Errorf("it is put: %+v, %v", there, err)
	}
}

// What tells a block of an error comes from other sites too: a process thread may have set it aside, and it is
// put again. What begins never does.
func TestRefusedReturn(t *testing.T) {
	q := openQueue(t)
	u := &uploading{t: t, queue: q, table: tableOf(t)}
	if _, err := u.Misplaced("", nil); err != nil { // takes up the table
		t.Fatal(err)
	}
	c := New(Options{Self: "A", Site: u, Queue: q, Scheduler: task.Goroutines{}, Log: zerolog.Nop()})
	for i, tc := range []struct {
		kind      message.Kind
		in, scope message.Scope
		want      string
	}{
		{message.KindReturn, "b#1", "", "it is in the queue of p@1 again"},
		{message.KindCancel, "", "b#1", "it is in the queue of p@1 again"},
		{message.KindBegin, "", "b#1", "a message of this kind never leaves its node"},
	} {
		encoded, err := message.Encode(message.Message{Header: message.Header{
			Queue: message.Queue{Process: u.table.Process, Node: "A"}, Instance: instance, Origin: "A", Kind: tc.kind, Source: "x", SourceScope: tc.in, Activity: "b", Scope: tc.scope,
		}, Body: []byte{1}})
		if err != nil {
			t.Fatal(err)
		}
		if err := u.Commit(t.Context(), &record.Tx{Refuse: []record.Refused{{From: "M", Reason: "a test", Message: encoded}}}); err != nil {
			t.Fatal(err)
		}
		d, err := c.RetryRefused(t.Context(), uint64(i+1))
		if got := fmt.Sprint(d.Text, err); !strings.Contains(got, tc.want) {
			t.Errorf("%s: %s, want %s", tc.kind, got, tc.want)
		}
	}
}

// leaving is a site whose operator leaves when the transaction that he wants is submitted.
type leaving struct {
	Site    // nothing else of it is used
	queue   *queue.Manager
	leave   context.CancelFunc
	up      behaviour.Process
	settled []uint64
}

func (l *leaving) Commit(ctx context.Context, tx *record.Tx) error {
	l.leave()
	return commitTo(ctx, l.queue, tx)
}

func (l *leaving) Stored(tx *record.Tx, _ message.InstanceID) { l.settled = tx.Settle }

// everyTable takes every table for the site.
type everyTable struct{ *leaving }

func (everyTable) Judge(encoded []byte, _ bool) (behaviour.Process, bool, error) {
	table, err := processtable.Decode(encoded)
	if err != nil {
		return nil, false, err
	}
	p, err := navigator.Prepare(table, nil)
	return p, err == nil, err
}

func (e everyTable) Install(p behaviour.Process) { e.up = p }

func (everyTable) NowCurrent(...processtable.ProcessID) {}

// What an operator has decided about a refused message is done to its end, also where he does not
// wait for that: a table that is stored is taken up.
func TestAnOperatorLeavesWhileARefusedTableIsStored(t *testing.T) {
	table := tableOf(t)
	encoded, err := processtable.Encode(table)
	if err != nil {
		t.Fatal(err)
	}
	m := message.Message{Header: message.Header{Queue: message.Queue{Process: table.Process, Node: "A"}, Kind: message.KindTable}, Body: encoded}
	aside, err := message.Encode(m)
	if err != nil {
		t.Fatal(err)
	}
	q := openQueue(t)
	if err := commitTo(t.Context(), q, &record.Tx{Refuse: []record.Refused{{Peer: "B", Reason: "a test", Message: aside}}}); err != nil {
		t.Fatal(err)
	}
	ctx, leave := context.WithCancel(t.Context())
	l := &leaving{queue: q, leave: leave}
	c := New(Options{Self: "A", Site: l, Tables: everyTable{l}, Queue: q, Scheduler: task.Goroutines{}, Log: zerolog.Nop()})
	d, err := c.RetryRefused(ctx, 1)
	if _, stored := q.Bound(table.Process); !stored || l.up == nil || len(l.settled) != 1 {
		t.Errorf("stored %t, taken up: %v, told of %v; %+v, %v", stored, l.up, l.settled, d, err)
	}
}

// late is a site that takes up a table ten seconds after it is on disk.
type late struct {
	Site   // nothing else of it is used
	world  *task.World
	by     task.Scheduler
	queue  *queue.Manager
	table  behaviour.Process
	judged int
}

func (l *late) Process(processtable.ProcessID) behaviour.Process {
	if l.world.Elapsed() < 10*time.Second {
		return nil
	}
	return l.table
}

func (l *late) Commit(ctx context.Context, tx *record.Tx) error {
	done := task.NewAnswer[error](l.by)
	tx.Done = done.Give
	l.queue.Submit(tx)
	err, _, gone := done.Wait(ctx)
	return errors.Join(err, gone)
}

func (l *late) Stored(*record.Tx, message.InstanceID) {}

func (l *late) Misplaced(processtable.NodeID, *message.Message) (string, error) {
	l.judged++
	return "", nil
}

// A message is delivered again while the table of its process is on disk and not taken up yet: it is
// judged again until it is, which costs next to nothing however long that takes.
func TestARefusedMessageWaitsForATableToBeTakenUp(t *testing.T) {
	world := task.NewWorld(1, time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC))
	table := tableOf(t)
	p, err := navigator.Prepare(table, nil)
	if err != nil {
		t.Fatal(err)
	}
	encoded, err := processtable.Encode(table)
	if err != nil {
		t.Fatal(err)
	}
	const looks = 300
	l, ended := &late{world: world, by: world.NewSite(0), table: p}, false
	l.by.Go(func() {
		defer func() { ended = true }()
		l.queue = queueOf(t, memory.Options{By: l.by}, l.by)
		m := markerOf(t, table.Process)
		must := func(err error) {
			if err != nil {
				t.Error(err)
			}
		}
		must(l.Commit(context.Background(), &record.Tx{
			Tables: []record.TableRecord{tables.Record(p, encoded)}, Refuse: []record.Refused{{Peer: "B", Reason: "a test", Message: m}},
		}))
		c := New(Options{Self: "A", Site: l, Queue: l.queue, Scheduler: l.by, Log: zerolog.Nop()})
		d, err := c.RetryRefused(context.Background(), 1)
		must(err)
		if d.Done != api.RefusedDelivered || world.Elapsed() < 10*time.Second {
			t.Errorf("%+v, after %v", d, world.Elapsed())
		}
		must(l.queue.Close(context.Background()))
	})
	for !ended && l.judged < looks && world.Step() {
	}
	if !ended || l.judged < 2 {
		t.Errorf("ended %t, judged %d times in %v; %v", ended, l.judged, world.Elapsed(), world.Failure())
	}
}
