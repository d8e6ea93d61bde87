package https

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"fmqm/identity"
	"fmqm/link"
	"fmqm/link/frame"
	"fmqm/processtable"
)

const (
	// Timeout is how long a connection may be silent, and a piece of a frame may take.
	Timeout = 45 * time.Second
	// pieceSize is that of such a piece: 1 KiB a second. A frame as a whole takes what the line
	// needs for it; who drips is cut off.
	pieceSize = int(Timeout/time.Second) << 10
	// PingEvery is how long a connection may be idle before a ping.
	PingEvery = 15 * time.Second
	// HelloTimeout is how long the first frame may take, whatever pings come before it.
	HelloTimeout = 10 * time.Second
)

// Conn is an upgraded connection. It is a link.Conn.
type Conn struct {
	conn  net.Conn
	peer  processtable.NodeID // whose certificate the other end has; "" in plain text
	in    *bufio.Reader
	out   *bufio.Writer // where a socket does not do it: head and frame go out together
	limit int           // of the next frame
	wait  time.Duration
	heard atomic.Int64

	ping  *time.Timer
	every time.Duration
	mu    sync.Mutex // one write at a time: frames and pings
	head  [4]byte
	ended bool

	believing believing
}

// believing is what watches over the certificate of the other end.
type believing struct {
	mu     sync.Mutex
	closed bool
	end    func()                // nil: nothing does
	broken atomic.Pointer[error] // why the connection was ended
}

// believe has the connection end once the certificate of the other end is not accepted any
// more.
func (c *Conn) believe(id *identity.Identity, w identity.Watched) {
	end := id.Watch(w, func(err error) {
		err = fmt.Errorf("site %s is no longer accepted: %w", c.peer, err)
		c.believing.broken.Store(&err)
		_ = c.Close()
	})
	b := &c.believing
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		end()
		return
	}
	b.end = end
}

// close ends watching.
func (b *believing) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	if b.end != nil {
		b.end()
	}
}

var _ link.Conn = (*Conn)(nil)

// newConn takes over a connection of which in may have read ahead.
func newConn(c net.Conn, in *bufio.Reader, pingEvery time.Duration) *Conn {
	conn := &Conn{conn: c, in: in, limit: frame.MaxHello, wait: HelloTimeout, every: pingEvery}
	if _, ok := c.(*net.TCPConn); !ok {
		conn.out = bufio.NewWriterSize(c, 16<<10) // what one record of TLS takes
	}
	conn.heard.Store(time.Now().UnixNano())
	conn.mu.Lock()
	conn.ping = time.AfterFunc(pingEvery, conn.sendPing)
	conn.mu.Unlock()
	return conn
}

// Send writes one frame.
func (c *Conn) Send(data []byte) error {
	if len(data) == 0 || len(data) > frame.MaxFrame {
		return fmt.Errorf("send frame of %d bytes: expected 1 to %d", len(data), frame.MaxFrame)
	}
	return c.write(data)
}

func (c *Conn) sendPing() {
	if err := c.write(nil); err != nil {
		_ = c.Close()
	}
}

func (c *Conn) write(frame []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		return net.ErrClosed
	}
	binary.BigEndian.PutUint32(c.head[:], uint32(len(frame)))
	if err := c.put(frame); err != nil {
		return fmt.Errorf("send frame: %w", err)
	}
	c.ping.Reset(c.every)
	return nil
}

// put writes the head and the frame, piece by piece.
func (c *Conn) put(frame []byte) error {
	piece, rest := cut(frame)
	if err := c.putFirst(piece); err != nil {
		return err
	}
	for len(rest) > 0 {
		piece, rest = cut(rest)
		if err := c.putPiece(piece); err != nil {
			return err
		}
	}
	if c.out == nil {
		return nil
	}
	return c.out.Flush()
}

// cut gives the first piece of a frame, and the rest.
func cut(frame []byte) (piece, rest []byte) {
	n := min(len(frame), pieceSize)
	return frame[:n], frame[n:]
}

// putFirst writes the head with the first piece.
func (c *Conn) putFirst(piece []byte) error {
	if c.out != nil {
		_, _ = c.out.Write(c.head[:]) // into the buffer, which is empty
		return c.putPiece(piece)
	}
	if err := c.conn.SetWriteDeadline(time.Now().Add(Timeout)); err != nil {
		return err
	}
	buffers := net.Buffers{c.head[:], piece}
	_, err := buffers.WriteTo(c.conn)
	return err
}

func (c *Conn) putPiece(piece []byte) error {
	if err := c.conn.SetWriteDeadline(time.Now().Add(Timeout)); err != nil {
		return err
	}
	if c.out == nil {
		_, err := c.conn.Write(piece)
		return err
	}
	_, err := c.out.Write(piece)
	return err
}

// Peer is the node whose certificate the other end has; empty where there is none: in
// plain text nobody has proved anything.
func (c *Conn) Peer() processtable.NodeID { return c.peer }

// Recv reads one frame.
func (c *Conn) Recv() ([]byte, error) {
	frame, err := c.recv()
	if why := c.believing.broken.Load(); err != nil && why != nil {
		err = *why
	}
	return frame, err
}

func (c *Conn) recv() ([]byte, error) {
	late := time.Now().Add(c.wait)
	for {
		if err := c.conn.SetReadDeadline(late); err != nil {
			return nil, fmt.Errorf("receive frame: %w", err)
		}
		var head [4]byte
		if _, err := io.ReadFull(c.in, head[:]); err != nil {
			return nil, fmt.Errorf("receive frame: %w", err)
		}
		c.heard.Store(time.Now().UnixNano())
		n := binary.BigEndian.Uint32(head[:])
		if n == 0 {
			if c.limit != frame.MaxHello { // pings alone would keep open what nobody has said hello on
				late = time.Now().Add(c.wait)
			}
			continue
		}
		if n > uint32(c.limit) {
			return nil, fmt.Errorf("receive frame of %d bytes: at most %d", n, c.limit)
		}
		data := make([]byte, n)
		if err := c.read(data); err != nil {
			return nil, fmt.Errorf("receive frame: it ends early: %w", err)
		}
		c.limit, c.wait = frame.MaxFrame, Timeout
		return data, nil
	}
}

// read reads a frame, piece by piece. What comes before anybody has said hello has no more time
// than it has.
func (c *Conn) read(rest []byte) error {
	for len(rest) > 0 {
		if c.limit != frame.MaxHello {
			if err := c.conn.SetReadDeadline(time.Now().Add(c.wait)); err != nil {
				return err
			}
		}
		var piece []byte
		piece, rest = cut(rest)
		if _, err := io.ReadFull(c.in, piece); err != nil {
			return err
		}
		c.heard.Store(time.Now().UnixNano())
	}
	return nil
}

// CloseWrite ends the sending half: the other side reads what was sent, then the end.
func (c *Conn) CloseWrite() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	half, ok := c.conn.(interface{ CloseWrite() error })
	if !ok || c.ended {
		return net.ErrClosed
	}
	c.ended = true
	c.ping.Stop()
	return half.CloseWrite()
}

// LastHeard is when something last came, be it a ping.
func (c *Conn) LastHeard() time.Time { return time.Unix(0, c.heard.Load()) }

// Close ends the connection; a Send or Recv under way returns with an error.
func (c *Conn) Close() error {
	c.believing.close()
	err := c.conn.Close() // first: it frees a write that holds the lock
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = true
	c.ping.Stop()
	return err
}
