package daemon

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/netip"
	"sync"
	"time"
)

// secured gives the listener that speaks TLS where l listens. On an address of this
// machine alone what does not begin with TLS is taken as plain text, as it is without an
// identity: tools and tunnels on this machine go on working.
func secured(l net.Listener, config *tls.Config) net.Listener {
	if tcp, ok := l.Addr().(*net.TCPAddr); ok {
		if a, ok := netip.AddrFromSlice(tcp.IP); ok && a.Unmap().IsLoopback() {
			return split(l, config)
		}
	}
	return tls.NewListener(l, config)
}

// splitTimeout is how long a connection has to say with its first byte what it is.
const splitTimeout = 10 * time.Second

// acceptAgain is how long a listener that cannot accept waits.
const acceptAgain = 100 * time.Millisecond

// handshakeType is the first byte of every TLS connection, and of no HTTP request.
const handshakeType = 22

// splitListener gives TLS connections for those that begin so, and others as they are.
type splitListener struct {
	net.Listener
	config *tls.Config
	conns  chan net.Conn
	failed chan error // of the listener; one
	ctx    context.Context
	end    context.CancelFunc
	under  sync.WaitGroup
}

func split(l net.Listener, config *tls.Config) net.Listener {
	s := &splitListener{Listener: l, config: config, conns: make(chan net.Conn), failed: make(chan error, 1)}
	s.ctx, s.end = context.WithCancel(context.Background())
	s.under.Add(1)
	go s.take()
	return s
}

func (s *splitListener) take() {
	defer s.under.Done()
	for {
		c, err := s.Listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			s.failed <- err
			return
		}
		if err != nil { // too many open files, say: that passes
			select {
			case <-time.After(acceptAgain):
			case <-s.ctx.Done():
			}
			continue
		}
		s.under.Add(1)
		go s.look(c.(*net.TCPConn))
	}
}

// look waits for the first byte, and hands the connection on.
func (s *splitListener) look(c *net.TCPConn) {
	defer s.under.Done()
	stop := context.AfterFunc(s.ctx, func() { _ = c.Close() })
	first := &begun{TCPConn: c}
	err := c.SetReadDeadline(time.Now().Add(splitTimeout))
	if err == nil {
		first.left, err = c.Read(first.byte[:])
	}
	if err == nil {
		err = c.SetReadDeadline(time.Time{})
	}
	if !stop() || err != nil {
		_ = c.Close()
		return
	}
	var conn net.Conn = first
	if first.byte[0] == handshakeType {
		conn = tls.Server(first, s.config)
	}
	select {
	case s.conns <- conn:
	case <-s.ctx.Done():
		_ = c.Close()
	}
}

func (s *splitListener) Accept() (net.Conn, error) {
	select {
	case c := <-s.conns:
		return c, nil
	case err := <-s.failed:
		s.failed <- err // for the next call
		return nil, err
	}
}

// Close ends the listener, and the connections that have said nothing.
func (s *splitListener) Close() error {
	s.end()
	err := s.Listener.Close()
	s.under.Wait()
	return err
}

// begun is a connection of which the first byte was read.
type begun struct {
	*net.TCPConn
	byte [1]byte
	left int
}

func (b *begun) Read(p []byte) (int, error) {
	if b.left > 0 && len(p) > 0 {
		b.left = 0
		p[0] = b.byte[0]
		return 1, nil
	}
	return b.TCPConn.Read(p)
}
