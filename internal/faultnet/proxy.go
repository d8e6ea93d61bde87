// Package faultnet is a TCP proxy for tests that does to connections what networks do:
// it delays, slows, cuts and swallows, as told while it runs. It also gives tests ports that
// nobody else is given ([Port]).
package faultnet

import (
	"errors"
	"fmt"
	"net"
	"sync"
	"time"
)

// Direction says which way bytes go.
type Direction uint8

// The directions.
const (
	ToServer Direction = 1 << iota
	ToClient
	Both = ToServer | ToClient
)

// Faults is what happens to the bytes of all connections, those that are there and
// those to come. The zero value is a good network.
type Faults struct {
	Delay time.Duration // of each byte, each way
	Rate  int           // bytes a second, each way of each connection; 0: as fast as it goes
	// Silent directions are not forwarded: the sockets stay open, half-open in effect.
	// What was sent meanwhile goes on its way afterwards, as TCP would send it again.
	Silent Direction
	// Refuse resets new connections; BlackHole takes them, and nothing comes of it.
	Refuse, BlackHole bool
}

// Proxy forwards connections from a port on 127.0.0.1. Its methods are safe for
// concurrent use.
type Proxy struct {
	listener net.Listener
	wg       sync.WaitGroup

	mu      sync.Mutex
	target  string
	faults  Faults
	changed chan struct{} // closed and made anew when faults change
	limit   int64         // bytes until all connections are cut; negative: none
	unheard int           // so many of the next connections are reset once an answer comes
	wires   map[*wire]bool
	total   int
	closed  bool
}

// Listen starts a proxy to target, host:port.
func Listen(target string) (*Proxy, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("faultnet: %w", err)
	}
	p := &Proxy{listener: l, target: target, changed: make(chan struct{}), limit: -1, wires: map[*wire]bool{}}
	p.wg.Add(1)
	go p.accept()
	return p, nil
}

// Addr is where to connect instead of the target.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// Target changes where new connections go.
func (p *Proxy) Target(addr string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.target = addr
}

// Set replaces the faults.
func (p *Proxy) Set(f Faults) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.faults = f
	close(p.changed)
	p.changed = make(chan struct{})
}

// Cut resets all connections.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cut()
}

func (p *Proxy) cut() {
	for w := range p.wires {
		w.reset()
	}
}

// CutAfter resets all connections once n more bytes were forwarded, both ways together.
func (p *Proxy) CutAfter(n int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.limit = n
}

// DropAnswers has the next n connections lose their answer: what is asked goes through, and
// when the first of the answer comes the connection is reset.
func (p *Proxy) DropAnswers(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.unheard = n
}

// Counts gives how many connections there are, and how many there were in all.
func (p *Proxy) Counts() (open, total int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.wires), p.total
}

// Close ends everything and waits for it.
func (p *Proxy) Close() error {
	p.mu.Lock()
	p.closed = true
	p.cut()
	p.mu.Unlock()
	err := p.listener.Close()
	p.wg.Wait()
	return err
}

// state gives the faults, and a channel that is closed when there are others.
func (p *Proxy) state() (Faults, <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.faults, p.changed
}

// budget takes up to n bytes off what may be forwarded before the cut.
func (p *Proxy) budget(n int) (allowed int, cut bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.limit < 0 || int64(n) < p.limit {
		if p.limit > 0 {
			p.limit -= int64(n)
		}
		return n, false
	}
	allowed = int(p.limit)
	p.limit = -1
	return allowed, true
}

func (p *Proxy) accept() {
	defer p.wg.Done()
	for {
		c, err := p.listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err == nil {
			p.take(c.(*net.TCPConn))
		}
	}
}

// take begins a connection.
func (p *Proxy) take(client *net.TCPConn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.total++
	if p.closed || p.faults.Refuse {
		reset(client)
		return
	}
	w := &wire{proxy: p, client: client, quit: make(chan struct{}), unheard: p.unheard > 0}
	p.unheard = max(0, p.unheard-1)
	p.wires[w] = true
	p.wg.Add(1)
	if p.faults.BlackHole {
		go w.swallow()
		return
	}
	go w.run(p.target)
}

func (p *Proxy) forget(w *wire) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.wires, w)
}

// reset closes with RST instead of FIN.
func reset(c *net.TCPConn) {
	_ = c.SetLinger(0)
	_ = c.Close()
}
