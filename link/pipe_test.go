package link

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"testing"
	"time"

	"fmqm/internal/task"
	"fmqm/link/core"
	"fmqm/link/frame"
	"fmqm/message"
	"fmqm/queue/record"
)

// halfConn is a connection that notes what is done to it. Its peer ends it once the
// sending half was closed.
type halfConn struct {
	mu    sync.Mutex
	did   []string
	ended chan struct{}
	full  error // of Send
}

func (c *halfConn) note(what string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.did = append(c.did, what)
}

func (c *halfConn) Send([]byte) error {
	c.note("send")
	return c.full
}

func (c *halfConn) CloseWrite() error {
	c.note("close write")
	close(c.ended)
	return nil
}

func (c *halfConn) Recv() ([]byte, error) {
	<-c.ended
	c.note("end read")
	return nil, io.EOF
}

func (c *halfConn) Close() error {
	c.note("close")
	return nil
}

// idleClock never goes off.
type idleClock struct{}

func (idleClock) Now() time.Time { return time.Time{} }
func (idleClock) AfterFunc(time.Duration, func()) (stop func() bool) {
	return func() bool { return true }
}

// A connection is closed only after the peer has read what was sent before.
func TestLastFrameIsReadBeforeTheConnectionIsClosed(t *testing.T) {
	conn := &halfConn{ended: make(chan struct{})}
	p := newPipe(1, conn, nil, task.Goroutines{Clock: idleClock{}})
	go func() {
		defer p.gone.Open()
		_, _ = conn.Recv()
	}()
	p.send(&frame.Frame{Version: 1, Type: frame.TypeStop, From: 1, Stop: &frame.Stop{Code: frame.StopOtherHash, Node: "A"}})
	p.finish()
	p.write()
	if want := []string{"send", "close write", "end read", "close"}; !slices.Equal(conn.did, want) {
		t.Fatalf("got %q, expected %q", conn.did, want)
	}
}

// A peer that takes nothing loses the connection before memory is gone.
func TestPeerThatTakesNothingLosesTheConnection(t *testing.T) {
	conn := &halfConn{full: errors.New("nobody takes it")}
	p := newPipe(1, conn, nil, task.Goroutines{})
	reply := &frame.Frame{Version: 1, Type: frame.TypeReply, From: 1, Reply: &frame.Reply{Body: make([]byte, frame.MaxBody)}}
	for range maxQueued/frame.MaxBody - 1 {
		p.send(reply)
	}
	if len(conn.did) != 0 {
		t.Fatalf("got %q with less than %d bytes", conn.did, maxQueued)
	}
	p.send(reply)
	if !slices.Equal(conn.did, []string{"close"}) {
		t.Fatalf("got %q, expected the connection to be closed", conn.did)
	}
}

// stepConn lets one frame through at a time.
type stepConn struct {
	halfConn
	sent chan []byte
}

func (c *stepConn) Send(frame []byte) error {
	c.sent <- frame
	return nil
}

// L2: what is expedited goes before the bulk that waits, and the bulk goes on: neither
// lane starves.
func TestExpeditedFramesPassTheBulk(t *testing.T) {
	conn := &stepConn{sent: make(chan []byte), halfConn: halfConn{ended: make(chan struct{})}}
	p := newPipe(1, conn, nil, task.Goroutines{Clock: idleClock{}})
	go func() {
		defer p.gone.Open()
		_, _ = conn.Recv()
	}()
	data := func(lane message.Lane, n uint64) *frame.Frame {
		return &frame.Frame{Version: 1, Type: frame.TypeData, From: 1, Data: &frame.Data{Lane: lane, First: n, Payloads: [][]byte{{1}}}}
	}
	for n := range uint64(100) {
		p.send(data(0, n+1))
	}
	go p.write()
	next := func() *frame.Data {
		f, err := frame.Decode(<-conn.sent)
		if err != nil {
			t.Fatal(err)
		}
		return f.Data
	}
	bulk, last := 0, [record.Lanes]uint64{next().First, 1}
	p.send(data(1, 1))
	d := next()
	if d.Lane != 1 { // it was taken before
		last[0] = d.First
		d = next()
	}
	if d.Lane != 1 {
		t.Fatalf("item %d of the bulk went before the marker", d.First)
	}
	for n := range uint64(100) {
		p.send(data(1, n+2))
	}
	for range 101 {
		d := next()
		if d.First != last[d.Lane]+1 {
			t.Fatalf("item %d of lane %d after %d", d.First, d.Lane, last[d.Lane])
		}
		last[d.Lane] = d.First
		if d.Lane == 0 {
			bulk++
		}
	}
	if bulk < 100/maxPassed || bulk > 2*(100/maxPassed)+2 {
		t.Fatalf("%d frames of the bulk went among 101, expected one after each %d", bulk, maxPassed)
	}
	p.finish()
	for last[0] < 100 || last[1] < 101 {
		last[next().Lane]++
	}
}

// What waits and comes again is sent once, however often the core goes back; a question that goes
// before it says so, and counts what is behind it as not sent.
func TestWhatWaitsIsNotSentTwice(t *testing.T) {
	conn := &stepConn{sent: make(chan []byte, 100), halfConn: halfConn{ended: make(chan struct{})}}
	p := newPipe(1, conn, nil, task.Goroutines{Clock: idleClock{}})
	var overtook []core.Overtook
	p.overtook = func(e core.Overtook) { overtook = append(overtook, e) }
	for _, lane := range []message.Lane{0, 1} {
		for _, first := range []uint64{1, 3, 5, 3, 5, 7, 3} {
			p.send(&frame.Frame{Version: 1, Type: frame.TypeData, From: 1, Data: &frame.Data{Lane: lane, First: first, Payloads: [][]byte{{1}, {2}}}})
		}
	}
	p.send(&frame.Frame{Version: 1, Type: frame.TypeAck, From: 1, Challenge: 7})
	p.gone.Open()
	p.finish()
	p.write()
	close(conn.sent)
	var got []string
	for data := range conn.sent {
		f, err := frame.Decode(data)
		if err != nil {
			t.Fatal(err)
		}
		if f.Data == nil {
			got = append(got, "question")
			continue
		}
		got = append(got, fmt.Sprintf("%d.%d", f.Data.Lane, f.Data.First))
	}
	if want := []string{"1.1", "1.3", "question", "0.1", "0.3"}; !slices.Equal(got, want) {
		t.Errorf("were sent: %q, expected %q", got, want)
	}
	if want := []core.Overtook{{Question: 7, From: 1}}; !slices.Equal(overtook, want) {
		t.Errorf("overtook %+v, expected %+v", overtook, want)
	}
	if p.bytes != 0 {
		t.Errorf("%d bytes wait, expected none", p.bytes)
	}
}
