package link_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"fmqm/internal/task"
	"fmqm/link"
	"fmqm/link/frame"
	"fmqm/link/linktest"
	"fmqm/queue/record"
)

// lost is a pair of which B has lost its store, and came back with an empty one; three
// messages for it wait. Who dials is said.
func lost(t *testing.T, dials string) (a, b *site) {
	a, b = newSite(t, "A", 1), newSite(t, "B", 2)
	var fromA, fromB link.Dialer
	if dials == "A" {
		fromA = a.dialer(b)
	} else {
		fromB = b.dialer(a)
	}
	a.run(a.options("B", fromA))
	b.run(b.options("A", fromB))
	a.store.Put(0, numbered(0, 5)...)
	b.store.Put(0, numbered(100, 5)...)
	a.store.UntilTrimmed(t, 0)
	b.store.UntilTrimmed(t, 0)
	b.stop()
	a.store.Put(0, numbered(5, 3)...)
	b.store, b.number = linktest.NewStore(task.Goroutines{}), 20
	b.store.Put(0, numbered(200, 4)...)
	ob := b.options("A", fromB)
	ob.Incarnation = record.Incarnation{'N'}
	b.run(ob)
	return a, b
}

// L1: a peer that lost its store stops the link at both sides, until an operator's word
// takes the new store for known: then it goes on without a restart, with what was not
// confirmed, and with everything that the new store sends.
func TestOperatorTakesTheNewStoreForKnown(t *testing.T) {
	for _, dials := range []string{"A", "B"} {
		t.Run(dials+" dials", func(t *testing.T) {
			a, b := lost(t, dials)
			st := a.until("the new store", func(st link.Status) bool { return st.Presented != record.Incarnation{} })
			if st.State != link.StateStopped || st.Stop == nil || st.Stop.Code != frame.StopNewIncarnation || st.Presented != (record.Incarnation{'N'}) {
				t.Fatalf("got %+v", st)
			}
			b.untilState(link.StateStopped)
			ctx, cancel := context.WithTimeout(context.Background(), linktest.Patience)
			defer cancel()
			if err := a.link.Decide(ctx, link.Decision{NewStore: record.Incarnation{'X'}}); err == nil || !strings.Contains(err.Error(), "site B presents store 4e00") {
				t.Fatalf("a store that nobody has was taken: %v", err)
			}
			if len(b.store.Have(0)) != 0 || len(a.store.Have(0)) != 5 {
				t.Fatal("something was accepted before the decision")
			}
			if err := a.link.Decide(ctx, link.Decision{NewStore: record.Incarnation{'N'}}); err != nil {
				t.Fatal(err)
			}
			a.untilState(link.StateConnected)
			b.untilState(link.StateConnected)
			a.store.Put(0, "after the decision")
			a.store.UntilTrimmed(t, 0)
			b.store.UntilTrimmed(t, 0)
			if got := b.store.Have(0); !slices.Equal(got, append(numbered(5, 3), "after the decision")) {
				t.Fatalf("B got %q", got)
			}
			if got := a.store.Have(0); !slices.Equal(got, numbered(200, 4)) {
				t.Fatalf("A got %q", got)
			}
			if st := a.link.Status(); st.Stop != nil || st.Presented != (record.Incarnation{}) {
				t.Fatalf("the stop is still told: %+v", st)
			}
			if err := a.link.Decide(ctx, link.Decision{}); !errors.Is(err, link.ErrNotStopped) {
				t.Fatalf("a decision where nothing is to be decided: %v", err)
			}
		})
	}
}

// What is still wrong stops the link again: to try again is no way around a decision.
func TestTryingAgainDecidesNothing(t *testing.T) {
	a, b := lost(t, "A")
	a.until("the new store", func(st link.Status) bool { return st.Presented != record.Incarnation{} })
	ctx, cancel := context.WithTimeout(context.Background(), linktest.Patience)
	defer cancel()
	for range 3 {
		if err := a.link.Decide(ctx, link.Decision{}); err != nil {
			t.Fatal(err)
		}
		a.until("going on", func(st link.Status) bool { return st.Stop == nil }) // what was seen before is old
		a.until("the new store again", func(st link.Status) bool { return st.Presented != record.Incarnation{} })
	}
	if len(b.store.Have(0)) != 0 || len(a.store.Have(0)) != 5 {
		t.Fatal("something was accepted")
	}
}

// A decision that cannot be put on disk changes nothing.
func TestDecisionThatIsNotOnDiskChangesNothing(t *testing.T) {
	a, _ := lost(t, "A")
	a.until("the new store", func(st link.Status) bool { return st.Presented != record.Incarnation{} })
	a.store.Fail(errors.New("no space left"))
	ctx, cancel := context.WithTimeout(context.Background(), linktest.Patience)
	defer cancel()
	err := a.link.Decide(ctx, link.Decision{NewStore: record.Incarnation{'N'}})
	if err == nil || err.Error() != "decide about site B: no space left" {
		t.Fatalf("got %v", err)
	}
	if st := a.link.Status(); st.State != link.StateStopped || st.Presented != (record.Incarnation{'N'}) {
		t.Fatalf("got %+v", st)
	}
}

// redirect is a dialer of an address whose name can be made to lead elsewhere.
type redirect struct {
	mu sync.Mutex
	to link.Dialer
}

func (d *redirect) Dial(ctx context.Context) (link.Conn, error) {
	d.mu.Lock()
	to := d.to
	d.mu.Unlock()
	return to.Dial(ctx)
}

func (d *redirect) lead(to link.Dialer) {
	d.mu.Lock()
	d.to = to
	d.mu.Unlock()
}

// nobody answers at an address.
type nobody struct{}

func (nobody) Dial(context.Context) (link.Conn, error) { return nil, errors.New("nobody answers") }

// A stopped link goes on by an operator's word, without a restart, once the cause is
// mended; and he hears what has come of it: that it is connected, what stopped it again,
// or that the peer has not been heard.
func TestRetryOfAStoppedLink(t *testing.T) {
	a, b, c := newSite(t, "A", 1), newSite(t, "B", 2), newSite(t, "C", 3)
	b.run(b.options("A", nil))
	c.run(c.options("A", nil))
	way := &redirect{to: a.dialer(c)}
	a.run(a.options("B", way))
	first := a.untilState(link.StateStopped)
	ctx, cancel := context.WithTimeout(context.Background(), linktest.Patience)
	defer cancel()

	again, err := a.link.Retry(ctx)
	if err != nil || again.State != link.StateStopped || again.Reason != first.Reason {
		t.Fatalf("nothing was mended: %v, %+v", err, again)
	}
	way.lead(nobody{})
	brief, enough := context.WithCancel(ctx)
	retried := make(chan link.Status, 1)
	go func() {
		st, err := a.link.Retry(brief)
		if err != nil {
			t.Error(err)
		}
		retried <- st
	}()
	a.until("nobody answers", func(st link.Status) bool { return st.Reason == "nobody answers" })
	enough()
	if st := <-retried; st.State != link.StateConnecting || st.Stop != nil {
		t.Fatalf("nobody answers: %+v", st)
	}
	if _, err := a.link.Retry(ctx); !errors.Is(err, link.ErrNotStopped) {
		t.Fatalf("a link that is not stopped: %v", err)
	}
	way.lead(a.dialer(c))
	a.untilState(link.StateStopped)
	way.lead(a.dialer(b))
	if st, err := a.link.Retry(ctx); err != nil || st.State != link.StateConnected || st.Reason != "" {
		t.Fatalf("all is mended: %v, %+v", err, st)
	}
	a.store.Put(0, numbered(0, 5)...)
	a.store.UntilTrimmed(t, 0)
}

// fullStore is a store without room; it tells when it is asked for some.
type fullStore struct {
	*linktest.Store
	asked chan struct{}
}

func (s fullStore) Capacity(ctx context.Context, paused func(string)) error {
	select {
	case s.asked <- struct{}{}:
	default:
	}
	return s.Store.Capacity(ctx, paused)
}

// A decision does not wait for room on the disk: what waits for it is of the conversation
// that ended, and is given up. What comes of the next one is what the sender lets go.
func TestADecisionDoesNotWaitForRoom(t *testing.T) {
	a, b := newSite(t, "A", 1), newSite(t, "B", 2)
	oa, ob := a.options("B", a.dialer(b)), b.options("A", nil)
	full := fullStore{b.store, make(chan struct{}, 1)}
	ob.Inbox = full
	b.run(ob)
	a.run(oa)
	a.untilState(link.StateConnected)
	room := b.store.Fill()
	a.store.Put(0, numbered(0, 5)...)
	<-full.asked
	b.link.Attach(hushed{make(chan struct{}), &sync.Once{}}, &frame.Frame{Type: frame.TypeHello, From: 99, Challenge: 1, Hello: &frame.Hello{Node: "C", Expected: "B"}})
	b.untilState(link.StateStopped)
	a.untilState(link.StateStopped)

	ctx, cancel := context.WithTimeout(context.Background(), linktest.Patience)
	defer cancel()
	for _, s := range []*site{b, a} {
		if err := s.link.Decide(ctx, link.Decision{}); err != nil {
			t.Fatal(err)
		}
	}
	<-full.asked
	if got := len(a.store.Sent(0)) - int(a.link.Status().Waiting); got != 0 {
		t.Fatalf("the sender let %d messages go, and the receiver has none", got)
	}
	room()
	a.store.UntilTrimmed(t, 0)
	if got := b.store.Have(0); !slices.Equal(got, numbered(0, 5)) {
		t.Fatalf("B got %q", got)
	}
}
