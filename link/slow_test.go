package link_test

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"fmqm/internal/task"
	"fmqm/link"
	"fmqm/link/frame"
	"fmqm/link/linktest"
	"fmqm/processtable"
	"fmqm/queue/record"
)

// A backlog goes over a slow line once, and on one connection, however long data waits there
// for the line while the link asks where the peer stands; in both lanes, and both ways.
func TestASlowLineCarriesABacklogOnce(t *testing.T) {
	for _, rate := range []int{16 << 10, 64 << 10, 256 << 10, 400 << 10} {
		t.Run(fmt.Sprintf("%d KiB/s", rate>>10), func(t *testing.T) {
			const items, size = 128, 64 << 10
			w := task.NewWorld(1, time.Unix(0, 0))
			l := &slowLine{world: w, rate: rate, buffer: 64 << 10}
			a, b := newSlowSite(w, "A"), newSlowSite(w, "B")
			defer a.by.Kill()
			defer b.by.Kill()
			a.link = a.linkTo("B", direct(slowDialer{l, a.by, b}))
			b.link = b.linkTo("A", nil)
			payload := strings.Repeat("x", size)
			for range items / 2 {
				a.store.Put(0, payload)
			}
			for range items / 4 {
				a.store.Put(1, payload)
				b.store.Put(0, payload)
			}
			b.by.Go(b.link.Start)
			a.by.Go(a.link.Start)
			for a.link.Status().Waiting+b.link.Status().Waiting > 0 {
				if !w.Step() || w.Elapsed() > 24*time.Hour {
					t.Fatalf("after %s not all has come: %+v, %v", w.Elapsed(), a.link.Status(), w.Failure())
				}
			}
			const needed = items * size
			t.Logf("%d bytes were sent in %s, of which are needed %d, which take %s", l.sent, w.Elapsed(), needed, l.takes(needed))
			if most := needed + needed/50; l.sent > most {
				t.Errorf("%d bytes were sent, and %d were needed", l.sent, needed)
			}
			if l.dials != 1 {
				t.Errorf("%d connections, expected 1", l.dials)
			}
		})
	}
}

// slowSite is a site in a world with virtual time.
type slowSite struct {
	name  processtable.NodeID
	by    *task.Site
	store *linktest.Store
	link  *link.Link
}

func newSlowSite(w *task.World, name processtable.NodeID) *slowSite {
	by := w.NewSite(0)
	return &slowSite{name: name, by: by, store: linktest.NewStore(by)}
}

func (s *slowSite) linkTo(peer processtable.NodeID, routes []link.Route) *link.Link {
	return link.New(link.Options{
		Self: s.name, Peer: peer, Incarnation: record.Incarnation{s.name[0]}, Session: uint64(s.name[0]),
		Outbox: s.store, Inbox: s.store, Peers: s.store, Routes: routes, Scheduler: s.by,
	})
}

func (s *slowSite) accept(conn link.Conn) {
	link.Acceptor{
		Self: s.name, Session: uint64(s.name[0]), Scheduler: s.by,
		Lookup: func(processtable.NodeID) *link.Link { return s.link },
	}.Accept(context.Background(), conn)
}

// slowLine carries so many bytes a second each way. What it has not carried yet waits: in a
// buffer, and behind that in Send.
type slowLine struct {
	world        *task.World
	rate, buffer int
	dials        int
	sent         int // bytes of Data frames
}

func (l *slowLine) takes(n int) time.Duration {
	return time.Duration(n) * time.Second / time.Duration(l.rate)
}

type slowDialer struct {
	line *slowLine
	by   task.Scheduler
	to   *slowSite
}

func (d slowDialer) Dial(context.Context) (link.Conn, error) {
	d.line.dials++
	here, there := &slowConn{line: d.line, by: d.by}, &slowConn{line: d.line, by: d.to.by}
	here.other, there.other = there, here
	for _, c := range []*slowConn{here, there} {
		c.in, c.gone = task.NewQueue[[]byte](c.by, 0), c.by.Gate()
	}
	d.to.by.Go(func() { d.to.accept(there) })
	return here, nil
}

// slowConn is one end of a connection over a slow line.
type slowConn struct {
	line  *slowLine
	by    task.Scheduler
	other *slowConn
	free  time.Duration // when all that was sent has left
	in    *task.Queue[[]byte]
	gone  *task.Gate
}

func (c *slowConn) Send(data []byte) error {
	if f, err := frame.Decode(data); err == nil && f.Data != nil {
		c.line.sent += len(data)
	}
	now := c.line.world.Elapsed()
	c.free = max(c.free, now) + c.line.takes(len(data))
	c.by.AfterFunc(c.free-now, func() { c.other.in.TryPut(data) })
	if wait := c.free - now - c.line.takes(c.line.buffer); wait > 0 {
		ctx, cancel := c.by.WithTimeout(context.Background(), wait)
		defer cancel()
		_, _ = c.by.Wait(ctx, c.gone)
	}
	if c.gone.IsOpen() {
		return io.ErrClosedPipe
	}
	return nil
}

func (c *slowConn) Recv() ([]byte, error) {
	for {
		if data, ok := c.in.TryTake(); ok {
			return data, nil
		}
		if c.gone.IsOpen() {
			return nil, io.EOF
		}
		if _, err := c.by.Wait(context.Background(), c.in.Filled(), c.gone); err != nil {
			return nil, err
		}
	}
}

func (c *slowConn) Close() error {
	for _, end := range []*slowConn{c, c.other} {
		if !end.gone.IsOpen() {
			end.gone.Open()
		}
	}
	return nil
}
