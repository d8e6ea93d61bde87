package node

import (
	"testing"

	"github.com/google/uuid"

	"fmqm/behaviour"
	"fmqm/message"
	"fmqm/processtable"
)

const telling = `
process: telling
version: 1
structures:
  Told: {job: string, serial: string}
  Part: {serial: string}
events:
  part_arrived: Part
input: Told
starts: [A]
activities:
  tell: {node: A, send: {event: part_arrived, key: job, to: B}, input: Told}
data:
  - source -> tell
`

// S4: an event that went to another site can be built again of what the audit has, word for word, with the number
// that it had on the link.
func TestAnEventIsBuiltAgain(t *testing.T) {
	w := eventWorld(t)
	w.a.queue.Transmission("B").PeerReads(message.Current())
	w.add(telling)
	id := uuid.Must(uuid.NewV7())
	p := w.a.thread(processtable.ProcessID{Name: "telling", Version: 1})
	input, err := decodeInput(p.Process().Table().Input, []byte(`{"job": "J-7", "serial": "S-1"}`))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Start(t.Context(), behaviour.Start{Instance: id, Input: input, Now: w.a.sched.Now()}); err != nil {
		t.Fatal(err)
	}
	w.until(func() bool { return w.a.queue.Transmission("B").Last(message.LaneData).Number == 1 })
	items, err := w.a.queue.Transmission("B").Read(message.LaneData, 1, 1<<20)
	if err != nil || len(items) != 1 {
		t.Fatalf("%d items, %v", len(items), err)
	}
	history, err := w.a.queue.History(id)
	if err != nil {
		t.Fatal(err)
	}
	for i := range history {
		h := &history[i]
		for _, sent := range h.Sent {
			if sent.Kind != message.KindEvent {
				continue
			}
			m, err := p.Process().Again(behaviour.Spoken{
				Instance: id, Source: h.Activity, Clock: h.Clock, Output: h.Output, Kind: sent.Kind, Within: sent.Scope, Target: sent.Target, Node: sent.Node, Lane: sent.Lane,
			})
			if err != nil || sent.Number != 1 {
				t.Fatalf("number %d: %v", sent.Number, err)
			}
			again, err := message.Encode(m)
			if err != nil {
				t.Fatal(err)
			}
			if first := items[0].Payload[1:]; string(again) != string(first) {
				t.Errorf("it was\n%x, and is\n%x", first, again)
			}
			return
		}
	}
	t.Fatal("no record tells of it")
}
