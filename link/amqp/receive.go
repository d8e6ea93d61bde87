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
	// prefetch is how many deliveries may be unacknowledged: much more than link.MaxHeld
	// for each of many peers, so that none waits for another's disk.
	prefetch = 8192
	// ackBatch deliveries are acknowledged together, or what there is after ackDelay.
	ackBatch = 128
	ackDelay = 10 * time.Millisecond
	// keepLimit is how long a delivery may stay unsettled. Brokers end a consumer that
	// keeps one for half an hour; what is let go then is sent again by its link.
	keepLimit = 10 * time.Minute
	// deafLimit is how often in a row the node's queue may let nobody receive before it is
	// made anew.
	deafLimit = 2
)

// receive is the work of the receiving leg: it sees to the queue and takes what comes.
func (b *Broker) receive(conn connection, up func()) error {
	kind, err := b.ensureQueue(conn)
	if err != nil {
		return err
	}
	if err := b.fence(conn); err != nil {
		return err
	}
	if b.deaf >= deafLimit {
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
			b.deaf++
		}
		return err
	}
	b.deaf = 0
	k := newKeeper(b.o.Clock, ch)
	b.mu.Lock()
	b.status.Kind, b.keeper = kind, k
	b.mu.Unlock()
	done := make(chan struct{})
	go func() {
		defer close(done)
		k.run(conn)
	}()
	defer func() {
		conn.Kill(errClosed)
		<-done
	}()
	up()
	for {
		select {
		case d, ok := <-in:
			if !ok {
				return b.receiveEnded(conn, cancelled)
			}
			b.take(d.body, k.add(d.tag))
		case <-cancelled:
			return errCancelled
		}
	}
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
func (b *Broker) take(body []byte, kept *kept) {
	b.counts.received.Add(1)
	sender, err := seal.Sender(body)
	if err != nil {
		b.counts.dropped.Add(1)
		kept.settle()
		return
	}
	p := b.known(sender)
	if p == nil {
		p = b.stranger(sender, body)
	}
	if p == nil {
		b.counts.dropped.Add(1)
		kept.settle()
		return
	}
	p.receive(body, kept)
}

// release lets go of what a connection had that has ended.
func (b *Broker) release(c *Conn) {
	b.mu.Lock()
	k := b.keeper
	b.mu.Unlock()
	if k != nil {
		k.release(func(d *kept) bool { return d.owner == c })
	}
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
	for _, k := range kinds(b.o.Queues, conn.Server()) {
		if err = try(conn, func(ch channel) error { return ch.Declare(b.target.queue, k) }); err == nil {
			return k.String(), nil
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

// broken says whether the broker has a queue and cannot let anybody receive from it.
func broken(err error) bool {
	var reply *amqp091.Error
	return errors.Is(err, errUnanswered) || errors.As(err, &reply) && reply.Code == amqp091.InternalError
}

// renew makes the node's queue anew. RabbitMQ 3.10 that is killed right after it has made
// a quorum queue comes back with one that answers nobody, or with an internal error, for
// ever. What lies in it costs nothing: it is sent again.
func (b *Broker) renew(conn connection) (kind string, err error) {
	b.deaf = 0 // where it may not be deleted, it is tried again as it is
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

// keeper remembers the deliveries of one channel until they are settled, and then
// acknowledges them: always a whole prefix, in one message for many. It goes with its
// channel, so an acknowledgement never reaches another one.
type keeper struct {
	clock Clock
	ch    channel
	acks  sync.Mutex // one acknowledgement at a time: of prefixes the shorter goes first

	mu    sync.Mutex
	first uint64 // tag of all[0]
	all   []*kept
	ready int // how many at the front are settled
	wake  chan struct{}
}

// kept is one delivery.
type kept struct {
	k       *keeper
	at      time.Time
	settled bool
	owner   *Conn // that it was given to; nil: none
}

func newKeeper(clock Clock, ch channel) *keeper {
	return &keeper{clock: clock, ch: ch, first: 1, wake: make(chan struct{}, 1)}
}

// add notes a delivery; tags of a channel count from 1.
func (k *keeper) add(tag uint64) *kept {
	k.mu.Lock()
	defer k.mu.Unlock()
	for k.first+uint64(len(k.all)) < tag { // never seen
		k.all = append(k.all, &kept{k: k, settled: true})
	}
	d := &kept{k: k, at: k.clock.Now()}
	k.all = append(k.all, d)
	return d
}

func (d *kept) settle() {
	k := d.k
	k.mu.Lock()
	d.settled, d.owner = true, nil
	k.advance()
	k.mu.Unlock()
}

// give notes which connection has the delivery.
func (d *kept) give(c *Conn) {
	d.k.mu.Lock()
	d.owner = c
	d.k.mu.Unlock()
}

// advance is called with the lock.
func (k *keeper) advance() {
	before := k.ready
	for k.ready < len(k.all) && k.all[k.ready].settled {
		k.ready++
	}
	if k.ready > before && (before == 0 || k.ready >= ackBatch) {
		select {
		case k.wake <- struct{}{}:
		default:
		}
	}
}

// release settles what a connection had that has ended: its link asks for it again.
func (k *keeper) release(match func(*kept) bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, d := range k.all {
		if !d.settled && match(d) {
			d.settled, d.owner = true, nil
		}
	}
	k.advance()
}

// run acknowledges until the connection ends.
func (k *keeper) run(conn connection) {
	old := make(chan struct{}, 1)
	stop := k.clock.AfterFunc(keepLimit/2, func() { old <- struct{}{} })
	defer func() { stop() }()
	for {
		select {
		case <-conn.Done():
			return
		case <-old:
			now := k.clock.Now()
			k.release(func(d *kept) bool { return now.Sub(d.at) > keepLimit })
			stop = k.clock.AfterFunc(keepLimit/2, func() { old <- struct{}{} })
		case <-k.wake:
			k.gather(conn)
			if err := k.acknowledge(); err != nil {
				conn.Kill(err)
				return
			}
		}
	}
}

// acknowledge tells the broker of everything that is settled.
func (k *keeper) acknowledge() error {
	k.acks.Lock()
	defer k.acks.Unlock()
	tag := k.take()
	if tag == 0 {
		return nil
	}
	if err := k.ch.Ack(tag, true); err != nil {
		return fmt.Errorf("acknowledge: %w", err)
	}
	return nil
}

// gather waits a moment for more, unless there is enough.
func (k *keeper) gather(conn connection) {
	k.mu.Lock()
	enough := k.ready >= ackBatch
	k.mu.Unlock()
	if enough {
		return
	}
	timer := time.NewTimer(ackDelay)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-k.wake:
	case <-conn.Done():
	}
}

// take gives the tag up to which everything is settled, 0 if that is nothing new.
func (k *keeper) take() uint64 {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.ready == 0 {
		return 0
	}
	k.first += uint64(k.ready)
	clear(k.all[:k.ready])
	k.all, k.ready = k.all[k.ready:], 0
	return k.first - 1
}
