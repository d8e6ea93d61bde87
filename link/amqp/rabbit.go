package amqp

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	amqp091 "github.com/rabbitmq/amqp091-go"
)

const (
	// Heartbeat is how often each side says that it is alive; after two that are missed
	// the broker ends a connection, after three the client does.
	Heartbeat = 10 * time.Second
	// CallTimeout is how long the broker may take for an answer, or to take what is
	// written. Then the socket is closed.
	CallTimeout = 30 * time.Second
	// closeTimeout is how long it may take to say goodbye.
	closeTimeout = 2 * time.Second
	frameSize    = 128 << 10
)

// openRabbit connects to a RabbitMQ. The client's own recovery is off: it acknowledged
// deliveries of an old channel on a new one.
func openRabbit(ctx context.Context, t target, name string, on connectionEvents) (connection, error) {
	sasl, err := t.sasl()
	if err != nil {
		return nil, err
	}
	socket, plain, err := t.dial(ctx)
	if err != nil {
		return nil, err
	}
	r := &rabbit{socket: plain, timeout: t.timeout, done: make(chan struct{})}
	release := context.AfterFunc(ctx, func() { _ = plain.Close() })
	_ = socket.SetDeadline(time.Now().Add(t.timeout)) // of the handshake; the client takes it off
	properties := amqp091.NewConnectionProperties()
	properties.SetClientConnectionName(name)
	w := &wire{Conn: socket, timeout: t.timeout}
	r.conn, err = amqp091.Open(w, amqp091.Config{
		SASL: sasl, Vhost: t.vhost, Heartbeat: t.heartbeat, FrameSize: frameSize, Locale: "en_US", Properties: properties,
	})
	if err != nil || !release() {
		_ = plain.Close()
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		err = w.better(err)
		if t.tls != nil && !w.heard.Load() && (errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)) {
			err = &tlsError{errEarly} // what the broker said about the certificate was lost
		}
		return nil, fmt.Errorf("log in: %w", err)
	}
	r.wire = w
	r.watch(on)
	return r, nil
}

func (t target) sasl() ([]amqp091.Authentication, error) {
	if t.user == "" {
		return []amqp091.Authentication{&amqp091.ExternalAuth{}}, nil
	}
	password, err := t.secret()
	if err != nil {
		return nil, err
	}
	return []amqp091.Authentication{&amqp091.PlainAuth{Username: t.user, Password: password}}, nil
}

// dial gives what to talk over, and the bare socket below it, whose end ends everything.
func (t target) dial(ctx context.Context) (socket, plain net.Conn, err error) {
	ctx, cancel := context.WithTimeout(ctx, t.timeout)
	defer cancel()
	plain, err = (&net.Dialer{KeepAlive: t.heartbeat}).DialContext(ctx, "tcp", t.addr)
	if err != nil || t.tls == nil {
		return plain, plain, err
	}
	c := tls.Client(plain, t.tls)
	if err := c.HandshakeContext(ctx); err != nil {
		_ = plain.Close()
		return nil, nil, &tlsError{err}
	}
	return c, plain, nil
}

// tlsError is one of the handshake.
type tlsError struct{ err error }

func (e *tlsError) Error() string { return "TLS: " + e.err.Error() }
func (e *tlsError) Unwrap() error { return e.err }

// wire gives each write a deadline, since under an alarm the broker does not read, ends where
// the broker sends too much, and keeps why reading failed.
type wire struct {
	net.Conn
	follower
	timeout time.Duration
	heard   atomic.Bool
	failed  atomic.Pointer[error]
}

func (w *wire) Write(data []byte) (int, error) {
	if err := w.SetWriteDeadline(time.Now().Add(w.timeout)); err != nil {
		return 0, err
	}
	return w.Conn.Write(data)
}

func (w *wire) Read(data []byte) (int, error) {
	n, err := w.Conn.Read(data)
	if n > 0 {
		w.heard.Store(true)
		if large := w.see(data[:n]); large != nil {
			n, err = 0, large
		}
	}
	if err != nil {
		w.failed.CompareAndSwap(nil, &err)
	}
	return n, err
}

// better gives what failed below, where the client only guesses: it takes any end before
// the login for a wrong password, and closes what it could not read, so that a write
// meanwhile fails with that. A broker that refuses a login ends the connection, with a
// reset or without.
func (w *wire) better(err error) error {
	failed := w.failed.Load()
	if failed == nil {
		return err
	}
	if errors.Is(err, net.ErrClosed) {
		return *failed
	}
	var reply *amqp091.Error
	if !errors.As(err, &reply) || reply.Server {
		return err
	}
	if errors.Is(err, amqp091.ErrCredentials) && (errors.Is(*failed, io.EOF) || errors.Is(*failed, syscall.ECONNRESET)) {
		return err
	}
	return *failed
}

// rabbit is a connection.
type rabbit struct {
	conn    *amqp091.Connection
	wire    *wire
	socket  net.Conn // below TLS
	timeout time.Duration
	done    chan struct{}

	mu     sync.Mutex
	killed error // why, if it was this side
	err    error // after done
}

func (r *rabbit) watch(on connectionEvents) {
	closed := r.conn.NotifyClose(make(chan *amqp091.Error, 1))
	blocked := r.conn.NotifyBlocked(make(chan amqp091.Blocking, 8))
	go func() {
		for b := range blocked {
			if b.Active {
				on.blocked(b.Reason)
			} else {
				on.free()
			}
		}
	}()
	go func() {
		var err error
		for e := range closed { // to its end, or the client waits for a reader
			err = r.wire.better(e)
		}
		r.mu.Lock()
		if r.err = r.killed; r.err == nil {
			r.err = err
		}
		if r.err == nil {
			r.err = errClosed
		}
		r.mu.Unlock()
		close(r.done)
	}()
}

func (r *rabbit) Done() <-chan struct{} { return r.done }

func (r *rabbit) Err() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}

func (r *rabbit) Server() server {
	product, _ := r.conn.Properties["product"].(string)
	version, _ := r.conn.Properties["version"].(string)
	return server{product: product, version: version}
}

func (r *rabbit) Kill(reason error) {
	r.mu.Lock()
	if r.killed == nil {
		r.killed = reason
	}
	r.mu.Unlock()
	_ = r.socket.Close()
}

// Close hangs in the client under an alarm, so the socket's end limits it.
func (r *rabbit) Close() {
	stop := time.AfterFunc(closeTimeout, func() { r.Kill(errClosed) })
	defer stop.Stop()
	_ = r.conn.Close()
	_ = r.socket.Close()
}

// limited runs a call of the client, which waits for ever, with a deadline.
func (r *rabbit) limited(what string, call func() error) error {
	stop := time.AfterFunc(r.timeout, func() {
		r.Kill(fmt.Errorf("%w within %s: %s", errUnanswered, r.timeout, what))
	})
	defer stop.Stop()
	err := call()
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil && r.killed != nil {
		return r.killed
	}
	return err
}

func (r *rabbit) Channel(on channelEvents) (channel, error) {
	var ch *amqp091.Channel
	err := r.limited("open a channel", func() (err error) {
		ch, err = r.conn.Channel()
		return err
	})
	if err != nil {
		return nil, err
	}
	c := &rabbitChannel{rabbit: r, ch: ch, on: on}
	c.watch()
	return c, nil
}

type rabbitChannel struct {
	rabbit *rabbit
	ch     *amqp091.Channel
	on     channelEvents
}

// watch drains everything that the client notifies, as long as there is something: its
// reader waits for whoever does not.
func (c *rabbitChannel) watch() {
	confirms := c.ch.NotifyPublish(make(chan amqp091.Confirmation, 256))
	returns := c.ch.NotifyReturn(make(chan amqp091.Return, 256))
	cancels := c.ch.NotifyCancel(make(chan string, 1))
	closes := c.ch.NotifyClose(make(chan *amqp091.Error, 1))
	go func() {
		var failure error
		returned := func(r amqp091.Return) {
			if c.on.returned != nil {
				c.on.returned(r.ReplyText)
			}
		}
		for confirms != nil || returns != nil || cancels != nil || closes != nil {
			select {
			case r, ok := <-returns:
				if !ok {
					returns = nil
					continue
				}
				returned(r)
			case m, ok := <-confirms:
				if !ok {
					confirms = nil
					continue
				}
				for len(returns) > 0 { // the return of what is confirmed was there first
					returned(<-returns)
				}
				c.on.confirmed(m.DeliveryTag, m.Ack)
			case _, ok := <-cancels:
				if !ok {
					cancels = nil
					continue
				}
				if c.on.cancelled != nil {
					c.on.cancelled()
				}
			case e, ok := <-closes:
				if !ok {
					closes = nil
					continue
				}
				failure = e
			}
		}
		if failure == nil {
			failure = errClosed
		}
		if c.on.ended != nil {
			c.on.ended(failure)
		}
	}()
}

func (c *rabbitChannel) Consumers(queue string) (n int, err error) {
	err = c.rabbit.limited("look for queue "+queue, func() error {
		q, err := c.ch.QueueDeclarePassive(queue, true, false, false, false, nil)
		n = q.Consumers
		var e *amqp091.Error
		if errors.As(err, &e) && e.Code == amqp091.NotFound {
			return ErrNoQueue
		}
		return err
	})
	return n, err
}

func (c *rabbitChannel) Declare(queue string, kind queueKind) error {
	args := amqp091.Table{amqp091.QueueTypeArg: kind.String()}
	if kind.unlimited {
		args["x-delivery-limit"] = -1
	}
	return c.rabbit.limited("declare queue "+queue, func() error {
		_, err := c.ch.QueueDeclare(queue, true, false, false, false, args)
		return err
	})
}

func (c *rabbitChannel) Lock(queue string) error {
	return c.rabbit.limited("declare queue "+queue, func() error {
		_, err := c.ch.QueueDeclare(queue, false, true, true, false, nil)
		return err
	})
}

func (c *rabbitChannel) Delete(queue string) error {
	return c.rabbit.limited("delete queue "+queue, func() error {
		_, err := c.ch.QueueDelete(queue, false, false, false)
		return err
	})
}

func (c *rabbitChannel) Consume(queue string, prefetch int) (<-chan delivery, error) {
	var in <-chan amqp091.Delivery
	err := c.rabbit.limited("receive from queue "+queue, func() (err error) {
		if err = c.ch.Qos(prefetch, 0, false); err != nil {
			return err
		}
		in, err = c.ch.Consume(queue, queue, false, true, false, false, nil)
		return err
	})
	if err != nil {
		return nil, err
	}
	out := make(chan delivery)
	go func() {
		defer close(out)
		for d := range in {
			select {
			case out <- delivery{tag: d.DeliveryTag, redelivered: d.Redelivered, body: d.Body}:
			case <-c.rabbit.done:
			}
		}
	}()
	return out, nil
}

func (c *rabbitChannel) Ack(tag uint64, multiple bool) error {
	return c.rabbit.limited("acknowledge", func() error { return c.ch.Ack(tag, multiple) })
}

func (c *rabbitChannel) Confirm() error {
	return c.rabbit.limited("ask for confirms", func() error { return c.ch.Confirm(false) })
}

func (c *rabbitChannel) Publish(queue string, m outgoing) error {
	p := amqp091.Publishing{Body: m.body, DeliveryMode: amqp091.Persistent, ContentType: "application/cbor", AppId: "fmqm"}
	if m.expire > 0 {
		p.Expiration = strconv.FormatInt(m.expire.Milliseconds(), 10)
	}
	// Its writes have a deadline each; a timer for each message would cost more than they.
	return c.ch.Publish("", queue, true, false, p)
}

func (c *rabbitChannel) Close() {
	stop := time.AfterFunc(closeTimeout, func() { c.rabbit.Kill(errClosed) })
	defer stop.Stop()
	_ = c.ch.Close()
}
