package queuetest

import (
	"bytes"
	"slices"
	"testing"

	"fmqm/internal/store/storetest"
	"fmqm/message"
	"fmqm/queue/backup"
	"fmqm/queue/record"
)

// testArrivals (N11): what was put first has the lower arrival number, whatever the order of its
// key. Who took a message reads it with the same number later, after a restart and in a restored
// store; what comes there afterwards has higher ones.
func testArrivals(t *testing.T, open storetest.Open) {
	s := newSite(t, open)
	mb := s.Mailbox(procP)
	numbered := func(n uint64) message.Message {
		m := msg("A", 1, "b", "x")
		m.Number, m.SourceScope = n, "x[3]#1"
		return m
	}
	large := msg("A", 1, "a", "x", noise(100_000, 1)...)
	put := [][]message.Message{{numbered(2), numbered(1 << 40)}, {msg("A", 1, "c", "x")}, {large}, {numbered(1)}}
	var inOrder []message.Message
	for _, p := range put {
		s.must(&record.Tx{Put: p})
		inOrder = append(inOrder, p...)
	}
	var delivered []message.Message
	for _, d := range next(mb) {
		delivered = append(delivered, d.Messages...)
	}
	arrivals := arrivalsOf(t, delivered)
	sameMessages(t, delivered, inOrder)
	stays := func(when string) []message.Message {
		t.Helper()
		found := s.stored(entry(1, "x"))
		slices.SortFunc(found, func(a, b message.Message) int { return a.Arrival.Compare(b.Arrival) })
		if len(found) < len(arrivals) || !slices.Equal(arrivalsOf(t, found)[:len(arrivals)], arrivals) {
			t.Errorf("%s: the messages came as %v, want %v", when, arrivalsOf(t, found), arrivals)
		}
		sameMessages(t, found[:len(inOrder)], inOrder)
		return found
	}
	stays("at once")
	s.crash()
	stays("after a restart")
	for _, restored := range []string{"restored", "restored of a restored one"} {
		var file bytes.Buffer
		if _, err := s.Backup(&file); err != nil {
			t.Fatal(err)
		}
		s.copied(&file)
		stays(restored)
		next := msg("A", 1, "last", "x")
		next.Number = uint64(len(inOrder))
		s.must(&record.Tx{Put: []message.Message{next}})
		inOrder = append(inOrder, next)
		arrivals = arrivalsOf(t, stays("after one more was "+restored))
	}
}

// arrivalsOf gives when messages came; each after the one before.
func arrivalsOf(t *testing.T, messages []message.Message) (at []message.Arrival) {
	t.Helper()
	for i := range messages {
		if at = append(at, messages[i].Arrival); i > 0 && at[i].Compare(at[i-1]) <= 0 || at[i] == (message.Arrival{}) {
			t.Fatalf("message %d came as %v", i, at)
		}
	}
	return at
}

// copied has the site go on with a store that is restored from a backup.
func (s *site) copied(file *bytes.Buffer) {
	s.Helper()
	if err := s.Close(s.Context()); err != nil {
		s.Fatal(err)
	}
	s.dir = s.TempDir()
	engine, err := s.open(s.dir)
	if err != nil {
		s.Fatal(err)
	}
	if _, err := backup.Restore(file, engine, nil); err != nil {
		s.Fatal(err)
	}
	if err := engine.Close(); err != nil {
		s.Fatal(err)
	}
	s.start()
}
