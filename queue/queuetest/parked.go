package queuetest

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"fmqm/internal/store/storetest"
	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue"
	"fmqm/queue/commit"
	"fmqm/queue/record"
)

// parked is a message that a peer has brought, and that waits for a table.
func parked(peer processtable.NodeID, m message.Message, size int) record.Parked {
	m.Body = make([]byte, size)
	encoded, err := message.Encode(m)
	if err != nil {
		panic(err)
	}
	return record.Parked{Process: m.Queue.Process, Instance: m.Instance, Peer: peer, Message: encoded}
}

// testParked: what waits for a table keeps who has brought it, and takes nobody's place (N3).
func testParked(t *testing.T, open storetest.Open) {
	s := newSite(t, open)
	m := msg("A", 1, "a", "b")
	s.must(&record.Tx{Park: []record.Parked{parked("B", m, 10), parked("C", m, 100<<10), parked("B", m, 20)}})
	for range 2 {
		found, err := s.ParkedFor(procP, 10)
		if err != nil || len(found) != 3 || s.ParkedCount(procP) != 3 || len(s.Parked()) != 1 {
			t.Fatalf("%d wait, %v; %v", len(found), s.Parked(), err)
		}
		if found[0].Peer != "B" || found[1].Peer != "B" || found[2].Peer != "C" || len(found[2].Message) < 100<<10 {
			t.Errorf("%+v", found)
		}
		if b, c := s.Usage("B"), s.Usage("C"); b != (queue.Usage{Parked: 2, Bytes: 32 << 10}) || c.Parked != 1 || c.Bytes != int64(len(found[2].Message)) {
			t.Errorf("usage of B %+v, of C %+v", b, c)
		}
		s.crash()
	}
	if some, err := s.ParkedFor(procP, 2); err != nil || len(some) != 2 {
		t.Errorf("%d of at most 2, %v", len(some), err)
	}
	if v, err := s.ViewInstance(m.Instance, processtable.ProcessID{}, 0); err != nil || v.Process != procP || len(v.Messages) != 3 {
		t.Errorf("%+v %v", v, err)
	}
	s.must(&record.Tx{Tables: []record.TableRecord{{Process: procP, Definition: defP}}})
	if err := s.try(&record.Tx{Park: []record.Parked{parked("B", m, 10)}}); !errors.Is(err, commit.ErrTabled) {
		t.Errorf("to wait for a table that is here: %v", err)
	}
	if v, err := s.ViewInstance(m.Instance, procP, 0); err != nil || len(v.Messages) != 0 {
		t.Errorf("what was not judged is shown: %+v %v", v, err)
	}
	found, err := s.ParkedFor(procP, 10)
	if err != nil {
		t.Fatal(err)
	}
	s.must(&record.Tx{Unpark: found[1:], Put: []message.Message{m}})
	for range 2 {
		if s.ParkedCount(procP) != 1 || s.Usage("C") != (queue.Usage{}) || s.Usage("B").Parked != 1 {
			t.Errorf("%v wait; B %+v, C %+v", s.Parked(), s.Usage("B"), s.Usage("C"))
		}
		s.crash()
	}
}

// testOldParked: what an older version has put into the queue of a process without a table
// waits as from nobody, of whatever kind it is.
func testOldParked(t *testing.T, open storetest.Open) {
	s := newSite(t, open)
	var old []message.Message
	for i := range 150 {
		old = append(old, msg("A", i, "a", "b"))
	}
	s.must(put(old...))
	s.must(put(kind(msg("A", 1, "", ""), message.KindMarker), kind(msg("A", 1, "", processtable.Sink), message.KindRecord)))
	s.must(&record.Tx{Tables: []record.TableRecord{{Process: procQ, Definition: defP}}})
	inQ := msg("A", 1, "a", "b")
	inQ.Queue.Process = procQ
	s.must(put(inQ))
	for range 2 {
		if err := s.ParkOld(); err != nil {
			t.Fatal(err)
		}
		if n := s.ParkedCount(procP); n != 152 || len(s.Parked()) != 1 {
			t.Fatalf("%v wait, want 152 of p", s.Parked())
		}
		found, err := s.ParkedFor(procP, 200)
		if err != nil || slices.ContainsFunc(found, func(p record.Parked) bool { return p.Peer != "" }) {
			t.Errorf("%+v %v", found, err)
		}
		if rest, _, err := s.BrowseFrom(procP, message.Entry{}, 10); err != nil || len(rest) != 0 {
			t.Errorf("in the queue there is %v (%v)", rest, err)
		}
		if kept, _, err := s.BrowseFrom(procQ, message.Entry{}, 10); err != nil || len(kept) != 1 {
			t.Errorf("in the queue of q there is %v (%v)", kept, err)
		}
		s.crash()
	}
}

// testUsage: what peers are charged with is counted exactly, also over restarts; who waits for less
// of it is woken.
func testUsage(t *testing.T, open storetest.Open) {
	s := newSite(t, open)
	marker := kind(msg("A", 1, "", ""), message.KindMarker)
	marker.From = "B"
	s.must(&record.Tx{
		Put: []message.Message{marker}, Refuse: []record.Refused{
			{Peer: "B", Reason: "small", Message: []byte("x")}, {From: "C", Reason: "by a process thread", Message: make([]byte, 50<<10)}, {Reason: "by nobody", Message: []byte("x")},
		},
	})
	for range 2 {
		if b, c := s.Usage("B"), s.Usage("C"); b != (queue.Usage{Refused: 1, Marks: 1, Bytes: 17 << 10}) || c != (queue.Usage{Refused: 1, Bytes: 50 << 10}) {
			t.Fatalf("usage of B %+v, of C %+v", b, c)
		}
		s.crash()
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	full, done := make(chan queue.Usage, 10), make(chan error, 1)
	go func() {
		done <- s.WaitQuota(ctx, "B", func(l queue.Usage) bool { return l.Refused == 0 }, func(l queue.Usage) { full <- l })
	}()
	if l := <-full; l.Refused != 1 {
		t.Errorf("full with %+v", l)
	}
	all, err := s.RefusedList(10)
	if err != nil || len(all) != 3 {
		t.Fatal(all, err)
	}
	var ofB uint64
	for _, a := range all {
		if a.Peer == "B" {
			ofB = a.Number
		}
	}
	s.must(&record.Tx{Settle: []uint64{ofB}})
	if err := <-done; err != nil {
		t.Error(err)
	}
	if err := s.try(&record.Tx{Settle: []uint64{ofB}}); !errors.Is(err, commit.ErrNotRefused) {
		t.Errorf("taken out twice: %v", err)
	}
	s.must(&record.Tx{Settle: []uint64{all[0].Number + all[1].Number + all[2].Number - ofB - nobodys(all)}})
	for range 2 {
		if b, c := s.Usage("B"), s.Usage("C"); b != (queue.Usage{Marks: 1, Bytes: 1 << 10}) || c != (queue.Usage{}) {
			t.Errorf("usage of B %+v, of C %+v", b, c)
		}
		s.crash()
	}
	if err := s.WaitQuota(ctx, "B", func(queue.Usage) bool { return true }, func(queue.Usage) { t.Error("it fits") }); err != nil {
		t.Error(err)
	}
}

func nobodys(all []record.RefusedHead) uint64 {
	i := slices.IndexFunc(all, func(a record.RefusedHead) bool { return a.Reason == "by nobody" })
	return all[i].Number
}
