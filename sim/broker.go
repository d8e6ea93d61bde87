package sim

import (
	"context"
	"io"
	"sync"

	"fmqm/link"
	"fmqm/processtable"
)

// broker keeps frames for sites, whether they are there or not. It loses one in
// loseEvery and repeats one in repeatEvery, and when a box is full what comes.
type broker struct {
	mu    sync.Mutex
	boxes map[[2]processtable.NodeID]chan []byte // from, to
	count int
}

const (
	boxSize     = 256
	loseEvery   = 97
	repeatEvery = 31
)

func newBroker() *broker { return &broker{boxes: map[[2]processtable.NodeID]chan []byte{}} }

func (b *broker) box(from, to processtable.NodeID) chan []byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	key := [2]processtable.NodeID{from, to}
	if b.boxes[key] == nil {
		b.boxes[key] = make(chan []byte, boxSize)
	}
	return b.boxes[key]
}

// put keeps a frame, or loses it.
func (b *broker) put(box chan<- []byte, frame []byte) {
	b.mu.Lock()
	b.count++
	n := b.count
	b.mu.Unlock()
	copies := 1
	switch {
	case n%loseEvery == 0:
		copies = 0
	case n%repeatEvery == 0:
		copies = 2
	}
	for range copies {
		select {
		case box <- frame:
		default:
		}
	}
}

// brokered is the route of one site to another through the broker. It is a link.Dialer.
type brokered struct {
	broker   *broker
	from, to processtable.NodeID
}

func (d brokered) Dial(context.Context) (link.Conn, error) {
	return &brokerConn{
		broker: d.broker, out: d.broker.box(d.from, d.to), in: d.broker.box(d.to, d.from), gone: make(chan struct{}),
	}, nil
}

type brokerConn struct {
	broker *broker
	out    chan<- []byte
	in     <-chan []byte
	gone   chan struct{}
	once   sync.Once
}

func (c *brokerConn) Send(frame []byte) error {
	select {
	case <-c.gone:
		return io.ErrClosedPipe
	default:
	}
	c.broker.put(c.out, append([]byte(nil), frame...))
	return nil
}

func (c *brokerConn) Recv() ([]byte, error) {
	select {
	case <-c.gone:
		return nil, io.EOF
	default:
	}
	select {
	case frame := <-c.in:
		return frame, nil
	case <-c.gone:
		return nil, io.EOF
	}
}

func (c *brokerConn) Close() error {
	c.once.Do(func() { close(c.gone) })
	return nil
}
