package amqp

import (
	"errors"
	"fmt"
	"sync"
	"time"

	amqp091 "github.com/rabbitmq/amqp091-go"

	"fmqm/link/seal"
)

const (
	// prefetch is how many deliveries may be unacknowledged: it bounds what the client
	// library holds before it is looked at here.
	prefetch = 1024
	// ackBatch deliveries are acknowledged together, or what there is after ackDelay.
	ackBatch = 128
	ackDelay = 10 * time.Millisecond
	// lookAfter is how long nothing may come before the node looks whether it still has a queue.
	lookAfter = 30 * time.Second
	// maxConsumeFailures is how often in a row the node's queue may let nobody consume before it is
	// made anew, and maxMakeFailures how often the broker may fail to make it before it is made of
	// another kind.
	maxConsumeFailures = 2
	maxMakeFailures    = 2
)

// receive is the work of the consuming connection: it sees to the queue and takes what comes.
func (b *Broker) receive(conn connection, up func()) error {
	kind, err := b.ensureQueue(conn)
	if err != nil {
		return err
	}
	if err := b.fence(conn); err != nil {
		return err
	}
	if b.consumeFailures >= maxConsumeFailures {
		if kind, err = b.renew(conn); err != nil {
			return err
		}
	}
	var once sync.Once
	cancelled := make(chan struct{})
	ch, err := conn.Channel(channelEvents{
		cancelled: func() { once.Do(func() { close(cancelled) }) },
		ended:     func(err error) { conn.Kill(err) }, // the connection has no other use
	})
	if err != nil {
		return err
	}
	in, err := ch.Consume(b.target.queue, prefetch)
	if err != nil {
		if broken(err) {
			b.consumeFailures++
		}
		return err
	}
	b.consumeFailures = 0
	b.mu.Lock()
	b.status.Kind = kind
	b.mu.Unlock()
	defer conn.Kill(errClosed)
	up()
	return b.takeAll(conn, ch, in, cancelled)
}

// takeAll takes what comes, and acknowledges it: what a crash loses of it here is in the
// sender's store, and its link sends it again.
func (b *Broker) takeAll(conn connection, ch channel, in <-chan delivery, cancelled <-chan struct{}) error {
	pause := time.NewTimer(ackDelay)
	defer pause.Stop()
	look := make(chan struct{}, 1)
	stop := b.o.Clock.AfterFunc(lookAfter, func() { look <- struct{}{} })
	defer func() { stop() }()
	heard := false  // since the last look
	alone := false  // nobody receives from the queue, as the last look said; nothing came since
	var last uint64 // taken, and not acknowledged; 0: everything is
	for count := 0; ; {
		select {
		case d, ok := <-in:
			if !ok {
				return b.receiveEnded(conn, cancelled)
			}
			b.take(d.body)
			heard, alone = true, false
			if last = d.tag; count == 0 {
				pause.Reset(ackDelay)
			}
			if count++; count < ackBatch {
				continue
			}
		case <-pause.C:
		case <-look:
			if !heard {
				nobody, err := b.lookForQueue(conn)
				if err != nil {
					return err
				}
				if nobody && alone {
					return errCancelled
				}
				alone = nobody
			}
			heard = false
			stop = b.o.Clock.AfterFunc(lookAfter, func() { look <- struct{}{} })
		case <-cancelled:
			return errCancelled
		}
		if last == 0 {
			continue
		}
		if err := ch.Ack(last, true); err != nil {
			return fmt.Errorf("acknowledge: %w", err)
		}
		count, last = 0, 0
	}
}

// lookForQueue fails where nothing can come any more. RabbitMQ 3.10 does not tell a consumer that has
// just begun when its queue is deleted. Nobody receives from a queue, it says, also where a quorum queue
// has no leader for the moment: that counts once the next look says so too.
func (b *Broker) lookForQueue(conn connection) (nobody bool, err error) {
	n, err := consumers(conn, b.target.queue)
	if errors.Is(err, ErrNoQueue) {
		return false, errCancelled
	}
	return err == nil && n == 0, err
}

func (b *Broker) receiveEnded(conn connection, cancelled <-chan struct{}) error {
	select {
	case <-cancelled:
		return errCancelled
	case <-conn.Done():
		return conn.Err()
	}
}

// take gives a message to the peer whose name it bears.
func (b *Broker) take(body []byte) {
	b.counts.received.Add(1)
	sender, err := seal.Sender(body)
	if err != nil {
		b.counts.dropped.Add(1)
		return
	}
	p := b.known(sender)
	if p == nil {
		p = b.stranger(sender, body)
	}
	if p == nil {
		b.counts.dropped.Add(1)
		return
	}
	p.receive(body)
}

// ensureQueue sees that there is a queue of a kind that is wanted. Where one exists and
// this user may not declare it, it is taken as it is.
func (b *Broker) ensureQueue(conn connection) (kind string, err error) {
	_, err = consumers(conn, b.target.queue)
	exists := err == nil
	if err != nil && !errors.Is(err, ErrNoQueue) {
		return "", err
	}
	var first error
	for _, k := range b.kindsNow(exists, conn.Server()) {
		if err = try(conn, func(ch channel) error { return ch.Declare(b.target.queue, k) }); err == nil {
			b.makeFailures = 0
			return k.String(), nil
		}
		if inside(err) {
			b.makeFailures++
		}
		var reply *amqp091.Error
		switch {
		case !errors.As(err, &reply):
			return "", err
		case exists && reply.Code == amqp091.AccessRefused:
			return "given", nil
		case reply.Code != amqp091.PreconditionFailed:
			return "", err
		}
		if first == nil {
			first = err
		}
	}
	return "", first
}

// kindsNow are the ways to declare the node's queue. RabbitMQ 3.10 of which a quorum queue was
// deleted a few times within a second may have something left of it, and then makes none of that name
// until it is restarted: so the queue is made as a classic one. What lies in either is sent again.
func (b *Broker) kindsNow(exists bool, s server) []queueKind {
	all := kinds(b.o.Queues, s)
	last := len(all) - 1
	if exists || b.makeFailures < maxMakeFailures || all[last].quorum || !all[0].quorum {
		return all
	}
	b.makeFailures = 0 // where that fails too, the best is tried again
	b.o.Log.Warn().Str("queue", b.target.queue).Msg("the broker fails to make a quorum queue: this site makes a classic one")
	return all[last:]
}

// inside says whether the broker has failed at what it was asked for by an error of its own.
func inside(err error) bool {
	var reply *amqp091.Error
	return errors.As(err, &reply) && reply.Code == amqp091.InternalError
}

// broken says whether the broker has a queue and cannot let anybody receive from it.
func broken(err error) bool { return errors.Is(err, errUnanswered) || inside(err) }

// renew makes the node's queue anew. RabbitMQ 3.10 that is killed right after it has made
// a quorum queue comes back with one that answers nobody, or with an internal error, for
// ever. What lies in it costs nothing: it is sent again.
func (b *Broker) renew(conn connection) (kind string, err error) {
	b.consumeFailures = 0 // where it may not be deleted, it is tried again as it is
	b.o.Log.Warn().Str("queue", b.target.queue).Msg("the broker lets nobody receive from this queue: this site deletes it and makes a new one")
	if err := try(conn, func(ch channel) error { return ch.Delete(b.target.queue) }); err != nil {
		return "", err
	}
	return b.ensureQueue(conn)
}

// errSecond: another daemon with this node's name is there.
var errSecond = errors.New("another consumer has this node's queue")

// fence sees that this daemon is the only one that receives for its node. A consumer of
// a quorum queue cannot be the only one (RabbitMQ 3.10 takes two that ask for that), so
// there is a second queue that belongs to the connection. Where this user may not make
// it, it must do that nobody receives at the moment.
func (b *Broker) fence(conn connection) error {
	err := try(conn, func(ch channel) error { return ch.Lock(lockName(b.o.Self)) })
	var reply *amqp091.Error
	if !errors.As(err, &reply) {
		return err
	}
	switch reply.Code {
	case amqp091.ResourceLocked:
		return errSecond
	case amqp091.AccessRefused:
		if n, err := consumers(conn, b.target.queue); err != nil || n == 0 {
			return err
		}
		return errSecond
	}
	return err
}

// try does something on a channel of its own, since a refusal ends the channel.
func try(conn connection, do func(channel) error) error {
	ch, err := conn.Channel(channelEvents{})
	if err != nil {
		return err
	}
	defer ch.Close()
	return do(ch)
}

func consumers(conn connection, queue string) (n int, err error) {
	err = try(conn, func(ch channel) (err error) {
		n, err = ch.Consumers(queue)
		return err
	})
	return n, err
}

// kinds are the ways to declare a queue, the best first. A quorum queue that was made
// before an upgrade to 4.x has no delivery limit written down.
func kinds(want string, s server) []queueKind {
	var all []queueKind
	if want != QueuesClassic && (want == QueuesQuorum || s.from(3, 8)) {
		if s.from(4, 0) {
			all = append(all, queueKind{quorum: true, unlimited: true})
		}
		all = append(all, queueKind{quorum: true})
	}
	if want != QueuesQuorum {
		all = append(all, queueKind{})
	}
	return all
}
