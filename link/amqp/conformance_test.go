package amqp

import (
	"errors"
	"fmt"
	"testing"
	"time"

	amqp091 "github.com/rabbitmq/amqp091-go"

	"fmqm/internal/rabbittest"
	"fmqm/link/linktest"
)

// TestConformance holds the client over RabbitMQ and the fake of the tests to the same:
// what is tried on the fake holds for the real one.
func TestConformance(t *testing.T) {
	t.Run("fake", func(t *testing.T) { conform(t, newFakeBroker().open, target{}) })
	t.Run("rabbit", func(t *testing.T) {
		rabbit := rabbittest.Shared(t)
		o := options(t, "A", rabbit.Addr(), rabbittest.VHost(t, rabbit))
		to, err := o.prepare()
		must(t, err)
		conform(t, openRabbit, to)
	})
}

// told records the events of a channel.
type told struct {
	events chan string
}

func newTold() *told { return &told{events: make(chan string, 1000)} }

func (e *told) on() channelEvents {
	return channelEvents{
		confirmed: func(n uint64, taken bool) { e.events <- fmt.Sprintf("confirmed %d %t", n, taken) },
		returned:  func(string) { e.events <- "returned" },
		cancelled: func() { e.events <- "cancelled" },
		ended:     func(error) { e.events <- "ended" },
	}
}

func (e *told) expect(t *testing.T, want ...string) {
	t.Helper()
	for _, w := range want {
		select {
		case got := <-e.events:
			if got != w {
				t.Fatalf("told %q, expected %q", got, w)
			}
		case <-time.After(linktest.Patience):
			t.Fatalf("waited in vain for %q", w)
		}
	}
}

func conform(t *testing.T, open opener, to target) {
	connect := func(t *testing.T) connection {
		t.Helper()
		c, err := open(t.Context(), to, "conformance", connectionEvents{blocked: func(string) {}, free: func() {}})
		must(t, err)
		t.Cleanup(func() {
			c.Close()
			<-c.Done()
		})
		return c
	}
	channelOf := func(t *testing.T, c connection, e *told) channel {
		t.Helper()
		ch, err := c.Channel(e.on())
		must(t, err)
		return ch
	}
	next := func(t *testing.T, in <-chan delivery) delivery {
		t.Helper()
		select {
		case d, ok := <-in:
			if !ok {
				t.Fatal("there will be nothing more")
			}
			return d
		case <-time.After(linktest.Patience):
			t.Fatal("nothing comes")
		}
		return delivery{}
	}
	code := func(t *testing.T, err error, want int) {
		t.Helper()
		var e *amqp091.Error
		if !errors.As(err, &e) || e.Code != want {
			t.Fatalf("got %v, expected code %d", err, want)
		}
	}

	t.Run("queues", func(t *testing.T) {
		c, e := connect(t), newTold()
		if _, err := channelOf(t, c, e).Consumers("none"); !errors.Is(err, ErrNoQueue) {
			t.Fatalf("got %v", err)
		}
		e.expect(t, "ended") // an error ends a channel
		ch := channelOf(t, c, e)
		must(t, ch.Declare("q", queueKind{}))
		must(t, ch.Declare("q", queueKind{}))
		if n, err := ch.Consumers("q"); n != 0 || err != nil {
			t.Fatalf("%d, %v", n, err)
		}
		code(t, ch.Declare("q", queueKind{quorum: true}), amqp091.PreconditionFailed)
		e.expect(t, "ended")
		if err := ch.Declare("q", queueKind{}); err == nil {
			t.Fatal("a channel that has ended still works")
		}
		must(t, channelOf(t, c, e).Delete("q"))
	})
	t.Run("messages", func(t *testing.T) {
		c, e := connect(t), newTold()
		ch := channelOf(t, c, e)
		must(t, ch.Declare("m", queueKind{quorum: true}))
		must(t, ch.Confirm())
		for i := range 4 {
			must(t, ch.Publish("m", outgoing{body: []byte{byte(i)}, expire: time.Hour}))
		}
		e.expect(t, "confirmed 1 true", "confirmed 2 true", "confirmed 3 true", "confirmed 4 true")
		must(t, ch.Publish("nowhere", outgoing{body: []byte("x")}))
		e.expect(t, "returned", "confirmed 5 true")

		reader, told := connect(t), newTold()
		in, err := channelOf(t, reader, told).Consume("m", 10)
		must(t, err)
		for i := range 4 {
			if d := next(t, in); d.tag != uint64(i+1) || d.redelivered || d.body[0] != byte(i) {
				t.Fatalf("delivery %d: %+v", i, d)
			}
		}
		if n, err := ch.Consumers("m"); n != 1 || err != nil {
			t.Fatalf("%d, %v", n, err)
		}
		reader.Kill(errors.New("a test"))
		<-reader.Done()
		told.expect(t, "ended")
		if err := reader.Err(); err == nil || err.Error() != "a test" {
			t.Fatalf("ended for %v", err)
		}
		if _, open := <-in; open {
			t.Fatal("more after the end")
		}

		reader = connect(t)
		work := channelOf(t, reader, newTold())
		in, err = work.Consume("m", 2)
		must(t, err)
		for i := range 2 {
			if d := next(t, in); !d.redelivered || d.body[0] != byte(i) {
				t.Fatalf("delivery %d again: %+v", i, d)
			}
		}
		must(t, work.Ack(2, true)) // which makes room for the others
		for i := range 2 {
			if d := next(t, in); d.body[0] != byte(i+2) {
				t.Fatalf("delivery %d again: %+v", i+2, d)
			}
		}
		must(t, ch.Delete("m"))
	})
	t.Run("a lock", func(t *testing.T) {
		first, second := connect(t), connect(t)
		must(t, channelOf(t, first, newTold()).Lock("l"))
		code(t, channelOf(t, second, newTold()).Lock("l"), amqp091.ResourceLocked)
		first.Close()
		<-first.Done()
		must(t, channelOf(t, second, newTold()).Lock("l"))
	})
	t.Run("a queue is deleted under its consumer", func(t *testing.T) {
		c, e := connect(t), newTold()
		ch := channelOf(t, c, e)
		must(t, ch.Declare("d", queueKind{}))
		_, err := ch.Consume("d", 10)
		must(t, err)
		must(t, channelOf(t, connect(t), newTold()).Delete("d"))
		e.expect(t, "cancelled")
	})
	t.Run("an acknowledgement of nothing", func(t *testing.T) {
		c, e := connect(t), newTold()
		ch := channelOf(t, c, e)
		must(t, ch.Declare("a", queueKind{}))
		_, err := ch.Consume("a", 10)
		must(t, err)
		_ = ch.Ack(7, true)
		e.expect(t, "ended")
	})
}

// A broker that confirms nothing, and says nothing of an alarm, is given up.
func TestNothingIsConfirmed(t *testing.T) {
	fake := newFakeBroker()
	fake.queues["fmqm.B"] = &fakeQueue{}
	s := newSite(t, "A", "127.0.0.1:1", "v", func(o *Options) { o.open, o.timeout = fake.open, 50*time.Millisecond })
	s.until(StateConnected)
	fake.mu.Lock()
	fake.mute = true
	fake.mu.Unlock()
	p := s.broker.peer("B")
	for range maxInFlight + 1 {
		p.mu.Lock()
		p.control = append(p.control, []byte("x"))
		p.mu.Unlock()
	}
	p.signal()
	st := s.until(StateConnecting)
	if want := "the broker has confirmed nothing for 50ms"; st.Reason != want {
		t.Fatalf("got %q, expected %q", st.Reason, want)
	}
}

// Everything arrives over the fake as over the real one.
func TestItemsOverTheFake(t *testing.T) {
	fake := newFakeBroker()
	over := func(o *Options) { o.open = fake.open }
	a, b := newSite(t, "A", "127.0.0.1:1", "v", over), newSite(t, "B", "127.0.0.1:1", "v", over)
	a.connect("B")
	b.connect("A")
	f := &traffic{a: a, b: b}
	f.put(1000)
	f.arrived(t)
}
