package sim

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"fmqm/link"
	"fmqm/message"
	"fmqm/processtable"
)

// wires are the connections between sites. A wire that is cut loses its connections
// and carries no new ones until it is mended.
type wires struct {
	delay [link.Lanes]time.Duration
	clock *Clock

	mu        sync.Mutex
	cut       map[pair]bool
	conns     map[*conn]pair
	listening map[processtable.NodeID]func(link.Conn)
}

// pair names the wire between two sites, whichever comes first.
type pair [2]processtable.NodeID

func pairOf(a, b processtable.NodeID) pair {
	if b < a {
		a, b = b, a
	}
	return pair{a, b}
}

func newWires() *wires {
	return &wires{cut: map[pair]bool{}, conns: map[*conn]pair{}, listening: map[processtable.NodeID]func(link.Conn){}}
}

// listen says who takes the connections to a site; nil: nobody, the site is down.
func (w *wires) listen(site processtable.NodeID, accept func(link.Conn)) {
	w.mu.Lock()
	w.listening[site] = accept
	w.mu.Unlock()
	if accept == nil {
		w.drop(func(p pair) bool { return p[0] == site || p[1] == site })
	}
}

// set cuts or mends the wire between two sites.
func (w *wires) set(p pair, cut bool) {
	w.mu.Lock()
	w.cut[p] = cut
	w.mu.Unlock()
	if cut {
		w.drop(func(other pair) bool { return other == p })
	}
}

// drop ends the connections of some wires.
func (w *wires) drop(of func(pair) bool) {
	w.mu.Lock()
	var ends []*conn
	for c, p := range w.conns {
		if of(p) {
			ends = append(ends, c)
		}
	}
	w.mu.Unlock()
	for _, c := range ends {
		_ = c.Close()
	}
}

func (w *wires) forget(c *conn) {
	w.mu.Lock()
	delete(w.conns, c)
	w.mu.Unlock()
}

// dialer dials one site from another. It is a link.Dialer.
type dialer struct {
	wires    *wires
	from, to processtable.NodeID
}

var errNoRoute = errors.New("no route")

func (d dialer) Dial(context.Context) (link.Conn, error) {
	w := d.wires
	p := pairOf(d.from, d.to)
	w.mu.Lock()
	defer w.mu.Unlock()
	accept := w.listening[d.to]
	if w.cut[p] || accept == nil || w.listening[d.from] == nil {
		return nil, fmt.Errorf("dial %s: %w", d.to, errNoRoute)
	}
	one, other := newConns(w)
	w.conns[one], w.conns[other] = p, p
	accept(other)
	return one, nil
}

// conn is one end of a connection.
type conn struct {
	wires    *wires
	out, in  chan []byte
	gone     chan struct{} // closed with either end
	end      *sync.Once
	opposite *conn

	mu   sync.Mutex
	late [link.Lanes][][]byte // frames that are delayed, in their order
}

// inFlight is how many frames a connection holds before Send waits.
const inFlight = 16

func newConns(w *wires) (one, other *conn) {
	a, b := make(chan []byte, inFlight), make(chan []byte, inFlight)
	gone, end := make(chan struct{}), &sync.Once{}
	one = &conn{wires: w, out: a, in: b, gone: gone, end: end}
	other = &conn{wires: w, out: b, in: a, gone: gone, end: end, opposite: one}
	one.opposite = other
	return one, other
}

func (c *conn) Send(frame []byte) error {
	select {
	case <-c.gone:
		return io.ErrClosedPipe
	default:
	}
	frame = append([]byte(nil), frame...)
	if lane, d := c.wires.delayOf(frame); d > 0 {
		c.mu.Lock()
		c.late[lane] = append(c.late[lane], frame)
		c.mu.Unlock()
		c.wires.clock.AfterFunc(d, func() { c.sendLate(lane) })
		return nil
	}
	return c.put(frame)
}

func (c *conn) put(frame []byte) error {
	select {
	case c.out <- frame:
		return nil
	case <-c.gone:
		return io.ErrClosedPipe
	}
}

// sendLate sends the oldest frame of a lane that is delayed. The lock keeps their order.
func (c *conn) sendLate(lane message.Lane) {
	c.mu.Lock()
	defer c.mu.Unlock()
	frame := c.late[lane][0]
	c.late[lane] = c.late[lane][1:]
	_ = c.put(frame) // one that is gone loses it
}

// delayOf says by how much a frame comes later: messages by their lane.
func (w *wires) delayOf(frame []byte) (message.Lane, time.Duration) {
	if w.delay == ([link.Lanes]time.Duration{}) {
		return 0, 0
	}
	f, err := link.Decode(frame)
	if err != nil || f.Data == nil {
		return 0, 0
	}
	return f.Data.Lane, w.delay[f.Data.Lane]
}

// Recv loses what is still on the way when the connection ends.
func (c *conn) Recv() ([]byte, error) {
	select {
	case frame := <-c.in:
		return frame, nil
	case <-c.gone:
		return nil, io.EOF
	}
}

func (c *conn) Close() error {
	c.end.Do(func() { close(c.gone) })
	c.wires.forget(c)
	c.wires.forget(c.opposite)
	return nil
}
