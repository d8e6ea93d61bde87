package amqp

import (
	"errors"
	"fmt"
	"sync"
	"time"
)

// What the broker may have of a peer's messages without a confirm.
const (
	maxInFlight      = 256
	maxInFlightBytes = 8 << 20
	// renewAfter is how old a channel is at least that is given up for what was refused on it.
	renewAfter = time.Second
)

// publisher publishes for one peer, on a channel of its own: neither a refusal nor a slow
// confirm for one peer touches another.
type publisher struct {
	peer *peer
	conn connection
	ch   channel // nil: not opened yet
	room chan struct{}
	done chan struct{} // closed when the channel has ended
	made time.Time

	mu       sync.Mutex
	inFlight []int  // sizes of the messages without a confirm
	bytes    int    // of them together
	number   uint64 // messages that were published
	failedAt uint64 // number when the last one was nacked or returned: only the confirm of a later one says that messages arrive
	nacked   bool   // the broker has refused a message
	err      error  // why the channel ended
}

func newPublisher(to *peer, conn connection) *publisher {
	return &publisher{peer: to, conn: conn, room: make(chan struct{}, 1), done: make(chan struct{}), made: to.b.o.Clock.Now()}
}

func (p *publisher) open() error {
	ch, err := p.conn.Channel(channelEvents{confirmed: p.confirmed, returned: p.returned, ended: p.ended})
	if err != nil {
		return err
	}
	p.ch = ch
	return ch.Confirm()
}

// publish sends an envelope once there is room. The error is what ended the channel.
func (p *publisher) publish(envelope []byte, expire time.Duration) error {
	if p.ch == nil {
		if err := p.open(); err != nil {
			return err
		}
	}
	if err := p.await(); err != nil {
		return err
	}
	p.mu.Lock()
	p.inFlight = append(p.inFlight, len(envelope))
	p.bytes += len(envelope)
	p.number++
	p.mu.Unlock()
	p.peer.b.counts.published.Add(1)
	p.peer.b.counts.bytes.Add(uint64(len(envelope)))
	if err := p.ch.Publish(QueueName(p.peer.id), outgoing{body: envelope, expire: expire}); err != nil {
		if ended := p.failure(); ended != nil {
			return ended
		}
		return err
	}
	return nil
}

// await waits until the broker has confirmed enough. One that confirms nothing for long,
// though it has not said that it is blocked, is given up.
func (p *publisher) await() error {
	for {
		p.mu.Lock()
		room, err := len(p.inFlight) < maxInFlight && p.bytes < maxInFlightBytes, p.err
		p.mu.Unlock()
		switch {
		case err != nil:
			return err
		case room:
			return nil
		}
		if err := p.wait(); err != nil {
			return err
		}
	}
}

func (p *publisher) wait() error {
	timer := time.NewTimer(p.peer.b.o.timeout)
	defer timer.Stop()
	select {
	case <-p.room:
		return nil
	case <-p.done:
		return p.failure()
	case <-p.conn.Done():
		return p.conn.Err()
	case <-p.peer.ctx.Done():
		return errClosed
	case <-timer.C:
	}
	_, gate, _ := p.peer.b.link()
	select {
	case <-gate:
		err := fmt.Errorf("the broker has confirmed nothing for %s", p.peer.b.o.timeout)
		p.conn.Kill(err)
		return err
	default:
		return nil // it is blocked, and said so
	}
}

func (p *publisher) failure() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.err
}

// gone says whether the channel has ended.
func (p *publisher) gone() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// needsRenewal says whether the channel is to be replaced: for a quorum queue, RabbitMQ may refuse
// on a channel for ever what it has refused there once, also when the policy is gone that
// was the reason.
func (p *publisher) needsRenewal() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.nacked && p.peer.b.o.Clock.Now().Sub(p.made) >= renewAfter
}

func (p *publisher) confirmed(number uint64, acked bool) {
	p.mu.Lock()
	if len(p.inFlight) > 0 {
		p.bytes -= p.inFlight[0]
		p.inFlight = p.inFlight[1:]
	}
	if !acked {
		p.nacked, p.failedAt = true, p.number
	}
	arrives := number > p.failedAt
	p.mu.Unlock()
	select {
	case p.room <- struct{}{}:
	default:
	}
	if acked {
		p.peer.b.counts.confirmed.Add(1)
		if arrives {
			p.peer.note(p, "")
		}
		return
	}
	p.peer.b.counts.refused.Add(1)
	p.peer.note(p, fmt.Sprintf("the broker refuses messages for site %s: a policy (max-length with reject-publish) limits its queue %s, which is full: exempt the queues fmqm.* from such policies", p.peer.id, QueueName(p.peer.id)))
}

func (p *publisher) returned(string) {
	p.peer.b.counts.returned.Add(1)
	p.mu.Lock()
	p.failedAt = p.number
	p.mu.Unlock()
	p.peer.lost(p, noQueue(p.peer.id))
}

func (p *publisher) ended(err error) {
	p.mu.Lock()
	p.err = err
	p.mu.Unlock()
	if !errors.Is(err, errClosed) { // before another can take its place
		p.peer.lost(p, p.peer.sending(err))
	}
	close(p.done)
	p.peer.signal()
}

func (p *publisher) close() {
	if p != nil && p.ch != nil {
		p.ch.Close()
	}
}
