package amqp

import (
	"fmt"
	"slices"
	"sync/atomic"
	"time"
)

// State is how the access to the broker is; the words are API.
type State string

// The states.
const (
	StateConnecting State = "connecting" // at least one of the two connections is missing
	StateConnected  State = "connected"
	StateBlocked    State = "blocked" // connected, and the broker takes no messages
)

// Status is what is known of the broker, for people.
type Status struct {
	State   State
	Reason  string // why it is not connected, or blocked, and what to do
	Since   time.Time
	Address string // without secrets
	Queue   string // that this node receives from
	Kind    string // of that queue; empty: not known
	Server  string // such as "RabbitMQ 3.10.8"; empty: never connected

	Published uint64 // messages given to the broker since the start
	Confirmed uint64 // messages that it says it has
	Refused   uint64 // messages that it did not take, such as those over a queue's limit
	Returned  uint64 // messages for which there was no queue
	Received  uint64 // messages that came
	Dropped   uint64 // of those, what was no frame for a link: too late, damaged, too much at once

	PublishedBytes uint64 // of what was published

	Lost       uint64        // connections, of the two, that ended after they had come about
	BlockedFor time.Duration // how long the broker took no messages, all in all
}

type counts struct {
	published, confirmed, refused, returned, received, dropped, bytes, lost atomic.Uint64
}

// Status tells how the access to the broker is.
func (b *Broker) Status() Status {
	b.mu.Lock()
	s := b.status
	s.BlockedFor = b.blockedFor
	if b.blocked != "" {
		s.BlockedFor += b.o.Clock.Now().Sub(b.blockedAt)
	}
	b.mu.Unlock()
	s.Lost = b.counts.lost.Load()
	s.PublishedBytes = b.counts.bytes.Load()
	s.Published, s.Confirmed = b.counts.published.Load(), b.counts.confirmed.Load()
	s.Refused, s.Returned = b.counts.refused.Load(), b.counts.returned.Load()
	s.Received, s.Dropped = b.counts.received.Load(), b.counts.dropped.Load()
	return s
}

// publish makes a change of state known.
func (b *Broker) publish() {
	b.telling.Lock()
	defer b.telling.Unlock()
	b.mu.Lock()
	next := b.status
	next.State, next.Reason = b.state()
	for _, l := range b.conns {
		if l.conn != nil {
			next.Server = l.conn.Server().String()
		}
	}
	if next == b.status {
		b.mu.Unlock()
		return
	}
	turned := next.State != b.status.State
	if turned {
		next.Since = b.o.Clock.Now()
	}
	tell := b.tell(next.Reason, turned)
	b.status = next
	b.mu.Unlock()
	if tell {
		b.log(next)
	}
	if b.o.OnState != nil {
		b.o.OnState(b.Status())
	}
}

// maxTold is how many reasons for one state are logged.
const maxTold = 4

// tell says whether a change is one for the log: of the state, or to a reason that was
// not told for this one; a broker that comes back may refuse what it did not before. It
// is called with the lock.
func (b *Broker) tell(reason string, turned bool) bool {
	if turned {
		b.told = nil
	}
	if reason == "" || len(b.told) == maxTold || slices.Contains(b.told, reason) {
		return turned
	}
	b.told = append(b.told, reason)
	return true
}

// state derives the state from the two connections; it is called with the lock.
func (b *Broker) state() (State, string) {
	for _, which := range [...]int{consuming, publishing} {
		if b.conns[which].conn == nil {
			return StateConnecting, b.conns[which].reason
		}
	}
	if b.blocked != "" {
		return StateBlocked, fmt.Sprintf("the broker accepts no messages (%s): free memory or disk space there; it then goes on by itself", b.blocked)
	}
	return StateConnected, ""
}

func (b *Broker) log(s Status) {
	event := b.o.Log.Warn()
	if s.State == StateConnected {
		event = b.o.Log.Info().Str("server", s.Server).Str("kind", s.Kind)
	}
	if s.Reason != "" {
		event = event.Str("reason", s.Reason)
	}
	event.Str("broker", s.Address).Str("queue", s.Queue).Str("state", string(s.State)).Msg("broker")
}

// why says for a link why it cannot use the broker now; empty if it can.
func (b *Broker) why() string {
	b.mu.Lock()
	s := b.status
	b.mu.Unlock()
	switch {
	case s.State == StateConnected:
		return ""
	case s.Reason == "":
		return "not connected to the broker " + b.target.addr + " yet"
	default:
		return s.Reason
	}
}
