package daemon

import (
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"testing"
	"time"
)

// scripted is a listener that gives what a test says.
type scripted struct {
	conns chan net.Conn
	errs  chan error
	done  chan struct{}
	once  sync.Once
}

func (s *scripted) Accept() (net.Conn, error) {
	select {
	case err := <-s.errs:
		return nil, err
	default:
	}
	select {
	case c := <-s.conns:
		return c, nil
	case err := <-s.errs:
		return nil, err
	case <-s.done:
		return nil, net.ErrClosed
	}
}
func (s *scripted) Close() error   { s.once.Do(func() { close(s.done) }); return nil }
func (s *scripted) Addr() net.Addr { return &net.TCPAddr{} }

type fromConn struct {
	net.Conn
	from string
	shut chan struct{}
	once sync.Once
}

func (f *fromConn) RemoteAddr() net.Addr { return &net.TCPAddr{IP: net.ParseIP(f.from), Port: 9} }
func (f *fromConn) Close() error         { f.once.Do(func() { close(f.shut) }); return nil }

func from(address string) *fromConn { return &fromConn{from: address, shut: make(chan struct{})} }

// One address takes no more than its share, all together no more than theirs; what is
// above is closed at once, and a place is free when its connection is closed.
func TestConnectionsAreBounded(t *testing.T) {
	in := &scripted{conns: make(chan net.Conn, 16), errs: make(chan error, 1), done: make(chan struct{})}
	var said []string
	l := bounded(in, 3, 2, func(remote, reason string) { said = append(said, remote+": "+reason) })
	a1, a2, a3, b1, c1 := from("10.0.0.1"), from("10.0.0.1"), from("10.0.0.1"), from("10.0.0.2"), from("10.0.0.3")
	accept := func(sent ...*fromConn) net.Conn {
		t.Helper()
		for _, s := range sent {
			in.conns <- s
		}
		c, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	first := accept(a1)
	accept(a2)
	accept(a3, b1) // a3 is the third of its address
	select {
	case <-a3.shut:
	default:
		t.Error("the third connection of one address is open")
	}
	in.conns <- c1
	d1 := from("10.0.0.4")
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if err := first.Close(); err != nil { // twice is once
		t.Fatal(err)
	}
	if _, err := l.Accept(); err != nil {
		t.Fatal(err)
	}
	in.conns <- d1
	go func() { <-d1.shut; _ = l.Close() }()
	if _, err := l.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("after the last: %v", err)
	}
	want := []string{"10.0.0.1: too many connections are open from this address", "10.0.0.4: too many connections are open to this node"}
	if len(said) != 2 || said[0] != want[0] || said[1] != want[1] {
		t.Errorf("said %q, want %q", said, want)
	}
}

// The sending half of a connection can be closed: what is on its way is read to the end.
func TestAHalfOfACountedConnectionIsClosed(t *testing.T) {
	in, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := bounded(in, 3, 2, func(string, string) {})
	defer l.Close()
	caller, err := net.Dial("tcp", in.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer caller.Close()
	c, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	half, ok := c.(interface{ CloseWrite() error })
	if !ok {
		t.Fatal("it has no half")
	}
	if err := half.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if n, err := caller.Read(make([]byte, 1)); n != 0 || !errors.Is(err, io.EOF) {
		t.Errorf("the caller reads %d bytes, %v", n, err)
	}
	if _, err := caller.Write([]byte("x")); err != nil {
		t.Error(err)
	}
	if n, err := c.Read(make([]byte, 1)); n != 1 || err != nil {
		t.Errorf("the other half reads %d bytes, %v", n, err)
	}
}

// Too many open files end no listener: it waits, says so, and goes on; and a listener
// that waits can be closed.
func TestTooManyFilesPass(t *testing.T) {
	in := &scripted{conns: make(chan net.Conn, 1), errs: make(chan error, 2), done: make(chan struct{})}
	in.errs <- &net.OpError{Op: "accept", Err: os.NewSyscallError("accept4", syscall.EMFILE)}
	in.errs <- &net.OpError{Op: "accept", Err: os.NewSyscallError("accept4", syscall.ENFILE)}
	in.conns <- from("10.0.0.1")
	var said int
	l := bounded(in, 3, 2, func(string, string) { said++ })
	if _, err := l.Accept(); err != nil || said != 2 {
		t.Errorf("%v, said %d times", err, said)
	}
	ended := make(chan error, 1)
	in.errs <- syscall.EMFILE
	go func() { _, err := l.Accept(); ended <- err }()
	_ = l.Close()
	select {
	case err := <-ended:
		if !errors.Is(err, net.ErrClosed) {
			t.Error(err)
		}
	case <-time.After(5 * time.Minute):
		t.Error("it still waits")
	}
}
