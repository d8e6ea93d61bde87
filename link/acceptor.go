package link

import (
	"context"
	"fmt"

	"fmqm/internal/task"
	"fmqm/link/core"
	"fmqm/link/frame"
	"fmqm/processtable"
)

// Acceptor takes the connections that peers open, and gives each to its Link.
type Acceptor struct {
	Self    processtable.NodeID
	Session uint64 // what it says comes of this session, which is no link's
	// Scheduler is the same as the links have; default: task.Goroutines.
	Scheduler task.Scheduler
	// Formats are the same as the links have; default: what this program reads.
	Formats frame.Formats
	// Lookup gives the link to a peer, nil if nobody configured that peer.
	Lookup func(peer processtable.NodeID) *Link
	// Permit, if not nil, says why caller may not be who it says it is on this connection.
	Permit func(conn Conn, caller processtable.NodeID) error
	// Refused, if not nil, is told of connections that no link got. The caller is empty
	// where it did not say who it is.
	Refused func(caller processtable.NodeID, reason string)
}

// Accept reads the hello of a new connection and hands the connection on, or tells
// the caller why not. It blocks until the hello is there, the connection ends, or ctx
// does.
func (a Acceptor) Accept(ctx context.Context, conn Conn) {
	if a.Scheduler == nil {
		a.Scheduler = task.Goroutines{}
	}
	if a.Formats == (frame.Formats{}) {
		a.Formats = frame.Current()
	}
	release := a.Scheduler.AfterEnd(ctx, func() { _ = conn.Close() })
	hello, err := a.readHello(conn)
	if !release() {
		return
	}
	if err != nil {
		_ = conn.Close()
		a.refused("", err.Error())
		return
	}
	h := hello.Hello
	if h.Expected != a.Self {
		a.refuse(conn, hello, frame.Stop{Code: frame.StopWrongNode, Reason: core.ReasonCalledWrong(h.Node, h.Expected, a.Self), Final: true})
		return
	}
	if a.Permit != nil {
		if err := a.Permit(conn, h.Node); err != nil {
			a.refuse(conn, hello, frame.Stop{Code: frame.StopUnknownPeer, Reason: err.Error()})
			return
		}
	}
	l := a.Lookup(h.Node)
	if l == nil {
		a.refuse(conn, hello, frame.Stop{Code: frame.StopUnknownPeer, Reason: reasonUnknownPeer(h.Node)})
		return
	}
	l.Attach(conn, hello)
}

func (a Acceptor) readHello(conn Conn) (*frame.Frame, error) {
	d, err := receive(conn)
	if err != nil {
		return nil, fmt.Errorf("read hello: %w", err)
	}
	data := d.Frame
	if err := frame.CheckSize("read hello: frame", len(data), frame.MaxHello); err != nil {
		return nil, err
	}
	f, err := frame.DecodeAs(data, a.Formats.Frame)
	if err != nil {
		return nil, fmt.Errorf("read hello: %w", err)
	}
	if f.Type != frame.TypeHello {
		return nil, fmt.Errorf("read hello: %w: a frame of type %d comes first: a caller says who it is", frame.ErrMalformed, f.Type)
	}
	return &f, nil
}

func (a Acceptor) refuse(conn Conn, hello *frame.Frame, s frame.Stop) {
	s.Node = a.Self
	s.Reason = frame.Cut(s.Reason)
	f := &frame.Frame{Version: a.Formats.Frame.Max, Type: frame.TypeStop, From: a.Session, To: hello.From, Seq: 1, Answer: hello.Challenge, Stop: &s}
	if data, err := frame.Encode(f); err == nil {
		_ = conn.Send(data) // a caller that is gone need not be told
	}
	_ = conn.Close()
	a.refused(hello.Hello.Node, s.Reason)
}

func (a Acceptor) refused(caller processtable.NodeID, reason string) {
	if a.Refused != nil {
		a.Refused(caller, reason)
	}
}

func reasonUnknownPeer(caller processtable.NodeID) string {
	return fmt.Sprintf("no peer %s is configured here: add it under links.peers of this site", caller)
}
