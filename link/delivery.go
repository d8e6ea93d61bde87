package link

// MaxHeld is how many deliveries a connection has at most that are not settled. A
// transport that bounds them itself must have room for so many, or acknowledgements
// that come behind them would not be heard.
const MaxHeld = 256

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

// take gives the core a frame that its transport keeps.
func (l *Link) take(p *pipe, f *Frame, d Delivery) {
	p.lastDelivery++
	p.held[p.lastDelivery] = d.Settle
	l.step(Received{Via: p.via, Frame: f, Delivery: p.lastDelivery})
}

// settle lets a delivery go.
func (p *pipe) settle(id DeliveryID) {
	p.held[id]()
	delete(p.held, id)
}
