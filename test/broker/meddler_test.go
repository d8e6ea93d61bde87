package broker

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"

	amqp091 "github.com/rabbitmq/amqp091-go"

	"fmqm/internal/rabbittest"
	"fmqm/test/fleet"
)

// meddler stands between the sites at the broker: each of them has a virtual host of its
// own, and what it sends to another lies there until the meddler carries it over, once or
// more often, in an order of its own, together with what it has kept from earlier.
type meddler struct {
	t      *testing.T
	broker *rabbittest.Broker
	vhosts map[string]string

	mu     sync.Mutex
	random *rand.Rand
	kept   []letter // of everything that it has carried, a sample

	mild bool // letters are carried as they come

	carried, repeated, swapped, replayed atomic.Int64
}

// letter is a message of one site for another.
type letter struct {
	to   string
	body []byte
}

// keepMost is how many letters are kept to be replayed.
const keepMost = 5000

func newMeddler(t *testing.T, b *rabbittest.Broker, seed uint64) *meddler {
	t.Helper()
	m := &meddler{t: t, broker: b, vhosts: map[string]string{}, mild: true, random: rand.New(rand.NewPCG(seed, 7))}
	for _, site := range fleet.Names {
		m.vhosts[site] = rabbittest.VHost(t, b)
	}
	return m
}

// start carries letters until ctx ends; the returned function waits for that.
func (m *meddler) start(ctx context.Context) (wait func()) {
	m.t.Helper()
	out := map[string]*amqp091.Channel{}
	var lock sync.Mutex // of the channels in out
	for _, site := range fleet.Names {
		out[site] = m.channel(site)
	}
	deliver := func(l letter) {
		lock.Lock()
		defer lock.Unlock()
		// What cannot be delivered is lost, as it may be.
		_ = out[l.to].PublishWithContext(ctx, "", "fmqm."+l.to, false, false, amqp091.Publishing{Body: l.body})
	}
	var all sync.WaitGroup
	for _, from := range fleet.Names {
		in := m.channel(from)
		if err := in.Qos(50, 0, false); err != nil {
			m.t.Fatal(err)
		}
		for _, to := range fleet.Names {
			if from == to {
				continue
			}
			name := "fmqm." + to
			if _, err := in.QueueDeclare(name, true, false, false, false, nil); err != nil {
				m.t.Fatal(err)
			}
			letters, err := in.ConsumeWithContext(ctx, name, "", false, false, false, false, nil)
			if err != nil {
				m.t.Fatal(err)
			}
			all.Go(func() { m.carry(to, letters, deliver) })
		}
	}
	return all.Wait
}

// carry takes letters for one site; now and then it holds one back until the next has
// gone before it.
func (m *meddler) carry(to string, letters <-chan amqp091.Delivery, deliver func(letter)) {
	var held []letter
	for d := range letters {
		l := letter{to, d.Body}
		m.carried.Add(1)
		now := m.meddle(l, &held)
		for _, l := range now {
			deliver(l)
		}
		_ = d.Ack(false)
	}
}

// meddle says what is delivered now that l has come.
func (m *meddler) meddle(l letter, held *[]letter) []letter {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.mild {
		now := append([]letter{l}, *held...)
		*held = nil
		return now
	}
	if len(m.kept) < keepMost {
		m.kept = append(m.kept, l)
	} else {
		m.kept[m.random.IntN(keepMost)] = l
	}
	if m.random.IntN(8) == 0 && len(*held) < 5 {
		*held = append(*held, l)
		m.swapped.Add(1)
		return nil
	}
	now := []letter{l}
	if m.random.IntN(6) == 0 {
		now = append(now, l)
		m.repeated.Add(1)
	}
	if m.random.IntN(20) == 0 {
		now = append(now, m.kept[m.random.IntN(len(m.kept))])
		m.replayed.Add(1)
	}
	now = append(now, *held...)
	*held = nil
	return now
}

// setMild says whether letters are carried as they come, or meddled with.
func (m *meddler) setMild(mild bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.mild = mild
}

// replay delivers so many of the letters that were kept, whosever they are.
func (m *meddler) replay(ctx context.Context, count int) {
	m.t.Helper()
	channels := map[string]*amqp091.Channel{}
	for range count {
		m.mu.Lock()
		l := m.kept[m.random.IntN(len(m.kept))]
		m.mu.Unlock()
		if channels[l.to] == nil {
			channels[l.to] = m.channel(l.to)
		}
		if err := channels[l.to].PublishWithContext(ctx, "", "fmqm."+l.to, false, false, amqp091.Publishing{Body: l.body}); err != nil {
			m.t.Fatal(err)
		}
		m.replayed.Add(1)
	}
}

func (m *meddler) channel(site string) *amqp091.Channel {
	m.t.Helper()
	address := fmt.Sprintf("amqp://%s:%s@%s/%s", rabbittest.User, rabbittest.Password, m.broker.Addr(), url.PathEscape(m.vhosts[site]))
	c, err := amqp091.Dial(address)
	if err != nil {
		m.t.Fatal(err)
	}
	m.t.Cleanup(func() { _ = c.Close() })
	channel, err := c.Channel()
	if err != nil {
		m.t.Fatal(err)
	}
	return channel
}

func (m *meddler) String() string {
	return fmt.Sprintf("%d messages carried, %d twice, %d out of turn, %d replayed",
		m.carried.Load(), m.repeated.Load(), m.swapped.Load(), m.replayed.Load())
}
