package amqp

import (
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"time"

	"fmqm/link"
	"fmqm/link/frame"
)

// sendTimeout is how long Send waits for room.
const sendTimeout = 60 * time.Second

// Conn is a virtual connection to a peer: what one end sends reaches the other, unless it
// is lost. It is a link.Deliverer.
type Conn struct {
	p     *peer
	ready chan struct{} // something is in the inbox
	room  chan struct{} // something was sent
	done  chan struct{} // closed at the end
	heard atomic.Int64
	timer func() bool

	// Under the peer's lock.
	inbox [][]byte
	bytes int    // of inbox
	told  string // the hindrance that Receive has told of
	err   error
}

var _ link.Deliverer = (*Conn)(nil)

func (c *Conn) signal() {
	select {
	case c.ready <- struct{}{}:
	default:
	}
}

// Send gives a frame to the peer's sender. It blocks while that has much to send, and
// does not wait for the broker to confirm it.
func (c *Conn) Send(data []byte) error {
	if len(data) == 0 || len(data) > frame.MaxFrame {
		return fmt.Errorf("send frame of %d bytes: expected 1 to %d", len(data), frame.MaxFrame)
	}
	var timeout <-chan time.Time
	for {
		sent, err := c.trySend(data)
		if sent || err != nil {
			return err
		}
		if timeout == nil {
			timer := time.NewTimer(sendTimeout)
			defer timer.Stop()
			timeout = timer.C
		}
		select {
		case <-c.room:
		case <-c.done:
		case <-timeout:
			reason := c.p.b.why()
			if reason == "" {
				reason = "the broker does not accept messages"
			}
			c.fail(errors.New(reason))
		}
	}
}

func (c *Conn) trySend(frame []byte) (bool, error) {
	p := c.p
	p.mu.Lock()
	defer p.mu.Unlock()
	if c.err != nil {
		return false, fmt.Errorf("send frame: %w", c.err)
	}
	if p.queued > 0 && p.queued+len(frame) > maxQueued {
		return false, nil
	}
	p.number++
	for _, piece := range pack(frame, p.number) {
		p.pieces = append(p.pieces, piece)
		p.queued += len(piece)
	}
	p.signal()
	return true, nil
}

// Receive gives the next frame, or word of a
// hindrance, where that has changed. What came before the end is given first.
func (c *Conn) Receive() (link.Delivery, error) {
	for {
		c.p.mu.Lock()
		if why := c.p.hindrance(); why != c.told && c.err == nil {
			c.told = why
			c.p.mu.Unlock()
			return link.Delivery{Hindrance: &why}, nil
		}
		if len(c.inbox) > 0 {
			frame := c.inbox[0]
			c.inbox[0], c.inbox = nil, c.inbox[1:]
			c.bytes -= len(frame)
			c.p.mu.Unlock()
			return link.Delivery{Frame: frame}, nil
		}
		err := c.err
		c.p.mu.Unlock()
		if err != nil {
			return link.Delivery{}, fmt.Errorf("receive frame: %w", err)
		}
		select {
		case <-c.ready:
		case <-c.done:
		}
	}
}

// Recv gives the next frame.
func (c *Conn) Recv() ([]byte, error) {
	for {
		d, err := c.Receive()
		switch {
		case err != nil:
			return nil, err
		case d.Hindrance == nil:
			return d.Frame, nil
		}
	}
}

// LastHeard is when the peer last proved that it is there.
func (c *Conn) LastHeard() time.Time { return time.Unix(0, c.heard.Load()) }

// Close ends the connection; what was sent before still goes to the broker.
func (c *Conn) Close() error {
	c.fail(net.ErrClosed)
	return nil
}

// fail ends the connection for a reason, once.
func (c *Conn) fail(reason error) {
	p := c.p
	p.mu.Lock()
	if c.err != nil {
		p.mu.Unlock()
		return
	}
	c.err = reason
	if p.conn == c {
		p.conn = nil
		p.parts.reset()
		p.change()
	}
	if errors.Is(reason, net.ErrClosed) {
		c.inbox, c.bytes = nil, 0
	}
	c.timer()
	p.mu.Unlock()
	close(c.done)
}
