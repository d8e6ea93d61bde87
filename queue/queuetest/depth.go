package queuetest

import (
	"runtime"
	"testing"
	"time"

	"fmqm/internal/store/storetest"
	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue/record"
)

// messages gives the count of what lies in a process queue, once that is sure.
func (s *site) messages(id processtable.ProcessID) int {
	for !s.DepthExact() {
		s.clock.Advance(time.Minute)
		s.Depth(id) // which begins a count
		runtime.Gosched()
	}
	n, _ := s.Depth(id)
	return n
}

func (s *site) refused() int {
	for {
		if n, counted := s.RefusedCount(); counted {
			return n
		}
		runtime.Gosched()
	}
}

// testDepth: how much lies in each process queue, and how many are refused, is known by what was
// put and removed; what replaces a message adds nothing once all is counted again, or at
// once where the submitter knows, and markers do not count.
func testDepth(t *testing.T, open storetest.Open) {
	s := newSite(t, open)
	want := func(p, q, refused int) {
		t.Helper()
		if gotP, gotQ := s.messages(procP), s.messages(procQ); gotP != p || gotQ != q || s.refused() != refused {
			t.Errorf("%d and %d messages and %d refused, want %d, %d, %d", gotP, gotQ, s.refused(), p, q, refused)
		}
	}
	want(0, 0, 0)
	snapshot := kind(msg("A", 1, "", "b"), message.KindSnapshot)
	notice := kind(msg("A", 1, "b", "sink"), message.KindNotice)
	rec := kind(msg("A", 1, "", "sink"), message.KindRecord)
	other := msg("A", 1, "a", "b")
	other.Queue.Process = procQ
	s.must(put(msg("A", 1, "a", "b"), msg("A", 2, "a", "b"), snapshot, notice, rec, other))
	s.must(put(msg("B", 1, "a", "b"), kind(msg("A", 1, "", ""), message.KindMarker)))
	want(5, 1, 0)

	own := consume(msg("A", 1, "a", "b"), snapshot)
	own.Keys, own.Replaces = nil, []message.Key{snapshot.Key()}
	s.must(&record.Tx{Consume: []record.Consume{own}, Put: []message.Message{snapshot}})
	if n, counted := s.Depth(procP); n != 5 || !counted || !s.DepthExact() {
		t.Errorf("%d messages after one was replaced by who knows it, want 5", n)
	}
	s.must(put(snapshot, notice)) // replaced
	if n, _ := s.Depth(procP); n != 7 || s.DepthExact() {
		t.Errorf("%d messages, and that is said to be exact", n)
	}
	s.must(put(notice, notice))
	want(5, 1, 0)
	s.must(&record.Tx{Consume: []record.Consume{consume(notice, rec)}, Put: []message.Message{notice}})
	want(4, 1, 0)
	s.reopen()
	want(4, 1, 0)

	// Submitted together, so that they share commits.
	results := make(chan error, 40)
	for range 20 {
		for _, tx := range []*record.Tx{put(snapshot), {Refuse: []record.Refused{{Time: noon, Reason: "r"}}}} {
			tx.Done = func(err error) { results <- err }
			s.Submit(tx)
		}
	}
	for range 40 {
		s.check(<-results)
	}
	want(4, 1, 20)
	s.crash()
	want(4, 1, 20)

	// A connector that comes again by an operator's word, or after a store was lost.
	s.must(&record.Tx{Settle: []uint64{1, 2}, Put: []message.Message{msg("A", 1, "a", "b")}})
	want(4, 1, 18)
	s.check(s.NoteRecreated())
	s.must(put(msg("A", 1, "a", "b"), msg("A", 3, "a", "b")))
	want(5, 1, 18)
	s.reopen()
	s.must(put(msg("A", 1, "a", "b"), msg("A", 3, "a", "b")))
	want(5, 1, 18)
	s.must(take(msg("A", 1, "a", "b"), snapshot))
	s.must(take(msg("A", 2, "a", "b")))
	s.must(take(msg("A", 3, "a", "b")))
	s.must(take(notice))
	want(0, 1, 18)
}

// testDepthAfterReplacement: also where a peer has lost its store, a message may come again.
func testDepthAfterReplacement(t *testing.T, open storetest.Open) {
	s := newSite(t, open)
	s.check(s.BindIncarnation("B", record.Incarnation{1}))
	s.check(s.ReplaceIncarnation("B", record.Incarnation{2}))
	for range 2 {
		s.must(put(msg("A", 1, "a", "b")))
		s.must(put(msg("A", 1, "a", "b")))
		if got := s.messages(procP); got != 1 {
			t.Errorf("%d messages, want 1", got)
		}
		s.reopen()
	}
}
