package world

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"time"

	"fmqm/internal/task"
	"fmqm/link"
	"fmqm/link/frame"
	"fmqm/processtable"
)

type name = processtable.NodeID

// way is from one site to another.
type way struct{ from, to name }

func (w way) back() way { return way{w.to, w.from} }

func (w way) String() string { return fmt.Sprintf("%s>%s", w.from, w.to) }

// wires are the direct connections between sites: each carries what is sent in its order, or
// breaks; what was on the way when it breaks is lost.
type wires struct {
	control *task.Site // of who is at no site
	clock   func() time.Duration
	random  *rand.Rand
	journal *journal
	weather map[way]*weather
	behind  lag // see Plan
	ports   map[name]*port
	open    []*conn // in the order of their making
	made    int
}

// port is where a site that is up takes connections.
type port struct {
	by     task.Scheduler
	accept func(link.Conn)
}

func newWires(w *task.World, control *task.Site, r *rand.Rand, j *journal) *wires {
	return &wires{control: control, clock: w.Elapsed, random: r, journal: j, weather: map[way]*weather{}, ports: map[name]*port{}}
}

// on gives the weather of a way.
func (w *wires) on(d way) *weather {
	if w.weather[d] == nil {
		w.weather[d] = &weather{}
	}
	return w.weather[d]
}

// cut breaks the wire between two sites, or mends it.
func (w *wires) cut(d way, cut bool) {
	w.on(d).cut, w.on(d.back()).cut = cut, cut
	if cut && w.breakAll(func(c *conn) bool { return c.way == d || c.way == d.back() }) {
		w.journal.met("cut")
	}
}

// stall holds up what goes one way, or lets it go.
func (w *wires) stall(d way, stalled bool) {
	w.on(d).stalled = stalled
	if stalled {
		return
	}
	for _, c := range slices.Clone(w.open) {
		if c.way == d {
			for _, frame := range c.stalled {
				c.carry(frame)
			}
			c.stalled = nil
		}
	}
}

// down says that a site is down: its connections break.
func (w *wires) down(site name) {
	delete(w.ports, site)
	w.breakAll(func(c *conn) bool { return c.way.from == site || c.way.to == site })
}

func (w *wires) breakAll(of func(*conn) bool) (any bool) {
	for _, c := range slices.Clone(w.open) {
		if of(c) {
			c.sever()
			any = true
		}
	}
	return any
}

// errNoRoute is what somebody hears who dials a site that is not there.
var errNoRoute = errors.New("no route to host")

// dialer is the direct route from one site to another. It is a link.Dialer.
type dialer struct {
	wires *wires
	by    task.Scheduler // of who dials
	way   way
}

// Dial takes a while, as it does where somebody is far away.
func (d dialer) Dial(ctx context.Context) (link.Conn, error) {
	w := d.wires
	if err := task.Sleep(ctx, d.by, w.on(d.way).takes(w.random)); err != nil {
		return nil, err
	}
	p := w.ports[d.way.to]
	if w.on(d.way).cut || p == nil || w.ports[d.way.from] == nil {
		return nil, fmt.Errorf("dial %s: %w", d.way.to, errNoRoute)
	}
	w.made++
	here := &conn{wires: w, by: d.by, way: d.way, number: w.made}
	there := &conn{wires: w, by: p.by, way: d.way.back(), number: w.made, other: here}
	here.other = there
	for _, c := range []*conn{here, there} {
		c.in, c.gone, c.room = task.NewQueue[[]byte](c.by, 0), c.by.Gate(), c.by.Bell()
		w.open = append(w.open, c)
	}
	w.journal.note(string(d.way.from), "calls", "%s: connection %d", d.way.to, w.made)
	p.accept(there)
	return here, nil
}

// maxUnderWay is how many frames are on their way before Send waits.
const maxUnderWay = 32

// conn is one end of a connection. It is a link.Conn.
type conn struct {
	wires  *wires
	by     task.Scheduler
	way    way // of what is sent here
	number int
	other  *conn

	in       *task.Queue[[]byte]
	gone     *task.Gate // nothing more comes
	room     *task.Bell // for another frame on its way
	closed   bool
	underWay int
	stalled  [][]byte      // frames that wait for better weather
	latest   time.Duration // when the last frame arrives
	late     time.Duration // when the last one of the lane that is behind does
}

// Send puts a frame on its way. It waits while too much is.
func (c *conn) Send(frame []byte) error {
	for c.underWay >= maxUnderWay && !c.closed {
		if _, err := c.by.Wait(context.Background(), c.room); err != nil { // rung at the end, too
			return err
		}
	}
	if c.closed {
		return io.ErrClosedPipe
	}
	c.underWay++
	frame = slices.Clone(frame)
	c.wires.journal.note(string(c.way.from), "sends", "%s on connection %d: %d bytes %016x", c.way.to, c.number, len(frame), digest(frame))
	if c.wires.on(c.way).stalled {
		c.wires.journal.met("stalled")
		c.stalled = append(c.stalled, frame)
		return nil
	}
	c.carry(frame)
	return nil
}

// carry brings a frame to the other end, behind those that are on their way; one of a lane
// that comes later, behind those of that lane.
func (c *conn) carry(frame []byte) {
	arrive := func() {
		c.underWay--
		c.room.Ring()
		if !c.other.closed {
			c.wires.journal.note(string(c.way.to), "gets", "%s on connection %d: %016x", c.way.from, c.number, digest(frame))
			c.other.in.TryPut(frame)
		}
	}
	w := c.wires
	if behind := w.behindOf(frame); behind > 0 {
		w.journal.met("behind")
		c.late = max(c.late+1, w.clock()+behind)
		w.control.AfterFunc(c.late-w.clock(), arrive)
		return
	}
	c.later(arrive)
}

// behindOf is by how much a frame comes later than others.
func (w *wires) behindOf(sent []byte) time.Duration {
	if w.behind == (lag{}) {
		return 0
	}
	f, err := frame.Decode(sent)
	if err != nil || f.Data == nil {
		return 0
	}
	return w.behind[f.Data.Lane]
}

// later calls f once all is there that is on the way, and as much time has passed as it takes.
func (c *conn) later(f func()) {
	w := c.wires
	if w.on(c.way).slow {
		w.journal.met("slow")
	}
	c.latest = max(c.latest+1, w.clock()+w.on(c.way).takes(w.random))
	w.control.AfterFunc(c.latest-w.clock(), f)
}

// Recv waits for the next frame.
func (c *conn) Recv() ([]byte, error) {
	for {
		if frame, ok := c.in.TryTake(); ok {
			return frame, nil
		}
		if c.gone.IsOpen() {
			return nil, io.EOF
		}
		if _, err := c.by.Wait(context.Background(), c.in.Filled(), c.gone); err != nil {
			return nil, err
		}
	}
}

// Close ends it here at once, and at the other end once what was sent before is there.
func (c *conn) Close() error {
	if c.closed {
		return nil
	}
	c.end()
	if len(c.stalled) == 0 {
		c.later(c.other.end)
	}
	return nil
}

// CloseWrite lets the other end read what was sent, and then learn that no more comes.
func (c *conn) CloseWrite() error {
	if c.closed {
		return io.ErrClosedPipe
	}
	c.later(c.other.hangUp)
	return nil
}

// end ends this end: what lies here unread is lost.
func (c *conn) end() {
	c.hangUp()
	c.closed = true
	c.room.Ring()
	for {
		if _, more := c.in.TryTake(); !more {
			break
		}
	}
	c.wires.open = slices.DeleteFunc(c.wires.open, func(other *conn) bool { return other == c })
}

// hangUp says that nothing more comes here.
func (c *conn) hangUp() {
	if !c.gone.IsOpen() {
		c.gone.Open()
	}
}

// sever ends both ends at once.
func (c *conn) sever() {
	c.end()
	c.other.end()
}
