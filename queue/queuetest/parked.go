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
)

// parked is a message that a peer has brought, and that waits for a table.
func parked(peer processtable.NodeID, m message.Message, size int) queue.Parked {
	m.Body = make([]byte, size)
	encoded, err := message.Encode(m)
	if err != nil {
		panic(err)
	}
	return queue.Parked{Process: m.Queue.Process, Instance: m.Instance, Peer: peer, Message: encoded}
}

// testParked: what waits for a table keeps who has brought it, and takes nobody's place (N3).
func testParked(t *testing.T, open storetest.Open) {
	s := newSite(t, open)
	m := msg("A", 1, "a", "b")
	s.must(&queue.Tx{Park: []queue.Parked{parked("B", m, 10), parked("C", m, 100<<10), parked("B", m, 20)}})
	for range 2 {
		found, err := s.ParkedFor(procP, 10)
		if err != nil || len(found) != 3 || s.ParkedCount(procP) != 3 || len(s.Parked()) != 1 {
			t.Fatalf("%d wait, %v; %v", len(found), s.Parked(), err)
		}
		if found[0].Peer != "B" || found[1].Peer != "B" || found[2].Peer != "C" || len(found[2].Message) < 100<<10 {
			t.Errorf("%+v", found)
		}
		if b, c := s.Left("B"), s.Left("C"); b != (queue.Left{Parked: 2, Bytes: 32 << 10}) || c.Parked != 1 || c.Bytes != int64(len(found[2].Message)) {
			t.Errorf("B has left %+v, C %+v", b, c)
		}
		s.crash()
	}
	if some, err := s.ParkedFor(procP, 2); err != nil || len(some) != 2 {
		t.Errorf("%d of at most 2, %v", len(some), err)
	}
	if v, err := s.ViewInstance(m.Instance, processtable.ProcessID{}, 0); err != nil || v.Process != procP || len(v.Messages) != 3 {
		t.Errorf("%+v %v", v, err)
	}
	s.must(&queue.Tx{Tables: []queue.TableRecord{{Process: procP, Definition: defP}}})
	if err := s.try(&queue.Tx{Park: []queue.Parked{parked("B", m, 10)}}); !errors.Is(err, queue.ErrTabled) {
		t.Errorf("to wait for a table that is here: %v", err)
	}
	if v, err := s.ViewInstance(m.Instance, procP, 0); err != nil || len(v.Messages) != 0 {
		t.Errorf("what was not judged is shown: %+v %v", v, err)
	}
	found, err := s.ParkedFor(procP, 10)
	if err != nil {
		t.Fatal(err)
	}
	s.must(&queue.Tx{Unpark: found[1:], Put: []message.Message{m}})
	for range 2 {
		if s.ParkedCount(procP) != 1 || s.Left("C") != (queue.Left{}) || s.Left("B").Parked != 1 {
			t.Errorf("%v wait; B %+v, C %+v", s.Parked(), s.Left("B"), s.Left("C"))
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
	s.must(&queue.Tx{Tables: []queue.TableRecord{{Process: procQ, Definition: defP}}})
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
		if err != nil || slices.ContainsFunc(found, func(p queue.Parked) bool { return p.Peer != "" }) {
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

// testLeft: what peers have left is counted exactly, also over restarts; who waits for less
// of it is woken.
func testLeft(t *testing.T, open storetest.Open) {
	s := newSite(t, open)
	marker := kind(msg("A", 1, "", ""), message.KindMarker)
	marker.From = "B"
	s.must(&queue.Tx{
		Put: []message.Message{marker}, SetAside: []queue.SetAside{
			{Peer: "B", Reason: "small", Message: []byte("x")}, {From: "C", Reason: "by a process thread", Message: make([]byte, 50<<10)}, {Reason: "by nobody", Message: []byte("x")},
		},
	})
	for range 2 {
		if b, c := s.Left("B"), s.Left("C"); b != (queue.Left{Aside: 1, Marks: 1, Bytes: 17 << 10}) || c != (queue.Left{Aside: 1, Bytes: 50 << 10}) {
			t.Fatalf("B has left %+v, C %+v", b, c)
		}
		s.crash()
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	full, done := make(chan queue.Left, 10), make(chan error, 1)
	go func() {
		done <- s.WaitLeft(ctx, "B", func(l queue.Left) bool { return l.Aside == 0 }, func(l queue.Left) { full <- l })
	}()
	if l := <-full; l.Aside != 1 {
		t.Errorf("full with %+v", l)
	}
	all, err := s.SetAsideList(10)
	if err != nil || len(all) != 3 {
		t.Fatal(all, err)
	}
	var ofB uint64
	for _, a := range all {
		if a.Peer == "B" {
			ofB = a.Number
		}
	}
	s.must(&queue.Tx{TakeAside: []uint64{ofB}})
	if err := <-done; err != nil {
		t.Error(err)
	}
	if err := s.try(&queue.Tx{TakeAside: []uint64{ofB}}); !errors.Is(err, queue.ErrNotAside) {
		t.Errorf("taken out twice: %v", err)
	}
	s.must(&queue.Tx{TakeAside: []uint64{all[0].Number + all[1].Number + all[2].Number - ofB - nobodys(all)}})
	for range 2 {
		if b, c := s.Left("B"), s.Left("C"); b != (queue.Left{Marks: 1, Bytes: 1 << 10}) || c != (queue.Left{}) {
			t.Errorf("B has left %+v, C %+v", b, c)
		}
		s.crash()
	}
	if err := s.WaitLeft(ctx, "B", func(queue.Left) bool { return true }, func(queue.Left) { t.Error("it fits") }); err != nil {
		t.Error(err)
	}
}

func nobodys(all []queue.AsideHead) uint64 {
	i := slices.IndexFunc(all, func(a queue.AsideHead) bool { return a.Reason == "by nobody" })
	return all[i].Number
}
