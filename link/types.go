package link

import (
	"context"

	"fmqm/internal/task"
	"fmqm/message"
	"fmqm/processtable"
	"fmqm/queue/record"
)

// State is why a link is as it is; the words are API.
type State string

const (
	StateConnected    State = "connected"
	StateConnecting   State = "connecting"   // dialing, or waiting to dial again
	StateWaiting      State = "waiting"      // no address: the peer will call
	StateStandby      State = "standby"      // of a way: it would do, or need not be dialed, since a better one is used
	StateStopped      State = "stopped"      // the two stores disagree: an operator decides, here or there
	StateUnconfigured State = "unconfigured" // messages wait for a peer that nobody configured
)

// Outbox is the sending side's store: one peer's transmission queue. *lane.Transmission
// is one. All methods are safe for concurrent use.
type Outbox interface {
	// Last is the newest position in lane, Low the one before the oldest item still kept.
	Last(lane message.Lane) record.Position
	Low(lane message.Lane) record.Position
	// Read gives items from number on, in order, as many as fit maxBytes (at least one).
	Read(lane message.Lane, from uint64, maxBytes int) ([]record.Item, error)
	// PeerReads says what the peer reads from now on: what it does not read is not to get a
	// number. It does not block.
	PeerReads(message.Reads)
	// Trim lets everything up to number go, with the next commit or after a second (L4).
	Trim(lane message.Lane, number uint64)
	// Wake rings when items were added. It is of the link's Scheduler.
	Wake() *task.Bell
}

// Inbox is the receiving side.
type Inbox interface {
	// Accepted is what the store has of peer's incarnation in lane.
	Accepted(lane message.Lane) record.Position
	// Accept puts a batch in one transaction, and calls done once it is on disk or could not
	// be put. What does not follow on Accepted, or comes from another store of the peer than
	// the one that is known, is refused. One call at a time per lane.
	Accept(b Batch, done func(error))
	// Capacity blocks while the site takes nothing more from this peer, or until ctx ends.
	// The links to other peers have their own. What may last is told to paused, from any
	// task before Capacity returns: why, and what to do; again when that changes. The
	// link's state says it (Status.Reason) until the items that wait are taken or given up.
	Capacity(ctx context.Context, paused func(reason string)) error
}

// Batch is what comes of a lane at once.
type Batch struct {
	From  record.Incarnation // the peer's store that sent it
	Lane  message.Lane
	After record.Position // what the items follow on
	Items []record.Item   // at least one
}

// Peers is what the store knows of the other side's identity, and of where the
// conversation with it began (L1). All methods but Known block for a commit or a read.
type Peers interface {
	// Known gives the incarnation that peer has here, and whether it was ever met.
	Known() (record.Incarnation, bool)
	// Bind records the incarnation of a peer that is met for the first time, durably.
	Bind(record.Incarnation) error
	// Rebind records, durably and at once, that peer has another store from now on, by an
	// operator's word: nothing was accepted from that store yet, and the transmission
	// queue's conversation with it begins at what the queue still holds.
	Rebind(record.Incarnation) error
	// Began gives the position before the first item of the transmission queue that is
	// for the present store of the peer, in each lane; zero if it is for all of them.
	Began() ([record.Lanes]record.Position, error)
	// Begin records, durably, that what peer sends begins after a position, in each lane
	// where nothing was accepted yet: its operator has bound this store anew.
	Begin([record.Lanes]record.Position) error
}

// Responder answers a peer's queries. It must not block for long: it is called in a
// task of its own, at most 16 at a time for a peer.
type Responder func(ctx context.Context, peer processtable.NodeID, kind string, body []byte) ([]byte, error)

// Conn is one connection to a peer, on any transport. Send and Recv may be called by
// one task each; Close by any, and ends both.
type Conn interface {
	Send(frame []byte) error
	Recv() ([]byte, error)
	Close() error
}

// Delivery is a frame, or word of a hindrance.
type Delivery struct {
	Frame []byte
	// Hindrance, if not nil, is all that there is, and no frame: why what is sent goes
	// nowhere at present, though the peer may be heard, and what to do; empty: it goes.
	Hindrance *string
}

// Deliverer is a Conn that also says what hinders it, as one over a broker does. A link calls
// Receive where there is one, and never Recv beside it.
type Deliverer interface {
	Conn
	Receive() (Delivery, error)
}

// Dialer opens connections to one peer.
type Dialer interface {
	Dial(ctx context.Context) (Conn, error)
}

// Listener is a Dialer that hears the peer also while nobody dials it, as on a broker.
type Listener interface {
	Dialer
	// Heard blocks until the peer shows that it is there, or ctx ends.
	Heard(ctx context.Context) error
}

// Forgetter is a Dialer that keeps something for its peer between connections. Forget is
// called, once, when the peer is not reached over it any more and its last connection has
// ended; not when the link stops.
type Forgetter interface {
	Dialer
	Forget()
}

// The names of routes, the best first (L3).
const (
	RouteDirect = "direct" // a connection of the two daemons, which either side may dial
	RouteAMQP   = "amqp"   // through a broker, which both sides dial
)

// Route is a way to dial a peer. A link dials each of its routes by itself, uses the
// best that the peer is heard on, and keeps the others ready.
type Route struct {
	Name    string // RouteDirect or RouteAMQP
	Dialer  Dialer
	Address string // what Dialer dials, without secrets: it is shown, and a route that keeps it is left alone
	Life    int    // tells dialers of one address apart, such as those before and after a new password
}

// same says whether r need not be dialed anew for q.
func (r Route) same(q Route) bool {
	return r.Name == q.Name && r.Address == q.Address && r.Life == q.Life && r.Address != ""
}

// rank of a route: the lower one is used. Both sides reckon alike, whatever their
// configurations say.
func rank(name string) int {
	if name == RouteDirect {
		return 0
	}
	return 1
}
