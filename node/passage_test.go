package node

import (
	"context"
	"testing"
	"time"

	"fmqm/api"
	"fmqm/message"
	"fmqm/node/retention"
	"fmqm/processtable"
	"fmqm/queue/record"
)

// N16, S4: an event that somebody had a site pass on is in the audit of that site as long as retention lets it: of no
// instance, built again word for word, and nothing of it stays when it goes.
func TestAnEventThatWasPassedOnIsBuiltAgain(t *testing.T) {
	k := &keeper{T: t, peers: map[processtable.NodeID]Peer{"B": {}}}
	k.begin("A", telling)
	k.queue.Transmission("B").PeerReads(message.Current())
	request := api.EventRequest{Event: "part_arrived", Key: "J-7", ID: "one", At: "B", Data: []byte(`{"serial": "S-1"}`)}
	if _, err := k.SendEvent(t.Context(), request); err != nil {
		t.Fatal(err)
	}
	items, err := k.queue.Transmission("B").Read(message.LaneData, 1, 1<<20)
	if err != nil || len(items) != 1 {
		t.Fatalf("%d items, %v", len(items), err)
	}
	sent, err := message.Decode(items[0].Payload[1:])
	if err != nil {
		t.Fatal(err)
	}
	history := func() []record.AuditRecord {
		all, err := k.queue.History(message.PassageOf(sent.Source))
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	told := history()
	if len(told) != 1 || told[0].Sent[0].Number != 1 || told[0].Sent[0].Node != "B" {
		t.Fatalf("the audit has %+v", told)
	}
	plan, err := k.rebuilds.Report(t.Context(), record.Rebuild{Peer: "B"})
	if err != nil || plan.Messages != 0 || plan.Instances != 0 {
		t.Errorf("while it waits for B a rebuild sends %+v, %v", plan, err)
	}
	k.queue.Transmission("B").Trim(message.LaneData, 1)
	k.must(k.commit(t.Context(), &record.Tx{})) // a trim is written with the next
	if plan, err = k.rebuilds.Report(t.Context(), record.Rebuild{Peer: "B"}); err != nil || plan.Messages != 1 || plan.Instances != 0 {
		t.Errorf("a rebuild sends %+v, %v", plan, err)
	}
	k.clock.pass(time.Minute)
	for _, policy := range []retention.Policy{{Age: time.Hour}, {Age: time.Nanosecond}} {
		if err := k.retain.Round(context.Background(), policy); err != nil {
			t.Fatal(err)
		}
		if left := len(history()); (left > 0) != (policy.Age == time.Hour) {
			t.Errorf("after retention by %v %d records are left", policy.Age, left)
		}
	}
	if n, err := k.queue.CountRemoved(); err != nil || n != 0 {
		t.Errorf("%d records stay of it, %v", n, err)
	}
	if list, err := k.List(t.Context(), api.ListRequest{Limit: 10}); err != nil || len(list.Instances) != 0 {
		t.Errorf("among instances are %+v, %v", list.Instances, err)
	}
}
