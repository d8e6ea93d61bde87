package faultnet

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"time"
)

const (
	chunkSize = 16 << 10
	chunks    = 64 // under way in each direction
)

// wire is one connection.
type wire struct {
	proxy  *Proxy
	client *net.TCPConn

	unheard bool // it is reset once an answer comes

	mu     sync.Mutex
	server *net.TCPConn
	quit   chan struct{}
	over   bool
}

// reset ends both sides with RST; any goroutine may.
func (w *wire) reset() { w.end(reset) }

// end ends both sides, unless that was done.
func (w *wire) end(how func(*net.TCPConn)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.over {
		return
	}
	w.over = true
	close(w.quit)
	how(w.client)
	if w.server != nil {
		how(w.server)
	}
}

// swallow reads what comes and forwards nothing, until the client gives up.
func (w *wire) swallow() {
	defer w.proxy.wg.Done()
	defer w.proxy.forget(w)
	defer w.reset()
	_, _ = io.Copy(io.Discard, w.client)
}

func (w *wire) run(target string) {
	defer w.proxy.wg.Done()
	defer w.proxy.forget(w)
	defer w.reset()
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		<-w.quit
		cancel()
	}()
	c, err := (&net.Dialer{}).DialContext(ctx, "tcp", target)
	if err != nil {
		return
	}
	server := c.(*net.TCPConn)
	w.mu.Lock()
	w.server = server
	over := w.over
	w.mu.Unlock()
	if over {
		reset(server)
		return
	}
	var both sync.WaitGroup
	both.Go(func() { w.forward(server, w.client, ToServer) })
	both.Go(func() { w.forward(w.client, server, ToClient) })
	both.Wait()
	w.end(func(c *net.TCPConn) { _ = c.Close() }) // what is on its way still arrives
}

// chunk is what was read at once, and when.
type chunk struct {
	data []byte
	read time.Time
}

// forward carries one direction: the end is passed on as an end, a failure as a reset.
func (w *wire) forward(to, from *net.TCPConn, d Direction) {
	queue := make(chan chunk, chunks)
	failed := make(chan error, 1)
	go func() {
		defer close(queue)
		failed <- w.read(from, queue)
	}()
	for c := range queue {
		if w.unheard && d == ToClient || w.wait(c, d) != nil || w.write(to, c.data) != nil {
			w.reset()
			for range queue { // until the reader is gone
			}
			return
		}
	}
	if !errors.Is(<-failed, io.EOF) {
		w.reset()
	} else if w.wait(chunk{read: time.Now()}, d) == nil {
		_ = to.CloseWrite()
	}
}

func (w *wire) read(from *net.TCPConn, queue chan<- chunk) error {
	for {
		data := make([]byte, chunkSize)
		n, err := from.Read(data)
		if n > 0 {
			select {
			case queue <- chunk{data: data[:n], read: time.Now()}:
			case <-w.quit:
				return net.ErrClosed
			}
		}
		if err != nil {
			return err
		}
	}
}

// wait lets the faults of the moment pass.
func (w *wire) wait(c chunk, d Direction) error {
	for {
		f, changed := w.proxy.state()
		due := time.Until(c.read.Add(f.Delay))
		if f.Rate > 0 {
			due = max(due, 0) + time.Duration(len(c.data))*time.Second/time.Duration(f.Rate)
		}
		switch {
		case f.Silent&d != 0:
			due = time.Hour
		case due <= 0:
			return nil
		}
		timer := time.NewTimer(due)
		select {
		case <-timer.C:
			if f.Silent&d == 0 {
				return nil
			}
		case <-changed:
			timer.Stop()
		case <-w.quit:
			timer.Stop()
			return net.ErrClosed
		}
	}
}

func (w *wire) write(to *net.TCPConn, data []byte) error {
	allowed, cut := w.proxy.budget(len(data))
	_, err := to.Write(data[:allowed])
	if cut {
		w.proxy.Cut()
		return net.ErrClosed
	}
	return err
}
