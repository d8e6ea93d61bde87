package link

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"fmqm/internal/task"
	"fmqm/link/core"
	"fmqm/link/frame"
	"fmqm/message"
	"fmqm/queue/record"
)

// lastWords is how long the peer may take to read what was sent before the end.
const lastWords = 2 * time.Second

// maxQueued is how many bytes may wait for a connection, beside which the windows
// bound what is sent; a peer that takes nothing loses the connection.
const maxQueued = 24 << 20

// pipe is a connection with its two tasks.
type pipe struct {
	via   core.Via
	conn  Conn
	sched task.Scheduler

	// Of the link's task.
	route   *route    // that it was dialed on; nil: the peer called
	met     time.Time // when the peer was first heard on it; zero: not yet
	leaving bool      // it is not wanted any more
	why     string    // it ends, by the core's word
	way     core.Way  // how it stands

	mu      sync.Mutex
	express []*frame.Frame // what goes before bulk, in its order
	bulk    []*frame.Frame // Data of lane 0
	passed  int            // express frames in a row while bulk waited
	bytes   int
	newest  [record.Lanes]uint64 // the First of the Data that was sent last
	closing bool
	wake    *task.Bell
	gone    *task.Gate // open once the reader has ended

	overtook func(core.Overtook) // is told, unless it is nil
}

// maxPassed is how many frames go before bulk that waits, in a row: neither lane
// starves (L2).
const maxPassed = 16

// add takes a connection over and starts its tasks.
func (l *Link) add(conn Conn, r *route) core.Via {
	l.lastVia++
	p := newPipe(l.lastVia, conn, r, l.sched)
	p.overtook = func(e core.Overtook) { l.post(e) }
	l.pipes = append(l.pipes, p)
	l.mu.Lock()
	l.conns[p.via] = conn
	l.mu.Unlock()
	l.tasks.Go(p.write)
	l.tasks.Go(func() { l.read(p) })
	return p.via
}

func newPipe(via core.Via, conn Conn, r *route, by task.Scheduler) *pipe {
	return &pipe{via: via, conn: conn, route: r, sched: by, wake: by.Bell(), gone: by.Gate()}
}

// pipe gives the connection that is named, nil if it has ended.
func (l *Link) pipe(via core.Via) *pipe {
	for _, p := range l.pipes {
		if p.via == via {
			return p
		}
	}
	return nil
}

func (p *pipe) send(f *frame.Frame) {
	p.mu.Lock()
	if f.Data != nil {
		p.supersede(f.Data)
	}
	if f.Data != nil && f.Data.Lane == message.LaneData {
		p.bulk = append(p.bulk, f)
	} else {
		p.express = append(p.express, f)
	}
	p.bytes += size(f)
	full := p.bytes > maxQueued
	p.mu.Unlock()
	if full {
		_ = p.conn.Close()
	}
	p.wake.Ring()
}

// supersede lets go of what waits and comes again, with d or behind it: where the core goes back,
// what has not left would else be sent twice, and again each time. It is called with the lock.
func (p *pipe) supersede(d *frame.Data) {
	again := d.First <= p.newest[d.Lane]
	p.newest[d.Lane] = d.First
	if !again {
		return
	}
	gone := func(f *frame.Frame) bool {
		if f.Data == nil || f.Data.Lane != d.Lane || f.Data.First < d.First {
			return false
		}
		p.bytes -= size(f)
		return true
	}
	p.express, p.bulk = slices.DeleteFunc(p.express, gone), slices.DeleteFunc(p.bulk, gone)
}

// finish closes the connection once what was sent has left.
func (p *pipe) finish() {
	p.mu.Lock()
	p.closing = true
	p.mu.Unlock()
	p.wake.Ring()
}

func (p *pipe) finished() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.closing
}

// next gives the frame to be sent next, nil if none waits, and whether none will come. Where
// bulk waits behind an expedited one, it gives the number from which on it does.
func (p *pipe) next() (f *frame.Frame, behind uint64, last bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case len(p.express) > 0 && (len(p.bulk) == 0 || p.passed < maxPassed):
		f, p.express = p.express[0], p.express[1:]
		if p.passed++; len(p.bulk) == 0 {
			p.passed = 0
		} else {
			behind = p.bulk[0].Data.First // the lowest: see supersede
		}
	case len(p.bulk) > 0:
		f, p.bulk = p.bulk[0], p.bulk[1:]
		p.passed = 0
	default:
		p.express, p.bulk = nil, nil
		return nil, 0, p.closing
	}
	p.bytes -= size(f)
	return f, behind, false
}

// write sends frames until the pipe is finished or the connection ends, and closes it.
func (p *pipe) write() {
	defer func() { _ = p.conn.Close() }()
	wakes := []task.Signal{p.gone, p.wake}
	for {
		f, behind, last := p.next()
		if last {
			p.sayGoodbye()
			return
		}
		if f == nil {
			if which, _ := p.sched.Wait(context.Background(), wakes...); which == 0 {
				return
			}
			continue
		}
		if behind != 0 && f.Challenge != 0 && p.overtook != nil {
			p.overtook(core.Overtook{Question: f.Challenge, Lane: message.LaneData, From: behind})
		}
		data, err := frame.Encode(f)
		if err == nil {
			err = p.conn.Send(data)
		}
		if err != nil {
			return
		}
	}
}

// sayGoodbye lets the peer read to the end: a connection that is closed while
// something of it is unread is reset, and the last frame, which says why, may be lost.
func (p *pipe) sayGoodbye() {
	half, ok := p.conn.(interface{ CloseWrite() error })
	if !ok || half.CloseWrite() != nil {
		return
	}
	stop := p.sched.AfterFunc(lastWords, func() { _ = p.conn.Close() })
	_, _ = p.sched.Wait(context.Background(), p.gone)
	stop()
}

// read tells the link what comes, until the connection ends. A damaged frame is as
// good as lost (L5).
func (l *Link) read(p *pipe) {
	defer p.gone.Open()
	for {
		d, err := receive(p.conn)
		if err != nil {
			_ = p.conn.Close()
			l.do(func() { l.lost(p, err) })
			return
		}
		if d.Hindrance != nil {
			l.post(core.Hindered{Via: p.via, Reason: *d.Hindrance})
			continue
		}
		f, err := frame.DecodeAs(d.Frame, l.o.Formats.Frame)
		if errors.Is(err, frame.ErrDamaged) {
			continue
		}
		l.lastHeard.Store(l.sched.Now().UnixNano())
		if err != nil {
			l.post(core.Unreadable{Via: p.via, Err: err})
			continue
		}
		l.post(core.Received{Via: p.via, Frame: &f})
	}
}

// lost: a connection has ended.
func (l *Link) lost(p *pipe, err error) {
	l.pipes = slices.DeleteFunc(l.pipes, func(q *pipe) bool { return q == p })
	l.mu.Lock()
	l.heardOn(p.conn)
	delete(l.conns, p.via)
	l.mu.Unlock()
	why := p.why
	switch {
	case why != "", l.standing.Stop != nil && p.finished(): // it was ended since the link is stopped
	case l.standing.Stop != nil:
		why = lostConnection(err)
	default:
		why = lostConnection(err)
		l.reason = why
	}
	l.step(core.Disconnected{Via: p.via})
	l.restAfter(p, why)
	if p.route != nil && p.route.gone {
		l.forget(p.route)
	}
}

func lostConnection(err error) string {
	return frame.Cut("the connection was lost: " + err.Error())
}

// size is about what a frame takes in memory.
func size(f *frame.Frame) int {
	n := 256
	switch {
	case f.Data != nil:
		for _, p := range f.Data.Payloads {
			n += len(p)
		}
	case f.Query != nil:
		n += len(f.Query.Body)
	case f.Reply != nil:
		n += len(f.Reply.Body)
	}
	return n
}

// receive reads what comes next.
func receive(conn Conn) (Delivery, error) {
	if d, ok := conn.(Deliverer); ok {
		return d.Receive()
	}
	frame, err := conn.Recv()
	return Delivery{Frame: frame}, err
}
