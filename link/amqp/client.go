package amqp

import (
	"context"
	"fmt"
	"time"
)

// The narrow interface over the AMQP client: what this package needs of a broker.
// [openRabbit] opens the real one. A conformance suite holds both to it, that one and
// the fake of the tests.

// opener connects to the broker; name is shown there. The connection is the caller's.
type opener func(ctx context.Context, t target, name string, on connectionEvents) (connection, error)

// connectionEvents is what a connection tells. Calls come from its own goroutines, one at
// a time for each function, and must not block.
type connectionEvents struct {
	blocked func(reason string) // the broker takes no more messages: an alarm
	free    func()              // it does again
}

// connection is one to a broker. All methods are safe for concurrent use and return in
// bounded time, be it by ending the connection.
type connection interface {
	// Channel opens a channel. Its events end with ended.
	Channel(on channelEvents) (channel, error)
	// Done is closed when the connection has ended, for whatever reason; Err says which.
	Done() <-chan struct{}
	Err() error
	Server() server
	// Kill ends the connection at once, with its socket. Close asks the broker first.
	Kill(reason error)
	Close()
}

// channelEvents is what a channel tells; calls must not block. Where a message was
// returned, returned comes before confirmed.
type channelEvents struct {
	confirmed func(number uint64, taken bool) // of a message; not taken: the broker refused it
	returned  func(why string)                // a message that no queue got
	cancelled func()                          // the broker ended the consumer
	ended     func(err error)                 // the channel is gone, with or without its connection
}

// channel does the work. Its methods are safe for concurrent use, but that Publish gives
// numbers in the order of its calls.
type channel interface {
	// Consumers looks for a queue without changing anything, and counts those who receive
	// from it. Where there is none it gives ErrNoQueue, and the channel is gone, as after
	// every error.
	Consumers(queue string) (int, error)
	Declare(queue string, kind queueKind) error
	// Lock makes a queue that belongs to the connection, and goes with it.
	Lock(queue string) error
	Delete(queue string) error
	// Consume delivers what comes to queue, to this consumer only. The channel is closed
	// when there will be nothing more.
	Consume(queue string, prefetch int) (<-chan delivery, error)
	Ack(tag uint64, multiple bool) error
	// Confirm has the broker confirm what is published from now on.
	Confirm() error
	// Publish sends to a queue, and gives the number under which it will be confirmed.
	Publish(queue string, m outgoing) error
	// Close ends the channel.
	Close()
}

// delivery is a message that came.
type delivery struct {
	tag         uint64
	redelivered bool
	body        []byte
}

// outgoing is a message to send; it is persistent, and is returned where no queue takes it.
type outgoing struct {
	body   []byte
	expire time.Duration // 0: never
}

// queueKind is how a queue is declared; all are durable.
type queueKind struct {
	quorum    bool
	unlimited bool // deliveries: x-delivery-limit -1, needed and understood from 4.0 on
}

func (k queueKind) String() string {
	if k.quorum {
		return QueuesQuorum
	}
	return QueuesClassic
}

// server is what a broker says of itself.
type server struct{ product, version string }

// from says whether the broker's version is at least major.minor.
func (s server) from(major, minor int) bool {
	var a, b int
	if _, err := fmt.Sscanf(s.version, "%d.%d", &a, &b); err != nil {
		return false
	}
	return a > major || a == major && b >= minor
}

func (s server) String() string { return s.product + " " + s.version }
