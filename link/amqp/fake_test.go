package amqp

import (
	"context"
	"sync"

	amqp091 "github.com/rabbitmq/amqp091-go"
)

// fakeBroker is a broker in memory, as small as the narrow interface allows. The
// conformance suite holds it to what the real one does.
type fakeBroker struct {
	mu     sync.Mutex
	queues map[string]*fakeQueue
	mute   bool // nothing is confirmed
	full   bool // what is published is refused
	broken bool // no quorum queue can be made
	conns  []*fakeConn
}

type fakeQueue struct {
	leaderless int             // so many looks find nobody who receives from it
	looked     chan<- struct{} // is sent to at each look
	kind       queueKind
	owner      *fakeConn // of a lock
	messages   []fakeMessage
	consumer   *fakeChannel
}

type fakeMessage struct {
	body        []byte
	redelivered bool
}

func newFakeBroker() *fakeBroker { return &fakeBroker{queues: map[string]*fakeQueue{}} }

func (b *fakeBroker) open(_ context.Context, _ target, _ string, on connectionEvents) (connection, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	c := &fakeConn{b: b, on: on, done: make(chan struct{})}
	b.conns = append(b.conns, c)
	return c, nil
}

// set changes how the broker is.
func (b *fakeBroker) set(change func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	change()
}

// alarm is raised for a reason, and cleared without one.
func (b *fakeBroker) alarm(reason string) {
	for _, c := range b.conns {
		if reason != "" {
			c.on.blocked(reason)
		} else {
			c.on.free()
		}
	}
}

func reply(code int, text string) error {
	return &amqp091.Error{Code: code, Reason: text, Server: true}
}

type fakeConn struct {
	b        *fakeBroker
	on       connectionEvents
	done     chan struct{}
	err      error
	channels []*fakeChannel
}

func (c *fakeConn) Done() <-chan struct{} { return c.done }
func (c *fakeConn) Server() server        { return server{"Fake", "3.10.0"} }
func (c *fakeConn) Close()                { c.Kill(errClosed) }

func (c *fakeConn) Err() error {
	c.b.mu.Lock()
	defer c.b.mu.Unlock()
	return c.err
}

func (c *fakeConn) Kill(reason error) {
	c.b.mu.Lock()
	if c.err != nil {
		c.b.mu.Unlock()
		return
	}
	c.err = reason
	var ended []*fakeChannel
	for _, ch := range c.channels {
		if ch.end() {
			ended = append(ended, ch)
		}
	}
	for name, q := range c.b.queues {
		if q.owner == c {
			delete(c.b.queues, name)
		}
	}
	close(c.done)
	c.b.mu.Unlock()
	for _, ch := range ended {
		ch.tell(reason)
	}
}

func (c *fakeConn) Channel(on channelEvents) (channel, error) {
	c.b.mu.Lock()
	defer c.b.mu.Unlock()
	if c.err != nil {
		return nil, c.err
	}
	ch := &fakeChannel{c: c, on: on, wake: make(chan struct{}, 1), quit: make(chan struct{})}
	c.channels = append(c.channels, ch)
	return ch, nil
}

type fakeChannel struct {
	c       *fakeConn
	on      channelEvents
	quit    chan struct{}
	wake    chan struct{}
	over    bool
	number  uint64
	tag     uint64
	unacked map[uint64]fakeMessage
	from    *fakeQueue
}

// end is called with the lock: what was not acknowledged goes back.
func (ch *fakeChannel) end() bool {
	if ch.over {
		return false
	}
	ch.over = true
	close(ch.quit)
	if q := ch.from; q != nil {
		var back []fakeMessage
		for tag := uint64(1); tag <= ch.tag; tag++ {
			if m, ok := ch.unacked[tag]; ok {
				back = append(back, fakeMessage{m.body, true})
			}
		}
		q.messages, q.consumer = append(back, q.messages...), nil
	}
	return true
}

func (ch *fakeChannel) tell(err error) {
	if ch.on.ended != nil {
		ch.on.ended(err)
	}
}

// do runs f with the lock; an error ends the channel.
func (ch *fakeChannel) do(f func(b *fakeBroker) error) error {
	b := ch.c.b
	b.mu.Lock()
	if ch.over {
		b.mu.Unlock()
		return errClosed
	}
	err := f(b)
	ended := err != nil && ch.end()
	b.mu.Unlock()
	if ended {
		ch.tell(err)
	}
	return err
}

func (ch *fakeChannel) Consumers(queue string) (n int, err error) {
	var looked chan<- struct{}
	err = ch.do(func(b *fakeBroker) error {
		q := b.queues[queue]
		if q == nil {
			return ErrNoQueue
		}
		looked = q.looked
		if q.leaderless > 0 {
			q.leaderless--
		} else if q.consumer != nil {
			n = 1
		}
		return nil
	})
	if looked != nil {
		looked <- struct{}{}
	}
	return n, err
}

func (ch *fakeChannel) Declare(queue string, kind queueKind) error {
	return ch.do(func(b *fakeBroker) error {
		if q := b.queues[queue]; q != nil && q.kind != kind {
			return reply(amqp091.PreconditionFailed, "PRECONDITION_FAILED - inequivalent arg 'x-queue-type' for queue '"+queue+"' in vhost 'v': received '"+kind.String()+"' but current is '"+q.kind.String()+"'")
		} else if q == nil && kind.quorum && b.broken {
			return reply(amqp091.InternalError, "Cannot declare quorum queue '"+queue+"' in vhost 'v': cluster_not_formed")
		} else if q == nil {
			b.queues[queue] = &fakeQueue{kind: kind}
		}
		return nil
	})
}

func (ch *fakeChannel) Lock(queue string) error {
	return ch.do(func(b *fakeBroker) error {
		if q := b.queues[queue]; q != nil && q.owner != ch.c {
			return reply(amqp091.ResourceLocked, "RESOURCE_LOCKED - cannot obtain exclusive access to locked queue '"+queue+"'")
		}
		b.queues[queue] = &fakeQueue{owner: ch.c}
		return nil
	})
}

func (ch *fakeChannel) Delete(queue string) error {
	var consumer *fakeChannel
	err := ch.do(func(b *fakeBroker) error {
		if q := b.queues[queue]; q != nil {
			consumer = q.consumer
		}
		delete(b.queues, queue)
		return nil
	})
	if consumer != nil && consumer.on.cancelled != nil {
		consumer.on.cancelled()
	}
	return err
}

func (ch *fakeChannel) Consume(queue string, prefetch int) (<-chan delivery, error) {
	err := ch.do(func(b *fakeBroker) error {
		q := b.queues[queue]
		if q == nil {
			return ErrNoQueue
		}
		q.consumer, ch.from, ch.unacked = ch, q, map[uint64]fakeMessage{}
		return nil
	})
	if err != nil {
		return nil, err
	}
	out := make(chan delivery)
	go func() {
		defer close(out)
		for {
			d, ok := ch.next(prefetch)
			if !ok {
				select {
				case <-ch.wake:
					continue
				case <-ch.quit:
					return
				}
			}
			select {
			case out <- d:
			case <-ch.quit:
				return
			}
		}
	}()
	return out, nil
}

func (ch *fakeChannel) next(prefetch int) (d delivery, ok bool) {
	ch.c.b.mu.Lock()
	defer ch.c.b.mu.Unlock()
	if ch.over || len(ch.from.messages) == 0 || len(ch.unacked) >= prefetch {
		return d, false
	}
	m := ch.from.messages[0]
	ch.from.messages = ch.from.messages[1:]
	ch.tag++
	ch.unacked[ch.tag] = m
	return delivery{tag: ch.tag, redelivered: m.redelivered, body: m.body}, true
}

func (ch *fakeChannel) signal() {
	select {
	case ch.wake <- struct{}{}:
	default:
	}
}

func (ch *fakeChannel) Ack(tag uint64, multiple bool) error {
	defer ch.signal()
	return ch.do(func(*fakeBroker) error {
		if _, ok := ch.unacked[tag]; !ok {
			return reply(amqp091.PreconditionFailed, "PRECONDITION_FAILED - unknown delivery tag")
		}
		for t := tag; t > 0; t-- {
			delete(ch.unacked, t)
			if !multiple {
				break
			}
		}
		return nil
	})
}

func (ch *fakeChannel) Confirm() error { return ch.do(func(*fakeBroker) error { return nil }) }

func (ch *fakeChannel) Publish(queue string, m outgoing) error {
	var consumer *fakeChannel
	var number uint64
	routed, mute, full := false, false, false
	err := ch.do(func(b *fakeBroker) error {
		ch.number++
		if number, mute, full = ch.number, b.mute, b.full; full {
			return nil
		}
		if q := b.queues[queue]; q != nil {
			routed, consumer = true, q.consumer
			q.messages = append(q.messages, fakeMessage{body: m.body})
		}
		return nil
	})
	switch {
	case err != nil || mute:
		return err
	case full:
		ch.on.confirmed(number, false)
		return nil
	case !routed && ch.on.returned != nil:
		ch.on.returned("NO_ROUTE")
	}
	if consumer != nil {
		consumer.signal()
	}
	ch.on.confirmed(number, true)
	return nil
}

func (ch *fakeChannel) Close() {
	ch.c.b.mu.Lock()
	ended := ch.end()
	ch.c.b.mu.Unlock()
	if ended {
		ch.tell(errClosed)
	}
}
