package amqp

import (
	"errors"
	"fmt"
	"sync"
	"time"
)

// What the broker may have of a peer's messages without a confirm.
const (
	maxFlying      = 256
	maxFlyingBytes = 8 << 20
	// renewAfter is how old a channel is at least that is given up for what was refused on it.
	renewAfter = time.Second
)

// outlet publishes for one peer, on a channel of its own: neither a refusal nor a slow
// confirm for one peer touches another.
type outlet struct {
	p    *peer
	conn connection
	ch   channel // nil: not opened yet
	room chan struct{}
	done chan struct{} // closed when the channel has ended
	made time.Time

	mu      sync.Mutex
	flying  []flying
	bytes   int
	number  uint64 // messages that were published
	doubt   uint64 // what a confirm up to here says is known: not all of it has arrived
	refused bool   // the broker did not take something
	err     error  // why the channel ended
}

type flying struct{ size int }

func newOutlet(p *peer, conn connection) *outlet {
	return &outlet{p: p, conn: conn, room: make(chan struct{}, 1), done: make(chan struct{}), made: p.b.o.Clock.Now()}
}

func (o *outlet) open() error {
	ch, err := o.conn.Channel(channelEvents{confirmed: o.confirmed, returned: o.returned, ended: o.ended})
	if err != nil {
		return err
	}
	o.ch = ch
	return ch.Confirm()
}

// publish sends an envelope once there is room. The error is what ended the channel.
func (o *outlet) publish(envelope []byte, expire time.Duration) error {
	if o.ch == nil {
		if err := o.open(); err != nil {
			return err
		}
	}
	if err := o.await(); err != nil {
		return err
	}
	o.mu.Lock()
	o.flying = append(o.flying, flying{len(envelope)})
	o.bytes += len(envelope)
	o.number++
	o.mu.Unlock()
	o.p.b.counts.published.Add(1)
	o.p.b.counts.bytes.Add(uint64(len(envelope)))
	if err := o.ch.Publish(QueueName(o.p.id), outgoing{body: envelope, expire: expire}); err != nil {
		if ended := o.failure(); ended != nil {
			return ended
		}
		return err
	}
	return nil
}

// await waits until the broker has confirmed enough. One that confirms nothing for long,
// though it has not said that it is blocked, is given up.
func (o *outlet) await() error {
	for {
		o.mu.Lock()
		room, err := len(o.flying) < maxFlying && o.bytes < maxFlyingBytes, o.err
		o.mu.Unlock()
		switch {
		case err != nil:
			return err
		case room:
			return nil
		}
		if err := o.wait(); err != nil {
			return err
		}
	}
}

func (o *outlet) wait() error {
	timer := time.NewTimer(o.p.b.o.timeout)
	defer timer.Stop()
	select {
	case <-o.room:
		return nil
	case <-o.done:
		return o.failure()
	case <-o.conn.Done():
		return o.conn.Err()
	case <-o.p.ctx.Done():
		return errClosed
	case <-timer.C:
	}
	_, gate, _ := o.p.b.link()
	select {
	case <-gate:
		err := fmt.Errorf("the broker has confirmed nothing for %s", o.p.b.o.timeout)
		o.conn.Kill(err)
		return err
	default:
		return nil // it is blocked, and said so
	}
}

func (o *outlet) failure() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.err
}

// gone says whether the channel has ended.
func (o *outlet) gone() bool {
	select {
	case <-o.done:
		return true
	default:
		return false
	}
}

// worn says whether the channel is to be replaced: for a quorum queue, RabbitMQ may refuse
// on a channel for ever what it has refused there once, also when the policy is gone that
// was the reason.
func (o *outlet) worn() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.refused && o.p.b.o.Clock.Now().Sub(o.made) >= renewAfter
}

func (o *outlet) confirmed(number uint64, taken bool) {
	o.mu.Lock()
	if len(o.flying) > 0 {
		o.bytes -= o.flying[0].size
		o.flying = o.flying[1:]
	}
	if !taken {
		o.refused, o.doubt = true, o.number
	}
	arrives := number > o.doubt
	o.mu.Unlock()
	select {
	case o.room <- struct{}{}:
	default:
	}
	if taken {
		o.p.b.counts.confirmed.Add(1)
		if arrives {
			o.p.note(o, "")
		}
		return
	}
	o.p.b.counts.refused.Add(1)
	o.p.note(o, fmt.Sprintf("the broker refuses messages for site %s: a policy (max-length with reject-publish) limits its queue %s, which is full: exempt the queues fmqm.* from such policies", o.p.id, QueueName(o.p.id)))
}

func (o *outlet) returned(string) {
	o.p.b.counts.returned.Add(1)
	o.mu.Lock()
	o.doubt = o.number
	o.mu.Unlock()
	o.p.lost(o, noQueue(o.p.id))
}

func (o *outlet) ended(err error) {
	o.mu.Lock()
	o.err = err
	o.mu.Unlock()
	if !errors.Is(err, errClosed) { // before another can take its place
		o.p.lost(o, o.p.sending(err))
	}
	close(o.done)
	o.p.signal()
}

func (o *outlet) close() {
	if o != nil && o.ch != nil {
		o.ch.Close()
	}
}
