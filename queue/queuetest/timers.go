package queuetest

import (
	"testing"
	"time"

	"fmqm/internal/store/storetest"
	"fmqm/message"
	"fmqm/queue"
)

func timer(after time.Duration, e message.Entry) queue.Timer {
	return queue.Timer{Due: noon.Add(after), Process: procP, Entry: e}
}

// cancel takes a timer away.
func cancel(t queue.Timer) *queue.Tx {
	return &queue.Tx{Consume: []queue.Consume{{Process: t.Process, Entry: t.Entry, Due: t.Due}}}
}

// wantArmed checks that the nearest timer, and nothing else, is waited for.
func (s *site) wantArmed(after ...time.Duration) {
	s.Helper()
	armed := s.clock.Armed()
	ok := len(armed) == len(after)
	for i := range after {
		ok = ok && armed[i].Equal(noon.Add(after[i]))
	}
	if !ok {
		s.Errorf("it waits for %v, want %v after %v", armed, after, noon)
	}
}

func wantDue(t testing.TB, got []queue.Delivery, want ...queue.Timer) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("deliveries %v, want timers of %v", got, want)
	}
	for i := range got {
		if got[i].Entry != want[i].Entry || max(0, got[i].Due.Unix()) != max(0, want[i].Due.Unix()) || len(got[i].Messages) != 0 {
			t.Errorf("delivery %v, want a timer of %v", got[i], want[i])
		}
	}
}

// testTimers: a timer wakes its entry when it is due, once, and not after it was
// taken; only the nearest is waited for.
func testTimers(t *testing.T, open storetest.Open) {
	s := newSite(t, open)
	mb := s.Mailbox(procP)
	later, sooner, never := timer(40*time.Second, entry(1, "a")), timer(10*time.Second, entry(2, "b")), timer(50*time.Second, entry(3, "c"))
	s.must(&queue.Tx{Timers: []queue.Timer{later}})
	s.wantArmed(40 * time.Second)
	s.must(&queue.Tx{Timers: []queue.Timer{sooner, never}})
	s.wantArmed(10 * time.Second)
	s.clock.Advance(10*time.Second - 1)
	if got := mb.Take(10); len(got) != 0 {
		t.Errorf("woken before it is due: %v", got)
	}
	s.clock.Advance(1)
	wantDue(t, next(mb), sooner)
	s.must(cancel(never))
	// A message and a timer of one entry are two deliveries.
	m := msg("A", 1, "x", "a")
	s.must(put(m))
	s.clock.Advance(30 * time.Second)
	var got []queue.Delivery
	for len(got) < 2 {
		got = append(got, next(mb)...)
	}
	sameMessages(t, got[0].Messages, []message.Message{m})
	wantDue(t, got[1:], later)
	s.must(cancel(sooner)) // a due timer makes nothing stale
	s.must(cancel(later))
	s.clock.Advance(24 * time.Hour)
	if got := mb.Take(10); len(got) != 0 {
		t.Errorf("woken for what was taken: %v", got)
	}
	if n := s.keys()["d"]; n != 0 {
		t.Errorf("%d timers are left", n)
	}
}

// testTimersAfterRestart: what was not consumed wakes again, and what fell due while
// the node was down wakes at once.
func testTimersAfterRestart(t *testing.T, open storetest.Open) {
	s := newSite(t, open)
	first, second, third := timer(10*time.Second, entry(1, "a")), timer(30*time.Second, entry(2, "a")), timer(50*time.Second, entry(3, "a"))
	s.must(&queue.Tx{Timers: []queue.Timer{first, second, third}})
	s.clock.Advance(10 * time.Second)
	wantDue(t, next(s.Mailbox(procP)), first) // also to a mailbox that was asked for after it
	s.clock.Advance(20 * time.Second)
	s.crash()
	mb := s.Mailbox(procP)
	var got []queue.Delivery
	for len(got) < 2 {
		got = append(got, next(mb)...)
	}
	wantDue(t, got, first, second)
	s.must(cancel(first))
	s.must(cancel(second))
	s.clock.Advance(20 * time.Second)
	wantDue(t, next(mb), third)
}

func testTimersInThePast(t *testing.T, open storetest.Open) {
	s := newSite(t, open)
	mb := s.Mailbox(procP)
	for i, after := range []time.Duration{-time.Hour, 0, -time.Second, -200 * 365 * 24 * time.Hour} {
		due := timer(after, entry(i, "a"))
		s.must(&queue.Tx{Timers: []queue.Timer{due}})
		wantDue(t, next(mb), due)
		s.must(cancel(due))
		s.clock.Advance(time.Minute)
	}
	if got := mb.Take(10); len(got) != 0 {
		t.Errorf("woken twice: %v", got)
	}
	if n := s.keys()["d"]; n != 0 {
		t.Errorf("%d timers are left", n)
	}
}

// testTimersAndCongestion: a great many timers at one moment do not fill the memory:
// they wake as the mailboxes are emptied.
func testTimersAndCongestion(t *testing.T, open storetest.Open) {
	s := newSite(t, open, func(o *queue.Options) { o.DirtyLimit = 5 })
	const count = 23
	tx := &queue.Tx{}
	for n := range count {
		tx.Timers = append(tx.Timers, timer(time.Minute, entry(n, "a")))
	}
	s.must(tx)
	mb := s.Mailbox(procP)
	s.clock.Advance(time.Minute)
	seen := map[message.Entry]int{}
	for len(seen) < count {
		rung(mb.Wake())
		if n := s.Stats().Dirty; n > 5 {
			t.Errorf("%d entries are in the mailbox, at most 5", n)
		}
		for _, d := range mb.Take(3) {
			seen[d.Entry]++
		}
	}
	for e, n := range seen {
		if n != 1 {
			t.Errorf("timer of %v woke %d times", e, n)
		}
	}
}
