package queuetest

import (
	"fmt"
	"testing"

	"fmqm/internal/store/storetest"
	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue/audit"
	"fmqm/queue/record"
)

// testChildren: who has begun what is in error is listed with it, at any depth (N19), also of many; and what an activity of
// an instance has begun is found by its snapshot, among the first keys of the instance.
func testChildren(t *testing.T, open storetest.Open) {
	s := newSite(t, open)
	parent := message.Parent{Process: procP, Node: "A", Instance: instance(1), Activity: "do", Iteration: 1, Attempt: 1}
	child := message.Child{Process: procQ, Instance: parent.Child(procQ, 1)}
	inner := message.Parent{Process: procQ, Node: "A", Instance: child.Instance, Activity: "do", Iteration: 1, Attempt: 1}
	grandchild := message.Child{Process: procQ, Instance: inner.Child(procQ, 1)}
	start := func(n int, i message.InstanceID, of processtable.ProcessID, p *message.Parent) {
		s.must(&record.Tx{Audit: []record.AuditRecord{{
			Time: noon, Clock: uint64(n), Instance: i, Process: of, Activity: processtable.Source, Event: record.EventStarted, Parent: p,
		}}})
	}
	start(1, instance(1), procP, nil)
	start(2, child.Instance, procQ, &parent)
	start(3, grandchild.Instance, procQ, &inner)
	start(4, instance(2), procP, nil)

	begun := func(when string, want message.Child) {
		t.Helper()
		c, err := s.BegunBy(procP, instance(1), func(row processtable.RowID) bool { return row.Name == "do" })
		if err != nil || c != want {
			t.Errorf("%s: %v, %v; want %v", when, c, err, want)
		}
	}
	put := func(n message.Snapshot) {
		m := kind(msg("A", 1, "", "do"), message.KindSnapshot)
		m.Body = message.EncodeSnapshot(n)
		s.must(&record.Tx{Put: []message.Message{m, kind(msg("A", 1, "", "else"), message.KindSnapshot), msg("A", 1, "x", "before")}})
	}
	begun("nothing is there", message.Child{})
	put(message.Snapshot{Iteration: 1})
	begun("it has begun nothing", message.Child{})
	put(message.Snapshot{Iteration: 1, Begun: true, Child: child})
	begun("it has begun one", child)

	listed := func(o audit.ListOptions) string {
		o.InError = true
		places, err := s.Places(o)
		if err != nil {
			t.Fatal(err)
		}
		names := map[message.InstanceID]string{instance(1): "parent", child.Instance: "child", grandchild.Instance: "grandchild"}
		got := map[string]bool{}
		for _, p := range places {
			got[names[p.Instance]] = true
		}
		return fmt.Sprint(got)
	}
	notice := kind(message.Message{Header: message.Header{
		Queue: message.Queue{Process: procQ, Node: "A"}, Instance: grandchild.Instance, Origin: "A", Source: "wrap", Activity: processtable.Sink,
	}}, message.KindNotice)
	if got := listed(audit.ListOptions{}); got != "map[]" {
		t.Errorf("nothing is in error, and listed are %s", got)
	}
	s.must(&record.Tx{Put: []message.Message{notice}})
	if got := listed(audit.ListOptions{}); got != "map[child:true grandchild:true parent:true]" {
		t.Errorf("listed are %s", got)
	}
	for of, want := range map[processtable.ProcessID]string{procP: "map[parent:true]", procQ: "map[child:true grandchild:true]"} {
		if got := listed(audit.ListOptions{Process: of}); got != want {
			t.Errorf("of %s are listed %s, want %s", of, got, want)
		}
	}

	many := &record.Tx{}
	for n := range 1000 {
		many.Put = append(many.Put, msg("A", 1, processtable.ActivityID(fmt.Sprintf("x%d", n)), "before"))
	}
	s.must(many)
	begun("behind very many others", message.Child{})
}
