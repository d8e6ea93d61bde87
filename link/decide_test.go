package link_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"fmqm/link"
	"fmqm/queue"
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
	a.store.put(0, numbered(0, 5)...)
	b.store.put(0, numbered(100, 5)...)
	a.store.untilTrimmed(t, 0)
	b.store.untilTrimmed(t, 0)
	b.stop()
	a.store.put(0, numbered(5, 3)...)
	b.store, b.number = newStore(), 20
	b.store.put(0, numbered(200, 4)...)
	ob := b.options("A", fromB)
	ob.Incarnation = queue.Incarnation{'N'}
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
			st := a.until("the new store", func(st link.Status) bool { return st.Presented != queue.Incarnation{} })
			if st.State != link.StateStopped || st.Stop == nil || st.Stop.Code != link.StopNewIncarnation || st.Presented != (queue.Incarnation{'N'}) {
				t.Fatalf("got %+v", st)
			}
			b.untilState(link.StateStopped)
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			defer cancel()
			if err := a.link.Decide(ctx, link.Decision{NewStore: queue.Incarnation{'X'}}); err == nil || !strings.Contains(err.Error(), "site B presents store 4e00") {
				t.Fatalf("a store that nobody has was taken: %v", err)
			}
			if len(b.store.have(0)) != 0 || len(a.store.have(0)) != 5 {
				t.Fatal("something was accepted before the decision")
			}
			if err := a.link.Decide(ctx, link.Decision{NewStore: queue.Incarnation{'N'}}); err != nil {
				t.Fatal(err)
			}
			a.untilState(link.StateConnected)
			b.untilState(link.StateConnected)
			a.store.put(0, "after the decision")
			a.store.untilTrimmed(t, 0)
			b.store.untilTrimmed(t, 0)
			if got := b.store.have(0); !slices.Equal(got, append(numbered(5, 3), "after the decision")) {
				t.Fatalf("B got %q", got)
			}
			if got := a.store.have(0); !slices.Equal(got, numbered(200, 4)) {
				t.Fatalf("A got %q", got)
			}
			if st := a.link.Status(); st.Stop != nil || st.Presented != (queue.Incarnation{}) {
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
	a.until("the new store", func(st link.Status) bool { return st.Presented != queue.Incarnation{} })
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for range 3 {
		if err := a.link.Decide(ctx, link.Decision{}); err != nil {
			t.Fatal(err)
		}
		a.until("the new store again", func(st link.Status) bool { return st.Presented != queue.Incarnation{} })
	}
	if len(b.store.have(0)) != 0 || len(a.store.have(0)) != 5 {
		t.Fatal("something was accepted")
	}
}

// A decision that cannot be put on disk changes nothing.
func TestDecisionThatIsNotOnDiskChangesNothing(t *testing.T) {
	a, _ := lost(t, "A")
	a.until("the new store", func(st link.Status) bool { return st.Presented != queue.Incarnation{} })
	a.store.mu.Lock()
	a.store.failing = errors.New("no space left")
	a.store.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	err := a.link.Decide(ctx, link.Decision{NewStore: queue.Incarnation{'N'}})
	if err == nil || err.Error() != "decide about site B: no space left" {
		t.Fatalf("got %v", err)
	}
	if st := a.link.Status(); st.State != link.StateStopped || st.Presented != (queue.Incarnation{'N'}) {
		t.Fatalf("got %+v", st)
	}
}
