package lane_test

import (
	"bytes"
	"context"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"fmqm/internal/store/memory"
	"fmqm/message"
	"fmqm/queue"
	"fmqm/queue/backup"
	"fmqm/queue/record"
)

// S4: how far a rebuilding has come is written with the messages that it puts, or not at
// all; a restart finds both.
func TestRebuildIsWrittenWithItsMessages(t *testing.T) {
	r := newPair(t)
	if _, begun, err := r.m.Rebuilding("B"); begun || err != nil {
		t.Fatalf("begun %t, %v", begun, err)
	}
	mark := record.Rebuild{
		Peer: "B", Incarnation: store2, Stage: record.StageSending, Restored: true, Floor: [2]uint64{3, 4}, Highest: [2]uint64{5, 6},
		After: uuid.UUID{7}, Part: 8, Messages: 9, Instances: 10,
	}
	put := message.Message{Header: message.Header{
		Queue: message.Queue{Process: procP, Node: "B"}, Instance: uuid.UUID{7}, Origin: "A", Activity: "a", Source: "b",
		Kind: message.KindConnector, Control: message.True,
	}}
	before := r.m.Transmission("B").Last(0).Number
	r.must(submit(r.m, &record.Tx{Put: []message.Message{put}, Rebuild: &mark}))
	put.Activity = "no name"
	later := mark
	later.Part++
	if err := submit(r.m, &record.Tx{Put: []message.Message{put}, Rebuild: &later}); err == nil {
		t.Fatal("a message without a target was put")
	}
	r.close()
	r.open()
	got, begun, err := r.m.Rebuilding("B")
	if !begun || err != nil || got != mark {
		t.Errorf("%t %v %s", begun, err, cmp.Diff(mark, got))
	}
	if all, err := r.m.Rebuilds(); err != nil || !slices.Equal(all, []record.Rebuild{mark}) {
		t.Errorf("all: %+v %v", all, err)
	}
	if last := r.m.Transmission("B").Last(0).Number; last != before+1 {
		t.Errorf("%d messages were put, expected 1", last-before)
	}
}

// L1, S4: a restored store is a new one: nothing of its peers counts as accepted, its
// lanes begin at what it keeps, and it says what the copy had.
func TestRestoreBeginsConversationsAgain(t *testing.T) {
	r := newPair(t)
	accepted, low := r.m.Accepted("B", 0), r.m.Transmission("B").Low(0)
	if recreated, err := r.m.Recreated(); recreated || err != nil {
		t.Fatalf("a store of its own: %t %v", recreated, err)
	}
	var file bytes.Buffer
	_, err := r.m.Backup(&file)
	r.must(err)
	engine, err := memory.NewDisk("A").Open(memory.Options{})
	r.must(err)
	_, err = backup.Restore(&file, engine, nil)
	r.must(err)
	m, err := queue.Open(engine, queue.Options{Node: "A"})
	r.must(err)
	defer func() { r.must(m.Close(context.Background())) }()
	if at := m.Accepted("B", 0); at != (record.Position{}) {
		t.Errorf("%d is accepted", at.Number)
	}
	if began, err := m.Began("B"); err != nil || began[0] != low {
		t.Errorf("its lane begins at %+v, expected %+v (%v)", began[0], low, err)
	}
	store, had, known, err := m.RestoredAccepted("B")
	if !known || err != nil || store != store1 || had[0] != accepted {
		t.Errorf("the copy had %+v of %s (%t, %v), expected %+v", had, store, known, err, accepted)
	}
	if _, _, known, err := m.RestoredAccepted("C"); known || err != nil {
		t.Errorf("of a peer that was never met: %t %v", known, err)
	}
	if recreated, err := m.Recreated(); !recreated || err != nil {
		t.Errorf("a restored store: %t %v", recreated, err)
	}
	r.must(m.BeginAccepted("B", [2]record.Position{{Number: 40}, {}}))
	if parts, err := m.Parts("B", 0, 2); err != nil || len(parts) != 0 {
		t.Errorf("%d parts of the conversation before are kept, %v", len(parts), err)
	}
}
