package admission

import (
	"bytes"
	"context"
	"testing"

	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue/record"
)

// What waits for its table keeps the peer that brought it, and is judged as from that one
// when the table comes (N3). Nobody's message takes the place of another's while they wait, and a
// record or a snapshot does not even wait.
func TestWhatWaitsIsJudgedWhenItsTableComes(t *testing.T) {
	for _, order := range []string{"BC", "CB"} {
		t.Run(order, func(t *testing.T) {
			w := newWorld(t, false)
			honest := w.connector()
			honest.Source, honest.Data, honest.Body = "beyond", message.DataNone, nil // of C
			forged := honest
			forged.Control = message.False
			started := w.connector()
			started.Source, started.Origin = processtable.Source, "D" // which may not start it
			rec, snapshot := w.connector(), w.connector()
			rec.Kind, rec.Activity, rec.Control, rec.Data = message.KindRecord, processtable.Sink, 0, 0
			snapshot.Kind, snapshot.Control, snapshot.Data = message.KindSnapshot, 0, 0
			for _, peer := range order {
				if peer == 'C' {
					w.sends("C", honest)
				} else {
					w.sends("B", forged, started, rec, snapshot)
				}
			}
			const never = "B: a message of this kind never leaves its node"
			w.wantAside(never, never)
			if n := w.Queue.ParkedCount(w.table.Process); n != 3 {
				t.Fatalf("%d wait", n)
			}
			w.giveTable("B")
			w.unpark()
			w.wantAside(never, never, "B: activity beyond of two-sites@1 is hosted at C, and the message came from B", "B: it says that its instance was started at D")
			if found := w.stored(honest); len(found) != 1 || found[0].Control != message.True {
				t.Errorf("of the instance there is %v, want what C has sent", found)
			}
			if found := w.stored(started); len(found) != 0 {
				t.Errorf("of the instance that may not be there is %v", found)
			}
		})
	}
}

// Whose message it is, an older version of this program has not noted: an operator decides, unless
// nobody may send it.
func TestWhatNobodyIsKnownToHaveBrought(t *testing.T) {
	w := newWorld(t, false)
	for _, change := range []func(*message.Message){
		func(*message.Message) {},
		func(m *message.Message) { m.Origin = "D" },
		func(m *message.Message) { m.Queue.Node = "B" },
	} {
		m := w.connector()
		change(&m)
		encoded, err := message.Encode(m)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Commit(t.Context(), &record.Tx{Park: []record.Parked{{Process: w.table.Process, Instance: m.Instance, Message: encoded}}}); err != nil {
			t.Fatal(err)
		}
	}
	w.giveTable("B")
	w.unpark()
	w.wantAside(
		": it waited for its table, and an older version of this program did not note who sent it: look at it, and retry it if it may come from the site of there",
		": it says that its instance was started at D", ": it is for node B, and this is A")
}

// More waits than one transaction judges; once the site stops, the rest waits for the next start.
func TestUnparkGoesOnUntilItIsStopped(t *testing.T) {
	w := newWorld(t, false)
	var all []message.Message
	for range unparkLimit + 1 {
		all = append(all, w.connector())
	}
	w.sends("B", all...)
	w.giveTable("B")
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := w.Unpark(ended, w.Process(w.table.Process)); err != nil || w.Queue.ParkedCount(w.table.Process) != len(all) {
		t.Errorf("after the stop %d wait, of %d (%v)", w.Queue.ParkedCount(w.table.Process), len(all), err)
	}
	told := len(w.taken)
	w.unpark()
	if got := len(w.taken) - told; got != 2 {
		t.Errorf("the site is told of %d transactions, want 2", got)
	}
	for _, m := range all {
		if len(w.stored(m)) != 1 {
			t.Fatal("a message that waited is not there")
		}
	}
}

// What waited is judged beside what a link brings at the same moment: while that puts a connector,
// all of it is judged again after that.
func TestWhatWaitedGivesWayToWhatIsBeingPut(t *testing.T) {
	w := newWorld(t, false)
	m := w.connector()
	w.sends("B", m)
	w.giveTable("B")
	other := w.begin(&record.Tx{})
	if _, _, err := other.claim(arrivalOf(&m)); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- w.Unpark(t.Context(), w.Process(w.table.Process)) }()
	first := w.other(m)
	if err := w.Commit(t.Context(), &record.Tx{Put: []message.Message{first}}); err != nil {
		t.Fatal(err)
	}
	other.end()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	w.wantAside(saidBefore)
	if found := w.stored(m); len(found) != 1 || !bytes.Equal(found[0].Body, first.Body) {
		t.Errorf("the store has %+v, want what was being put", found)
	}
}
