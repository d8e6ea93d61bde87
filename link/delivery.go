package link

import (
	"slices"

	"fmqm/message"
)

// MaxHeld is how many deliveries a connection has at most that are not settled. A
// transport that bounds them itself must have room for so many, or acknowledgements
// that come behind them would not be heard.
const MaxHeld = 256

// held is a delivery whose items are on the way to the disk.
type held struct {
	lane   message.Lane
	end    uint64 // number of its last item
	settle func()
}

func (d Delivery) settle() {
	if d.Settle != nil {
		d.Settle()
	}
}

// receive reads a frame; where the transport keeps nothing there is nothing to settle.
func receive(conn Conn) (Delivery, error) {
	if keeper, ok := conn.(Deliverer); ok {
		return keeper.Receive()
	}
	frame, err := conn.Recv()
	return Delivery{Frame: frame}, err
}

// take gives the core a frame that its transport keeps. What the core takes of it is
// held until it is on disk; all else is settled at once, so that nothing stays for
// ever. Over the limit the items count as lost, and the rest of the frame does not.
func (l *Link) take(p *pipe, f *Frame, d Delivery) {
	if f.Type != FrameData {
		d.settle()
		l.step(Received{Via: p.via, Frame: f})
		return
	}
	data := f.Data
	if len(p.held) >= MaxHeld {
		d.settle()
		rest := *f
		rest.Type, rest.Data = FrameAck, nil
		l.step(Received{Via: p.via, Frame: &rest})
		return
	}
	in := &l.core.in[data.Lane]
	before := in.received.Number
	l.step(Received{Via: p.via, Frame: f})
	if in.received.Number <= before {
		d.settle()
		return
	}
	p.held = append(p.held, held{lane: data.Lane, end: in.received.Number, settle: d.Settle})
}

// settle lets go of the deliveries whose items are on disk, and of those whose items were
// dropped: a broker acknowledges in order, so that one which stays keeps all that came
// behind it, also for other peers.
func (l *Link) settle(lane message.Lane) {
	in := &l.core.in[lane]
	for _, p := range l.pipes {
		p.held = slices.DeleteFunc(p.held, func(h held) bool {
			done := h.lane == lane && (h.end <= in.accepted.Number || h.end > in.received.Number)
			if done {
				h.settle()
			}
			return done
		})
	}
}
