package queuetest

import (
	"fmt"
	"slices"
	"testing"

	"fmqm/internal/store/storetest"
	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue/record"
)

// testManyBodies: bodies that are each small enough to stay with their records, and
// together more than one commit of the engine, are staged.
func testManyBodies(t *testing.T, open storetest.Open) {
	s := newSite(t, open)
	const each = 1000
	var here, there []message.Message
	for i := range each {
		target := processtable.ActivityID(fmt.Sprintf("b%d", i))
		here = append(here, msg("A", 1, "a", target, noise(20<<10, byte(i))...))
		there = append(there, msg("B", 1, "a", target, noise(20<<10, byte(i+1))...))
	}
	control := msg("B", 1, "a", "control_only")
	first := msg("A", 1, "source", "a")
	s.must(put(first))
	s.must(&record.Tx{
		Consume: []record.Consume{consume(first)},
		Put:     append(append(append([]message.Message{}, here...), there...), control),
	})
	if got := s.bodies(); got != fmt.Sprintf("%d bodies, %d chunks", 2*each, 2*each) {
		t.Errorf("%s, want one for each message with a body", got)
	}
	s.crash()
	s.wantStored(first.Entry())
	s.wantStored(here[0].Entry(), here[0])
	s.wantStored(here[each-1].Entry(), here[each-1])
	items := s.items("B", message.LaneData)
	if len(items) != each+1 {
		t.Fatalf("%d messages wait for B, want %d", len(items), each+1)
	}
	piece, err := record.Unpack(items[each-1].Payload)
	if err != nil {
		t.Fatal(err)
	}
	got, err := message.Decode(piece.Data)
	if err != nil {
		t.Fatal(err)
	}
	sameMessages(t, []message.Message{got}, there[each-1:])
	for some := range slices.Chunk(here, 250) {
		tx := &record.Tx{}
		for _, m := range some {
			tx.Consume = append(tx.Consume, consume(m))
		}
		s.must(tx)
	}
	s.Transmission("B").Trim(message.LaneData, each+1)
	s.must(put(first)) // a trim goes with a commit
	if got := s.bodies(); got != none {
		t.Errorf("%s after all were taken and trimmed", got)
	}
}

// testBrowseBytes: a browse gives entries until their bodies have 4 MiB together, also
// where that is fewer than were asked for, and one at least.
func testBrowseBytes(t *testing.T, open storetest.Open) {
	s := newSite(t, open)
	for i := range 10 {
		s.must(put(msg("A", i, "a", "b", noise(1<<20, byte(i))...)))
	}
	s.must(put(msg("A", 10, "a", "b", noise(message.MaxBody, 1)...), msg("A", 10, "a", "c", 1)))
	var sizes []int
	var after message.Entry
	for more := true; more; {
		var found []record.EntryMessages
		var err error
		if found, more, err = s.BrowseFrom(procP, after, 256); err != nil {
			t.Fatal(err)
		}
		sizes = append(sizes, len(found))
		after = found[len(found)-1].Entry
	}
	if got, want := fmt.Sprint(sizes), "[4 4 3 1]"; got != want {
		t.Errorf("browsed %s entries at once, want %s", got, want)
	}
}
