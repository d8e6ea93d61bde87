package queuetest

import (
	"errors"
	"fmt"
	"testing"

	"fmqm/internal/store/storetest"
	"fmqm/message"
	"fmqm/queue"
)

// testTakeAside: what was set aside leaves in one transaction, once, with all that was
// staged of it (L5), and its number is not given again, whatever happens in between.
func testTakeAside(t *testing.T, open storetest.Open) {
	s := newSite(t, open)
	aside := func(size int) {
		s.must(&queue.Tx{SetAside: []queue.SetAside{{Time: noon, Peer: "B", Reason: "r", Message: noise(size, byte(size))}}})
	}
	numbers := func() (out []uint64) {
		list, err := s.SetAsideList(10)
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range list {
			out = append(out, a.Number)
		}
		return out
	}
	gone := func(number uint64) {
		t.Helper()
		put := msg("A", 1, "a", "x")
		err := s.try(&queue.Tx{TakeAside: []uint64{number}, Put: []message.Message{put}})
		if !errors.Is(err, queue.ErrNotAside) {
			t.Errorf("taken out once more: %v", err)
		}
		s.wantStored(put.Entry())
		if _, found, err := s.SetAsideAt(number); found || err != nil {
			t.Errorf("message %d is there: %v", number, err)
		}
	}
	aside(10)
	aside(200_000)
	aside(20)
	if got := fmt.Sprint(numbers()); got != "[3 2 1]" {
		t.Fatalf("set aside: %s", got)
	}
	if a, found, err := s.SetAsideAt(2); !found || err != nil || len(a.Message) != 200_000 || a.Number != 2 || a.Peer != "B" {
		t.Fatalf("message 2: %v %v", found, err)
	}
	s.must(&queue.Tx{TakeAside: []uint64{3}})
	gone(3)
	s.must(&queue.Tx{TakeAside: []uint64{2}})
	if got := s.bodies(); got != "0 bodies, 0 chunks" {
		t.Errorf("left of a large one: %s", got)
	}
	s.crash()
	gone(2)
	gone(3)
	if _, found, err := s.SetAsideAt(99); found || err != nil {
		t.Errorf("a number that was never given: %v %v", found, err)
	}
	aside(30)
	if got := fmt.Sprint(numbers()); got != "[4 1]" {
		t.Errorf("set aside after the restart: %s", got)
	}
	if err := s.try(&queue.Tx{TakeAside: []uint64{4, 4}}); !errors.Is(err, queue.ErrNotAside) {
		t.Errorf("one taken out twice in a transaction: %v", err)
	}
	// Of many that want the same one, submitted together, one gets it.
	const many = 20
	results := make(chan error, many)
	for range many {
		s.Submit(&queue.Tx{TakeAside: []uint64{1}, Done: func(err error) { results <- err }})
	}
	got := 0
	for range many {
		if err := <-results; err == nil {
			got++
		} else if !errors.Is(err, queue.ErrNotAside) {
			t.Error(err)
		}
	}
	if got != 1 {
		t.Errorf("%d of %d took it out", got, many)
	}
}
