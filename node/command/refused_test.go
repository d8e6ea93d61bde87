package command

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/rs/zerolog"

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
	done := task.NewAnswer[error](task.Goroutines{})
	tx.Done = done.Give
	u.queue.Submit(tx)
	err, _, gone := done.Wait(ctx)
	return errors.Join(err, gone)
}

func (u *uploading) Settled(*record.Tx, message.InstanceID) {}

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

// Invariant 11: what an operator delivers again is held against the table also where that comes at
// the same moment.
func TestATableThatComesWhileARefusedMessageIsJudged(t *testing.T) {
	engine, err := memory.NewDisk("A").Open(memory.Options{})
	if err != nil {
		t.Fatal(err)
	}
	q, err := queue.Open(engine, queue.Options{Node: "A", Scheduler: task.Goroutines{}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := q.Close(context.Background()); err != nil {
			t.Error(err)
		}
	}()
	u := &uploading{t: t, queue: q, table: definitiontest.TablesOf(t, `
process: p
version: 1
activities:
  a: {node: A, program: x}
`, definition.CompileOptions{})["A"]}
	c := New(Options{Self: "A", Site: u, Queue: q, Scheduler: task.Goroutines{}, Log: zerolog.Nop()})
	m := message.Message{Header: message.Header{
		Queue: message.Queue{Process: u.table.Process, Node: "A"}, Instance: uuid.Must(uuid.NewV7()), Origin: "A",
		Kind: message.KindMarker, Lane: message.LaneControl,
	}, Body: message.EncodeMarker(message.Marker{Reason: "enough"})}
	encoded, err := message.Encode(m)
	if err != nil {
		t.Fatal(err)
	}
	if err := u.Commit(t.Context(), &record.Tx{Refuse: []record.Refused{{Peer: "B", Reason: "a test", Message: encoded}}}); err != nil {
		t.Fatal(err)
	}
	if d, err := c.RetryRefused(t.Context(), 1); err == nil || !strings.Contains(err.Error(), "message 1 cannot take effect: B may not send it") {
		t.Errorf("%+v, %v", d, err)
	}
	if there, err := q.Marker(u.table.Process, m.Instance); there != nil || err != nil {
		t.Errorf("it is put: %+v, %v", there, err)
	}
}
