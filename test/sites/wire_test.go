package sites

import (
	"io"
	"net"
	"sync"
	"testing"
)

// wire is a TCP proxy between two daemons, which can be cut.
type wire struct {
	listener net.Listener
	to       string // where it leads
	closing  sync.WaitGroup

	mu    sync.Mutex
	cut   bool
	conns map[net.Conn]bool
	// deaf, if above 0, is how many connections lose their answer: what is asked goes
	// through, and when the first byte of the answer comes the connection ends.
	deaf int
}

func newWire(t *testing.T, to string) *wire {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &wire{listener: l, to: to, conns: map[net.Conn]bool{}}
	w.closing.Add(1)
	go w.serve()
	t.Cleanup(func() {
		_ = l.Close()
		w.set(true)
		w.closing.Wait()
	})
	return w
}

func (w *wire) address() string { return w.listener.Addr().String() }

// set cuts the wire, with all connections over it, or mends it.
func (w *wire) set(cut bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cut = cut
	if cut {
		for c := range w.conns {
			_ = c.Close()
		}
	}
}

func (w *wire) serve() {
	defer w.closing.Done()
	for {
		c, err := w.listener.Accept()
		if err != nil {
			return
		}
		w.closing.Add(1)
		go func() {
			defer w.closing.Done()
			w.carry(c)
		}()
	}
}

// add keeps connections for the cut; false if the wire is cut already.
func (w *wire) add(conns ...net.Conn) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range conns {
		w.conns[c] = true
	}
	return !w.cut
}

func (w *wire) carry(from net.Conn) {
	defer from.Close()
	to, err := net.Dial("tcp", w.to)
	if err != nil {
		return
	}
	defer to.Close()
	defer func() {
		w.mu.Lock()
		delete(w.conns, from)
		delete(w.conns, to)
		w.mu.Unlock()
	}()
	if !w.add(from, to) {
		return
	}
	w.closing.Add(1)
	go func() {
		defer w.closing.Done()
		_, _ = io.Copy(to, from)
		_ = to.Close()
	}()
	if w.isDeaf() {
		_, _ = to.Read(make([]byte, 1))
		return
	}
	_, _ = io.Copy(from, to)
}

// deafen lets so many connections lose their answer.
func (w *wire) deafen(connections int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.deaf = connections
}

// isDeaf takes one of the connections that lose their answer, if there is one.
func (w *wire) isDeaf() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.deaf--
	return w.deaf >= 0
}
