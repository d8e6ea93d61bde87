package daemon

import (
	"errors"
	"net"
	"sync"
	"syscall"
	"time"
)

// Bounds of what may be open on the port. They are there so that who opens connections
// and says nothing, or asks without end, takes neither the files that the store and
// programs need nor the places of others.
const (
	maxConnections  = 4096 // in all, on the port
	maxPerAddress   = 256  // from one address; a network behind one address has that many sites, say
	maxOnSocket     = 512  // on the socket, whose callers are of this machine
	shareOfFiles    = 2    // of the files that the daemon may open, the port takes at most one in so many
	maxHeader       = 64 << 10
	headerTimeout   = 10 * time.Second // for the TLS handshake, and for the head of a request
	idleTimeout     = 2 * time.Minute  // between two requests
	acceptAgain     = 50 * time.Millisecond
	acceptAgainMost = time.Second
)

// connections bounds the connections of a listener: one above a bound is closed at once,
// before anything of it is read. Safe for concurrent use.
type connections struct {
	net.Listener
	most, each int                         // in all, from one address; 0: no such bound
	refused    func(remote, reason string) // a connection was closed, or none can be taken

	mu   sync.Mutex
	open int
	of   map[string]int // by address
	end  chan struct{}
	once sync.Once
}

func bounded(l net.Listener, most, each int, refused func(remote, reason string)) *connections {
	return &connections{Listener: l, most: most, each: each, refused: refused, of: map[string]int{}, end: make(chan struct{})}
}

// Accept gives the next connection within the bounds. Too many open files, of the daemon
// or of the machine, pass: it waits, and goes on.
func (c *connections) Accept() (net.Conn, error) {
	pause := acceptAgain
	for {
		conn, err := c.Listener.Accept()
		switch {
		case err == nil:
		case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE), errors.Is(err, syscall.ENOBUFS), errors.Is(err, syscall.ENOMEM), errors.Is(err, syscall.ECONNABORTED):
			c.refused("", "no connection can be accepted: "+err.Error())
			select {
			case <-time.After(pause):
			case <-c.end:
			}
			pause = min(2*pause, acceptAgainMost)
			continue
		default:
			return nil, err
		}
		pause = acceptAgain
		from := host(conn.RemoteAddr().String())
		if reason := c.enter(from); reason != "" {
			_ = conn.Close()
			c.refused(from, reason)
			continue
		}
		return &counted{Conn: conn, leave: sync.OnceFunc(func() { c.leave(from) })}, nil
	}
}

// enter counts a connection, or says why there may be no more.
func (c *connections) enter(from string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.open >= c.most:
		return "too many connections are open to this node"
	case c.each > 0 && c.of[from] >= c.each:
		return "too many connections are open from this address"
	}
	c.open++
	c.of[from]++
	return ""
}

func (c *connections) leave(from string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open--
	if c.of[from]--; c.of[from] == 0 {
		delete(c.of, from)
	}
}

// Close ends the listener, and a pause.
func (c *connections) Close() error {
	c.once.Do(func() { close(c.end) })
	return c.Listener.Close()
}

// counted is a connection that leaves when it is closed.
type counted struct {
	net.Conn
	leave func()
}

// CloseWrite ends the sending half: a link lets its peer read to the end so.
func (c *counted) CloseWrite() error {
	half, ok := c.Conn.(interface{ CloseWrite() error })
	if !ok {
		return errors.ErrUnsupported
	}
	return half.CloseWrite()
}

func (c *counted) Close() error {
	defer c.leave()
	return c.Conn.Close()
}

// portConnections is how many connections the port may have: a share of the files that
// the daemon may open, so that store, programs and the socket always have theirs.
func portConnections() int {
	var files syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files); err != nil {
		return maxConnections
	}
	return int(min(maxConnections, max(16, files.Cur/shareOfFiles)))
}
