package core

import (
	"testing"

	"fmqm/link/frame"
	"fmqm/queue/record"
)

// However small the items are that a peer sends while the store has no room, no more of them
// wait than a window has, and one frame; what else it says is heard.
func TestWhatWaitsForTheStoreIsBounded(t *testing.T) {
	const inFrame = 100
	c := New(Config{Self: "A", Peer: "B", Session: 1})
	c.peer = peer{session: 2, up: true}
	c.transports = []*transport{{via: 1, session: 2, greeted: true}}
	at := record.Position{}
	frames := uint64(c.cfg.WindowItems/inFrame + 50)
	for n := range frames {
		d := &frame.Data{First: n*inFrame + 1, Prev: at.Hash}
		for range inFrame {
			d.Payloads = append(d.Payloads, []byte("i"))
			at = record.Position{Number: at.Number + 1, Hash: record.HashNext(at.Hash, []byte("i"))}
		}
		d.End = at.Hash
		c.Step(Received{Via: 1, Frame: &frame.Frame{Version: 1, Type: frame.TypeData, From: 2, To: 1, Seq: n + 1, Data: d}})
	}
	if waits, most := len(c.in[0].queue), c.cfg.WindowItems+inFrame; waits > most || waits < most-2*inFrame {
		t.Errorf("%d items wait, expected up to %d", waits, most)
	}
	if c.peer.seq != frames {
		t.Errorf("frames were heard up to %d of %d", c.peer.seq, frames)
	}
}
