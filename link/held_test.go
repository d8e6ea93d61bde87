package link

import (
	"context"
	"testing"

	"fmqm/message"
	"fmqm/queue"
)

// fullInbox is a store without room.
type fullInbox struct{ Inbox }

func (fullInbox) Accepted(message.Lane) Position { return Position{} }

func (fullInbox) Capacity(ctx context.Context, _ func(string)) error {
	<-ctx.Done()
	return ctx.Err()
}

// However small the frames are while the store has no room, a transport never keeps
// more than it can, and acknowledgements behind them are heard.
func TestDeliveriesThatAreHeldAreBounded(t *testing.T) {
	l := New(Options{Self: "A", Peer: "B", Session: 1, Inbox: fullInbox{}, Clock: idleClock{}})
	l.core = NewCore(Config{Self: "A", Peer: "B", Session: 1})
	p := &pipe{via: 1, wake: make(chan struct{}, 1)}
	l.pipes[1] = p
	l.core.peer = peer{session: 2, up: true}
	l.core.transports = []*transport{{via: 1, session: 2, greeted: true}}

	settled, at := 0, Position{}
	for n := range uint64(MaxHeld + 50) {
		payload := []byte("item")
		next := Position{Number: n + 1, Hash: queue.HashNext(at.Hash, payload)}
		f := &Frame{
			Version: 1, Type: FrameData, From: 2, To: 1, Seq: n + 1,
			Data: &Data{Lane: message.Lane(0), First: n + 1, Prev: at.Hash, End: next.Hash, Payloads: [][]byte{payload}},
		}
		l.take(p, f, Delivery{Settle: func() { settled++ }})
		at = next
	}
	if len(p.held) != MaxHeld || settled != 50 || l.core.in[0].received.Number != MaxHeld {
		t.Fatalf("%d deliveries are held, %d settled, %d items taken", len(p.held), settled, l.core.in[0].received.Number)
	}
	if l.core.peer.seq != MaxHeld+50 {
		t.Fatalf("frames were heeded up to %d", l.core.peer.seq)
	}
	l.cancel()
	l.wg.Wait()
}
