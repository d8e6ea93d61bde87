package link

import (
	"testing"

	"fmqm/message"
	"fmqm/queue"
)

// However small the frames are while the store has no room, a transport never keeps
// more than it can, and acknowledgements behind them are heard.
func TestDeliveriesThatAreHeldAreBounded(t *testing.T) {
	c := NewCore(Config{Self: "A", Peer: "B", Session: 1})
	c.peer = peer{session: 2, up: true}
	c.transports = []*transport{{via: 1, session: 2, greeted: true}}

	settled, at := 0, Position{}
	for n := range uint64(MaxHeld + 50) {
		payload := []byte("item")
		next := Position{Number: n + 1, Hash: queue.HashNext(at.Hash, payload)}
		f := &Frame{
			Version: 1, Type: FrameData, From: 2, To: 1, Seq: n + 1,
			Data: &Data{Lane: message.Lane(0), First: n + 1, Prev: at.Hash, End: next.Hash, Payloads: [][]byte{payload}},
		}
		for _, e := range c.Step(Received{Via: 1, Frame: f, Delivery: DeliveryID(n + 1)}) {
			if s, ok := e.(Settle); ok {
				settled++
				if s.Delivery <= MaxHeld {
					t.Fatalf("delivery %d was settled before its item was on disk", s.Delivery)
				}
			}
		}
		at = next
	}
	if held := len(c.transports[0].unsettled); held != MaxHeld || settled != 50 || c.in[0].received.Number != MaxHeld {
		t.Fatalf("%d deliveries are held, %d settled, %d items taken", held, settled, c.in[0].received.Number)
	}
	if c.peer.seq != MaxHeld+50 {
		t.Fatalf("frames were heeded up to %d", c.peer.seq)
	}
}
