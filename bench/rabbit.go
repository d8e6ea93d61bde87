package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	amqp091 "github.com/rabbitmq/amqp091-go"

	"fmqm/internal/rabbittest"
)

// broker is a private RabbitMQ.
type broker struct {
	*rabbittest.Broker
	pid   string
	hosts int
}

// withBroker calls f with a RabbitMQ that is there for that long. Where there is none to
// be had it says so, and f is not called.
func withBroker(f func(*broker) ([]figure, error)) ([]figure, error) {
	return inDirectory(func(dir string) (figures []figure, err error) {
		rabbit, err := rabbittest.New(rabbittest.Options{Dir: filepath.Join(dir, "rabbitmq")})
		if err != nil {
			fmt.Fprintf(os.Stderr, "left out: %v\n", err)
			return nil, nil
		}
		defer func() { err = errors.Join(err, rabbit.Close()) }()
		if err := rabbit.Start(); err != nil {
			return nil, err
		}
		b := &broker{Broker: rabbit}
		if b.pid, err = rabbit.Eval("list_to_binary(os:getpid())"); err != nil {
			return nil, err
		}
		return f(b)
	})
}

// host makes a new virtual host, and gives its address.
func (b *broker) host() (url string, err error) {
	b.hosts++
	name := "bench" + strconv.Itoa(b.hosts)
	return rabbittest.URL(b.Addr(), name), b.AddVHost(name)
}

// cpu is the CPU time that the broker's process has taken, which the kernel counts in
// hundredths of a second.
func (b *broker) cpu() time.Duration {
	text, err := os.ReadFile("/proc/" + b.pid + "/stat")
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	const utime, stime = 11, 12 // behind the name
	var ticks int64
	for _, i := range []int{utime, stime} {
		n, err := strconv.ParseInt(fields[i], 10, 64)
		if err != nil {
			return 0
		}
		ticks += n
	}
	return time.Duration(ticks) * 10 * time.Millisecond
}

// bareFlying is how many messages a bare client has unconfirmed: as a link has.
const bareFlying = 256

// bareRate gives the messages of a size that n clients publish a second through a queue
// each, confirmed and taken out again at the same time: nothing but the client and the
// broker.
func (b *broker) bareRate(n, size int, d time.Duration) (float64, error) {
	url, err := b.host()
	if err != nil {
		return 0, err
	}
	var count atomic.Int64
	var begun time.Time
	ready, start := make(chan error, n), make(chan struct{})
	errs := make(chan error, n)
	for i := range n {
		go func() {
			c, err := newBareClient(url, "bare"+strconv.Itoa(i))
			ready <- err
			if err == nil {
				<-start
				err = c.publish(make([]byte, size), &count, begun, d)
				err = errors.Join(err, c.close())
			}
			errs <- err
		}()
	}
	for range n {
		err = errors.Join(err, <-ready)
	}
	begun = time.Now()
	close(start)
	for range n {
		err = errors.Join(err, <-errs)
	}
	return float64(count.Load()) / time.Since(begun).Seconds(), err
}

// bareClient is two connections to the broker and a quorum queue between them, as a
// site's links have.
type bareClient struct {
	queue   string
	out, in *amqp091.Connection
	ch      *amqp091.Channel
	flying  chan struct{} // has one for each message that is not confirmed
	taken   sync.WaitGroup
}

func newBareClient(url, queue string) (*bareClient, error) {
	c := &bareClient{queue: queue, flying: make(chan struct{}, bareFlying)}
	auth := amqp091.Config{SASL: []amqp091.Authentication{&amqp091.PlainAuth{Username: rabbittest.User, Password: rabbittest.Password}}}
	var err error
	if c.in, err = amqp091.DialConfig(url, auth); err != nil {
		return nil, err
	}
	if c.out, err = amqp091.DialConfig(url, auth); err != nil {
		return nil, err
	}
	if c.ch, err = c.out.Channel(); err != nil {
		return nil, err
	}
	if _, err := c.ch.QueueDeclare(queue, true, false, false, false, amqp091.Table{amqp091.QueueTypeArg: amqp091.QueueTypeQuorum}); err != nil {
		return nil, err
	}
	if err := c.ch.Confirm(false); err != nil {
		return nil, err
	}
	confirms := c.ch.NotifyPublish(make(chan amqp091.Confirmation, bareFlying))
	go func() {
		for range confirms {
			<-c.flying
		}
	}()
	return c, c.consume()
}

func (c *bareClient) consume() error {
	ch, err := c.in.Channel()
	if err != nil {
		return err
	}
	if err := ch.Qos(8*bareFlying, 0, false); err != nil {
		return err
	}
	deliveries, err := ch.ConsumeWithContext(context.Background(), c.queue, "", false, true, false, false, nil)
	if err != nil {
		return err
	}
	c.taken.Add(1)
	go func() {
		defer c.taken.Done()
		for d := range deliveries {
			if d.DeliveryTag%64 == 0 {
				_ = d.Ack(true) // a lost connection ends the loop
			}
		}
	}()
	return nil
}

// publish counts what it publishes, until the time is over and all is confirmed.
func (c *bareClient) publish(body []byte, count *atomic.Int64, begun time.Time, d time.Duration) error {
	lost := c.out.NotifyClose(make(chan *amqp091.Error, 1))
	take := func() error {
		select {
		case c.flying <- struct{}{}:
			return nil
		case err := <-lost:
			return fmt.Errorf("publish: the connection was lost: %w", err)
		}
	}
	for time.Since(begun) < d {
		if err := take(); err != nil {
			return err
		}
		if err := c.ch.Publish("", c.queue, true, false, amqp091.Publishing{Body: body, DeliveryMode: amqp091.Persistent}); err != nil {
			return err
		}
		count.Add(1)
	}
	for range bareFlying {
		if err := take(); err != nil {
			return err
		}
	}
	return nil
}

func (c *bareClient) close() error {
	err := errors.Join(c.out.Close(), c.in.Close())
	c.taken.Wait()
	return err
}
