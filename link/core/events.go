package core

import (
	"fmqm/link/frame"
	"fmqm/message"
	"fmqm/queue/record"
)

// Via names a transport of a link; the shell chooses the numbers, from 1 on.
type Via int

// Token names one effect that is answered. A Core never uses one twice, and takes an answer
// only under the token that it waits for: one that is late, or comes twice, counts for nothing.
type Token uint64

// DecisionID names an operator's decision; the shell chooses the numbers. 0: nobody waits
// for what comes of it.
type DecisionID uint64

// Stands is how a transport stands.
type Stands string

const (
	Connecting Stands = "connecting" // the peer is not heard on it
	InUse      Stands = "connected"
	Standby    Stands = "standby" // it would do, or need not be dialed, since a better one is used
)

// Event is what happens to a Core.
type Event interface{ event() }

// The events.
type (
	// Connected: frames can be carried. Who dialed speaks first. Of several transports
	// the one of the lowest Rank is used. Shared: something between keeps frames for a
	// peer that is not there, and the transport does not end with the peer's daemon.
	Connected struct {
		Via    Via
		Dialed bool
		Rank   int
		Shared bool
	}
	// Disconnected: Via is gone, for whatever reason, also after a Close.
	Disconnected struct{ Via Via }
	// Received: a frame came in whole. What Decode finds damaged is not told: it is lost.
	Received struct {
		Via   Via
		Frame *frame.Frame
	}
	// Hindered: why what is sent over Via goes nowhere at present; empty: it goes.
	Hindered struct {
		Via    Via
		Reason string
	}
	// Unreadable: a frame came that Decode finds malformed.
	Unreadable struct {
		Via Via
		Err error
	}
	// Tick: TickInterval has passed. Needed only while Restless.
	Tick struct{}
	// Woken: there may be new items; Last is where the lanes end now.
	Woken struct{ Last [record.Lanes]record.Position }
	// Items answers Read.
	Items struct {
		Token Token
		Lane  message.Lane
		From  uint64
		Items []record.Item
		Err   error
	}
	// Accepted answers Accept, also one that was withdrawn. At is what the store has of the
	// lane now: with an error as without, only this is ever confirmed to the peer.
	Accepted struct {
		Token Token
		Lane  message.Lane
		At    record.Position
		Err   error
	}
	// Overtook: a question is sent before Data that was given to its transport earlier, and
	// waits there: from number From of Lane on. It comes before the question is answered.
	Overtook struct {
		Question uint64
		Lane     message.Lane
		From     uint64
	}
	// Paused: what Accept brought waits for room, and why; empty: for no reason any more.
	Paused struct {
		Token  Token
		Lane   message.Lane
		Reason string
	}
	// Bound answers Bind, Begun answers Begin, Rebound answers Rebind.
	Bound struct {
		Token Token
		Err   error
	}
	Begun struct {
		Token Token
		Err   error
	}
	Rebound struct {
		Token Token
		Err   error
	}
	// Loaded answers Load.
	Loaded struct {
		Token Token
		Now   Stored
		Err   error
	}
	// Leaving: Via is not wanted any more. It is closed once the peer is heard on another.
	Leaving struct{ Via Via }
	// Decide: an operator decides about a stopped link; see Decision. Decided follows.
	Decide struct {
		ID       DecisionID
		NewStore record.Incarnation
	}
	// Rerouted: the peer is dialed otherwise from now on. A link that stopped since an
	// address led to another site tries again.
	Rerouted struct{}
	// Broken: the store could not be read when the link started. It is stopped.
	Broken struct{ Err error }
	// Carry sends a query, or a reply to the daemon with the session To, which asked. To is
	// 0 for a query.
	Carry struct {
		Frame *frame.Frame
		To    uint64
	}
)

func (Connected) event()    {}
func (Disconnected) event() {}
func (Received) event()     {}
func (Hindered) event()     {}
func (Unreadable) event()   {}
func (Tick) event()         {}
func (Woken) event()        {}
func (Items) event()        {}
func (Accepted) event()     {}
func (Overtook) event()     {}
func (Paused) event()       {}
func (Bound) event()        {}
func (Begun) event()        {}
func (Rebound) event()      {}
func (Loaded) event()       {}
func (Leaving) event()      {}
func (Decide) event()       {}
func (Rerouted) event()     {}
func (Broken) event()       {}
func (Carry) event()        {}

// Effect is what a Core wants done. Effects are carried out in their order.
type Effect interface{ effect() }

// The effects.
type (
	// Send gives a frame to a transport. The frame is not changed any more.
	Send struct {
		Via   Via
		Frame *frame.Frame
	}
	// Close ends a transport once what was sent before has left, then Disconnected comes.
	// Reason is for people and may be empty.
	Close struct {
		Via    Via
		Reason string
	}
	// Read asks for items of the transmission queue; at most one is under way in a lane.
	Read struct {
		Token    Token
		Lane     message.Lane
		From     uint64
		MaxBytes int
	}
	// Reads tells what the peer reads from now on: what it does not read gets no number.
	Reads struct{ Reads message.Reads }
	// Trim lets the items up to Number go.
	Trim struct {
		Lane   message.Lane
		Number uint64
	}
	// Accept puts items, which follow on After and come from the peer's store Incarnation,
	// into the store; at most one is under way in a lane.
	Accept struct {
		Token       Token
		Incarnation record.Incarnation
		Lane        message.Lane
		After       record.Position
		Items       []record.Item
	}
	// Withdraw: what Accept brought is of no use any more. If the store was not given it
	// yet, it need not be. It is answered all the same.
	Withdraw struct{ Token Token }
	// Bind records the incarnation of a peer's store at the first hello.
	Bind struct {
		Token       Token
		Incarnation record.Incarnation
	}
	// Begin records that what the peer sends begins after a position, where nothing was
	// accepted yet.
	Begin struct {
		Token Token
		At    [record.Lanes]record.Position
	}
	// Rebind records that the peer has another store from now on. No Accept, Bind or Begin
	// is under way.
	Rebind struct {
		Token       Token
		Incarnation record.Incarnation
	}
	// Load asks what the store holds. Nothing else is under way.
	Load struct{ Token Token }
	// Decided answers Decide, unless nobody waits: with nil the link goes on.
	Decided struct {
		ID  DecisionID
		Err error
	}
	// Resumed: a stopped link goes on, by somebody's word.
	Resumed struct{}
	// Deliver gives a query or a reply of the peer to the node.
	Deliver struct{ Frame *frame.Frame }
	// Uncarried: there is no conversation that a query could be sent in.
	Uncarried struct{ Frame *frame.Frame }
	// Way is how a transport stands from now on, and why it is not used.
	Way struct {
		Via    Via
		Stands Stands
		Reason string
	}
	// Up: the conversation is under way. Down: it is not any more.
	Up   struct{}
	Down struct{}
	// Stopped: the link is stopped; the peer was told, if it could be, or has said so.
	Stopped struct{ Stop frame.Stop }
)

func (Send) effect()      {}
func (Close) effect()     {}
func (Read) effect()      {}
func (Reads) effect()     {}
func (Trim) effect()      {}
func (Accept) effect()    {}
func (Withdraw) effect()  {}
func (Bind) effect()      {}
func (Begin) effect()     {}
func (Rebind) effect()    {}
func (Load) effect()      {}
func (Decided) effect()   {}
func (Resumed) effect()   {}
func (Deliver) effect()   {}
func (Uncarried) effect() {}
func (Way) effect()       {}
func (Up) effect()        {}
func (Down) effect()      {}
func (Stopped) effect()   {}
