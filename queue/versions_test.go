package queue

import (
	"context"
	"errors"
	"testing"
	"time"

	"fmqm/internal/store/memory"
	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue/commit"
	"fmqm/queue/record"
)

// N31: final words, who is written off, and tombstones outlive a restart. What lies in the queue of a version whose table was removed does not
// wait for that table then: it is taken out, and a marker stays.
func TestTombstonesOutliveARestart(t *testing.T) {
	disk := memory.NewDisk("A")
	var m *Manager
	reopen := func() {
		t.Helper()
		if m != nil {
			if err := m.Close(context.Background()); err != nil {
				t.Fatal(err)
			}
		}
		engine, err := disk.Open(memory.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if m, err = Open(engine, Options{Node: "A"}); err != nil {
			t.Fatal(err)
		}
		if err := m.ParkOld(); err != nil {
			t.Fatal(err)
		}
	}
	does := func(tx *record.Tx) error { return m.await(m.prepare(tx)) }
	must := func(tx *record.Tx) {
		t.Helper()
		if err := does(tx); err != nil {
			t.Fatal(err)
		}
	}
	reopen()
	id, hash := processtable.ProcessID{Name: "p", Version: 1}, processtable.DefinitionHash{1}
	late := message.Message{Header: message.Header{
		Queue: message.Queue{Process: id, Node: "A"}, Instance: message.InstanceID{6: 0x70, 8: 0x80}, Origin: "A", Definition: hash.Short(),
		Activity: "x", Source: "y", Kind: message.KindConnector, Control: message.True, Data: message.DataNone, Lane: message.LaneData,
	}}
	must(&record.Tx{Tables: []record.TableRecord{{Process: id, Definition: hash, Encoded: make([]byte, 1<<20), Pending: true}}})
	must(&record.Tx{Final: []record.Final{{Process: id, Node: "A", Store: m.Incarnation()}, {Process: id, Node: "B", Store: record.Incarnation{2}}}})

	off := record.WriteOff{Process: id, Node: "B", Store: record.Incarnation{2}, By: "alice at A", Why: "closed", Time: time.Unix(6, 0).UTC()}
	gone, back := off, off
	gone.Node, back.Node, back.Undo = "C", "C", true
	must(&record.Tx{Without: []record.WriteOff{off, gone}})
	must(&record.Tx{Without: []record.WriteOff{back}})

	before, rest, err := m.AtRest(id)
	if err != nil || !rest {
		t.Fatalf("at rest %t, %v", rest, err)
	}
	must(&record.Tx{Put: []message.Message{late}})
	stone := record.Tombstone{Process: id, Definition: hash, Time: time.Unix(5, 0).UTC(), Nodes: []processtable.NodeID{"A", "B"}}
	if err := does(&record.Tx{Quiet: []record.Quiet{before}, Remove: []record.Tombstone{stone}}); !errors.Is(err, commit.ErrStale) {
		t.Errorf("removed though something has come: %v", err)
	}
	if _, rest, err := m.AtRest(id); err != nil || rest {
		t.Errorf("at rest %t, %v, though something has come", rest, err)
	}
	other := stone
	other.Definition = processtable.DefinitionHash{2}
	if err := does(&record.Tx{Remove: []record.Tombstone{other}}); err == nil {
		t.Error("a table of another definition is removed")
	}
	must(&record.Tx{Remove: []record.Tombstone{stone}})
	if err := does(&record.Tx{Remove: []record.Tombstone{stone}}); err == nil {
		t.Error("it is removed twice")
	}
	for _, when := range []string{"at once", "after a restart"} {
		if when == "after a restart" {
			reopen()
		}
		got, gone := m.Tombstone(id)
		finals := m.Finals(id)
		_, bound := m.Bound(id)
		if !gone || bound || m.IsPending(id) || got.Definition != hash || !got.Time.Equal(stone.Time) || len(got.Nodes) != 2 || finals["A"] != m.Incarnation() || finals["B"] != (record.Incarnation{2}) {
			t.Errorf("%s: bound %t, tombstone %+v, final words %v", when, bound, got, finals)
		}
		if all := m.Without(id); len(all) != 1 || all["B"] != off {
			t.Errorf("%s: written off %+v", when, all)
		}
		if encoded, _, found, err := m.Table(id); found || err != nil {
			t.Errorf("%s: its table has %d bytes, %v", when, len(encoded), err)
		}
		if n := m.ParkedCount(id); n != 0 {
			t.Errorf("%s: %d messages wait for its table", when, n)
		}
		start := record.AuditRecord{Time: time.Unix(1, 0), Process: id, Instance: message.InstanceID{6: 0x70, 8: 0x80, 15: 3}, Origin: "A", Activity: processtable.Source, Event: record.EventStarted}
		if err := does(&record.Tx{Audit: []record.AuditRecord{start}}); !errors.Is(err, commit.ErrClosed) {
			t.Errorf("%s: a start: %v", when, err)
		}
		tx, messages, err := m.Absorb(id)
		if err != nil || messages != 1 {
			t.Fatalf("%s: %d messages came late, %v", when, messages, err)
		}
		must(tx)
		if tx, _, err := m.Absorb(id); tx != nil || err != nil {
			t.Errorf("%s: something is left: %v", when, err)
		}
		must(&record.Tx{Put: []message.Message{late}})
	}
	if err := m.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
}
