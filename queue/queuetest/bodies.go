package queuetest

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"fmqm/internal/store"
	"fmqm/internal/store/storetest"
	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue"
	"fmqm/queue/record"
)

const none = "0 bodies, 0 chunks"

// testLargeBodies: a body of any size comes back, here and for a peer, and goes
// without a trace when its message goes.
func testLargeBodies(t *testing.T, open storetest.Open) {
	s := newSite(t, open)
	for _, tc := range []struct {
		size   int
		bodies string
	}{
		{32 << 10, none},
		{32<<10 + 1, "1 bodies, 1 chunks"},
		{256 << 10, "1 bodies, 1 chunks"},
		{1 << 20, "1 bodies, 4 chunks"},
		{message.MaxBody, "1 bodies, 32 chunks"},
	} {
		t.Run(fmt.Sprint(tc.size), func(t *testing.T) {
			m := msg("A", 1, "a", "b", noise(tc.size, 1)...)
			s.must(put(m))
			for range 2 {
				s.wantStored(m.Entry(), m)
				if got := s.bodies(); got != tc.bodies {
					t.Errorf("%s, want %s", got, tc.bodies)
				}
				s.crash()
			}
			// Replaced: by a small one, and by another large one in one group with it.
			small := m
			small.Body = []byte{1}
			s.must(put(m, small))
			s.wantStored(m.Entry(), small)
			if got := s.bodies(); got != none {
				t.Errorf("%s after it was replaced by a small one", got)
			}
			other := m
			other.Body = noise(tc.size, 2)
			s.must(put(m, other))
			s.wantStored(m.Entry(), other)
			if got := s.bodies(); got != tc.bodies {
				t.Errorf("%s after two of one key, want %s", got, tc.bodies)
			}
			s.must(take(m))
			s.wantStored(m.Entry())
			if got := s.bodies(); got != none {
				t.Errorf("%s after it was taken", got)
			}
		})
	}
	mb := s.Mailbox(procP)
	m := msg("A", 1, "a", "b", noise(1<<20, 3)...)
	s.must(put(m))
	sameMessages(t, next(mb)[0].Messages, []message.Message{m})
}

// testRefusedBodies: chunks that were written for a transaction that is refused
// afterwards go again.
func testRefusedBodies(t *testing.T, open storetest.Open) {
	s := newSite(t, open)
	// Many large bodies to remove at once: their removals do not fit one commit.
	var messages []message.Message
	for i := range 900 {
		messages = append(messages, msg("A", 1, processtable.ActivityID(fmt.Sprintf("a%d", i)), "b", noise(33<<10, byte(i))...))
	}
	for part := range slices.Chunk(messages, 100) {
		s.must(put(part...))
	}
	before := s.dump()
	tx := take(messages...)
	for i := range 60 {
		tx.Put = append(tx.Put, msg("A", 2, processtable.ActivityID(fmt.Sprintf("a%d", i)), "b", noise(32<<10, 1)...))
	}
	tx.Put = append(tx.Put, msg("A", 3, "a", "b", noise(100_000, 1)...))
	if err := s.try(tx); err == nil {
		s.wantStored(messages[0].Entry())
		return // the engine's transactions are large enough
	}
	if after := s.dump(); after != before {
		t.Errorf("a refused transaction left something behind")
	}
	if got := s.bodies(); got != "900 bodies, 900 chunks" {
		t.Errorf("%s, want those of 900 messages", got)
	}
	s.must(take(messages[:450]...))
	s.must(take(messages[450:]...))
	if got := s.bodies(); got != none {
		t.Errorf("%s after all were taken", got)
	}
}

// dropNaming fails the commit that names a staged body, as a crash before it would.
type dropNaming struct {
	store.Engine
	stage func(*store.Batch) bool // says whether the batch only stages
}

func (e *dropNaming) Commit(version uint64, b *store.Batch) error {
	if !e.stage(b) {
		return fmt.Errorf("the disk is gone")
	}
	return e.Engine.Commit(version, b)
}

// testSweep: the node stops between the chunks and the transaction that names them.
func testSweep(t *testing.T, open storetest.Open) {
	s := newSite(t, open)
	kept := msg("A", 1, "a", "b", noise(100_000, 1)...)
	s.must(put(kept))
	if err := s.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	engine, err := open(s.dir)
	if err != nil {
		t.Fatal(err)
	}
	staged := 0
	cut := &dropNaming{Engine: engine, stage: func(b *store.Batch) bool {
		for _, op := range b.Ops {
			if op.Key[0] != 'b' && op.Key[0] != 'c' {
				return false
			}
			staged++
		}
		return true
	}}
	m, err := queue.Open(cut, s.options)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	m.Submit(&record.Tx{Put: []message.Message{msg("A", 2, "a", "b", noise(message.MaxBody, 2)...)}, Done: func(err error) { done <- err }})
	if err := <-done; err == nil || staged == 0 {
		t.Fatalf("the transaction ended with %v after %d chunks", err, staged)
	}
	if err := m.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.start()
	if got := s.bodies(); got != "1 bodies, 1 chunks" {
		t.Errorf("%s, want those of the message that is there", got)
	}
	s.wantStored(kept.Entry(), kept)
	s.wantStored(entry(2, "b"))
	again := msg("A", 3, "a", "b", noise(500_000, 3)...) // its chunks take no other's place
	s.must(put(again))
	s.wantStored(again.Entry(), again)
	s.wantStored(kept.Entry(), kept)
}

func testLargeElsewhere(t *testing.T, open storetest.Open) {
	s := newSite(t, open)
	table, output := noise(processtable.MaxEncoded, 1), noise(1<<20, 2)
	rec := record.AuditRecord{
		Instance: instance(1), Activity: "b", Event: record.EventTerminated, Output: output,
		Sent: []record.Sent{{Target: "c", Node: "A"}},
	}
	s.must(&record.Tx{
		Tables: []record.TableRecord{{Process: procP, Definition: defP, Encoded: table}},
		Audit:  []record.AuditRecord{rec},
	})
	for range 2 {
		encoded, _, found, err := s.Table(procP)
		if err != nil || !found || !bytes.Equal(encoded, table) {
			t.Errorf("table of %d bytes, %v, %v", len(encoded), found, err)
		}
		ended, found, err := s.Ended(entry(1, "b"))
		if err != nil || !found || !bytes.Equal(ended.Output, output) || len(ended.Sent) != 1 {
			t.Errorf("audit record with %d bytes and %v, %v, %v", len(ended.Output), ended.Sent, found, err)
		}
		s.crash()
	}
}
