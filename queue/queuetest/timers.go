package queuetest

import (
	"runtime"
	"slices"
	"testing"
	"time"

	"fmqm/internal/store/storetest"
	"fmqm/message"
	"fmqm/queue"
	"fmqm/queue/record"
)

func timer(after time.Duration, e message.Entry) record.Timer {
	return record.Timer{Due: noon.Add(after), Process: procP, Entry: e}
}

// cancel takes a timer away.
func cancel(t record.Timer) *record.Tx {
	return &record.Tx{Consume: []record.Consume{{Process: t.Process, Entry: t.Entry, Timers: []record.Timer{t}}}}
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

// untilArmed waits until the timers' task waits for a time: it reads the clock, then the store.
func (s *site) untilArmed(after time.Duration) {
	for !slices.ContainsFunc(s.clock.Armed(), noon.Add(after).Equal) {
		runtime.Gosched()
	}
}

func wantDue(t testing.TB, got []record.Delivery, want ...record.Timer) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("deliveries %v, want timers of %v", got, want)
	}
	for i := range got {
		if m := want[i].Message("A"); got[i].Entry != want[i].Entry || len(got[i].Messages) != 1 || got[i].Messages[0].Header != m.Header {
			t.Errorf("delivery %v, want a timer of %v", got[i], want[i])
		}
	}
}

// takeDue takes the messages of timers that have come.
func takeDue(timers ...record.Timer) *record.Tx {
	tx := &record.Tx{}
	for i := range timers {
		tx.Consume = append(tx.Consume, consume(timers[i].Message("A")))
	}
	return tx
}

// testTimers (N13): a timer puts a message into its entry when it is due, once, and not after it was
// taken; only the nearest is waited for. An entry may have several, by their names.
func testTimers(t *testing.T, open storetest.Open) {
	s := newSite(t, open)
	mb := s.Mailbox(procP)
	later, sooner, never := timer(40*time.Second, entry(1, "a")), timer(10*time.Second, entry(2, "b")), timer(50*time.Second, entry(3, "c"))
	named := sooner
	named.Name, named.Pause = "deadline", time.Minute
	s.must(&record.Tx{Timers: []record.Timer{later}})
	s.wantArmed(40 * time.Second)
	s.must(&record.Tx{Timers: []record.Timer{sooner, never, named}})
	s.wantArmed(10 * time.Second)
	s.clock.Advance(10*time.Second - 1)
	if got := mb.Take(10); len(got) != 0 {
		t.Errorf("come before it is due: %v", got)
	}
	s.clock.Advance(1)
	var came []message.Message
	for len(came) < 2 {
		for _, d := range next(mb) {
			came = append(came, d.Messages...)
		}
	}
	sameMessages(t, came, []message.Message{sooner.Message("A"), named.Message("A")})
	s.wantStored(sooner.Entry, came...)
	s.must(cancel(never))
	// A message beside it is one delivery with it, or another.
	m := msg("A", 1, "x", "a")
	s.must(put(m))
	s.clock.Advance(30 * time.Second)
	var got []message.Message
	for len(got) < 2 {
		for _, d := range next(mb) {
			got = append(got, d.Messages...)
		}
	}
	sameMessages(t, got, []message.Message{m, later.Message("A")})
	s.must(takeDue(sooner, later))
	s.must(cancel(later)) // it is not there any more
	s.clock.Advance(24 * time.Hour)
	if got := mb.Take(10); len(got) != 0 {
		t.Errorf("come for what was taken: %v", got)
	}
	if keys := s.keys(); keys["d"] != 0 || keys["q"] != 2 {
		t.Errorf("%v are left, want a message and a timer that has come", keys)
	}
}

// testTimersAfterRestart: what fell due while the node was down comes at once; what had come is in
// the store as any message.
func testTimersAfterRestart(t *testing.T, open storetest.Open) {
	s := newSite(t, open)
	first, second, third := timer(10*time.Second, entry(1, "a")), timer(30*time.Second, entry(2, "a")), timer(50*time.Second, entry(3, "a"))
	mb := s.Mailbox(procP)
	s.must(&record.Tx{Timers: []record.Timer{first, second, third}})
	s.clock.Advance(10 * time.Second)
	wantDue(t, next(mb), first)
	s.crash()
	s.wantStored(first.Entry, first.Message("A"))
	if err := s.Close(s.Context()); err != nil {
		t.Fatal(err)
	}
	s.clock.Advance(20 * time.Second)
	s.start()
	mb = s.Mailbox(procP)
	for len(s.stored(second.Entry)) == 0 {
		runtime.Gosched()
	}
	s.wantStored(second.Entry, second.Message("A"))
	wantDue(t, next(mb), second) // which is handed over once it is stored
	s.untilArmed(50 * time.Second)
	s.clock.Advance(20 * time.Second)
	wantDue(t, next(mb), third)
	s.must(takeDue(first, second, third))
	if keys := s.keys(); keys["d"]+keys["q"] != 0 {
		t.Errorf("%v are left", keys)
	}
}

func testTimersInThePast(t *testing.T, open storetest.Open) {
	s := newSite(t, open)
	mb := s.Mailbox(procP)
	for i, after := range []time.Duration{-time.Hour, 0, -time.Second, -200 * 365 * 24 * time.Hour} {
		due := timer(after, entry(i, "a"))
		s.must(&record.Tx{Timers: []record.Timer{due}})
		wantDue(t, next(mb), due)
		s.must(takeDue(due))
		s.clock.Advance(time.Minute)
	}
	if got := mb.Take(10); len(got) != 0 {
		t.Errorf("woken twice: %v", got)
	}
	if keys := s.keys(); keys["d"]+keys["q"] != 0 {
		t.Errorf("%v are left", keys)
	}
}

// testTimersAndCongestion: a great many timers at one moment do not fill the memory:
// they come as the mailboxes are emptied.
func testTimersAndCongestion(t *testing.T, open storetest.Open) {
	s := newSite(t, open, func(o *queue.Options) { o.DirtyLimit = 5 })
	const count = 23
	tx := &record.Tx{}
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
			t.Errorf("timer of %v came %d times", e, n)
		}
	}
}
