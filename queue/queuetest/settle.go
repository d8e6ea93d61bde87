package queuetest

import (
	"errors"
	"fmt"
	"testing"

	"fmqm/internal/store/storetest"
	"fmqm/message"
	"fmqm/queue/commit"
	"fmqm/queue/record"
)

// testSettle: a refused message goes in one transaction, once, with all that was
// staged of it (L5), and its number is not given again, whatever happens in between.
func testSettle(t *testing.T, open storetest.Open) {
	s := newSite(t, open)
	refuse := func(size int) {
		s.must(&record.Tx{Refuse: []record.Refused{{Time: noon, Peer: "B", Reason: "r", Message: noise(size, byte(size))}}})
	}
	numbers := func() (out []uint64) {
		list, err := s.RefusedList(10)
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
		err := s.try(&record.Tx{Settle: []uint64{number}, Put: []message.Message{put}})
		if !errors.Is(err, commit.ErrNotRefused) {
			t.Errorf("taken out once more: %v", err)
		}
		s.wantStored(put.Entry())
		if _, found, err := s.RefusedAt(number); found || err != nil {
			t.Errorf("message %d is there: %v", number, err)
		}
	}
	refuse(10)
	refuse(200_000)
	refuse(20)
	if got := fmt.Sprint(numbers()); got != "[3 2 1]" {
		t.Fatalf("refused: %s", got)
	}
	if a, found, err := s.RefusedAt(2); !found || err != nil || len(a.Message) != 200_000 || a.Number != 2 || a.Peer != "B" {
		t.Fatalf("message 2: %v %v", found, err)
	}
	s.must(&record.Tx{Settle: []uint64{3}})
	gone(3)
	s.must(&record.Tx{Settle: []uint64{2}})
	if got := s.bodies(); got != "0 bodies, 0 chunks" {
		t.Errorf("left of a large one: %s", got)
	}
	s.crash()
	gone(2)
	gone(3)
	if _, found, err := s.RefusedAt(99); found || err != nil {
		t.Errorf("a number that was never given: %v %v", found, err)
	}
	refuse(30)
	if got := fmt.Sprint(numbers()); got != "[4 1]" {
		t.Errorf("refused after the restart: %s", got)
	}
	if err := s.try(&record.Tx{Settle: []uint64{4, 4}}); !errors.Is(err, commit.ErrNotRefused) {
		t.Errorf("one taken out twice in a transaction: %v", err)
	}
	// Of many that want the same one, submitted together, one gets it.
	const many = 20
	results := make(chan error, many)
	for range many {
		s.Submit(&record.Tx{Settle: []uint64{1}, Done: func(err error) { results <- err }})
	}
	got := 0
	for range many {
		if err := <-results; err == nil {
			got++
		} else if !errors.Is(err, commit.ErrNotRefused) {
			t.Error(err)
		}
	}
	if got != 1 {
		t.Errorf("%d of %d took it out", got, many)
	}
}
